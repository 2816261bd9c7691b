package dhlexpress_test

import (
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carriertest"
	"github.com/waybillhq/waybill/internal/carrier/dhlexpress"
	"github.com/waybillhq/waybill/internal/emulator"
	standin "github.com/waybillhq/waybill/internal/emulator/dhlexpress"
	"github.com/waybillhq/waybill/internal/ship"
)

// ref is shaped like those of the service.
const ref = "S0123456789ABCDEFGHJKMNPQR"

var credentials = carrier.Credentials{
	"api_key": standin.APIKey, "api_secret": standin.APISecret, "account_number": standin.Account,
	"service_point_key": standin.ServicePointKey,
}

// departures are where DHL's own OpenAPI file is not followed.
var departures = []carriertest.Departure{{
	Operation: "GET /address-validate", Answer: true, Contains: "status is not supported",
	Reason: "the file has no answer for a wrong login; DHL answers 401",
}}

// dayDepartures are those of the operations besides quotes, purchases and
// tracking.
var dayDepartures = []carriertest.Departure{{
	Operation: "POST /landed-cost", Answer: true, Contains: `property "typeCode" is missing`,
	Reason: "DHL's own example of an answer has a row without a type: the value of an item",
}, {
	Operation: "GET /servicepoints", Answer: true, Contains: "value is not one of the allowed values",
	Reason: "the file allows no capability to be true, and DHL's own examples have many",
}, {
	Operation: "PATCH /shipments/{shipmentTrackingNumber}/upload-image", Contains: `property "shipmentTrackingNumber" is missing`,
	Reason: "the file demands the number in the body, where it allows no such property; it is in the path",
}}

func newContract(t testing.TB, departures ...carriertest.Departure) *carriertest.Contract {
	t.Helper()
	return carriertest.NewContract(t, dhlexpress.Spec.TestURL, departures, "dhl-express/mydhl-api-3.1.1.json")
}

// newStandIn returns an emulator with an empty ledger.
func newStandIn(t testing.TB) *emulator.Server {
	t.Helper()
	return carriertest.StandIn(t, standin.New, emulator.Faults{})
}

// delivered returns an emulator whose parcels are delivered at once.
func delivered(t testing.TB) *emulator.Server {
	t.Helper()
	s := newStandIn(t)
	if err := s.Turn(emulator.Faults{Tracking: []emulator.Scan{{Code: "OK", Text: "Delivered"}}}); err != nil {
		t.Fatal(err)
	}
	return s
}

