package ups

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/ship"
)

// collected is a pickup in Los Angeles on the day after now, in local time.
func collected() carrier.PickupRequest {
	zone := time.FixedZone("", -8*60*60)
	return carrier.PickupRequest{
		Reference: "pik_1",
		Order: ship.PickupOrder{
			Address: domestic().Order.Origin,
			Window: ship.TimeWindow{
				ReadyAt: time.Date(2026, 11, 17, 9, 5, 0, 0, zone),
				CloseAt: time.Date(2026, 11, 17, 17, 30, 0, 0, zone),
			},
			Parcels: []ship.PickupParcels{
				{Service: "ground", Country: "US", Count: 3},
				{Service: "", Count: 2},
				{Service: "worldwide_saver", Country: "DE", Count: 1},
			},
			WeightGrams:     12_000,
			Instructions:    "Ring at the dock",
			TrackingNumbers: []string{"1ZA1B2C30300001011"},
		},
	}
}

// collectedAbroad is a pickup of heavy parcels at a home in Berlin.
func collectedAbroad() carrier.PickupRequest {
	zone := time.FixedZone("", 60*60)
	home := true
	return carrier.PickupRequest{
		Reference: "pik_2",
		Order: ship.PickupOrder{
			Address: ship.Address{
				Name: "Jörg Müller", Address1: "Friedrichstraße 1", Address2: "Hinterhaus", City: "Berlin", Zip: "10117", Country: "DE",
				Phone: "+49 30 1234567", Residential: &home,
			},
			Window: ship.TimeWindow{
				ReadyAt: time.Date(2026, 11, 17, 12, 0, 0, 0, zone),
				CloseAt: time.Date(2026, 11, 17, 18, 0, 0, 0, zone),
			},
			Parcels:     []ship.PickupParcels{{Service: "standard", Country: "FR", Count: 1}, {Count: 1}},
			WeightGrams: 70_000,
		},
	}
}

func TestPickupsAreWrittenAsTheGoldenFiles(t *testing.T) {
	for name, request := range map[string]carrier.PickupRequest{"pickup": collected(), "pickup-abroad": collectedAbroad()} {
		body, err := account(t).pickupRequest(request)
		if err != nil {
			t.Fatal(name, err)
		}
		golden(t, name, body)
	}
}

func TestPickupsThatUPSDoesNotTakeAreNotSent(t *testing.T) {
	for _, tc := range []struct {
		name    string
		change  func(*ship.PickupOrder)
		pointer string
	}{
		{"nobody to ask for", func(o *ship.PickupOrder) { o.Address.Name = "" }, "/address/name"},
		{"nobody to call", func(o *ship.PickupOrder) { o.Address.Phone = "" }, "/address/phone"},
		{"a long company", func(o *ship.PickupOrder) { o.Address.Company = strings.Repeat("x", 28) }, "/address/company"},
		{"long instructions", func(o *ship.PickupOrder) { o.Instructions = strings.Repeat("x", 58) }, "/instructions"},
		{"over night", func(o *ship.PickupOrder) { o.Window.CloseAt = o.Window.CloseAt.AddDate(0, 0, 1) }, "/closeAt"},
		{"a window that ends before it begins", func(o *ship.PickupOrder) { o.Window.CloseAt = o.Window.ReadyAt.Add(-time.Hour) }, "/closeAt"},
		{"no parcels", func(o *ship.PickupOrder) { o.Parcels = nil }, "/parcels"},
		{"too many parcels", func(o *ship.PickupOrder) { o.Parcels[0].Count = 998 }, "/parcels"},
		{"a service of nobody", func(o *ship.PickupOrder) { o.Parcels[2].Service = "teleport" }, "/parcels/2/service"},
	} {
		request := collected()
		tc.change(&request.Order)
		_, err := account(t).pickupRequest(request)
		failure, ok := errors.AsType[*ship.Error](err)
		if !ok || failure.Kind != ship.Invalid || len(failure.Fields) != 1 || failure.Fields[0].Pointer != tc.pointer {
			t.Errorf("%s: %+v, want invalid %s", tc.name, err, tc.pointer)
		}
	}
}

// UPS may charge more for an alternate address, and goes to the account's own
// address unless another is given.
func TestOnlyPickupsElsewhereAreAtAnAlternateAddress(t *testing.T) {
	for setting, want := range map[string]string{
		"":                      "Y",
		"1 Main St, 90012":      "N",
		"1 MAIN ST. 90012":      "N",
		"2 Main St, 90012":      "Y",
		"1 Main St, 90013":      "Y",
		"1 Main St, 90012-1234": "Y",
	} {
		d := account(t)
		d.pickupAddress = comparableAddress(setting)
		body, err := d.pickupRequest(collected())
		if err != nil {
			t.Fatal(err)
		}
		if got := body.PickupCreationRequest.AlternateAddressIndicator; got != want {
			t.Errorf("the account's address is %q: %s, want %s", setting, got, want)
		}
	}
}
