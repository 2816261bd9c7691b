package usps_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/emulator"
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
	if sent != 0 {
		t.Errorf("%d calls were made", sent)
	}
}

// day books and cancels under the carrier's own files.
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
}
