package dhlparcelde_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carriertest"
	"github.com/waybillhq/waybill/internal/carrier/dhlparcelde"
	"github.com/waybillhq/waybill/internal/emulator"
	standin "github.com/waybillhq/waybill/internal/emulator/dhlparcelde"
	"github.com/waybillhq/waybill/internal/ship"
)

// ref is shaped like those of the service.
const ref = "S0123456789ABCDEFGHJKMNPQR"

func credentials() carrier.Credentials {
	return carrier.Credentials{
		"api_key":                         standin.APIKey,
		"api_secret":                      standin.APISecret,
		"username":                        standin.User,
		"password":                        standin.Password,
		"billing_paket":                   standin.BillingPaket,
		"billing_kleinpaket":              standin.BillingKleinpaket,
		"billing_paket_international":     standin.BillingPaketInternational,
		"billing_europaket":               standin.BillingEuropaket,
		"billing_warenpost_international": standin.BillingWarenpostInternational,
		"billing_pickup":                  standin.BillingPickup,
	}
}

// contracts are DHL's own OpenAPI files, one for each API. Tokens and tracking
// have none.
type contracts struct{ shipping, returns, pickup *carriertest.Contract }

func newContracts(t testing.TB) contracts {
	t.Helper()
	base := dhlparcelde.Spec.TestURL
	return contracts{
		shipping: carriertest.NewContract(t, base+"/parcel/de/shipping/v2", nil, "dhl-parcel-de/parcel-de-shipping-2.1.13.json"),
		returns:  carriertest.NewContract(t, base+"/parcel/de/shipping/returns/v1", nil, "dhl-parcel-de/parcel-de-returns-1.0.9.json"),
		pickup:   carriertest.NewContract(t, base+"/parcel/de/transportation/pickup/v3", nil, "dhl-parcel-de/parcel-de-pickup-3.0.0.json"),
	}
}

// checked passes requests on and checks those of the three APIs.
func (c contracts) checked(via carrier.Doer) carrier.Doer {
	return byPath{
		shipping: c.shipping.Checked(via),
		returns:  c.returns.Checked(via),
		pickup:   c.pickup.Checked(via),
		other:    via,
	}
}

type byPath struct{ shipping, returns, pickup, other carrier.Doer }

// Do is carrier.Doer.
func (p byPath) Do(r *http.Request) (*http.Response, error) {
	switch {
	case strings.HasPrefix(r.URL.Path, "/parcel/de/shipping/returns/"):
		return p.returns.Do(r)
	case strings.HasPrefix(r.URL.Path, "/parcel/de/shipping/"):
		return p.shipping.Do(r)
	case strings.HasPrefix(r.URL.Path, "/parcel/de/transportation/"):
		return p.pickup.Do(r)
	}
	return p.other.Do(r)
}

// newStandIn returns an emulator with an empty ledger.
func newStandIn(t testing.TB) *emulator.Server {
	t.Helper()
	return carriertest.StandIn(t, standin.New, emulator.Faults{})
}

func openWith(t testing.TB, given carrier.Credentials, via carrier.Doer) *carrier.Carrier {
	t.Helper()
	return carriertest.Open(t, dhlparcelde.Spec, given, via)
}

// domesticOrder returns a parcel inside Germany.
func domesticOrder() carrier.BuyOrder {
	return carrier.BuyOrder{
		Service:   "paket",
		Reference: ref,
		Shipment:  ship.NewShipmentID(0, time.Now()),
		Order: ship.Order{
			OrderID: "ORD-1001",
			Origin: ship.Address{
				Name: "Lager Nord", Company: "Acme GmbH", Address1: "Am Hof 1", City: "Bonn", Zip: "53113", Country: "DE",
				Phone: "+49 228 1820", Email: "lager@example.com",
			},
			Destination: ship.Address{
				Name: "Käthe Groß", Address1: "Mönckebergstraße 7", Address2: "Hinterhaus", City: "Hamburg", Zip: "20095", Country: "DE", Phone: "+49 40 4280",
			},
			Parcels: []ship.Parcel{parcel(1134)},
		},
	}
}

