package ups

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/ship"
)

var update = flag.Bool("update", false, "write the golden files")

var now = time.Date(2026, 11, 16, 15, 0, 0, 0, time.UTC)

func account(t *testing.T) *driver {
	t.Helper()
	d, err := open(carrier.Opening{Credentials: carrier.Credentials{"client_id": "i", "client_secret": "s", "account_number": "a1b2c3"}, BaseURL: "https://ups.invalid/api"})
	if err != nil {
		t.Fatal(err)
	}
	return d.(*driver)
}

func domestic() carrier.BuyOrder {
	home := true
	return carrier.BuyOrder{
		Service: "ground", Reference: "S234", Shipment: "shp_1",
		Order: ship.Order{
			OrderID: "ORD-1001",
			Origin: ship.Address{
				Name: "Warehouse", Company: "Acme", Address1: "1 Main St", City: "Los Angeles", State: "CA", Zip: "90012", Country: "US", Phone: "+1 (213) 555-0100",
			},
			Destination: ship.Address{
				Name: "Ada Lovelace", Address1: "350 5th Ave", City: "New York", State: "NY", Zip: "10118-0110", Country: "US", Residential: &home,
			},
			Parcels: []ship.Parcel{{
				WeightGrams: 454, Dimensions: &ship.Dimensions{LengthMM: 204, WidthMM: 254, HeightMM: 102},
			}},
			ShipDate: "2026-11-18",
		},
	}
}

func foreign() carrier.BuyOrder {
	b := domestic()
	b.Service = "worldwide_saver"
	b.Order.Destination = ship.Address{
		Name: "Jörg Müller", Address1: "Friedrichstraße 1", Address2: "Hinterhaus", City: "Berlin", State: "Berlin", Zip: "10117", Country: "DE", Phone: "+49 30 1234567",
	}
	b.Order.Options = ship.Options{Signature: "adult", InsuredValue: ship.Money{Minor: 10001, Currency: "USD"}}
	b.Order.Parcels = append(b.Order.Parcels, ship.Parcel{WeightGrams: 1000, Packaging: "ups_pak"})
	b.Order.Customs = &ship.Customs{
		ContentsType: "gift", Incoterm: "DDP", TaxIDs: []string{"12-3456789"},
		Items: []ship.CustomsItem{
			{Description: "Cotton shirts for men with long sleeves, white, and of many sizes", Quantity: 3, Value: ship.Money{Minor: 1999, Currency: "USD"}, HSCode: "6105.10"},
			{Description: "Leather belt", Quantity: 1, Value: ship.Money{Minor: 2500, Currency: "USD"}, HSCode: "42", OriginCountry: "IT"},
		},
	}
	return b
}

func returned() carrier.BuyOrder {
	b := domestic()
	b.Order.IsReturn = true
	b.Order.Origin, b.Order.Destination = b.Order.Destination, b.Order.Origin
	return b
}

func TestRequestsAreWrittenAsTheGoldenFiles(t *testing.T) {
	for name, b := range map[string]carrier.BuyOrder{"domestic": domestic(), "foreign": foreign(), "return": returned()} {
		d := account(t)
		w, err := d.newDraft(b.Order, now)
		if err != nil {
			t.Fatal(name, err)
		}
		quote, _, err := d.rateRequest(w)
		if err != nil {
			t.Fatal(name, err)
		}
		golden(t, "rate-"+name, quote)
		if w, err = d.newDraft(b.Order, now); err != nil {
			t.Fatal(name, err)
		}
		sale, err := d.shipRequest(w, b)
		if err != nil {
			t.Fatal(name, err)
		}
		golden(t, "ship-"+name, sale)
	}
}

