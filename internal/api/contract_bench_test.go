package api

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/account"
	"github.com/waybillhq/waybill/internal/addresscheck"
	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/all"
	"github.com/waybillhq/waybill/internal/carrier/sandbox"
	"github.com/waybillhq/waybill/internal/handover"
	"github.com/waybillhq/waybill/internal/inquiry"
	"github.com/waybillhq/waybill/internal/label"
	"github.com/waybillhq/waybill/internal/quoting"
	"github.com/waybillhq/waybill/internal/rulebook"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/shipping"
	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/internal/store/storetest"
	"github.com/waybillhq/waybill/internal/tracking"
	"github.com/waybillhq/waybill/internal/webhook"
)

// The tests of these files hold the contract line by line, against the real
// handler; docs/conformance.md says which holds what.

const contractSecret = "0123456789abcdef0123456789abcdef"

// wiring is what a test may change before the service is put together.
type wiring struct {
	url   string // of the database
	api   Config
	waits shipping.Waits

	softDeadline time.Duration // of quotes
	hands        *hands        // nil leaves the carriers alone
	noVoid       bool          // carriers cannot take labels back
}

// contract is a bench with what stands behind the handler.
type contract struct {
	*bench
	url      string
	store    *store.Store
	tenant   ship.Tenant
	shipping *shipping.Service
	tracking *tracking.Service
	rules    *rulebook.Service
	minutes  int // that carriers' scans are ahead
}

func newContract(t testing.TB, edits ...func(*wiring)) *contract {
	t.Helper()
	w := wiring{api: testConfig(t), waits: shipping.DefaultWaits}
	w.api.Limits.RequestsPerSec = -1
	for _, edit := range edits {
		edit(&w)
	}
	if w.url == "" {
		w.url = storetest.URL(t)
	}
	st, err := store.Open(context.Background(), store.Options{URL: w.url, Connections: 8})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(st.Close)
	c := &contract{bench: &bench{TB: t, account: account.New(st)}, url: w.url, store: st}
	c.wire(w)
	return c
}

// wire puts the service together.
func (c *contract) wire(w wiring) {
	c.Helper()
	labels, err := label.NewRenderer("")
	if err != nil {
		c.Fatal(err)
	}
	var carriers []*carrier.Carrier
	for _, spec := range sandbox.Specs() {
		one, err := carrier.Open(w.tamper(spec), carrier.Opening{})
		if err != nil {
			c.Fatal(err)
		}
		carriers = append(carriers, one)
	}
	c.rules = newRules(c, c.store, carriers)
	sellers := carrier.Accounts{Simulated: carriers}
	w.api.Quoting = quoting.New(quoting.Config{Accounts: sellers, SigningKey: []byte(contractSecret), SoftDeadline: w.softDeadline, Policy: policyOf(c.rules), Location: c.store.Location})
	w.api.Addresses = addresscheck.New(addresscheck.Config{Store: c.store, Accounts: sellers, Key: []byte(contractSecret), Log: w.api.Log})
	w.api.Inquiry = inquiry.New(sellers, w.api.Quoting.Locate)
	w.api.Handover = handover.New(handover.Config{Store: c.store, Accounts: sellers, Labels: labels, Waits: handover.DefaultWaits, Log: w.api.Log})
	c.shipping = shipping.New(shipping.Config{
		Store: c.store, Accounts: sellers, Quoting: w.api.Quoting, Addresses: w.api.Addresses, Labels: labels, SigningKey: []byte(contractSecret), BaseURL: testBase, Waits: w.waits, Log: w.api.Log,
	})
	c.tracking = tracking.New(tracking.Config{Store: c.store, BaseURL: testBase, SandboxStep: time.Microsecond, Log: w.api.Log, Specs: all.Specs})
	w.api.Rules = c.rules
	w.api.Account, w.api.Shipping, w.api.Tracking, w.api.Webhook = c.account, c.shipping, c.tracking, webhook.New(webhook.Config{Store: c.store})
	c.handler = New(w.api)
}

// opened gives the contract an account of its own with a test key.
func (c *contract) opened() *contract {
	c.Helper()
	owner, err := c.account.Create(c.Context(), account.Settings{Name: new("Acme")})
	if err != nil {
		c.Fatal(err)
	}
	c.owner, c.tenant = owner.ID, ship.Tenant{Account: owner.ID}
	c.key = c.newKey(false)
	return c
}

