package dhlexpress

import (
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/ship"
)

var update = flag.Bool("update", false, "write the golden files anew")

// monday is a moment in the working day of Germany.
var monday = time.Date(2026, 11, 16, 9, 30, 0, 0, time.UTC)

// shirts is a parcel of three shirts and a belt from Germany to New York.
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
	for name, b := range map[string]carrier.BuyOrder{"goods": shirts(), "letter": letter(), "options": all} {
		t.Run(name, func(t *testing.T) {
			p, request, err := d.shipment(b, monday)
			if err != nil {
				t.Fatal(err)
			}
			golden(t, name+".shipment.json", request)
			golden(t, name+".rates.json", rateRequestOf(p))
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
		"/parcels/0/packaging":            func(o *ship.Order) { o.Parcels[0].Packaging = "ups_letter" },
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
			_, err := driver{account: "1"}.plan(b.Order, monday)
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
		if _, _, err := (driver{account: "1"}).shipment(b, monday); ship.KindOf(err) != ship.Invalid {
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
		"a country that nobody located": {"2026-11-16T09:30:00Z", "", "AQ", "", "2026-11-16T09:45:00 GMT+00:00"},
	} {
		t.Run(name, func(t *testing.T) {
			now, err := time.Parse(time.RFC3339, c.now)
			if err != nil {
				t.Fatal(err)
			}
			var check checker
			got := moment(check.handover(ship.Order{ShipDate: c.day, Origin: ship.Address{Country: c.country, State: c.state}}, now))
			switch {
			case c.want == "" && len(check.wrong) != 1:
				t.Errorf("%s is not refused", got)
			case c.want != "" && (got != c.want || len(check.wrong) != 0):
				t.Errorf("%s, want %s; %v", got, c.want, check.wrong)
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
	if got := describe(o, goods); got != "Cotton shirts, men's, Leather belt" {
		t.Errorf("%q", got)
	}
	o.Customs.Items[1].Description = strings.Repeat("y", 60)
	if got := describe(o, goods); got != "Cotton shirts, men's" {
		t.Errorf("%q", got)
	}
	o.Customs.Items[0].Description = strings.Repeat("ü", 69) + " and more"
	if got := describe(o, goods); got != strings.Repeat("ü", 69) {
		t.Errorf("%q", got)
	}
	o.Customs.ContentsType = "documents"
	if got := describe(o, papers) + describe(o, union); got != "DocumentsDocuments" {
		t.Errorf("%q", got)
	}
}

func TestTaxNumbersHaveTypes(t *testing.T) {
	got := registrations([]string{"DE123456789012", "IM2760000742", "123 456"}, "DE")
	want := []registration{{"EOR", "DE123456789012", "DE"}, {"SDT", "IM2760000742", "DE"}, {"VAT", "123 456", "DE"}}
	if !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
	if got := registrations([]string{"12-3456789"}, "US"); got[0].TypeCode != "EIN" {
		t.Errorf("%v", got)
	}
}

func TestAProductIsOneServiceOnALane(t *testing.T) {
	for _, l := range []lane{domestic, union, papers, goods} {
		seen := map[string]string{}
		for _, s := range serviceTable {
			code := s.product(l)
			if other, twice := seen[code]; twice && code != "" {
				t.Errorf("lane %d: %s is %s and %s", l, code, other, s.code)
			}
			seen[code] = s.code
		}
	}
}
