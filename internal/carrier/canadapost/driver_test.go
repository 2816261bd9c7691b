package canadapost_test

import (
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/canadapost"
	"github.com/waybillhq/waybill/internal/carrier/carriertest"
	"github.com/waybillhq/waybill/internal/emulator"
	standin "github.com/waybillhq/waybill/internal/emulator/canadapost"
	"github.com/waybillhq/waybill/internal/ship"
)

// ref is shaped like those of the service.
const ref = "S0123456789ABCDEFGHJKMNPQR"

var credentials = carrier.Credentials{
	"api_user":        standin.User,
	"api_password":    standin.Password,
	"customer_number": standin.Customer,
	"contract_id":     standin.Contract,
	"refund_email":    standin.Email,
	"us_duties":       "zonos",
}

// withoutContract are the credentials of an account that has no contract.
var withoutContract = carrier.Credentials{
	"api_user":        standin.User,
	"api_password":    standin.Password,
	"customer_number": standin.SmallCustomer,
	"refund_email":    standin.Email,
}

// newSchemas checks exchanges against Canada Post's own schemas. There are no
// departures.
func newSchemas(t testing.TB) *carriertest.Schemas {
	t.Helper()
	return carriertest.NewSchemas(t, nil,
		"canada-post/xsd/shipment.xsd", "canada-post/xsd/ncshipment.xsd", "canada-post/xsd/authreturn.xsd",
		"canada-post/xsd/rating.xsd", "canada-post/xsd/discovery.xsd",
		"canada-post/xsd/track.xsd", "canada-post/xsd/messages.xsd")
}

// newStandIn returns an emulator with an empty ledger.
func newStandIn(t testing.TB) *emulator.Server {
	t.Helper()
	return carriertest.StandIn(t, standin.New, emulator.Faults{})
}

func openWith(t testing.TB, given carrier.Credentials, via carrier.Doer) *carrier.Carrier {
	t.Helper()
	return carriertest.Open(t, canadapost.Spec, given, via)
}

// domesticOrder returns a parcel inside Canada.
func domesticOrder() carrier.BuyOrder {
	return carrier.BuyOrder{
		Service:   "expedited_parcel",
		Reference: ref,
		Shipment:  ship.NewShipmentID(0, time.Now()),
		Order: ship.Order{
			OrderID: "ORD-1001",
			Origin: ship.Address{
				Name: "Entrepôt", Company: "Acme Ltée", Address1: "2701 Riverside Dr", City: "Ottawa", State: "ON", Zip: "K1A 0B1", Country: "CA",
				Phone: "+1 613 555 0100", Email: "ship@example.com",
			},
			Destination: ship.Address{
				Name: "Zoé Gagné", Address1: "1201 rue Bleury", Address2: "App. 4", City: "Montréal", State: "QC", Zip: "H3B 1A1", Country: "CA",
			},
			Parcels: []ship.Parcel{{
				Weight: 1200, WeightUnit: ship.Gram, WeightGrams: 1200,
				Dimensions: &ship.Dimensions{Length: 30, Width: 20, Height: 10, Unit: ship.Centimetre, LengthMM: 300, WidthMM: 200, HeightMM: 100},
			}},
		},
	}
}

// foreignOrder returns goods from Canada to Germany.
func foreignOrder() carrier.BuyOrder {
	b := domesticOrder()
	b.Service = "xpresspost_international"
	b.Order.LabelFormat = "zpl"
	b.Order.Destination = ship.Address{
		Name: "Käthe Groß", Address1: "Mönckebergstraße 7", City: "Hamburg", Zip: "20095", Country: "DE", Phone: "+49 40 4280",
	}
	b.Order.Options = ship.Options{Signature: "standard", InsuredValue: ship.Money{Minor: 15000, Currency: "CAD"}}
	b.Order.Customs = &ship.Customs{
		ContentsType: "merchandise", InvoiceNumber: "INV-7",
		TaxIdentifiers: []ship.TaxIdentifier{{Type: "ioss", Number: "IM1234567890"}},
		Items: []ship.CustomsItem{
			{Description: "Cotton shirts, long-sleeved, for men, with buttons and pockets", Quantity: 3, Value: ship.Money{Minor: 1999, Currency: "CAD"}, WeightGrams: 200, HSCode: "620520", OriginCountry: "PT", SKU: "SHIRT-1"},
			{Description: "Leather belt", Quantity: 1, Value: ship.Money{Minor: 3500, Currency: "CAD"}, HSCode: "4203.30"},
		},
	}
	return b
}

// americanOrder returns goods from Canada to the United States.
func americanOrder() carrier.BuyOrder {
	b := foreignOrder()
	b.Service = "expedited_parcel_usa"
	b.Order.LabelFormat = ""
	b.Order.Destination = ship.Address{
		Name: "Ann Lee", Address1: "20 W 34th St", City: "New York", State: "NY", Zip: "10001-1234", Country: "US", Phone: "+1 212 555 0100",
	}
	b.Order.Customs.Incoterm = "DDP"
	b.Order.Customs.TaxIdentifiers = nil
	b.Order.Customs.Items[1].OriginCountry = "CA"
	return b
}

func TestCarrier(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		credentials carrier.Credentials
		order       carrier.BuyOrder
	}{
		"within Canada":      {credentials, domesticOrder()},
		"goods abroad":       {credentials, foreignOrder()},
		"without a contract": {withoutContract, domesticOrder()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			schemas := newSchemas(t)
			carriertest.Run(t, carriertest.Subject{
				Spec:        canadapost.Spec,
				Credentials: test.credentials,
				Service: carriertest.Service(func(t testing.TB) carrier.Doer {
					server := newStandIn(t)
					sellAnother(t, server)
					return schemas.Checked(carriertest.Server(t, server))
				}),
				Order:      test.order,
				ReadsAfter: []string{"buy"}, // the files of the label
				Refusal: carriertest.Refusal{
					Status: 400,
					Body:   `<messages xmlns="http://www.canadapost.ca/ws/messages"><message><code>7260</code><description>%s</description></message></messages>`,
					Code:   "7260",
				},
			})
		})
	}
}

// sellAnother sells a label to the account without a contract: an account that has
// bought nothing else cannot know whether a lost purchase was made.
func sellAnother(t testing.TB, server *emulator.Server) {
	t.Helper()
	order := domesticOrder()
	order.Reference += "OTHER"
	if _, err := openWith(t, withoutContract, carriertest.Server(t, server)).Buy(t.Context(), order); err != nil {
		t.Fatal(err)
	}
}

func TestSpecIsWhole(t *testing.T) {
	t.Parallel()
	carriertest.CheckSpec(t, canadapost.Spec)
}
