package api

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/batch"
	"github.com/waybillhq/waybill/internal/bulk"
	"github.com/waybillhq/waybill/internal/handover"
	"github.com/waybillhq/waybill/internal/rulebook"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/shipping"
	"github.com/waybillhq/waybill/internal/store"
)

// TestTheLimitsPageHasTheLimitsOfTheCode holds docs/limits.md against the code.
func TestTheLimitsPageHasTheLimitsOfTheCode(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/limits.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)

	mebibytes := func(bytes int) string { return fmt.Sprintf("%d MiB", bytes>>20) }
	for _, row := range []string{
		"| body of a request | " + fmt.Sprintf("%d KiB", Limits{}.withDefaults().Body>>10),
		"| body of a rate sheet | " + mebibytes(maxSheetBody),
		"| body of a batch | " + mebibytes(maxBatchBody),
		fmt.Sprintf("| an uploaded document | %s, %d for each shipment", mebibytes(ship.MaxUploadBytes), ship.MaxUploads),
		fmt.Sprintf("| parcels of a shipment | %d |", ship.MaxParcels),
		fmt.Sprintf("| items of a customs declaration | %d |", ship.MaxItems),
		"| lines of a batch | " + grouped(batch.MaxLines),
		fmt.Sprintf("| labels or packing slips in one file | %d |", shipping.MaxLabels),
		fmt.Sprintf("| shipments of a bulk action | %d |", bulk.MaxShipments),
		"| parcels of a pickup | " + grouped(handover.MaxPickupParcels),
		fmt.Sprintf("| webhooks of an account and mode | %d |", store.MaxEndpoints),
		fmt.Sprintf("| locations of an account and mode | %d |", ship.MaxLocations),
		"| shipments of a back-test | " + grouped(rulebook.MostSimulated),
	} {
		if !strings.Contains(page, row) {
			t.Errorf("docs/limits.md does not have %q", row)
		}
	}
}

// grouped writes a number with a comma between its thousands.
func grouped(n int) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%s,%03d", grouped(n/1000), n%1000)
}
