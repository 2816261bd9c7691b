package shipping_test

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"testing"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/shipping"
)

// differing sends another request under the key and returns what the refusal names.
func (b liveBench) differing(t *testing.T, in shipping.BuyInput) (pointers []string) {
	t.Helper()
	in.Fingerprint = sha256.Sum256(fmt.Append(nil, "another request"))
	_, err := b.Buy(t.Context(), in)
	if ship.CodeOf(err) != "idempotency_key_reused" {
		t.Fatalf("another request under the key: %v", err)
	}
	for _, field := range ship.ErrorOf(err).Fields {
		pointers = append(pointers, field.Pointer)
	}
	return pointers
}

func TestAReusedKeyNamesTheAmountThatTheClientWrote(t *testing.T) {
	t.Parallel()
	dollars := func(n int64) ship.Money { return ship.Money{Minor: n * 100, Currency: "USD"} }
	for name, test := range map[string]struct {
		limits ship.SpendingLimits
		wrote  ship.Money
		same   ship.Money // as what was written
		other  ship.Money
	}{
		"no limit of the key":            {ship.SpendingLimits{}, dollars(80), dollars(80), dollars(90)},
		"a lower limit of the key":       {ship.SpendingLimits{PerPurchase: dollars(70)}, dollars(80), dollars(80), dollars(70)},
		"a higher limit of the key":      {ship.SpendingLimits{PerPurchase: dollars(90)}, dollars(80), dollars(80), dollars(85)},
		"no amount, and a limit":         {ship.SpendingLimits{PerPurchase: dollars(70)}, ship.Money{}, ship.Money{}, dollars(70)},
		"a lower threshold of approvals": {ship.SpendingLimits{ApprovalAbove: dollars(70)}, dollars(80), dollars(80), dollars(70)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newLiveBench(t, "ups")
			in := b.order(1)
			in.Limits = test.limits
			in.MaxAmount = test.wrote
			b.buy(t, in)

			in.Order.Reference = "another"
			in.MaxAmount = test.same
			if got := b.differing(t, in); !slices.Equal(got, []string{"/reference"}) {
				t.Errorf("with the same amount %v differ", got)
			}
			in.MaxAmount = test.other
			if got := b.differing(t, in); !slices.Equal(got, []string{"/reference", "/maxAmount"}) {
				t.Errorf("with another amount %v differ", got)
			}
		})
	}
}

// TestAReusedKeyNamesTheAmountOfAnApprovedPurchase has a person approve the price of the
// offer, which becomes the most that the label may cost.
func TestAReusedKeyNamesTheAmountOfAnApprovedPurchase(t *testing.T) {
	t.Parallel()
	b := newLiveBench(t, "ups")
	in := b.agent(1)
	in.MaxAmount = ship.Money{Minor: 50000, Currency: "USD"}
	asked := b.ask(t, in)
	if asked.Purchase.Limit == in.MaxAmount {
		t.Fatalf("the limit of the approved purchase is %s", asked.Purchase.Limit)
	}

	in.Order.Reference = "another"
	if got := b.differing(t, in); !slices.Equal(got, []string{"/reference"}) {
		t.Errorf("with the same amount %v differ", got)
	}
}

func TestAReusedKeyNamesOptionsThatAreNotPartOfTheShipment(t *testing.T) {
	t.Parallel()
	b := newLiveBench(t, "ups")
	in := b.order(1)
	in.AddressValidation = shipping.ValidationOff
	in.OnDuplicate = "reject"
	b.buy(t, in)

	in.Order.Reference = "another"
	if got := b.differing(t, in); !slices.Equal(got, []string{"/reference"}) {
		t.Errorf("with the same options %v differ", got)
	}
	in.AddressValidation = ""
	in.OnDuplicate = ""
	if got := b.differing(t, in); !slices.Equal(got, []string{"/reference", "/addressValidation", "/onDuplicateOrder"}) {
		t.Errorf("without the options %v differ", got)
	}

	// What the first request left out may have been written by an older release, which did
	// not keep it.
	plain := b.order(2)
	b.buy(t, plain)
	plain.Order.Reference = "another"
	plain.OnDuplicate = "return"
	if got := b.differing(t, plain); !slices.Equal(got, []string{"/reference"}) {
		t.Errorf("with an option that is not known %v differ", got)
	}
}
