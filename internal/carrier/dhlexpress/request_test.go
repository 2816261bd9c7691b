package dhlexpress

import (
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

var update = flag.Bool("update", false, "write the golden files anew")

// monday is a time during a working day in Germany.
var monday = time.Date(2026, 11, 16, 9, 30, 0, 0, time.UTC)

// shirts returns a parcel of three shirts and a belt from Germany to New York.
func shirts() carrier.BuyOrder {
	return carrier.BuyOrder{
		Service: "express_worldwide", Reference: "S0123456789ABCDEFGHJKMNPQR", Shipment: "shp_01h00000000000000000000000",
		Order: ship.Order{
			OrderID: "ORD-1001",
			Origin: ship.Address{
				Name: "Lager Nord", Company: "Acme GmbH", Address1: "Am Hof 1", City: "Bonn", Zip: "53113", Country: "DE",
				Phone: "+49 228 1820", Email: "lager@example.com",
			},
			Destination: ship.Address{
				Name: "Ada Lovelace", Address1: "350 5th Ave", Address2: "Floor 21", City: "New York", State: "NY", Zip: "10118", Country: "US",
				Phone: "+1 212 555 0100",
			},
			Parcels: []ship.Parcel{{
				WeightGrams: 1134, Dimensions: &ship.Dimensions{LengthMM: 254, WidthMM: 204, HeightMM: 102},
			}},
			Customs: &ship.Customs{
				ContentsType: "merchandise", Signer: "Käthe Groß", InvoiceNumber: "INV-7", TaxIDs: []string{"DE123456789012"},
				Items: []ship.CustomsItem{
					{Description: "Cotton shirts, men's", Quantity: 3, Value: ship.Money{Minor: 1999, Currency: "EUR"}, WeightGrams: 200, HSCode: "6205.20", OriginCountry: "PT"},
					{Description: "Leather belt", Quantity: 1, Value: ship.Money{Minor: 3500, Currency: "EUR"}},
				},
			},
		},
	}
}

// letter is the same as an envelope inside Germany.
func letter() carrier.BuyOrder {
	b := shirts()
	b.Service = "express_domestic_12"
	b.Order.Destination = ship.Address{
		Name: "Käthe Groß", Address1: "Mönckebergstraße 7", City: "Hamburg", Zip: "20095", Country: "DE", Phone: "+49 40 4280",
	}
	b.Order.Parcels = []ship.Parcel{{WeightGrams: 1, Packaging: "dhl_envelope"}}
	b.Order.Customs = nil
	return b
}

func TestRequestsAreWrittenAsDHLWants(t *testing.T) {
	d := driver{account: "123456789"}
	home := true
	all := shirts()
	all.Service = "express_9"
	all.Order.Parcels = append(all.Order.Parcels, ship.Parcel{WeightGrams: 20_500, Packaging: "custom"})
	all.Order.Options = ship.Options{Signature: "standard", SaturdayDelivery: true, InsuredValue: ship.Money{Minor: 123450, Currency: "EUR"}}
	all.Order.Billing = &ship.Billing{Type: "recipient", Account: "950000001"}
	all.Order.Customs.Incoterm, all.Order.Customs.ContentsType = "DDP", "gift"
	all.Order.Destination.Residential = &home
	all.Order.ShipDate = "2026-11-20"
	all.Order.Reference = "PO 7"
	all.Selection = "E WY"
	back := shirts()
	back.Order.Origin, back.Order.Destination = back.Order.Destination, back.Order.Origin
	back.Order.IsReturn = true
	back.Selection = "P WY PT"
	for name, b := range map[string]carrier.BuyOrder{"goods": shirts(), "letter": letter(), "options": all, "return": back} {
		t.Run(name, func(t *testing.T) {
			_, request, err := d.shipRequest(b, monday)
			if err != nil {
				t.Fatal(err)
			}
			golden(t, name+".shipment.json", request)
			quoted, err := d.newQuoteDraft(b.Order, monday)
			if err != nil {
				t.Fatal(err)
			}
			golden(t, name+".rates.json", quoted.rateRequest())
		})
	}
}

func golden(t *testing.T, name string, v any) {
	t.Helper()
	got, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	got = append(got, '\n')
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Errorf("%s differs:\n%s", name, got)
	}
}

