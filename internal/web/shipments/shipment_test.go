package shipments

import (
	"strings"
	"testing"
	"time"

	"github.com/a-h/templ"

	"github.com/waybillhq/waybill/internal/label"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/web/site"
)

func TestALabelThatIsOnlyAPDFIsShown(t *testing.T) {
	t.Parallel()
	var f site.Frame
	var p shipmentView
	p.ID = ship.NewShipmentID(1, time.Now())
	p.Formats = []label.Format{label.PDF}
	path := f.To("shipments", string(p.ID), "label", "label.pdf")

	for name, page := range map[string]templ.Component{"the card": labelPreview(f, p), "the page to print": printPage(f, printView{shipmentView: p, Next: "/next"})} {
		var text strings.Builder
		if err := page.Render(t.Context(), &text); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(text.String(), `src="`+path+`"`) || strings.Contains(text.String(), ".png") {
			t.Errorf("%s: %s", name, text.String())
		}
	}
}

func TestAShipmentIsSaidInOneLine(t *testing.T) {
	t.Parallel()
	p := shipmentView{}
	p.Order.Destination = ship.Address{Name: "Jane Doe", City: "Austin", State: "TX", Country: "US"}
	if got := p.Gist(); got != "To Jane Doe, Austin, TX, US" {
		t.Errorf("not bought: %q", got)
	}
	p.Purchase.Carrier, p.Purchase.Service, p.Purchase.ServiceName = "usps", "ground_advantage", "USPS Ground Advantage"
	p.Purchase.Price = ship.Money{Minor: 714, Currency: "USD"}
	if got := p.Gist(); got != "USPS Ground Advantage to Jane Doe, Austin, TX, US · $7.14" {
		t.Errorf("bought: %q", got)
	}
}
