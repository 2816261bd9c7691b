package gls_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3filter"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carriertest"
	"github.com/waybillhq/waybill/internal/carrier/gls"
	"github.com/waybillhq/waybill/internal/emulator"
	standin "github.com/waybillhq/waybill/internal/emulator/gls"
	"github.com/waybillhq/waybill/internal/ship"
)

// ref is shaped like those of the service.
const ref = "S0123456789ABCDEFGHJKMNPQR"

func init() {
	// ShipIT has a media type of its own.
	openapi3filter.RegisterBodyDecoder("application/glsversion1+json", openapi3filter.JSONBodyDecoder)
}

func credentials() carrier.Credentials {
	return carrier.Credentials{
		"client_id":     standin.ClientID,
		"client_secret": standin.ClientSecret,
		"contact_id":    standin.ContactID,
	}
}

// untyped is where GLS's file gives a member of a form no type, which no value meets.
var untyped = carriertest.Departure{Operation: "POST /token", Contains: "/grant_type", Reason: "the member has no type"}

// withoutBody is where GLS reports an error in headers, and its file has a body.
var withoutBody = carriertest.Departure{Operation: "POST /rs/shipments/reprintparcel", Answer: true, Contains: "Content-Type has unexpected value", Reason: "errors are in headers, without a body"}

// days are where GLS's file has times: ShipIT reads days.
var days = []carriertest.Departure{
	{Operation: "POST /rs/shipments", Contains: "/Shipment/ShippingDate", Reason: "ShipIT reads a day"},
	{Operation: "POST /rs/shipments/reprintparcel", Contains: "/CreationDate", Reason: "ShipIT reads a day"},
	{Operation: "POST /rs/tracking/parcels", Contains: "/DateFrom", Reason: "ShipIT reads a day"},
	{Operation: "POST /rs/tracking/parcels", Contains: "/DateTo", Reason: "ShipIT reads a day"},
}

// contracts are GLS's own OpenAPI files, one for each API.
type contracts map[string]*carriertest.Contract

// newContracts returns them with the departures of shipping.
func newContracts(t testing.TB, shipping ...carriertest.Departure) contracts {
	t.Helper()
	open := func(path, file string, departures ...carriertest.Departure) *carriertest.Contract {
		return carriertest.NewContract(t, gls.Spec.TestURL+path, departures, file)
	}
	return contracts{
		shippingPath: open(shippingPath, "gls/shipit-farm-v1.json", append(days, shipping...)...),
		trackingPath: open(trackingPath, "gls/track-and-trace-1.0.7.json"),
		tokenPath:    open(tokenPath, "gls/authentication-2.0.0.json", untyped),
	}
}

const (
	shippingPath = "/shipit-farm/v1/backend"
	trackingPath = "/track-and-trace-v1"
	tokenPath    = "/oauth2/v2"
)

// checked passes requests on and checks them.
func (c contracts) checked(via carrier.Doer) carrier.Doer { return byPath{c, via} }

type byPath struct {
	contracts contracts
	via       carrier.Doer
}

// Do is carrier.Doer.
func (p byPath) Do(r *http.Request) (*http.Response, error) {
	for path, contract := range p.contracts {
		if strings.HasPrefix(r.URL.Path, path+"/") {
			return contract.Checked(p.via).Do(r)
		}
	}
	return p.via.Do(r)
}

// newStandIn returns an emulator with an empty ledger.
func newStandIn(t testing.TB) *emulator.Server {
	t.Helper()
	return carriertest.StandIn(t, standin.New, emulator.Faults{})
}

func openWith(t testing.TB, given carrier.Credentials, via carrier.Doer) *carrier.Carrier {
	t.Helper()
	return carriertest.Open(t, gls.Spec, given, via)
}

// domesticOrder returns a parcel inside Germany.
func domesticOrder() carrier.BuyOrder {
	return carrier.BuyOrder{
		Service:   "parcel",
		Reference: ref,
		Shipment:  ship.NewShipmentID(0, time.Now()),
		Order: ship.Order{
			OrderID: "ORD-1001",
			Origin: ship.Address{
				Name: "Lager Nord", Company: "Acme GmbH", Address1: "Am Hof 1", City: "Bonn", Zip: "53113", Country: "DE",
				Phone: "+49 228 1820", Email: "lager@example.com",
			},
			Destination: ship.Address{
				Name: "Käthe Groß", Address1: "Mönckebergstraße 7", Address2: "Hinterhaus", City: "Hamburg", Zip: "20095", Country: "DE",
				Email: "kaethe@example.com",
			},
			Parcels: []ship.Parcel{parcel(1134)},
		},
	}
}

func parcel(grams int64) ship.Parcel {
	return ship.Parcel{Weight: float64(grams), WeightUnit: ship.Gram, WeightGrams: grams}
}

func TestCarrier(t *testing.T) {
	contract := newContracts(t, withoutBody)
	carriertest.Run(t, carriertest.Subject{
		Spec:        gls.Spec,
		Credentials: credentials(),
		Service: carriertest.Service(func(t testing.TB) carrier.Doer {
			s := newStandIn(t)
			// A parcel that is on its way cannot be voided, so only proofs need one
			// that is delivered.
			if strings.Contains(t.Name(), "proof") {
				if err := s.Turn(emulator.Faults{Tracking: []emulator.Scan{{Code: "DELIVERED/DELIVD.NORMAL"}}}); err != nil {
					t.Fatal(err)
				}
			}
			return contract.checked(carriertest.Server(t, s))
		}),
		Order:  domesticOrder(),
		Points: ship.PointQuery{Country: "DE", Zip: "53113", City: "Bonn", Limit: 5},
		Refusal: carriertest.Refusal{
			Status: 400, Body: `{"errors":[{"code":"COMMON_RULE","message":"%s"}]}`, Code: "COMMON_RULE",
		},
		TokenPaths: []string{"/oauth2/v2/token"},
	})
}