func TestOrdersThatDHLCannotTakeAreRefusedBefore(t *testing.T) {
	long := strings.Repeat("x", 60)
	for pointer, change := range map[string]func(*ship.Order){
		"/origin/phone":                   func(o *ship.Order) { o.Origin.Phone = "" },
		"/destination/phone":              func(o *ship.Order) { o.Destination.Phone = "" },
		"/destination/city":               func(o *ship.Order) { o.Destination.City = long },
		"/parcels":                        func(o *ship.Order) { o.Parcels = nil },
		"/parcel/packaging":               func(o *ship.Order) { o.Parcels[0].Packaging = "ups_letter" },
		"/shipDate":                       func(o *ship.Order) { o.ShipDate = "2026-11-28" },
		"/billing/account":                func(o *ship.Order) { o.Billing = &ship.Billing{Type: "third_party", Account: "1234567890123"} },
		"/customs":                        func(o *ship.Order) { o.Customs = nil },
		"/customs/contentsType":           func(o *ship.Order) { o.Customs.ContentsType = "secrets" },
		"/customs/incoterm":               func(o *ship.Order) { o.Customs.Incoterm = "DDX" },
		"/customs/signer":                 func(o *ship.Order) { o.Customs.Signer = long },
		"/customs/invoiceNumber":          func(o *ship.Order) { o.Customs.InvoiceNumber = long },
		"/customs/taxIds/0":               func(o *ship.Order) { o.Customs.TaxIDs = []string{long} },
		"/customs/items/1/value":          func(o *ship.Order) { o.Customs.Items[1].Value = ship.Money{} },
		"/customs/items/1/value/currency": func(o *ship.Order) { o.Customs.Items[1].Value.Currency = "USD" },
		"/customs/items/0/value":          func(o *ship.Order) { o.Customs.Items[0].Value.Minor = 1 << 62 },
		"/customs/items/0/hsCode":         func(o *ship.Order) { o.Customs.Items[0].HSCode = "6" },
		"/customs/items/0/quantity":       func(o *ship.Order) { o.Customs.Items[0].Quantity = 0 },
	} {
		t.Run(pointer, func(t *testing.T) {
			b := shirts()
			change(&b.Order)
			_, err := driver{account: "1"}.newDraft(b.Order, monday)
			e, ok := errors.AsType[*ship.Error](err)
			if !ok || e.Kind != ship.Invalid || len(e.Fields) != 1 || e.Fields[0].Pointer != pointer {
				t.Errorf("err = %+v", err)
			}
		})
	}
}

func TestServicesThatDoNotGoThereAreRefusedBefore(t *testing.T) {
	for _, code := range []string{"express_domestic", "express_envelope", "ground", ""} {
		b := shirts()
		b.Service = code
		if _, _, err := (driver{account: "1"}).shipRequest(b, monday); ship.KindOf(err) != ship.Invalid {
			t.Errorf("%s: %v", code, err)
		}
	}
}

