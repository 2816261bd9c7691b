package ups_test

import (
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/emulator"
	"github.com/waybillhq/waybill/internal/ship"
)

// A booking whose answer goes wrong is uncertain and found, and booking again
// brings no second driver.
func TestBookingIsUncertainAndThePickupIsFound(t *testing.T) {
	for _, fault := range []string{"reset", "500", "502", "truncate"} {
		t.Run(fault, func(t *testing.T) {
			server, via := service(t)
			if err := server.Turn(emulator.Faults{Day: map[string]float64{fault: 1}}); err != nil {
				t.Fatal(err)
			}
			c := open(t, via)
			if _, err := c.BookPickup(t.Context(), pickup()); ship.KindOf(err) != ship.Uncertain {
				t.Errorf("booked: %v, want uncertain", err)
			}
			found, err := c.FindPickup(t.Context(), pickup())
			if err != nil {
				t.Fatal(err)
			}
			if err := c.CancelPickup(t.Context(), pickup(), found); ship.KindOf(err) != ship.Uncertain {
				t.Errorf("cancelled: %v, want uncertain", err)
			}
			if _, err := c.FindPickup(t.Context(), pickup()); ship.KindOf(err) != ship.NotFound {
				t.Errorf("after the cancellation: %v, want not found", err)
			}

			// UPS answers the second cancellation with an error.
			if err := c.CancelPickup(t.Context(), pickup(), found); err != nil {
				t.Errorf("cancelled again: %v", err)
			}
			if err := server.Turn(emulator.Faults{}); err != nil {
				t.Fatal(err)
			}
			first, err := c.BookPickup(t.Context(), pickup())
			if err != nil || first.Confirmation == found.Confirmation || first.Price.Amount() != "9.65" {
				t.Errorf("booked after the cancellation: %+v, %v", first, err)
			}
			second, err := c.BookPickup(t.Context(), pickup())
			if err != nil || second != first {
				t.Errorf("booked again: %+v, %v; want %+v", second, err, first)
			}
			if open := server.Ledger.Pickups(); len(open) != 1 || open[0].Reference != pickup().Reference {
				t.Errorf("the ledger has %+v", open)
			}
		})
	}
}

// A refused booking leaves nothing behind.
func TestRefusedPickupsAreNotBooked(t *testing.T) {
	server, via := service(t)
	if err := server.Turn(emulator.Faults{Day: map[string]float64{"refuse": 1}}); err != nil {
		t.Fatal(err)
	}
	c := open(t, via)
	if _, err := c.BookPickup(t.Context(), pickup()); ship.CodeOf(err) != "pickup_too_late" || code(err) != "9560131" {
		t.Errorf("booked: %v, want too late", err)
	}
	if booked := server.Ledger.Pickups(); len(booked) != 0 {
		t.Errorf("the ledger has %+v", booked)
	}
	unknown := ship.PickupBooking{Confirmation: "29000000000"}
	if err := c.CancelPickup(t.Context(), pickup(), unknown); ship.KindOf(err) != ship.Invalid {
		t.Errorf("a pickup that was never booked is cancelled: %v, want invalid", err)
	}
}

