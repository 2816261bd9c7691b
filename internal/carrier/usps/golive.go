package usps

import (
	"embed"

	"github.com/waybillhq/waybill/internal/carrier"
)

//go:embed golive/*.md
var goLivePapers embed.FS

// goLive is what certification must know of USPS.
var goLive = carrier.GoLive{
	Domestic:      "ground_advantage",
	International: "priority_mail_international",
	NoMultiPiece:  "USPS sells a separate label for each parcel: an order can have only one parcel",
	Documents:     goLivePapers,
}
