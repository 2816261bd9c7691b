//go:build browser

package browser

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// TestARuleIsWrittenTriedAndPublished is a manager's way from an idea to a
// rule that parcels follow.
func TestARuleIsWrittenTriedAndPublished(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.firstRun()
	key := s.newKey("Shop")
	for i := range 3 {
		s.order(key, fmt.Sprintf("OLD-%d", i), 40)
	}
	s.writeRule()
	s.backtest()
	s.publish()
	s.followed(key)
	s.reorder()
	s.tryOut()
	s.rateSheet()
}

// order buys a label as a program does, without naming a carrier.
func (s *stage) order(key, id string, pounds int) (shipment, carrier string) {
	s.Helper()
	body := fmt.Sprintf(`{"orderId": %q, "parcel": {"weight": %d}, "destination": {"name": "Ada Lovelace", "address1": "500 Main St", "city": "Austin", "state": "TX", "zip": "78701", "country": "US"}}`, id, pounds)
	status, answer := s.call(key, "/v1/shipments", body)
	var got struct{ ID, Carrier string }
	if err := json.Unmarshal([]byte(answer), &got); err != nil || status != http.StatusCreated {
		s.Fatalf("order %s: %d, %v", id, status, err)
	}
	return got.ID, got.Carrier
}

// atRest waits until the page has taken in what it asked for: what is typed
// into a part that is about to be replaced is lost.
var atRest = until(`!document.querySelector(".htmx-request, .htmx-swapping, .htmx-added, .htmx-settling")`)

// choose takes a line of a select, as a person does: not before the page is
// at rest.
func choose(selector, value string) step {
	return until(`(() => {
		if (document.querySelector(".htmx-request, .htmx-swapping, .htmx-added, .htmx-settling")) return false;
		const el = document.querySelector(` + quote(selector) + `);
		if (!el || ![...el.options].some((o) => o.value === ` + quote(value) + `)) return false;
		el.value = ` + quote(value) + `;
		el.dispatchEvent(new Event("input", {bubbles: true}));
		el.dispatchEvent(new Event("change", {bubbles: true}));
		return true;
	})()`)
}

// emptied takes what is written out of a field.
func emptied(selector string) step {
	return until(`((el) => { el.value = ""; return true; })(document.querySelector(` + quote(selector) + `))`)
}

// shows waits until a part of the page has the text.
func shows(selector, text string) step {
	return until(`document.querySelector(` + quote(selector) + `)?.innerText.includes(` + quote(text) + `)`)
}

func (s *stage) writeRule() {
	s.do("the builder",
		chromedp.Navigate(s.base+"/app/test/routing"), sees("No rules yet"), chromedp.Click(`.page-head a.primary`), chromedp.WaitVisible(`#f-name`),
		chromedp.SendKeys(`#f-name`, "Heavy by UPS"), choose(`#c-0-name`, "parcel.weightLb"), choose(`#c-0-test`, "more"),
		until(`document.querySelector("#c-0-value").inputMode === "decimal"`), atRest,
		chromedp.SendKeys(`#c-0-value`, "much"), shows(`#c-0-note`, "Enter a number"),
		emptied(`#c-0-value`), chromedp.SendKeys(`#c-0-value`, "20"), shows(`#verdict`, "weight in pounds is more than 20"),
	)
	s.do("the language",
		chromedp.Click(`button[value=cel]`), until(`document.querySelector("#f-when")?.value === "parcel.weightLb > 20"`), atRest,
		emptied(`#f-when`), chromedp.SendKeys(`#f-when`, "parcel.weightLbs > 20"),
		shows(`#verdict`, "there is no parcel.weightLbs; did you mean parcel.weightLb?"), shows(`#verdict pre`, "^"),
		emptied(`#f-when`), chromedp.SendKeys(`#f-when`, "parcel.weightLb > 20"), shows(`#verdict`, "weight in pounds is more than 20"),
		chromedp.Click(`button[value=build]`), until(`document.querySelector("#c-0-value")?.value === "20"`),
	)
	s.do("the action",
		choose(`#f-kind`, "use"), choose(`#t-0-value`, "ups//"), shows(`#verdict`, "Buy UPS"),
		chromedp.Click(`#rule .actions button.primary`), sees("Saved to the draft"), sees("If weight in pounds is more than 20"), sees("1 rule added"),
	)
}

func (s *stage) backtest() {
	s.do("the past",
		chromedp.Click(`.desk-state a[href$="/backtest"]`), chromedp.WaitVisible(`#f-which`), chromedp.Click(`#backtest button.primary`),
		sees("Shipments that would change"), sees("OLD-2"), sees("Cost by carrier"), sees("Heavy by UPS"),
		chromedp.WaitVisible(`.pair-chart svg`), until(`document.querySelector('#result a[href*="/shipments/shp_"]')`),
	)
}

