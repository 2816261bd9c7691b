package web

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/label"
	"github.com/waybillhq/waybill/internal/member"
	"github.com/waybillhq/waybill/internal/ship"
)

// prints returns how often the label of a shipment was printed.
func (b *bench) prints(id ship.ShipmentID) int {
	b.Helper()
	found, err := b.web.Bulk.LabelPrints(b.Context(), ship.Tenant{Account: b.owner.ID}, []ship.ShipmentID{id})
	b.must(err)
	return found[id].Count
}

func TestSelectedLabelsArePrintedAndCounted(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	first := b.buy(b.owner, "s-1", people[0], 1)
	second := b.buy(b.owner, "s-2", people[0], 1)
	voided := b.buy(b.owner, "s-3", people[0], 1)
	_, err := b.web.Shipping.Void(b.Context(), voided.Tenant, voided.ID)
	b.must(err)
	path := b.home + "/shipments/labels.pdf"

	chosen := url.Values{"id": {string(first.ID), string(second.ID), string(second.ID)}}
	w := b.send(member.Shipper, path, chosen)
	if sheets, err := label.Sheets(w.Body.Bytes()); err != nil || sheets != 2 || w.Code != http.StatusOK {
		t.Fatalf("two labels: %d, %d sheets, %v", w.Code, sheets, err)
	}
	if w := b.send(member.Viewer, path, chosen); w.Code != http.StatusForbidden {
		t.Errorf("a viewer prints: %d", w.Code)
	}

	// A label that cannot be in the file is named before the file is sent.
	chosen.Add("id", string(voided.ID))
	w = b.send(member.Shipper, path, chosen)
	if page := w.Body.String(); !strings.Contains(page, "1 label cannot be printed as PDF") || !strings.Contains(page, "The label was voided.") {
		t.Errorf("the voided label: %d %s", w.Code, page)
	}
	chosen.Set("without", "1")
	if w := b.send(member.Shipper, path, chosen); !strings.HasPrefix(w.Body.String(), "%PDF") {
		t.Errorf("the other labels: %d %s", w.Code, w.Body)
	}

	// A page that only shows the label does not count, a download does.
	one := b.home + "/shipments/" + string(first.ID)
	b.send(member.Shipper, one, nil)
	b.send(member.Shipper, one+"/label/label.png", nil)
	b.send(member.Shipper, one+"/label/label.zpl?download=1", nil)
	if first, second := b.prints(first.ID), b.prints(second.ID); first != 3 || second != 2 {
		t.Errorf("printed %d and %d times, want 3 and 2", first, second)
	}
	if b.prints(voided.ID) != 0 {
		t.Error("a label that was not printed counts")
	}
	if page := b.send(member.Viewer, b.home+"/shipments", nil).Body.String(); !strings.Contains(page, "Printed 3×") || strings.Contains(page, "labels.pdf") {
		t.Error("the list does not say what was printed, or lets a viewer print")
	}
	if page := b.send(member.Shipper, one, nil).Body.String(); !strings.Contains(page, "Printed 3 times") {
		t.Error("the shipment does not say how often it was printed")
	}
}

func TestAllThatMatchAreExported(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	kept := b.buy(b.owner, "e-1", people[0], 1)
	voided := b.buy(b.owner, "e-2", people[0], 1)
	_, err := b.web.Shipping.Void(b.Context(), voided.Tenant, voided.ID)
	b.must(err)

	file := b.send(member.Shipper, b.home+"/shipments.csv", form("all", "1", "status", "voided")).Body.String()
	if strings.Contains(file, string(kept.ID)) || !strings.Contains(file, string(voided.ID)) {
		t.Errorf("the voided shipments: %s", file)
	}
	other := b.account("Elsewhere")
	foreign := b.buy(other, "e-3", people[0], 1)
	if w := b.send(member.Shipper, b.home+"/shipments.csv", form("id", string(foreign.ID))); w.Code != http.StatusSeeOther || strings.Contains(w.Body.String(), "e-3") {
		t.Errorf("a shipment of another account: %d %s", w.Code, w.Body)
	}
}
