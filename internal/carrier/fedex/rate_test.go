package fedex_test

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carriertest"
	stand "github.com/waybillhq/waybill/internal/emulator/fedex"
	"github.com/waybillhq/waybill/internal/ship"
)

// paths counts the requests by their paths.
type paths struct {
	via  carrier.Doer
	sent []string
}

func (p *paths) Do(r *http.Request) (*http.Response, error) {
	if !strings.HasSuffix(r.URL.Path, "/oauth/token") {
		p.sent = append(p.sent, r.URL.Path)
	}
	return p.via.Do(r)
}

func TestProjectsWithTheOtherInterfaceForRates(t *testing.T) {
	const first, second = "/rate/v1/rates/quotes", "/rate/v1/comprehensiverates/quotes"
	contract := newContractOf(t, "openapi-2025-12", []carriertest.Departure{{
		Operation: "POST " + second,
		Contains:  "is in none of the carrier's files",
		Reason:    "Comprehensive Rates is in none of the files at hand; public programs send it the request of the other interface and read the same answer",
	}})
	given := credentials()
	given["client_id"], given["client_secret"] = stand.ComprehensiveClientID, stand.ComprehensiveClientSecret
	wire := &paths{via: contract.Checked(carriertest.Server(t, newServer(t)))}
	c := open(t, given, wire)

	if err := c.Check(t.Context()); err != nil {
		t.Error(err)
	}
	for range 2 {
		if rates, err := c.Rates(t.Context(), order()); err != nil || len(rates) == 0 {
			t.Errorf("%v %v", rates, err)
		}
	}
	if want := []string{first, second, second, second}; !slices.Equal(wire.sent, want) {
		t.Errorf("asked %v, want %v", wire.sent, want)
	}

	// For a project with neither API, each call tries both once. With a key
	// that gets no token, rates are not requested at all.
	given["client_id"], given["client_secret"] = stand.TrackClientID, stand.TrackClientSecret
	neither := &paths{via: carriertest.Server(t, newServer(t))}
	if _, err := open(t, given, neither).Rates(t.Context(), order()); ship.KindOf(err) != ship.Forbidden || !slices.Equal(neither.sent, []string{first, second}) {
		t.Errorf("neither: %v, asked %v", err, neither.sent)
	}
	barred := &paths{via: barredDoer{}}
	if _, err := open(t, given, barred).Rates(t.Context(), order()); ship.KindOf(err) != ship.Forbidden || len(barred.sent) != 0 {
		t.Errorf("barred: %v, asked %v", err, barred.sent)
	}
}

// barredDoer refuses all requests for tokens.
type barredDoer struct{}

func (barredDoer) Do(*http.Request) (*http.Response, error) {
	return canned{403, `{"errors":[{"code":"FORBIDDEN.ERROR"}]}`}.response(), nil
}

