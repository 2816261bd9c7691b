//go:build browser

package browser

import (
	"testing"

	"github.com/chromedp/chromedp"
)

func TestSingleScopesClearEverything(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.firstRun()
	s.do("a single scope clears everything", s.goTo("/app/test/keys"), chromedp.WaitVisible(`input[name=scope][value="*"]`),
		until(`document.querySelector('input[name=scope][value="*"]').checked`),
		chromedp.Click(`input[name=scope][value="rates"]`), chromedp.Click(`input[name=scope][value="tracking"]`),
		until(`[...document.querySelectorAll("input[name=scope]:checked")].map((box) => box.value).join() === "rates,tracking"`))
	s.do("everything clears single scopes", chromedp.Click(`input[name=scope][value="*"]`),
		until(`[...document.querySelectorAll("input[name=scope]:checked")].map((box) => box.value).join() === "*"`))
}
