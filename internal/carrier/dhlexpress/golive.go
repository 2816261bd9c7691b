package dhlexpress

import (
	"embed"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/ship"
)

//go:embed golive/*.md
var goLivePapers embed.FS

// goLive is what certification must know of DHL Express.
var goLive = carrier.GoLive{
	Domestic:         "express_domestic",
	International:    "express_worldwide",
	DomesticOptional: true,
	NotTestable:      notTestable,
	Documents:        goLivePapers,
}

// notTestable explains that the test environment does not show what it sold.
func notTestable(a carrier.TestAnswer) string {
	if a.Operation == carrier.OpFind && ship.KindOf(a.Err) == ship.NotFound {
		return "the DHL Express test environment does not show the shipments that it sold: look-ups can be tested only in production"
	}
	return ""
}
