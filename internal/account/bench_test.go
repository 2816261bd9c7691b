package account_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/account"
	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/seal"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/internal/store/storetest"
)

// side is one side of the carrier of these tests, its sandbox or its real one,
// over real HTTP. It knows one key and one account number.
type side struct {
	*httptest.Server
	mu     sync.Mutex
	key    string
	number string
	skew   time.Duration
	refuse map[string]string // path -> body of an answer with status 403
	calls  map[string]int
}

func newSide(t *testing.T, key string) *side {
	t.Helper()
	s := &side{key: key, number: "A1", refuse: map[string]string{}, calls: map[string]int{}}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

func (s *side) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls[r.URL.Path]++
	w.Header().Set("Date", time.Now().Add(s.skew).UTC().Format(http.TimeFormat))
	key := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	switch words, refused := s.refuse[r.URL.Path]; {
	case key != s.key: // some carriers repeat what they were sent
		http.Error(w, fmt.Sprintf(`{"code":"BAD.KEY","message":"no such key: %s"}`, key), http.StatusUnauthorized)
	case refused:
		http.Error(w, words, http.StatusForbidden)
	case r.URL.Path == "/api/rates" && r.Header.Get("X-Account") != s.number:
		http.Error(w, `{"code":"ACCOUNT.NUMBER.MISMATCH","message":"not yours"}`, http.StatusBadRequest)
	case r.URL.Path == "/api/track":
		http.Error(w, `{"code":"UNKNOWN","message":"no such parcel"}`, http.StatusNotFound)
	default:
		fmt.Fprint(w, `{"price":1234}`)
	}
}

// count is how often the path was called.
func (s *side) count(path string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[path]
}

// acme is the driver of these tests.
type acme struct{ carrier.Opening }

func (d acme) call(ctx context.Context, path string) error {
	return carrierkit.Call{
		Method: http.MethodGet, URL: d.BaseURL + path,
		Header: http.Header{"Authorization": {"Bearer " + d.Credentials["api_key"]}, "X-Account": {d.Credentials["account_number"]}},
		Refusal: func(body []byte) ship.Refusal {
			return ship.Refusal{Code: between(body, `"code":"`), Message: between(body, `"message":"`)}
		},
	}.Do(ctx, d.Via, nil)
}

func between(body []byte, mark string) string {
	_, rest, _ := strings.Cut(string(body), mark)
	text, _, _ := strings.Cut(rest, `"`)
	return text
}

func (d acme) Check(ctx context.Context) error { return d.call(ctx, "/check") }

func (d acme) Rates(ctx context.Context, _ ship.Order) ([]ship.Rate, error) {
	err := d.call(ctx, "/rates")
	return []ship.Rate{{Service: "ground", Price: ship.Money{Minor: 1234, Currency: "USD"}}}, err
}

func (d acme) Track(ctx context.Context, _ []string) ([]carrier.TrackingUpdate, error) {
	return nil, d.call(ctx, "/track")
}

func (d acme) Rehearse(ctx context.Context, _ carrier.BuyOrder) error {
	return d.call(ctx, "/rehearse")
}

func (d acme) CheckAddress(ctx context.Context, address ship.Address) (ship.AddressCheck, error) {
	return ship.AddressCheck{Verdict: ship.AddressValid, Address: address}, d.call(ctx, "/address")
}

// plain sends what it is given.
type plain struct{ http.RoundTripper }

func (p plain) Do(r *http.Request) (*http.Response, error) { return p.RoundTrip(r) }

// bench is a real database, an account, and the two sides of a carrier.
type bench struct {
	*account.Service
	url        string
	config     account.Config
	account    ship.Account
	live, test *side
	log        *bytes.Buffer
	mu         sync.Mutex // of log
}

func (b *bench) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.log.Write(p)
}

func key(n byte) []byte { return bytes.Repeat([]byte{n}, 32) }

func box(t testing.TB, keys ...[]byte) *seal.Box {
	t.Helper()
	b, err := seal.New(keys...)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{url: storetest.URL(t), live: newSide(t, "canary-live-key"), test: newSide(t, "canary-test-key"), log: new(bytes.Buffer)}
	st, err := store.Open(context.Background(), store.Options{URL: b.url, Connections: 8})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(st.Close)
	b.config = account.Config{
		Store: st, Wrapper: box(t, key(1)), Log: slog.New(slog.NewTextHandler(b, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Via: func(carrier.Spec, string) carrier.Doer { return plain{http.DefaultTransport} },
		Specs: []carrier.Spec{{
			Name: "acme", Title: "Acme", LiveURL: b.live.URL + "/api", TestURL: b.test.URL + "/api",
			Fields: []carrier.Field{
				{Name: "account_number", Title: "Account number", Required: true},
				{Name: "api_key", Title: "API key", Required: true, Secret: true},
				{Name: "pin", Title: "PIN", Secret: true},
			},
			AddressCoverage: carrier.AddressCoverage{Streets: []string{"US"}},
			Open:            func(o carrier.Opening) (carrier.Driver, error) { return acme{o}, nil },
		}},
	}
	b.Service = account.NewWith(b.config)
	origin := ship.Address{Name: "A", Address1: "1 Main St", City: "Austin", State: "TX", Zip: "78701", Country: "US"}
	if b.account, err = b.Create(t.Context(), account.Settings{Name: new("Acme shop"), Origin: &origin}); err != nil {
		t.Fatal(err)
	}
	return b
}

// again is another process on the same database, with other keys.
func (b *bench) again(w seal.Wrapper) *account.Service {
	c := b.config
	c.Wrapper = w
	return account.NewWith(c)
}

func (b *bench) tenant(live bool) ship.Tenant {
	return ship.Tenant{Account: b.account.ID, Livemode: live}
}

// connect adds a connection with the key that the side accepts.
func (b *bench) connect(t *testing.T, live bool, name string) account.Connection {
	t.Helper()
	side := b.test
	if live {
		side = b.live
	}
	c, err := b.AddConnection(t.Context(), account.AddConnectionInput{
		Tenant: b.tenant(live), Carrier: "acme", Name: name, Credentials: carrier.Credentials{"account_number": "A1", "api_key": side.key},
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func (b *bench) logged() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.log.String()
}
