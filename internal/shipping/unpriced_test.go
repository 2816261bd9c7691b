package shipping_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/emulator"
	"github.com/waybillhq/waybill/internal/emulator/postnl"
	"github.com/waybillhq/waybill/internal/emulator/royalmail"
	"github.com/waybillhq/waybill/internal/quoting"
	"github.com/waybillhq/waybill/internal/sheet"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/shipping"
)

// unpricedStandIns are emulators of carriers that name no prices.
var unpricedStandIns = map[string]standIn{
	"royal_mail": {royalmail.New, carrier.Credentials{"api_key": royalmail.APIKey}},
	"postnl":     {postnl.New, carrier.Credentials{"api_key": postnl.APIKey, "customer_code": postnl.CustomerCode, "customer_number": postnl.CustomerNumber}},
}

// homes are where these carriers take parcels, and what they sell there.
var homes = map[string]struct {
	service string
	address ship.Address
}{
	"royal_mail": {"tracked_48", ship.Address{Name: "Ann Lee", Address1: "2 High Street", City: "Leeds", Zip: "LS1 4AP", Country: "GB"}},
	"postnl":     {"standard", ship.Address{Name: "Peter de Ruiter", Address1: "Molengraaffplantsoen 74", City: "Utrecht", Zip: "3571 ZZ", Country: "NL"}},
}

// priced gives every carrier a rate sheet of one service and one price.
func priced(t *testing.T, name string) func(*settings) {
	t.Helper()
	home := homes[name]
	contract, err := sheet.Parse([]byte("[sheet]\nname,Contract\ncurrency,EUR\nweight unit,kg\n\n[services]\nservice,name\n" + home.service + ",Contract\n\n" +
		"[zones]\nzone,country\n1," + home.address.Country + "\n\n[rates]\nservice,up to,zone 1\n" + home.service + ",20,4.56\n"))
	if err != nil {
		t.Fatal(err)
	}
	policy := ruled(t, ``)
	return func(s *settings) {
		s.quoting.Policy = func(ctx context.Context, tenant ship.Tenant) (quoting.Policy, error) {
			p, err := policy(ctx, tenant)
			p.Sheet = func(string, ship.ConnectionID) (*sheet.Sheet, string) { return &contract, "contract 1" }
			return p, err
		}
	}
}

// homeOrder returns a parcel within the carrier's country.
func (b liveBench) homeOrder(name string) shipping.BuyInput {
	in := b.order(1)
	in.Order.Origin = homes[name].address
	in.Order.Destination = homes[name].address
	return in
}

// TestACarrierWithoutPricesIsBoughtByItsRateSheet: the price of the purchase is that
// of the sheet; without one the error asks the client to import it, and nothing is sent.
func TestACarrierWithoutPricesIsBoughtByItsRateSheet(t *testing.T) {
	t.Parallel()
	for name := range unpricedStandIns {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newLiveBench(t, name, priced(t, name))
			got, err := b.Buy(t.Context(), b.homeOrder(name))
			if err != nil || got.Pending {
				t.Fatalf("Buy = %+v, %v", got, err)
			}
			bought := got.Shipment.Purchase
			if bought.Price.Amount() != "4.56" || bought.Price.Currency != "EUR" || bought.Sheet != "contract 1" {
				t.Errorf("bought for %v by %q", bought.Price, bought.Sheet)
			}
			if alive := b.alive(); !slices.Equal(alive, []string{bought.TrackingNumber}) {
				t.Errorf("alive are %v, recorded is %s", alive, bought.TrackingNumber)
			}
			if list, err := b.store.Violations(t.Context(), time.Now().Add(time.Second)); err != nil || len(list) > 0 {
				t.Errorf("violations %+v, %v", list, err)
			}

			unpriced := newLiveBench(t, name)
			if _, err := unpriced.Buy(t.Context(), unpriced.homeOrder(name)); err == nil || !strings.Contains(err.Error(), "rate sheet") {
				t.Errorf("without a sheet: %v", err)
			}
			if sold := unpriced.alive(); len(sold) > 0 {
				t.Errorf("%v were sold without a price", sold)
			}
		})
	}
}

// TestALostAnswerWithoutAPriceEndsWithOneLabel has each carrier sell and then lose
// its answer: the purchase is looked up, and has its label and the price of the
// sheet.
func TestALostAnswerWithoutAPriceEndsWithOneLabel(t *testing.T) {
	t.Parallel()
	for name := range unpricedStandIns {
		for _, fault := range []string{"hang", "truncate"} {
			t.Run(name+" "+fault, func(t *testing.T) {
				t.Parallel()
				b := newLiveBench(t, name, priced(t, name))
				b.turn(t, emulator.Faults{Buy: map[string]float64{fault: 1}})
				got, err := b.Buy(t.Context(), b.homeOrder(name))
				if err != nil {
					t.Fatal(err)
				}
				b.turn(t, emulator.Faults{})
				settled := b.settle(t, got.Shipment.ID, ship.StatePurchased)
				if alive := b.alive(); !slices.Equal(alive, []string{settled.Purchase.TrackingNumber}) {
					t.Errorf("alive are %v, recorded is %s", alive, settled.Purchase.TrackingNumber)
				}
				if settled.Purchase.Price.Amount() != "4.56" {
					t.Errorf("the price is %v", settled.Purchase.Price)
				}
			})
		}
	}
}
