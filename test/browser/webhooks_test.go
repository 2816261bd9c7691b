//go:build browser

package browser

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// newKey makes a key on its page and returns it.
func (s *stage) newKey(name string) string {
	s.Helper()
	s.do("a key", chromedp.Navigate(s.base+"/app/test/keys"), chromedp.WaitVisible(`#f-name`), chromedp.SendKeys(`#f-name`, name), chromedp.Submit(`#f-name`), sees("Your new key"))
	return s.text(`.secret pre`)
}

// call sends JSON to the API, as a program does.
func (s *stage) call(key, path, body string) (int, string) {
	s.Helper()
	r, err := http.NewRequestWithContext(s.Context(), http.MethodPost, s.base+path, strings.NewReader(body))
	if err != nil {
		s.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+key)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Idempotency-Key", "call-"+path+rand.Text())
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		s.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		s.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

// untilReloaded waits for an expression to hold on a page that has to be asked
// for again to change.
func (s *stage) untilReloaded(expression string) step {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		for {
			ok, err := chromedp.Evaluate[bool]("Boolean("+expression+")")(ctx, t)
			if err == nil && ok {
				return nil
			}
			if err := chromedp.Do(ctx, chromedp.Reload()); err != nil {
				return fmt.Errorf("never %s: %w", expression, err)
			}
			time.Sleep(200 * time.Millisecond)
		}
	})
}

// between is the text behind the first begin up to the next end.
func between(text, begin, end string) string {
	_, rest, _ := strings.Cut(text, begin)
	found, _, _ := strings.Cut(rest, end)
	return found
}

// shoot keeps pictures of the page, wide and narrow, light and dark, if they
// are wanted.
func (s *stage) shoot(name string) {
	s.Helper()
	dir := os.Getenv("BROWSER_SHOTS")
	if dir == "" {
		return
	}
	for _, theme := range []string{"light", "dark"} {
		for device, width := range map[string]int64{"desktop": 1280, "phone": 360} {
			s.do("picture", until(`(document.documentElement.dataset.theme = `+quote(theme)+`)`), chromedp.EmulateViewport(width, 900))
			time.Sleep(150 * time.Millisecond)
			shot, err := chromedp.Run(s.tab, chromedp.FullScreenshot(100))
			if err != nil {
				s.Fatal(err)
			}
			if err := os.WriteFile(dir+"/"+name+"-"+device+"-"+theme+".png", shot, 0o644); err != nil {
				s.Fatal(err)
			}
		}
	}
	s.do("wide again", chromedp.EmulateViewport(1280, 900))
}

const order = `{"orderId":"3001","destination":{"name":"Ada Lovelace","address1":"500 Main St","city":"Austin","state":"TX","zip":"78701","country":"US"},"parcel":{"weight":2.5}}`

func TestAWebhookFailsAndIsSentAgain(t *testing.T) {
	t.Parallel()
	var well atomic.Bool
	var heard atomic.Int64
	hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !well.Load() {
			http.Error(w, "the shop is closed", http.StatusInternalServerError)
			return
		}
		heard.Add(1)
	}))
	t.Cleanup(hook.Close)
	s := newStage(t)
	s.firstRun()
	s.do("a webhook is made",
		chromedp.Navigate(s.base+"/app/test/webhooks"), chromedp.WaitVisible(`#f-url`), chromedp.SendKeys(`#f-url`, hook.URL+"/hook"), chromedp.Submit(`#f-url`), sees("Signing secret"),
	)
	page, err := chromedp.Run(s.tab, chromedp.Evaluate[string](`document.querySelector('form[action*="/webhooks/whe_"]').getAttribute("action")`))
	if err != nil {
		t.Fatal(err)
	}
	key := s.newKey("Web shop")
	if status, body := s.call(key, "/v1/shipments", order); status != http.StatusCreated {
		t.Fatalf("the key does not work: %d %s", status, body)
	}
	s.do("the key's use shows", chromedp.Navigate(s.base+"/app/test/requests"), s.untilReloaded(`document.querySelector("a.row") && document.body.innerText.includes("201")`))
	s.failed(page)
	well.Store(true)
	s.do("sent again",
		chromedp.Click(`.deliveries details[open] form[action$="/redeliver"] button`), sees("Event resent"),
		s.untilReloaded(`document.querySelector(".deliveries .badge-ok")`),
	)
	if heard.Load() == 0 {
		t.Error("the webhook heard nothing")
	}
	s.problems(key)
	s.sandboxAndReference()
}

// failed looks at a delivery that the receiver refused, with what was sent and
// what it answered.
func (s *stage) failed(page string) {
	s.do("the failure shows",
		chromedp.Navigate(s.base+page), s.untilReloaded(`document.querySelector(".deliveries .badge-fail")`),
		chromedp.Click(`.deliveries summary`), sees("the shop is closed"), sees("webhook-signature"),
		until(`document.querySelector(".deliveries .sent pre").innerText.includes("shipment.created") || document.querySelector(".deliveries .sent pre").innerText.includes("label.generated")`),
	)
	s.shoot("webhook")
}

// problems looks at a request that was refused, and what to do about it.
func (s *stage) problems(key string) {
	if status, _ := s.call(key, "/v1/shipments", `{"orderId":"x","destination":{"name":"A"},"parcel":{"weight":-1}}`); status != 422 {
		s.Errorf("a bad order: %d", status)
	}
	s.do("a problem is shown",
		chromedp.Navigate(s.base+"/app/test/requests?status=4xx"), s.untilReloaded(`document.querySelector("a.row")`),
	)
	s.shoot("requests")
	s.do("with what to do", chromedp.Click(`a.row`), sees("What to do"), sees("/destination/address1"), sees("validation_failed"))
	s.shoot("request")
}

// sandboxAndReference forces a fault, and makes a key for the examples.
func (s *stage) sandboxAndReference() {
	// The page scrolls to the answer: a click before that misses its button.
	calm := until(`scrollY === 0 && !document.querySelector(".htmx-request, .htmx-swapping, .htmx-settling")`)
	s.do("a fault is forced",
		chromedp.Navigate(s.base+"/app/test/sandbox"), chromedp.WaitVisible(`button[aria-label="Force FAULT REFUSE"]`), chromedp.Click(`button[aria-label="Force FAULT REFUSE"]`),
		sees("carrier_rejected"), calm, chromedp.Click(`button[aria-label="Force FAULT VOID REFUSED"]`), sees("void_refused"), calm,
		chromedp.Click(`button[aria-label="Force FAULT QUOTE USPS"]`), sees("carrier_unavailable"),
	)
	s.shoot("sandbox")
	s.do("the reference has the reader's key",
		chromedp.Navigate(s.base+"/app/test/reference"), chromedp.WaitVisible(`.ref-key form button`), chromedp.Click(`.ref-key form button`),
		until(`document.querySelector("#ref-key").value.startsWith("sk_test_")`),
		until(`document.querySelector("[data-example]").innerText.includes(document.querySelector("#ref-key").value)`),
		chromedp.SendKeys(`#ref-find`, "void label"), until(`[...document.querySelectorAll(".ref-list li")].filter(li => li.offsetParent).length === 1`),
		chromedp.KeyEvent("\r"), until(`document.querySelector("#operation").dataset.operation === "voidShipment"`),
		until(`document.querySelector("[data-example]").innerText.includes(document.querySelector("#ref-key").value)`),
	)
	s.shoot("reference")
}
