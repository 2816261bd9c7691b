//go:build browser

package browser

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

//go:embed testdata/axe/axe.min.js
var axe string

// A finding is what axe says of a page.
type finding struct {
	ID     string   `json:"id"`
	Impact string   `json:"impact"`
	Help   string   `json:"help"`
	Nodes  []string `json:"nodes"`
}

// audit asks axe for what is serious on the page that is open. It comes in
// over the browser's own wire, so that the pages' policy stays as it is.
func (s *stage) audit() []finding {
	s.Helper()
	s.do("load axe", until(`document.readyState === "complete"`), run(axe))
	found, err := chromedp.Run(s.tab, chromedp.Evaluate[[]finding](`axe.run(document, { resultTypes: ["violations"] }).then((r) => r.violations
		.filter((v) => v.impact === "serious" || v.impact === "critical")
		.map((v) => ({ id: v.id, impact: v.impact, help: v.help, nodes: v.nodes.map((n) => n.target.join(" ") + " " + n.failureSummary) })))`, chromedp.EvalAwaitPromise))
	s.must(err)
	return found
}

// run has the page run a script, whatever it results in.
func run(script string) step {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := chromedp.Evaluate[bool](script+"\n;true")(ctx, t)
		return err
	})
}

// looked are the screens that axe looks at: both themes and both widths, and
// with EVERY_SCREEN=1 each with each.
func looked() []screen {
	if os.Getenv("EVERY_SCREEN") != "" {
		return screens
	}
	return []screen{screens[0], screens[3]}
}

// TestEveryPageIsAccessible has axe look at every page of the route table and at
// the documentation, light and dark, on a desk and on a phone.
func TestEveryPageIsAccessible(t *testing.T) {
	t.Parallel()
	c := newTown(t)
	pages := c.pages()
	if len(pages) < 20 {
		t.Errorf("only %d pages were found", len(pages))
	}
	c.do("break a page", chromedp.Navigate(c.base+pages[0]), run(`document.querySelector("main").insertAdjacentHTML("beforeend", "<button></button>")`))
	if len(c.audit()) != 1 {
		t.Error("axe overlooks a button without a name")
	}
	pages = append(pages, docPages...)
	for _, sc := range looked() {
		c.sit(sc)
		for _, path := range pages {
			c.do("open "+path, chromedp.Navigate(c.base+path))
			for _, f := range c.audit() {
				t.Errorf("%s, %s: %s (%s): %s\n  %s", fileOf(path), sc.name, f.ID, f.Impact, f.Help, strings.Join(f.Nodes[:min(3, len(f.Nodes))], "\n  "))
			}
		}
	}
	fmt.Println(len(pages), "pages on", len(looked()), "screens")
}
