package sandbox_test

import (
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carriertest"
	"github.com/waybillhq/waybill/internal/carrier/sandbox"
	"github.com/waybillhq/waybill/internal/ship"
)

// reference is shaped like those of the service.
const reference = "S0123456789ABCDEFGHJKMNPQR"

// firstService is a service of each carrier that takes order.
var firstService = map[string]string{
	"ups": "ground", "usps": "priority_mail", "fedex": "ground", "dhl_express": "express_domestic",
	"royal_mail": "tracked_48", "postnl": "standard", "canada_post": "expedited_parcel",
	"dhl_parcel_de": "paket", "gls": "parcel", "amazon_shipping": "standard",
}

// homes are where the carriers of some countries take parcels.
var homes = map[string]ship.Address{
	"GB": {Name: "Goods In", Company: "Acme", Address1: "1 Dock Road", City: "Bristol", Zip: "BS1 4DJ", Country: "GB"},
	"CA": {Name: "Receiving", Company: "Acme", Address1: "2701 Riverside Dr", City: "Ottawa", State: "ON", Zip: "K1A 0B1", Country: "CA"},
	"DE": {Name: "Lager", Company: "Acme", Address1: "Sträßchensweg 10", City: "Bonn", Zip: "53113", Country: "DE"},
	"AT": {Name: "Lager", Company: "Acme", Address1: "Rochusplatz 1", City: "Wien", Zip: "1030", Country: "AT"},
	"AE": {Name: "Warehouse", Company: "Acme", Address1: "12 Al Wasl Road", City: "Dubai", Country: "AE"},
	"NL": {Name: "Magazijn", Company: "Acme", Address1: "Siriusdreef 42", City: "Hoofddorp", Zip: "2132 WT", Country: "NL"},
}

// orderFor returns a parcel that the carrier takes: within its country.
func orderFor(spec carrier.Spec) ship.Order {
	sent := order()
	if len(spec.Origins) > 0 {
		sent.Origin = homes[spec.Origins[0]]
		sent.Destination = sent.Origin
		sent.Destination.Name = "Ada Lovelace"
	}
	return sent
}

// order returns one parcel of 2.5 lb from Los Angeles to New York.
func order() ship.Order {
	return ship.Order{
		OrderID: "ORD-1001",
		Origin: ship.Address{
			Name: "Warehouse", Company: "Acme", Address1: "1 Main St", City: "Los Angeles", State: "CA", Zip: "90012", Country: "US",
		},
		Destination: ship.Address{
			Name: "Ada Lovelace", Address1: "350 5th Ave", City: "New York", State: "NY", Zip: "10118", Country: "US",
		},
		Parcels: []ship.Parcel{{
			Weight: 2.5, WeightUnit: ship.Pound, WeightGrams: 1134,
			Dimensions: &ship.Dimensions{Length: 10, Width: 8, Height: 4, Unit: ship.Inch, LengthMM: 254, WidthMM: 204, HeightMM: 102},
		}},
		ShipDate: "2026-11-16", // a Monday
	}
}

func buyOrder(name string) carrier.BuyOrder {
	return carrier.BuyOrder{Order: order(), Service: firstService[name], Reference: reference}
}

// pickup returns a pickup of two parcels tomorrow, from nine to five.
func pickup() carrier.PickupRequest {
	day := time.Now().In(time.FixedZone("", -8*3600)).AddDate(0, 0, 1)
	ready := time.Date(day.Year(), day.Month(), day.Day(), 9, 0, 0, 0, day.Location())
	return carrier.PickupRequest{
		Order: ship.PickupOrder{
			Address: order().Origin,
			Window:  ship.TimeWindow{ReadyAt: ready, CloseAt: ready.Add(8 * time.Hour)},
			Parcels: []ship.PickupParcels{{Service: "ground", Country: "US", Count: 2}},
		},
		Reference: reference,
	}
}

// open returns the carrier without a network.
func open(t testing.TB, name string) *carrier.Carrier {
	t.Helper()
	return openVia(t, name, nil)
}

func openVia(t testing.TB, name string, via carrier.Doer) *carrier.Carrier {
	t.Helper()
	for _, spec := range sandbox.Specs() {
		if spec.Name == name {
			c, err := carrier.Open(spec, carrier.Opening{Via: via})
			if err != nil {
				t.Fatal(err)
			}
			return c
		}
	}
	t.Fatalf("no carrier %s", name)
	return nil
}

// addresses are the verdicts of the magic streets.
func addresses() []carriertest.AddressExample {
	at := func(line string) ship.Address {
		return ship.Address{Address1: line, City: "Albany", State: "NY", Zip: "12207", Country: "US"}
	}
	return []carriertest.AddressExample{
		{Address: at("5 Any Street"), Verdict: ship.AddressValid},
		{Address: at("Corrected Street"), Verdict: ship.AddressCorrected, Becomes: at("1 Corrected Street"), Kind: "home"},
		{Address: at("Ambiguous Street"), Verdict: ship.AddressAmbiguous, Candidates: 2},
		{Address: at("Invalid Street"), Verdict: ship.AddressInvalid},
	}
}

func TestCarrier(t *testing.T) {
	for _, spec := range sandbox.Specs() {
		t.Run(spec.Name, func(t *testing.T) {
			t.Parallel() // most of the time is spent waiting for answers that never come
			sent := buyOrder(spec.Name)
			sent.Order = orderFor(spec)
			absent := sent
			absent.Order.Destination.Name = "Fault Timeout"
			notBooked := pickup()
			notBooked.Order.Address.Name = "Fault Timeout"
			points := ship.PointQuery{Country: "US", Zip: "10118", City: "New York", Limit: 5}
			if len(spec.Origins) > 0 {
				home := homes[spec.Origins[0]]
				points = ship.PointQuery{Country: home.Country, Zip: home.Zip, City: home.City, Limit: 5}
			}
			carriertest.Run(t, carriertest.Subject{
				Spec:        spec,
				Credentials: carrier.Credentials{"api_key": "key-that-nobody-may-see"},
				Service:     carriertest.Service(func(testing.TB) carrier.Doer { return sandbox.Service{} }),
				Order:       sent,
				Absent:      absent,
				Refusal:     carriertest.Refusal{Status: 422, Body: `{"code":"120802","message":"%s"}`, Code: "120802"},
				Addresses:   addresses(),

				Stateless:    true,
				Pickup:       pickup(),
				AbsentPickup: notBooked,
				Declared:     buyOrder(spec.Name),
				Points:       points,
				Duties:       abroad(),
			})
		})
	}
}

func TestSpecsAreNamed(t *testing.T) {
	for i, spec := range sandbox.Specs() {
		if i < len(sandbox.Names) && spec.Name != sandbox.Names[i] {
			t.Errorf("spec %d is %s, want %s", i, spec.Name, sandbox.Names[i])
		}
		if isNational := len(spec.Origins) > 0; isNational != (i >= len(sandbox.Names)) {
			t.Errorf("%s takes parcels from %v", spec.Name, spec.Origins)
		}
		seen := map[string]bool{}
		for _, s := range spec.Services {
			if s.Code == "" || s.Name == "" || seen[s.Code] {
				t.Errorf("%s: bad service %+v", spec.Name, s)
			}
			seen[s.Code] = true
		}
	}
}
