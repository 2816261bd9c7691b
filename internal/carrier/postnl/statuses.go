package postnl

import (
	_ "embed"

	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

//go:embed statuses.tsv
var statusText string

// statuses is what PostNL's status codes mean.
var statuses = carrierkit.ParseStatuses(statusText)

// meaning returns what a scan's code means.
func meaning(code string) (status ship.Status, reason string, known bool) {
	return statuses.Meaning(code)
}
