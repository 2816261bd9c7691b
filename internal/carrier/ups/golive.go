package ups

import (
	"embed"

	"github.com/waybillhq/waybill/internal/carrier"
)

//go:embed golive/*.md
var goLivePapers embed.FS

// goLive is what certification must know of UPS.
var goLive = carrier.GoLive{
	Domestic:      "ground",
	International: "worldwide_saver",
	NotTestable:   notTestable,
	Documents:     goLivePapers,
}

// notTestable explains the numbers of the test environment: it sells every
// parcel under the same one, and keeps nothing.
func notTestable(answer carrier.TestAnswer) string {
	if !isPlaceholder(answer.Sale.TrackingNumber) {
		return ""
	}

	const why = "the UPS test environment gives every parcel the number " + placeholder
	switch answer.Operation {
	case carrier.OpFind:
		return why + " and stores nothing: look-ups can be tested only in production"
	case carrier.OpVoid:
		return why + " and stores nothing: voids can be tested only in production"
	case carrier.OpTrack:
		return why + ": tracking can be tested only in production"
	}
	return why
}