func openWith(t testing.TB, given carrier.Credentials, via carrier.Doer) *carrier.Carrier {
	t.Helper()
	c, err := carrier.Open(dhlexpress.Spec, carrier.Opening{Credentials: given, BaseURL: dhlexpress.Spec.TestURL, Via: via})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// domesticOrder returns a parcel inside Germany.
func domesticOrder() carrier.BuyOrder {
	return carrier.BuyOrder{
		Service: "express_domestic", Reference: ref, Shipment: ship.NewShipmentID(0, time.Now()),
		Order: ship.Order{
			OrderID: "ORD-1001",
			Origin: ship.Address{
				Name: "Lager Nord", Company: "Acme GmbH", Address1: "Am Hof 1", City: "Bonn", Zip: "53113", Country: "DE",
				Phone: "+49 228 1820", Email: "lager@example.com",
			},
			Destination: ship.Address{
				Name: "Käthe Groß", Address1: "Mönckebergstraße 7", City: "Hamburg", Zip: "20095", Country: "DE", Phone: "+49 40 4280",
			},
			Parcels: []ship.Parcel{parcel(1134)},
		},
	}
}

// foreignOrder returns two parcels of goods from Germany to the United States.
func foreignOrder() carrier.BuyOrder {
	b := domesticOrder()
	b.Service = "express_worldwide"
	b.Order.Destination = ship.Address{
		Name: "Ada Lovelace", Company: "Analytical Engines", Address1: "350 5th Ave", Address2: "Floor 21", City: "New York", State: "NY",
		Zip: "10118", Country: "US", Phone: "+1 212 555 0100", Email: "ada@example.com",
	}
	b.Order.Parcels = []ship.Parcel{parcel(1134), parcel(90)}
	b.Order.Customs = &ship.Customs{
		ContentsType: "merchandise", Signer: "Käthe Groß", InvoiceNumber: "INV-7", TaxIDs: []string{"DE123456789012"},
		Items: []ship.CustomsItem{
			{Description: "Cotton shirts, men's", Quantity: 3, Value: ship.Money{Minor: 1999, Currency: "EUR"}, WeightGrams: 200, HSCode: "6205.20", OriginCountry: "PT"},
			{Description: "Leather belt", Quantity: 1, Value: ship.Money{Minor: 3500, Currency: "EUR"}},
		},
	}
	return b
}

// paperless returns goods to the United States with paperless trade, as quoted.
func paperless() carrier.BuyOrder {
	b := foreignOrder()
	b.Selection = "P WY"
	return b
}

func parcel(grams int64) ship.Parcel {
	return ship.Parcel{
		Weight: float64(grams), WeightUnit: ship.Gram, WeightGrams: grams,
		Dimensions: &ship.Dimensions{LengthMM: 254, WidthMM: 204, HeightMM: 102},
	}
}

// addresses are one of each verdict that DHL gives. It does not look at streets.
func addresses() []carriertest.AddressExample {
	at := func(zip, city, country string) ship.Address {
		return ship.Address{Address1: "Nowhere Street 1", City: city, Zip: zip, Country: country}
	}
	return []carriertest.AddressExample{
		{Address: at("53113", "Bonn", "DE"), Verdict: ship.AddressValid},
		{Address: at("35001", "Las Palmas", "ES"), Verdict: ship.AddressValid},
		{Address: at("", "Dubai", "AE"), Verdict: ship.AddressValid},
		{Address: at("53113", "Twinhausen", "DE"), Verdict: ship.AddressAmbiguous, Candidates: 2},
		{Address: at("53113", "Nowherehausen", "DE"), Verdict: ship.AddressInvalid},
	}
}

// pickup returns a pickup of three parcels in Bonn on a working day.
func pickup() carrier.PickupRequest {
	zone := time.FixedZone("", 3600)
	day := time.Now().In(zone).AddDate(0, 0, 1)
	for day.Weekday() == time.Saturday || day.Weekday() == time.Sunday {
		day = day.AddDate(0, 0, 1)
	}
	at := func(hour int) time.Time { return time.Date(day.Year(), day.Month(), day.Day(), hour, 0, 0, 0, zone) }
	return carrier.PickupRequest{
		Reference: "P0123456789ABCDEFGHJKMNPQR",
		Order: ship.PickupOrder{
			Address:      domesticOrder().Order.Origin,
			Window:       ship.TimeWindow{ReadyAt: at(10), CloseAt: at(16)},
			Parcels:      []ship.PickupParcels{{Service: "express_worldwide", Country: "US", Count: 2}, {Service: "express_domestic", Country: "DE", Count: 1}},
			WeightGrams:  4000,
			Instructions: "Please ring at the second door",
		},
	}
}

func TestCarrier(t *testing.T) {
	for name, order := range map[string]carrier.BuyOrder{"one parcel": domesticOrder(), "goods abroad": foreignOrder()} {
		t.Run(name, func(t *testing.T) {
			contract := newContract(t, dayDepartures...)
			carriertest.Run(t, carriertest.Subject{
				Spec:        dhlexpress.Spec,
				Credentials: credentials,
				Service: carriertest.Service(func(t testing.TB) carrier.Doer {
					return contract.Checked(carriertest.Server(t, delivered(t)))
				}),
				Order:     order,
				Addresses: addresses(),
				Pickup:    pickup(),
				Duties:    foreignOrder().Order,
				Points:    ship.PointQuery{Country: "DE", Zip: "53113", City: "Bonn", Limit: 5},
				Declared:  paperless(),
				NoBody:    []string{"cancel_pickups", "documents"},
				Refusals: map[string]carriertest.Refusal{
					"points": {Status: 200, Body: `{"status":{"statusCode":100,"statusMessage":"Error: %s"},"servicePoints":null}`, Code: "100"},
				},
				Refusal: carriertest.Refusal{
					Status: 400, Body: `{"instance":"/expressapi","detail":"7008: %s","title":"Bad request","message":"Bad request","status":"400"}`, Code: "7008",
				},
			})
		})
	}
}

func TestSpecIsWhole(t *testing.T) {
	t.Parallel()
	carriertest.CheckSpec(t, dhlexpress.Spec)
}
