package postnl_test

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carriertest"
	"github.com/waybillhq/waybill/internal/carrier/postnl"
	"github.com/waybillhq/waybill/internal/emulator"
	standin "github.com/waybillhq/waybill/internal/emulator/postnl"
	"github.com/waybillhq/waybill/internal/ship"
)

var credentials = carrier.Credentials{
	"api_key":             standin.APIKey,
	"customer_code":       standin.CustomerCode,
	"customer_number":     standin.CustomerNumber,
	"collection_location": standin.CollectionLocation,
}

// newStandIn returns an emulator with an empty ledger and the faults.
func newStandIn(t testing.TB, faults emulator.Faults) *emulator.Server {
	t.Helper()
	return carriertest.StandIn(t, standin.New, faults)
}

// delivered are faults by which parcels are delivered at once.
func delivered() emulator.Faults {
	return emulator.Faults{Tracking: []emulator.Scan{{Code: "1", Text: "Shipment pre-alerted"}, {Code: "11", Text: "Shipment delivered"}}}
}

func openVia(t testing.TB, via carrier.Doer) *carrier.Carrier {
	t.Helper()
	return carriertest.Open(t, postnl.Spec, credentials, via)
}

// domesticOrder returns a parcel within the Netherlands.
func domesticOrder() carrier.BuyOrder {
	return carrier.BuyOrder{
		Service:   "standard",
		Reference: "S0123456789ABCDEFGHJKMNPQR",
		Shipment:  ship.NewShipmentID(0, time.Now()),
		Order: ship.Order{
			OrderID: "ORD-1001",
			Origin: ship.Address{
				Name: "Magazijn", Company: "Acme B.V.", Address1: "Siriusdreef 42-60", City: "Hoofddorp", Zip: "2132 WT", Country: "NL",
			},
			Destination: ship.Address{
				Name: "Peter de Ruiter", Address1: "Molengraaffplantsoen 74 A", City: "Utrecht", Zip: "3571 ZZ", Country: "NL",
				Phone: "+31301234567", Email: "peter@example.com",
			},
			Parcels: []ship.Parcel{parcel(1800)},
		},
	}
}

// foreignOrder returns a parcel to Germany.
func foreignOrder() carrier.BuyOrder {
	request := domesticOrder()
	request.Service = "eu_parcel"
	request.Order.Destination = ship.Address{
		Name: "Käthe Groß", Address1: "Mönckebergstraße 7", Address2: "2. Etage", City: "Hamburg", Zip: "20095", Country: "DE",
	}
	return request
}

func parcel(grams int64) ship.Parcel {
	return ship.Parcel{
		Weight: float64(grams), WeightUnit: ship.Gram, WeightGrams: grams,
		Dimensions: &ship.Dimensions{LengthMM: 200, WidthMM: 300, HeightMM: 100, Unit: ship.Centimetre},
	}
}

func mailboxParcel() ship.Parcel {
	small := parcel(600)
	small.Dimensions = &ship.Dimensions{LengthMM: 30, WidthMM: 370, HeightMM: 260, Unit: ship.Centimetre}
	return small
}

// TestAMailboxParcelFitsThroughTheLetterbox sends small parcels on every day of the
// week, and none that is too heavy or too thick.
func TestAMailboxParcelFitsThroughTheLetterbox(t *testing.T) {
	t.Parallel()
	opened := openVia(t, carriertest.Server(t, newStandIn(t, emulator.Faults{})))
	for days := range 7 {
		request := domesticOrder()
		request.Service = "mailbox"
		request.Order.Parcels = []ship.Parcel{mailboxParcel()}
		request.Order.ShipDate = ship.DateOf(time.Now().AddDate(0, 0, days))
		if _, err := opened.Buy(t.Context(), request); err != nil {
			t.Errorf("in %d days: %v", days, err)
		}
	}
	for pointer, change := range map[string]func(*ship.Parcel){
		"/weight":     func(p *ship.Parcel) { p.WeightGrams = 2001 },
		"/dimensions": func(p *ship.Parcel) { p.Dimensions = &ship.Dimensions{LengthMM: 33, WidthMM: 370, HeightMM: 260} },
	} {
		request := domesticOrder()
		request.Service = "mailbox_48h"
		heavy := mailboxParcel()
		change(&heavy)
		request.Order.Parcels = []ship.Parcel{heavy}
		_, err := openVia(t, nil).Buy(t.Context(), request)
		refused, ok := errors.AsType[*ship.Error](err)
		if !ok || len(refused.Fields) != 1 || !strings.HasSuffix(refused.Fields[0].Pointer, pointer) {
			t.Errorf("%s: %v", pointer, err)
		}
	}
}

