//go:build browser

package browser

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/waybillhq/waybill/internal/emulator"
	"github.com/waybillhq/waybill/internal/emulator/ups"
)

func TestUPSIsConnectedWithAWrongAndThenARightSecret(t *testing.T) {
	t.Parallel()
	ledger, err := emulator.OpenLedger("")
	if err != nil {
		t.Fatal(err)
	}
	standIn := ups.New(ledger)
	standIn.LookupScale = 0
	carrier := httptest.NewServer(standIn)
	t.Cleanup(carrier.Close)
	s := newStage(t, "CARRIER_URLS", "ups="+carrier.URL)
	s.firstRun()
	s.do("a wrong secret",
		chromedp.Navigate(s.base+"/app/test/carriers"), chromedp.Click(`a[href$="/connect/ups"]`), chromedp.WaitVisible(`#f-client_id`),
		chromedp.SendKeys(`#f-client_id`, ups.ClientID), chromedp.SendKeys(`#f-client_secret`, "not the secret"), chromedp.SendKeys(`#f-account_number`, ups.Account),
		chromedp.Click(`form.card button.primary`), sees("Checks"), sees("developer portal"),
		until(`document.querySelector("#f-client_secret").getAttribute("aria-invalid") !== null && document.querySelector("#f-client_secret-note .bad").innerText.includes("does not accept")`),
		until(`document.querySelector("#f-client_id").value === `+quote(ups.ClientID)+` && document.querySelector("#f-client_secret").value === ""`),
		until(`!document.body.innerText.includes("waybill connection")`),
	)
	s.shoot("connect-refused")
	s.do("the right secret",
		chromedp.SendKeys(`#f-client_secret`, ups.ClientSecret), chromedp.Click(`form.card button.primary`), sees("Working"), sees("UPS accepts the credentials"),
	)
	s.do("a wrong secret later changes nothing",
		chromedp.SendKeys(`#f-client_secret`, "another mistake"), chromedp.Click(`form.fields button.primary`), sees("Nothing was changed"),
		until(`document.querySelector("#f-client_secret-note .bad")`), until(`document.querySelector(".page-head .badge-ok")`),
	)
	s.carrierAtWork(t)
}

// carrierAtWork buys over the connection, and looks at what was said and how
// the connection does.
func (s *stage) carrierAtWork(t *testing.T) {
	here, err := chromedp.Run(s.tab, chromedp.Location())
	if err != nil {
		t.Fatal(err)
	}
	connection := here[strings.LastIndexByte(here, '/')+1:]
	key := s.newKey("Shop")
	status, body := s.call(key, "/v1/shipments", `{"orderId":"2001","connectionId":"`+connection+`","destination":{"name":"Ada Lovelace","address1":"500 Main St","city":"Austin","state":"TX","zip":"78701","country":"US","phone":"5125550100"},"parcel":{"weight":2.5}}`)
	if status != 201 {
		t.Fatalf("a label over the connection: %d %s", status, body)
	}
	id := between(body, `"id":"`, `"`)
	s.do("what was said",
		chromedp.Navigate(s.base+"/app/test/shipments/"+id), chromedp.WaitVisible(`details[hx-get$="/exchanges"] summary`), chromedp.Click(`details[hx-get$="/exchanges"] summary`),
		chromedp.WaitVisible(`.exchanges summary`), chromedp.Click(`.exchanges summary`), sees("Copy as curl"),
		until(`document.querySelector(".exchanges pre").innerText.includes("Lovelace") && document.querySelector(".exchanges pre").innerText.includes("[secret]")`),
		until(`document.querySelector(".exchanges [data-copy]").dataset.copy.startsWith("curl -X POST")`),
		until(`!document.documentElement.outerHTML.includes(`+quote(ups.ClientSecret)+`)`),
	)
	s.shoot("exchange")
	s.do("how the connection does", chromedp.Navigate(s.base+"/app/test/carriers/"+connection), sees("Last 24 hours"), sees("Buy"), until(`document.querySelectorAll("svg.calls g").length === 48`))
	s.shoot("connection")
	s.do("the list", chromedp.Navigate(s.base+"/app/test/carriers"), until(`document.querySelector("svg.calls.spark")`))
	s.shoot("carriers")
}
