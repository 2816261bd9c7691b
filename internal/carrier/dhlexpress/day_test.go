package dhlexpress_test

import (
	"bytes"
	"cmp"
	"slices"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carriertest"
	"github.com/waybillhq/waybill/internal/emulator"
	standin "github.com/waybillhq/waybill/internal/emulator/dhlexpress"
	"github.com/waybillhq/waybill/internal/ship"
)

func TestAPickupIsBookedMovedAndCancelled(t *testing.T) {
	s := newStandIn(t)
	dhl := openWith(t, credentials, newContract(t).Checked(carriertest.Server(t, s)))
	first, err := dhl.BookPickup(t.Context(), pickup())
	if err != nil || first.Confirmation == "" || !first.Window.ReadyAt.IsZero() {
		t.Fatalf("%+v, %v", first, err)
	}

	// No courier comes on a Sunday.
	sunday := pickup()
	for sunday.Order.Window.ReadyAt.Weekday() != time.Sunday {
		sunday.Order.Window.ReadyAt = sunday.Order.Window.ReadyAt.AddDate(0, 0, 1)
		sunday.Order.Window.CloseAt = sunday.Order.Window.CloseAt.AddDate(0, 0, 1)
	}
	moved, err := dhl.BookPickup(t.Context(), sunday)
	if err != nil || !moved.Window.ReadyAt.Equal(sunday.Order.Window.ReadyAt.AddDate(0, 0, 1)) || moved.Window.CloseAt.Hour() != 16 {
		t.Errorf("asked for %v: %+v, %v", sunday.Order.Window, moved, err)
	}

	if err := dhl.CancelPickup(t.Context(), pickup(), first); err != nil {
		t.Fatal(err)
	}
	left := s.Ledger.Pickups()
	if len(left) != 1 || left[0].Number != moved.Confirmation || left[0].Reference != pickup().Reference || left[0].Account != standin.Account {
		t.Errorf("the ledger has %+v", left)
	}
	if err := dhl.CancelPickup(t.Context(), pickup(), ship.PickupBooking{Confirmation: "XXX000000000000"}); err != nil {
		t.Errorf("a pickup that DHL does not know: %v", err)
	}
}

func TestALostAnswerAboutAPickupIsUncertain(t *testing.T) {
	for _, fault := range []string{"hang", "reset", "500", "502", "truncate"} {
		t.Run(fault, func(t *testing.T) {
			s := newStandIn(t)
			dhl := openWith(t, credentials, carriertest.Server(t, s))
			dhl.Deadlines.Pickup = time.Second
			dhl.Deadlines.Void = time.Second
			booked, err := dhl.BookPickup(t.Context(), pickup())
			if err != nil {
				t.Fatal(err)
			}

			if err := s.Turn(emulator.Faults{Day: map[string]float64{fault: 1}}); err != nil {
				t.Fatal(err)
			}
			if _, err := dhl.BookPickup(t.Context(), pickup()); ship.KindOf(err) != ship.Uncertain || len(s.Ledger.Pickups()) != 2 {
				t.Errorf("BookPickup: %v with %d pickups, want uncertain with 2", err, len(s.Ledger.Pickups()))
			}
			err = dhl.CancelPickup(t.Context(), pickup(), booked)
			if isLost := fault != "truncate"; (ship.KindOf(err) == ship.Uncertain) != isLost || len(s.Ledger.Pickups()) != 1 {
				t.Errorf("CancelPickup: %v with %d pickups", err, len(s.Ledger.Pickups()))
			}

			if err := s.Turn(emulator.Faults{}); err != nil {
				t.Fatal(err)
			}
			if err := dhl.CancelPickup(t.Context(), pickup(), booked); err != nil {
				t.Errorf("cancelled again: %v", err)
			}
		})
	}
}

func TestARefusedPickupIsNotBooked(t *testing.T) {
	contract := newContract(t)
	s := newStandIn(t)
	via := contract.Checked(carriertest.Server(t, s))
	other := carrier.Credentials{"api_key": standin.APIKey, "api_secret": standin.APISecret, "account_number": "987654321"}
	if _, err := openWith(t, other, via).BookPickup(t.Context(), pickup()); ship.KindOf(err) != ship.Forbidden {
		t.Errorf("another account: %v, want forbidden", err)
	}

	if err := s.Turn(emulator.Faults{Day: map[string]float64{"refuse": 1}}); err != nil {
		t.Fatal(err)
	}
	if _, err := openWith(t, credentials, via).BookPickup(t.Context(), pickup()); ship.KindOf(err) != ship.Invalid {
		t.Errorf("refused: %v, want invalid", err)
	}
	if n := len(s.Ledger.Entries()); n != 0 {
		t.Errorf("%d lines in the ledger", n)
	}
}

