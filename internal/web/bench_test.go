package web

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/account"
	"github.com/waybillhq/waybill/internal/addresscheck"
	"github.com/waybillhq/waybill/internal/api"
	"github.com/waybillhq/waybill/internal/batch"
	"github.com/waybillhq/waybill/internal/budget"
	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/all"
	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/carrier/sandbox"
	"github.com/waybillhq/waybill/internal/handover"
	"github.com/waybillhq/waybill/internal/httpkit"
	"github.com/waybillhq/waybill/internal/inquiry"
	"github.com/waybillhq/waybill/internal/journal"
	"github.com/waybillhq/waybill/internal/label"
	"github.com/waybillhq/waybill/internal/member"
	"github.com/waybillhq/waybill/internal/privacy"
	"github.com/waybillhq/waybill/internal/quoting"
	"github.com/waybillhq/waybill/internal/rulebook"
	"github.com/waybillhq/waybill/internal/seal"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/shipping"
	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/internal/store/storetest"
	"github.com/waybillhq/waybill/internal/tracking"
	"github.com/waybillhq/waybill/internal/web/site"
	"github.com/waybillhq/waybill/internal/webhook"
)

const testBase = "http://127.0.0.1:8099"

// bench is the dashboard over a database of its own, with the simulated
// carriers.
type bench struct {
	testing.TB
	web    *site.Dashboard
	store  *store.Store
	owner  ship.Account
	tokens map[member.Role]string // session tokens of the account's members

	home     string // address of the account's pages in test mode
	liveHome string // the same in live mode

	connected []*carrier.Carrier // carrier accounts in live mode; none unless a test adds them

	database     string                                 // its address
	shippingWith func(shipping.Waits) *shipping.Service // over the same database
}

// sessionCookie is the name of the session's cookie without https.
const sessionCookie = "waybill"

func newBench(t testing.TB) *bench {
	t.Helper()
	return newBenchOn(t, storetest.URL(t))
}

