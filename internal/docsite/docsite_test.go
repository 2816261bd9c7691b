package docsite

import (
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

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

// TestADocumentIsRendered shows what pages add to Markdown: anchors as GitHub has
// them, links between pages, and tables and code that scroll.
func TestADocumentIsRendered(t *testing.T) {
	t.Parallel()
	const source = `# Keys & "limits"

<!-- run -->
A [page](webhooks.md#verify), a [file](../Makefile), **bold** and <https://example.com>.  
Next line.

## The ` + "`SECRET_KEY`" + `, twice
## The ` + "`SECRET_KEY`" + `, twice

| Name | Bytes | ` + "`a\\|b`" + ` |
|:-----|------:|---|
| key  | 32 |

<img src="pictures/tracking-phone.png" alt="A phone" width="300">

1. one
2. two

   ` + "```sh" + `
   echo "<a>"
   ` + "```" + `
`
	want := `<h1 id="keys--limits">Keys &amp; &quot;limits&quot;</h1>
<p>A <a href="/docs/webhooks#verify">page</a>, a <a href="` + repository + `Makefile">file</a>, <strong>bold</strong> and <a href="https://example.com">https://example.com</a>.<br>
Next line.</p>
<h2 id="the-secret_key-twice">The <code>SECRET_KEY</code>, twice <a class="anchor" href="#the-secret_key-twice" aria-label="Link to this section">#</a></h2>
<h2 id="the-secret_key-twice-1">The <code>SECRET_KEY</code>, twice <a class="anchor" href="#the-secret_key-twice-1" aria-label="Link to this section">#</a></h2>
<div class="scroll" tabindex="0"><table>
<thead>
<tr>
<th class="left">Name</th>
<th class="right">Bytes</th>
<th><code>a|b</code></th>
</tr>
</thead>
<tbody>
<tr>
<td class="left">key</td>
<td class="right">32</td>
<td></td>
</tr>
</tbody>
</table></div>
<p><img src="/docs/files/5/tracking-phone.png" alt="A phone"></p>
<ol>
<li>
<p>one</p>
</li>
<li>
<p>two</p>
<div class="code"><pre tabindex="0"><code class="language-sh">echo &quot;&lt;a&gt;&quot;
</code></pre></div>
</li>
</ol>
`
	s := &Site{where: Addresses{assets: map[string]string{"tracking-phone.png": "5"}}}
	made := &page{Source: "docs/x.md"}
	if err := s.renderDocument(made, source); err != nil {
		t.Fatal(err)
	}
	if string(made.Body) != want {
		t.Errorf("rendered as\n%s\nwant\n%s", made.Body, want)
	}
	if made.Title != `Keys & "limits"` || len(made.Contents) != 2 || len(made.sections) != 3 {
		t.Errorf("title %q, contents %v, sections %v", made.Title, made.Contents, made.sections)
	}
	if last := made.sections[2]; last.id != "the-secret_key-twice-1" || last.text != `Name Bytes a|b key 32 one two echo "<a>"` {
		t.Errorf("the search has %+v", last)
	}
}

// TestWhatAPageWouldLoseIsAnError fails for what authors would not see on the page.
func TestWhatAPageWouldLoseIsAnError(t *testing.T) {
	t.Parallel()
	for _, source := range []string{
		"# T\n\n<b>bold</b>",
		"# T\n\n<div>\nblock\n</div>",
		"# T\n\n```\nno end",
		"# T\n\n<!-- no end",
		"# T\n\n| a | b |\n|---|---|\n| 1 | 2 | 3 |",
		"# T\n\n![none](pictures/none.png)",
		"# T\n\n[outside](../../x.md)",
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

func TestTablesFitThePage(t *testing.T) {
	t.Parallel()
	long := "<table>\n<tr><td>postgres://user:password@host:5432/waybill?a=1&amp;b=2</td><td>short</td><td><code>OTEL_EXPORTER_OTLP_ENDPOINT</code></td></tr></table><p>" + strings.Repeat("long/", 20) + "</p>"
	got := breakLongWords(long)
	if plain(got) != plain(long) {
		t.Errorf("the text changed to %s", got)
	}
	for _, part := range []string{"password<wbr>@<wbr>host", "&amp;<wbr>b", "<td>short</td>", `OTEL_<wbr class="tight">EXPORTER_`, "<p>long/long/"} {
		if !strings.Contains(got, part) {
			t.Errorf("no %s in %s", part, got)
		}
	}
}

func TestStateDiagramsAreTables(t *testing.T) {
	t.Parallel()
	made := &page{Source: "docs/x.md"}
	source := "# States\n\n```mermaid\nstateDiagram-v2\n    [*] --> pending\n    pending --> ready: bought\n    ready --> [*]\n```\n"
	if err := (&Site{}).renderDocument(made, source); err != nil {
		t.Fatal(err)
	}
	for _, row := range []string{
		"<tr><td>start</td><td><code>pending</code></td><td></td></tr>",
		"<tr><td><code>pending</code></td><td><code>ready</code></td><td>bought</td></tr>",
		"<tr><td><code>ready</code></td><td>end</td><td></td></tr>",
	} {
		if !strings.Contains(string(made.Body), row) {
			t.Errorf("no %s in %s", row, made.Body)
		}
	}
}
