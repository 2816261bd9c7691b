package store_test

import (
	"testing"

	"github.com/waybillhq/waybill/internal/ship"
)

func TestAnAccountIsFoundByItsOwnIDAlone(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	account := ship.Account{
		ID:       f.tenant.Account,
		Name:     "Acme",
		Units:    ship.DefaultUnits,
		Currency: "USD",
	}
	if err := f.SaveAccount(t.Context(), account, "account.made"); err != nil {
		t.Fatal(err)
	}

	found, err := f.Account(t.Context(), account.ID)
	if err != nil || found != account {
		t.Errorf("Account = %+v, %v; want %+v", found, err, account)
	}
	for _, id := range []ship.AccountID{"", "acct_", newTenant().Account} {
		_, err := f.Account(t.Context(), id)
		wantKind(t, "Account "+string(id), err, ship.NotFound)
	}
}