func TestPickupsAreJudgedByWhatUPSSays(t *testing.T) {
	refusal := func(code, message string) string {
		return `{"response":{"errors":[{"code":"` + code + `","message":"` + message + `"}]}}`
	}

	for _, tc := range []struct {
		status int
		body   string
		number string
		kind   ship.Kind
		code   string
	}{
		// UPS's own sample.
		{200, `{"PickupCreationResponse":{"PRN":"2930O2BER9R","RateStatus":{"Code":"04","Description":"Rate not requested"},"Response":{"ResponseStatus":{"Code":"1","Description":"Success"}}}}`, "2930O2BER9R", "", ""},
		{200, `{"PickupCreationResponse":{"Response":{"ResponseStatus":{"Code":"1"},"Alert":[{"Code":"1","Description":"Something"}]}}}`, "", ship.Uncertain, ""},
		{400, refusal("9560131", "Invalid."), "", ship.Invalid, "pickup_too_late"},
		{400, refusal("9510000", "The pickup date is a holiday."), "", ship.Invalid, "pickup_too_late"},
		{400, refusal("9510000", "Unserviceable address."), "", ship.Invalid, ""},
		{403, refusal("250003", "Invalid Access License number"), "", ship.Forbidden, ""},
		{500, refusal("10004", "away"), "", ship.Uncertain, ""},
	} {
		booking, err := open(t, scripted(t, tc.status, tc.body)).BookPickup(t.Context(), pickup())
		if booking.Confirmation != tc.number || ship.KindOf(err) != tc.kind || ship.CodeOf(err) != tc.code {
			t.Errorf("booked, %d %s: %+v, %v", tc.status, tc.body, booking, err)
		}
	}

	for _, tc := range []struct {
		status int
		body   string
		kind   ship.Kind
	}{
		{200, `{"PickupCancelResponse":{"PickupType":"01","Response":{"ResponseStatus":{"Code":"1","Description":"Success"}}}}`, ""},
		{200, `{"PickupCancelResponse":{"Response":{"ResponseStatus":{"Code":"0","Description":"Failure"}}}}`, ship.Invalid},
		{200, `{}`, ship.Uncertain},
		{400, refusal("9510000", "The pickup request has already been canceled."), ""},
		{400, refusal("9510000", "The pickup has already been completed and cannot be cancelled."), ship.Invalid},
		{400, refusal("9510000", "Invalid PRN."), ship.Invalid},
	} {
		err := open(t, scripted(t, tc.status, tc.body)).CancelPickup(t.Context(), pickup(), ship.PickupBooking{Confirmation: "2930O2BER9R"})
		if ship.KindOf(err) != tc.kind {
			t.Errorf("cancelled, %d %s: %v, want kind %q", tc.status, tc.body, err, tc.kind)
		}
	}
}

// Only a list without our reference says that a pickup does not exist.
func TestPickupsAreFoundByReferenceAndDay(t *testing.T) {
	wanted := pickup()
	day := wanted.Order.Window.ReadyAt.Format("20060102")
	row := func(status, reference, day string) string {
		return `{"PickupType":"01","PRN":"2928H4MPOLF","OnCallStatusCode":"` + status + `","ReferenceNumber":"` + reference + `","ServiceDate":"` + day + `"}`
	}
	listed := func(rows string) string { return `{"PickupPendingStatusResponse":{"PendingStatus":` + rows + `}}` }

	for _, tc := range []struct {
		status int
		body   string
		kind   ship.Kind
	}{
		{200, listed(row("012", wanted.Reference, day)), ""},
		{200, listed("[" + row("012", "", day) + "," + row("002", strings.ToUpper(wanted.Reference), day) + "]"), ""},
		{200, listed(row("007", wanted.Reference, day)), ship.NotFound},
		{200, listed(row("012", "another", day)), ship.NotFound},
		{200, listed(row("012", wanted.Reference, "20200101")), ship.NotFound},
		{200, listed("[]"), ship.NotFound},
		{200, `{}`, ship.Unavailable},
		{400, `{"response":{"errors":[{"code":"9510000","message":"No pending pickups found."}]}}`, ship.NotFound},
		{400, `{"response":{"errors":[{"code":"9510000","message":"Invalid account."}]}}`, ship.Invalid},
		{404, `{"response":{"errors":[{"code":"404","message":"not found"}]}}`, ship.Unavailable},
	} {
		found, err := open(t, scripted(t, tc.status, tc.body)).FindPickup(t.Context(), wanted)
		if ship.KindOf(err) != tc.kind || tc.kind == "" && found.Confirmation != "2928H4MPOLF" {
			t.Errorf("%d %s: %+v, %v", tc.status, tc.body, found, err)
		}
	}

	// UPS does not list other days, so nothing is asked.
	for _, days := range []int{-2, 1} {
		other := wanted
		other.Order.Window.ReadyAt = wanted.Order.Window.ReadyAt.AddDate(0, 0, days)
		if _, err := open(t, scripted(t, 200, listed("[]"))).FindPickup(t.Context(), other); ship.KindOf(err) != ship.Unsupported {
			t.Errorf("%d days later: %v, want unsupported", days, err)
		}
	}
}

