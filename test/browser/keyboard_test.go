//go:build browser

package browser

import (
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// mark numbers what a person can act on and can see: each is to be reached.
// Of a group of radio buttons one is enough, the arrows do the rest.
const mark = `(() => {
	let n = 0;
	const groups = new Set();
	document.querySelectorAll("a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex='0']").forEach((el) => {
		const box = el.getBoundingClientRect();
		const style = getComputedStyle(el);
		if (el.disabled || style.visibility === "hidden" || style.display === "none" || box.width === 0 || box.height === 0 || el.closest("dialog:not([open]), [inert]")) return;
		if ((el.tagName === "SUMMARY" ? el.parentElement.parentElement : el).closest("details:not([open])")) return;
		if (el.type === "radio") { if (groups.has(el.name)) return; groups.add(el.name); }
		el.dataset.reach = n;
		n += el.type === "date" ? 4 : 1; // its parts have a stop each
	});
	document.activeElement.blur();
	window.scrollTo(0, 0);
	return n;
})()`

// here notes that what has the focus was reached, and says whether it can be
// seen to have it.
const here = `(() => {
	const el = document.activeElement;
	if (!el || el === document.body) return "";
	let of = el;
	if (el.type === "radio") of = document.querySelector('[name="' + el.name + '"][data-reach]') || el;
	delete of.dataset.reach;
	const outlined = (e) => e && getComputedStyle(e).outlineStyle !== "none" && parseFloat(getComputedStyle(e).outlineWidth) > 0;
	const seen = outlined(el) || outlined(el.closest("tr"));
	return seen ? "" : el.outerHTML.slice(0, 120);
})()`

const left = `Array.from(document.querySelectorAll("[data-reach]")).map((el) => el.outerHTML.slice(0, 120)).join("\n")`

// TestEveryActionIsReachedByKeyboard presses Tab through every page.
func TestEveryActionIsReachedByKeyboard(t *testing.T) {
	c := newTown(t)
	c.sit(screens[0])
	for _, path := range c.pages() {
		c.do("open "+path, chromedp.Navigate(c.base+path), until(`document.readyState === "complete"`))
		n, err := chromedp.Run(c.tab, chromedp.Evaluate[int](mark))
		c.must(err)
		unseen := map[string]bool{}
		for range n + 5 {
			c.do("tab", chromedp.KeyEvent(kb.Tab))
			dark, err := chromedp.Run(c.tab, chromedp.Evaluate[string](here))
			c.must(err)
			if dark != "" {
				unseen[dark] = true
			}
		}
		rest, err := chromedp.Run(c.tab, chromedp.Evaluate[string](left))
		c.must(err)
		if rest != "" {
			t.Errorf("%s: Tab does not reach\n%s", fileOf(path), rest)
		}
		for el := range unseen {
			t.Errorf("%s: nothing shows that this has the focus: %s", fileOf(path), el)
		}
	}
}

// TestEscapeClosesWhatIsOpen opens the finder, the list of keys and the menu.
func TestEscapeClosesWhatIsOpen(t *testing.T) {
	c := newTown(t)
	c.sit(screens[0])
	c.do("finder", chromedp.Navigate(c.base+"/app/test/shipments"), until(`document.readyState === "complete"`),
		chromedp.KeyEvent("/"), until(`document.getElementById("palette").open && document.activeElement.name === "q"`),
		run(`document.querySelector("#palette input").value = ""`), chromedp.KeyEvent("10241"), // the driver types the slash even though the page has taken it
		until(`document.querySelector("#found a")`),
		chromedp.KeyEvent(kb.ArrowDown), until(`document.activeElement.closest("#found")`),
		chromedp.KeyEvent(kb.Escape), until(`!document.getElementById("palette").open`),
		chromedp.KeyEvent("?"), until(`document.getElementById("shortcuts").open`), chromedp.KeyEvent(kb.Escape), until(`!document.getElementById("shortcuts").open`),
		chromedp.KeyEvent("j"), until(`document.activeElement.matches(".rows a.row")`), chromedp.KeyEvent(kb.Enter), until(`location.pathname.includes("/shipments/shp_")`),
	)
	c.sit(screens[2])
	c.do("menu", chromedp.Navigate(c.base+"/app/test/shipments"), until(`document.readyState === "complete"`),
		chromedp.Focus(`.tabs-bottom [data-toggle="side"]`), chromedp.KeyEvent(kb.Enter), until(`document.querySelector("#side.open")`),
		chromedp.KeyEvent(kb.Escape), until(`!document.querySelector("#side.open")`),
		until(`document.activeElement.matches('[data-toggle="side"]') && document.activeElement.getAttribute("aria-expanded") === "false"`),
	)
}
