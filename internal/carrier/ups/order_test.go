package ups

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
)

// Bounds are in the unit that the client uses.
func TestBoundsAreInTheClientsUnits(t *testing.T) {
	box := func(weight float64, unit ship.WeightUnit) ship.Parcel {
		return ship.Parcel{Weight: weight, WeightUnit: unit, WeightGrams: unit.Grams(weight)}
	}
	sized := func(length, width, height float64, unit ship.LengthUnit) ship.Parcel {
		p := box(1, ship.Kilogram)
		p.Dimensions = &ship.Dimensions{
			Length:   length,
			Width:    width,
			Height:   height,
			Unit:     unit,
			LengthMM: unit.Millimetres(length),
			WidthMM:  unit.Millimetres(width),
			HeightMM: unit.Millimetres(height),
		}
		return p
	}
	for _, tc := range []struct {
		parcel ship.Parcel
		want   string
	}{
		{box(180, ship.Pound), "/parcels/0/weight UPS allows at most 150 lb per package; this one weighs 180 lb."},
		{box(80, ship.Kilogram), "/parcels/0/weight UPS allows at most 68.03 kg per package; this one weighs 80 kg."},
		{box(2500, ship.Ounce), "/parcels/0/weight UPS allows at most 2400 oz per package; this one weighs 2500 oz."},
		{ship.Parcel{}, "/parcels/0/weight UPS needs the weight of every parcel."},
		{sized(10, 120, 4, ship.Inch), "/parcels/0/dimensions UPS allows at most 108 in for the longest side; this one has 120 in."},
		{sized(300, 10, 10, ship.Centimetre), "/parcels/0/dimensions UPS allows at most 274.32 cm for the longest side; this one has 300 cm."},
		{sized(100, 30, 20, ship.Inch), "/parcels/0/dimensions UPS allows at most 165 in of length and girth (the longest side and twice the other two); this one has 200 in."},
	} {
		b := domestic()
		b.Order.Parcels[0] = tc.parcel
		w, err := account(t).newDraft(b.Order, now)
		if err != nil {
			t.Fatal(err)
		}
		if got := problems(w.err()); !slices.Equal(got, []string{tc.want}) {
			t.Errorf("%q, want %q", got, tc.want)
		}
	}
}

// All problems of an order are reported at once, in sentences that name UPS.
func TestAllProblemsOfAnOrderAreToldAtOnce(t *testing.T) {
	b := foreign()
	b.Service = "worldwide_sver"
	b.Order.Origin.Phone = ""
	b.Order.Destination.Phone = ""
	b.Order.Destination.Name = strings.Repeat("Ada ", 12)
	b.Order.Parcels[0].WeightGrams = 80_000
	b.Order.Parcels[1].Packaging = "flat_rate_box"
	b.Order.Billing = &ship.Billing{Type: "third_party", Account: "123"}
	b.Order.Customs.Incoterm = "DPU"
	b.Order.Customs.Items[1].Value.Currency = "EUR"
	b.Order.ShipDate = "2026-12-24"

	d := account(t)
	w, err := d.newDraft(b.Order, now)
	if err != nil {
		t.Fatal(err)
	}
	_, err = d.shipRequest(w, b)
	var pointers []string
	for _, line := range problems(err) {
		pointer, detail, _ := strings.Cut(line, " ")
		pointers = append(pointers, pointer)
		if !strings.Contains(detail, "UPS") {
			t.Errorf("%s does not name UPS", line)
		}
	}
	slices.Sort(pointers)
	want := []string{
		"/billing/account", "/billing/country", "/customs/incoterm", "/customs/items/1/value", "/destination/name", "/destination/phone",
		"/origin/phone", "/parcels/0/weight", "/parcels/1/packaging", "/service", "/shipDate",
	}
	if !slices.Equal(pointers, want) {
		t.Errorf("problems at %v, want %v", pointers, want)
	}

	// A price needs a place and parcels; the rest is reported when it is bought.
	w, err = d.newDraft(b.Order, now)
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = d.rateRequest(w)
	pointers = nil
	for _, line := range problems(err) {
		pointer, _, _ := strings.Cut(line, " ")
		pointers = append(pointers, pointer)
	}
	slices.Sort(pointers)
	want = []string{"/billing/account", "/billing/country", "/destination/name", "/parcels/0/weight", "/parcels/1/packaging"}
	if !slices.Equal(pointers, want) {
		t.Errorf("a quote has problems at %v, want %v", pointers, want)
	}
}

