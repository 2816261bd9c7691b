//go:build browser

// Package browser drives the dashboard of the whole program in headless
// Chromium, as a person would. It needs Debian's chromium, and serves tests
// alone.
package browser

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/waybillhq/waybill/internal/app"
	"github.com/waybillhq/waybill/internal/config"
	"github.com/waybillhq/waybill/internal/member"
	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/internal/store/storetest"
)

// stage is the program with a browser before it.
type stage struct {
	*testing.T
	base   string
	setup  string // link of the first run
	data   string // address of the database
	secret string // key of stored secrets; empty for none
	tab    context.Context
}

// newStage starts the program, with changes to its settings by name and value.
func newStage(t *testing.T, changes ...string) *stage {
	t.Helper()
	chromium, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("there is no chromium")
	}
	url := storetest.URL(t)
	values := map[string]string{"DATABASE_URL": url, "LISTEN": "127.0.0.1:0", "METRICS_LISTEN": "127.0.0.1:0", "LOG_LEVEL": "ERROR", "SANDBOX_STEP": "0", "WEBHOOK_ALLOW_LOOPBACK": "on", "SPOOL_DIR": t.TempDir()}
	for i := 0; i+1 < len(changes); i += 2 {
		values[changes[i]] = changes[i+1]
	}
	cfg, err := config.Load(func(name string) (string, bool) { v, ok := values[name]; return v, ok })
	if err != nil {
		t.Fatal(err)
	}
	a, err := app.New(t.Context(), cfg, app.AllRoles)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ready, ended := make(chan struct{}), make(chan error, 1)
	a.OnReady(func() { close(ready) })
	go func() { ended <- a.Run(ctx) }()
	<-ready
	s := &stage{T: t, base: a.BaseURL(), data: url, secret: values["SECRET_KEY"]}
	s.setup = s.setupLink(url)
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("stop: %v", err)
		}
	})
	s.open(chromium)
	return s
}

func (s *stage) setupLink(url string) string {
	s.Helper()
	st, err := store.Open(s.Context(), store.Options{URL: url, Connections: 2})
	if err != nil {
		s.Fatal(err)
	}
	defer st.Close()
	m, err := member.New(member.Config{Store: st, BaseURL: s.base})
	if err != nil {
		s.Fatal(err)
	}
	link, err := m.SetupURL(s.Context())
	if err != nil {
		s.Fatal(err)
	}
	return link
}

// open starts the browser. Anything that a page complains of fails the test:
// an error of its script, or what its policy stopped.
func (s *stage) open(chromium string) {
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(chromium), chromedp.NoSandbox, chromedp.WindowSize(1280, 900))
	alloc, end := chromedp.NewExecAllocator(context.Background(), options...)
	tab, leave := chromedp.NewContext(alloc)
	s.tab = tab
	s.do("open", chromedp.Navigate("about:blank"))
	complaints := make(chan string, 100)
	go func() {
		defer close(complaints)
		for m, err := range chromedp.Console(tab) {
			if err != nil {
				return
			}
			// A refused form is an entry of the network's log, and no mistake.
			if m.IsException() || m.Type == "error" && m.Source != "network" {
				complaints <- m.String()
			}
		}
	}()
	s.Cleanup(func() {
		leave()
		end()
		for c := range complaints {
			s.Errorf("the page complains: %s", c)
		}
	})
}

// do runs steps and keeps a picture of where they failed.
func (s *stage) do(what string, steps ...step) {
	s.Helper()
	for i, st := range steps {
		ctx, cancel := context.WithTimeout(s.tab, 45*time.Second)
		if what == "open" {
			ctx = s.tab // the first run is the browser's own life
		}
		err := chromedp.Do(ctx, st)
		cancel()
		if err != nil {
			s.gaveUp(what, i, err)
		}
	}
}

type step = chromedp.Action[chromedp.Void]

// gaveUp says what the page showed instead.
func (s *stage) gaveUp(what string, i int, err error) {
	s.Helper()
	text, _ := chromedp.Run(s.tab, chromedp.Text("body"))
	if dir := os.Getenv("BROWSER_SHOTS"); dir != "" {
		shot, _ := chromedp.Run(s.tab, chromedp.CaptureScreenshot())
		_ = os.WriteFile(dir+"/"+strings.ReplaceAll(what, " ", "-")+".png", shot, 0o644)
	}
	s.Fatalf("%s, step %d: %v\n%s", what, i+1, err, text)
}

// text waits for an element and returns its text. It is read in one expression: an element
// that is looked up first may be gone when the page has been drawn anew.
func (s *stage) text(selector string) string {
	s.Helper()
	s.do("text of "+selector, until(`document.querySelector(`+quote(selector)+`)`))
	text, err := chromedp.Run(s.tab, chromedp.Evaluate[string](`document.querySelector(`+quote(selector)+`).innerText.trim()`))
	if err != nil {
		s.Fatal(err)
	}
	return text
}

// until waits for an expression to hold, over any number of navigations.
func until(expression string) step {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		for {
			ok, err := chromedp.Evaluate[bool]("Boolean("+expression+")")(ctx, t)
			if err == nil && ok {
				return nil
			}
			select {
			case <-ctx.Done():
				return fmt.Errorf("never %s: %w", expression, ctx.Err())
			case <-time.After(50 * time.Millisecond):
			}
		}
	})
}

// sees waits until the page shows the text.
func sees(text string) step {
	return until(`document.body && document.body.innerText.includes(` + quote(text) + `)`)
}

