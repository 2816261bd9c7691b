package sandbox_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/carrier/sandbox"
	"github.com/waybillhq/waybill/internal/ship"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// lanes returns orders with their expected prices.
func lanes() []struct {
	name  string
	order ship.Order
} {
	to := func(city, state, zip, country string) ship.Order {
		o := order()
		o.Destination.City, o.Destination.State, o.Destination.Zip, o.Destination.Country = city, state, zip, country
		return o
	}
	home, heavy, big, extras, two := order(), order(), order(), order(), order()
	yes := true
	home.Destination.Residential = &yes
	heavy.Parcels = []ship.Parcel{{Weight: 40, WeightUnit: ship.Pound, WeightGrams: 18144}}
	big.Parcels = []ship.Parcel{{Weight: 1, WeightUnit: ship.Pound, WeightGrams: 454, Dimensions: &ship.Dimensions{LengthMM: 610, WidthMM: 457, HeightMM: 305}}}
	extras.Options = ship.Options{Signature: "adult", SaturdayDelivery: true, InsuredValue: ship.Money{Minor: 50000, Currency: "USD"}}
	extras.ShipDate = "2026-11-20" // a Friday
	two.Parcels = append(two.Parcels, two.Parcels[0])
	german := to("Munich", "", "80331", "DE")
	german.Origin = ship.Address{Name: "Lager", Address1: "Torstr. 1", City: "Berlin", Zip: "10119", Country: "DE"}
	return []struct {
		name  string
		order ship.Order
	}{
		{"Los Angeles to New York", order()},
		{"Los Angeles to San Diego", to("San Diego", "CA", "92101", "US")},
		{"Los Angeles to Denver", to("Denver", "CO", "80202", "US")},
		{"Los Angeles to Honolulu", to("Honolulu", "HI", "96813", "US")},
		{"Los Angeles to Toronto", to("Toronto", "ON", "M5V 2T6", "CA")},
		{"Los Angeles to London", to("London", "", "SW1A 1AA", "GB")},
		{"Los Angeles to Nairobi", to("Nairobi", "", "00100", "KE")},
		{"Berlin to Munich", german},
		{"to a home", home},
		{"of 40 lb", heavy},
		{"of 24x18x12 in", big},
		{"on Friday, for Saturday, insured, adult", extras},
		{"in two pieces", two},
	}
}