func TestAProofIsThereAfterTheDelivery(t *testing.T) {
	contract := newContract(t)
	for name, tc := range map[string]struct {
		server *emulator.Server
		number string
		want   ship.Kind
	}{
		"delivered":      {delivered(t), "", ""},
		"on its way":     {newStandIn(t), "", ship.NotFound},
		"another parcel": {delivered(t), "1234567890", ship.NotFound},
	} {
		t.Run(name, func(t *testing.T) {
			dhl := openWith(t, credentials, contract.Checked(carriertest.Server(t, tc.server)))
			bought, err := dhl.Buy(t.Context(), domesticOrder())
			if err != nil {
				t.Fatal(err)
			}

			number := cmp.Or(tc.number, bought.TrackingNumber)
			proof, err := dhl.FetchProof(t.Context(), ship.Purchase{TrackingNumber: number})
			if ship.KindOf(err) != tc.want {
				t.Fatalf("%v, want %q", err, tc.want)
			}
			if err == nil && (proof.Type != "proof_of_delivery" || proof.Format != "pdf" || !bytes.Contains(proof.Data, []byte(number))) {
				t.Errorf("the proof is a %s of %d bytes", proof.Format, len(proof.Data))
			}
		})
	}
}

func TestDutiesAreEstimatedInSeveralCurrencies(t *testing.T) {
	dhl := openWith(t, credentials, newContract(t, dayDepartures[0]).Checked(carriertest.Server(t, newStandIn(t))))
	order := foreignOrder().Order
	order.Customs.Incoterm = "DDP"
	cost, err := dhl.EstimateDuties(t.Context(), order)
	if err != nil {
		t.Fatal(err)
	}

	// Three shirts of 19.99 and a belt of 35.00, with 5 % duty and 10 % tax.
	want := []ship.LandedCharge{
		{Type: "duty", Name: "DUTY", Item: 0, Amount: ship.Money{Minor: 300, Currency: "EUR"}},
		{Type: "tax", Name: "VAT", Item: 0, Amount: ship.Money{Minor: 630, Currency: "EUR"}},
		{Type: "duty", Name: "DUTY", Item: 1, Amount: ship.Money{Minor: 175, Currency: "EUR"}},
		{Type: "tax", Name: "VAT", Item: 1, Amount: ship.Money{Minor: 368, Currency: "EUR"}},
		{Type: "fee", Name: "IMPORT_PROCESSING_CHARGE", Item: -1, Amount: ship.Money{Minor: 1250, Currency: "USD"}},
	}
	if !slices.Equal(cost.Charges, want) || len(cost.Messages) != 2 || cost.Guaranteed {
		t.Errorf("%+v", cost)
	}

	other := carrier.Credentials{"api_key": standin.APIKey, "api_secret": standin.APISecret, "account_number": "987654321"}
	dhl = openWith(t, other, newContract(t).Checked(carriertest.Server(t, newStandIn(t))))
	if _, err := dhl.EstimateDuties(t.Context(), order); ship.KindOf(err) != ship.Forbidden {
		t.Errorf("another account: %v, want forbidden", err)
	}
}

func TestPointsAreFoundWithTheirKey(t *testing.T) {
	unauthorized := carriertest.Departure{
		Operation: "GET /servicepoints", Answer: true, Contains: "status is not supported",
		Reason: "the file has no answer for a wrong key",
	}
	via := newContract(t, dayDepartures[1], unauthorized).Checked(carriertest.Server(t, newStandIn(t)))
	dhl := openWith(t, credentials, via)
	points, err := dhl.FindPoints(t.Context(), ship.PointQuery{Country: "DE", Zip: "53113", City: "Bonn", Limit: 2})
	if err != nil || len(points) != 2 {
		t.Fatalf("%+v, %v", points, err)
	}
	shop, locker := points[0], points[1]
	if shop.ID != "BON001" || shop.DistanceM != 420 || shop.Address.Zip != "53113" || len(shop.Hours) != 5 || shop.Hours[0] != (ship.PointHours{Day: "monday", Open: "09:00", Close: "18:30"}) {
		t.Errorf("the shop is %+v", shop)
	}
	if !locker.IsLocker || shop.IsLocker || !slices.Equal(shop.Abilities, ship.PointAbilities) || slices.Contains(locker.Abilities, "returns") {
		t.Errorf("the locker is %+v", locker)
	}

	for _, query := range []ship.PointQuery{{Country: "DE", City: "Nowherehausen"}, {Country: "AQ", City: "Base"}} {
		if points, err := dhl.FindPoints(t.Context(), query); err != nil || len(points) != 0 {
			t.Errorf("%+v: %+v, %v", query, points, err)
		}
	}

	wrong := carrier.Credentials{
		"api_key": standin.APIKey, "api_secret": standin.APISecret, "account_number": standin.Account, "service_point_key": "another/key+of=mine",
	}
	if _, err := openWith(t, wrong, via).FindPoints(t.Context(), ship.PointQuery{Country: "DE", City: "Bonn"}); ship.KindOf(err) != ship.Forbidden {
		t.Errorf("a wrong key: %v, want forbidden", err)
	}
}
