package usps

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/ship"
)

var update = flag.Bool("update", false, "write the golden files")

// noon is a moment at which every state has the same date.
var noon = time.Date(2026, 3, 2, 18, 0, 0, 0, time.UTC)

func order() ship.Order {
	return ship.Order{
		OrderID:     "order-1001",
		Origin:      ship.Address{Name: "Ada Lovelace", Company: "Engine Works", Address1: "45 L St SW", City: "Washington", State: "DC", Zip: "20024", Country: "US", Phone: "(202) 555-0100"},
		Destination: ship.Address{Name: "Grace Brewster Hopper", Address1: "2700 S Jefferson Ave", Address2: "STE 150", City: "St. Louis", State: "MO", Zip: "63104-2351", Country: "US"},
		Parcels:     []ship.Parcel{{Weight: 12, WeightUnit: ship.Ounce, WeightGrams: 341, Dimensions: &ship.Dimensions{Length: 10, Width: 24, Height: 15.5, Unit: ship.Centimetre}}},
		ShipDate:    "2026-03-04",
	}
}

func abroadOrder() ship.Order {
	o := order()
	o.Destination = ship.Address{Name: "Élise Tremblay", Company: "Librairie", Address1: "1600 Rue Sainte-Catherine", City: "Montréal", State: "QC", Zip: "H3H 1L7", Country: "CA", Phone: "+1 514 555 0199 x12"}
	o.Customs = &ship.Customs{
		ContentsType: "books", InvoiceNumber: "INV-7", TaxIDs: []string{"12-3456789"},
		Items: []ship.CustomsItem{
			{Description: "a book about the history of mechanical calculation", Quantity: 1, Value: ship.Money{Minor: 2500, Currency: "USD"}, WeightGrams: 300, HSCode: "490199", OriginCountry: "GB"},
			{Description: "bookmark", Quantity: 3, Value: ship.Money{Minor: 100, Currency: "USD"}, OriginCountry: "US"},
		},
	}
	return o
}

