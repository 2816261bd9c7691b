package ship

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestMoneyIsReadExactly(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		amount, currency string
		minor            int64
		shown            string
	}{
		{"12.34", "USD", 1234, "12.34"},
		{"12.3", "USD", 1230, "12.30"},
		{"12", "USD", 1200, "12.00"},
		{"0.05", "EUR", 5, "0.05"},
		{"0", "EUR", 0, "0.00"},
		{"12.3400", "USD", 1234, "12.34"},
		{"1500", "JPY", 1500, "1500"},
		{"1500.00", "JPY", 1500, "1500"},
		{"1.234", "KWD", 1234, "1.234"},
		{"1.2345", "CLF", 12345, "1.2345"},
		{"0007.00", "USD", 700, "7.00"},
		{"92233720368547758", "USD", 9223372036854775800, "92233720368547758.00"},
	} {
		m, ok := ParseMoney(tc.amount, tc.currency)
		if !ok || m.Minor != tc.minor || m.Amount() != tc.shown {
			t.Errorf("ParseMoney(%s %s) = %d, %q, %t; want %d, %q", tc.amount, tc.currency, m.Minor, m.Amount(), ok, tc.minor, tc.shown)
		}
	}
}

func TestWhatIsNoMoneyIsRefused(t *testing.T) {
	t.Parallel()
	for _, tc := range [][2]string{
		{"", "USD"},
		{"-1", "USD"},
		{"+1", "USD"},
		{"1e3", "USD"},
		{" 1", "USD"},
		{"1,5", "USD"},
		{".5", "USD"},
		{"5.", "USD"},
		{"1.2.3", "USD"},
		{"12.345", "USD"},
		{"1.5", "JPY"},
		{"0x10", "USD"},
		{"NaN", "USD"},
		{"\u0661", "USD"},
		{"92233720368547759", "USD"},
		{"9223372036854775807", "JPY"},
		{"1", ""},
		{"1", "usd"},
		{"1", "US"},
		{"1", "USDX"},
		{"1", "U$D"},
	} {
		if m, ok := ParseMoney(tc[0], tc[1]); ok {
			t.Errorf("ParseMoney(%q, %q) = %v", tc[0], tc[1], m)
		}
	}
}

func TestMoneyGoesToTextAndBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := Money{rapid.Int64Range(0, 1e15).Draw(t, "minor"), rapid.SampledFrom([]string{"USD", "JPY", "KWD", "CLF", "EUR"}).Draw(t, "currency")}
		if back, ok := ParseMoney(m.Amount(), m.Currency); !ok || back != m {
			t.Fatalf("%v is shown as %s and read as %v", m, m.Amount(), back)
		}
	})
}

func TestExceedsAllowsThePercentage(t *testing.T) {
	t.Parallel()
	usd := func(minor int64) Money { return Money{minor, "USD"} }
	for _, tc := range []struct {
		m, limit Money
		percent  int64
		want     bool
	}{
		{usd(1000), usd(1000), 0, false},
		{usd(1001), usd(1000), 0, true},
		{usd(1010), usd(1000), 1, false},
		{usd(1011), usd(1000), 1, true},
		{usd(1), Money{100, "EUR"}, 1, true},
		{usd(1000), usd(math.MaxInt64), 1, false},
		{usd(math.MaxInt64), usd(1000), 1, true},
	} {
		if got := tc.m.Exceeds(tc.limit, tc.percent); got != tc.want {
			t.Errorf("%v exceeds %v by %d %%: %t, want %t", tc.m, tc.limit, tc.percent, got, tc.want)
		}
	}
	if !(Money{}).IsZero() || usd(0).IsZero() {
		t.Error("nothing in dollars is an amount; the zero Money is none")
	}
}

func TestOnlyCurrenciesAreCurrencies(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]bool{
		"USD": true, "EUR": true, "JPY": true, "CLF": true, "SLE": true, "XCG": true,
		"XYZ": false, "eur": false, "US": false, "EURO": false, "": false,
	} {
		if got := IsCurrency(code); got != want {
			t.Errorf("IsCurrency(%q) = %t", code, got)
		}
	}
}