// Addresses use UPS's spelling, and customs borders are recognized.
func TestPlacesAreSpelledAsUPSCountsThem(t *testing.T) {
	for _, tc := range []struct {
		address        ship.Address
		country, state string
		crosses        bool // from Berlin
	}{
		{ship.Address{Country: "US", State: "VI", Zip: "00802"}, "VI", "VI", true},
		{ship.Address{Country: "VI", Zip: "00802"}, "VI", "VI", true},
		{ship.Address{Country: "US", State: "PR", Zip: "00901"}, "PR", "PR", true},
		{ship.Address{Country: "ES", State: "GC", Zip: "35002"}, "IC", "GC", true},
		{ship.Address{Country: "ES", State: "M", Zip: "28013"}, "ES", "M", false},
		{ship.Address{Country: "ES", State: "CE", Zip: "51001"}, "ES", "CE", true},
		{ship.Address{Country: "FI", Zip: "22100"}, "FI", "", true},
		{ship.Address{Country: "FR", Zip: "97400"}, "RE", "", true},
		{ship.Address{Country: "VN", State: "HN", Zip: "100000"}, "VN", "VN-HN", true},
		{ship.Address{Country: "IE", State: "D", Zip: "D02 X285"}, "IE", "D", false},
	} {
		got := localized(tc.address)
		if got.Country != tc.country || got.State != tc.state {
			t.Errorf("%+v is %s %s, want %s %s", tc.address, got.Country, got.State, tc.country, tc.state)
		}

		b := foreign()
		b.Order.Origin = ship.Address{Name: "A", Address1: "Friedrichstraße 1", City: "Berlin", Zip: "10117", Country: "DE"}
		tc.address.Name, tc.address.Address1, tc.address.City = "B", "1 Main St", "City"
		b.Order.Destination = tc.address
		w, err := account(t).newDraft(b.Order, now)
		if err != nil || w.crosses != tc.crosses {
			t.Errorf("from Berlin to %s %s: crosses customs %v, %v", got.Country, got.Zip, w.crosses, err)
		}
	}

	b := foreign()
	b.Order.Destination = ship.Address{Name: "An", Address1: "1 Trang Tien", City: "Hanoi", Zip: "100000", Country: "VN", Phone: "842400000000"}
	d := account(t)
	w, err := d.newDraft(b.Order, now)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.shipRequest(w, b); len(problems(err)) != 1 || !strings.HasPrefix(problems(err)[0], "/destination/state UPS needs the province") {
		t.Errorf("Vietnam without a province: %q", problems(err))
	}
}

// A parcel is handed over on a day of the place where it starts.
func TestTodayIsTheDayOfTheOrigin(t *testing.T) {
	evening := time.Date(2026, 11, 17, 1, 0, 0, 0, time.UTC) // still the 16th in Los Angeles
	b := domestic()
	b.Order.ShipDate = ""
	w, err := account(t).newDraft(b.Order, evening)
	if err != nil {
		t.Fatal(err)
	}
	if got := compact(w.shipDay()); got != "20261116" {
		t.Errorf("today is %s in Los Angeles", got)
	}

	b.Order.ShipDate = "2026-11-16"
	if w, err = account(t).newDraft(b.Order, evening); err != nil {
		t.Fatal(err)
	}
	if got := w.shipmentDate(); got != "" || w.err() != nil {
		t.Errorf("today is sent as the date %q, %v", got, w.err())
	}
}

// Inside Canada a service has the name under which UPS sells it there.
func TestServicesHaveTheNamesOfTheirLane(t *testing.T) {
	plus, _ := serviceByCode("express_plus")
	if got := plus.nameOn(laneCA); got != "UPS Express Early" {
		t.Error(got)
	}
	if got := plus.nameOn(laneHome); got != "UPS Express Plus" {
		t.Error(got)
	}
}

// What a price consists of adds up to it, whatever UPS itemizes.
func TestChargesAddUpToThePrice(t *testing.T) {
	usd := func(minor int64) ship.Money { return ship.Money{Minor: minor, Currency: "USD"} }
	amount := func(value string) money { return money{"USD", value} }
	fuel := itemizedCharge{Code: "375", CurrencyCode: "USD", MonetaryValue: "2.00"}
	area := itemizedCharge{Code: "376", CurrencyCode: "USD", MonetaryValue: "1.00"}
	strange := itemizedCharge{Code: "999", CurrencyCode: "USD", MonetaryValue: "0.50"}
	for name, tc := range map[string]struct {
		price ship.Money
		r     ratedShipment
		want  []ship.Charge
	}{
		"published": {usd(1000), ratedShipment{TransportationCharges: amount("9.00"), ServiceOptionsCharges: amount("1.00")}, []ship.Charge{
			{Type: ship.BaseCharge, Amount: usd(900)},
			{Type: ship.OtherCharge, Amount: usd(100)},
		}},
		"itemized": {usd(1000), ratedShipment{ItemizedCharges: some[itemizedCharge]{fuel, area, strange, fuel}}, []ship.Charge{
			{Type: ship.BaseCharge, Amount: usd(450)},
			{Type: ship.FuelCharge, Amount: usd(400)},
			{Type: ship.DeliveryArea, Amount: usd(100)},
			{Type: ship.OtherCharge, Amount: usd(50)},
		}},
		"agreed, not itemized": {usd(800), ratedShipment{
			TransportationCharges: amount("9.00"),
			ServiceOptionsCharges: amount("1.00"),
			NegotiatedRateCharges: &negotiated{},
		}, []ship.Charge{
			{Type: ship.BaseCharge, Amount: usd(900)},
			{Type: ship.OtherCharge, Amount: usd(100)},
			{Type: ship.DiscountCharge, Amount: usd(-200)},
		}},
		"agreed and itemized": {usd(800), ratedShipment{NegotiatedRateCharges: &negotiated{ItemizedCharges: some[itemizedCharge]{fuel}}}, []ship.Charge{
			{Type: ship.BaseCharge, Amount: usd(600)},
			{Type: ship.FuelCharge, Amount: usd(200)},
		}},
		"more than the price": {usd(100), ratedShipment{ItemizedCharges: some[itemizedCharge]{fuel}}, nil},
	} {
		if got := chargesOf(tc.price, tc.r); !slices.Equal(got, tc.want) {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
}
