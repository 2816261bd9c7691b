package quoting

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/ups"
	"github.com/waybillhq/waybill/internal/ship"
)

// tokenBench makes tokens for an account that is connected to UPS twice.
type tokenBench struct {
	*Service
	tenant   ship.Tenant
	carriers []*carrier.Carrier
	order    ship.Order
}

func newTokenBench(t *testing.T) *tokenBench {
	t.Helper()
	b := &tokenBench{
		tenant: ship.Tenant{Account: ship.NewAccountID(0, time.Now()), Livemode: true},
		order:  ship.Order{Destination: ship.Address{Name: "Ada", Zip: "78701", Country: "US"}},
	}
	for range 2 {
		connected, err := carrier.Open(ups.Spec, carrier.Opening{
			Credentials: carrier.Credentials{"client_id": "a", "client_secret": "b", "account_number": "A1B2C3"},
			Live:        true,
		})
		if err != nil {
			t.Fatal(err)
		}
		connected.Connection = ship.NewConnectionID(0, time.Now())
		b.carriers = append(b.carriers, connected)
	}
	b.Service = New(Config{
		Accounts: carrier.Accounts{
			Connected: func(context.Context, ship.Tenant) ([]*carrier.Carrier, error) { return b.carriers, nil },
		},
		SigningKey:     []byte("new"),
		OldSigningKeys: [][]byte{[]byte("old")},
	})
	return b
}

// rate is an offer of the second connection.
func (b *tokenBench) rate(change func(*ship.Rate)) ship.Rate {
	service := ups.Spec.Services[1]
	rate := ship.Rate{
		Carrier:     "ups",
		Connection:  b.carriers[1].Connection,
		Service:     service.Code,
		ServiceName: service.Name,
		Price:       ship.Money{Minor: 268_435_455, Currency: "USD"},
		TransitDays: 3,
		DeliveryAt:  time.Date(2026, 11, 21, 23, 59, 0, 0, time.FixedZone("", -6*3600)),
		Guaranteed:  true,
		Source:      "cache",
	}
	if change != nil {
		change(&rate)
	}
	return rate
}

func (b *tokenBench) token(rate ship.Rate) string {
	return b.rateToken(b.tenant, b.carriers, rate, orderHash(b.order), time.Now().Add(rateLife))
}

func (b *tokenBench) read(token string) (ship.Rate, error) {
	return b.rateOf(context.Background(), b.tenant, token, b.order, time.Now())
}

// TestARateIDIsShort writes and reads offers of all shapes: what is read is what was
// quoted.
func TestARateIDIsShort(t *testing.T) {
	t.Parallel()
	b := newTokenBench(t)
	for name, tc := range map[string]struct {
		change func(*ship.Rate)
		most   int
	}{
		"the usual":           {nil, 64},
		"without a day":       {func(r *ship.Rate) { r.DeliveryAt, r.TransitDays, r.Source = time.Time{}, 0, "sheet" }, 64},
		"in India":            {func(r *ship.Rate) { r.DeliveryAt = r.DeliveryAt.In(time.FixedZone("", 19800)) }, 64},
		"a product code":      {func(r *ship.Rate) { r.Selection = strings.Repeat("s", ship.MaxSelection) }, 255},
		"an unlisted service": {func(r *ship.Rate) { r.Service, r.ServiceName = "drone", "UPS Drone" }, 255},
		"another name":        {func(r *ship.Rate) { r.ServiceName = "Our own name" }, 255},
		"a very long name":    {func(r *ship.Rate) { r.ServiceName = strings.Repeat("n", 300) }, 1200},
		"an odd currency":     {func(r *ship.Rate) { r.Price.Currency = "usd" }, 600},
	} {
		rate := b.rate(tc.change)
		token := b.token(rate)
		if len(token) > tc.most {
			t.Errorf("%s: an id of %d characters, want at most %d", name, len(token), tc.most)
		}
		read, err := b.read(token)
		if err != nil || !isSameRate(read, rate) || !read.DeliveryAt.Equal(rate.DeliveryAt) {
			t.Errorf("%s: read as %+v, %v; want %+v", name, read, err, rate)
		}
		_, was := rate.DeliveryAt.Zone()
		if _, is := read.DeliveryAt.Zone(); !rate.DeliveryAt.IsZero() && is != was {
			t.Errorf("%s: the day is %d s from UTC, want %d", name, is, was)
		}
	}
}

