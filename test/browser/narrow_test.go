//go:build browser

package browser

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// narrowest is the least phone that people carry.
var narrowest = screen{"phone-narrow", 360, 740, true, false}

// wide lists what sticks out of the page, or makes a list scroll sideways.
// Code and the chips above lists may scroll.
const wide = `(() => {
	const out = [];
	for (const el of document.querySelectorAll("body *")) {
		const box = el.getBoundingClientRect();
		const name = el.tagName.toLowerCase() + (el.id ? "#" + el.id : "") + (el.className && el.className.baseVal === undefined ? "." + el.className.trim().split(/\s+/).join(".") : "");
		if (el.matches(".table-card, main, .card") && el.scrollWidth > el.clientWidth + 1) { out.push(name + " scrolls sideways"); continue; }
		if (!box.width || box.right <= innerWidth + 1 || el.closest("pre, .chips, dialog, .away, .unseen, svg svg")) continue;
		let shown = true;
		for (let up = el.parentElement; up && up !== document.body; up = up.parentElement) {
			if (getComputedStyle(up).overflowX !== "visible") shown = false;
		}
		if (shown) out.push(name + " ends at " + Math.round(box.right));
	}
	return out.slice(0, 4);
})()`

// TestEveryPageFitsThePhone opens every page on the narrowest phone.
func TestEveryPageFitsThePhone(t *testing.T) {
	t.Parallel()
	c := newTown(t)
	pages := c.pages()
	c.sit(narrowest)
	look := func(path string) []string {
		t.Helper()
		c.do("open "+path, chromedp.Navigate(c.base+path), until(`document.readyState === "complete"`))
		found, err := chromedp.Run(c.tab, chromedp.Evaluate[[]string](wide))
		c.must(err)
		return found
	}
	for _, path := range append(append(pages, docPages...), "/app/live", "/app/live/shipments", "/app/live/shipments/new", "/app/live/carriers") {
		if found := look(path); len(found) > 0 {
			t.Errorf("%s: %s", fileOf(path), strings.Join(found, "; "))
		}
	}

	// The widest list has to fit a small laptop: its last columns would be out of
	// sight.
	c.sit(screens[0])
	if found := look(c.home + "/shipments"); len(found) > 0 {
		t.Errorf("the list of shipments on a laptop: %s", strings.Join(found, "; "))
	}
	c.sit(narrowest)
	c.do("break a page", run(`document.querySelector("main").insertAdjacentHTML("beforeend", "<button class='button'>" + "wide ".repeat(60) + "</button>")`))
	if found, err := chromedp.Run(c.tab, chromedp.Evaluate[[]string](wide)); err != nil || len(found) == 0 {
		t.Errorf("a line that is too wide is overlooked: %v, %v", found, err)
	}
}
