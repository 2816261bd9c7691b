package web

import (
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/member"
	"github.com/waybillhq/waybill/internal/web/parts"
)

// shipWith buys a label of the carrier for the order through the form.
func (b *bench) shipWith(carrier, order string) {
	b.Helper()
	b.shipOffer(carrier, order, 0)
}

// shipOffer buys an offer of the carrier, counted from the cheapest.
func (b *bench) shipOffer(carrier, order string, n int) {
	b.Helper()
	filled := addressForm()
	filled.Set("order", order)
	rates := b.send(member.Shipper, b.home+"/shipments/rates?carrier="+carrier, filled, "HX-Request", "true").Body.String()
	offers := regexp.MustCompile(`name="rate" value="([^"]+)"`).FindAllStringSubmatch(rates, -1)
	if len(offers) <= n {
		b.Fatalf("%s has %d rates: %s", carrier, len(offers), rates)
	}
	filled.Set("rate", offers[n][1])
	if w := b.send(member.Shipper, b.home+"/shipments", filled); w.Code != http.StatusSeeOther {
		b.Fatalf("buy: %d %s", w.Code, w.Body)
	}
}

// groupForm returns the hidden fields of the form that closes the carrier's
// manifest.
func groupForm(page, carrier string) url.Values {
	at := strings.Index(page, `name="carrier" value="`+carrier+`"`)
	if at < 0 {
		return nil
	}
	form := url.Values{"carrier": {carrier}}
	for _, name := range []string{"connection", "first", "once"} {
		if found := regexp.MustCompile(`name="` + name + `" value="([^"]*)"`).FindStringSubmatch(page[at:]); found != nil {
			form.Set(name, found[1])
		}
	}
	return form
}

func TestADayIsClosedWithOneClickPerCarrier(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	path := b.home + "/end-of-day"
	if page := b.send(member.Viewer, path, nil).Body.String(); !strings.Contains(page, "Nothing to hand over") {
		t.Error("an empty day does not say so")
	}
	b.shipWith("usps", "day-1")
	b.shipWith("usps", "day-2")
	b.shipWith("ups", "day-3")

	page := b.send(member.Shipper, path, nil).Body.String()
	for _, want := range []string{"<b>2</b> labels", "<b>1</b> label,", "Close manifest", "Make hand-over sheet", "Book a pickup"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not have %q", want)
		}
	}
	if page := b.send(member.Viewer, path, nil).Body.String(); strings.Contains(page, "Close manifest") {
		t.Error("a viewer can close a manifest")
	}

	// A second click is the same manifest.
	usps := groupForm(page, "usps")
	for i, want := range []int{http.StatusSeeOther, http.StatusUnprocessableEntity} {
		if w := b.send(member.Shipper, path+"/manifests", usps); w.Code != want {
			t.Errorf("click %d: %d %s", i+1, w.Code, w.Body)
		}
	}
	if w := b.send(member.Shipper, path+"/manifests", groupForm(page, "ups")); w.Code != http.StatusSeeOther {
		t.Errorf("the sheet: %d %s", w.Code, w.Body)
	}

	page = b.send(member.Shipper, path, nil).Body.String()
	forms := regexp.MustCompile(`href="([^"]*/end-of-day/manifests/[^"]*)"`).FindAllStringSubmatch(page, -1)
	if !strings.Contains(page, "Nothing to hand over") || len(forms) != 2 {
		t.Fatalf("%d forms after both were closed: %s", len(forms), page)
	}
	for _, form := range forms {
		w := b.send(member.Shipper, form[1], nil)
		if w.Code != http.StatusOK || !strings.HasPrefix(w.Body.String(), "%PDF") {
			t.Errorf("%s: %d", form[1], w.Code)
		}
	}
}

// TestEachDivisionOfACarrierGetsAPickup has parcels of FedEx Express and of FedEx Ground,
// whose drivers do not take each other's.
func TestEachDivisionOfACarrierGetsAPickup(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	path := b.home + "/end-of-day"
	b.shipOffer("fedex", "divided-1", 0) // FedEx Ground
	b.shipOffer("fedex", "divided-2", 1) // FedEx Express Saver
	page := b.send(member.Shipper, path, nil).Body.String()

	tomorrow := url.Values{"offset": {"+00:00"}, "date": {time.Now().UTC().AddDate(0, 0, 1).Format(time.DateOnly)}, "readyAt": {"12:00"}, "closeAt": {"17:00"}}
	for _, section := range strings.Split(page, `<section class="card">`)[1:] {
		booking := groupForm(section, "fedex")
		maps.Copy(booking, tomorrow)
		for range 2 {
			if w := b.send(member.Shipper, path+"/pickups", booking); w.Code != http.StatusSeeOther {
				t.Fatalf("book: %d %s", w.Code, w.Body)
			}
		}
	}
	page = b.send(member.Shipper, path, nil).Body.String()
	if n := strings.Count(page, "Scheduled"); n != 2 {
		t.Errorf("%d pickups are scheduled", n)
	}
}

