package fedex_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carriertest"
	"github.com/waybillhq/waybill/internal/carrier/fedex"
	"github.com/waybillhq/waybill/internal/emulator"
	stand "github.com/waybillhq/waybill/internal/emulator/fedex"
	"github.com/waybillhq/waybill/internal/ship"
)

// reference is shaped like those of the service.
const reference = "S0123456789ABCDEFGHJKMNPQR"

// order returns one parcel of 2.5 lb from Los Angeles to New York.
func order() ship.Order {
	return ship.Order{
		OrderID: "ORD-1001",
		Origin: ship.Address{
			Name: "Warehouse", Company: "Acme", Address1: "1 Main St", City: "Los Angeles", State: "CA", Zip: "90012", Country: "US", Phone: "+1 (213) 555-0100",
		},
		Destination: ship.Address{
			Name: "Ada Lovelace", Address1: "350 5th Ave", City: "New York", State: "NY", Zip: "10118", Country: "US", Phone: "212 555 0199",
		},
		Parcels: []ship.Parcel{parcel(2.5)},
	}
}

func parcel(pounds float64) ship.Parcel {
	return ship.Parcel{
		Weight: pounds, WeightUnit: ship.Pound, WeightGrams: ship.Pound.Grams(pounds),
		Dimensions: &ship.Dimensions{Length: 10, Width: 8, Height: 4, Unit: ship.Inch, LengthMM: 254, WidthMM: 204, HeightMM: 102},
	}
}

func buyOrder() carrier.BuyOrder {
	return carrier.BuyOrder{Order: order(), Service: "two_day", Reference: reference, Shipment: ship.NewShipmentID(0, time.Now())}
}

// abroad returns two shirts and a cap to London.
func abroad() carrier.BuyOrder {
	b := buyOrder()
	b.Service = "international_priority"
	b.Order.Destination = ship.Address{
		Name: "Charles Babbage", Company: "Analytical Engines", Address1: "1 Dorset Street", City: "London", Zip: "W1U 4EG", Country: "GB", Phone: "+44 20 7946 0018",
	}
	b.Order.Customs = &ship.Customs{
		ContentsType: "merchandise", Incoterm: "DDP", Signer: "Ann Sender", InvoiceNumber: "INV-7", TaxIDs: []string{"12-3456789"},
		Items: []ship.CustomsItem{
			{Description: "Cotton shirt", Quantity: 2, Value: ship.Money{Minor: 2550, Currency: "GBP"}, WeightGrams: 300, HSCode: "610910", OriginCountry: "PT"},
			{Description: "Cap", Quantity: 1, Value: ship.Money{Minor: 1200, Currency: "GBP"}},
		},
	}
	return b
}

// announced returns goods to London about which documents follow.
func announced() carrier.BuyOrder {
	b := abroad()
	b.Order.Customs.DocumentsFollow = true
	return b
}

// twoAbroad returns two parcels to Canada, with FedEx Ground: a manifest takes no
// others.
func twoAbroad() carrier.BuyOrder {
	b := abroad()
	b.Service = "ground"
	b.Order.Destination = ship.Address{
		Name: "Cathleen Morawetz", Address1: "27 King's College Cir", City: "Toronto", State: "ON", Zip: "M5S 1A1", Country: "CA", Phone: "4165550100",
	}
	b.Order.Parcels = append(b.Order.Parcels, parcel(7))
	return b
}

func pieces() carrier.BuyOrder {
	b := buyOrder()
	b.Service = "ground"
	b.Order.Parcels = []ship.Parcel{parcel(2.5), parcel(11), parcel(0.3)}
	return b
}

func credentials() carrier.Credentials {
	return carrier.Credentials{
		"client_id": stand.ClientID, "client_secret": stand.ClientSecret, "account_number": stand.Account, "ground_economy_hub": stand.Hub,
	}
}

func twoProjects() carrier.Credentials {
	c := credentials()
	c["track_client_id"], c["track_client_secret"] = stand.TrackClientID, stand.TrackClientSecret
	return c
}

func newServer(t testing.TB) *emulator.Server {
	t.Helper()
	return carriertest.StandIn(t, stand.New, emulator.Faults{})
}

