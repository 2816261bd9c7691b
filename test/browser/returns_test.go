//go:build browser

package browser

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// delivered buys a shipment with the key, has it delivered, and returns the address
// of its tracking page.
func (s *stage) delivered(key string) string {
	s.Helper()
	answer := func(method, path, body string) (out struct{ ID, TrackingPageURL string }) {
		s.Helper()
		r, err := http.NewRequestWithContext(s.Context(), method, s.base+path, strings.NewReader(body))
		s.must(err)
		r.Header.Set("Authorization", "Bearer "+key)
		r.Header.Set("Content-Type", "application/json")
		resp, err := http.DefaultClient.Do(r)
		s.must(err)
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		s.must(err)
		if resp.StatusCode >= http.StatusBadRequest {
			s.Fatalf("%s %s: %d %s", method, path, resp.StatusCode, text)
		}
		s.must(json.Unmarshal(text, &out))
		return out
	}
	bought := answer("POST", "/v1/shipments", `{"orderId":"R-1","origin":{"name":"Warehouse","address1":"1201 S Figueroa St","city":"Los Angeles","state":"CA","zip":"90015","country":"US","phone":"+12135550100"},
		"destination":{"name":"Ada Lovelace","address1":"500 Main St","city":"Austin","state":"TX","zip":"78701","country":"US","phone":"+15125550100"},"parcel":{"weight":2}}`)
	answer("POST", "/v1/sandbox/shipments/"+bought.ID+"/advance", `{"status":"delivered"}`)
	return answer("GET", "/v1/shipments/"+bought.ID, "").TrackingPageURL
}

// TestARecipientRequestsAReturn: the account turns returns on, a recipient asks on
// the tracking page, a person approves, and the recipient has the label.
func TestARecipientRequestsAReturn(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.firstRun()
	track := s.delivered(s.command("key", "create", "--name", "Web shop"))

	s.do("returns are turned on",
		chromedp.Navigate(s.base+"/app/test/returns"), sees("Self-service returns are off"), chromedp.Click(`a[href$="settings/returns"]`),
		chromedp.WaitVisible(`[name=enabled]`), chromedp.Click(`[name=enabled]`), s.shot("returns-settings"), chromedp.Click(`.form-foot button`), sees("Saved."),
	)
	s.do("the recipient asks",
		chromedp.Navigate(track), sees("Return this parcel"), s.shot("returns-offer"), chromedp.Click(`a[href*="/return"]`),
		chromedp.WaitVisible(`#f-reason`), chromedp.SetValue(`#f-reason`, "Wrong size"), chromedp.SetValue(`#f-email`, "ada@example.com"),
		chromedp.SetValue(`#f-comment`, "Too <b>small</b>"), chromedp.SetValue(`#f-postalCode`, "78702"), s.shot("returns-form"),
		chromedp.Click(`form button`), sees("This is not the postal code"),
		chromedp.SetValue(`#f-postalCode`, "78701"), chromedp.Click(`form button`), sees("The sender will review it."), s.shot("returns-requested"),
	)
	s.do("a person approves",
		chromedp.Navigate(s.base+"/app/test/returns"), sees("Too <b>small</b>"), s.shot("returns-queue"),
		chromedp.Click(`form[action$=approve] button`), sees("Return approved."),
		until(`(fetch(location.pathname).then((answer) => answer.text()).then((text) => { window.isSent = text.includes("Label sent"); }), window.isSent)`),
		chromedp.Navigate(s.base+"/app/test/returns"), sees("Label sent"), s.shot("returns-history"),
	)
	s.do("the recipient has the label",
		chromedp.Navigate(track), sees("Put the label on the parcel"), chromedp.Click(`a[href*="/return"]`),
		chromedp.WaitVisible(`#f-postalCode`), s.shot("returns-label"),
		until(`(fetch(document.querySelector("form").action, {method: "POST", body: new URLSearchParams({postalCode: "78701"})})
			.then((answer) => answer.text()).then((text) => { window.isLabel = text.startsWith("%PDF"); }), true)`), until(`window.isLabel`),
	)
}
