//go:build browser

package browser

import (
	"html"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/waybillhq/waybill/internal/web"
)

func copyText(to *strings.Builder, from io.Reader) (int64, error) { return io.Copy(to, from) }

var (
	links  = regexp.MustCompile(`href="([^"]+)"`)
	blanks = regexp.MustCompile(`\{[a-z]+\}`)
)

// files are routes that are no pages, and the page of a file of labels, which is there only
// while labels are drawn: TestALargeFileOfLabels looks at it.
var files = regexp.MustCompile(`/label-files/|\.(csv|pdf|zpl|json)$|/label/|/documents/|/proof-of-delivery$|/privacy/exports/|/logo/|/static/|/print$|^/app/oidc$`)

// unseen are the pages that need a state which the town is not in.
var unseen = []string{"/app/setup", "/app/reset/{token}"}

// docPages are those of the documentation that have everything the others have: a
// table of roles, a long guide with code, the errors, and results of the search.
var docPages = []string{"/docs/guides", "/docs/webhooks", "/docs/errors", "/docs/search?q=service+point"}

// accountPages is how the table begins the addresses of an account's pages.
const accountPages = "/app/{account}/{mode}"

// pages walks the route table: each page once, in test mode. What stands in
// braces is found in the links of the pages themselves, so that a new page is
// here as soon as something leads to it.
func (c *town) pages() []string {
	c.Helper()
	known := slices.Clone(c.extras)
	var found, open []string
	visit := func(path string) {
		kind, body := c.get(path)
		if !strings.HasPrefix(kind, "text/html") {
			return
		}
		found = append(found, path)
		for _, m := range links.FindAllStringSubmatch(body, -1) {
			link, _, _ := strings.Cut(strings.TrimPrefix(html.UnescapeString(m[1]), c.base), "?")
			known = append(known, link)
		}
	}
	for _, pattern := range web.Pages() {
		pattern = strings.Replace(pattern, accountPages, c.home, 1)
		switch {
		case files.MatchString(pattern) || slices.Contains(unseen, pattern):
		case strings.Contains(pattern, "{$}") || pattern == "/app" || pattern == "/track/":
		case strings.Contains(pattern, "{"):
			open = append(open, pattern)
		default:
			visit(pattern)
		}
	}
	for _, pattern := range open {
		shape := regexp.MustCompile("^" + blanks.ReplaceAllString(pattern, `[^/]+`) + "$")
		i := slices.IndexFunc(known, func(link string) bool {
			return shape.MatchString(link) && !slices.Contains(web.Pages(), strings.Replace(link, c.home, accountPages, 1))
		})
		if i < 0 {
			c.Errorf("nothing leads to %s", pattern)
			continue
		}
		visit(known[i])
	}
	return found
}
