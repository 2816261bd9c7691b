package label

import (
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/budget"
	"github.com/waybillhq/waybill/internal/ship"
)

// TestConversionsWaitForMemoryAndOurOwnLabelsDoNot holds all of the memory:
// carriers' pictures and files are not decoded, and what needs no decoding is
// printed as always.
func TestConversionsWaitForMemoryAndOurOwnLabelsDoNot(t *testing.T) {
	r, err := NewRenderer("")
	if err != nil {
		t.Fatal(err)
	}
	r.Heavy = budget.New(budget.Options{Waiting: 1, Wait: 10 * time.Millisecond})
	release, err := r.Heavy.Reserve(t.Context(), "acct_other", 1<<40)
	if err != nil {
		t.Fatal(err)
	}

	for _, format := range []string{"png", "gif", "jpg", "pdf"} {
		sold := ship.Label{Format: format, Data: benign(t, format)}
		_, err := r.RenderLabel(sold, Options{Format: ZPL})
		if ship.KindOf(err) != ship.Unavailable {
			t.Errorf("%s: %v, want unavailable", format, err)
		}
		_, _, err = r.Merge(partsOf(sold), Options{Format: ZPL})
		if ship.KindOf(err) != ship.Unavailable {
			t.Errorf("%s in one file with others: %v, want unavailable", format, err)
		}
	}
	for _, sold := range []ship.Label{
		{Format: "scene", Data: oneOf(latin["ups"]).Marshal()},
		{Format: "zpl", Data: benign(t, "zpl")},
	} {
		if _, err := r.RenderLabel(sold, Options{Format: ZPL}); err != nil {
			t.Errorf("%s: %v", sold.Format, err)
		}
	}

	release()
	if _, err := r.RenderLabel(ship.Label{Format: "png", Data: benign(t, "png")}, Options{Format: ZPL}); err != nil {
		t.Errorf("when there is room: %v", err)
	}
}
