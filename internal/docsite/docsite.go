// Package docsite makes a website of the project's documents: the guides, the
// changelog, the catalogue of errors and the search. The service has it under
// /docs, and "waybill docs export" writes the same pages into a directory.
//
// Pages are rendered once, when the first is requested, and kept compressed. They
// are the same for everybody, need no sign-in, and load nothing from elsewhere.
package docsite

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"fmt"
	"html/template"
	"io"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/httpkit"
	"github.com/waybillhq/waybill/internal/web/parts"
)

// Policy is the Content-Security-Policy of the pages.
const Policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// repository is where files lead that are no pages.
const repository = "https://github.com/waybillhq/waybill/blob/main/"

// Names of pages that have no document of their own, and of the first page.
const (
	Home      = "guides"
	Reference = "reference"
	Errors    = "errors"
	Search    = "search"
)

// A Config is what a site is made of beside the documents.
type Config struct {
	Static bool // for a directory of files instead of a server

	Operations []httpkit.ReferenceGroup

	// Reference renders the page of the API's operations; nil leaves it out.
	Reference func(Addresses) ([]byte, error)

	// Spec is the OpenAPI document by the name of its file. A server has it
	// elsewhere, so only a directory needs it.
	Spec map[string][]byte
}

// A Site is the pages and the files that they need.
type Site struct {
	where  Addresses
	groups []group
	pages  []*page
	files  map[string]File // pages and other files by name
	index  *index
}

// A File is a page or a file that pages load.
type File struct {
	Kind string // media type
	Hash string

	data       []byte
	compressed bool
}

// Gzip returns the content compressed, and false if it is not kept so.
func (f File) Gzip() ([]byte, bool) { return f.data, f.compressed }

// Data returns the content.
func (f File) Data() ([]byte, error) {
	if !f.compressed {
		return f.data, nil
	}
	reader, err := gzip.NewReader(bytes.NewReader(f.data))
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	_, err = out.ReadFrom(reader)
	return out.Bytes(), err
}

func newFile(kind string, data []byte) File {
	sum := sha256.Sum256(data)
	file := File{Kind: kind, Hash: hex.EncodeToString(sum[:8]), data: data}
	if strings.HasPrefix(kind, "image/png") {
		return file
	}

	writer := compressors.Get().(*gzip.Writer)
	defer compressors.Put(writer)
	var small bytes.Buffer
	writer.Reset(&small)
	_, _ = writer.Write(data) // writing to memory does not fail
	_ = writer.Close()
	file.data = bytes.Clone(small.Bytes()) // without the rest of the buffer
	file.compressed = true
	return file
}

var compressors = sync.Pool{New: func() any {
	writer, _ := gzip.NewWriterLevel(io.Discard, gzip.BestCompression) // it fails only for an unknown level
	return writer
}}

// A group is a part of the navigation.
type group struct {
	Title string
	Names []string
}

// groups is the navigation. Every document is in it once.
var groups = []group{
	{"Quick starts", []string{Home, "quickstart-developer", "quickstart-warehouse", "quickstart-platform", "quickstart-operator"}},
	{"Shipping", []string{"first-hour", "batches", "bulk", "end-of-day", "returns", "locations", "routing", "rate-sheets", "tracking-page", "privacy"}},
	{"Developers", []string{Reference, Errors, "limits", "recipes", "sdks", "webhooks", "tracking", "addresses", "international", "service-points", "options", "batch-api", "sandbox", "emulators", "cli", "developers", "agents", "mcp", "moving-from-easypost", "versions"}},
	{"Carriers", []string{"carriers", "connections", "plugins", "adding-a-carrier"}},
	{"Operations", []string{"operations", "kubernetes", "configuration", "keys", "sign-in", "scale", "failover", "cells"}},
	{"Security and trust", []string{"security", "threat-model", "personal-data", "asvs", "proofs", "conformance"}},
	{"Project", []string{"changelog", "states", "testing"}},
}

// shortTitles are the titles in the navigation where those of the documents are
// too long for it.
var shortTitles = map[string]string{
	Home:                   "Documentation",
	Reference:              "API reference",
	"quickstart-developer": "A shop's developer",
	"quickstart-warehouse": "A warehouse",
	"quickstart-platform":  "A platform",
	"quickstart-operator":  "An operator",
}

// A page is one page of the site.
type page struct {
	Name     string
	Title    string
	Short    string // in the navigation
	Group    string
	Source   string // the document in the repository; empty for pages that are made of code
	Address  string
	Body     template.HTML
	Contents []heading // of the page's second level

	sections []section
}

// A section is what the search finds: a heading and what follows it.
type section struct {
	id    string
	title string
	text  string
}

