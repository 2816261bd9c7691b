package dhlexpress_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/emulator/dhlexpress"
)

// booking returns a request for a courier at a time.
func booking(at time.Time, reference string) string {
	return `{"plannedPickupDateAndTime":"` + at.Format("2006-01-02T15:04:05 GMT-07:00") + `","closeTime":"18:00","remark":"` + reference + `",
		"accounts":[{"typeCode":"shipper","number":"` + dhlexpress.Account + `"}],
		"customerDetails":{"shipperDetails":{
			"postalAddress":{"postalCode":"53113","cityName":"Bonn","countryCode":"DE","addressLine1":"Am Hof 1"},
			"contactInformation":{"phone":"+49 228 1820","companyName":"Acme","fullName":"Lager"}}},
		"shipmentDetails":[{"productCode":"P","isCustomsDeclarable":false,"unitOfMeasurement":"metric","packages":[{"weight":1.5}]}]}`
}

// noon returns the noon of the next day of the week.
func noon(day time.Weekday) time.Time {
	at := time.Now().UTC().AddDate(0, 0, 1)
	for at.Weekday() != day {
		at = at.AddDate(0, 0, 1)
	}
	return time.Date(at.Year(), at.Month(), at.Day(), 12, 0, 0, 0, time.UTC)
}

func TestEveryBookingIsAPickupAndIsCancelledOnce(t *testing.T) {
	b := newBench(t, "")
	numbers := map[string]bool{}
	for range 2 {
		status, answer, err := b.do("POST", "/pickups", booking(noon(time.Wednesday), "P1"))
		list, ok := answer["dispatchConfirmationNumbers"].([]any)
		if err != nil || status != http.StatusCreated || !ok || len(list) != 1 {
			t.Fatalf("%d %v %v", status, answer, err)
		}
		number, _ := list[0].(string)
		numbers[number] = true
	}
	if len(numbers) != 2 || len(b.server.Ledger.Pickups()) != 2 {
		t.Fatalf("two bookings have the numbers %v and are %d pickups", numbers, len(b.server.Ledger.Pickups()))
	}

	number := b.server.Ledger.Pickups()[0].Number
	for _, want := range []struct {
		path   string
		status int
		text   string
	}{
		{number + "?requestorName=Ann", http.StatusBadRequest, "Missing mandatory parameters: reason"},
		{"BON000000000000?requestorName=Ann&reason=none", http.StatusNotFound, "Pickup was not found"},
		{number + "?requestorName=Ann&reason=none", http.StatusOK, ""},
		{number + "?requestorName=Ann&reason=none", http.StatusBadRequest, "already cancelled"},
	} {
		status, answer, err := b.do("DELETE", "/mydhlapi/pickups/"+want.path, "")
		text, _ := answer["detail"].(string)
		if err != nil || status != want.status || !strings.Contains(text, want.text) {
			t.Errorf("DELETE %s: %d %v %v", want.path, status, answer, err)
		}
	}
	if left := b.server.Ledger.Pickups(); len(left) != 1 || left[0].Number == number || left[0].Reference != "P1" {
		t.Errorf("left are %+v", left)
	}
}

func TestNoCourierComesAtTheWeekendOrAtNight(t *testing.T) {
	b := newBench(t, "")
	for _, tc := range []struct {
		at, want time.Time
	}{
		{noon(time.Wednesday), noon(time.Wednesday)},
		{noon(time.Wednesday).Add(5*time.Hour + 30*time.Minute), noon(time.Wednesday).AddDate(0, 0, 1)},
		{noon(time.Saturday), noon(time.Saturday).AddDate(0, 0, 2)},
	} {
		_, answer, err := b.do("POST", "/pickups", booking(tc.at, "P1"))
		if err != nil || answer["nextPickupDate"] != tc.want.Format(time.DateOnly) {
			t.Errorf("asked for %v: %v, %v", tc.at, answer, err)
		}
	}
}

func TestInvalidBookingsAreRefused(t *testing.T) {
	b := newBench(t, "")
	for want, change := range map[string][2]string{
		"998: The requested pickup date is in the past": {noon(time.Wednesday).Format("2006"), "2020"},
		"8003":                                               {`"` + dhlexpress.Account + `"`, `"1"`},
		"#/closeTime: must be later":                         {`"18:00"`, `"11:00"`},
		"#/closeTime: string does not match":                 {`"18:00"`, `"6 pm"`},
		"required key [addressLine1] not found":              {"addressLine1", "addressLine2"},
		"#/shipmentDetails/0: required key [packages]":       {"packages", "parcels"},
		"#/shipmentDetails/0: required key [productCode] no": {"productCode", "product"},
	} {
		body := strings.ReplaceAll(booking(noon(time.Wednesday), "P1"), change[0], change[1])
		status, answer, err := b.do("POST", "/pickups", body)
		if err != nil || status != http.StatusBadRequest || !strings.Contains(fmt.Sprint(answer), want) {
			t.Errorf("%s: %d %v %v", want, status, answer, err)
		}
	}
	if n := len(b.server.Ledger.Entries()); n != 0 {
		t.Errorf("%d lines in the ledger", n)
	}
}
