package account_test

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/waybillhq/waybill/internal/account"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/internal/store/storetest"
)

func TestLimitsAreAmountsOfLiveKeysAndCountries(t *testing.T) {
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
		{KeyLimits: account.KeyLimits{DailyLimit: "500"}},
		{KeyLimits: account.KeyLimits{MaxPerPurchase: "40"}},
		{KeyLimits: account.KeyLimits{ApprovalAbove: "25"}},
		{KeyLimits: account.KeyLimits{AllowedCountries: []string{"Germany"}}},
		{Livemode: true, KeyLimits: account.KeyLimits{DailyLimit: "0"}},
		{Livemode: true, KeyLimits: account.KeyLimits{DailyLimit: "-5"}},
		{Livemode: true, KeyLimits: account.KeyLimits{DailyLimit: "much"}},
		{Livemode: true, KeyLimits: account.KeyLimits{MaxPerPurchase: "0"}},
		{Livemode: true, KeyLimits: account.KeyLimits{MaxPerPurchase: "12.345"}},
		{Livemode: true, KeyLimits: account.KeyLimits{ApprovalAbove: "-1"}},
		{Livemode: true, KeyLimits: account.KeyLimits{AllowedCountries: []string{"US", "QQ"}}},
	} {
		in.Account = a.ID
		if _, _, err := s.NewKey(t.Context(), in); ship.KindOf(err) != ship.Invalid {
			t.Errorf("%+v: %v", in, err)
		}
	}
	for i, given := range []account.KeyLimits{
		{},
		{DailyLimit: "12.5"},
		{DailyLimit: "500", MaxPerPurchase: "40", ApprovalAbove: "0", AllowedCountries: []string{"us", "DE", "US"}},
	} {
		if _, _, err := s.NewKey(t.Context(), account.NewKeyInput{Account: a.ID, Livemode: true, Name: fmt.Sprint(i), KeyLimits: given}); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := s.NewKey(t.Context(), account.NewKeyInput{Account: a.ID, Name: "3", KeyLimits: account.KeyLimits{AllowedCountries: []string{"CA"}}}); err != nil {
		t.Fatal(err)
	}

	keys, err := s.Keys(t.Context(), a.ID)
	if err != nil {
		t.Fatal(err)
	}
	euros := func(minor int64) ship.Money { return ship.Money{Minor: minor, Currency: "EUR"} }
	want := map[string]ship.SpendingLimits{
		"0": {Countries: []string{}},
		"1": {Daily: euros(1250), Countries: []string{}},
		"2": {Daily: euros(50000), PerPurchase: euros(4000), ApprovalAbove: euros(0), Countries: []string{"DE", "US"}},
		"3": {Countries: []string{"CA"}},
	}
	for _, key := range keys {
		if !reflect.DeepEqual(key.Limits, want[key.Name]) {
			t.Errorf("key %s has the limits %+v", key.Name, key.Limits)
		}
	}
	if len(keys) != len(want) {
		t.Errorf("there are %d keys", len(keys))
	}
}
