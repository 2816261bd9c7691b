package dhlexpress

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// bonn is the zone of the pickups in the tests.
var bonn = time.FixedZone("", 3600)

// shelf returns a pickup of three parcels in Bonn, two hours after monday.
func shelf() carrier.PickupRequest {
	return carrier.PickupRequest{
		Reference: "P0123456789ABCDEFGHJKMNPQR",
		Order: ship.PickupOrder{
			Address: shirts().Order.Origin,
			Window: ship.TimeWindow{
				ReadyAt: time.Date(2026, 11, 16, 12, 30, 0, 0, bonn),
				CloseAt: time.Date(2026, 11, 16, 18, 0, 0, 0, bonn),
			},
			Parcels: []ship.PickupParcels{
				{Service: "express_worldwide", Country: "US", Count: 2},
				{Country: "DE", Count: 1},
			},
			WeightGrams: 4000,
		},
	}
}

func TestPickupsAreWrittenAsTheGoldenFiles(t *testing.T) {
	home := true
	detailed := shelf()
	detailed.Order.Address.Residential = &home
	detailed.Order.Address.Company = ""
	detailed.Order.Address.Country, detailed.Order.Address.Zip, detailed.Order.Address.City = "ES", "35001", "Las Palmas"
	detailed.Order.Window.CloseAt = detailed.Order.Window.CloseAt.UTC()
	detailed.Order.Instructions = strings.Repeat("please ring twice and wait, ", 5) + "thank you"
	detailed.Order.Parcels = []ship.PickupParcels{
		{Service: "express_envelope", Country: "US", Count: 1},
		{Service: "economy_select", Country: "FR", Count: 1},
		{Count: 1},
	}

	for name, request := range map[string]carrier.PickupRequest{"parcels": shelf(), "home": detailed} {
		body, err := driver{account: "123456789"}.pickupBody(request, monday)
		if err != nil {
			t.Fatal(name, err)
		}
		golden(t, name+".pickup.json", body)
	}
	golden(t, "cancellation.json", cancellation(shelf().Order))
}

func TestPickupsThatDHLCannotTakeAreRefusedBefore(t *testing.T) {
	for pointer, change := range map[string]func(*ship.PickupOrder){
		"/address/phone":  func(o *ship.PickupOrder) { o.Address.Phone = "" },
		"/address/city":   func(o *ship.PickupOrder) { o.Address.City = strings.Repeat("x", 60) },
		"/window/closeAt": func(o *ship.PickupOrder) { o.Window.CloseAt = o.Window.CloseAt.AddDate(0, 0, 1) },
		"/window/readyAt": func(o *ship.PickupOrder) {
			o.Window.ReadyAt = o.Window.ReadyAt.AddDate(0, 0, 11)
			o.Window.CloseAt = o.Window.CloseAt.AddDate(0, 0, 11)
		},
		"/weight":       func(o *ship.PickupOrder) { o.WeightGrams = 0 },
		"/parcels":      func(o *ship.PickupOrder) { o.Parcels = nil },
		"/instructions": func(o *ship.PickupOrder) { o.Instructions = strings.Repeat("ring twice ", 40) },
	} {
		request := shelf()
		change(&request.Order)
		_, err := driver{account: "1"}.pickupBody(request, monday)
		refused, ok := errors.AsType[*ship.Error](err)
		if !ok || refused.Kind != ship.Invalid || len(refused.Fields) != 1 || refused.Fields[0].Pointer != pointer {
			t.Errorf("%s: %+v", pointer, err)
		}
	}
}

func TestAWindowThatHasBegunIsBookedUntilItEnds(t *testing.T) {
	for name, tc := range map[string]struct {
		now  time.Time
		want string
		code string
	}{
		"before":          {monday, "2026-11-16T12:30:00 GMT+01:00", ""},
		"during":          {monday.Add(3 * time.Hour), "2026-11-16T13:45:00 GMT+01:00", ""},
		"minutes to end":  {time.Date(2026, 11, 16, 17, 50, 0, 0, bonn), "", "pickup_too_late"},
		"after":           {time.Date(2026, 11, 16, 19, 0, 0, 0, bonn), "", "pickup_too_late"},
		"on the next day": {monday.AddDate(0, 0, 1), "", "pickup_too_late"},
	} {
		body, err := driver{account: "1"}.pickupBody(shelf(), tc.now)
		if body.PlannedPickupDateAndTime != tc.want || ship.CodeOf(err) != tc.code {
			t.Errorf("%s: %q, %v", name, body.PlannedPickupDateAndTime, err)
		}
	}
}

