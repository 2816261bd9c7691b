package docsite

import (
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/renderer/html"

	"github.com/waybillhq/waybill"
)

func site(t *testing.T, config Config) *Site {
	t.Helper()
	s, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestEveryDocumentIsAPage fails for a document that the navigation does not have.
func TestEveryDocumentIsAPage(t *testing.T) {
	t.Parallel()
	var listed []string
	for _, group := range groups {
		for _, name := range group.Names {
			if source := sourceOf(name); source != "" {
				listed = append(listed, source)
			}
		}
	}
	slices.Sort(listed)

	var documents []string
	err := fs.WalkDir(waybill.Documents, ".", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && path.Ext(name) == ".md" {
			documents = append(documents, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(documents)
	if !slices.Equal(listed, documents) {
		t.Errorf("the navigation has %q\nthe documents are %q", listed, documents)
	}
}

var (
	comment   = regexp.MustCompile(`(?s)<!--.*?-->\n?`)
	between   = regexp.MustCompile(`>\s+<`)
	ids       = regexp.MustCompile(` (?:id|class|tabindex|style)="[^"]*"`)
	anchors   = regexp.MustCompile(` <a class="anchor"[^>]*>#</a>`)
	wrappers  = regexp.MustCompile(`</?div[^>]*>`)
	itemSpace = regexp.MustCompile(`\s*(</?(?:li|ul|ol)>)\s*`)
)

// comparable leaves out what the pages add, and spaces that nobody sees.
func comparable(text string) string {
	text = anchors.ReplaceAllString(text, "")
	text = wrappers.ReplaceAllString(text, "")
	text = ids.ReplaceAllString(text, "")
	text = itemSpace.ReplaceAllString(text, "$1")
	return strings.TrimSpace(between.ReplaceAllString(text, "><"))
}

// TestPagesRenderAsGoldmarkRendersThem compares our renderer with a complete
// implementation of CommonMark, which the binary has no room for.
func TestPagesRenderAsGoldmarkRendersThem(t *testing.T) {
	t.Parallel()
	judge := goldmark.New(goldmark.WithExtensions(extension.Table), goldmark.WithRendererOptions(html.WithUnsafe()))

	compared := 0
	for _, group := range groups {
		for _, name := range group.Names {
			if sourceOf(name) == "" {
				continue
			}
			data, err := waybill.Documents.ReadFile(sourceOf(name))
			if err != nil {
				t.Fatal(err)
			}
			source := string(data)

			parsed, err := parse(source)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			r := &renderer{}
			r.render(parsed.blocks, false)
			if r.err != nil {
				t.Errorf("%s: %v", name, r.err)
			}

			// A picture with a width is HTML to the judge and a picture to us.
			source = regexp.MustCompile(`<img src="([^"]+)" alt="([^"]+)"[^>]*>`).ReplaceAllString(comment.ReplaceAllString(source, ""), "![$2]($1)")
			var want strings.Builder
			if err := judge.Convert([]byte(source), &want); err != nil {
				t.Fatal(err)
			}

			compared++
			got, wanted := comparable(r.out.String()), comparable(want.String())
			if got != wanted {
				at := 0
				for at < min(len(got), len(wanted)) && got[at] == wanted[at] {
					at++
				}
				t.Errorf("%s differs:\nours     %.200q\ngoldmark %.200q", name, got[max(at-80, 0):], wanted[max(at-80, 0):])
			}
		}
	}
	if compared < 40 {
		t.Errorf("only %d documents were compared", compared)
	}
}

func TestWhatTheRendererDoesNotKnowIsAnError(t *testing.T) {
	t.Parallel()
	for _, source := range []string{
		"# T\n\n<b>bold</b>",
		"# T\n\n```\nno end",
		"# T\n\n<!-- no end",
		"# T\n\n| a | b |\n|---|---|\n| 1 | 2 | 3 |",
		"# T\n\nline  \nbreak",
		"# T\n\n[x](a \"title\")",
		"no title",
	} {
		s := &Site{}
		if err := s.renderDocument(&page{Source: "docs/x.md"}, source); err == nil {
			t.Errorf("%q is rendered", source)
		}
	}
}

func TestTextIsEscaped(t *testing.T) {
	t.Parallel()
	made := &page{Source: "docs/x.md"}
	s := &Site{}
	if err := s.renderDocument(made, "# A <script> & \"b\"\n\n`<script>` and <script>alert(1)</script>\n\n```\n<script>\n```"); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(made.Body), "<script>") {
		t.Errorf("the page has\n%s", made.Body)
	}
}

func TestTheCatalogueListsEachStatusOnce(t *testing.T) {
	t.Parallel()
	last := 0
	for _, group := range errorsByStatus(nil) {
		if group.Status <= last {
			t.Errorf("%d comes after %d", group.Status, last)
		}
		last = group.Status
	}
}

// wanted are queries with the page that must come first.
var wanted = map[string]string{
	"rate_limited":                          "errors#rate_limited",
	"verify webhook":                        "webhooks",
	"failover":                              "failover",
	"rotate SECRET_KEY":                     "keys",
	"back-test":                             "routing",
	"EasyPost":                              "moving-from-easypost",
	"helm":                                  "kubernetes",
	"labels for thousands of orders by API": "batch-api",
	"Django":                                "recipes",
	"personal data erasures":                "privacy",
}

func TestTheSearchFindsWhatPeopleLookFor(t *testing.T) {
	t.Parallel()
	s := site(t, Config{})
	for query, want := range wanted {
		found := s.index.find(query)
		if len(found) == 0 || !strings.HasPrefix(found[0].Address, "/docs/"+want) {
			t.Errorf("%q finds %q, want %s first", query, addressesOf(found), want)
		}
	}
	for _, query := range []string{"zzzzqx", "", "  ", "&&&", strings.Repeat("zq", 5000)} {
		if found := s.index.find(query); len(found) > 0 {
			t.Errorf("%.20q finds %q", query, addressesOf(found))
		}
	}
	if found := s.index.find(strings.Repeat("the shipment ", 100)); len(found) == 0 || len(found) > maxResults {
		t.Errorf("%d results", len(found))
	}
}

func addressesOf(found []Result) (list []string) {
	for _, result := range found {
		list = append(list, result.Address)
	}
	return list
}

// TestTheFilesFindTheSame runs the search of the exported files.
func TestTheFilesFindTheSame(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("node"); err != nil && os.Getenv("CI") == "" {
		t.Skip("node is not installed")
	}
	files, err := site(t, Config{Static: true}).Files()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, name := range []string{"entries.js", "search.js"} {
		if err := os.WriteFile(filepath.Join(dir, name), files["files/"+name], 0o600); err != nil {
			t.Fatal(err)
		}
	}

	const program = `
globalThis.window = globalThis
require('./entries.js')
delete globalThis.window
const find = require('./search.js')
console.log(JSON.stringify(process.argv.slice(1).map((query) => (find(entries, query)[0] || { Address: '' }).Address)))`
	queries := append(slices.Sorted(maps.Keys(wanted)), "zzzzqx", "  ")
	cmd := exec.CommandContext(t.Context(), "node", append([]string{"-e", program}, queries...)...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var first []string
	if err := json.Unmarshal(out, &first); err != nil || len(first) != len(queries) {
		t.Fatalf("%v: %s", err, out)
	}
	for i, query := range queries {
		name, anchor, _ := strings.Cut(wanted[query], "#")
		want := name + ".html"
		switch {
		case anchor != "":
			want += "#" + anchor
		case name == "":
			want = ""
		}
		if got := first[i]; got != want && (anchor != "" || name == "" || !strings.HasPrefix(got, want+"#")) {
			t.Errorf("%q finds %q, want %q", query, got, want)
		}
	}
}

func TestAQueryIsShownAsText(t *testing.T) {
	t.Parallel()
	s := site(t, Config{})
	for _, query := range []string{`"><script>alert(1)</script>`, "webhook <b>", "\xff\xfe label"} {
		page, err := s.Find(query)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(page), "<script>alert") || strings.Contains(string(page), "<b>\"") {
			t.Errorf("%q is part of the page", query)
		}
	}
}

func BenchmarkNew(b *testing.B) {
	for b.Loop() {
		if _, err := New(Config{}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkFind(b *testing.B) {
	s, err := New(Config{})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		_, _ = s.Find("shi lab tra car add pri rou who")
	}
}