// foreignOrder returns a parcel of goods to the United States.
func foreignOrder() carrier.BuyOrder {
	b := domesticOrder()
	b.Service = "paket_international"
	b.Order.Destination = ship.Address{
		Name: "Ada Lovelace", Company: "Analytical Engines", Address1: "350 5th Ave", Address2: "Floor 21", City: "New York", State: "NY",
		Zip: "10118", Country: "US", Phone: "+1 212 555 0100", Email: "ada@example.com",
	}
	b.Order.Customs = &ship.Customs{
		ContentsType: "merchandise", InvoiceNumber: "INV-7",
		TaxIdentifiers: []ship.TaxIdentifier{{Type: "vat", Number: "DE123456789"}, {Type: "eori", Number: "DE123456789012"}, {Type: "ein", Number: "12-3456789", Party: "recipient"}},
		Items: []ship.CustomsItem{
			{Description: "Cotton shirts, men's", Quantity: 3, Value: ship.Money{Minor: 1999, Currency: "EUR"}, WeightGrams: 200, HSCode: "6205.20.2015", OriginCountry: "PT"},
			{Description: "Leather belt", Quantity: 2, Value: ship.Money{Minor: 3500, Currency: "EUR"}},
		},
	}
	return b
}

func parcel(grams int64) ship.Parcel {
	return ship.Parcel{
		Weight: float64(grams), WeightUnit: ship.Gram, WeightGrams: grams,
		Dimensions: &ship.Dimensions{LengthMM: 254, WidthMM: 204, HeightMM: 102},
	}
}

// pickup returns a pickup of three parcels in Bonn on the next day.
func pickup() carrier.PickupRequest {
	zone := time.FixedZone("", 3600)
	day := time.Now().In(zone).AddDate(0, 0, 1)
	at := func(hour int) time.Time { return time.Date(day.Year(), day.Month(), day.Day(), hour, 0, 0, 0, zone) }
	return carrier.PickupRequest{
		Reference: "P0123456789ABCDEFGHJKMNPQR",
		Order: ship.PickupOrder{
			Address:         domesticOrder().Order.Origin,
			Window:          ship.TimeWindow{ReadyAt: at(10), CloseAt: at(16)},
			Parcels:         []ship.PickupParcels{{Service: "paket", Country: "DE", Count: 3}},
			WeightGrams:     4000,
			Instructions:    "Please ring at the second door",
			TrackingNumbers: []string{"00340434161094015902"},
		},
	}
}

// TestCarrier runs the suite with goods that go abroad: domestic parcels are a part
// of what they need. TestEveryShipmentIsBoughtAndVoided has the other kinds.
func TestCarrier(t *testing.T) {
	contract := newContracts(t)
	carriertest.Run(t, carriertest.Subject{
		Spec:        dhlparcelde.Spec,
		Credentials: credentials(),
		Service: carriertest.Service(func(t testing.TB) carrier.Doer {
			return contract.checked(carriertest.Server(t, newStandIn(t)))
		}),
		Order:  foreignOrder(),
		Pickup: pickup(),
		Refusal: carriertest.Refusal{
			Status: 400,
			Body:   `{"status":{"title":"Error","statusCode":400},"items":[{"sstatus":{"title":"Error","statusCode":400},"validationMessages":[{"property":"consignee.city","validationMessage":"%s","validationState":"Error"}]}]}`,
			Code:   "consignee.city",
		},
		Refusals: map[string]carriertest.Refusal{
			"track":          {Status: 400, Body: `{"title":"Bad Request","statusCode":400,"detail":"%s"}`, Code: "400"},
			"pickups":        {Status: 422, Body: `[{"errorCode":456,"title":"%s"}]`, Code: "456"},
			"find_pickups":   {Status: 400, Body: `[{"errorCode":456,"title":"%s"}]`, Code: "456"},
			"cancel_pickups": {Status: 400, Body: `[{"errorCode":456,"title":"%s"}]`, Code: "456"},
		},
		TokenPaths: []string{"/ropc/v1/token"},
		Tokenless:  []string{"track", "find"}, // which begins with tracking
	})
}