// as is the same service as another key's holder sees it.
func (c *contract) as(key string) *bench {
	other := *c.bench
	other.key = key
	return &other
}

// hands are held between the service and the simulated carriers.
type hands struct {
	rates  func([]ship.Rate) []ship.Rate
	buy    func(carrier.BuyOrder)
	bought func(ship.Sale) ship.Sale
	void   func() (carrier.VoidResult, error)

	refuse func(carrier string, op carrier.Operation) error // before a quote or a sale
}

func (w wiring) tamper(spec carrier.Spec) carrier.Spec {
	open := spec.Open
	spec.Open = func(o carrier.Opening) (carrier.Driver, error) {
		d, err := open(o)
		if err != nil || w.hands == nil && !w.noVoid {
			return d, err
		}
		between := tampered{
			Driver:        d,
			Finder:        d.(carrier.Finder),
			InstantDriver: d.(carrier.InstantDriver),
			rater:         d.(carrier.Rater),
			buyer:         d.(carrier.Buyer),
			hands:         w.hands,
			name:          spec.Name,
		}
		if between.hands == nil {
			between.hands = &hands{}
		}
		if w.noVoid {
			return between, nil
		}
		return voidable{between, d.(carrier.Voider)}, nil
	}
	return spec
}

// tampered is a simulated carrier with hands in between. It cannot void.
type tampered struct {
	carrier.Driver
	carrier.Finder
	carrier.InstantDriver
	rater carrier.Rater
	buyer carrier.Buyer
	hands *hands
	name  string
}

func (d tampered) Rates(ctx context.Context, o ship.Order) ([]ship.Rate, error) {
	if d.hands.refuse != nil {
		if err := d.hands.refuse(d.name, carrier.OpRates); err != nil {
			return nil, err
		}
	}
	rates, err := d.rater.Rates(ctx, o)
	if d.hands.rates != nil {
		rates = d.hands.rates(rates)
	}
	return rates, err
}

func (d tampered) Buy(ctx context.Context, b carrier.BuyOrder) (ship.Sale, error) {
	if d.hands.refuse != nil {
		if err := d.hands.refuse(d.name, carrier.OpBuy); err != nil {
			return ship.Sale{}, err
		}
	}
	if d.hands.buy != nil {
		d.hands.buy(b)
	}
	p, err := d.buyer.Buy(ctx, b)
	if err == nil && d.hands.bought != nil {
		p = d.hands.bought(p)
	}
	return p, err
}

type voidable struct {
	tampered
	voider carrier.Voider
}

func (d voidable) Void(ctx context.Context, purchase ship.Purchase) (carrier.VoidResult, error) {
	if d.hands.void != nil {
		return d.hands.void()
	}
	return d.voider.Void(ctx, purchase)
}

// to is the specification's body with another name in the destination: that
// of a magic one, usually. More members may be added.
func to(name string, more ...string) string {
	body := strings.Replace(specBody, "Ada Lovelace", name, 1)
	for _, member := range more {
		body = `{` + member + `,` + body[1:]
	}
	return body
}

// quoteTo is the body of a request for rates to that name.
func quoteTo(name string, more ...string) string {
	_, rest, _ := strings.Cut(to(name), `"destination"`)
	body := `{"destination"` + rest
	for _, member := range more {
		body = `{` + member + `,` + body[1:]
	}
	return body
}

