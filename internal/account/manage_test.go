package account_test

import (
	"testing"

	"github.com/waybillhq/waybill/internal/account"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/internal/store/storetest"
)

func TestADailyLimitIsAnAmountOfALiveKey(t *testing.T) {
	t.Parallel()
	st, err := store.Open(t.Context(), store.Options{URL: storetest.URL(t), Connections: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(st.Close)
	s := account.New(st)
	a, err := s.Create(t.Context(), account.Settings{Name: new("Shop"), Currency: new("EUR")})
	if err != nil {
		t.Fatal(err)
	}
	for _, in := range []account.NewKeyInput{
		{DailyLimit: "500"}, {Livemode: true, DailyLimit: "0"}, {Livemode: true, DailyLimit: "-5"}, {Livemode: true, DailyLimit: "much"},
	} {
		in.Account = a.ID
		if _, _, err := s.NewKey(t.Context(), in); ship.KindOf(err) != ship.Invalid {
			t.Errorf("%+v: %v", in, err)
		}
	}
	if _, _, err := s.NewKey(t.Context(), account.NewKeyInput{Account: a.ID, Livemode: true, DailyLimit: "12.5"}); err != nil {
		t.Fatal(err)
	}
	keys, err := s.Keys(t.Context(), a.ID)
	if want := (ship.Money{Minor: 1250, Currency: "EUR"}); err != nil || len(keys) != 1 || keys[0].DailyLimit != want {
		t.Errorf("the keys are %+v, %v", keys, err)
	}
}
