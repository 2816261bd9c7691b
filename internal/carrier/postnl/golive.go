package postnl

import (
	"embed"

	"github.com/waybillhq/waybill/internal/carrier"
)

//go:embed golive/*.md
var goLivePapers embed.FS

// goLive is what certification must know of PostNL.
var goLive = carrier.GoLive{
	Domestic:      "standard",
	International: "eu_parcel",
	NoMultiPiece:  "PostNL sells a label for each parcel",
	Documents:     goLivePapers,
}