func open(t testing.TB, c carrier.Credentials, via carrier.Doer) *carrier.Carrier {
	t.Helper()
	out, err := carrier.Open(fedex.Spec, carrier.Opening{Credentials: c, BaseURL: fedex.Spec.TestURL, Via: via})
	if err != nil {
		t.Fatal(err)
	}
	return out
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
	at := func(line string) ship.Address {
		return ship.Address{Address1: line, City: "Albany", State: "NY", Zip: "12207-1000", Country: "US"}
	}
	island := ship.Address{Address1: "100 Calle Sol", City: "San Juan", Zip: "00901", Country: "PR"}
	london := ship.Address{Address1: "24 Grosvenor Square", City: "London", Zip: "W1A 2LQ", Country: "GB"}
	strayed := london
	strayed.Zip = "W1A 2LR"
	berlin := ship.Address{Address1: "Adam-von-Trott-Straße 1", City: "Berlin", Zip: "13627", Country: "DE"}
	return []carriertest.AddressExample{
		{Address: tower, Verdict: ship.AddressValid, Kind: "business"},
		{Address: at("5 Any St"), Verdict: ship.AddressValid, Kind: "home"},
		{Address: at("1 Towers Plaza"), Verdict: ship.AddressValid, Kind: "home"},
		{Address: island, Verdict: ship.AddressValid, Kind: "home"},
		{Address: london, Verdict: ship.AddressValid, Kind: "business"},
		{Address: berlin, Verdict: ship.AddressValid, Kind: "home"},
		{Address: moved, Verdict: ship.AddressCorrected, Becomes: found, Kind: "business"},
		{Address: strayed, Verdict: ship.AddressCorrected, Becomes: london, Kind: "business"},
		{Address: at("1 Twin St"), Verdict: ship.AddressAmbiguous, Candidates: 2},
		{Address: at("1 Nowhere St"), Verdict: ship.AddressInvalid},
	}
}

// subject returns the driver over the emulator, with every exchange checked.
func subject(contract *carriertest.Contract, b carrier.BuyOrder, c carrier.Credentials) carriertest.Subject {
	tokens := []string{"/oauth/token"}
	if c["track_client_id"] != "" {
		tokens = append(tokens, "/oauth/token") // one of each project
	}
	return carriertest.Subject{
		Spec: fedex.Spec, Credentials: c, Order: b, TokenPaths: tokens, Addresses: addresses(), Pickup: pickup(),
		Declared: announced(),
		Points:   ship.PointQuery{Country: "US", Zip: "90012", City: "Los Angeles", Limit: 10},
		Service: carriertest.Service(func(t testing.TB) carrier.Doer {
			server := newServer(t)
			return onDocumentHost{newCheckedLater(t, contract, delivering{server, carriertest.Server(t, server)})}
		}),
		Refusal: carriertest.Refusal{
			Status: 400, Code: "SHIPMENT.POSTALCODE.INVALID",
			Body: `{"transactionId":"1","errors":[{"code":"SHIPMENT.POSTALCODE.INVALID","message":"%s"}]}`,
		},
	}
}

// onDocumentHost requires that documents go to the host that FedEx has for them,
// below a path that its OpenAPI file does not have.
type onDocumentHost struct{ via carrier.Doer }

func (d onDocumentHost) Do(r *http.Request) (*http.Response, error) {
	const host, below = "documentapitest.prod.fedex.com", "/sandbox"
	isDocument := strings.Contains(r.URL.Path, "/documents/")
	if isDocument != (r.URL.Host == host) {
		return nil, fmt.Errorf("%s is sent to %s", r.URL.Path, r.URL.Host)
	}
	if isDocument {
		r = r.Clone(r.Context())
		r.URL.Path = strings.TrimPrefix(r.URL.Path, below)
	}
	return d.via.Do(r)
}

// delivering delivers every parcel before its proof is fetched, and not earlier: a
// parcel that is delivered cannot be voided.
type delivering struct {
	server *emulator.Server
	via    carrier.Doer
}

func (d delivering) Do(r *http.Request) (*http.Response, error) {
	if strings.HasSuffix(r.URL.Path, "/trackingdocuments") {
		if err := d.server.Turn(emulator.Faults{Tracking: []emulator.Scan{{Code: "DL", Text: "Delivered"}}}); err != nil {
			return nil, err
		}
	}
	return d.via.Do(r)
}

func TestCarrier(t *testing.T) {
	contract := newContractOf(t, "openapi-2025-12", append(slices.Clone(departures), documentOrigin, rehearsedWeight))
	domestic := buyOrder()
	domestic.Service = "ground"
	for name, s := range map[string]carriertest.Subject{
		"abroad in two pieces": subject(contract, twoAbroad(), credentials()),
		"two projects":         subject(contract, domestic, twoProjects()),
	} {
		t.Run(name, func(t *testing.T) { carriertest.Run(t, s) })
	}
}
