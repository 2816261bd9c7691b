//go:build browser

package browser

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// TestManyShipmentsAreSelectedAndVoided selects with the mouse and by keyboard, keeps
// the selection while the list updates itself, and voids what is selected.
func TestManyShipmentsAreSelectedAndVoided(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.firstRun()
	key := s.newKey("Shop")
	for i := range 5 {
		s.order(key, fmt.Sprintf("B-%d", i), 2)
	}
	selected := func(n int) step {
		return until(fmt.Sprintf(`document.querySelectorAll('#bulk tbody input:checked').length === %d && document.querySelector("[data-count]").textContent === "%d selected"`, n, n))
	}
	box := func(row int) string { return fmt.Sprintf(`#bulk tbody tr:nth-child(%d) .c-check input`, row) }

	s.do("nothing is selected", chromedp.Navigate(s.base+"/app/test/shipments"), sees("B-4"), sees("Up to date"),
		until(`getComputedStyle(document.querySelector(".bulk-bar")).display === "none"`))
	s.do("a row by mouse, and a range with shift", chromedp.Click(box(1)), selected(1),
		until(`document.querySelector("`+box(3)+`").dispatchEvent(new MouseEvent("click", {shiftKey: true, bubbles: true, cancelable: true}))`), selected(3), s.shot("bulk-selected"))
	s.order(key, "B-5", 2)
	s.do("the list updates itself, and the selection stays", sees("B-5"), selected(3))
	s.do("escape clears it", chromedp.KeyEvent(kb.Escape), until(`document.querySelectorAll('#bulk tbody input:checked').length === 0`))
	s.do("rows by keyboard", until(`(document.activeElement.blur(), true)`), chromedp.KeyEvent("j"), chromedp.KeyEvent("x"), selected(1),
		chromedp.KeyEvent("j"), chromedp.KeyEvent("j"), chromedp.KeyEvent("X"), selected(3))
	s.do("the whole page", chromedp.Click(`#select-page`), selected(6))
	s.do("voiding asks first", chromedp.Click(`button[formaction$="/bulk/void"]`), sees("Void 6 labels"), s.shot("bulk-review"))
	s.do("and shows how it ends", chromedp.Click(`button.danger`), sees("6 of 6 finished: 6 voided, 0 failed"), s.shot("bulk-done"))
	s.do("the actions are listed", chromedp.Click(`.crumbs a`), sees("Bulk actions"), sees("Finished"))
	s.do("a filter becomes a view", chromedp.Navigate(s.base+"/app/test/shipments?status=voided"), chromedp.Click(`.save-view a`), chromedp.WaitVisible(`#f-name`),
		chromedp.SendKeys(`#f-name`, "Voided lately"), chromedp.Submit(`#f-name`), sees("Saved."), s.shot("bulk-views"),
		chromedp.Navigate(s.base+"/app/test/shipments"), chromedp.Click(`.views a`), until(`location.search === "?status=voided"`), s.shot("bulk-list"))
}