// TestAChangedRateIDIsRefused changes every byte of a rate id, cuts it and adds to it:
// it buys nothing. A change of the last signature is like another order.
func TestAChangedRateIDIsRefused(t *testing.T) {
	t.Parallel()
	b := newTokenBench(t)
	token := b.token(b.rate(func(r *ship.Rate) { r.Selection = "P" }))
	data, err := compactEncoding.DecodeString(strings.TrimPrefix(token, ratePrefix))
	if err != nil {
		t.Fatal(err)
	}

	for i := range data {
		for _, bit := range []byte{1, 0x80} {
			changed := append([]byte{}, data...)
			changed[i] ^= bit
			want := "validation_failed"
			if i >= len(data)-longMAC {
				want = "rate_mismatch"
			}
			if _, err := b.read(ratePrefix + compactEncoding.EncodeToString(changed)); ship.CodeOf(err) != want {
				t.Errorf("byte %d changed: %v, want %s", i, err, want)
			}
		}
	}
	for n := range data {
		if _, err := b.read(ratePrefix + compactEncoding.EncodeToString(data[:n])); err == nil {
			t.Errorf("%d bytes of %d are accepted", n, len(data))
		}
	}
	for _, other := range []string{"", ratePrefix, token + "A", token + "=", token + "\n", strings.ToUpper(token), token[len(ratePrefix):]} {
		if _, err := b.read(other); ship.CodeOf(err) != "validation_failed" {
			t.Errorf("%q: %v", other, err)
		}
	}
}

// TestARateIDIsBoundToItsAccountModeAndOrder reads a rate id elsewhere.
func TestARateIDIsBoundToItsAccountModeAndOrder(t *testing.T) {
	t.Parallel()
	b := newTokenBench(t)
	token := b.token(b.rate(nil))
	ctx := t.Context()

	for name, tenant := range map[string]ship.Tenant{
		"another account": {Account: ship.NewAccountID(0, time.Now()), Livemode: true},
		"test mode":       {Account: b.tenant.Account},
	} {
		if _, err := b.rateOf(ctx, tenant, token, b.order, time.Now()); ship.CodeOf(err) != "validation_failed" {
			t.Errorf("%s: %v", name, err)
		}
		if _, ok := b.QuotedRate(ctx, tenant, token); ok {
			t.Errorf("%s: it is shown", name)
		}
	}

	other := b.order
	other.Destination.Name = "Bob"
	if _, err := b.rateOf(ctx, b.tenant, token, other, time.Now()); ship.CodeOf(err) != "rate_mismatch" {
		t.Errorf("another order: %v", err)
	}
	if _, err := b.rateOf(ctx, b.tenant, token, b.order, time.Now().Add(rateLife+time.Minute)); ship.CodeOf(err) != "rate_expired" {
		t.Errorf("a day later: %v", err)
	}
	if rate, ok := b.QuotedRate(ctx, b.tenant, token); !ok || rate.Connection != b.carriers[1].Connection {
		t.Errorf("shown as %+v, %t", rate, ok)
	}

	// What the old key signed is still valid, and an account that was removed sells
	// nothing.
	former := *b.Service
	former.signer = New(Config{SigningKey: []byte("old")}).signer
	old := former.rateToken(b.tenant, b.carriers, b.rate(nil), orderHash(b.order), time.Now().Add(rateLife))
	if _, err := b.read(old); err != nil || old == token {
		t.Errorf("by the old key: %v", err)
	}
	b.carriers = b.carriers[:1]
	if _, err := b.read(token); ship.CodeOf(err) != "rate_expired" {
		t.Errorf("of an account that was removed: %v", err)
	}
	if _, ok := b.QuotedRate(ctx, b.tenant, token); ok {
		t.Error("of an account that was removed: it is shown")
	}
}
