package docsite

import (
	"encoding/json"
	"fmt"
	"html/template"
	"maps"
	"slices"
	"strings"
)

// Files returns the site as files of a directory, by their path. The links between
// them are relative, so the directory can be served from any address, or opened
// without a server.
func (s *Site) Files() (map[string][]byte, error) {
	if !s.where.static {
		return nil, fmt.Errorf("docsite: the site is made for a server")
	}

	out := map[string][]byte{}
	for name, file := range s.files {
		data, err := file.Data()
		if err != nil {
			return nil, err
		}
		if file.Kind == htmlKind {
			name = s.where.Page(name)
		}
		out[name] = data
	}

	// A directory cannot search, so its page of results does: it has the same
	// entries as the index of a server.
	page, err := s.searchPage()
	if err != nil {
		return nil, err
	}
	entries, err := json.Marshal(s.index.entries)
	if err != nil {
		return nil, err
	}
	out[s.where.Page(Search)] = page
	out[assetPrefix+"search.js"] = searchScript
	out[assetPrefix+"entries.js"] = append(append([]byte("window.entries = "), entries...), ";\n"...)
	return out, nil
}

// searchPage returns the page of results of a directory. Its script fills it.
func (s *Site) searchPage() ([]byte, error) {
	var body strings.Builder
	if err := pageTemplate.ExecuteTemplate(&body, "static-results", s.where); err != nil {
		return nil, err
	}
	return s.execute(view{page: &page{Name: Search, Title: "Search", Address: s.where.Page(Search), Body: template.HTML(body.String())}}) // the template escapes all text
}

// Names lists the pages, sorted.
func (s *Site) Names() []string {
	names := map[string]bool{}
	for _, page := range s.pages {
		names[page.Name] = true
	}
	return slices.Sorted(maps.Keys(names))
}
