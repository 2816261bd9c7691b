package dhlparcelde

import (
	"embed"

	"github.com/waybillhq/waybill/internal/carrier"
)

//go:embed golive/*.md
var goLivePapers embed.FS

// goLive is what certification must know of DHL Parcel DE.
var goLive = carrier.GoLive{
	Domestic:      "paket",
	International: "paket_international",
	NoMultiPiece:  "DHL Parcel DE sells a separate label for each parcel",
	NotTestable:   notTestable,
	Documents:     goLivePapers,
}

// notTestable explains that the sandbox tracks only its own sample numbers.
func notTestable(a carrier.TestAnswer) string {
	if a.Operation == carrier.OpTrack && a.Err != nil {
		return "the DHL sandbox tracks only the sample numbers of its documentation, with sample logins: tracking can be tested only in production"
	}
	return ""
}