// A proof exists after the delivery, and belongs to the parcel that is asked for.
func TestProofsOfDeliveryAreFetched(t *testing.T) {
	server, via := service(t)
	c := open(t, via)
	bought, err := c.Buy(t.Context(), buyOrder())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.FetchProof(t.Context(), purchase(bought)); ship.KindOf(err) != ship.NotFound {
		t.Errorf("before the delivery: %v, want not found", err)
	}
	if err := server.Turn(delivered()); err != nil {
		t.Fatal(err)
	}
	proof, err := c.FetchProof(t.Context(), purchase(bought))
	if err != nil || proof.Type != "proof_of_delivery" || proof.Format != "html" || !strings.Contains(string(proof.Data), bought.TrackingNumber) {
		t.Errorf("after the delivery: %s %s %s, %v", proof.Type, proof.Format, proof.Data, err)
	}

	const page = "PGh0bWw+PC9odG1sPg==" // <html></html>
	const number = "1ZA1B2C30300001011"
	parcel := func(number, content string) string {
		return `{"trackingNumber":"` + number + `","deliveryInformation":{"pod":{"content":"` + content + `"}}}`
	}
	tracked := func(parcels string) string {
		return `{"trackResponse":{"shipment":[{"package":[` + parcels + `]}]}}`
	}
	for _, tc := range []struct {
		status int
		body   string
		kind   ship.Kind
	}{
		{200, tracked(parcel(number, page)), ""},
		{200, tracked(parcel("1ZA1B2C30300001020", page)), ""}, // another number of the same parcel
		{200, tracked(parcel("1ZA1B2C30300001020", page) + "," + parcel(number, page)), ""},
		{200, tracked(parcel("1ZA1B2C30300001020", page) + "," + parcel(number, "")), ship.NotFound},
		{200, tracked(`{"trackingNumber":"` + number + `"}`), ship.NotFound},
		{200, tracked(parcel(number, "#")), ship.Unavailable},
		{200, `{"trackResponse":{"shipment":[{"warnings":[{"code":"TW0001"}]}]}}`, ship.NotFound},
		{404, `{"response":{"errors":[{"code":"TW0001","message":"not there"}]}}`, ship.NotFound},
		{404, `{}`, ship.Unavailable},
	} {
		_, err := open(t, scripted(t, tc.status, tc.body)).FetchProof(t.Context(), ship.Purchase{TrackingNumber: number})
		if ship.KindOf(err) != tc.kind {
			t.Errorf("%d %s: %v, want kind %q", tc.status, tc.body, err, tc.kind)
		}
	}
	if _, err := c.FetchProof(t.Context(), ship.Purchase{TrackingNumber: "1ZXXXXXXXXXXXXXXXX"}); ship.KindOf(err) != ship.NotFound {
		t.Errorf("a number of the test environment: %v, want not found", err)
	}
}

// What is quoted for a return can be bought as one.
func TestReturnsAreQuotedWithoutServicesThatDoNotReturn(t *testing.T) {
	_, via := service(t)
	b := exchanges()["return"]
	rates, err := open(t, via).Rates(t.Context(), b.Order)
	if err != nil || len(rates) == 0 {
		t.Fatalf("%d rates, %v", len(rates), err)
	}
	for _, rate := range rates {
		if rate.Service == "next_day_air_saver" || rate.Service == "second_day_air_am" {
			t.Errorf("%s is quoted", rate.Service)
		}
	}
}
