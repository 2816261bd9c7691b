package carriers

import (
	"strconv"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/account"
	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/web/parts"
	"github.com/waybillhq/waybill/internal/web/site"
)

// differenceWord says what a carrier answered that its driver does not know.
func differenceWord(d account.Difference) string {
	switch d.Kind {
	case carrier.DifferentCode:
		return "Error code " + d.Code
	case carrier.DifferentRefusal:
		return "Refusal without a known code"
	case carrier.DifferentAnswer:
		return "Response that could not be used"
	}
	return d.Kind
}

// differenceDetail returns the detail of a difference on one line.
func differenceDetail(d account.Difference) string {
	return strings.ReplaceAll(d.Detail, "\n", ", ")
}

// differenceOperation names the operation that a difference was found in.
func differenceOperation(d account.Difference) string {
	return parts.OperationWord(carrier.Operation(d.Operation))
}

// exportDifferences handles GET /app/{account}/{mode}/differences.csv: a report
// for the project, with the unmapped tracking codes. It has no names, numbers or
// other values of shipments.
func exportDifferences(v *site.Visit) error {
	differences, err := v.Account.Differences(v.Context(), v.Tenant())
	if err != nil {
		return err
	}
	unmapped, err := v.Tracking.UnmappedOf(v.Context(), v.Tenant(), v.Account.Specs(), time.Now().Add(-unmappedFor))
	if err != nil {
		return err
	}

	out := v.ExportCSV("differences", "carrier", "kind", "operation", "code", "detail", "count", "first", "last")
	for _, d := range differences {
		out.Row(
			d.Carrier,
			d.Kind,
			d.Operation,
			d.Code,
			d.Detail,
			strconv.Itoa(d.Count),
			site.TimeCell(d.FirstAt),
			site.TimeCell(d.LastAt),
		)
	}
	for _, code := range unmapped {
		out.Row(
			code.Carrier,
			"tracking_code",
			string(carrier.OpTrack),
			code.Code,
			carrier.WithoutNames(code.Description),
			strconv.Itoa(code.Events),
			"",
			site.TimeCell(code.NewestAt),
		)
	}
	return nil
}