// New renders the site.
func New(config Config) (*Site, error) {
	s := &Site{where: Addresses{static: config.Static}, groups: groups, files: map[string]File{}}
	if err := s.addFiles(); err != nil {
		return nil, err
	}

	for _, group := range groups {
		for _, name := range group.Names {
			made, err := s.newPage(name, config)
			if err != nil {
				return nil, fmt.Errorf("docsite: %s: %w", name, err)
			}
			if made == nil {
				continue
			}
			made.Group = group.Title
			s.pages = append(s.pages, made)
		}
	}

	s.index = newIndex(s.entries(config.Operations))
	for i, page := range s.pages {
		if page.Name == Reference {
			data, err := config.Reference(s.where)
			if err != nil {
				return nil, err
			}
			s.files[Reference] = newFile(htmlKind, data)
			continue
		}

		data, err := s.frame(page, s.neighbour(i, -1), s.neighbour(i, 1))
		if err != nil {
			return nil, fmt.Errorf("docsite: %s: %w", page.Name, err)
		}
		s.files[page.Name] = newFile(htmlKind, data)
		page.Body = "" // it is in the file now
		page.sections = nil
	}
	for name, data := range config.Spec {
		s.files[name] = newFile("application/octet-stream", data)
	}
	return s, nil
}

const htmlKind = "text/html; charset=utf-8"

// Page returns a page by its name.
func (s *Site) Page(name string) (File, bool) {
	if !slices.ContainsFunc(s.pages, func(p *page) bool { return p.Name == name }) {
		return File{}, false
	}
	file, ok := s.files[name]
	return file, ok
}

// Asset returns a file that pages load, by its hash and name.
func (s *Site) Asset(hash, name string) (File, bool) {
	file, ok := s.files[assetPrefix+name]
	return file, ok && file.Hash == hash
}

const assetPrefix = "files/"

// Addresses are where the parts of a site are: on a server, or relative to each
// other in a directory.
type Addresses struct {
	static bool
	assets map[string]string // hash by name
}

// Page returns the address of a page.
func (a Addresses) Page(name string) string {
	switch {
	case a.static && name == Home:
		return "index.html"
	case a.static:
		return name + ".html"
	case name == Reference:
		return "/docs"
	}
	return "/docs/" + name
}

// File returns the address of a file that pages load.
func (a Addresses) File(name string) string {
	if a.static {
		return assetPrefix + name
	}
	return "/docs/files/" + a.assets[name] + "/" + name
}

// Spec returns the address of the OpenAPI document.
func (a Addresses) Spec(name string) string {
	if a.static {
		return name
	}
	return "/" + name
}

// Dashboard returns the address of the dashboard; a directory has none.
func (a Addresses) Dashboard() string {
	if a.static {
		return ""
	}
	return "/app"
}

//go:embed docs.css
var ownStyle string

//go:embed docs.js
var ownScript []byte

//go:embed search.js
var searchScript []byte

// style is the look of the dashboard with what the pages add. The dashboard sets
// its theme by script; these pages follow the system without one, too.
func style(tokens string) string {
	_, dark, _ := strings.Cut(tokens, `:root[data-theme="dark"] {`)
	dark, _, _ = strings.Cut(dark, "}")
	return tokens + "\n@media (prefers-color-scheme: dark) {\n:root:not([data-theme]) {" + dark + "}\n}\n" + ownStyle
}

// addFiles adds what pages load.
func (s *Site) addFiles() error {
	s.where.assets = map[string]string{}
	add := func(name, kind string, data []byte) {
		file := newFile(kind, data)
		s.files[assetPrefix+name] = file
		s.where.assets[name] = file.Hash
	}

	tokens, err := parts.Look.ReadFile("look/tokens.css")
	if err != nil {
		return err
	}
	theme, err := parts.Look.ReadFile("look/theme.js")
	if err != nil {
		return err
	}
	logo, err := parts.Look.ReadFile("look/logo.svg")
	if err != nil {
		return err
	}
	add("docs.css", "text/css; charset=utf-8", []byte(style(string(tokens))))
	add("theme.js", "text/javascript; charset=utf-8", theme)
	add("docs.js", "text/javascript; charset=utf-8", ownScript)
	add("logo.svg", "image/svg+xml", logo)

	pictures, err := fs.Glob(waybill.Documents, "docs/pictures/*")
	if err != nil {
		return err
	}
	for _, name := range pictures {
		data, err := waybill.Documents.ReadFile(name)
		if err != nil {
			return err
		}
		add(path.Base(name), "image/png", data)
	}
	return nil
}

// sourceOf returns the document of a page, relative to the repository; empty for
// pages that have none.
func sourceOf(name string) string {
	switch name {
	case Home:
		return "docs/README.md"
	case "changelog":
		return "CHANGELOG.md"
	case "security":
		return "SECURITY.md"
	case Reference, Errors, Search:
		return ""
	}
	return "docs/" + name + ".md"
}

