package royalmail_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carriertest"
	"github.com/waybillhq/waybill/internal/carrier/royalmail"
	"github.com/waybillhq/waybill/internal/emulator"
	standin "github.com/waybillhq/waybill/internal/emulator/royalmail"
	"github.com/waybillhq/waybill/internal/ship"
)

var credentials = carrier.Credentials{
	"api_key":                standin.APIKey,
	"tracking_client_id":     standin.TrackingClientID,
	"tracking_client_secret": standin.TrackingClientSecret,
	// Services without a usual code, with codes that the emulated account has.
	"service_codes": "tracked_24_age_verified=SDV, tracked_48_age_verified=SDW/01, international_tracked_heavier=BYD, international_business_parcels_tracked_boxable=MP1",
}

// newStandIn returns an emulator with an empty ledger and the faults.
func newStandIn(t testing.TB, faults emulator.Faults) *emulator.Server {
	t.Helper()
	return carriertest.StandIn(t, standin.New, faults)
}

// delivered are faults by which parcels are delivered at once.
func delivered() emulator.Faults {
	return emulator.Faults{Tracking: []emulator.Scan{{Code: "EVKSP", Text: "Delivered and signed", City: "Leeds City DO"}}}
}

// newContract returns Royal Mail's own file about Click & Drop.
func newContract(t testing.TB, departures ...carriertest.Departure) *carriertest.Contract {
	t.Helper()
	return carriertest.NewContract(t, royalmail.Spec.LiveURL, departures, "royal-mail/click-and-drop-1.0.0.json")
}

// checked returns via with the exchanges of Click & Drop checked. Royal Mail
// publishes no open file about its Tracking API, and its file about Click & Drop
// leaves out returns.
func checked(contract *carriertest.Contract, via carrier.Doer) carrier.Doer {
	return byPath{shipping: contract.Checked(via), tracking: via}
}

type byPath struct{ shipping, tracking carrier.Doer }

// Do is carrier.Doer.
func (b byPath) Do(r *http.Request) (*http.Response, error) {
	if strings.HasPrefix(r.URL.Path, "/mailpieces/") || strings.HasPrefix(r.URL.Path, "/api/v1/returns") {
		return b.tracking.Do(r)
	}
	return b.shipping.Do(r)
}

func openVia(t testing.TB, via carrier.Doer) *carrier.Carrier {
	t.Helper()
	return carriertest.Open(t, royalmail.Spec, credentials, via)
}

// domesticOrder returns a parcel within Great Britain.
func domesticOrder() carrier.BuyOrder {
	return carrier.BuyOrder{
		Service:   "tracked_48",
		Reference: "S0123456789ABCDEFGHJKMNPQR",
		Shipment:  ship.NewShipmentID(0, time.Now()),
		Order: ship.Order{
			OrderID: "ORD-1001",
			Origin: ship.Address{
				Name: "Goods In", Company: "Acme Ltd", Address1: "1 Dock Road", City: "Bristol", Zip: "BS1 4DJ", Country: "GB",
			},
			Destination: ship.Address{
				Name: "Ann Lee", Address1: "2 High Street", City: "Leeds", Zip: "LS1 4AP", Country: "GB",
				Phone: "+441132000000", Email: "ann@example.com",
			},
			Parcels: []ship.Parcel{parcel(800)},
		},
	}
}

// foreignOrder returns goods from Great Britain to France.
func foreignOrder() carrier.BuyOrder {
	request := domesticOrder()
	request.Service = "international_tracked_signed"
	request.Order.Destination = ship.Address{
		Name: "Marie Curie", Company: "Institut Curie", Address1: "1 Rue Pierre et Marie Curie", City: "Paris", Zip: "75005", Country: "FR",
		Type: "business",
	}
	request.Order.Customs = &ship.Customs{
		ContentsType:  "merchandise",
		InvoiceNumber: "INV-7",
		TaxIdentifiers: []ship.TaxIdentifier{
			{Type: "ioss", Number: "IM3720000123"},
			{Type: "eori", Number: "FR12345678901234", Party: "importer"},
		},
		Items: []ship.CustomsItem{
			{Description: "Cotton shirts, men's, with long sleeves and buttons of mother-of-pearl", Quantity: 3, Value: ship.Money{Minor: 1999, Currency: "GBP"}, WeightGrams: 200, HSCode: "6205.20", OriginCountry: "PT"},
			{Description: "Leather belt", Quantity: 1, Value: ship.Money{Minor: 3500, Currency: "GBP"}, WeightGrams: 150},
		},
	}
	return request
}

func parcel(grams int64) ship.Parcel {
	return ship.Parcel{
		Weight: float64(grams), WeightUnit: ship.Gram, WeightGrams: grams,
		Dimensions: &ship.Dimensions{LengthMM: 300, WidthMM: 200, HeightMM: 100, Unit: ship.Centimetre},
	}
}

func TestCarrier(t *testing.T) {
	t.Parallel()
	contract := newContract(t)
	carriertest.Run(t, carriertest.Subject{
		Spec:        royalmail.Spec,
		Credentials: credentials,
		Service: carriertest.Service(func(t testing.TB) carrier.Doer {
			return checked(contract, carriertest.Server(t, newStandIn(t, delivered())))
		}),
		Order:   foreignOrder(),
		Refusal: carriertest.Refusal{Status: 400, Body: `{"code":"ValidationError","message":"%s"}`, Code: "ValidationError"},
		Refusals: map[string]carriertest.Refusal{
			"manifests": {Status: 400, Body: `{"errors":[{"code":"ManifestFailed","description":"%s"}]}`, Code: "ManifestFailed"},
			"find":      {Status: 400, Body: `[{"code":"ValidationError","message":"%s"}]`, Code: "ValidationError"},
			"track":     {Status: 400, Body: trackingRefusal, Code: "E0004"},
			"proof":     {Status: 400, Body: trackingRefusal, Code: "E0004"},
		},
	})
}

const trackingRefusal = `{"httpCode":"400","httpMessage":"Bad Request","errors":[{"errorCode":"E0004","errorDescription":"%s"}]}`

func TestSpecIsWhole(t *testing.T) {
	t.Parallel()
	carriertest.CheckSpec(t, royalmail.Spec)
}

// TestTrackingNeedsCredentialsOfItsOwn opens an account that only sells.
func TestTrackingNeedsCredentialsOfItsOwn(t *testing.T) {
	t.Parallel()
	sells, err := carrier.Open(royalmail.Spec, carrier.Opening{
		Credentials: carrier.Credentials{"api_key": standin.APIKey},
		BaseURL:     royalmail.Spec.LiveURL,
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(sells.Abilities(), " "); got != "buy find void manifests" {
		t.Errorf("abilities: %s", got)
	}

	_, err = carrier.Open(royalmail.Spec, carrier.Opening{
		Credentials: carrier.Credentials{"api_key": standin.APIKey, "tracking_client_id": "half-of-a-login"},
		BaseURL:     royalmail.Spec.LiveURL,
	})
	if ship.KindOf(err) != ship.Invalid {
		t.Errorf("half of a login: %v", err)
	}
}