// TestRequestsAreTheseBytes compares the requests of a purchase with golden
// files.
func TestRequestsAreTheseBytes(t *testing.T) {
	signed := order()
	signed.Options, signed.Parcels[0].Packaging = ship.Options{Signature: "adult", InsuredValue: ship.Money{Minor: 60000, Currency: "USD"}}, "padded_flat_rate_envelope"
	soldier := abroadOrder()
	soldier.Origin.Company = ""
	soldier.Destination = ship.Address{Name: "Pat", Company: "Unit 7", Address1: "PSC 123 BOX 1234", City: "APO", State: "AE", Zip: "09008", Country: "US"}
	back := order()
	back.IsReturn = true
	back.Origin, back.Destination = back.Destination, back.Origin
	for name, tc := range map[string]struct {
		service string
		order   ship.Order
	}{
		"return": {"ground_advantage", back},
		"home":   {"ground_advantage", order()}, "signed": {"priority_mail_express", signed},
		"abroad": {"priority_mail_international", abroadOrder()}, "military": {"priority_mail", soldier},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := newDraft(tc.order, noon)
			if err != nil {
				t.Fatal(err)
			}
			s, _ := serviceBy(func(s service) bool { return s.code == tc.service })
			label, err := c.shipRequest(s, carrier.BuyOrder{Order: tc.order, Service: tc.service, Reference: "S0123", Shipment: "shp_01"})
			if err != nil {
				t.Fatal(err)
			}
			got, err := json.MarshalIndent(map[string]any{"label": label, "rates": (&driver{}).rateRequest(c), "warnings": c.warnings}, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			file := filepath.Join("testdata", name+".json")
			if *update {
				if err := os.WriteFile(file, append(got, '\n'), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(bytes.TrimSpace(want), got) {
				t.Errorf("%s is not up to date (go test -update); got\n%s", file, got)
			}
		})
	}
}

func TestAPoundIsAPound(t *testing.T) {
	for _, tc := range []struct {
		value float64
		unit  ship.WeightUnit
		want  json.Number
	}{
		{1, ship.Pound, "1"},
		{0.1, ship.Pound, "0.1"},
		{69.9, ship.Pound, "69.9"},
		{16, ship.Ounce, "1"},
		{15.999, ship.Ounce, "0.99994"},
		{0.45359237, ship.Kilogram, "1"},
		{1, ship.Kilogram, "2.20463"},
		{454, ship.Gram, "1.0009"},
		{1, ship.Gram, "0.00221"},
	} {
		p := ship.Parcel{Weight: tc.value, WeightUnit: tc.unit, WeightGrams: tc.unit.Grams(tc.value)}
		if got := decimal(poundsOf(p), 5); got != tc.want {
			t.Errorf("%v %s is %s pounds, want %s", tc.value, tc.unit, got, tc.want)
		}
	}
}

func TestSidesAreInInchesTheLongestFirst(t *testing.T) {
	for _, tc := range []struct {
		d    ship.Dimensions
		want [3]json.Number
	}{
		{ship.Dimensions{Length: 4, Width: 12.5, Height: 0.25, Unit: ship.Inch}, [3]json.Number{"12.5", "4", "0.25"}},
		{ship.Dimensions{Length: 2.54, Width: 25.4, Height: 10, Unit: ship.Centimetre}, [3]json.Number{"10", "3.94", "1"}},
		{ship.Dimensions{LengthMM: 254, WidthMM: 300, HeightMM: 1, Unit: ship.Millimetre}, [3]json.Number{"11.82", "10", "0.04"}},
	} {
		l, w, h := sidesOf(tc.d)
		if got := [3]json.Number{decimal(l, 2), decimal(w, 2), decimal(h, 2)}; got != tc.want {
			t.Errorf("%+v is %v, want %v", tc.d, got, tc.want)
		}
	}
}

func TestMoneyIsReadAsDecimalText(t *testing.T) {
	for text, want := range map[json.Number]int64{
		"8": 800, "8.5": 850, "8.55": 855, "8.550": 855, "0.00": 0, "12.350000000000001": 1235, "12.349999999999999": 1235, "0.1": 10, "90071992547409.93": 9007199254740993,
		"": -1, "-1": -1, "1e2": -1, "1/3": -1, ".": -1, "1.2.3": -1, "0x10": -1, "1234567890123456789012345678901": -1, "99999999999999999.99": -1,
	} {
		got, ok := parseMoney(text)
		if !ok {
			got.Minor = -1
		}
		if got.Minor != want {
			t.Errorf("money(%q) = %v, %v; want %d", text, got, ok, want)
		}
	}
}

// The mailing date is a day at the origin, and never a past one.
func TestTheMailingDateIsTheOrigins(t *testing.T) {
	for _, tc := range []struct {
		now, state string
		ship       ship.Date
		abroad     bool
		want       string // "" for refused
	}{
		{"2026-03-02T18:00:00Z", "DC", "", false, "2026-03-02"},
		{"2026-03-03T03:30:00Z", "DC", "", false, "2026-03-02"},
		{"2026-03-03T04:30:00Z", "DC", "", false, "2026-03-02"},
		{"2026-07-03T04:30:00Z", "DC", "", false, "2026-07-03"}, // in daylight saving time it is already the next day
		{"2026-03-03T05:30:00Z", "TN", "", false, "2026-03-03"}, // it is in a part of the state
		{"2026-03-03T06:30:00Z", "CA", "", false, "2026-03-02"},
		{"2026-03-02T18:00:00Z", "GU", "", false, "2026-03-03"},
		{"2026-03-03T01:00:00Z", "HI", "2026-03-03", false, "2026-03-03"},
		{"2026-03-02T18:00:00Z", "DC", "2026-03-01", false, "2026-03-02"}, // a day that has passed is today
		{"2026-03-02T18:00:00Z", "DC", "2026-04-16", false, "2026-04-16"},
		{"2026-03-02T18:00:00Z", "DC", "2026-04-17", false, ""},
		{"2026-03-02T18:00:00Z", "DC", "2026-03-09", true, "2026-03-09"},
		{"2026-03-02T18:00:00Z", "DC", "2026-03-10", true, ""},
	} {
		now, err := time.Parse(time.RFC3339, tc.now)
		if err != nil {
			t.Fatal(err)
		}
		c := &draft{now: now, abroad: tc.abroad, order: ship.Order{
			ShipDate: tc.ship,
			Origin:   ship.Address{Country: "US", State: tc.state},
		}}
		if wrong := c.chooseMailingDate(); c.mailingDate != tc.want || (tc.want == "") != (len(wrong) > 0) {
			t.Errorf("%s in %s for %q: %q, %v; want %q", tc.now, tc.state, tc.ship, c.mailingDate, wrong, tc.want)
		}
	}
}

// Items together never weigh more than their parcel, however they are rounded.
func TestItemsWeighNoMoreThanTheirParcel(t *testing.T) {
	for _, tc := range []struct {
		name   string
		pounds float64
		items  [][2]int64 // grams, quantity
		want   []json.Number
	}{
		{"exact", 1, [][2]int64{{227, 2}}, []json.Number{"0.998"}},
		{"lighter", 2, [][2]int64{{100, 1}, {50, 2}}, []json.Number{"0.220", "0.220"}},
		{"rounded up piece by piece", 1, [][2]int64{{152, 3}}, []json.Number{"0.998"}},
		{"without weights", 1, [][2]int64{{0, 1}, {0, 5}}, []json.Number{"0.498", "0.498"}},
		{"one without", 1, [][2]int64{{400, 1}, {0, 1}}, []json.Number{"0.881", "0.116"}},
		{"heavier", 1, [][2]int64{{500, 1}}, nil},
		{"nothing left for one", 1, [][2]int64{{453, 1}, {0, 1}}, nil},
	} {
		var items []ship.CustomsItem
		for _, i := range tc.items {
			items = append(items, ship.CustomsItem{WeightGrams: i[0], Quantity: int(i[1])})
		}
		got, wrong := (&draft{pounds: tc.pounds}).shareWeight(items)
		if len(got) != len(tc.want) || (tc.want == nil) != (len(wrong) > 0) {
			t.Errorf("%s: %v, %v; want %v", tc.name, got, wrong, tc.want)
			continue
		}
		for i := range got {
			if got[i] != tc.want[i] {
				t.Errorf("%s: %v, want %v", tc.name, got, tc.want)
			}
		}
	}
}

func TestTheKeyFollowsFromTheReference(t *testing.T) {
	key := keyOf("S0123456789ABCDEFGHJKMNPQR")
	if !regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`).MatchString(key) {
		t.Errorf("%s is not a random UUID", key)
	}
	if keyOf("S0123456789ABCDEFGHJKMNPQR") != key || keyOf("S0123456789ABCDEFGHJKMNPQX") == key {
		t.Error("the key does not follow from the reference")
	}
	// Labels are looked up by this key for weeks, so it must never change.
	if want := "d5880fd0-8c63-432a-a5c6-4561e7c39138"; key != want {
		t.Errorf("the key is %s, was %s", key, want)
	}
}

func TestRefusalsAreReadInAllTheirShapes(t *testing.T) {
	for body, want := range map[string]ship.Refusal{
		`{"error":{"code":"400","message":"Bad Request","errors":[{"code":"160184","detail":"Order cannot be canceled"}]}}`: {Code: "160184", Message: "Order cannot be canceled"},
		`{"error":{"code":"400","errors":[{"code":160184,"title":"No","detail":null,"source":"x"}]}}`:                       {Code: "160184", Message: "No"},
		`{"error":{"code":429,"message":"Too many","errors":[]}}`:                                                           {Code: "429", Message: "Too many"},
		`{"error":"invalid_client","error_description":"who are you","error_uri":"https://example.com"}`:                    {Code: "invalid_client", Message: "who are you"},
		`{"apiVersion":"/labels/v3"}`: {}, `[]`: {}, `<html>`: {}, ``: {},
	} {
		if got := refusalOf([]byte(body)); got != want {
			t.Errorf("%s is %+v, want %+v", body, got, want)
		}
	}
}

func TestOneWordIsNotLost(t *testing.T) {
	c, err := newDraft(order(), noon)
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ name, company, first, last, firm string }{
		{"Grace Brewster Hopper", "", "Grace Brewster", "Hopper", ""},
		{"Grace Hopper", "Navy", "Grace", "Hopper", "Navy"},
		{"Madonna", "", "", "", "Madonna"},
		{"Madonna", "Music Inc", "Madonna", "", "Music Inc"},
	} {
		to := c.to
		to.Name, to.Company = tc.name, tc.company
		if a := c.addressOf(to, true); a.FirstName != tc.first || a.LastName != tc.last || a.Firm != tc.firm {
			t.Errorf("%s of %q is %+v", tc.name, tc.company, a)
		}
	}
	for number, want := range map[string]string{"(202) 555-0100": "2025550100", "+49 30 901820": "4930901820", "911": "", "": ""} {
		if got := c.phone(number); got != want {
			t.Errorf("phone %q is %q, want %q", number, got, want)
		}
	}
	if len(c.warnings) != 1 || !strings.Contains(c.warnings[0], "phone") {
		t.Errorf("warnings %v", c.warnings)
	}
}

func TestTaxIdentifiersBecomeReferences(t *testing.T) {
	given := &ship.Customs{
		TaxIDs: []string{"99-9999999"},
		TaxIdentifiers: []ship.TaxIdentifier{
			{Type: "ein", Number: "12-3456789"},
			{Type: "ioss", Number: "IM2760000742", Party: "recipient"},
			{Type: "eori", Number: "FR12345678900011", Party: "importer"},
			{Type: "vat", Number: "FR40303265045", Party: "recipient"},
		},
	}
	c := &draft{abroad: true}
	exporter, importer, wrong := c.taxReferences(given, nil)
	if *exporter != (customsReference{"TAX_CODE", "IM2760000742"}) || *importer != (customsReference{"VAT_NUMBER", "FR40303265045"}) || wrong != nil {
		t.Errorf("exporter %v, importer %v, wrong %v", exporter, importer, wrong)
	}
	if len(c.warnings) != 1 || !strings.Contains(c.warnings[0], "omitted") {
		t.Errorf("warnings %q", c.warnings)
	}

	only := &ship.Customs{TaxIdentifiers: []ship.TaxIdentifier{{Type: "eori", Number: "FR12345678900011", Party: "importer"}}}
	c = &draft{abroad: true}
	if exporter, importer, _ := c.taxReferences(only, nil); exporter != nil || importer.Type != "IMPORTER_CODE" || c.warnings != nil {
		t.Errorf("exporter %v, importer %v, warnings %q", exporter, importer, c.warnings)
	}

	long := &ship.Customs{TaxIdentifiers: []ship.TaxIdentifier{{Type: "vat", Number: strings.Repeat("1", 29)}}}
	if _, _, wrong := c.taxReferences(long, nil); len(wrong) != 1 || wrong[0].Pointer != "/customs/taxIdentifiers/0/number" {
		t.Errorf("a long number: %+v", wrong)
	}
	for _, kind := range ship.TaxIdentifierTypes {
		if !slices.Contains(taxOrder, kind) {
			t.Errorf("%s has no place among the others", kind)
		}
	}
}