func (s *stage) publish() {
	s.do("publish",
		chromedp.Navigate(s.base+"/app/test/routing/publish"), sees("1 rule added"), chromedp.SendKeys(`#f-note`, "Heavy goods"),
		chromedp.Click(`form[action$="/publish"] button.primary`), sees("Published. Applies from the next purchase on."), sees("Version 1"),
	)
}

func (s *stage) followed(key string) {
	id, carrier := s.order(key, "NEW-1", 40)
	if carrier != "ups" {
		s.Errorf("a heavy parcel goes by %s", carrier)
	}
	if _, carrier := s.order(key, "NEW-2", 1); carrier == "ups" {
		s.Error("a light parcel goes by UPS too")
	}
	s.do("why", chromedp.Navigate(s.base+"/app/test/shipments/"+id), sees("Heavy by UPS"), chromedp.Click(`a[href*="/routing/versions/1"]`), sees("Heavy goods"))
}

// reorder moves a rule by keys, by drag, and back by a button.
func (s *stage) reorder() {
	first := func(name string) step {
		return until(`document.querySelector(".rule .rule-name")?.innerText === ` + quote(name) + ` && !document.querySelector(".htmx-request")`)
	}
	s.do("a second rule",
		chromedp.Navigate(s.base+"/app/test/routing/rule"), chromedp.WaitVisible(`#f-name`), chromedp.SendKeys(`#f-name`, "Always fast"),
		chromedp.Click(`button[value="drop-0"]`), sees("the rule always applies"), choose(`#f-choose`, "fastest"),
		chromedp.Click(`#rule .actions button.primary`), sees("Saved to the draft"), first("Heavy by UPS"),
	)
	s.do("by keys", until(`(document.querySelectorAll(".rule-name")[1].focus(), true)`), chromedp.KeyEvent(kb.ArrowUp, chromedp.KeyModifiers(chromedp.ModifierAlt)), first("Always fast"),
		until(`document.activeElement.value === "up"`))
	from := s.middle(`.rule:nth-child(1) [data-grip]`)
	to := s.middle(`.rule:nth-child(2)`)
	s.do("by drag", chromedp.DragAndDropXY(from[0], from[1], from[0], to[1]+30, 8), first("Heavy by UPS"))
	s.do("saved", chromedp.Navigate(s.base+"/app/test/routing"), first("Heavy by UPS"), chromedp.Click(`.rule:nth-child(2) button[value=off]`), sees("Disabled"))
}

func (s *stage) middle(selector string) [2]float64 {
	s.Helper()
	at, err := chromedp.Run(s.tab, chromedp.Evaluate[[]float64](`(() => { const b = document.querySelector(`+quote(selector)+`).getBoundingClientRect(); return [b.x + b.width / 2, b.y + b.height / 2]; })()`))
	if err != nil {
		s.Fatal(err)
	}
	return [2]float64{at[0], at[1]}
}

func (s *stage) tryOut() {
	s.do("a sample",
		chromedp.Navigate(s.base+"/app/test/routing/try"), chromedp.WaitVisible(`#f-zip`), chromedp.SendKeys(`#f-zip`, "78701"), chromedp.SendKeys(`#f-city`, "Austin"),
		chromedp.SendKeys(`#f-state`, "TX"), chromedp.SendKeys(`#f-weight`, "30"), chromedp.Click(`#try button.primary`),
		shows(`#tried`, "Decides"), shows(`#tried`, "UPS"), shows(`#tried`, "Disabled"),
	)
}

// rateSheet imports a file with a mistake, and then one without.
func (s *stage) rateSheet() {
	file := func(name, text string) []string {
		path := filepath.Join(s.TempDir(), name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			s.Fatal(err)
		}
		return []string{path}
	}
	const good = "[sheet]\ncurrency,USD\n[zones]\nzone,country\n1,US\n[rates]\nservice,up to,zone 1\nground,150 lb,9.00\n"
	s.do("a rate sheet",
		chromedp.Navigate(s.base+"/app/test/rate-sheets"), chromedp.WaitVisible(`#f-csv`), choose(`#f-for`, "ups//"),
		chromedp.SetUploadFiles(`#f-csv`, file("bad.csv", strings.Replace(good, "9.00", "nine", 1))), chromedp.Click(`form[enctype] button.primary`),
		sees("Errors in the file"), sees("ground,150 lb,nine"),
		choose(`#f-for`, "ups//"), chromedp.SetValue(`#f-name`, "ups-2026"), chromedp.SetUploadFiles(`#f-csv`, file("good.csv", good)), chromedp.Click(`form[enctype] button.primary`),
		sees("Imported."), sees("ups-2026"), sees("1 price"),
	)
}
