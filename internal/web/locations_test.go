package web

import (
	"net/http"
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/member"
	"github.com/waybillhq/waybill/internal/ship"
)

// TestALocationIsCreatedShippedFromAndHandedOver follows a location through the
// dashboard: its form, a new shipment, and the end of the day.
func TestALocationIsCreatedShippedFromAndHandedOver(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	path := b.home + "/settings/locations"
	place := []string{"name", "Reno warehouse", "sender", "Acme", "address1", "1 Commerce Way", "city", "Reno", "state", "NV", "zip", "89502", "country", "US", "phone", "7755550100"}

	w := b.send(member.Owner, path, form(append(place, "contactName", "Grace Hopper", "cutoff.0.time", "16:30", "cutoff.0.carrier", "", "cutoff.1.time", "late", "cutoff.1.carrier", "ups")...))
	if w.Code != http.StatusUnprocessableEntity || !strings.Contains(w.Body.String(), "such as 17:00") || !strings.Contains(w.Body.String(), `value="16:30"`) {
		t.Fatalf("%d: a time that is none was taken, or the form lost what was typed", w.Code)
	}
	if w := b.send(member.Owner, path, form(append(place, "contactName", "Grace Hopper", "cutoff.0.time", "16:30", "cutoff.0.carrier", "")...)); w.Code != http.StatusSeeOther {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	list, err := b.web.Account.Locations(t.Context(), ship.Tenant{Account: b.owner.ID})
	b.must(err)
	reno := list[0]
	if len(list) != 1 || reno.Contact.Name != "Grace Hopper" || reno.CutoffFor("ups") != "16:30" {
		t.Fatalf("%+v", list)
	}
	if page := b.send(member.Owner, path, nil).Body.String(); !strings.Contains(page, "Reno warehouse") || !strings.Contains(page, "16:30") {
		t.Error("the list lacks the location")
	}

	// A shipment that leaves from there shows it.
	if page := b.send(member.Shipper, b.home+"/shipments/new", nil).Body.String(); !strings.Contains(page, "Reno warehouse (Reno)") {
		t.Error("the form does not offer the location")
	}
	order := form("once", "k1", "order", "L-1", "name", "Ada", "address1", "5 Main St", "city", "Austin", "state", "TX", "zip", "78701", "country", "US",
		"weight", "2", "weightUnit", "lb", "location", string(reno.ID))
	w = b.send(member.Shipper, b.home+"/shipments", order)
	if w.Code != http.StatusSeeOther {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	page := b.send(member.Shipper, strings.Split(w.Header().Get("Location"), "?")[0], nil).Body.String()
	if !strings.Contains(page, "Reno warehouse") || !strings.Contains(page, "1 Commerce Way") {
		t.Error("the shipment does not show where it leaves from")
	}

	day := b.send(member.Shipper, b.home+"/end-of-day", nil).Body.String()
	for _, want := range []string{"Reno warehouse", "Close before <b>16:30</b>"} {
		if !strings.Contains(day, want) {
			t.Errorf("the end of the day lacks %s", want)
		}
	}

	order.Set("location", string(ship.NewLocationID(0, reno.ID.Raw().Time())))
	order.Set("once", "k2")
	if w := b.send(member.Shipper, b.home+"/shipments", order); w.Code != http.StatusUnprocessableEntity || !strings.Contains(w.Body.String(), "choose another location") {
		t.Errorf("%d: bought from a location that is not there", w.Code)
	}
}
