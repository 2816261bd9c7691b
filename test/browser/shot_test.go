//go:build browser

package browser

import (
	"context"
	"encoding/base64"
	"os"
	"testing"

	"github.com/chromedp/chromedp"
)

// shot keeps pictures of the page where BROWSER_SHOTS says: wide and narrow, in
// light and in dark. Without it, it does nothing.
func (s *stage) shot(name string) step {
	dir := os.Getenv("BROWSER_SHOTS")
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		if dir == "" {
			return nil
		}
		for _, look := range []struct {
			name, theme string
			width       int64
		}{{"wide-light", "light", 1280}, {"wide-dark", "dark", 1280}, {"phone-dark", "dark", 390}, {"phone-light", "light", 390}} {
			if _, err := chromedp.EmulateViewport(look.width, 900)(ctx, t); err != nil {
				return err
			}
			if _, err := chromedp.Evaluate[string](`document.documentElement.dataset.theme = "`+look.theme+`"`)(ctx, t); err != nil {
				return err
			}
			picture, err := chromedp.CaptureScreenshot()(ctx, t)
			if err != nil {
				return err
			}
			if err := os.WriteFile(dir+"/"+name+"-"+look.name+".png", picture, 0o644); err != nil {
				return err
			}
		}
		_, err := chromedp.EmulateViewport(1280, 900)(ctx, t)
		return err
	})
}

// decoded undoes the page's btoa.
func decoded(t *testing.T, text string) string {
	t.Helper()
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
