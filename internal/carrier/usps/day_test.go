package usps_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/emulator"
	standin "github.com/waybillhq/waybill/internal/emulator/usps"
	"github.com/waybillhq/waybill/internal/ship"
)

// pickup returns a pickup on a day that USPS collects.
func pickup() carrier.PickupRequest {
	zone := time.FixedZone("", -5*60*60)
	day := time.Now().In(zone).AddDate(0, 0, 3)
	if day.Weekday() == time.Sunday {
		day = day.AddDate(0, 0, 1)
	}
	at := func(hour int) time.Time { return time.Date(day.Year(), day.Month(), day.Day(), hour, 0, 0, 0, zone) }

	order := ship.PickupOrder{
		Address:      home().Order.Origin,
		Window:       ship.TimeWindow{ReadyAt: at(10), CloseAt: at(17)},
		Parcels:      []ship.PickupParcels{{Service: "ground_advantage", Country: "US", Count: 4}, {Count: 2}},
		WeightGrams:  3000,
		Instructions: "Loading dock",
	}
	order.Address.Email = "ada@example.com"
	return carrier.PickupRequest{Order: order, Reference: "PA1B2C3D4E5"}
}

// A pickup is in the ledger once, whatever happens to the answers.
func TestAPickupWhoseAnswerIsLostIsBookedOnce(t *testing.T) {
	for _, fault := range []string{"reset", "500", "502", "truncate"} {
		s, via := stand(t, nil)
		c := open(t, via)
		if err := s.Turn(emulator.Faults{Day: map[string]float64{fault: 1}}); err != nil {
			t.Fatal(err)
		}
		if _, err := c.BookPickup(t.Context(), pickup()); ship.KindOf(err) != ship.Uncertain {
			t.Errorf("%s: %v, want uncertain", fault, err)
		}
		if err := s.Turn(emulator.Faults{}); err != nil {
			t.Fatal(err)
		}

		again, err := c.BookPickup(t.Context(), pickup())
		if err != nil || !again.Existed || again.Confirmation != "" {
			t.Errorf("%s: booked again as %+v, %v", fault, again, err)
		}
		if n := len(s.Ledger.Pickups()); n != 1 {
			t.Errorf("%s: %d pickups, want 1", fault, n)
		}
		if err := c.CancelPickup(t.Context(), pickup(), again); ship.KindOf(err) != ship.Unsupported {
			t.Errorf("%s: a pickup without a number is cancelled: %v", fault, err)
		}
	}
}

