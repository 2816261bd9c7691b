//go:build browser

package browser

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// A screen is what somebody looks at the dashboard with.
type screen struct {
	name          string
	width, height int64
	phone, dark   bool
}

var screens = []screen{
	{"desktop-light", 1280, 900, false, false},
	{"desktop-dark", 1280, 900, false, true},
	{"phone-light", 390, 844, true, false},
	{"phone-dark", 390, 844, true, true},
}

// sit puts the browser on the screen.
func (s *stage) sit(sc screen) {
	s.Helper()
	theme := "light"
	if sc.dark {
		theme = "dark"
	}
	options := []chromedp.EmulateViewportOption{}
	if sc.phone {
		options = append(options, chromedp.EmulateMobile, chromedp.EmulateTouch)
	}
	s.do("screen", chromedp.EmulateViewport(sc.width, sc.height, options...), chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
			{Name: "prefers-color-scheme", Value: theme}, {Name: "prefers-reduced-motion", Value: "reduce"},
		}})
		return err
	}))
}

// A scene is a page after somebody did something on it.
type scene struct {
	name, path string
	steps      []step
}

// scenes are what the addresses alone do not show.
func (c *town) scenes() []scene {
	return []scene{
		{"scene-rates", "/app/test/shipments/new", []step{fill("10310"), chromedp.Focus(`#f-reference`), chromedp.WaitVisible(`.rates input[type=radio]`), sees("Fastest"), until(`(window.scrollTo(0, 0), scrollY === 0)`)}},
		{"scene-backtest", "/app/test/routing/backtest", []step{chromedp.SetValue(`#f-last`, "100"), chromedp.Click(`#backtest button.primary`), chromedp.WaitVisible(`.pair-chart svg`)}},
		{"scene-found", "/app/test/search?q=Lovelace", []step{sees("Ada Lovelace")}},
		{"scene-empty", "/app/live/shipments", []step{until(`document.readyState === "complete"`)}},
		{"scene-batch", c.bought, []step{sees("Print")}},
		{"scene-track", c.public(c.coming), []step{until(`document.readyState === "complete"`)}},
		{"scene-coming", c.coming, []step{until(`document.querySelector(".label-picture img").naturalWidth > 400`)}},
		{"scene-keys", "/app/test", []step{sees("Shipments per day"), chromedp.KeyEvent("?"), until(`document.getElementById("shortcuts").open`)}},
	}
}

// public is the tracking page of a shipment.
func (c *town) public(shipment string) string {
	c.Helper()
	_, body := c.get(shipment)
	for _, m := range links.FindAllStringSubmatch(body, -1) {
		if link := strings.TrimPrefix(m[1], c.base); strings.HasPrefix(link, "/track/") {
			return link
		}
	}
	c.Fatalf("no public page of %s", shipment)
	return ""
}

// keep takes the picture.
func (c *town) keep(file string) {
	c.Helper()
	take := chromedp.CaptureScreenshot()
	if os.Getenv("SCREENSHOTS_WHOLE") != "" { // the page down to its end
		take = chromedp.FullScreenshot(100)
	}
	shot, err := chromedp.Run(c.tab, take)
	c.must(err)
	c.must(os.WriteFile(file, shot, 0o644))
}

var unsafe = regexp.MustCompile(`[^a-z0-9-]+`)

// fileOf names the picture of a page: ids and tokens are left out, so that
// every run names it the same.
func fileOf(path string) string {
	var parts []string
	for part := range strings.SplitSeq(strings.TrimPrefix(strings.TrimPrefix(path, "/app"), "/"), "/") {
		switch {
		case part == "test" || part == "" || strings.HasPrefix(part, "acct_"):
		case len(part) > 24:
			parts = append(parts, "one")
		default:
			parts = append(parts, unsafe.ReplaceAllString(strings.ToLower(part), "-"))
		}
	}
	if len(parts) == 0 {
		return "overview"
	}
	return strings.Join(parts, "-")
}

// inMode is the page in another mode, where that has it: what the town has is
// of test mode.
func inMode(path, mode string) string {
	if mode == "" {
		return path
	}
	for part := range strings.SplitSeq(path, "/") {
		if len(part) > 24 && !strings.HasPrefix(part, "acct_") {
			return ""
		}
	}
	return strings.Replace(path, "/test", "/"+mode, 1)
}

// TestScreenshots pictures every page into the folder SCREENSHOTS; "make
// screenshots" runs it.
func TestScreenshots(t *testing.T) {
	t.Parallel()
	dir := os.Getenv("SCREENSHOTS")
	if dir == "" {
		t.Skip("SCREENSHOTS names no folder")
	}
	c := newTown(t)
	pages := c.pages()
	only := os.Getenv("SCREENSHOTS_ONLY") // a part of the path
	for _, sc := range screens {
		if !strings.Contains(sc.name, os.Getenv("SCREENSHOTS_SCREEN")) {
			continue
		}
		c.must(os.MkdirAll(filepath.Join(dir, sc.name), 0o755))
		c.sit(sc)
		for _, path := range pages {
			if path = inMode(path, os.Getenv("SCREENSHOTS_MODE")); path == "" || !strings.Contains(path, only) {
				continue
			}
			c.do("look at "+path, chromedp.Navigate(c.base+path), until(`document.readyState === "complete"`))
			c.keep(filepath.Join(dir, sc.name, fileOf(path)+".png"))
		}
		for _, scene := range c.scenes() {
			if strings.Contains(scene.path, only) && os.Getenv("SCREENSHOTS_MODE") == "" {
				c.do("look at "+scene.name, append([]step{chromedp.Navigate(c.base + scene.path)}, scene.steps...)...)
				c.keep(filepath.Join(dir, sc.name, scene.name+".png"))
			}
		}
	}
	fmt.Println(len(pages), "pages on", len(screens), "screens in", dir)
}