// newBenchOn returns a bench on the database with the given URL.
func newBenchOn(t testing.TB, database string) *bench {
	t.Helper()
	opened, err := store.Open(context.Background(), store.Options{URL: database, Connections: 8})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(opened.Close)
	b := &bench{TB: t, store: opened, database: database}
	var carriers []*carrier.Carrier
	for _, spec := range sandbox.Specs() {
		c, err := carrier.Open(spec, carrier.Opening{})
		b.must(err)
		carriers = append(carriers, c)
	}
	labels, err := label.NewRenderer("")
	b.must(err)
	box, err := seal.New([]byte("0123456789abcdef0123456789abcdef"))
	b.must(err)
	c := site.Config{BaseURL: testBase, Log: slog.New(slog.DiscardHandler), Account: account.New(b.store), NeedsCustoms: carrierkit.NeedsCustoms}
	c.Heavy = budget.New(budget.Options{Waiting: 1, Wait: 10 * time.Millisecond})
	c.Rules, err = rulebook.New(rulebook.Config{
		Store: b.store, Carriers: func(bool) []carrier.Spec { return sandbox.Specs() }, Connected: c.Account.Carriers, Heavy: c.Heavy,
	})
	b.must(err)
	waits := shipping.DefaultWaits
	waits.Answer = time.Second
	sellers := carrier.Accounts{
		Simulated: carriers,
		Connected: func(_ context.Context, t ship.Tenant) ([]*carrier.Carrier, error) {
			if !t.Livemode {
				return nil, nil
			}
			return b.connected, nil
		},
		Connection: func(_ context.Context, _ ship.Tenant, id ship.ConnectionID) (*carrier.Carrier, error) {
			for _, c := range b.connected {
				if c.Connection == id {
					return c, nil
				}
			}
			return nil, ship.Errorf(ship.NotFound, "no such connection")
		},
	}
	c.Quoting = quoting.New(quoting.Config{
		Accounts: sellers, SigningKey: []byte("0123456789abcdef0123456789abcdef"),
		Policy: func(ctx context.Context, t ship.Tenant) (quoting.Policy, error) {
			p, err := c.Rules.Policy(ctx, t)
			return quoting.Policy(p), err
		},
		Location: c.Account.Location,
	})
	c.Addresses = addresscheck.New(addresscheck.Config{Store: b.store, Accounts: sellers, Key: []byte("0123456789abcdef0123456789abcdef"), Log: c.Log})
	b.shippingWith = func(waits shipping.Waits) *shipping.Service {
		return shipping.New(shipping.Config{
			Store: b.store, Accounts: sellers, Quoting: c.Quoting, Addresses: c.Addresses, Labels: labels, SigningKey: []byte("0123456789abcdef0123456789abcdef"),
			BaseURL: testBase, Waits: waits, Log: c.Log,
		})
	}
	c.Shipping = b.shippingWith(waits)
	handoverWaits := handover.DefaultWaits
	handoverWaits.Answer = time.Second
	c.Handover = handover.New(handover.Config{Store: b.store, Accounts: sellers, Labels: labels, Waits: handoverWaits, Log: c.Log})
	c.Inquiry = inquiry.New(sellers, c.Quoting.Locate)
	c.Batch = b.batches(c)
	c.Bulk = b.bulkActions(c)
	c.Returns = b.returnsOf(c)
	c.Tracking = tracking.New(tracking.Config{Store: b.store, BaseURL: testBase, Log: c.Log, Key: []byte("0123456789abcdef0123456789abcdef"), Specs: all.Specs})
	c.Webhook = webhook.New(webhook.Config{
		Store: b.store, Box: box, Sender: webhook.NewSender(webhook.SenderOptions{Policy: webhook.Policy{Loopback: true}}), BaseURL: testBase,
	})
	c.Reference = reference
	c.Box = box
	c.Privacy = privacy.New(privacy.Config{Store: b.store, Box: box, Log: c.Log, BaseURL: testBase, RedactCells: batch.RedactCells})
	c.Journal = journal.New(journal.Config{Store: b.store, Requests: true, Exchanges: true})
	c.Member, err = member.New(member.Config{Store: b.store, Box: box, BaseURL: testBase, Log: c.Log, CheapHashes: true})
	b.must(err)
	b.web = New(c)
	t.Cleanup(b.web.Stop)
	b.owner = b.account("Northwind Supply")
	b.home = site.ModePath(b.owner.ID, false)
	b.liveHome = site.ModePath(b.owner.ID, true)
	b.people()
	return b
}

// reference is the API's description of itself.
var reference = sync.OnceValues(func() ([]httpkit.ReferenceGroup, error) { return api.Reference(testBase) })

const testPassword = "correct horse battery"

// people creates one person for each role and signs them in.
func (b *bench) people() {
	b.Helper()
	b.tokens = map[member.Role]string{}
	m, from := b.web.Member, member.Origin{Addr: netip.MustParseAddr("127.0.0.1"), Agent: "Mozilla/5.0 (X11; Linux) Chrome/140"}
	link, err := m.SetupURL(b.Context())
	b.must(err)
	_, token, _ := strings.Cut(link, "token=")
	in, err := m.Setup(b.Context(), member.SetupInput{Token: token, Email: "dana@example.com", Name: "Dana Whitfield", Password: testPassword, From: from})
	b.must(err)
	b.tokens[member.Owner] = in.Token
	owner, err := m.Authenticate(b.Context(), in.Token, from)
	b.must(err)
	for i, role := range member.Roles[1:] {
		_, link, err := m.Invite(b.Context(), owner, member.InviteInput{Email: string(role) + "@example.com", Role: role})
		b.must(err)
		in, err := m.Accept(b.Context(), member.AcceptInput{Token: link[strings.LastIndexByte(link, '/')+1:], Name: []string{"Ravi Patel", "Sam Ortiz", "Vera Lindqvist"}[i], Password: testPassword, From: from})
		b.must(err)
		b.tokens[role] = in.Token
	}
}

// send requests a page as the person with the role; "" means not signed in.
// With a form the request is a POST.
func (b *bench) send(role member.Role, path string, form url.Values, header ...string) *httptest.ResponseRecorder {
	method, body := http.MethodGet, ""
	if form != nil {
		method, body = http.MethodPost, form.Encode()
	}
	r := httptest.NewRequest(method, testBase+path, strings.NewReader(body))
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Sec-Fetch-Site", "same-origin")
	}
	if token := b.tokens[role]; token != "" {
		r.AddCookie(&http.Cookie{Name: sessionCookie, Value: token})
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	b.web.ServeHTTP(w, r)
	return w
}