// settle has the settle job look until the shipment's purchase is in the state.
func (c *contract) settle(id string, want ship.State) {
	c.Helper()
	for range 300 {
		if _, err := c.shipping.Settle(c.Context(), c.tenant, ship.ShipmentID(id)); err != nil {
			c.Fatal(err)
		}
		sh, err := c.store.Shipment(c.Context(), c.tenant, ship.ShipmentID(id))
		if err != nil {
			c.Fatal(err)
		}
		if sh.State == want {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	c.Fatalf("%s never became %s", id, want)
}

// log reads all events of the key, once there are as many.
func (b *bench) log(want int) []map[string]any {
	b.Helper()
	var all []map[string]any
	path := "/v1/events?limit=100"
	for deadline := time.Now().Add(20 * time.Second); ; {
		page, _ := b.do(http.StatusOK, "GET", path, "")
		for _, e := range page["data"].([]any) {
			all = append(all, e.(map[string]any))
		}
		path = "/v1/events?limit=100&after=" + page["nextCursor"].(string)
		if len(all) >= want {
			return all
		}
		if time.Now().After(deadline) {
			b.Fatalf("the log has %d events, want %d", len(all), want)
		}
		time.Sleep(20 * time.Millisecond) // it waits for the oldest writer, of any test
	}
}

// at reads a member of nested objects and lists of one: "data", "shipment".
func at(v any, path ...string) any {
	for _, name := range path {
		switch x := v.(type) {
		case map[string]any:
			v = x[name]
		case []any:
			v = x[0].(map[string]any)[name]
		default:
			return nil
		}
	}
	return v
}

// wrongAt maps the places that an answer complains about to its codes.
func wrongAt(problem map[string]any) map[string]string {
	out := map[string]string{}
	list, _ := problem["errors"].([]any)
	for _, e := range list {
		place, _ := at(e, "pointer").(string)
		if name, ok := at(e, "parameter").(string); ok {
			place = "?" + name
		}
		out[place] = at(e, "code").(string)
	}
	return out
}

// forge changes the claims of a signed token and signs it again.
func forge(t testing.TB, purpose, token string, edit func(map[string]any)) string {
	t.Helper()
	body, _, _ := strings.Cut(token, ".")
	data, err := base64.RawURLEncoding.DecodeString(body)
	if err != nil {
		t.Fatal(err)
	}
	var claims map[string]any
	if err := json.Unmarshal(data, &claims); err != nil {
		t.Fatal(err)
	}
	edit(claims)
	if data, err = json.Marshal(claims); err != nil {
		t.Fatal(err)
	}
	mac := hmac.New(sha256.New, []byte(contractSecret))
	mac.Write(append([]byte(purpose+"\x00"), data...))
	return base64.RawURLEncoding.EncodeToString(data) + "." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil)[:16])
}

// formerRate is the id of an offer in the form of earlier releases, for another order
// and at another price.
func (c *contract) formerRate(purpose string, offer any, expires time.Time) string {
	c.Helper()
	claims, err := json.Marshal(map[string]any{
		"a": c.owner,
		"e": expires.Unix(),
		"o": "another order",
		"r": map[string]any{
			"carrier": at(offer, "carrier"),
			"service": at(offer, "service"),
			"price":   map[string]any{"Minor": 99999, "Currency": "USD"},
		},
	})
	if err != nil {
		c.Fatal(err)
	}
	return "rate_" + forge(c, purpose, base64.RawURLEncoding.EncodeToString(claims), func(map[string]any) {})
}

// members lists the names of a JSON object in the order in which they stand.
func members(t testing.TB, w *httptest.ResponseRecorder) []string {
	t.Helper()
	dec := json.NewDecoder(strings.NewReader(w.Body.String()))
	if _, err := dec.Token(); err != nil {
		t.Fatal(err)
	}
	var names []string
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, name.(string))
		var skip json.RawMessage
		if err := dec.Decode(&skip); err != nil {
			t.Fatal(err)
		}
	}
	return names
}

// hear has the carrier tell of a parcel, each time a minute later.
func (c *contract) hear(id string, scans ...ship.Scan) {
	c.Helper()
	raw, ok := ship.ParseShipmentID(id)
	subject := raw.Raw()
	if !ok {
		tracker, _ := ship.ParseTrackerID(id)
		subject = tracker.Raw()
	}
	heard := tracking.Update{Subject: ship.Subject{Tenant: c.tenant, ID: subject}}
	for _, s := range scans {
		if s.At.IsZero() {
			c.minutes++
			s.At = time.Now().Add(time.Duration(c.minutes) * time.Minute).UTC()
		}
		if s.Description == "" {
			s.Description = "Scan " + s.Code
		}
		heard.Scans = append(heard.Scans, store.NewScan{Scan: s})
	}
	if err := c.tracking.ApplyUpdates(c.Context(), []tracking.Update{heard}); err != nil {
		c.Fatal(err)
	}
}