func quote(s string) string { return `"` + strings.ReplaceAll(s, `"`, `\"`) + `"` }

func TestFirstDay(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.firstRun()
	s.ship()
	s.advance()
	s.key()
	s.webhook()
	s.void()
	s.signOutAndIn()
}

const password = "a long sentence about boxes"

func (s *stage) firstRun() {
	s.do("first run",
		chromedp.Navigate(s.setup), chromedp.WaitVisible(`#f-name`),
		chromedp.SendKeys(`#f-accountName`, "Northwind"), chromedp.SendKeys(`#f-name`, "Dana"), chromedp.SendKeys(`#f-email`, "dana@example.com"),
		chromedp.SendKeys(`#f-password`, password), chromedp.Click(`.door button.primary`),
		sees("No shipments yet"),
	)
}

// fill types an address and a weight.
func fill(order string) step {
	return chromedp.Steps(
		chromedp.WaitVisible(`#f-name`),
		chromedp.SendKeys(`#f-name`, "Ada Lovelace"), chromedp.SendKeys(`#f-address1`, "500 Main St"), chromedp.SendKeys(`#f-city`, "Austin"),
		chromedp.SendKeys(`#f-state`, "TX"), chromedp.SendKeys(`#f-zip`, "78701"), chromedp.SendKeys(`#f-weight`, "2.5"), chromedp.SendKeys(`#f-order`, order),
	)
}

func (s *stage) ship() {
	s.do("rates and a label",
		sees("Up to date"), chromedp.KeyEvent("n"), fill("1001"), chromedp.Focus(`#f-reference`),
		chromedp.WaitVisible(`.rates input[type=radio]`), until(`!document.querySelector(".rates .asking")`), chromedp.Click(`.buy button`),
		sees("Order 1001"), chromedp.WaitVisible(`.label-picture img`),
		until(`document.querySelector(".label-picture img").naturalWidth > 400`),
	)
}

// advance has another client move the parcel: the open page changes by itself.
func (s *stage) advance() {
	s.do("the stream is open", until(`!document.querySelector("[data-live]").hidden`))
	here, err := chromedp.Run(s.tab, chromedp.Location())
	if err != nil {
		s.Fatal(err)
	}
	id := here[strings.LastIndexByte(here, '/')+1:]
	if i := strings.IndexByte(id, '?'); i >= 0 {
		id = id[:i]
	}
	other, leave := chromedp.NewContext(s.tab)
	defer leave()
	for _, status := range []string{"picked_up", "out_for_delivery", "delivered"} {
		err := chromedp.Do(other, chromedp.Navigate(s.base+"/app/test/shipments/"+id), chromedp.WaitVisible(`.joined select`),
			chromedp.SetValue(`.joined select`, status), chromedp.Click(`.joined button`), sees("Parcel advanced"))
		if err != nil {
			s.Fatalf("advance to %s: %v", status, err)
		}
	}
	s.do("the page changed by itself", sees("Delivered to Austin, TX, US"))
}

func (s *stage) key() {
	s.do("a key is made",
		chromedp.KeyEvent("g"), chromedp.KeyEvent("k"), chromedp.WaitVisible(`#f-name`), chromedp.SendKeys(`#f-name`, "Web shop"),
		chromedp.Submit(`#f-name`), sees("Your new key"),
	)
	secret := s.text(`.secret pre`)
	r, err := http.NewRequestWithContext(s.Context(), http.MethodGet, s.base+"/v1/shipments", nil)
	if err != nil {
		s.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+strings.TrimSpace(secret))
	answer, err := http.DefaultClient.Do(r)
	if err != nil || answer.StatusCode != http.StatusOK {
		s.Fatalf("the key %q does not work: %v %v", secret, answer, err)
	}
	answer.Body.Close()
}

func (s *stage) webhook() {
	var heard atomic.Int64
	hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("webhook-signature") != "" {
			heard.Add(1)
		}
	}))
	defer hook.Close()
	s.do("a webhook is made and tried",
		chromedp.Navigate(s.base+"/app/test/webhooks"), chromedp.WaitVisible(`#f-url`), chromedp.SendKeys(`#f-url`, hook.URL+"/hook"),
		chromedp.Submit(`#f-url`), sees("Signing secret"), chromedp.Click(`button[value=test]`), sees("The test event was delivered"),
	)
	if heard.Load() == 0 {
		s.Error("the webhook heard nothing")
	}
}

func (s *stage) void() {
	s.do("void",
		chromedp.Navigate(s.base+"/app/test/shipments/new"), fill("1002"), chromedp.Focus(`#f-reference`),
		chromedp.WaitVisible(`.rates input[type=radio]`), settled(), chromedp.Click(`.buy button`), sees("Order 1002"),
		until(`(window.confirm = () => true)`), chromedp.Click(`form[action$="/void"] button`), sees("The label was voided and must not be used"),
	)
}

func (s *stage) signOutAndIn() {
	s.do("sign out and in",
		chromedp.Click(`form[action="/app/logout"] button`), chromedp.WaitVisible(`#f-email`), chromedp.SendKeys(`#f-email`, "dana@example.com"),
		chromedp.SendKeys(`#f-password`, "wrong"), chromedp.Submit(`#f-password`), chromedp.WaitVisible(`.notice-bad`),
		chromedp.SendKeys(`#f-password`, password), chromedp.Submit(`#f-password`), sees("Overview"),
	)
}