func TestCarrier(t *testing.T) {
	t.Parallel()
	carriertest.Run(t, carriertest.Subject{
		Spec:        postnl.Spec,
		Credentials: credentials,
		Service: carriertest.Service(func(t testing.TB) carrier.Doer {
			return carriertest.Server(t, newStandIn(t, delivered()))
		}),
		Order:       domesticOrder(),
		Points:      ship.PointQuery{Country: "NL", Zip: "3571ZZ", City: "Utrecht"},
		ReadsBefore: []string{"buy"},
		Refusal:     carriertest.Refusal{Status: 400, Body: `{"Errors":[{"Error":"Validation failed","Code":"1280202","Description":"%s"}]}`, Code: "1280202"},
	})
}

func TestSpecIsWhole(t *testing.T) {
	t.Parallel()
	carriertest.CheckSpec(t, postnl.Spec)
}

// TestEveryServiceIsSoldOnce buys each service in each format, and finds it.
func TestEveryServiceIsSoldOnce(t *testing.T) {
	t.Parallel()
	server := newStandIn(t, emulator.Faults{})
	opened := openVia(t, carriertest.Server(t, server))
	n := 0
	for _, service := range postnl.Spec.Services {
		for _, format := range []string{"pdf", "zpl"} {
			request := domesticOrder()
			switch service.Code {
			case "eu_parcel":
				request = foreignOrder()
			case "smart_return":
				request = returnOrder()
			}
			request.Service = service.Code
			request.Reference += string(rune('A' + n))
			request.Order.LabelFormat = format
			if strings.HasPrefix(service.Code, "mailbox") {
				request.Order.Parcels = []ship.Parcel{mailboxParcel()}
			}
			if service.Code == "insured" {
				request.Order.Options.InsuredValue = ship.Money{Minor: 50000, Currency: "EUR"}
			}
			n++

			bought, err := opened.Buy(t.Context(), request)
			if err != nil || bought.Label.Format != format {
				t.Errorf("%s: a label in %q, %v", service.Code, bought.Label.Format, err)
				continue
			}
			found, err := opened.Find(t.Context(), request)
			if err != nil || found.TrackingNumber != bought.TrackingNumber || len(found.Label.Data) == 0 {
				t.Errorf("%s: found %q, %v", service.Code, found.TrackingNumber, err)
			}
		}
	}
	if sold := len(server.Ledger.Entries()); sold != n {
		t.Errorf("%d entries in the ledger, want %d", sold, n)
	}
}

// belgianOrder returns a parcel to Belgium.
func belgianOrder(service string) carrier.BuyOrder {
	request := domesticOrder()
	request.Service = service
	request.Order.Destination = ship.Address{Name: "An Peeters", Address1: "Meir 12", City: "Antwerpen", Zip: "2000", Country: "BE", Email: "an@example.com"}
	return request
}

// TestBelgiumHasProductsOfItsOwn buys each service that goes to Belgium: PostNL does
// not take its product for the European Union there.
func TestBelgiumHasProductsOfItsOwn(t *testing.T) {
	t.Parallel()
	for service, product := range map[string]string{
		"standard":  "4946",
		"eu_parcel": "4946",
		"home_only": "4941",
		"signature": "4912",
		"insured":   "4914",
	} {
		server := newStandIn(t, emulator.Faults{})
		request := belgianOrder(service)
		if service == "insured" {
			request.Order.Options.InsuredValue = ship.Money{Minor: 50000, Currency: "EUR"}
		}
		_, err := openVia(t, carriertest.Server(t, server)).Buy(t.Context(), request)
		if sold := server.Ledger.Entries(); err != nil || len(sold) != 1 || sold[0].Service != product || len(sold[0].Number) != 13 {
			t.Errorf("%s: %v, sold %+v", service, err, sold)
		}
	}

	_, err := openVia(t, nil).Buy(t.Context(), belgianOrder("age_check"))
	if refused, ok := errors.AsType[*ship.Error](err); !ok || len(refused.Fields) != 1 || refused.Fields[0].Pointer != "/service" {
		t.Errorf("age_check: %v", err)
	}
}

