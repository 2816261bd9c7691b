package usps_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3filter"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carriertest"
	"github.com/waybillhq/waybill/internal/carrier/usps"
	"github.com/waybillhq/waybill/internal/emulator"
	standin "github.com/waybillhq/waybill/internal/emulator/usps"
	"github.com/waybillhq/waybill/internal/ship"
)

func TestCarrier(t *testing.T) {
	c := contracts(t, map[string][]carriertest.Departure{"/pickup/v3": departures["/pickup/v3"][:2]}) // no pickup is read
	carriertest.Run(t, carriertest.Subject{
		Spec:        usps.Spec,
		Credentials: credentials,
		Service: carriertest.Service(func(t testing.TB) carrier.Doer {
			_, via := stand(t, c)
			return via
		}),
		Order:     home(),
		Addresses: addresses(),
		AddressRefusal: carriertest.Refusal{
			Status: 400, Code: "160401",
			Body: `{"apiVersion":"/addresses/v3","error":{"code":"400","message":"Bad Request","errors":[{"status":"400","code":"160401","title":"Bad Request","detail":"%s","source":{"parameter":"streetAddress"}}]}}`,
		},
		Refusal: carriertest.Refusal{
			Status: 400, Code: "010005",
			Body: `{"apiVersion":"/labels/v3","error":{"code":"400","message":"Bad Request","errors":[{"status":"400","code":"010005","title":"Bad Request","detail":"%s","source":{"parameter":"toAddress"}}]}}`,
		},
		Pickup: pickup(),
		Points: ship.PointQuery{Country: "US", Zip: "63104-2351", City: "St. Louis", Limit: 10},
		Refusals: map[string]carriertest.Refusal{
			// A refusal that is about one label, and names none.
			"manifests": {
				Status: 400, Code: "160398",
				Body: `{"apiVersion":"/scan-forms/v3","error":{"code":"400","message":"Bad Request","errors":[{"status":"400","code":"160398","title":"Bad Request","detail":"%s","source":{"parameter":"barcode"}}]}}`,
			},
		},
		NoBody:     []string{"cancel_pickups"},
		TokenPaths: []string{"/oauth2/v3/token", "/payments/v3/payment-authorization"},
	})
}

// addresses are one of each verdict.
func addresses() []carriertest.AddressExample {
	tower := ship.Address{Address1: "350 5th Avenue", Address2: "Suite 2110", City: "New York", State: "NY", Zip: "10118", Country: "US"}
	moved := tower
	moved.City = "Brooklyn"
	moved.Zip = "10018"
	found := tower
	found.City = "NEW YORK"
	found.Zip = "10118-0110"
	island := ship.Address{Address1: "100 Calle Sol", City: "San Juan", Zip: "00901", Country: "PR"}
	at := func(line string) ship.Address {
		return ship.Address{Address1: line, City: "Albany", State: "NY", Zip: "12207-1000", Country: "US"}
	}
	return []carriertest.AddressExample{
		{Address: tower, Verdict: ship.AddressValid, Kind: "business"},
		{Address: at("5 Any St"), Verdict: ship.AddressValid, Kind: "home"},
		{Address: at("1 Towers Plaza"), Verdict: ship.AddressValid, Kind: "home"},
		{Address: island, Verdict: ship.AddressValid, Kind: "home"},
		{Address: moved, Verdict: ship.AddressCorrected, Becomes: found, Kind: "business"},
		{Address: at("1 Twin St"), Verdict: ship.AddressAmbiguous},
		{Address: at("1 Nowhere St"), Verdict: ship.AddressInvalid},
	}
}

var credentials = carrier.Credentials{
	"client_id": standin.ClientID, "client_secret": standin.ClientSecret, "crid": standin.CRID, "mid": standin.MID,
	"manifest_mid": standin.ManifestMID, "account_number": standin.Account,
}

// stand starts the emulator, with exchanges checked against the carrier's
// files.
func stand(t testing.TB, c checks) (*emulator.Server, carrier.Doer) {
	t.Helper()
	s := carriertest.StandIn(t, standin.New, emulator.Faults{})
	return s, c.checked(carriertest.Server(t, s))
}

