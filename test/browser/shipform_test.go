//go:build browser

package browser

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/waybillhq/waybill/internal/emulator"
	"github.com/waybillhq/waybill/internal/emulator/usps"
)

// callCounter counts the calls that a carrier receives, by path.
type callCounter struct {
	http.Handler
	mu    sync.Mutex
	calls map[string]int
}

func (c *callCounter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	c.calls[r.URL.Path]++
	c.mu.Unlock()
	c.Handler.ServeHTTP(w, r)
}

// count is how many calls went to paths that contain part.
func (c *callCounter) count(part string) (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for path, calls := range c.calls {
		if strings.Contains(path, part) {
			n += calls
		}
	}
	return n
}

// typed types into a field letter by letter, as people do, and leaves it.
func typed(field, text string) step {
	return chromedp.Steps(chromedp.Focus(field), chromedp.SendKeys(field, text), chromedp.KeyEvent(kb.Tab))
}

// pause waits longer than the form of a shipment does before it asks for rates.
var pause = until(`(() => { window.rest = window.rest || Date.now(); if (Date.now() - window.rest < 800) return false; window.rest = 0; return true; })()`)

// ratesAreIn waits until every carrier has answered.
var ratesAreIn = chromedp.Steps(
	until(`document.querySelectorAll(".rates .offer").length > 1 && !document.querySelector(".rates .asking")`), atRest)

// TestTypingAnOrderAsksUSPSOnce connects USPS with its real quota of 60 calls
// an hour in bursts of 5, and fills in an order slowly enough that the form
// asks for rates after every field.
func TestTypingAnOrderAsksUSPSOnce(t *testing.T) {
	t.Parallel()
	ledger, err := emulator.OpenLedger("")
	if err != nil {
		t.Fatal(err)
	}
	standIn := usps.New(ledger)
	standIn.LookupScale = 0
	calls := &callCounter{Handler: standIn, calls: map[string]int{}}
	carrier := httptest.NewServer(calls)
	t.Cleanup(carrier.Close)

	s := newStage(t, "CARRIER_URLS", "usps="+carrier.URL)
	s.firstRun()
	s.connectCarrier(emulatedCarriers[1])
	before := calls.count("/options/search")

	s.do("an order is typed", chromedp.Navigate(s.base+"/app/test/shipments/new"), chromedp.WaitVisible(`#f-name`),
		typed(`#f-name`, "Ada Lovelace"), typed(`#f-address1`, "500 Main St"), typed(`#f-city`, "Austin"), typed(`#f-state`, "TX"), typed(`#f-zip`, "78701"), typed(`#f-weight`, "2.5"),
		typed(`#f-length`, "10"), typed(`#f-width`, "8"), typed(`#f-height`, "4"),
	)
	for _, field := range [][2]string{
		{`#f-order`, "3001"},
		{`#f-company`, "Engines"},
		{`#f-address2`, "Floor 7"},
		{`#f-phone`, "5125550100"},
		{`#f-email`, "ada@example.com"},
		{`#f-reference`, "PO 1"},
	} {
		s.do("the form rests after "+field[0], typed(field[0], field[1]), pause, atRest)
	}
	s.do("USPS has rates", ratesAreIn,
		until(`Array.from(document.querySelectorAll(".rates .offer")).some((li) => li.innerText.includes("Ground Advantage"))`))
	if n := calls.count("/options/search") - before; n != 1 {
		t.Errorf("typing one order asked USPS for rates %d times, want once", n)
	}

	s.do("its label can be bought",
		until(`(() => { const li = Array.from(document.querySelectorAll(".rates .offer")).find((li) => li.innerText.includes("Ground Advantage")); if (!li) return false; li.querySelector("input").click(); return true; })()`),
		chromedp.Click(`.buy button`), sees("Order 3001"), sees("USPS"), sees("Ground Advantage"),
	)
	s.shoot("shipment-usps")
}