// TestAParcelGoesToAPickupPoint searches for points and sends parcels to them: the
// label has the address of the point, which the order does not have.
func TestAParcelGoesToAPickupPoint(t *testing.T) {
	t.Parallel()
	server := newStandIn(t, emulator.Faults{})
	opened := openVia(t, carriertest.Server(t, server))
	points, err := opened.FindPoints(t.Context(), ship.PointQuery{Country: "NL", Zip: "3571 zz", City: "Utrecht"})
	if err != nil || len(points) != 3 || points[0].ID != "163043" || points[0].Address.Address1 != "Molengraaffplantsoen 80" || points[0].DistanceM != 102 {
		t.Fatalf("%+v, %v", points, err)
	}
	if !points[2].IsLocker || points[0].IsLocker || len(points[1].Hours) != 2 || points[1].Hours[1].Open != "13:00" || points[1].Hours[1].Day != "monday" {
		t.Errorf("%+v", points)
	}
	belgian, err := opened.FindPoints(t.Context(), ship.PointQuery{Country: "BE", Zip: "2000"})
	if err != nil || len(belgian) != 1 { // which PostNL does not write as a list
		t.Fatalf("%+v, %v", belgian, err)
	}
	if _, err := opened.FindPoints(t.Context(), ship.PointQuery{Country: "DE", Zip: "10115"}); ship.KindOf(err) != ship.Unsupported {
		t.Errorf("in Germany: %v", err)
	}

	toPoint := func(request carrier.BuyOrder, id string) carrier.BuyOrder {
		request.Order.Options.ServicePoint = id
		request.Reference += id
		return request
	}
	adult := domesticOrder()
	adult.Service = "age_check"
	for product, request := range map[string]carrier.BuyOrder{
		"3533": toPoint(domesticOrder(), points[0].ID),
		"3571": toPoint(adult, points[1].ID),
		"4936": toPoint(belgianOrder("standard"), belgian[0].ID),
	} {
		bought, err := opened.Buy(t.Context(), request)
		sold, _, _ := server.Ledger.Sold(bought.TrackingNumber)
		if err != nil || sold.Service != product {
			t.Errorf("%s: %v, sold %+v", product, err, sold)
		}
		if found, err := opened.Find(t.Context(), request); err != nil || found.TrackingNumber != bought.TrackingNumber {
			t.Errorf("%s: found %q, %v", product, found.TrackingNumber, err)
		}
	}

	sold := len(server.Ledger.Entries())
	unreachable := toPoint(domesticOrder(), points[0].ID)
	unreachable.Order.Destination.Email = ""
	for pointer, request := range map[string]carrier.BuyOrder{
		"/destination/servicePoint": toPoint(domesticOrder(), "999999"),
		"/destination/email":        unreachable,
	} {
		_, err := opened.Buy(t.Context(), request)
		if refused, ok := errors.AsType[*ship.Error](err); !ok || refused.Kind != ship.Invalid || len(refused.Fields) != 1 || refused.Fields[0].Pointer != pointer {
			t.Errorf("%s: %v", pointer, err)
		}
	}
	if _, err := opened.Buy(t.Context(), toPoint(domesticOrder(), belgian[0].ID)); ship.KindOf(err) != ship.Invalid {
		t.Errorf("a point in another country: %v", err)
	}
	if len(server.Ledger.Entries()) != sold {
		t.Error("a parcel was sold to a point that does not exist")
	}
}

// TestBarcodesHaveTheLengthOfTheirDestination buys for customers with a code of three
// and of four letters: a barcode has 15 characters within the Netherlands and 13
// abroad, and PostNL draws no other.
func TestBarcodesHaveTheLengthOfTheirDestination(t *testing.T) {
	t.Parallel()
	for code, number := range map[string]string{
		standin.CustomerCode:      standin.CustomerNumber,
		standin.ShortCustomerCode: standin.ShortCustomerNumber,
	} {
		server := newStandIn(t, emulator.Faults{})
		opened := carriertest.Open(t, postnl.Spec, carrier.Credentials{
			"api_key":         standin.APIKey,
			"customer_code":   code,
			"customer_number": number,
		}, carriertest.Server(t, server))
		if err := opened.Check(t.Context()); err != nil {
			t.Errorf("%s: check: %v", code, err)
		}
		for length, request := range map[int]carrier.BuyOrder{15: domesticOrder(), 13: foreignOrder()} {
			bought, err := opened.Buy(t.Context(), request)
			if err != nil || len(bought.TrackingNumber) != length || !strings.HasPrefix(bought.TrackingNumber, "3S"+code) {
				t.Errorf("%s to %s: %q, %v; want %d characters", code, request.Order.Destination.Country, bought.TrackingNumber, err, length)
			}
			if postnl.Spec.Recognize(bought.TrackingNumber) != carrier.Fits {
				t.Errorf("%q is not recognized", bought.TrackingNumber)
			}
		}
	}
}

