package fedex_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/carrier/carriertest"
	"github.com/waybillhq/waybill/internal/emulator"
	"github.com/waybillhq/waybill/internal/ship"
)

// manifest returns the order that hands labels of a service over today.
func manifest(service string, numbers ...string) ship.ManifestOrder {
	return ship.ManifestOrder{
		Address:  order().Origin,
		ShipDate: ship.DateOf(time.Now()),
		Labels:   []ship.ManifestLabel{{Shipment: "shp_1", Service: service, Numbers: numbers}},
	}
}

func TestManifestsAreWrittenAsTheGoldenFiles(t *testing.T) {
	b := buyOrder()
	b.Service = "ground"
	b.Order.ShipDate = "2099-11-16"
	wire := &overheard{via: newContractOf(t, "openapi", nil).Checked(carriertest.Server(t, newServer(t)))}
	c := open(t, credentials(), wire)
	bought, err := c.Buy(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	wire.bodies = nil

	asked := manifest("ground", bought.TrackingNumber)
	asked.ShipDate = b.Order.ShipDate
	if _, err := c.CloseManifest(t.Context(), asked); err != nil {
		t.Fatal(err)
	}
	if _, err := c.FindManifest(t.Context(), asked); err != nil {
		t.Fatal(err)
	}
	golden(t, "manifest", wire.bodies)
}

// TestManifestsCoverTheDayOfGround closes two labels of Ground, beside one that is
// voided and one of Express.
func TestManifestsCoverTheDayOfGround(t *testing.T) {
	server := newServer(t)
	c := open(t, credentials(), carriertest.Server(t, server))
	buy := func(service string) string {
		b := buyOrder()
		b.Service = service
		bought, err := c.Buy(t.Context(), b)
		if err != nil {
			t.Fatal(err)
		}
		return bought.TrackingNumber
	}
	first, second, voided, express := buy("ground"), buy("home_delivery"), buy("ground"), buy("two_day")
	if _, err := c.Void(t.Context(), ship.Purchase{CarrierRef: voided}); err != nil {
		t.Fatal(err)
	}

	asked := manifest("ground", first)
	asked.Labels = append(asked.Labels, ship.ManifestLabel{Shipment: "shp_2", Service: "two_day", Numbers: []string{express}})
	closed, err := c.CloseManifest(t.Context(), asked)
	if err != nil {
		t.Fatal(err)
	}
	lines := server.Ledger.Entries()
	line := lines[len(lines)-1]
	if line.Kind != emulator.ManifestClosed || line.Number != closed.Number || !slices.Equal(line.Pieces, []string{first, second}) {
		t.Errorf("closed %+v, the ledger says %+v", closed, line)
	}
	if len(closed.Excluded) != 1 || closed.Excluded[0].Shipment != "shp_2" || !strings.Contains(closed.Excluded[0].Reason, "FedEx 2Day needs no manifest") {
		t.Errorf("excluded %+v", closed.Excluded)
	}
	text := string(closed.Documents[0].Data)
	if closed.Documents[0].Type != "manifest" || closed.Documents[0].Format != "txt" || !strings.HasPrefix(text, "FEDEX GROUND MANIFEST") || !strings.Contains(text, second) {
		t.Errorf("the manifest is %s %q", closed.Documents[0].Format, text)
	}

	// A label that is bought later is not closed, although the day was.
	later := buy("ground")
	if _, err := c.FindManifest(t.Context(), manifest("ground", later)); ship.KindOf(err) != ship.NotFound {
		t.Errorf("a later label: %v, want not found", err)
	}
	found, err := c.FindManifest(t.Context(), asked)
	if err != nil || found.Number != closed.Number || string(found.Documents[0].Data) != text || len(found.Excluded) != 1 {
		t.Errorf("found %+v: %v", found, err)
	}
	if _, err := c.Void(t.Context(), ship.Purchase{CarrierRef: first}); ship.KindOf(err) != ship.Invalid {
		t.Errorf("void of a closed label: %v, want invalid", err)
	}

	// The answer is lost and the day is closed.
	if err := server.Turn(emulator.Faults{Day: map[string]float64{"500": 1}}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.CloseManifest(t.Context(), manifest("ground", later)); ship.KindOf(err) != ship.Uncertain {
		t.Errorf("a lost answer: %v, want uncertain", err)
	}
	if found, err := c.FindManifest(t.Context(), manifest("ground", later)); err != nil || found.Number == closed.Number {
		t.Errorf("after the lost answer: %+v %v", found, err)
	}
}

func TestManifestsWithoutGroundAreNotSent(t *testing.T) {
	c := open(t, credentials(), silent{})
	for _, service := range []string{"two_day", "ground_economy", "international_priority"} {
		_, closing := c.CloseManifest(t.Context(), manifest(service, "794791341818"))
		_, finding := c.FindManifest(t.Context(), manifest(service, "794791341818"))
		if ship.KindOf(closing) != ship.Unsupported || ship.KindOf(finding) != ship.Unsupported {
			t.Errorf("%s: %v and %v, want unsupported", service, closing, finding)
		}
	}
}

func TestRefusedManifestsAreExplained(t *testing.T) {
	refusal := func(code string) string { return `{"errors":[{"code":"` + code + `","message":"no"}]}` }
	for name, c := range map[string]struct {
		status      int
		body        string
		close, find ship.Kind
	}{
		"nothing closed":  {400, refusal("GROUND.DOCUMENT.NOT.FOUND"), ship.Invalid, ship.NotFound},
		"no shipments":    {400, refusal("CLOSE.NO.SHIPMENTS"), ship.Invalid, ship.NotFound},
		"an invalid day":  {400, refusal("AVAILABILITY.SHIP.DATE.INVALID"), ship.Invalid, ship.Invalid},
		"no permission":   {403, refusal("FORBIDDEN.ERROR"), ship.Forbidden, ship.Forbidden},
		"a missing path":  {404, refusal("NOT.FOUND.ERROR"), ship.Invalid, ship.Unavailable},
		"not recorded":    {400, refusal("REQUEST.MISMATCH"), ship.Unsupported, ship.Unsupported},
		"no documents":    {200, `{"output":{"closeDocuments":[]}}`, ship.Uncertain, ship.NotFound},
		"other documents": {200, `{"output":{"closeDocuments":[{"type":"OP_950","shippingCycle":"1","parts":[{"image":"JVBERi0="}]}]}}`, ship.Uncertain, ship.NotFound},
		"a PDF":           {200, `{"output":{"closeDocuments":[{"type":"MANIFEST","shippingCycle":"1","parts":[{"image":"JVBERi0="}]}]}}`, "", ""},
	} {
		opened := open(t, credentials(), canned{c.status, c.body})
		closed, closing := opened.CloseManifest(t.Context(), manifest("ground", "794791341818"))
		_, finding := opened.FindManifest(t.Context(), manifest("ground", "794791341818"))
		if ship.KindOf(closing) != c.close || ship.KindOf(finding) != c.find {
			t.Errorf("%s: %v and %v, want %q and %q", name, closing, finding, c.close, c.find)
		}
		if closing == nil && (closed.Number != "1" || closed.Documents[0].Format != "pdf") {
			t.Errorf("%s: %+v", name, closed)
		}
		if e, ok := errors.AsType[*ship.Error](closing); ok && e.Kind == ship.Forbidden && !strings.Contains(e.Message, "Ground End of Day Close API") {
			t.Errorf("%s: %v does not name the API", name, closing)
		}
	}
}
