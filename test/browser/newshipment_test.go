//go:build browser

package browser

import (
	"testing"

	"github.com/chromedp/chromedp"
)

// settled waits until the list of rates has not changed for a while.
func settled() step {
	return until(`(() => { const now = document.querySelector(".rates"); if (window.seen !== now) { window.seen = now; window.since = Date.now(); } return Date.now() - window.since > 1000; })()`)
}

func TestNewShipmentWithLiveRatesAndPrint(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.firstRun()
	s.do("a box is saved",
		chromedp.Navigate(s.base+"/app/test/boxes"), chromedp.WaitVisible(`#f-name`), sees("No boxes yet"), chromedp.SendKeys(`#f-name`, "Shoe box"),
		chromedp.SendKeys(`#f-length`, "13"), chromedp.SendKeys(`#f-width`, "7.5"), chromedp.SendKeys(`#f-height`, "5"), chromedp.Click(`form.card button.primary`), sees("13 × 7.5 × 5 in"), s.shot("boxes"),
	)
	s.do("the country makes the fields",
		chromedp.Navigate(s.base+"/app/test/shipments/new"), chromedp.WaitVisible(`#f-zip`), sees("ZIP code"), s.shot("new-empty"),
		choose("#f-country", "DE"), sees("Postal code"), until(`!document.getElementById("f-state")`), sees("Customs"), s.shot("new-abroad"),
		chromedp.Click(`#customs button`), sees("Item 2"),
		choose("#f-country", "US"), chromedp.WaitVisible(`#f-state`), until(`document.getElementById("customs").hidden`),
	)
	s.do("a mistake is told at its field",
		fill("2001"), emptied("#f-zip"), chromedp.SendKeys(`#f-zip`, "ABC"), chromedp.Focus(`#f-reference`),
		until(`document.querySelector("#f-zip-note").innerText.includes("postal code")`), s.shot("new-wrong"),
		emptied("#f-zip"), chromedp.SendKeys(`#f-zip`, "78701"), chromedp.Focus(`#f-reference`),
	)
	s.do("a suggested address is used",
		emptied("#f-address1"), chromedp.SendKeys(`#f-address1`, "Corrected Street"), chromedp.Focus(`#f-reference`),
		sees("UPS suggests another address"), s.shot("new-address"), chromedp.Click(`#verdict button`),
		until(`document.getElementById("f-address1").value === "1 Corrected Street" && document.getElementById("f-name").value === "Ada Lovelace"`),
		until(`!document.querySelector("#verdict .notice")`),
	)
	s.do("rates come side by side, the cheapest first",
		until(`document.querySelectorAll(".rates .offer").length > 5 && !document.querySelector(".rates .asking")`),
		until(`(() => { const p = Array.from(document.querySelectorAll(".rates .offer")).map((li) => Number(li.dataset.minor)); return p.every((x, i) => i === 0 || p[i-1] <= x); })()`),
		until(`document.querySelectorAll(".is-cheapest").length === 1 && document.querySelectorAll(".is-fastest").length === 1`),
		until(`document.querySelector("[data-chosen]")`), s.shot("new-rates"),
		until(`(() => { const s = document.getElementById("f-box"); s.selectedIndex = 1; s.dispatchEvent(new Event("change", {bubbles: true})); return true; })()`),
		until(`document.getElementById("f-width").value === "7.5" && document.querySelectorAll(".rates .offer").length > 5 && !document.querySelector(".rates .asking")`), settled(),
	)
	s.do("service points are offered beside small buttons",
		chromedp.Click(`details:has(#service-point) > summary`), chromedp.Click(`#service-point button`), chromedp.WaitVisible(`fieldset.points`),
		until(`Array.from(document.querySelectorAll(".points label")).every((label) => label.children[0].offsetWidth < 24 && label.children[1].offsetLeft - label.offsetLeft < 40)`), s.shot("new-points"),
		settled(),
	)
	s.do("the fastest is bought and printed at once",
		chromedp.Click(`.is-fastest input`), chromedp.Click(`button[value=print]`), until(`location.pathname.endsWith("/print")`),
		until(`document.querySelector("body.print img").naturalWidth > 1000`),
	)
}