func TestHandover(t *testing.T) {
	for name, c := range map[string]struct {
		now     string
		day     ship.Date
		country string
		state   string
		want    string // "" is a refusal
	}{
		"now":                           {"2026-11-16T09:30:00Z", "", "DE", "", "2026-11-16T10:45:00 GMT+01:00"},
		"after the couriers' day":       {"2026-11-16T17:00:00Z", "", "DE", "", "2026-11-17T10:00:00 GMT+01:00"},
		"on a Friday evening":           {"2026-11-20T18:00:00Z", "", "DE", "", "2026-11-23T10:00:00 GMT+01:00"},
		"on a Saturday":                 {"2026-11-21T09:00:00Z", "", "DE", "", "2026-11-23T10:00:00 GMT+01:00"},
		"a day named":                   {"2026-11-16T09:30:00Z", "2026-11-19", "DE", "", "2026-11-19T12:00:00 GMT+01:00"},
		"a Sunday named":                {"2026-11-16T09:30:00Z", "2026-11-22", "DE", "", "2026-11-22T12:00:00 GMT+01:00"},
		"today, before noon":            {"2026-11-16T09:30:00Z", "2026-11-16", "DE", "", "2026-11-16T12:00:00 GMT+01:00"},
		"today, after noon":             {"2026-11-16T15:00:00Z", "2026-11-16", "DE", "", "2026-11-16T16:15:00 GMT+01:00"},
		"a day that has just ended":     {"2026-11-17T00:30:00Z", "2026-11-16", "DE", "", "2026-11-17T01:45:00 GMT+01:00"},
		"long past":                     {"2026-11-16T09:30:00Z", "2026-11-13", "DE", "", ""},
		"ten days ahead":                {"2026-11-16T12:30:00Z", "2026-11-26", "DE", "", "2026-11-26T12:00:00 GMT+01:00"},
		"too far ahead":                 {"2026-11-16T09:30:00Z", "2026-11-27", "DE", "", ""},
		"a state of its own":            {"2026-11-16T18:00:00Z", "", "US", "CA", "2026-11-16T10:15:00 GMT-08:00"},
		"the usual state":               {"2026-11-16T18:00:00Z", "", "US", "NY", "2026-11-16T13:15:00 GMT-05:00"},
		"tomorrow in the east":          {"2026-11-16T20:00:00Z", "2026-11-17", "JP", "", "2026-11-17T12:00:00 GMT+09:00"},
		"half an hour":                  {"2026-11-16T05:00:00Z", "", "IN", "", "2026-11-16T10:45:00 GMT+05:30"},
		"summer time":                   {"2026-07-15T09:30:00Z", "", "DE", "", "2026-07-15T11:45:00 GMT+02:00"},
		"a country that nobody located": {"2026-11-16T09:30:00Z", "", "AQ", "", "2026-11-16T09:45:00 GMT+00:00"},
	} {
		t.Run(name, func(t *testing.T) {
			now, err := time.Parse(time.RFC3339, c.now)
			if err != nil {
				t.Fatal(err)
			}
			var check checker
			got := formatTime(check.handover(ship.Order{ShipDate: c.day, Origin: ship.Address{Country: c.country, State: c.state}}, now))
			switch {
			case c.want == "" && len(check.invalid) != 1:
				t.Errorf("%s is not refused", got)
			case c.want != "" && (got != c.want || len(check.invalid) != 0):
				t.Errorf("%s, want %s; %v", got, c.want, check.invalid)
			}
		})
	}
}