func TestABookingSaysWhenTheCourierComes(t *testing.T) {
	asked := shelf().Order.Window
	at := func(day, hour, minute int) time.Time { return time.Date(2026, 11, day, hour, minute, 0, 0, bonn) }
	for name, tc := range map[string]struct {
		answer pickupAnswer
		want   ship.TimeWindow
	}{
		"says nothing":      {pickupAnswer{}, ship.TimeWindow{}},
		"as asked":          {pickupAnswer{NextPickupDate: "2026-11-16", ReadyByTime: "12:30"}, ship.TimeWindow{}},
		"later":             {pickupAnswer{NextPickupDate: "2026-11-16", ReadyByTime: "14:00"}, ship.TimeWindow{ReadyAt: at(16, 14, 0), CloseAt: at(16, 18, 0)}},
		"the next day":      {pickupAnswer{NextPickupDate: "2026-11-17"}, ship.TimeWindow{ReadyAt: at(17, 12, 30), CloseAt: at(17, 18, 0)}},
		"in the morning":    {pickupAnswer{NextPickupDate: "2026-11-17", ReadyByTime: "09:00"}, ship.TimeWindow{ReadyAt: at(17, 9, 0), CloseAt: at(17, 18, 0)}},
		"after it closes":   {pickupAnswer{ReadyByTime: "19:00"}, ship.TimeWindow{}},
		"before it was due": {pickupAnswer{NextPickupDate: "2026-11-15"}, ship.TimeWindow{}},
		"no date":           {pickupAnswer{NextPickupDate: "soon", ReadyByTime: "noon"}, ship.TimeWindow{}},
	} {
		got := tc.answer.booking(asked).Window
		if !got.ReadyAt.Equal(tc.want.ReadyAt) || !got.CloseAt.Equal(tc.want.CloseAt) {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}

	several := pickupAnswer{Numbers: []text{"BON1", "BON2", "BON3"}}.booking(asked)
	if several.Confirmation != "BON1" || several.Details != "BON2 BON3" {
		t.Errorf("several numbers: %+v", several)
	}
}

func TestRefusedPickupsPointIntoOurRequest(t *testing.T) {
	for problem, want := range map[string]string{
		"998: The requested pickup date is in the past.":                                      "pickup_too_late",
		"1002: The pickup cut-off time has passed.":                                           "pickup_too_late",
		"998: ShipTimeStamp is not well formatted.":                                           "",
		"8003: Account not allowed for this service.":                                         "forbidden",
		"#/closeTime: string does not match pattern":                                          "/window/closeAt",
		"#: required key [plannedPickupDateAndTime] not found":                                "/window/readyAt",
		"#/customerDetails/shipperDetails/postalAddress/cityName: expected maxLength: 45":     "/address/city",
		"#/customerDetails/shipperDetails/contactInformation: required key [phone] not found": "/address/phone",
		"#/shipmentDetails/0/packages/0/weight: 5000 is not less or equal to 999":             "/parcels",
		"#/specialInstructions/0/value: expected maxLength: 80, actual: 81":                   "/instructions",
		"Something else.": "",
	} {
		declined := &ship.Error{Kind: ship.Invalid, Refusal: refusalOf([]byte(`{"detail":"` + problem + `"}`))}
		explained := ship.ErrorOf(explainPickup(declined, []string{problem}))
		got := explained.Code
		if explained.Kind == ship.Forbidden {
			got = "forbidden"
		}
		if len(explained.Fields) == 1 {
			got = explained.Fields[0].Pointer
		}
		if got != want || explained.Refusal != declined.Refusal {
			t.Errorf("%s is about %q, want %q: %+v", problem, got, want, explained)
		}
	}
}

func TestAPickupIsCancelledOnlyByDHLsWords(t *testing.T) {
	for name, tc := range map[string]struct {
		kind   ship.Kind
		status int
		words  string
		want   ship.Kind
	}{
		"cancelled before":      {ship.Invalid, 400, "Pickup already cancelled or completed", ""},
		"unknown to DHL":        {ship.Invalid, 404, "Cancellation of booking was not successful. Requested Pickup was not found", ""},
		"collected":             {ship.Invalid, 400, "Pickup already completed", ship.Invalid},
		"a parameter":           {ship.Invalid, 400, "Missing mandatory parameters: requestorName", ship.Invalid},
		"a page of a proxy":     {ship.Invalid, 404, "", ship.Uncertain},
		"another service's 404": {ship.Invalid, 404, "No such route", ship.Uncertain},
		"no answer":             {ship.Uncertain, 500, "", ship.Uncertain},
		"already, but not 400":  {ship.Uncertain, 500, "already cancelled", ship.Uncertain},
	} {
		err := &ship.Error{Kind: tc.kind, Err: carrierkit.Status(tc.status), Refusal: ship.Refusal{Message: tc.words}}
		if got := explainCancellation(err); ship.KindOf(got) != tc.want {
			t.Errorf("%s: %v, want %q", name, got, tc.want)
		}
	}
}

// answers gives each request the next of its statuses, and keeps the paths.
type answers struct {
	statuses []int
	paths    []string
}

func (a *answers) Do(r *http.Request) (*http.Response, error) {
	status := a.statuses[len(a.paths)]
	a.paths = append(a.paths, r.URL.Path)
	return &http.Response{StatusCode: status, Body: http.NoBody}, nil
}

func TestEveryNumberOfAPickupIsCancelled(t *testing.T) {
	booking := ship.PickupBooking{Confirmation: "BON1", Details: "BON2 BON3"}
	via := &answers{statuses: []int{200, 503}}
	err := driver{via: via}.CancelPickup(t.Context(), shelf(), booking)
	if ship.KindOf(err) != ship.Uncertain || len(via.paths) != 2 {
		t.Errorf("after %v: %v, want uncertain", via.paths, err)
	}

	via = &answers{statuses: []int{200, 200, 200}}
	err = driver{via: via}.CancelPickup(t.Context(), shelf(), booking)
	if got := strings.Join(via.paths, " "); err != nil || got != "/pickups/BON1 /pickups/BON2 /pickups/BON3" {
		t.Errorf("cancelled %s: %v", got, err)
	}
}
