package fedex_test

import (
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/emulator"
)

// collect is a request for a driver, with placeholders for changes.
const collect = `{"associatedAccountNumber":{"value":"740561073"},"originDetail":{"pickupLocation":{
"contact":{"personName":"Ann","phoneNumber":"2135550100"},"address":{"streetLines":["1 Main St"],"city":"Los Angeles","stateOrProvinceCode":"CA","postalCode":"90012","countryCode":"US"}},
"packageLocation":"FRONT","readyDateTimestamp":"2099-11-17T10:00:00Z","customerCloseTime":"17:00:00"},"carrierCode":"FDXE","packageCount":1,"remarks":"P-1"}`

func TestPickupsAreRefusedAsFedExDoes(t *testing.T) {
	l := ledger(t, "")
	c := start(t, l, emulator.Faults{})
	for _, x := range []struct{ old, now, code string }{
		{`"740561073"`, `"740561074"`, "ACCOUNT.NUMBER.MISMATCH"},
		{`"FDXE"`, `"FXSP"`, "PICKUP.CARRIERCODE.INVALID"},
		{`"packageLocation":"FRONT",`, ``, ""}, // Express needs none
		{`"postalCode":"90012",`, ``, "PICKUP.POSTALCODE.MISSING"},
		{`"2135550100"`, `"555"`, "PICKUP.PHONENUMBER.INVALID"},
		{`2099-11-17T`, `2020-11-17T`, "PICKUP.REQUESTED.PREVIOUS.DAY"},
		{`17:00:00`, `10:30:00`, "FDSDMINIMUM.HOUR.REQUIRED"},
		{`"17:00:00"`, `"5 pm"`, "INCORRECT.COMPANYCLOSETIME.FORMAT"},
		{`"packageCount":1`, `"packageCount":0`, "PACKAGE.COUNT.INVALID"},
		{`"P-1"`, `"` + strings.Repeat("x", 61) + `"`, "PICKUP.REMARKS.TOOLONG"},
		{`"remarks"`, `"countryRelationships":"","remarks"`, "PICKUP.COUNTRYRELATIONSHIPS.INVALID"},
	} {
		status, body, err := c.ask("POST", "/pickup/v1/pickups", strings.Replace(collect, x.old, x.now, 1))
		if err != nil || x.code == "" && status != 200 || x.code != "" && (status != 400 || !strings.Contains(body, x.code)) {
			t.Errorf("%s: %d %s %v, want %q", x.now, status, body, err, x.code)
		}
	}
	if n := len(l.Pickups()); n != 1 {
		t.Errorf("%d pickups are booked, want the one without a location of the parcel", n)
	}
	withoutPlace := strings.NewReplacer(`"FDXE"`, `"FDXG"`, `"packageLocation":"FRONT",`, ``).Replace(collect)
	if status, body, _ := c.ask("POST", "/pickup/v1/pickups", withoutPlace); status != 400 || !strings.Contains(body, "PACKAGELOCATION") {
		t.Errorf("Ground without the place of the parcels: %d %s", status, body)
	}
}

func TestPickupsAreCancelledByAllThatNamesThem(t *testing.T) {
	l := ledger(t, "")
	c := start(t, l, emulator.Faults{})
	for _, company := range []string{"FDXE", "FDXG", "FDXE"} {
		status, body, err := c.ask("POST", "/pickup/v1/pickups", strings.Replace(collect, "FDXE", company, 1))
		if status != 200 || err != nil || strings.Contains(body, `"location"`) != (company == "FDXE") {
			t.Fatal(company, status, body, err)
		}
	}
	booked := l.Pickups()
	if len(booked) != 3 || booked[0].Number == booked[2].Number {
		t.Fatalf("equal requests made %+v", booked)
	}

	cancel := func(code, rest string) (int, string) {
		status, body, err := c.ask("PUT", "/pickup/v1/pickups/cancel", `{"associatedAccountNumber":{"value":"740561073"},"pickupConfirmationCode":"`+code+`",`+rest+`}`)
		if err != nil {
			t.Fatal(err)
		}
		return status, body
	}
	express := booked[0].Number
	for _, x := range []struct {
		code, rest string
		status     int
		want       string
	}{
		{express, `"scheduledDate":"2099-11-17"`, 400, "PICKUP.LOCATION.MISSING"},
		{express, `"scheduledDate":"2099-11-18","location":"COSA"`, 404, "NOT.FOUND.ERROR"},
		{express, `"scheduledDate":"2099-11-17","carrierCode":"FDXG"`, 404, "NOT.FOUND.ERROR"},
		{express, `"scheduledDate":"2099-11-17","location":"COSA"`, 200, "COSA" + express},
		{express, `"scheduledDate":"2099-11-17","location":"COSA"`, 400, "DUPLICATE.REQUEST.CANCEL"},
		{booked[1].Number, `"scheduledDate":"2099-11-17","carrierCode":"FDXG"`, 200, booked[1].Number},
	} {
		if status, body := cancel(x.code, x.rest); status != x.status || !strings.Contains(body, x.want) {
			t.Errorf("%s %s: %d %s, want %d %s", x.code, x.rest, status, body, x.status, x.want)
		}
	}
	if left := l.Pickups(); len(left) != 1 || left[0].Number != booked[2].Number {
		t.Errorf("the ledger has %+v", left)
	}
}