func TestLinesShareTheWeightThatIsLeft(t *testing.T) {
	items := func(grams ...int64) (list []ship.CustomsItem) {
		for _, g := range grams {
			list = append(list, ship.CustomsItem{Quantity: 2, WeightGrams: g})
		}
		return list
	}
	for name, c := range map[string]struct {
		parcel int64
		items  []ship.CustomsItem
		want   []int64
	}{
		"all known":    {1000, items(100, 50), []int64{200, 100}},
		"one unknown":  {1000, items(100, 0), []int64{200, 800}},
		"none known":   {1000, items(0, 0, 0), []int64{333, 333, 333}},
		"nothing left": {100, items(100, 0), []int64{200, 1}},
	} {
		o := ship.Order{Parcels: []ship.Parcel{{WeightGrams: c.parcel}}, Customs: &ship.Customs{Items: c.items}}
		if got := lineWeights(o); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestContentsAreDescribedInSeventyCharacters(t *testing.T) {
	o := shirts().Order
	if got := describe(o, true); got != "Cotton shirts, men's, Leather belt" {
		t.Errorf("%q", got)
	}
	o.Customs.Items[1].Description = strings.Repeat("y", 60)
	if got := describe(o, true); got != "Cotton shirts, men's" {
		t.Errorf("%q", got)
	}
	o.Customs.Items[0].Description = strings.Repeat("ü", 69) + " and more"
	if got := describe(o, true); got != strings.Repeat("ü", 69) {
		t.Errorf("%q", got)
	}
	o.Customs.ContentsType = "documents"
	blank := o
	blank.Customs = &ship.Customs{ContentsType: "merchandise", Items: []ship.CustomsItem{{Description: " "}}}
	if got := describe(blank, true); got != "Merchandise" {
		t.Errorf("goods without a description are %q", got)
	}
	if got := describe(o, false) + describe(o, true); got != "DocumentsDocuments" {
		t.Errorf("%q", got)
	}
}

func TestTaxNumbersHaveTypes(t *testing.T) {
	german := draft{fromPlace: carrierkit.Place{Country: "DE"}, toPlace: carrierkit.Place{Country: "US"}}
	american := draft{fromPlace: carrierkit.Place{Country: "US"}, toPlace: carrierkit.Place{Country: "FR"}}
	for name, c := range map[string]struct {
		draft   draft
		customs ship.Customs
		want    map[string][]registration
	}{
		"untyped, from Germany": {
			german,
			ship.Customs{TaxIDs: []string{"DE123456789012", "IM2760000742", "123 456"}},
			map[string][]registration{"sender": {{"EOR", "DE123456789012", "DE"}, {"SDT", "IM2760000742", "DE"}, {"VAT", "123 456", "DE"}}},
		},
		"untyped, from the United States": {
			american,
			ship.Customs{TaxIDs: []string{"12-3456789"}},
			map[string][]registration{"sender": {{"EIN", "12-3456789", "US"}}},
		},
		"typed": {
			american,
			ship.Customs{TaxIdentifiers: []ship.TaxIdentifier{
				{Type: "ioss", Number: "IM2760000742", Country: "DE", Party: "recipient"},
				{Type: "ein", Number: "12-3456789"},
				{Type: "eori", Number: "FR12345678900011", Party: "importer"},
				{Type: "vat", Number: "40303265045", Party: "recipient"},
				{Type: "voec", Number: "2000001"},
				{Type: "arn", Number: "300012345678"},
				{Type: "passport", Number: "C01X00T47", Party: "recipient"},
			}},
			map[string][]registration{
				"sender":    {{"SDT", "IM2760000742", "DE"}, {"EIN", "12-3456789", "US"}, {"SDT", "2000001", "NO"}, {"SDT", "300012345678", "AU"}},
				"recipient": {{"VAT", "40303265045", "FR"}, {"PAS", "C01X00T47", "FR"}},
				"importer":  {{"EOR", "FR12345678900011", "FR"}},
			},
		},
	} {
		if got := registrations(&c.customs, c.draft); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	for _, kind := range ship.TaxIdentifierTypes {
		if _, ok := taxCodes[kind]; !ok && kind != "other" {
			t.Errorf("%s has no code", kind)
		}
	}
}

func TestAQuoteNeedsOnlyPlacesAndParcels(t *testing.T) {
	o := shirts().Order
	o.Customs = nil
	o.Origin = ship.Address{City: "Bonn", Zip: "53113", Country: "DE"}
	o.Destination = ship.Address{City: "New York", State: "NY", Zip: "10118", Country: "US"}
	p, err := driver{account: "1"}.newQuoteDraft(o, monday)
	if err != nil {
		t.Fatal(err)
	}
	if r := p.rateRequest(); !r.IsCustomsDeclarable || r.MonetaryAmount != nil || r.CustomerDetails.ReceiverDetails.AddressLine1 != "" {
		t.Errorf("%+v", r)
	}
	o.Destination.City = ""
	_, err = driver{account: "1"}.newQuoteDraft(o, monday)
	if e, ok := errors.AsType[*ship.Error](err); !ok || len(e.Fields) != 1 || e.Fields[0].Pointer != "/destination/city" {
		t.Errorf("without a city: %+v", err)
	}
}

func TestAllProblemsOfAnOrderAreToldAtOnce(t *testing.T) {
	b := shirts()
	b.Order.Origin.Phone = ""
	b.Order.Destination.City = strings.Repeat("x", 60)
	b.Order.Destination.Phone = ""
	b.Order.ShipDate = "2026-12-24"
	_, err := driver{account: "1"}.newDraft(b.Order, monday)
	e, ok := errors.AsType[*ship.Error](err)
	if !ok {
		t.Fatalf("err = %v", err)
	}
	var got []string
	for _, f := range e.Fields {
		got = append(got, f.Pointer+" "+f.Detail)
	}
	want := []string{
		"/origin/phone DHL Express needs a phone number for the sender.",
		"/destination/city The recipient's city is longer than the 45 characters that DHL Express prints.",
		"/destination/phone DHL Express needs a phone number for the recipient.",
		`/shipDate "shipDate" must be within ten days from today for DHL Express.`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if !strings.HasPrefix(e.Message, "DHL Express needs a phone number for the sender.") {
		t.Errorf("message %q", e.Message)
	}
}

func TestOnlyACustomsBorderMakesAParcelDutiable(t *testing.T) {
	for name, c := range map[string]struct {
		from, to   carrierkit.Place
		country    string // of the destination, as DHL spells it
		declarable bool
		lane       lane
	}{
		"inside the union":   {carrierkit.Place{Country: "DE"}, carrierkit.Place{Country: "NL"}, "NL", false, union},
		"to Ireland":         {carrierkit.Place{Country: "DE"}, carrierkit.Place{Country: "IE"}, "IE", false, union},
		"to the Canaries":    {carrierkit.Place{Country: "DE"}, carrierkit.Place{Country: "ES", Zip: "35001"}, "IC", true, goods},
		"Spain to Canaries":  {carrierkit.Place{Country: "ES", Zip: "28001"}, carrierkit.Place{Country: "ES", Zip: "38001"}, "IC", true, goods},
		"Spain to Ceuta":     {carrierkit.Place{Country: "ES", Zip: "28001"}, carrierkit.Place{Country: "ES", Zip: "51001"}, "ES", true, domestic},
		"to Åland":           {carrierkit.Place{Country: "SE"}, carrierkit.Place{Country: "FI", Zip: "22100"}, "FI", true, goods},
		"to Réunion":         {carrierkit.Place{Country: "FR", Zip: "75001"}, carrierkit.Place{Country: "FR", Zip: "97400"}, "RE", true, goods},
		"to Puerto Rico":     {carrierkit.Place{Country: "US", State: "NY"}, carrierkit.Place{Country: "US", State: "PR"}, "PR", false, papers},
		"to the US Virgins":  {carrierkit.Place{Country: "US", State: "NY"}, carrierkit.Place{Country: "US", State: "VI"}, "VI", true, goods},
		"to Vietnam":         {carrierkit.Place{Country: "DE"}, carrierkit.Place{Country: "VN"}, "VN", true, goods},
		"to Kosovo":          {carrierkit.Place{Country: "DE"}, carrierkit.Place{Country: "XK"}, "KV", true, goods},
		"inside the islands": {carrierkit.Place{Country: "ES", Zip: "35001"}, carrierkit.Place{Country: "ES", Zip: "38001"}, "IC", false, domestic},
	} {
		o := shirts().Order
		o.Customs = nil
		o.Origin.Country, o.Origin.State, o.Origin.Zip = c.from.Country, c.from.State, c.from.Zip
		o.Destination.Country, o.Destination.State, o.Destination.Zip = c.to.Country, c.to.State, c.to.Zip
		p, err := driver{account: "1"}.newQuoteDraft(o, monday)
		if err != nil || p.to.Country != c.country || p.declarable != c.declarable || p.lane != c.lane {
			t.Errorf("%s: %s declarable %v lane %d, %v", name, p.to.Country, p.declarable, p.lane, err)
		}
	}
}

func TestRefusalsPointIntoOurRequest(t *testing.T) {
	o := shirts().Order
	extras := []extra{{ServiceCode: extraSaturday}, {ServiceCode: extraInsurance}, {ServiceCode: extraPaperless}, {ServiceCode: stagings[0]}}
	for text, want := range map[string]string{
		"#/customerDetails/receiverDetails/contactInformation: required key [phone] not found":                                                "/destination/phone",
		"#/customerDetails/shipperDetails/postalAddress/cityName: expected maxLength: 45, actual: 46":                                         "/origin/city",
		"#/customerDetails/receiverDetails/postalCode: expected maxLength: 12, actual: 13":                                                    "/destination/zip",
		"#/customerDetails/receiverDetails/registrationNumbers/0/number: expected maxLength: 35":                                              "/customs/taxIdentifiers",
		"#/content/packages/0/weight: 5000 is not less or equal to 999":                                                                       "/parcel/weight",
		"#/content/packages/1/dimensions/length: is not in range":                                                                             "/parcel/dimensions/length",
		"#/content/exportDeclaration/lineItems/1/commodityCodes/0/value: expected minLength: 2":                                               "/customs/items/1/hsCode",
		"#/plannedShippingDateAndTime: is not a date":                                                                                         "/shipDate",
		"998: The requested shipment date is in the past.":                                                                                    "/shipDate",
		"996: The requested product(s) (8) not available based on your search criteria.":                                                      "/service",
		"7008: The requested Special Service Code  #/valueAddedServices/0/serviceCode 'AA' is not available between this origin":              "/options/saturdayDelivery",
		"7008: The requested Special Service Code  #/valueAddedServices/1/serviceCode 'II' is not available between this origin":              "/options/insuredValue",
		"7008: The requested Special Service Code  #/valueAddedServices/2/serviceCode 'WY' is not available between this origin":              "/customs/paperless",
		"7120: Required either #/outputImageProperties/imageOptions where typeCode=invoice or provide #/documentImages":                       "/customs/paperless",
		"7147: The export line item description #/content/exportdeclaration/lineitems/1/description Match Keyword[Description:LEATHER BELT].": "/customs/items/1/description",
		"7147: The export line item description #/content/exportdeclaration/lineitems/1/description Match Keyword[Description:SHIRTS].":       "/customs/items/0/description",
		"7147: The shipment description #/content/description Match Keyword[Description:UNIQUE JEWELRY].":                                     "/customs/items",
		"7008: The requested Special Service Code  #/valueAddedServices/3/serviceCode 'PT' is not available between this origin":              "/isReturn",
		"999: Process failure occurred.": "",
	} {
		f, ok := fieldOf(text, o, extras)
		if f.Pointer != want || ok != (want != "") {
			t.Errorf("%s\npoints to %q, want %q", text, f.Pointer, want)
		}
		if strings.Contains(f.Detail, "#/") {
			t.Errorf("%q shows DHL's own path", f.Detail)
		}
	}
}

func TestAProductIsOneServiceOnALane(t *testing.T) {
	for _, l := range []lane{domestic, union, papers, goods} {
		seen := map[string]string{}
		for _, s := range services {
			code := s.product(l)
			if other, twice := seen[code]; twice && code != "" {
				t.Errorf("lane %d: %s is %s and %s", l, code, other, s.code)
			}
			seen[code] = s.code
		}
	}
}