func (b *bench) must(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

func (b *bench) account(name string) ship.Account {
	b.Helper()
	a, err := b.web.Account.Create(b.Context(), account.Settings{Name: &name, Origin: &ship.Address{
		Name: name + " Warehouse", Address1: "1201 S Figueroa St", City: "Los Angeles", State: "CA", Zip: "90015", Country: "US",
	}})
	b.must(err)
	return a
}

// buy creates a shipment for the account in test mode.
func (b *bench) buy(a ship.Account, order string, to ship.Address, weight float64) ship.Shipment {
	b.Helper()
	got, err := b.web.Shipping.Buy(b.Context(), shipping.BuyInput{
		Tenant: ship.Tenant{Account: a.ID}, Account: a, OneParcel: true,
		Order: ship.Order{OrderID: order, Destination: to, Parcels: []ship.Parcel{{Weight: weight, Dimensions: &ship.Dimensions{Length: 12, Width: 9, Height: 4}}}},
	})
	b.must(err)
	return got.Shipment
}

var people = []ship.Address{
	{Name: "Ada Lovelace", Address1: "500 Main St", City: "Austin", State: "TX", Zip: "78701", Country: "US"},
	{Name: "Grace Hopper", Company: "Compiler Works", Address1: "350 5th Avenue", Address2: "Suite 4100", City: "New York", State: "NY", Zip: "10118", Country: "US"},
	{Name: "Katherine Johnson", Address1: "1 NASA Drive", City: "Hampton", State: "VA", Zip: "23681", Country: "US"},
	{Name: "Jürgen Müller", Address1: "Friedrichstraße 43", City: "Berlin", Zip: "10969", Country: "DE"},
	{Name: "Hedy Lamarr", Address1: "233 S Wacker Dr", City: "Chicago", State: "IL", Zip: "60606", Country: "US"},
	{Name: "Annie Easley", Address1: "21000 Brookpark Rd", City: "Cleveland", State: "OH", Zip: "44135", Country: "US"},
	{Name: "Mary Jackson", Address1: "400 Broad St", City: "Seattle", State: "WA", Zip: "98109", Country: "US"},
}

// fill creates shipments in every status for the account.
func (b *bench) fill(a ship.Account, n int) []ship.Shipment {
	b.Helper()
	var list []ship.Shipment
	for i := range n {
		to := people[i%len(people)]
		if to.Country != "US" && i%2 == 1 {
			to = people[0]
		}
		sh := b.buy(a, fmt.Sprintf("%d", 10240+i), to, 0.5+float64(i%9)*1.3)
		list = append(list, sh)
		for range []int{0, 3, 5, 2, 7, 7, 4, 1}[i%8] {
			if _, err := b.web.Tracking.Advance(b.Context(), sh.Tenant, sh.ID, "", ""); err != nil {
				break
			}
		}
		if i%11 == 5 {
			_, _ = b.web.Tracking.Advance(b.Context(), sh.Tenant, sh.ID, ship.Exception, "address_not_found")
		}
		time.Sleep(2 * time.Millisecond)
	}
	return list
}

// upload sends a file as the person with the role, together with form fields
// given as names and values.
func (b *bench) upload(role member.Role, path, field string, file []byte, fields ...string) *httptest.ResponseRecorder {
	b.Helper()
	var body bytes.Buffer
	m := multipart.NewWriter(&body)
	for i := 0; i+1 < len(fields); i += 2 {
		b.must(m.WriteField(fields[i], fields[i+1]))
	}
	part, err := m.CreateFormFile(field, "a.png")
	b.must(err)
	_, err = part.Write(file)
	b.must(err)
	b.must(m.Close())
	r := httptest.NewRequest(http.MethodPost, testBase+path, &body)
	r.Header.Set("Content-Type", m.FormDataContentType())
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	r.AddCookie(&http.Cookie{Name: sessionCookie, Value: b.tokens[role]})
	w := httptest.NewRecorder()
	b.web.ServeHTTP(w, r)
	return w
}
