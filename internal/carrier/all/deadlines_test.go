package all_test

import (
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/all"
)

// TestPurchasesAreNotCutOffEarly holds how long carriers may take to sell: one
// that is cut off too early is uncertain, and must be looked up. FedEx creates
// the labels of many pieces one after the other.
func TestPurchasesAreNotCutOffEarly(t *testing.T) {
	t.Parallel()

	for _, spec := range all.Specs {
		opened := carrier.New(spec, nil)
		if got := opened.BuyTime(1); got != 45*time.Second {
			t.Errorf("%s may take %s to sell a label, want 45s", spec.Title, got)
		}

		want := 45 * time.Second
		if spec.Name == "fedex" {
			want = 120 * time.Second
		}
		if got := opened.BuyTime(40); got != want {
			t.Errorf("%s may take %s to sell 40 labels, want %s", spec.Title, got, want)
		}
	}
}
