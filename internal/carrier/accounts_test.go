package carrier_test

import (
	"context"
	"slices"
	"testing"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/ship"
)

func TestAccountsOfATenant(t *testing.T) {
	named := func(name string, connection ship.ConnectionID) *carrier.Carrier {
		c := carrier.New(carrier.Spec{Name: name, Title: "Title of " + name}, &driver{})
		c.Connection = connection
		return c
	}
	simulatedA := named("a", "")
	simulatedB := named("b", "")
	connectedA := named("a", "con_1")
	accounts := carrier.Accounts{
		Simulated: []*carrier.Carrier{simulatedA, simulatedB},
		Connected: func(context.Context, ship.Tenant) ([]*carrier.Carrier, error) {
			return []*carrier.Carrier{connectedA}, nil
		},
		Connection: func(context.Context, ship.Tenant, ship.ConnectionID) (*carrier.Carrier, error) {
			return connectedA, nil
		},
	}
	unconnected := carrier.Accounts{Simulated: accounts.Simulated}
	test := ship.Tenant{}
	live := ship.Tenant{Livemode: true}

	for name, tc := range map[string]struct {
		accounts carrier.Accounts
		tenant   ship.Tenant
		want     []*carrier.Carrier
	}{
		"test mode":                     {accounts, test, []*carrier.Carrier{connectedA, simulatedB}},
		"live mode":                     {accounts, live, []*carrier.Carrier{connectedA}},
		"test mode without connections": {unconnected, test, []*carrier.Carrier{simulatedA, simulatedB}},
		"live mode without connections": {unconnected, live, nil},
	} {
		if got, err := tc.accounts.List(t.Context(), tc.tenant); err != nil || !slices.Equal(got, tc.want) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}

	if c, err := accounts.Seller(t.Context(), live, ship.Purchase{Carrier: "a", Connection: "con_1"}); err != nil || c != connectedA {
		t.Errorf("seller %v, %v", c, err)
	}
	if c, err := accounts.Seller(t.Context(), test, ship.Purchase{Carrier: "b"}); err != nil || c != simulatedB {
		t.Errorf("seller %v, %v", c, err)
	}
	if c, err := accounts.Seller(t.Context(), live, ship.Purchase{Carrier: "b"}); ship.CodeOf(err) != "unknown_carrier" {
		t.Errorf("a simulated carrier sells in live mode: %v, %v", c, err)
	}
	if c, err := unconnected.Seller(t.Context(), live, ship.Purchase{Carrier: "a", Connection: "con_1"}); ship.KindOf(err) != ship.NotFound {
		t.Errorf("seller %v, %v", c, err)
	}
}
