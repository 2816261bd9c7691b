//go:build browser

package browser

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"

	"github.com/waybillhq/waybill/client"
	"github.com/waybillhq/waybill/internal/account"
	"github.com/waybillhq/waybill/internal/emulator"
	"github.com/waybillhq/waybill/internal/emulator/ups"
	"github.com/waybillhq/waybill/internal/member"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// A town is an account with a year of work in it, as far as pages show it.
type town struct {
	*stage
	api    *client.Client
	key    string
	owner  string   // token of the owner's session
	home   string   // address of the account's pages, in test mode
	extras []string // paths that no page links to
	bought string   // path of a batch that is bought
	coming string   // path of a parcel that is out for delivery
}

var recipients = []client.Address{
	{Name: "Ada Lovelace", Address1: "500 Main St", City: "Austin", State: "TX", Zip: "78701", Country: "US"},
	{Name: "Grace Hopper", Company: "Compiler Works", Address1: "350 5th Avenue", Address2: "Suite 4100", City: "New York", State: "NY", Zip: "10118", Country: "US"},
	{Name: "Katherine Johnson", Address1: "1 NASA Drive", City: "Hampton", State: "VA", Zip: "23681", Country: "US"},
	{Name: "Hedy Lamarr", Address1: "233 S Wacker Dr", City: "Chicago", State: "IL", Zip: "60606", Country: "US"},
	{Name: "Annie Easley", Address1: "21000 Brookpark Rd", City: "Cleveland", State: "OH", Zip: "44135", Country: "US"},
	{Name: "Mary Jackson", Address1: "400 Broad St", City: "Seattle", State: "WA", Zip: "98109", Country: "US"},
}

// newTown starts the program with a stand-in for UPS beside it.
func newTown(t *testing.T) *town {
	t.Helper()
	ledger, err := emulator.OpenLedger("")
	if err != nil {
		t.Fatal(err)
	}
	standIn := ups.New(ledger)
	standIn.LookupScale = 0
	carrier := httptest.NewServer(standIn)
	t.Cleanup(carrier.Close)
	c := newStage(t, "CARRIER_URLS", "ups="+carrier.URL).settle()
	c.connect()
	c.calls()
	c.contract()
	c.belongings()
	c.signIn()
	return c
}

// connect has the account use its own contract with UPS.
func (c *town) connect() {
	c.Helper()
	c.send(c.home+"/connect/ups", url.Values{"connection-name": {"Main contract"}, "client_id": {ups.ClientID}, "client_secret": {ups.ClientSecret}, "account_number": {ups.Account}}, "", "", nil)
}

// settle gives the stage's program people, parcels, webhooks and rules.
func (s *stage) settle() *town {
	s.Helper()
	c := &town{stage: s}
	st, err := store.Open(s.Context(), store.Options{URL: s.data, Connections: 2})
	s.must(err)
	defer st.Close()
	members, err := member.New(member.Config{Store: st, BaseURL: s.base})
	s.must(err)
	c.people(members)
	accounts := account.New(st)
	all, err := accounts.Accounts(s.Context())
	s.must(err)
	_, err = accounts.Update(s.Context(), all[0].ID, account.Settings{Origin: &ship.Address{
		Name: "Northwind Warehouse", Address1: "1201 S Figueroa St", City: "Los Angeles", State: "CA", Zip: "90015", Country: "US",
	}})
	s.must(err)
	key, _, err := accounts.NewKey(s.Context(), account.NewKeyInput{Account: all[0].ID, Name: "Web shop"})
	s.must(err)
	c.key = string(key)
	c.api = client.New(c.key, client.Options{BaseURL: s.base})
	c.past(all[0].ID)
	c.webhooks()
	c.rules()
	c.parcels()
	return c
}

func (s *stage) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// people are one of each role, and one who is invited.
func (c *town) people(m *member.Service) {
	c.Helper()
	from := member.Origin{Addr: netip.MustParseAddr("127.0.0.1"), Agent: "Mozilla/5.0 (X11; Linux x86_64) Chrome/140"}
	_, token, _ := strings.Cut(c.setup, "token=")
	in, err := m.Setup(c.Context(), member.SetupInput{Token: token, AccountName: "Northwind Supply", Email: "dana@example.com", Name: "Dana Whitfield", Password: password, From: from})
	c.must(err)
	c.owner = in.Token
	owner, err := m.Authenticate(c.Context(), in.Token, from)
	c.must(err)
	c.home = "/app/" + string(owner.Account) + "/test"
	for i, role := range member.Roles {
		_, link, err := m.Invite(c.Context(), owner, member.InviteInput{Email: string(role) + "@example.com", Role: role})
		c.must(err)
		if i == 0 {
			c.extras = append(c.extras, strings.TrimPrefix(link, c.base))
			continue
		}
		_, err = m.Accept(c.Context(), member.AcceptInput{Token: link[strings.LastIndexByte(link, '/')+1:], Name: []string{"", "Ravi Patel", "Sam Ortiz", "Vera Lindqvist"}[i], Password: password, From: from})
		c.must(err)
	}
}