// The ETag of a booking may be an hour old, lost, or used by a cancellation whose
// answer was lost.
func TestAPickupIsCancelledWithTheCurrentETag(t *testing.T) {
	for name, tag := range map[string]string{"stale": "an older one", "none": ""} {
		s, via := stand(t, nil)
		c := open(t, via)
		booked, err := c.BookPickup(t.Context(), pickup())
		if err != nil || booked.Details == "" || !booked.Window.ReadyAt.IsZero() {
			t.Fatalf("%s: booked %+v, %v", name, booked, err)
		}
		booked.Details = tag
		for range 2 {
			if err := c.CancelPickup(t.Context(), pickup(), booked); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		entries := s.Ledger.Entries()
		if len(entries) != 2 || entries[1].Kind != emulator.PickupCancelled || entries[1].Number != booked.Confirmation {
			t.Errorf("%s: the ledger has %+v", name, entries)
		}
	}

	s, via := stand(t, nil)
	c := open(t, via)
	booked, err := c.BookPickup(t.Context(), pickup())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Turn(emulator.Faults{Day: map[string]float64{"reset": 1}}); err != nil {
		t.Fatal(err)
	}
	if err := c.CancelPickup(t.Context(), pickup(), booked); ship.KindOf(err) != ship.Uncertain {
		t.Errorf("a cancellation whose answer is lost: %v, want uncertain", err)
	}
	if err := c.CancelPickup(t.Context(), pickup(), booked); err != nil {
		t.Errorf("and again: %v", err)
	}
	if n := len(s.Ledger.Pickups()); n != 0 {
		t.Errorf("%d pickups are left", n)
	}

	// The address is free again.
	if err := s.Turn(emulator.Faults{}); err != nil {
		t.Fatal(err)
	}
	if next, err := c.BookPickup(t.Context(), pickup()); err != nil || next.Existed || next.Confirmation == booked.Confirmation {
		t.Errorf("booked after the cancellation: %+v, %v", next, err)
	}
}

func TestDaysWithoutAPickupAreTooLate(t *testing.T) {
	_, via := stand(t, nil)
	c := open(t, via)
	for name, move := range map[string]func(time.Time) time.Time{
		"020016": func(at time.Time) time.Time { return at.AddDate(0, 0, -10) },
		"020017": func(at time.Time) time.Time { return at.AddDate(2, 0, 0) },
		"020018": func(at time.Time) time.Time { return at.AddDate(0, 0, 7-int(at.Weekday())) }, // a Sunday
	} {
		request := pickup()
		request.Order.Window.ReadyAt = move(request.Order.Window.ReadyAt)
		request.Order.Window.CloseAt = move(request.Order.Window.CloseAt)
		_, err := c.BookPickup(t.Context(), request)
		if ship.CodeOf(err) != "pickup_too_late" || ship.ErrorOf(err).Refusal.Code != name {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// labels buys as many labels, and returns the manifest that hands them over.
func labels(t *testing.T, c *carrier.Carrier, n int) ship.ManifestOrder {
	t.Helper()
	order := ship.ManifestOrder{Address: home().Order.Origin, ShipDate: home().Order.ShipDate}
	for i := range n {
		b := home()
		b.Reference = fmt.Sprintf("S%025d", i)
		bought, err := c.Buy(t.Context(), b)
		if err != nil {
			t.Fatal(err)
		}
		order.Labels = append(order.Labels, ship.ManifestLabel{
			Shipment: ship.ShipmentID(fmt.Sprint("shp_", i)),
			Service:  b.Service,
			Numbers:  []string{bought.TrackingNumber},
		})
	}
	return order
}

// A form whose answer is lost is named by the next request, and made once.
func TestAFormWhoseAnswerIsLostIsMadeOnce(t *testing.T) {
	for _, fault := range []string{"reset", "500", "502", "truncate"} {
		s, via := stand(t, nil)
		c := open(t, via)
		order := labels(t, c, 2)
		if err := s.Turn(emulator.Faults{Day: map[string]float64{fault: 1}}); err != nil {
			t.Fatal(err)
		}
		if _, err := c.CloseManifest(t.Context(), order); ship.KindOf(err) != ship.Uncertain {
			t.Errorf("%s: %v, want uncertain", fault, err)
		}

		again, err := c.CloseManifest(t.Context(), order)
		entries := s.Ledger.Entries()
		last := entries[len(entries)-1]
		if err != nil || !again.Existed || again.Number != last.Number || len(entries) != 3 {
			t.Errorf("%s: closed again as %+v, %v with %d lines", fault, again, err, len(entries))
		}
		if last.Kind != emulator.ManifestClosed || !slices.Equal(last.Pieces, []string{order.Labels[0].Numbers[0], order.Labels[1].Numbers[0]}) {
			t.Errorf("%s: the ledger has %+v", fault, last)
		}
	}
}

// A label that USPS does not take is left out, and the others are handed over.
func TestLabelsThatUSPSDoesNotTakeAreLeftOut(t *testing.T) {
	s, via := stand(t, nil)
	c := open(t, via)
	order := labels(t, c, 4)
	cancelled := order.Labels[1]
	if _, err := c.Void(t.Context(), ship.Purchase{Service: "ground_advantage", CarrierRef: cancelled.Numbers[0]}); err != nil {
		t.Fatal(err)
	}
	order.Labels[3].Numbers = []string{"9400100000000000000000"} // nobody bought it
	closing, err := c.CloseManifest(t.Context(), order)
	if err != nil || len(closing.Documents) != 1 || closing.Documents[0].Type != "scan_form" || closing.Documents[0].Format != "pdf" {
		t.Fatalf("closed %+v, %v", closing, err)
	}
	var excluded []ship.ShipmentID
	for _, e := range closing.Excluded {
		excluded = append(excluded, e.Shipment)
		if e.Reason == "" {
			t.Errorf("%s is left out without a reason", e.Shipment)
		}
	}
	if !slices.Equal(excluded, []ship.ShipmentID{cancelled.Shipment, "shp_3"}) {
		t.Errorf("left out %v", excluded)
	}
	entries := s.Ledger.Entries()
	if last := entries[len(entries)-1]; last.Number != closing.Number || len(last.Pieces) != 2 {
		t.Errorf("the ledger has %+v", last)
	}

	// A manifest of nothing but such labels is a refusal, and no label is left
	// out behind the client's back.
	order.Labels = order.Labels[3:]
	if closing, err := c.CloseManifest(t.Context(), order); ship.KindOf(err) != ship.Invalid {
		t.Errorf("closed %+v, %v", closing, err)
	}
	if err := s.Turn(emulator.Faults{Day: map[string]float64{"refuse": 1}}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.CloseManifest(t.Context(), order); ship.KindOf(err) != ship.Invalid {
		t.Errorf("err = %v, want invalid", err)
	}
}

// USPS names one label at a time. A manifest full of labels that it does not take
// is not worth a call for each.
func TestManyLabelsAreNotLeftOutOneByOne(t *testing.T) {
	_, via := stand(t, nil)
	sent := 0
	c := open(t, doer(func(r *http.Request) (*http.Response, error) {
		if r.URL.Path == "/scan-forms/v3/scan-form" {
			sent++
		}
		return via.Do(r)
	}))
	order := labels(t, c, 1)
	for i := range 10 {
		number := fmt.Sprintf("94001000000000000000%02d", i)
		order.Labels = append(order.Labels, ship.ManifestLabel{Shipment: ship.ShipmentID(number), Numbers: []string{number}})
	}
	_, err := c.CloseManifest(t.Context(), order)
	if ship.KindOf(err) != ship.Invalid || ship.ErrorOf(err).Refusal.Code != "160039" || sent != 6 {
		t.Errorf("%d requests, and %v", sent, err)
	}
}

// A label on a form is refunded and not cancelled.
func TestALabelOnAFormIsRefunded(t *testing.T) {
	_, via := stand(t, nil)
	c := open(t, via)
	order := labels(t, c, 1)
	if _, err := c.CloseManifest(t.Context(), order); err != nil {
		t.Fatal(err)
	}
	result, err := c.Void(t.Context(), ship.Purchase{Service: "ground_advantage", CarrierRef: order.Labels[0].Numbers[0]})
	if err != nil || result.State != ship.StateRefundPending {
		t.Errorf("voided: %+v, %v", result, err)
	}
}

func TestPostOfficesAndLockersAreFound(t *testing.T) {
	_, via := stand(t, nil)
	c := open(t, via)
	found, err := c.FindPoints(t.Context(), ship.PointQuery{Country: "US", Zip: "63104", Limit: 3})
	if err != nil || len(found) != 3 {
		t.Fatalf("%d points, %v", len(found), err)
	}
	office := found[0]
	if office.IsLocker || office.DistanceM != 644 || !slices.Equal(office.Abilities, []string{"collect", "hand_in", "returns"}) || office.Latitude == 0 {
		t.Errorf("the first is %+v", office)
	}
	if len(office.Hours) != 5 || office.Hours[0] != (ship.PointHours{Day: "monday", Open: "08:30", Close: "17:00"}) {
		t.Errorf("it is open %+v", office.Hours)
	}
	if office.Address.Zip != "63104-9998" || office.Address.Country != "US" || office.Address.Address1 == "" {
		t.Errorf("it is at %+v", office.Address)
	}
	locker := found[1]
	if !locker.IsLocker || locker.DistanceM != -1 || !slices.Equal(locker.Abilities, []string{"collect", "returns"}) {
		t.Errorf("the second is %+v", locker)
	}
	if found[2].IsLocker {
		t.Error("a locker that is out of order is listed")
	}

	for zip, want := range map[string]ship.Kind{"00000": "", "631": ship.Invalid, "": ship.Invalid} {
		if found, err := c.FindPoints(t.Context(), ship.PointQuery{Country: "US", Zip: zip, City: "St. Louis"}); ship.KindOf(err) != want || len(found) > 0 {
			t.Errorf("at %q: %d points, %v", zip, len(found), err)
		}
	}
	if _, err := c.FindPoints(t.Context(), ship.PointQuery{Country: "DE", Zip: "10115"}); ship.KindOf(err) != ship.Unsupported {
		t.Errorf("in Germany: %v", err)
	}
}

// An app that may not look for lockers still finds post offices.
func TestPostOfficesAreFoundWithoutLockers(t *testing.T) {
	_, via := stand(t, nil)
	for status, want := range map[int]int{http.StatusForbidden: 3, http.StatusServiceUnavailable: 0} {
		c := open(t, doer(func(r *http.Request) (*http.Response, error) {
			if strings.HasSuffix(r.URL.Path, "parcel-locker-locations") {
				return respond(status, `{}`), nil
			}
			return via.Do(r)
		}))
		if found, err := c.FindPoints(t.Context(), ship.PointQuery{Country: "US", Zip: "63104"}); len(found) != want || (err == nil) != (want > 0) {
			t.Errorf("with status %d: %d points, %v", status, len(found), err)
		}
	}
}

// A return is bought under its key, as other labels are.
func TestAReturnWhoseAnswerIsLostIsFound(t *testing.T) {
	b := home()
	b.Order.IsReturn = true
	b.Order.Origin, b.Order.Destination = b.Order.Destination, b.Order.Origin
	for _, fault := range []string{"reset", "500", "502", "truncate", "wrong_reference"} {
		s, via := stand(t, nil)
		c := open(t, via)
		if err := s.Turn(emulator.Faults{Buy: map[string]float64{fault: 1}}); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Buy(t.Context(), b); ship.KindOf(err) != ship.Uncertain {
			t.Errorf("%s: Buy: %v, want uncertain", fault, err)
		}
		found, err := c.Find(t.Context(), b)
		if err != nil || found.TrackingNumber != s.Ledger.Entries()[0].Number || len(found.Label.Data) == 0 {
			t.Errorf("%s: Find = %s, %v", fault, found.TrackingNumber, err)
		}

		// After the last reprint the same request returns the same label.
		for range standin.Reprints {
			if _, err := c.Find(t.Context(), b); err != nil {
				t.Errorf("%s: Find: %v", fault, err)
			}
		}
		if n := len(s.Ledger.Entries()); n != 1 {
			t.Errorf("%s: %d sales, want 1", fault, n)
		}
	}
}

func TestAReturnSaysThatItIsChargedLater(t *testing.T) {
	_, via := stand(t, nil)
	b := home()
	b.Order.IsReturn = true
	bought, err := open(t, via).Buy(t.Context(), b)
	if err != nil || !slices.ContainsFunc(bought.Warnings, func(w string) bool { return strings.Contains(w, "when it is used") }) {
		t.Errorf("warnings %v, %v", bought.Warnings, err)
	}
}

// An app without the product is not let in: no call is made to find that out.
func TestAnAppWithoutAProductIsNotAsked(t *testing.T) {
	_, via := stand(t, nil)
	sent := 0
	c := open(t, doer(func(r *http.Request) (*http.Response, error) {
		if r.URL.Path == "/oauth2/v3/token" {
			return respond(http.StatusOK, `{"access_token":"t","expires_in":"3600","scope":"labels payments"}`), nil
		}
		sent++
		return via.Do(r)
	}))
	if _, err := c.BookPickup(t.Context(), pickup()); ship.KindOf(err) != ship.Forbidden {
		t.Errorf("err = %v, want forbidden", err)
	}
	if _, err := c.CloseManifest(t.Context(), ship.ManifestOrder{
		Address: home().Order.Origin,
		Labels:  []ship.ManifestLabel{{Numbers: []string{"9400100000000000000000"}}},
	}); ship.KindOf(err) != ship.Forbidden {
		t.Errorf("err = %v, want forbidden", err)
	}
	if sent != 0 {
		t.Errorf("%d calls were made", sent)
	}
}

// day books, cancels, closes and searches under the carrier's own files.
func day(t *testing.T, c *carrier.Carrier) {
	t.Helper()
	booked, err := c.BookPickup(t.Context(), pickup())
	if err != nil {
		t.Fatal(err)
	}
	if again, err := c.BookPickup(t.Context(), pickup()); err != nil || !again.Existed {
		t.Errorf("booked again: %+v, %v", again, err)
	}
	booked.Details = "stale" // so that the pickup is read
	for range 2 {
		if err := c.CancelPickup(t.Context(), pickup(), booked); err != nil {
			t.Error(err)
		}
	}

	order := labels(t, c, 2)
	order.Labels = append(order.Labels, ship.ManifestLabel{Shipment: "shp_9", Numbers: []string{"9400100000000000000000"}})
	closed, err := c.CloseManifest(t.Context(), order)
	if err != nil || len(closed.Excluded) != 1 {
		t.Errorf("closed %+v, %v", closed, err)
	}
	if again, err := c.CloseManifest(t.Context(), order); err != nil || !again.Existed || again.Number != closed.Number {
		t.Errorf("closed again: %+v, %v", again, err)
	}

	for _, zip := range []string{"63104", "00000"} {
		if _, err := c.FindPoints(t.Context(), ship.PointQuery{Country: "US", Zip: zip}); err != nil {
			t.Error(err)
		}
	}
}
