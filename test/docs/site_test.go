package docs_test

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/waybillhq/waybill/internal/api"
)

// A parsedPage is what a page links to, and what can be linked to in it.
type parsedPage struct {
	links []string // href and src
	ids   []string
	h1    int
	bad   []string // what the content security policy would not run
}

func parsePage(t *testing.T, page []byte) (p parsedPage) {
	t.Helper()
	root, err := html.Parse(bytes.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	for node := range root.Descendants() {
		if node.Type != html.ElementNode {
			continue
		}
		if node.Data == "h1" {
			p.h1++
		}
		if node.Data == "script" && node.FirstChild != nil {
			p.bad = append(p.bad, "an inline script")
		}
		for _, attribute := range node.Attr {
			switch {
			case attribute.Key == "id":
				p.ids = append(p.ids, attribute.Val)
			case attribute.Key == "href" || attribute.Key == "src" || attribute.Key == "action":
				p.links = append(p.links, attribute.Val)
			case attribute.Key == "style" || strings.HasPrefix(attribute.Key, "on"):
				p.bad = append(p.bad, attribute.Key)
			}
		}
	}
	return p
}

// check reports what is wrong with the links of the pages, by their addresses.
// exists reports whether there is something that is no page.
func check(t *testing.T, pages map[string]parsedPage, exists func(string) bool) {
	t.Helper()
	links := 0
	for name, page := range pages {
		if page.h1 != 1 || len(page.bad) > 0 {
			t.Errorf("%s has %d titles and %q", name, page.h1, page.bad)
		}
		if sorted := slices.Sorted(slices.Values(page.ids)); len(slices.Compact(slices.Clone(sorted))) != len(sorted) {
			t.Errorf("%s has an id twice: %q", name, sorted)
		}
		for _, link := range page.links {
			if strings.HasPrefix(link, "https://") || strings.HasPrefix(link, "http://localhost") || strings.HasPrefix(link, "mailto:") || strings.HasPrefix(link, "data:") {
				continue
			}
			links++
			address, anchor, _ := strings.Cut(link, "#")
			if address == "" {
				address = name
			}
			to, isPage := pages[address]
			switch {
			case !isPage && !exists(address):
				t.Errorf("%s: %s leads nowhere", name, link)
			case isPage && anchor != "" && !slices.Contains(to.ids, anchor):
				t.Errorf("%s: there is no %s in %s", name, anchor, address)
			}
		}
	}
	if len(pages) < 50 || links < 3000 {
		t.Errorf("only %d pages with %d links were found", len(pages), links)
	}
}

// TestEveryLinkOfTheExportedSiteLeadsSomewhere reads the files that "waybill docs
// export" writes.
func TestEveryLinkOfTheExportedSiteLeadsSomewhere(t *testing.T) {
	t.Parallel()
	files, err := api.Documentation("")
	if err != nil {
		t.Fatal(err)
	}
	pages := map[string]parsedPage{}
	for name, data := range files {
		if path.Ext(name) == ".html" {
			pages[name] = parsePage(t, data)
		}
	}
	if _, ok := pages["index.html"]; !ok {
		t.Error("there is no index.html")
	}
	check(t, pages, func(name string) bool { return files[name] != nil })
}

// TestEveryLinkOfTheServedSiteLeadsSomewhere follows the links from the reference,
// as a browser without an account does.
func TestEveryLinkOfTheServedSiteLeadsSomewhere(t *testing.T) {
	t.Parallel()
	handler := api.New(api.Config{BaseURL: "http://localhost:8080", Log: slog.New(slog.DiscardHandler)})
	get := func(address string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, address, nil))
		return w
	}

	pages := map[string]parsedPage{}
	others := map[string]bool{"/app": true} // of the dashboard
	queue := []string{"/docs"}
	for len(queue) > 0 {
		address := queue[0]
		queue = queue[1:]
		if _, seen := pages[address]; seen || others[address] {
			continue
		}
		w := get(address)
		if w.Code != http.StatusOK {
			t.Errorf("%s answers %d", address, w.Code)
			others[address] = true
			continue
		}
		if !strings.HasPrefix(w.Header().Get("Content-Type"), "text/html") {
			others[address] = true
			continue
		}

		page := parsePage(t, w.Body.Bytes())
		pages[address] = page
		for _, link := range page.links {
			if parsed, err := url.Parse(link); err == nil && parsed.Host == "" && parsed.Scheme == "" && parsed.Path != "" {
				queue = append(queue, parsed.Path)
			}
		}
	}
	check(t, pages, func(address string) bool { return others[address] })
}
