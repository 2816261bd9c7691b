package api

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/account"
	"github.com/waybillhq/waybill/internal/addresscheck"
	"github.com/waybillhq/waybill/internal/batch"
	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/all"
	"github.com/waybillhq/waybill/internal/carrier/sandbox"
	"github.com/waybillhq/waybill/internal/handover"
	"github.com/waybillhq/waybill/internal/journal"
	"github.com/waybillhq/waybill/internal/label"
	"github.com/waybillhq/waybill/internal/privacy"
	"github.com/waybillhq/waybill/internal/quoting"
	"github.com/waybillhq/waybill/internal/returns"
	"github.com/waybillhq/waybill/internal/rulebook"
	"github.com/waybillhq/waybill/internal/seal"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/shipping"
	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/internal/store/storetest"
	"github.com/waybillhq/waybill/internal/tracking"
	"github.com/waybillhq/waybill/internal/webhook"
)

const testBase = "https://ship.example.com"

// testConfig is the API over nothing: good for what is refused before a
// service is asked.
func testConfig(testing.TB) Config {
	return Config{BaseURL: testBase, Log: slog.New(slog.DiscardHandler), Account: account.New(nil)}
}

// bench is the API over a database of its own, with the simulated carriers.
type bench struct {
	testing.TB
	handler http.Handler
	store   *store.Store
	account *account.Service
	privacy *privacy.Service
	returns *returns.Service
	batch   *batch.Service
	journal *journal.Service
	lose    func() bool // whether the answer of a purchase of a batch is lost
	owner   ship.AccountID
	key     string
}

// newBatches returns the service of batches over what ships, as package app wires
// it.
func newBatches(b *bench, c Config) *batch.Service {
	return batch.New(batch.Config{
		Store:     b.store,
		Account:   c.Account.AccountIn,
		Retention: 24 * time.Hour,
		Log:       c.Log,
		Purchase: func(ctx context.Context, r batch.Request) (ship.Shipment, error) {
			limits, err := c.Account.LimitsOfKey(ctx, r.Tenant.Account, r.APIKey)
			if err != nil {
				return ship.Shipment{}, err
			}
			bought, err := c.Shipping.Buy(ctx, shipping.BuyInput{
				Tenant:            r.Tenant,
				Account:           r.Account,
				Key:               r.APIKey,
				Limits:            limits,
				Order:             r.Order,
				OneParcel:         r.OneParcel,
				Carrier:           r.Carrier,
				Service:           r.Service,
				Connection:        r.Connection,
				RateID:            r.RateID,
				MaxAmount:         r.Limit,
				MaxIsShown:        r.LimitShown,
				OnDuplicate:       r.OnDuplicate,
				AddressValidation: shipping.AddressValidation(r.AddressValidation),
				IdempotencyKey:    r.Key,
				Fingerprint:       r.Fingerprint,
				FormerName:        r.FormerName,
			})
			if b.lose != nil && b.lose() {
				return ship.Shipment{}, errors.New("the process died")
			}
			return bought.Shipment, err
		},
	})
}

