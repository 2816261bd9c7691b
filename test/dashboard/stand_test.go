// Package dashboard proves that every page of the dashboard is quick in a large
// account: a year of shipments is seeded, and each page of the route table is
// asked for with many filters, cursors and searches.
package dashboard

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/app"
	"github.com/waybillhq/waybill/internal/config"
	"github.com/waybillhq/waybill/internal/member"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/internal/store/storetest"
)

// A stand is the whole program over a database of its own, and an owner who is
// signed in.
type stand struct {
	*testing.T
	url, base string
	key       string // of the API
	owner     *pgx.Conn
	http      *http.Client
	account   ship.AccountID
	home      string                        // address of the account's pages, in test mode
	best      map[string]map[string]float64 // milliseconds, of each address of a page
}

func newStand(t *testing.T) *stand {
	t.Helper()
	s := &stand{T: t, url: storetest.URL(t), best: map[string]map[string]float64{}}
	s.owner = storetest.Conn(t, s.url)
	values := map[string]string{
		"DATABASE_URL": s.url, "LISTEN": "127.0.0.1:0", "METRICS_LISTEN": "127.0.0.1:0", "LOG_LEVEL": "ERROR", "SANDBOX_STEP": "0", "WEBHOOK_ALLOW_LOOPBACK": "on",
		"SPOOL_DIR": t.TempDir(), "RATE_LIMIT": "0", "CARRIER_URLS": "ups=" + newCarrier(t),
	}
	cfg, err := config.Load(func(name string) (string, bool) { v, ok := values[name]; return v, ok })
	s.must(err)
	a, err := app.New(t.Context(), cfg, app.AllRoles)
	s.must(err)
	ctx, cancel := context.WithCancel(context.Background())
	ready, ended := make(chan struct{}), make(chan error, 1)
	a.OnReady(func() { close(ready) })
	go func() { ended <- a.Run(ctx) }()
	<-ready
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("stop: %v", err)
		}
	})
	s.base = a.LocalURL()
	jar, err := cookiejar.New(nil)
	s.must(err)
	s.http = &http.Client{Jar: jar, Timeout: time.Minute, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	s.signIn()
	s.account = accountOf(t, s.owner)
	s.home = s.at("/app/{account}/{mode}")
	return s
}

// at is the address of a page of the table, in test mode.
func (s *stand) at(page string) string {
	return strings.NewReplacer("{account}", string(s.account), "{mode}", "test", "{$}", "").Replace(page)
}

func (s *stand) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// signIn makes the first owner.
func (s *stand) signIn() {
	s.Helper()
	st, err := store.Open(s.Context(), store.Options{URL: s.url, Connections: 2})
	s.must(err)
	defer st.Close()
	m, err := member.New(member.Config{Store: st, BaseURL: s.base})
	s.must(err)
	link, err := m.SetupURL(s.Context())
	s.must(err)
	_, token, _ := strings.Cut(link, "token=")
	s.post("/app/setup", "token", token, "accountName", "Northwind", "name", "Dana", "email", "dana@example.com", "password", "a long sentence about boxes")
}

// post sends a form and returns the answer's body.
func (s *stand) post(path string, pairs ...string) string {
	s.Helper()
	form := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		form.Add(pairs[i], pairs[i+1])
	}
	w, err := s.http.PostForm(s.base+path, form)
	s.must(err)
	body, err := io.ReadAll(w.Body)
	s.must(err)
	_ = w.Body.Close()
	if w.StatusCode >= http.StatusBadRequest {
		s.Fatalf("POST %s: %d %s", path, w.StatusCode, body)
	}
	return string(body)
}

// An answer is what a page said, and how long it took.
type answer struct {
	status int
	body   []byte
	took   time.Duration
}

// get asks for a page. A download counts until it begins, a page until it is
// there.
func (s *stand) get(path string) answer {
	s.Helper()
	r, err := http.NewRequestWithContext(s.Context(), http.MethodGet, s.base+path, nil)
	s.must(err)
	start := time.Now()
	w, err := s.http.Do(r)
	s.must(err)
	defer func() { _ = w.Body.Close() }()
	a := answer{status: w.StatusCode, took: time.Since(start)}
	if strings.HasPrefix(w.Header.Get("Content-Disposition"), "attachment") {
		const enough = 4 << 10
		a.body, err = io.ReadAll(io.LimitReader(w.Body, enough))
		s.must(err)
		if len(a.body) == enough { // the rest is not waited for
			_ = w.Body.Close()
			time.Sleep(30 * time.Millisecond) // until the server has noticed
		}
		return a
	}
	a.body, err = io.ReadAll(w.Body)
	s.must(err)
	a.took = time.Since(start)
	return a
}

var secret = regexp.MustCompile(`wb_test_[A-Za-z0-9_-]+|sk_test_[A-Za-z0-9_-]+`)

// work does what a seed cannot: it buys labels, makes keys and endpoints.
func (s *stand) work() {
	s.Helper()
	for i := range 5 {
		s.post(s.home+"/webhooks", "url", fmt.Sprintf("http://127.0.0.1:19999/hook%d", i), "description", "nobody listens", "signature", "v1", "kind", "shipment.exception")
	}
	page := s.post(s.home+"/keys", "name", "Web shop", "scope", "*")
	if s.key = secret.FindString(page); s.key == "" {
		s.Fatal("no key on the page")
	}
	for i := range 12 {
		s.call(http.MethodPost, "/v1/shipments", fmt.Sprintf(`{"orderId":"B%d","origin":%s,"destination":%s,"parcel":{"weight":2}}`, i, origin, destination))
	}
	s.call(http.MethodPost, "/v1/shipments", fmt.Sprintf(`{"orderId":"D1","origin":%s,"destination":%s,"parcel":{"weight":2},"customs":%s,"carrier":"ups"}`, origin, abroad, customs))
	s.call(http.MethodPost, "/v1/manifests", `{"carrier":"ups"}`)
	s.post(s.home+"/bulk/void", "all", "1", "order", "B0", "once", "stand")
	s.post(s.home+"/views", "name", "Problems of the week", "status", "exception", "days", "7")
	s.call(http.MethodPost, "/v1/locations", fmt.Sprintf(`{"name":"Los Angeles","address":%s,"cutoffTimes":[{"time":"17:00"}]}`, origin))
	s.belongings()
}

const (
	origin      = `{"name":"N","address1":"1201 S Figueroa St","city":"Los Angeles","state":"CA","zip":"90015","country":"US","phone":"+12135550100"}`
	abroad      = `{"name":"Ada Lovelace","address1":"111 Wellington St","city":"Ottawa","state":"ON","zip":"K1A 0A9","country":"CA","phone":"+16135550100"}`
	customs     = `{"contentsType":"merchandise","items":[{"description":"Cotton shirt","quantity":2,"value":{"amount":"20.00","currency":"USD"},"weight":0.5,"hsCode":"610910","originCountry":"PT"}]}`
	destination = `{"name":"Ada Lovelace","address1":"500 Main St","city":"Austin","state":"TX","zip":"78701","country":"US"}`
)