// TestAnOrderIsShippedTwiceOnlyOnPurpose buys an order, and the same again.
func TestAnOrderIsShippedTwiceOnlyOnPurpose(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.firstRun()
	s.do("the first label",
		chromedp.Navigate(s.base+"/app/test/shipments/new"), fill("4001"), chromedp.Focus(`#f-reference`), ratesAreIn, chromedp.Click(`.buy button`), sees("Order 4001"),
	)
	s.do("the second is asked for, and what was typed is kept",
		chromedp.Navigate(s.base+"/app/test/shipments/new"), fill("4001"), chromedp.SendKeys(`#f-company`, "Engines"), chromedp.Focus(`#f-reference`), ratesAreIn,
		chromedp.Click(`.buy button[value=print]`), sees("Ship it again?"), sees("Nothing was bought this time"),
		until(`document.getElementById("f-company").value === "Engines" && document.querySelector(".ship-again a").href.includes("/shipments/shp_")`),
		s.shot("ship-again"),
	)
	s.do("it is shipped again, printed, and the next form is empty",
		chromedp.Click(`.ship-again button`), until(`location.pathname.endsWith("/print")`), until(`document.querySelector("body.print img").naturalWidth > 1000 && document.readyState === "complete"`),
		run(`window.dispatchEvent(new Event("afterprint"))`),
		until(`location.pathname.endsWith("/shipments/new") && document.getElementById("f-order").value === ""`), sees("Label for order"), s.shot("new-next"),
	)
}

// TestAShipmentAbroadIsBoughtByKeyboard fills in two parcels with customs by
// keyboard alone, on the narrowest phone.
func TestAShipmentAbroadIsBoughtByKeyboard(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.firstRun()
	press := func(selector string) step {
		return chromedp.Steps(chromedp.WaitVisible(selector), chromedp.Focus(selector), chromedp.KeyEvent(kb.Enter))
	}

	s.do("the address", chromedp.EmulateViewport(narrowest.width, narrowest.height), chromedp.Navigate(s.base+"/app/test/shipments/new"), chromedp.WaitVisible(`#f-name`),
		choose("#f-country", "DE"), until(`!document.getElementById("f-state") && !document.getElementById("customs").hidden`),
		typed(`#f-name`, "Konrad Zuse"), typed(`#f-address1`, "Friedrichstr. 43"), typed(`#f-city`, "Berlin"), typed(`#f-zip`, "10969"), typed(`#f-phone`, "+49301234567"),
	)
	s.do("two parcels", typed(`#f-weight`, "2"), typed(`#f-length`, "10"), typed(`#f-width`, "8"), typed(`#f-height`, "4"),
		press(`#parcels > .add-line`), chromedp.WaitVisible(`#f-parcel-1-weight`), until(`document.getElementById("f-parcel-1-weight").value === "2"`),
		emptied(`#f-parcel-1-weight`), typed(`#f-parcel-1-weight`, "3"),
	)
	s.do("two items and a tax number",
		typed(`#f-item-0-description`, "Cotton shirt"), typed(`#f-item-0-value`, "12.50"), typed(`#f-item-0-hsCode`, "610910"), typed(`#f-item-0-originCountry`, "Portugal"),
		press(`#customs .item + .add-line`), chromedp.WaitVisible(`#f-item-1-description`),
		typed(`#f-item-1-description`, "Wooden toy"), typed(`#f-item-1-value`, "9"), typed(`#f-item-1-hsCode`, "950300"), typed(`#f-item-1-originCountry`, "US"),
		press(`#customs .add-line:last-child`), chromedp.WaitVisible(`#f-tax-0-number`), typed(`#f-tax-0-number`, "DE123456789012345"),
		typed(`#f-order`, "5001"),
	)
	s.do("it fits the phone", until(wide+`.length === 0`))
	s.do("rates", ratesAreIn)
	s.shoot("new-abroad")

	s.do("Enter in a field buys nothing", chromedp.EmulateViewport(narrowest.width, narrowest.height), chromedp.Focus(`#f-reference`), chromedp.KeyEvent(kb.Enter),
		pause, ratesAreIn, until(`location.pathname.endsWith("/new")`))
	s.do("Enter on the button buys", press(`.buy button`), sees("Order 5001"), sees("Declared goods"), sees("Cotton shirt"), sees("Wooden toy"),
		until(`document.querySelectorAll(".facts .copyable").length >= 3`))
	s.shoot("shipment-abroad")
	s.do("every piece's number is copied", run(`navigator.clipboard.writeText = (text) => { window.copied = text; return Promise.resolve(); }`),
		run(`document.querySelectorAll(".facts .copyable button")[2].click()`), until(`window.copied && window.copied === document.querySelectorAll(".facts .copyable code")[2].innerText`))
}