func golden(t *testing.T, name string, v any) {
	t.Helper()
	got, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	got = append(got, '\n')
	file := filepath.Join("testdata", name+".json")
	if *update {
		if err := os.WriteFile(file, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s differs from its golden file (%v):\n%s", name, err, got)
	}
}

func TestOrdersThatUPSDoesNotTakeAreNotSent(t *testing.T) {
	for _, tc := range []struct {
		name    string
		from    func() carrier.BuyOrder
		change  func(*carrier.BuyOrder)
		pointer string
	}{
		{"a service of nobody", domestic, func(b *carrier.BuyOrder) { b.Service = "teleport" }, "/service"},
		{"a service of another lane", domestic, func(b *carrier.BuyOrder) { b.Service = "worldwide_saver" }, "/service"},
		{"ground abroad", foreign, func(b *carrier.BuyOrder) { b.Service = "ground" }, "/service"},
		{"a return by saver", returned, func(b *carrier.BuyOrder) { b.Service = "next_day_air_saver" }, "/service"},
		{"a return by saver inside Canada", returned, func(b *carrier.BuyOrder) {
			b.Service = "express_saver"
			b.Order.Origin = ship.Address{Name: "A", Address1: "34 Queen St", City: "Toronto", State: "ON", Zip: "M5C 2M6", Country: "CA"}
			b.Order.Destination = ship.Address{Name: "B", Address1: "1 Rue Sainte", City: "Montréal", State: "QC", Zip: "H2Y 1C6", Country: "CA"}
		}, "/service"},
		{"a return in a box of 10 kg", returned, func(b *carrier.BuyOrder) { b.Order.Parcels[0].Packaging = "ups_10kg_box" }, "/parcels/0/packaging"},
		{"a heavy parcel", domestic, func(b *carrier.BuyOrder) { b.Order.Parcels[0].WeightGrams = 68_040 }, "/parcels/0/weight"},
		{"no weight", domestic, func(b *carrier.BuyOrder) { b.Order.Parcels[0].WeightGrams = 0 }, "/parcels/0/weight"},
		{"a long parcel", domestic, func(b *carrier.BuyOrder) { b.Order.Parcels[0].Dimensions.LengthMM = 2745 }, "/parcels/0/dimensions"},
		{"another's box", domestic, func(b *carrier.BuyOrder) { b.Order.Parcels[0].Packaging = "flat_rate_box" }, "/parcels/0/packaging"},
		{"a date far ahead", domestic, func(b *carrier.BuyOrder) { b.Order.ShipDate = "2026-11-24" }, "/shipDate"},
		{"goods without customs", foreign, func(b *carrier.BuyOrder) { b.Order.Customs = nil }, "/customs"},
		{"goods of two currencies", foreign, func(b *carrier.BuyOrder) { b.Order.Customs.Items[1].Value.Currency = "EUR" }, "/customs/items/1/value"},
		{"goods without a value", foreign, func(b *carrier.BuyOrder) { b.Order.Customs.Items[0].Value = ship.Money{} }, "/customs/items/0/value"},
		{"more than can be counted", foreign, func(b *carrier.BuyOrder) {
			b.Order.Customs.Items[0].Quantity, b.Order.Customs.Items[0].Value.Minor = 1<<40, 1<<40
		}, "/customs/items/0/value"},
		{"an incoterm that is not printed", foreign, func(b *carrier.BuyOrder) { b.Order.Customs.Incoterm = "DPU" }, "/customs/incoterm"},
		{"nobody to call abroad", foreign, func(b *carrier.BuyOrder) { b.Order.Destination.Phone = "" }, "/destination/phone"},
		{"nobody to call at home", foreign, func(b *carrier.BuyOrder) { b.Order.Origin.Phone = "" }, "/origin/phone"},
		{"nobody to call early", domestic, func(b *carrier.BuyOrder) { b.Service = "next_day_air_early" }, "/destination/phone"},
		{"a return with a signature", returned, func(b *carrier.BuyOrder) { b.Order.Options.Signature = "adult" }, "/options/signature"},
		{"a return of two parcels", returned, func(b *carrier.BuyOrder) { b.Order.Parcels = append(b.Order.Parcels, b.Order.Parcels[0]) }, "/parcels"},
		{"another sender's account", domestic, func(b *carrier.BuyOrder) { b.Order.Billing = &ship.Billing{Type: "sender", Account: "X1Y2Z3"} }, "/billing/account"},
		{"an account that is none", domestic, func(b *carrier.BuyOrder) { b.Order.Billing = &ship.Billing{Type: "recipient", Account: "1"} }, "/billing/account"},
		{"a payer of no country", domestic, func(b *carrier.BuyOrder) { b.Order.Billing = &ship.Billing{Type: "third_party", Account: "X1Y2Z3"} }, "/billing/country"},
		{"a return that its recipient pays", returned, func(b *carrier.BuyOrder) { b.Order.Billing = &ship.Billing{Type: "recipient", Account: "X1Y2Z3"} }, "/billing/type"},
		{"a name too long", domestic, func(b *carrier.BuyOrder) { b.Order.Destination.Name = strings.Repeat("Ada ", 12) }, "/destination/name"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := tc.from()
			tc.change(&b)
			d := account(t)
			w, err := d.newDraft(b.Order, now)
			if err == nil {
				_, err = d.shipRequest(w, b)
			}
			e, ok := errors.AsType[*ship.Error](err)
			if !ok || e.Kind != ship.Invalid || len(e.Fields) == 0 || e.Fields[0].Pointer != tc.pointer {
				t.Errorf("err = %+v, want invalid %s", err, tc.pointer)
			}
		})
	}
	b := returned()
	b.Order.Origin = foreign().Order.Destination
	if _, err := account(t).newDraft(b.Order, now); ship.KindOf(err) != ship.Unsupported {
		t.Errorf("a return from abroad: %v, want unsupported", err)
	}
}

func TestBothAddressesAreJudgedTogether(t *testing.T) {
	b := domestic()
	b.Order.Origin.City, b.Order.Destination.City = strings.Repeat("x", 31), strings.Repeat("y", 31)
	w, err := account(t).newDraft(b.Order, now)
	if err != nil {
		t.Fatal(err)
	}
	err = w.err()
	if e, ok := errors.AsType[*ship.Error](err); !ok || len(e.Fields) != 2 {
		t.Errorf("err = %+v, want two fields", err)
	}
}

func TestAccountNumbersHaveSixCharacters(t *testing.T) {
	for _, n := range []string{"", "12345", "1234567", "12 456"} {
		_, err := open(carrier.Opening{Credentials: carrier.Credentials{"account_number": n}})
		if ship.KindOf(err) != ship.Invalid {
			t.Errorf("%q: %v, want invalid", n, err)
		}
	}
}
