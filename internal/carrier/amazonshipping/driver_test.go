package amazonshipping_test

import (
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/amazonshipping"
	"github.com/waybillhq/waybill/internal/carrier/carriertest"
	"github.com/waybillhq/waybill/internal/emulator"
	standin "github.com/waybillhq/waybill/internal/emulator/amazonshipping"
	"github.com/waybillhq/waybill/internal/ship"
)

// ref is shaped like those of the service.
const ref = "S0123456789ABCDEFGHJKMNPQR"

var credentials = carrier.Credentials{
	"client_id":     standin.ClientID,
	"client_secret": standin.ClientSecret,
	"refresh_token": standin.RefreshToken,
	"business_id":   standin.BusinessID,
}

// newContract checks exchanges against Amazon's own Swagger file. Requests for
// tokens are not in it, so they are not checked.
func newContract(t testing.TB, departures ...carriertest.Departure) *carriertest.Contract {
	t.Helper()
	return carriertest.NewContract(t, amazonshipping.Spec.TestURL, departures, "amazon-shipping/shippingV2.json")
}

// newStandIn returns an emulator with an empty ledger.
func newStandIn(t testing.TB) *emulator.Server {
	t.Helper()
	return carriertest.StandIn(t, standin.New, emulator.Faults{})
}

func openWith(t testing.TB, given carrier.Credentials, via carrier.Doer) *carrier.Carrier {
	t.Helper()
	return carriertest.Open(t, amazonshipping.Spec, given, via)
}

// order returns a parcel inside the United States.
func order() carrier.BuyOrder {
	return carrier.BuyOrder{
		Service:   "standard",
		Reference: ref,
		Shipment:  ship.NewShipmentID(0, time.Now()),
		Order: ship.Order{
			OrderID: "ORD-1001",
			Origin: ship.Address{
				Name: "Warehouse", Company: "Acme Inc.", Address1: "1 Main St", City: "Albany", State: "NY", Zip: "12207", Country: "US", Phone: "+1 518 555 0100",
			},
			Destination: ship.Address{Name: "Ann Lee", Address1: "2 Oak Ave", City: "Newark", State: "NJ", Zip: "07102", Country: "US"},
			Parcels: []ship.Parcel{{
				Weight: 2, WeightUnit: ship.Pound, WeightGrams: 908,
				Dimensions: &ship.Dimensions{Length: 12, Width: 9, Height: 4, Unit: ship.Inch, LengthMM: 305, WidthMM: 229, HeightMM: 102},
			}},
		},
	}
}

func TestCarrier(t *testing.T) {
	t.Parallel()
	contract := newContract(t)
	carriertest.Run(t, carriertest.Subject{
		Spec:        amazonshipping.Spec,
		Credentials: credentials,
		Service: carriertest.Service(func(t testing.TB) carrier.Doer {
			return withoutTokens{contract, carriertest.Server(t, newStandIn(t))}
		}),
		Order:       order(),
		TokenPaths:  []string{"/auth/o2/token"},
		ReadsBefore: []string{"buy"}, // the quote that is bought
		EmptyObject: []string{"void"},
		Refusal: carriertest.Refusal{
			Status: 400,
			Body:   `{"errors":[{"code":"InvalidRequest","message":"%s","details":""}]}`,
			Code:   "InvalidRequest",
		},
	})
}

func TestSpecIsWhole(t *testing.T) {
	t.Parallel()
	carriertest.CheckSpec(t, amazonshipping.Spec)
}
