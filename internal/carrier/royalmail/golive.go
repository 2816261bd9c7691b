package royalmail

import (
	"embed"

	"github.com/waybillhq/waybill/internal/carrier"
)

//go:embed golive/*.md
var goLivePapers embed.FS

// goLive is what certification must know of Royal Mail.
var goLive = carrier.GoLive{
	Domestic:      "tracked_48",
	International: "international_tracked",
	NoMultiPiece:  "Royal Mail sells a label for each parcel",
	Documents:     goLivePapers,
}