func TestRatesShowWhatTheirPriceConsistsOf(t *testing.T) {
	yes := true
	o := order()
	o.Destination.Residential = &yes
	o.Options.Signature = "adult"
	rates, err := open(t, credentials(), carriertest.Server(t, newServer(t))).Rates(t.Context(), o)
	if err != nil || len(rates) == 0 {
		t.Fatal(rates, err)
	}
	for _, r := range rates {
		kinds := map[ship.ChargeType]int64{}
		sum := int64(0)
		for _, c := range r.Charges {
			kinds[c.Type] += c.Amount.Minor
			sum += c.Amount.Minor
		}
		if sum != r.Price.Minor || kinds[ship.BaseCharge] <= 0 || kinds[ship.DiscountCharge] >= 0 || kinds[ship.ResidentialCharge] <= 0 || kinds[ship.SignatureCharge] <= 0 {
			t.Errorf("%s for %v consists of %v", r.Service, r.Price, r.Charges)
		}
		if r.ListPrice.Minor <= r.Price.Minor || r.ListPrice.Currency != r.Price.Currency || r.BillableWeightGrams != 1361 {
			t.Errorf("%s: list price %v, %d g", r.Service, r.ListPrice, r.BillableWeightGrams)
		}
	}

	// A recorded answer from Canada, with taxes, and one with a charge that
	// FedEx does not list.
	body := `{"output":{"rateReplyDetails":[{"serviceType":"FEDEX_EXPRESS_SAVER","ratedShipmentDetails":[{"rateType":"ACCOUNT","totalDiscounts":0,"totalBaseCharge":29.2,"totalNetCharge":38.54,"currency":"CAD",
	"shipmentRateDetail":{"surCharges":[{"type":"FUEL","amount":4.31}],"taxes":[{"type":"HST","amount":5.03}],"totalBillingWeight":{"units":"KG","value":3.4}}}]},
	{"serviceType":"FEDEX_2_DAY","ratedShipmentDetails":[{"rateType":"ACCOUNT","totalBaseCharge":20,"totalNetCharge":21.5,"currency":"CAD","shipmentRateDetail":{"surCharges":[{"type":"PEAK_OVERSIZE","amount":1}]}},
	{"rateType":"LIST","totalNetCharge":30,"currency":"USD"}]}]}}`
	rates, err = open(t, credentials(), canned{200, body}).Rates(t.Context(), order())
	if err != nil || len(rates) != 2 {
		t.Fatal(rates, err)
	}
	cad := func(minor int64) ship.Money { return ship.Money{Minor: minor, Currency: "CAD"} }
	if want := []ship.Charge{{Type: ship.BaseCharge, Amount: cad(2920)}, {Type: ship.FuelCharge, Amount: cad(431)}, {Type: ship.TaxCharge, Amount: cad(503)}}; !slices.Equal(rates[0].Charges, want) || rates[0].BillableWeightGrams != 3400 {
		t.Errorf("charges %v, %d g", rates[0].Charges, rates[0].BillableWeightGrams)
	}
	if want := []ship.Charge{{Type: ship.BaseCharge, Amount: cad(2000)}, {Type: ship.PeakCharge, Amount: cad(100)}, {Type: ship.OtherCharge, Amount: cad(50)}}; !slices.Equal(rates[1].Charges, want) || !rates[1].ListPrice.IsZero() {
		t.Errorf("charges %v, list price %v", rates[1].Charges, rates[1].ListPrice)
	}
}

// TestOneRateIsAPriceForABox: inside the United States, FedEx's flat rate depends
// neither on the weight nor on the distance.
func TestOneRateIsAPriceForABox(t *testing.T) {
	c := open(t, credentials(), carriertest.Server(t, newServer(t)))
	prices := func(change func(*ship.Order)) map[string]ship.Money {
		t.Helper()
		o := order()
		o.Parcels[0].Packaging = "one_rate_small_box"
		change(&o)
		rates, err := c.Rates(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		list := map[string]ship.Money{}
		for _, rate := range rates {
			list[rate.Service] = rate.Price
		}
		return list
	}
	light := prices(func(*ship.Order) {})
	heavy := prices(func(o *ship.Order) {
		weight := o.Parcels[0].Packaging
		o.Parcels[0] = parcel(40)
		o.Parcels[0].Packaging = weight
	})
	if len(light) != 6 || light["two_day"].IsZero() || !light["ground"].IsZero() || !maps.Equal(light, heavy) {
		t.Errorf("a light box costs %v, a heavy one %v", light, heavy)
	}

	for name, x := range map[string]struct {
		change  func(*carrier.BuyOrder)
		pointer string
	}{
		"another country": {func(b *carrier.BuyOrder) { b.Order.Destination.Country = "CA"; b.Order.Destination.State = "ON" }, "/parcels/0/packaging"},
		"Ground":          {func(b *carrier.BuyOrder) { b.Service = "ground" }, "/service"},
		"two kinds": {func(b *carrier.BuyOrder) {
			second := parcel(1)
			second.Packaging = "fedex_small_box"
			b.Order.Parcels = append(b.Order.Parcels, second)
		}, "/parcels/1/packaging"},
	} {
		b := buyOrder()
		b.Order.Parcels[0].Packaging = "one_rate_small_box"
		x.change(&b)
		_, err := c.Buy(t.Context(), b)
		if got := pointersOf(t, err); !slices.Contains(got, x.pointer) {
			t.Errorf("%s: %v, want %s", name, got, x.pointer)
		}
	}
}
