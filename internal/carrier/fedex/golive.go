package fedex

import (
	"embed"
	"errors"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/ship"
)

//go:embed golive/*.md
var goLivePapers embed.FS

// goLive is what certification must know of FedEx.
var goLive = carrier.GoLive{
	Domestic:      "ground",
	International: "international_priority",
	NotTestable:   answersRecordedRequestsOnly,
	Papers:        goLivePapers,
}

// answersRecordedRequestsOnly explains the answers of FedEx's virtual sandbox,
// which knows recorded requests alone.
func answersRecordedRequestsOnly(a carrier.TestAnswer) string {
	e, ok := errors.AsType[*ship.Error](a.Err)
	if !ok || e.Refusal.Code != requestMismatch && e.Refusal.Code != virtualResponse {
		return ""
	}
	return "the test environment of FedEx answers recorded requests alone (" + e.Refusal.Code + "): this can be tried in production alone"
}