func newBench(t testing.TB) *bench {
	t.Helper()
	st := storetest.Open(t)
	var carriers []*carrier.Carrier
	for _, spec := range sandbox.Specs() {
		c, err := carrier.Open(spec, carrier.Opening{})
		if err != nil {
			t.Fatal(err)
		}
		carriers = append(carriers, c)
	}
	labels, err := label.NewRenderer("")
	if err != nil {
		t.Fatal(err)
	}
	c := testConfig(t)
	c.Account = account.New(st)
	c.Rules = newRules(t, st, carriers)
	sellers := carrier.Accounts{Simulated: carriers}
	c.Quoting = quoting.New(quoting.Config{Accounts: sellers, SigningKey: []byte("0123456789abcdef0123456789abcdef"), Policy: policyOf(c.Rules), Location: c.Account.Location})
	c.Addresses = addresscheck.New(addresscheck.Config{Store: st, Accounts: sellers, Key: []byte(contractSecret), Log: c.Log})
	c.Shipping = shipping.New(shipping.Config{
		Store: st, Accounts: sellers, Quoting: c.Quoting, Addresses: c.Addresses, Labels: labels, SigningKey: []byte("0123456789abcdef0123456789abcdef"),
		BaseURL: testBase, Waits: shipping.DefaultWaits, Log: c.Log,
	})
	c.Tracking = tracking.New(tracking.Config{Store: st, BaseURL: testBase, Log: c.Log, Specs: all.Specs})
	if c.Box, err = seal.New([]byte("0123456789abcdef0123456789abcdef")); err != nil {
		t.Fatal(err)
	}
	c.Webhook = webhook.New(webhook.Config{
		Store: st, Box: c.Box, Sender: webhook.NewSender(webhook.SenderOptions{Policy: webhook.Policy{Loopback: true}}), BaseURL: testBase,
	})
	c.Handover = handover.New(handover.Config{Store: st, Accounts: sellers, Labels: labels, Waits: handover.DefaultWaits, Log: c.Log})
	c.Returns = returns.New(returns.Config{Store: st, Log: c.Log})
	c.Privacy = privacy.New(privacy.Config{Store: st, Box: c.Box, Log: c.Log, RedactCells: batch.RedactCells})
	c.Limits.RequestsPerSec = -1
	b := &bench{TB: t, store: st, account: c.Account, privacy: c.Privacy, returns: c.Returns}
	b.batch = newBatches(b, c)
	c.Batch = b.batch
	c.Journal = journal.New(journal.Config{Store: st, Requests: true})
	b.journal = c.Journal
	b.handler = New(c)
	owner, err := c.Account.Create(t.Context(), account.Settings{Name: new("Acme")})
	if err != nil {
		t.Fatal(err)
	}
	b.owner = owner.ID
	b.key = b.newKey(false)
	return b
}

// newRules keeps the rules of tenants that have the simulated carriers alone.
func newRules(t testing.TB, st *store.Store, carriers []*carrier.Carrier) *rulebook.Service {
	t.Helper()
	rules, err := rulebook.New(rulebook.Config{
		Store:     st,
		Carriers:  func(bool) []carrier.Spec { return sandbox.Specs() },
		Connected: func(context.Context, ship.Tenant) ([]*carrier.Carrier, error) { return nil, nil },
		Requote: func(ctx context.Context, o ship.Order) (rates []ship.Rate) {
			for _, c := range carriers {
				offers, _ := c.Rates(ctx, o)
				rates = append(rates, offers...)
			}
			return rates
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return rules
}

func policyOf(rules *rulebook.Service) func(context.Context, ship.Tenant) (quoting.Policy, error) {
	return func(ctx context.Context, t ship.Tenant) (quoting.Policy, error) {
		p, err := rules.Policy(ctx, t)
		return quoting.Policy(p), err
	}
}

func (b *bench) newKey(live bool, scopes ...string) string {
	b.Helper()
	key, _, err := b.account.NewKey(b.Context(), account.NewKeyInput{Account: b.owner, Livemode: live, Name: "test", Scopes: scopes})
	if err != nil {
		b.Fatal(err)
	}
	return string(key)
}

// send makes one request; header lines are "Name: value".
func send(h http.Handler, method, path, key, body string, header ...string) *httptest.ResponseRecorder {
	var reader io.Reader
	if body != "" {
		reader = strings.NewReader(body)
	}
	r := httptest.NewRequest(method, path, reader)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
	}
	for _, line := range header {
		name, value, _ := strings.Cut(line, ": ")
		r.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// do sends a request with the bench's key, and fails unless the status is the
// one that is wanted.
func (b *bench) do(status int, method, path, body string, header ...string) (map[string]any, *httptest.ResponseRecorder) {
	b.Helper()
	w := send(b.handler, method, path, b.key, body, header...)
	if w.Code != status {
		b.Fatalf("%s %s: %d, want %d: %s", method, path, w.Code, status, w.Body)
	}
	var v map[string]any
	if strings.Contains(w.Header().Get("Content-Type"), "json") && w.Body.Len() > 0 {
		if err := json.Unmarshal(w.Body.Bytes(), &v); err != nil {
			b.Fatalf("%v in %s", err, w.Body)
		}
	}
	return v, w
}

const specBody = `{"orderId":"ORD-1001","destination":{"name":"Ada Lovelace","address1":"500 Main St","city":"Austin","state":"TX","zip":"78701","country":"US"},` +
	`"parcel":{"weight":4.2,"dimensions":{"length":12,"width":9,"height":4}}}`

func (b *bench) ship() string {
	b.Helper()
	sh, _ := b.do(http.StatusCreated, "POST", "/v1/shipments", specBody)
	return sh["id"].(string)
}