// TestALostAnswerIsFoundUnderItsBarcode loses the answer after the sale: the parcel
// is found, its label is made again, and nothing is announced twice.
func TestALostAnswerIsFoundUnderItsBarcode(t *testing.T) {
	t.Parallel()
	for _, fault := range []string{"reset", "500", "502", "truncate"} {
		server := newStandIn(t, emulator.Faults{Buy: map[string]float64{fault: 1}})
		opened := openVia(t, carriertest.Server(t, server))
		if _, err := opened.Buy(t.Context(), domesticOrder()); ship.KindOf(err) != ship.Uncertain {
			t.Errorf("%s: %v", fault, err)
		}
		found, err := opened.Find(t.Context(), domesticOrder())
		if sold := server.Ledger.Entries(); err != nil || len(sold) != 1 || found.TrackingNumber != sold[0].Number || len(found.Label.Data) == 0 {
			t.Errorf("%s: found %q, %v", fault, found.TrackingNumber, err)
		}
	}
}

// TestOnlyPostNLsOwnWordsMeanNotBought has a look-up answered in every way: only the
// statement that there is no such parcel proves that nothing was announced. Whatever
// else is taken for that would buy a second label.
func TestOnlyPostNLsOwnWordsMeanNotBought(t *testing.T) {
	t.Parallel()
	warned := func(texts ...string) string {
		var list []string
		for _, text := range texts {
			list = append(list, `{"Message":"`+text+`","Code":"2"}`)
		}
		return `{"Warnings":[` + strings.Join(list, ",") + `]}`
	}
	for name, c := range map[string]struct {
		status int
		body   string
		want   ship.Kind
	}{
		"its words":                  {http.StatusOK, warned("No shipment found"), ship.NotFound},
		"its words about many":       {http.StatusOK, warned("No shipments were found for the reference"), ship.NotFound},
		"its words about the number": {http.StatusOK, warned("Reference not found"), ship.NotFound},
		"another thing is unknown":   {http.StatusOK, warned("Customer code not found"), ship.Unavailable},
		"and something else":         {http.StatusOK, warned("No shipment found", "The search was not completed"), ship.Unavailable},
		"the search found nothing":   {http.StatusOK, warned("The service found no data source"), ship.Unavailable},
		"no warning":                 {http.StatusOK, `{"Warnings":[]}`, ship.Unavailable},
		"nothing":                    {http.StatusOK, `{}`, ship.Unavailable},
		"a 404":                      {http.StatusNotFound, warned("No shipment found"), ship.Unavailable},
		"it fails":                   {http.StatusInternalServerError, warned("No shipment found"), ship.Unavailable},
		"too many requests":          {http.StatusTooManyRequests, "", ship.Limited},
		"another parcel's":           {http.StatusOK, `{"CurrentStatus":{"Shipment":{"Barcode":"3SDEVC000000001","Reference":"OTHER"}}}`, ship.Unavailable},
	} {
		via := carriertest.Answer{Path: domesticOrder().Reference, Status: c.status, Body: c.body}.Instead(carriertest.Server(t, newStandIn(t, emulator.Faults{})))
		if _, err := openVia(t, via).Find(t.Context(), domesticOrder()); ship.KindOf(err) != c.want {
			t.Errorf("%s: %v is %q, want %q", name, err, ship.KindOf(err), c.want)
		}
	}
}

// TestAShortPhoneNumberIsLeftOut buys for a recipient whose number PostNL would
// refuse, and in the countries that write the house number apart.
func TestAShortPhoneNumberIsLeftOut(t *testing.T) {
	t.Parallel()
	opened := openVia(t, carriertest.Server(t, newStandIn(t, emulator.Faults{})))
	request := domesticOrder()
	request.Order.Destination.Phone = "030 12345"
	if _, err := opened.Buy(t.Context(), request); err != nil {
		t.Error(err)
	}

	request = foreignOrder()
	request.Order.Destination = ship.Address{Name: "Anne Weber", Address1: "12 Rue de la Gare", City: "Luxembourg", Zip: "1616", Country: "LU"}
	if _, err := opened.Buy(t.Context(), request); err != nil {
		t.Error(err)
	}
}

