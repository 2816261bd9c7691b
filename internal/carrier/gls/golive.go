package gls

import (
	"embed"

	"github.com/waybillhq/waybill/internal/carrier"
)

//go:embed golive/*.md
var goLivePapers embed.FS

// goLive is what certification must know of GLS. Its international sample leaves
// the European Union, which the driver does not support, so none is bought.
var goLive = carrier.GoLive{
	Domestic:    "parcel",
	NotTestable: notTestable,
	Documents:   goLivePapers,
}

// notTestable explains that the sandbox tracks only sample numbers.
func notTestable(a carrier.TestAnswer) string {
	if a.Operation == carrier.OpTrack && a.Err != nil {
		return "the GLS sandbox tracks only the sample numbers of its documentation: tracking can be tested only in production"
	}
	return ""
}
