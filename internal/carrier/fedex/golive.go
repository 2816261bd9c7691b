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
	Documents:     goLivePapers,
}

// answersRecordedRequestsOnly explains the answers of FedEx's virtual sandbox,
// which knows only recorded requests.
func answersRecordedRequestsOnly(answer carrier.TestAnswer) string {
	refused, ok := errors.AsType[*ship.Error](answer.Err)
	if !ok || refused.Refusal.Code != requestMismatch && refused.Refusal.Code != virtualResponse {
		return ""
	}
	return "the FedEx test environment answers only recorded requests (" + refused.Refusal.Code + "): this can be tested only in production"
}