// TestAPickupIsBookedAfterTheDayWasClosed follows the order of the page: the manifest, the
// hand-over sheet, and then the driver.
func TestAPickupIsBookedAfterTheDayWasClosed(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	path := b.home + "/end-of-day"
	b.shipOffer("fedex", "closed-1", 0) // FedEx Ground, which has manifests
	b.shipOffer("fedex", "closed-2", 1) // FedEx Express Saver, which has none

	page := b.send(member.Shipper, path, nil).Body.String()
	for _, section := range strings.Split(page, `<section class="card">`)[1:] {
		if w := b.send(member.Shipper, path+"/manifests", groupForm(section, "fedex")); w.Code != http.StatusSeeOther {
			t.Fatalf("close: %d %s", w.Code, w.Body)
		}
	}
	page = b.send(member.Shipper, path, nil).Body.String()
	if !strings.Contains(page, "Nothing to hand over") {
		t.Errorf("the day is not empty: %s", page)
	}

	closed := regexp.MustCompile(`name="manifest" value="([^"]+)"`).FindAllStringSubmatch(page, -1)
	if len(closed) != 2 {
		t.Fatalf("%d manifests take a pickup, want 2", len(closed))
	}
	for _, manifest := range closed {
		booking := url.Values{"manifest": {manifest[1]}, "offset": {"+00:00"}, "date": {time.Now().UTC().AddDate(0, 0, 1).Format(time.DateOnly)}, "readyAt": {"12:00"}, "closeAt": {"17:00"}}
		for range 2 {
			if w := b.send(member.Shipper, path+"/pickups", booking); w.Code != http.StatusSeeOther {
				t.Fatalf("book: %d %s", w.Code, w.Body)
			}
		}
	}
	page = b.send(member.Shipper, path, nil).Body.String()
	if n := strings.Count(page, "Scheduled"); n != 2 {
		t.Errorf("%d pickups are scheduled, want one of each division", n)
	}

	// What is wrong with one form is shown there alone.
	wrong := url.Values{"manifest": {closed[0][1]}, "offset": {"+00:00"}, "date": {time.Now().UTC().AddDate(0, 0, 2).Format(time.DateOnly)}, "readyAt": {"17:00"}, "closeAt": {"12:00"}}
	w := b.send(member.Shipper, path+"/pickups", wrong)
	if n := strings.Count(w.Body.String(), "<details open"); w.Code != http.StatusUnprocessableEntity || n != 1 {
		t.Errorf("a window that ends before it begins: %d, %d forms are open", w.Code, n)
	}
	if page := b.send(member.Viewer, path, nil).Body.String(); strings.Contains(page, "Book a pickup") {
		t.Error("a viewer can book a pickup")
	}
}

func TestAPickupIsBookedAndCancelledInTheDashboard(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	path := b.home + "/end-of-day"
	b.shipWith("ups", "pickup-1")
	group := groupForm(b.send(member.Shipper, path, nil).Body.String(), "ups")

	pickup := func(change ...string) url.Values {
		filled := form("carrier", "ups", "first", group.Get("first"), "once", parts.NewPurchaseKey(), "offset", "+00:00",
			"date", time.Now().UTC().AddDate(0, 0, 1).Format(time.DateOnly), "readyAt", "12:00", "closeAt", "17:00", "instructions", "Ring twice")
		for i := 0; i < len(change); i += 2 {
			filled.Set(change[i], change[i+1])
		}
		return filled
	}
	if w := b.send(member.Shipper, path+"/pickups", pickup("readyAt", "noon")); w.Code != http.StatusUnprocessableEntity {
		t.Errorf("no time: %d", w.Code)
	}
	if w := b.send(member.Viewer, path+"/pickups", pickup()); w.Code != http.StatusForbidden {
		t.Errorf("a viewer books a pickup: %d", w.Code)
	}
	for range 2 {
		if w := b.send(member.Shipper, path+"/pickups", pickup()); w.Code != http.StatusSeeOther {
			t.Fatalf("book: %d %s", w.Code, w.Body)
		}
	}

	page := b.send(member.Shipper, path, nil).Body.String()
	cancel := regexp.MustCompile(`action="([^"]*/end-of-day/pickups/[^"]*/cancel)"`).FindAllStringSubmatch(page, -1)
	if len(cancel) != 1 || !strings.Contains(page, "Scheduled") {
		t.Fatalf("%d pickups were booked: %s", len(cancel), page)
	}
	if w := b.send(member.Shipper, cancel[0][1], url.Values{}); w.Code != http.StatusSeeOther {
		t.Fatalf("cancel: %d %s", w.Code, w.Body)
	}
	if page := b.send(member.Shipper, path, nil).Body.String(); !strings.Contains(page, "Cancelled") {
		t.Error("the pickup is not shown as cancelled")
	}
}
