package ship

import (
	"errors"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

var normalizedAt = time.Date(2026, 5, 20, 12, 0, 0, 0, time.UTC)

// sampleOrder is an order as a client writes it.
func sampleOrder() Order {
	return Order{
		OrderID:     " ORD-1001 ",
		Destination: Address{Name: "Jane  Doe", Address1: "350 5th Ave", City: "New York", State: "New York", Zip: "10118", Country: "us"},
		Parcels:     []Parcel{{Weight: 4.2, Dimensions: &Dimensions{Length: 12, Width: 9, Height: 4}}},
	}
}

func normalizing() Normalizing {
	return Normalizing{
		Tenant: Tenant{Account: "acct_01KA2M8Q4C00012N6V3T9RZKXB"}, Account: Account{Units: DefaultUnits, Currency: "USD"},
		OneParcel: true, Now: normalizedAt,
	}
}

func TestNormalizeFillsWhatTheClientLeftOut(t *testing.T) {
	t.Parallel()
	o, err := sampleOrder().Normalize(normalizing())
	if err != nil {
		t.Fatal(err)
	}
	p := o.Parcels[0]
	if o.OrderID != "ORD-1001" || o.Destination.State != "NY" || o.Destination.Country != "US" || o.ShipDate != "2026-05-20" {
		t.Errorf("order %q to %q, %q on %s", o.OrderID, o.Destination.State, o.Destination.Country, o.ShipDate)
	}
	if p.WeightUnit != Pound || p.WeightGrams != 1906 || p.Dimensions.Unit != Inch || p.Dimensions.LengthMM != 305 {
		t.Errorf("parcel %+v %+v", p, *p.Dimensions)
	}
	if o.Origin != sampleOrigin {
		t.Errorf("a test order comes from %+v", o.Origin)
	}
}

func TestNormalizingTwiceIsTheSameAsOnceAndLeavesTheInputAlone(t *testing.T) {
	t.Parallel()
	in := sampleOrder()
	in.Customs = &Customs{Signer: " A  B ", TaxIDs: []string{" 1 "}, Items: []CustomsItem{{Description: " Shirt ", Quantity: 2, OriginCountry: "de", Weight: 0.5}}}
	in.Billing = &Billing{Type: "third_party", Account: " 12 ", Country: "us"}
	once, err := in.Normalize(normalizing())
	if err != nil {
		t.Fatal(err)
	}
	if in.Customs.Items[0].Description != " Shirt " || in.Customs.TaxIDs[0] != " 1 " || in.Parcels[0].WeightGrams != 0 || in.Parcels[0].Dimensions.LengthMM != 0 {
		t.Error("the client's own order was changed")
	}
	item := once.Customs.Items[0]
	if item.Description != "Shirt" || item.OriginCountry != "DE" || item.WeightGrams != 227 || once.Billing.Country != "US" || once.Billing.Account != "12" {
		t.Errorf("item %+v, billing %+v", item, once.Billing)
	}
	twice, err := once.Normalize(normalizing())
	if err != nil || !reflect.DeepEqual(once, twice) {
		t.Errorf("the second time it is %+v, %v", twice, err)
	}
}

func TestTheOriginIsTheOrdersOwnThenTheAccounts(t *testing.T) {
	t.Parallel()
	own := Address{Name: "Own", Address1: "1 A St", City: "Austin", State: "TX", Zip: "78701", Country: "US"}
	n := normalizing()
	n.Tenant.Livemode = true
	if _, err := sampleOrder().Normalize(n); CodeOf(err) != "origin_required" {
		t.Errorf("a live order without an origin: %v", err)
	}
	n.Account.Origin = &DemoOrigin
	if _, err := sampleOrder().Normalize(n); CodeOf(err) != "origin_required" {
		t.Errorf("a live order from the demo address: %v", err)
	}
	n.Tenant.Livemode = false
	if o, err := sampleOrder().Normalize(n); err != nil || o.Origin != DemoOrigin {
		t.Errorf("a test order from the demo address comes from %+v, %v", o.Origin, err)
	}
	n.Tenant.Livemode = true
	n.Account.Origin = &Address{Name: "Warehouse", Address1: "2 B St", City: "Reno", State: "NV", Zip: "89501", Country: "US"}
	if o, err := sampleOrder().Normalize(n); err != nil || o.Origin != *n.Account.Origin {
		t.Errorf("comes from %+v, %v", o.Origin, err)
	}
	o := sampleOrder()
	o.Origin = own
	if o, err := o.Normalize(n); err != nil || o.Origin != own {
		t.Errorf("comes from %+v, %v", o.Origin, err)
	}
}

func TestNormalizeListsAllThatIsWrong(t *testing.T) {
	t.Parallel()
	many := func(n int) []Parcel { return make([]Parcel, n) }
	for _, tc := range []struct {
		name string
		edit func(*Order, *Normalizing)
		want []string
	}{
		{"nothing there", func(o *Order, _ *Normalizing) { *o = Order{} }, []string{
			"/destination/address1 required", "/destination/city required", "/destination/country required", "/destination/name required", "/orderId required", "/parcel required",
		}},
		{"weight is nothing", func(o *Order, _ *Normalizing) { o.Parcels[0].Weight = 0 }, []string{"/parcel/weight invalid"}},
		{"weight is below nothing", func(o *Order, _ *Normalizing) { o.Parcels[0].Weight = -1 }, []string{"/parcel/weight invalid"}},
		{"weight is no number", func(o *Order, _ *Normalizing) { o.Parcels[0].Weight = math.NaN() }, []string{"/parcel/weight invalid"}},
		{"weight is endless", func(o *Order, _ *Normalizing) { o.Parcels[0].Weight = math.Inf(1) }, []string{"/parcel/weight invalid"}},
		{"weight is too much", func(o *Order, _ *Normalizing) { o.Parcels[0].Weight = 1e7 }, []string{"/parcel/weight invalid"}},
		{
			"units", func(o *Order, _ *Normalizing) { o.Parcels[0].WeightUnit, o.Parcels[0].Dimensions.Unit = "st", "ft" },
			[]string{"/parcel/dimensions/unit invalid", "/parcel/weightUnit invalid"},
		},
		{"one side is missing", func(o *Order, _ *Normalizing) { o.Parcels[0].Dimensions.Height = 0 }, []string{"/parcel/dimensions/height invalid"}},
		{"in a list", func(o *Order, n *Normalizing) { n.OneParcel, o.Parcels = false, append(o.Parcels, Parcel{Weight: -2}) }, []string{"/parcels/1/weight invalid"}},
		{"51 parcels", func(o *Order, n *Normalizing) { n.OneParcel, o.Parcels = false, many(MaxParcels+1) }, []string{"/parcels too_long"}},
		{"order number", func(o *Order, _ *Normalizing) { o.OrderID = strings.Repeat("x", 101) }, []string{"/orderId too_long"}},
		{"order number of control characters", func(o *Order, _ *Normalizing) { o.OrderID = "a\x07" }, []string{"/orderId invalid_text"}},
		{"dates", func(o *Order, _ *Normalizing) { o.ShipDate, o.DeliverBy = "1", "2026-02-30" }, []string{"/deliverBy invalid", "/shipDate invalid"}},
		{"past", func(o *Order, _ *Normalizing) { o.ShipDate = "2026-05-18" }, []string{"/shipDate invalid"}},
		{"words", func(o *Order, _ *Normalizing) { o.LabelFormat, o.Options.Signature = "gif", "child" }, []string{"/labelFormat invalid", "/options/signature invalid"}},
		{"metadata", func(o *Order, _ *Normalizing) { o.Metadata = map[string]string{"k": strings.Repeat("x", 501)} }, []string{"/metadata too_long"}},
		{"customs", func(o *Order, _ *Normalizing) { o.Customs = &Customs{TaxIDs: []string{"a\x00"}} }, []string{"/customs/items required", "/customs/taxIds/0 invalid_text"}},
		{"items", func(o *Order, _ *Normalizing) {
			o.Customs = &Customs{Items: []CustomsItem{{OriginCountry: "XX", Weight: math.NaN()}}}
		}, []string{"/customs/items/0/description required", "/customs/items/0/originCountry unknown_country", "/customs/items/0/quantity invalid", "/customs/items/0/weight invalid"}},
		{
			"billing", func(o *Order, _ *Normalizing) { o.Billing = &Billing{Type: "nobody", Country: "XX"} },
			[]string{"/billing/account required", "/billing/country unknown_country", "/billing/type invalid"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			o, n := sampleOrder(), normalizing()
			tc.edit(&o, &n)
			_, err := o.Normalize(n)
			e, ok := errors.AsType[*Error](err)
			if !ok || e.Kind != Invalid {
				t.Fatalf("err = %v", err)
			}
			var got []string
			for _, f := range e.Fields {
				got = append(got, f.Pointer+" "+f.Code)
			}
			slices.Sort(got)
			if !slices.Equal(got, tc.want) {
				t.Errorf("got  %q\nwant %q", got, tc.want)
			}
		})
	}
}

func TestAQuoteNeedsNoOrderNumberAndYesterdayMayShip(t *testing.T) {
	t.Parallel()
	o, n := sampleOrder(), normalizing()
	n.Quote, o.OrderID, o.ShipDate = true, "", "2026-05-19"
	if _, err := o.Normalize(n); err != nil {
		t.Error(err)
	}
}
