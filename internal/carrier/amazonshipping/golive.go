package amazonshipping

import (
	"embed"
	"slices"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/ship"
)

//go:embed golive/*.md
var goLivePapers embed.FS

// goLive is what certification must know of Amazon Shipping.
var goLive = carrier.GoLive{
	Domestic:     "standard",
	NoMultiPiece: "Amazon Shipping sells one label per parcel",
	NotTestable:  notTestable,
	Documents:    goLivePapers,
}

// notTestable explains that the sandbox knows only example numbers, and that no
// service crosses a border.
func notTestable(answer carrier.TestAnswer) string {
	isAbroad := slices.ContainsFunc(ship.ErrorOf(answer.Err).Fields, func(f ship.FieldError) bool { return f.Pointer == "/destination/country" })
	switch {
	case answer.Operation == carrier.OpRates && answer.Err != nil && isAbroad:
		return "Amazon Shipping delivers only within the country of the connection: there is no shipment abroad to test"
	case answer.Operation == carrier.OpTrack && answer.Err != nil:
		return "the sandbox of Amazon Shipping answers only about example numbers: tracking must be confirmed in production"
	}
	return ""
}