// TestALabelIsASale has PostNL report an error beside a label: the parcel is
// announced, so the purchase is not refused.
func TestALabelIsASale(t *testing.T) {
	t.Parallel()
	for content, want := range map[string]ship.Kind{
		`"Labels":[]`: ship.Invalid,
		`"Labels":[{"Content":"JVBERi0xLjQgaGFsZg=="}]`: ship.Uncertain, // "%PDF-1.4 half"
	} {
		via := carriertest.Answer{
			Path:   "/label",
			Status: http.StatusOK,
			Body:   `{"ResponseShipments":[{"Barcode":"3SDEVC0001",` + content + `,"Errors":[{"Code":"1","Description":"The e-mail was not sent"}]}]}`,
		}.Instead(carriertest.Server(t, newStandIn(t, emulator.Faults{})))
		if _, err := openVia(t, via).Buy(t.Context(), domesticOrder()); ship.KindOf(err) != want {
			t.Errorf("%s: %v, want %s", content, err, want)
		}
	}
}

// TestOrdersThatCannotWorkAreNotSent lists what is refused without asking PostNL,
// each with its field.
func TestOrdersThatCannotWorkAreNotSent(t *testing.T) {
	t.Parallel()
	for pointer, change := range map[string]func(*carrier.BuyOrder){
		"/service":                  func(r *carrier.BuyOrder) { r.Service = "eu_parcel" },
		"/origin/country":           func(r *carrier.BuyOrder) { r.Order.Origin.Country = "DE" },
		"/destination/country":      func(r *carrier.BuyOrder) { r.Order.Destination.Country = "US" },
		"/destination/address1":     func(r *carrier.BuyOrder) { r.Order.Destination.Address1 = "Molengraaffplantsoen" },
		"/destination/address2":     func(r *carrier.BuyOrder) { r.Order.Destination.Address2 = strings.Repeat("x", 40) },
		"/destination/zip":          func(r *carrier.BuyOrder) { r.Order.Destination.Zip = "" },
		"/parcels":                  func(r *carrier.BuyOrder) { r.Order.Parcels = append(r.Order.Parcels, parcel(100)) },
		"/parcels/0/weight":         func(r *carrier.BuyOrder) { r.Order.Parcels[0].WeightGrams = 40_000 },
		"/parcels/0/packaging":      func(r *carrier.BuyOrder) { r.Order.Parcels[0].Packaging = "ups_pak" },
		"/options/signature":        func(r *carrier.BuyOrder) { r.Order.Options.Signature = "adult" },
		"/options/saturdayDelivery": func(r *carrier.BuyOrder) { r.Order.Options.SaturdayDelivery = true },
		"/options/insuredValue":     func(r *carrier.BuyOrder) { r.Service = "insured" },
		"/billing":                  func(r *carrier.BuyOrder) { r.Order.Billing = &ship.Billing{Type: "recipient", Account: "1"} },
	} {
		request := domesticOrder()
		change(&request)
		_, err := openVia(t, nil).Buy(t.Context(), request)
		refused, ok := errors.AsType[*ship.Error](err)
		if !ok || refused.Kind != ship.Invalid {
			t.Errorf("%s: %v", pointer, err)
			continue
		}
		if !slices.ContainsFunc(refused.Fields, func(f ship.FieldError) bool {
			return f.Pointer == pointer || f.Pointer == strings.Replace(pointer, "/parcels/0", "/parcel", 1)
		}) {
			t.Errorf("%s is not among %+v", pointer, refused.Fields)
		}
	}
}

// TestFieldsThatPostNLRefusesAreNamed has an address that PostNL does not know.
func TestFieldsThatPostNLRefusesAreNamed(t *testing.T) {
	t.Parallel()
	server := newStandIn(t, emulator.Faults{})
	request := domesticOrder()
	request.Order.Destination.Address1 = "Nowhere 1"
	_, err := openVia(t, carriertest.Server(t, server)).Buy(t.Context(), request)
	refused, ok := errors.AsType[*ship.Error](err)
	if !ok || refused.Kind != ship.Invalid || refused.Refusal.Code != "1280202" || len(refused.Fields) != 1 || refused.Fields[0].Pointer != "/destination" {
		t.Errorf("err = %+v", refused)
	}
	if sold := server.Ledger.Entries(); len(sold) != 0 {
		t.Errorf("%d entries in the ledger", len(sold))
	}
}