// open opens the carrier over the given Doer.
func open(t testing.TB, via carrier.Doer) *carrier.Carrier {
	t.Helper()
	c, err := carrier.Open(usps.Spec, carrier.Opening{Credentials: credentials, BaseURL: usps.Spec.TestURL, Via: via})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// checks are the contracts of USPS's APIs, by the path that each begins with.
type checks map[string]*carriertest.Contract

// contracts reads the files of all APIs. The departures are by path.
func contracts(t testing.TB, departures map[string][]carriertest.Departure) checks {
	t.Helper()
	openapi3filter.RegisterBodyDecoder("application/vnd.usps.labels+json", openapi3filter.JSONBodyDecoder)
	list := checks{}
	for path, file := range map[string]string{
		"/labels/v3": "domestic-labels", "/international-labels/v3": "international-labels", "/payments/v3": "payments",
		"/shipments/v3": "shipping-options", "/tracking/v3": "tracking", "/addresses/v3": "addresses",
		"/pickup/v3": "carrier-pickup", "/scan-forms/v3": "scan-forms", "/locations/v3": "locations",
	} {
		list[path] = carriertest.NewContract(t, usps.Spec.TestURL+path, departures[path], "usps/openapi-json/"+file+".json")
	}
	return list
}

func (c checks) checked(via carrier.Doer) carrier.Doer {
	by := map[string]carrier.Doer{}
	for path, contract := range c {
		by[path+"/"] = contract.Checked(via)
	}
	return byPath{via, by}
}

// byPath sends a request through the contract for its path. The API of the
// tokens has no file.
type byPath struct {
	other carrier.Doer
	ways  map[string]carrier.Doer
}

// Do is carrier.Doer.
func (b byPath) Do(r *http.Request) (*http.Response, error) {
	for path, via := range b.ways {
		if strings.HasPrefix(r.URL.Path, path) {
			return via.Do(r)
		}
	}
	return b.other.Do(r)
}

// home returns an order inside of the United States.
func home() carrier.BuyOrder {
	return carrier.BuyOrder{
		Service: "ground_advantage", Reference: "S0123456789ABCDEFGHJKMNPQR", Shipment: "shp_01ABCDEFGHJKMNPQRSTVWXYZ01",
		Order: ship.Order{
			OrderID: "order-1001",
			Origin: ship.Address{
				Name: "Ada Lovelace", Company: "Engine Works", Address1: "45 L St SW", City: "Washington", State: "DC", Zip: "20024", Country: "US", Phone: "(202) 555-0100",
			},
			Destination: ship.Address{
				Name: "Grace Brewster Hopper", Address1: "2700 S Jefferson Ave", Address2: "STE 150", City: "St. Louis", State: "MO", Zip: "63104-2351", Country: "US",
			},
			Parcels:  []ship.Parcel{{Weight: 1.5, WeightUnit: ship.Pound, WeightGrams: 681, Dimensions: inches(9, 6, 4)}},
			ShipDate: ship.DateOf(time.Now()),
		},
	}
}

// abroad is the same to Canada.
func abroad() carrier.BuyOrder {
	b := home()
	b.Service, b.Reference = "priority_mail_international", "S9876543210ABCDEFGHJKMNPQR"
	b.Order.Destination = ship.Address{
		Name: "Élise Tremblay", Address1: "1600 Rue Sainte-Catherine", City: "Montréal", State: "QC", Zip: "H3H 1L7", Country: "CA", Phone: "+1 514 555 0199",
	}
	b.Order.Customs = &ship.Customs{
		ContentsType: "merchandise", InvoiceNumber: "INV-7", TaxIDs: []string{"12-3456789"},
		Items: []ship.CustomsItem{
			{Description: "cotton shirts", Quantity: 2, Value: dollars(1999), WeightGrams: 200, HSCode: "610910", OriginCountry: "US"},
			{Description: "a book about the history of mechanical calculation", Quantity: 1, Value: dollars(2500), WeightGrams: 281, OriginCountry: "GB"},
		},
	}
	return b
}

func inches(l, w, h float64) *ship.Dimensions {
	return &ship.Dimensions{
		Length: l, Width: w, Height: h, Unit: ship.Inch,
		LengthMM: ship.Inch.Millimetres(l), WidthMM: ship.Inch.Millimetres(w), HeightMM: ship.Inch.Millimetres(h),
	}
}

func dollars(cents int64) ship.Money { return ship.Money{Minor: cents, Currency: "USD"} }
