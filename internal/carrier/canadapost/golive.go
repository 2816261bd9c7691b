package canadapost

import (
	"embed"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/ship"
)

//go:embed golive/*.md
var goLivePapers embed.FS

// goLive is what certification must know of Canada Post.
var goLive = carrier.GoLive{
	Domestic:      "expedited_parcel",
	International: "xpresspost_international",
	NoMultiPiece:  "Canada Post sells one label per parcel",
	NotTestable:   notTestable,
	Documents:     goLivePapers,
}

// notTestable explains that the development environment answers some calls with
// fixed data.
func notTestable(answer carrier.TestAnswer) string {
	if answer.Operation == carrier.OpFind && ship.KindOf(answer.Err) == ship.NotFound {
		return "the development environment of Canada Post answers some calls with fixed data: look-ups must be confirmed in production"
	}
	return ""
}