// TestProductCodesOfAContractReplaceTheUsualOnes sends other codes and options, which
// the ledger of the emulator shows.
func TestProductCodesOfAContractReplaceTheUsualOnes(t *testing.T) {
	t.Parallel()
	given := carrier.Credentials{}
	for name, value := range credentials {
		given[name] = value
	}
	for setting, want := range map[string]string{
		"eu_parcel = 4944, standard=3085":  "4944", // without options, which only 4907 needs
		"eu_parcel=4907+004/015 + 101/013": "4907",
		"4907=4944":                        "4944",
		"4946=4944":                        "4907", // of Belgium
		"eu_parcel=4907":                   "4907",
		"eu_parcel=4907+118/006":           "", // lacks the options that PostNL requires
		"express=1234":                     "invalid",
		"eu_parcel=49":                     "invalid",
		"eu_parcel=4907+1/2":               "invalid",
		"9999=4907":                        "invalid",
	} {
		server := newStandIn(t, emulator.Faults{})
		given["product_codes"] = setting
		opened, err := carrier.Open(postnl.Spec, carrier.Opening{Credentials: given, BaseURL: postnl.Spec.TestURL, Via: carriertest.Server(t, server)})
		if want == "invalid" {
			if ship.KindOf(err) != ship.Invalid {
				t.Errorf("%s: %v", setting, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", setting, err)
			continue
		}

		_, err = opened.Buy(t.Context(), foreignOrder())
		sold := server.Ledger.Entries()
		if want == "" {
			if ship.KindOf(err) != ship.Invalid || len(sold) != 0 {
				t.Errorf("%s: %v, sold %+v", setting, err, sold)
			}
			continue
		}
		if err != nil || len(sold) != 1 || sold[0].Service != want {
			t.Errorf("%s: %v, sold %+v", setting, err, sold)
		}
	}
}

// returnOrder brings the parcel of domesticOrder back.
func returnOrder() carrier.BuyOrder {
	request := domesticOrder()
	request.Service = "smart_return"
	request.Order.IsReturn = true
	request.Order.Origin, request.Order.Destination = request.Order.Destination, request.Order.Origin
	request.Order.Destination.Email = "returns@example.com"
	return request
}

// TestAReturnIsSoldByWhereItGoes buys returns to a street and to a reply number, which
// the emulator refuses without the option, the e-mail address and the sender.
func TestAReturnIsSoldByWhereItGoes(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{"Siriusdreef 42-60": "3285", "Antwoordnummer 1234": "2285"} {
		server := newStandIn(t, emulator.Faults{})
		request := returnOrder()
		request.Order.Destination.Address1 = line
		postNL := openVia(t, carriertest.Server(t, server))
		sale, err := postNL.Buy(t.Context(), request)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		sold := server.Ledger.Entries()[0]
		if sold.Service != want || sold.Reference != request.Reference || sold.Number != sale.TrackingNumber {
			t.Errorf("%s: the ledger has %+v, bought %s", line, sold, sale.TrackingNumber)
		}
		if found, err := postNL.Find(t.Context(), request); err != nil || found.TrackingNumber != sale.TrackingNumber {
			t.Errorf("%s: found %s, %v", line, found.TrackingNumber, err)
		}
	}

	for pointer, change := range map[string]func(*carrier.BuyOrder){
		"/service":             func(r *carrier.BuyOrder) { r.Service = "standard" },
		"/destination/email":   func(r *carrier.BuyOrder) { r.Order.Destination.Email = "" },
		"/destination/country": func(r *carrier.BuyOrder) { r.Order.Destination.Country, r.Order.Destination.Zip = "BE", "1000" },
		"/origin/country":      func(r *carrier.BuyOrder) { r.Order.Origin.Country, r.Order.Origin.Zip = "BE", "1000" },
	} {
		request := returnOrder()
		change(&request)
		_, err := openVia(t, nil).Buy(t.Context(), request)
		refused, ok := errors.AsType[*ship.Error](err)
		if !ok || !slices.ContainsFunc(refused.Fields, func(f ship.FieldError) bool { return f.Pointer == pointer }) {
			t.Errorf("%s: %v", pointer, err)
		}
	}
	forward := domesticOrder()
	forward.Service = "smart_return"
	if _, err := openVia(t, nil).Buy(t.Context(), forward); ship.KindOf(err) != ship.Invalid {
		t.Errorf("a return service that brings nothing back: %v", err)
	}
}