// newPage makes a page; nil if the site does not have it.
func (s *Site) newPage(name string, config Config) (*page, error) {
	made := &page{Name: name, Short: shortTitles[name], Source: sourceOf(name), Address: s.where.Page(name)}
	switch {
	case name == Reference && config.Reference == nil:
		return nil, nil
	case name == Reference:
		made.Title = "API reference"
		return made, nil
	case name == Errors:
		return made, s.renderErrors(made, config.Operations)
	}

	source, err := waybill.Documents.ReadFile(made.Source)
	if err != nil {
		return nil, err
	}
	if err := s.renderDocument(made, string(source)); err != nil {
		return nil, err
	}
	if made.Short == "" {
		made.Short, _, _ = strings.Cut(made.Title, ":")
	}
	return made, nil
}

// renderDocument fills the page from its document.
func (s *Site) renderDocument(made *page, source string) error {
	parsed := parse(source)
	err := parsed.prepare(func(target string) (string, error) { return s.target(path.Dir(made.Source), target) })
	if err != nil {
		return err
	}

	current, begin := heading{}, 0
	end := func(written string) {
		if current.Text != "" {
			made.sections = append(made.sections, section{id: current.ID, title: current.Text, text: textOf(written[begin:])})
		}
		begin = len(written)
	}
	rendered, err := parsed.render(func(next heading, written string) {
		end(written)
		current = next
		switch {
		case next.Level == 1 && made.Title == "":
			made.Title = next.Text
		case next.Level == 2:
			made.Contents = append(made.Contents, next)
		}
	})
	if err != nil {
		return err
	}
	end(rendered)

	if made.Title == "" {
		return fmt.Errorf("the document has no title")
	}
	made.Body = template.HTML(breakLongWords(rendered)) // goldmark escapes all text
	return nil
}

var (
	ownHeading = regexp.MustCompile(`^<h\d.*?</h\d>`)
	blockEnd   = regexp.MustCompile(`</(?:p|li|td|th|pre|div)>`)
)

// textOf returns the text of a section without its heading.
func textOf(rendered string) string {
	rendered = ownHeading.ReplaceAllString(rendered, "")
	return strings.Join(strings.Fields(plain(blockEnd.ReplaceAllString(rendered, " "))), " ")
}

// target returns where a link of a document in the folder leads.
func (s *Site) target(folder, target string) (string, error) {
	if strings.HasPrefix(target, "https://") || strings.HasPrefix(target, "http://") || strings.HasPrefix(target, "mailto:") || strings.HasPrefix(target, "#") {
		return target, nil
	}
	file, anchor, hasAnchor := strings.Cut(target, "#")
	if hasAnchor {
		anchor = "#" + anchor
	}

	file = path.Join(folder, file)
	if strings.HasPrefix(file, "../") {
		return "", fmt.Errorf("%s is outside the repository", target)
	}
	for _, group := range groups {
		for _, name := range group.Names {
			if sourceOf(name) == file {
				return s.where.Page(name) + anchor, nil
			}
		}
	}
	switch {
	case strings.HasPrefix(file, "docs/pictures/"):
		if s.where.assets[path.Base(file)] == "" {
			return "", fmt.Errorf("there is no picture %s", file)
		}
		return s.where.File(path.Base(file)), nil
	case file == "api/openapi.yaml" || file == "api/openapi.json":
		return s.where.Spec(path.Base(file)), nil
	}
	return repository + file + anchor, nil
}

// neighbour returns the page before or after the one at i.
func (s *Site) neighbour(i, step int) *page {
	if i += step; i < 0 || i >= len(s.pages) {
		return nil
	}
	return s.pages[i]
}

//go:embed page.html
var pageHTML string

var pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{
	"prose":  Prose,
	"status": statusText,
}).Parse(pageHTML))

// A view is what the frame shows.
type view struct {
	*page
	Where          Addresses
	Groups         []navigation
	Query          string
	Previous, Next *page
	Edit           string // the document in the repository
	HasReference   bool
}

// A navigation is a group of links.
type navigation struct {
	Title string
	Pages []*page
}

// navigation returns the links to all pages.
func (s *Site) navigation() []navigation {
	var list []navigation
	for _, page := range s.pages {
		if n := len(list); n == 0 || list[n-1].Title != page.Group {
			list = append(list, navigation{Title: page.Group})
		}
		last := &list[len(list)-1]
		last.Pages = append(last.Pages, page)
	}
	return list
}

// frame renders a whole page.
func (s *Site) frame(shown *page, previous, next *page) ([]byte, error) {
	return s.execute(view{page: shown, Previous: previous, Next: next})
}

func (s *Site) execute(v view) ([]byte, error) {
	v.Where = s.where
	v.Groups = s.navigation()
	v.HasReference = slices.ContainsFunc(s.pages, func(p *page) bool { return p.Name == Reference })
	if v.Source != "" {
		v.Edit = repository + v.Source
	}
	var out bytes.Buffer
	err := pageTemplate.ExecuteTemplate(&out, "page", v)
	return out.Bytes(), err
}