// webhooks are one that listens and one that is broken.
func (c *town) webhooks() {
	c.Helper()
	hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/broken" {
			http.Error(w, "the queue is full", http.StatusServiceUnavailable)
		}
	}))
	c.Cleanup(hook.Close)
	for _, path := range []string{"/orders", "/broken"} {
		_, err := c.api.CreateWebhook(c.Context(), client.WebhookRequest{URL: hook.URL + path, Description: strings.TrimPrefix(path, "/")})
		c.must(err)
	}
}

// The rules of the town: as they were, as they are, and as they are being
// written.
const (
	ruleHeavy     = `{"name":"Heavy parcels by UPS","when":"parcel.weightLb > 8","then":{"use":[{"carrier":"ups"},{"carrier":"fedex"}]},"guard":{"extraPercent":25,"extraDays":1}}`
	ruleFar       = `{"name":"Alaska and Hawaii by USPS","when":"destination.state in [\"AK\", \"HI\"]","then":{"prefer":[{"carrier":"usps"}],"tolerancePercent":25}}`
	ruleCoast     = `{"name":"Express to the coast","when":"destination.state in [\"WA\", \"OR\"]","then":{"use":[{"carrier":"fedex"}]}}`
	ruleGold      = `{"name":"Gold customers get it fast","when":"metadata[\"tier\"] == \"gold\"","then":{"choose":"fastest","withinPercentOfCheapest":80}}`
	ruleOverLimit = `{"name":"Valuable goods need a signature","when":"order.insuredValue >= 500","then":{"require":{"signature":"adult"}}}`
	ruleLittle    = `{"name":"Two days for little more","when":"fastest.days <= 2 && fastest.amount < cheapest.amount * 1.1","then":{"choose":"fastest"},"disabled":true}`
)

// rules are published twice, and a draft is being written.
func (c *town) rules() {
	c.Helper()
	for _, v := range [][2]string{{ruleFar + "," + ruleGold, "The first rules"}, {ruleHeavy + "," + ruleCoast + "," + ruleFar + "," + ruleGold, "Heavy ones go with UPS"}} {
		c.post(http.MethodPut, "/v1/routing/draft", `{"rules":[`+v[0]+`]}`)
		c.post(http.MethodPost, "/v1/routing/publish", `{"note":"`+v[1]+`"}`)
	}
	c.post(http.MethodPut, "/v1/routing/draft", `{"rules":[`+ruleHeavy+","+ruleFar+","+ruleOverLimit+","+ruleGold+","+ruleLittle+`],"default":{"choose":"cheapest","withinDays":7}}`)
}

func (c *town) post(method, path, body string) {
	c.Helper()
	r, err := http.NewRequestWithContext(c.Context(), method, c.base+path, strings.NewReader(body))
	c.must(err)
	r.Header.Set("Authorization", "Bearer "+c.key)
	r.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(r)
	c.must(err)
	defer answer.Body.Close()
	if answer.StatusCode >= 400 {
		text, _ := io.ReadAll(answer.Body)
		c.Fatalf("%s %s: %s %s", method, path, answer.Status, text)
	}
}

// parcels are in every status, one is voided.
func (c *town) parcels() {
	c.Helper()
	steps := []string{"", "picked_up", "in_transit", "out_for_delivery", "delivered", "delivered", "exception", "void"}
	for i := range 30 {
		sh, err := c.api.CreateShipment(c.Context(), client.ShipmentRequest{
			OrderID: fmt.Sprint(10241 + i), Destination: recipients[i%len(recipients)], Parcel: &client.Parcel{Weight: 0.5 + float64(i%9)*1.3, WeightUnit: "lb"},
		})
		c.must(err)
		switch step := steps[i%len(steps)]; step {
		case "":
		case "void":
			_, err = c.api.Void(c.Context(), sh.ID)
		case "exception":
			_, err = c.api.Advance(c.Context(), sh.ID, step, "address_not_found")
		default:
			for _, s := range steps[1:5] {
				if _, err = c.api.Advance(c.Context(), sh.ID, s, ""); err != nil || s == step {
					break
				}
			}
		}
		c.must(err)
		if steps[i%len(steps)] == "out_for_delivery" {
			c.coming = c.home + "/shipments/" + sh.ID
		}
	}
}

// signIn gives the browser the owner's session.
func (c *town) signIn() {
	c.Helper()
	c.do("sign in", chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		_, err := chromedp.Call(ctx, network.SetCookie, network.SetCookieParams{Name: "waybill", Value: c.owner, URL: c.base, HTTPOnly: new(true)})
		return err
	}))
}

// get asks for a page as the owner.
func (c *town) get(path string) (kind, body string) {
	c.Helper()
	r, err := http.NewRequestWithContext(c.Context(), http.MethodGet, c.base+path, nil)
	c.must(err)
	r.AddCookie(&http.Cookie{Name: "waybill", Value: c.owner})
	r.Header.Set("User-Agent", "Mozilla/5.0 (X11; Linux x86_64) Chrome/140")
	web := http.Client{Timeout: 20 * time.Second, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	answer, err := web.Do(r)
	c.must(err)
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return "", ""
	}
	var b strings.Builder
	_, err = copyText(&b, answer.Body)
	c.must(err)
	return answer.Header.Get("Content-Type"), b.String()
}