func TestRatesAreThoseOfTheGoldenTable(t *testing.T) {
	var got strings.Builder
	for _, l := range lanes() {
		fmt.Fprintf(&got, "%s\n", l.name)
		for _, name := range sandbox.Names {
			rates, err := open(t, name).Rates(t.Context(), l.order)
			if err != nil {
				fmt.Fprintf(&got, "  %-12s %v\n", name, err)
			}
			for _, r := range rates {
				fmt.Fprintf(&got, "  %-12s %-36s %8s %d days, %s\n", r.Carrier, r.Service, r.Price.Amount(), r.TransitDays,
					r.DeliveryAt.Format("Mon 2 Jan 15:04"))
			}
		}
	}
	const file = "testdata/rates.txt"
	if *update {
		if err := os.WriteFile(file, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got.String() != string(want) {
		t.Errorf("rates differ from %s:\n%s", file, got.String())
	}
}

// A heavier parcel is never cheaper, nor is one that goes further.
func TestPricesRiseWithWeightAndDistance(t *testing.T) {
	for _, name := range sandbox.Names {
		c := open(t, name)
		for _, l := range lanes()[:8] {
			before := map[string]int64{}
			for grams := int64(50); grams < 30_000; grams = grams * 5 / 4 {
				l.order.Parcels = []ship.Parcel{{WeightGrams: grams}}
				rates, err := c.Rates(t.Context(), l.order)
				if err != nil {
					break // the carrier does not go there
				}
				for _, r := range rates {
					if r.Price.Minor < before[r.Service] {
						t.Fatalf("%s %s %s: %d g cost %d, less than a lighter parcel", l.name, name, r.Service, grams, r.Price.Minor)
					}
					before[r.Service] = r.Price.Minor
				}
			}
		}
		near := cheapest(t, name, lanes()[1].order)
		far := cheapest(t, name, lanes()[0].order)
		farther := cheapest(t, name, lanes()[6].order)
		if near >= far || far >= farther {
			t.Errorf("%s: San Diego %d, New York %d, Nairobi %d", name, near, far, farther)
		}
	}
}

func cheapest(t *testing.T, name string, o ship.Order) int64 {
	t.Helper()
	rates, err := open(t, name).Rates(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	low := rates[0].Price.Minor
	for _, r := range rates {
		low = min(low, r.Price.Minor)
	}
	return low
}

func TestNothingIsDeliveredOnASunday(t *testing.T) {
	start := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	for day := range 60 {
		for _, l := range lanes() {
			l.order.ShipDate = ship.DateOf(start.AddDate(0, 0, day))
			for _, name := range sandbox.Names {
				rates, _ := open(t, name).Rates(t.Context(), l.order)
				for _, r := range rates {
					late := r.DeliveryAt.Sub(l.order.ShipDate.Time())
					saturday := r.DeliveryAt.Weekday() == time.Saturday && r.Guaranteed && !l.order.Options.SaturdayDelivery
					if r.DeliveryAt.Weekday() == time.Sunday || saturday || late < 24*time.Hour {
						t.Fatalf("%s %s of %s is delivered on %v", name, r.Service, l.order.ShipDate, r.DeliveryAt)
					}
				}
			}
		}
	}
}

func TestLimitsAreRefusedInTheCarriersWords(t *testing.T) {
	for _, tc := range []struct {
		name, carrier, code string
		change              func(*ship.Order)
	}{
		{"too heavy", "ups", "111035", func(o *ship.Order) { o.Parcels[0].WeightGrams = 68_040 }},
		{"too heavy", "usps", "160117", func(o *ship.Order) { o.Parcels[0].WeightGrams = 31_753 }},
		{"too long", "fedex", "PACKAGE.DIMENSIONS.EXCEEDED", func(o *ship.Order) { o.Parcels[0].Dimensions.LengthMM = 1 << 62 }},
		{"too thick", "usps", "160118", func(o *ship.Order) {
			*o.Parcels[0].Dimensions = ship.Dimensions{LengthMM: 1500, WidthMM: 500, HeightMM: 500}
		}},
		{"not from here", "usps", "160002", func(o *ship.Order) { o.Origin.Country = "DE" }},
		{"another's box", "dhl_express", "420505", func(o *ship.Order) { o.Parcels[0].Packaging = "ups_pak" }},
		{"insured in euros", "ups", "120500", func(o *ship.Order) { o.Options.InsuredValue = ship.Money{Minor: 1, Currency: "EUR"} }},
	} {
		b := buyOrder(tc.carrier)
		tc.change(&b.Order)
		c := open(t, tc.carrier)
		_, quoteErr := c.Rates(t.Context(), b.Order)
		_, buyErr := c.Buy(t.Context(), b)
		for _, err := range []error{quoteErr, buyErr} {
			e, ok := errors.AsType[*ship.Error](err)
			if !ok || e.Kind != ship.Invalid || e.Refusal.Code != tc.code || e.Refusal.Message == "" || e.Carrier != tc.carrier {
				t.Errorf("%s %s: err = %#v, want code %s", tc.carrier, tc.name, e, tc.code)
			}
		}
	}
}

func TestAServiceThatDoesNotExistIsRefused(t *testing.T) {
	b := buyOrder("ups")
	for service, code := range map[string]string{"teleport": "111100", "": "111100", "worldwide_saver": "111210"} {
		b.Service = service
		_, err := open(t, "ups").Buy(t.Context(), b)
		if e, ok := errors.AsType[*ship.Error](err); !ok || e.Kind != ship.Invalid || e.Refusal.Code != code {
			t.Errorf("%q: err = %v, want %s", service, err, code)
		}
	}
}

// TestQuotesSayWhatThePriceConsistsOf: the charges add up to the price, and the
// published price and the weight that is charged for are given.
func TestQuotesSayWhatThePriceConsistsOf(t *testing.T) {
	o := order()
	o.Destination.Residential = new(true)
	o.Options = ship.Options{Signature: "adult", SaturdayDelivery: true, InsuredValue: ship.Money{Minor: 50000, Currency: "USD"}}
	o.ShipDate = "2026-11-20" // a Friday

	seen := map[ship.ChargeType]bool{}
	for _, name := range sandbox.Names {
		rates, err := open(t, name).Rates(t.Context(), o)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, r := range rates {
			var sum int64
			for _, c := range r.Charges {
				sum += c.Amount.Minor
				seen[c.Type] = true
			}
			if sum != r.Price.Minor {
				t.Errorf("%s %s: charges of %d, price %d", name, r.Service, sum, r.Price.Minor)
			}
			if r.ListPrice.Minor <= r.Price.Minor || r.BillableWeightGrams < o.Parcels[0].WeightGrams {
				t.Errorf("%s %s: list price %s, billable weight %d g", name, r.Service, r.ListPrice, r.BillableWeightGrams)
			}
		}
	}

	for _, kind := range []ship.ChargeType{ship.BaseCharge, ship.ResidentialCharge, ship.SignatureCharge, ship.InsuranceCharge, ship.SaturdayCharge} {
		if !seen[kind] {
			t.Errorf("no quote has a charge of type %s", kind)
		}
	}
}
