package docsite

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"html"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	tables "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// markdown reads and renders the documents: CommonMark with GitHub's tables. The
// policy of the pages allows no style attributes, so cells are aligned by class.
var markdown = sync.OnceValue(func() goldmark.Markdown {
	return goldmark.New(
		goldmark.WithExtensions(extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignNone))),
		goldmark.WithParserOptions(parser.WithAutoHeadingID()),
		goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(pageRenderer{}, 100))),
	)
})

// A heading is a place in a document that links can lead to.
type heading struct {
	Level int
	ID    string
	Text  string
}

// A document is one Markdown file, parsed.
type document struct {
	source []byte
	root   ast.Node
}

func parse(source string) document {
	raw := []byte(source)
	ids := parser.WithIDs(&headingIDs{used: map[string]bool{}})
	return document{raw, markdown().Parser().Parse(text.NewReader(raw), parser.WithContext(parser.NewContext(ids)))}
}

// prepare sets where links and pictures lead. It returns an error for what a page
// would show otherwise than its author meant it, or not at all.
func (d document) prepare(link func(target string) (string, error)) error {
	var found []error
	fail := func(format string, args ...any) { found = append(found, fmt.Errorf(format, args...)) }
	resolve := func(target string) []byte {
		address, err := link(target)
		if err != nil {
			fail("%w", err)
		}
		return []byte(address)
	}

	err := ast.Walk(d.root, func(node ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch node := node.(type) {
		case *ast.Link:
			node.Destination = resolve(string(node.Destination))
		case *ast.Image:
			node.Destination = resolve(string(node.Destination))

		case *ast.HTMLBlock:
			written := strings.TrimSpace(string(node.Lines().Value(d.source)))
			picture := pictureLine.FindStringSubmatch(written)
			switch {
			case picture != nil:
				node.SetAttributeString("src", resolve(picture[1]))
				node.SetAttributeString("alt", []byte(html.UnescapeString(picture[2])))
			case node.HTMLBlockType != ast.HTMLBlockType2:
				fail("HTML is not supported: %s", written)
			case !node.HasClosure() && !strings.Contains(written, "-->"):
				fail("a comment does not end: %s", written)
			}
		case *ast.RawHTML:
			// Elsewhere in a line it is shown as it is written.
			if node.PreviousSibling() == nil && node.Parent().Kind() == ast.KindParagraph {
				fail("HTML is not supported: %s", node.Segments.Value(d.source))
			}

		case *ast.FencedCodeBlock:
			if lines := node.Lines(); lines.Len() > 0 && !isFence(d.lineAt(lines.At(lines.Len()-1).Stop)) {
				fail("a block of code does not end: %s", d.lineAt(lines.At(0).Start))
			}

		case *tables.TableCell:
			if node.Alignment != tables.AlignNone {
				node.SetAttributeString("class", []byte(node.Alignment.String()))
			}
			// More cells than the table has columns are not among the row's.
			if lines := node.Lines(); node.NextSibling() == nil && lines.Len() > 0 {
				rest := strings.TrimSpace(d.lineAt(lines.At(0).Stop))
				if rest != "" && rest != "|" {
					fail("a row has more cells than its table has columns: %s", rest)
				}
			}
		}
		return ast.WalkContinue, nil
	})
	return errors.Join(append(found, err)...)
}

// pictureLine matches a picture with a width, which Markdown cannot say. The style
// of the pages decides the width here.
var pictureLine = regexp.MustCompile(`^<img src="([^"]+)" alt="([^"]+)"(?: width="\d+")?>$`)

// lineAt returns the source from a position to the end of the line.
func (d document) lineAt(position int) string {
	line, _, _ := bytes.Cut(d.source[position:], []byte("\n"))
	return string(line)
}

// isFence reports whether a line, perhaps in a quotation, ends a block of code.
func isFence(line string) bool {
	line = strings.TrimLeft(line, "> ")
	return strings.HasPrefix(line, "```") || strings.HasPrefix(line, "~~~")
}

// render returns the document as HTML. section is called at each heading, with what
// was written before it.
func (d document) render(section func(next heading, written string)) (string, error) {
	var out strings.Builder
	writer := bufio.NewWriter(&out)
	render := func(node ast.Node) error { return markdown().Renderer().Render(writer, d.source, node) }

	for block := d.root.FirstChild(); block != nil; block = block.NextSibling() {
		title, ok := block.(*ast.Heading)
		if !ok {
			if err := render(block); err != nil {
				return "", err
			}
			continue
		}

		before := out.String()
		id, _ := title.AttributeString("id")
		next := heading{Level: title.Level, ID: string(id.([]byte))}
		tag := "h" + strconv.Itoa(title.Level)
		_, _ = writer.WriteString("<" + tag + ` id="` + next.ID + `">`) // writing to memory does not fail
		_ = writer.Flush()

		begin := out.Len()
		for words := title.FirstChild(); words != nil; words = words.NextSibling() {
			if err := render(words); err != nil {
				return "", err
			}
		}
		next.Text = plain(out.String()[begin:])
		if title.Level > 1 {
			_, _ = writer.WriteString(` <a class="anchor" href="#` + next.ID + `" aria-label="Link to this section">#</a>`)
		}
		_, _ = writer.WriteString("</" + tag + ">\n")
		_ = writer.Flush()
		section(next, before)
	}
	return out.String(), nil
}

// headingIDs makes the ids of headings as GitHub does, so the same links work there
// and here.
type headingIDs struct{ used map[string]bool }

// Generate returns the id of a heading.
func (h *headingIDs) Generate(words []byte, _ ast.NodeKind) []byte {
	base := headingID(string(words))
	id := base
	for n := 1; h.used[id]; n++ {
		id = base + "-" + strconv.Itoa(n)
	}
	h.used[id] = true
	return []byte(id)
}

// Put notes an id that a document sets itself.
func (h *headingIDs) Put(id []byte) { h.used[string(id)] = true }

var notInID = regexp.MustCompile(`[^\p{L}\p{N} _-]`)

func headingID(words string) string {
	return strings.ReplaceAll(notInID.ReplaceAllString(strings.ToLower(words), ""), " ", "-")
}

// pageRenderer renders what pages show otherwise than goldmark does.
type pageRenderer struct{}

// RegisterFuncs says which parts of a document it renders.
func (pageRenderer) RegisterFuncs(register renderer.NodeRendererFuncRegisterer) {
	register.Register(ast.KindCodeBlock, renderCode)
	register.Register(ast.KindFencedCodeBlock, renderCode)
	register.Register(tables.KindTable, renderTable)
	register.Register(ast.KindHTMLBlock, renderHTMLBlock)
	register.Register(ast.KindRawHTML, renderRawHTML)
}

// renderCode writes a block of code. The focus lets a keyboard scroll what is too
// wide.
func renderCode(w util.BufWriter, source []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	if rows := transitions(string(node.Lines().Value(source))); rows != nil {
		writeTransitions(w, rows)
		return ast.WalkSkipChildren, nil
	}

	class := ""
	if fenced, ok := node.(*ast.FencedCodeBlock); ok && fenced.Language(source) != nil {
		class = ` class="language-` + html.EscapeString(string(fenced.Language(source))) + `"`
	}
	_, _ = w.WriteString(`<div class="code"><pre tabindex="0"><code` + class + ">")
	_, _ = w.Write(util.EscapeHTML(node.Lines().Value(source)))
	_, _ = w.WriteString("</code></pre></div>\n")
	return ast.WalkSkipChildren, nil
}

var transitionLine = regexp.MustCompile(`^(\S+) --> (\S+?)(?:: (.+))?$`)

// transitions returns the lines of a state diagram in Mermaid as from, to and when;
// nil for other code.
func transitions(code string) [][3]string {
	lines := strings.Split(strings.TrimSpace(code), "\n")
	if lines[0] != "stateDiagram-v2" {
		return nil
	}

	var rows [][3]string
	for _, line := range lines[1:] {
		found := transitionLine.FindStringSubmatch(strings.TrimSpace(line))
		if found == nil {
			return nil
		}
		rows = append(rows, [3]string(found[1:]))
	}
	return rows
}

// writeTransitions writes a state diagram as a table: the pages load nothing that
// could draw it.
func writeTransitions(w util.BufWriter, rows [][3]string) {
	_, _ = w.WriteString(`<div class="scroll" tabindex="0"><table class="states"><thead><tr><th>from</th><th>to</th><th>when</th></tr></thead><tbody>` + "\n")
	for _, row := range rows {
		from := stateName(row[0], "start")
		to := stateName(row[1], "end")
		_, _ = w.WriteString("<tr><td>" + from + "</td><td>" + to + "</td><td>" + html.EscapeString(row[2]) + "</td></tr>\n")
	}
	_, _ = w.WriteString("</tbody></table></div>\n")
}

// stateName returns a state of a diagram; Mermaid writes [*] for its start and end.
func stateName(name, outside string) string {
	if name == "[*]" {
		return outside
	}
	return "<code>" + html.EscapeString(name) + "</code>"
}

// renderTable writes a table so that it scrolls alone where it is too wide.
func renderTable(w util.BufWriter, _ []byte, _ ast.Node, entering bool) (ast.WalkStatus, error) {
	if entering {
		_, _ = w.WriteString(`<div class="scroll" tabindex="0">` + "<table>\n")
	} else {
		_, _ = w.WriteString("</table></div>\n")
	}
	return ast.WalkContinue, nil
}

// renderHTMLBlock writes a picture. Comments are for tests and tools; prepare
// refuses the rest.
func renderHTMLBlock(w util.BufWriter, _ []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	if src, ok := node.AttributeString("src"); ok && entering {
		alt, _ := node.AttributeString("alt")
		_, _ = w.WriteString(`<p><img src="`)
		_, _ = w.Write(util.EscapeHTML(src.([]byte)))
		_, _ = w.WriteString(`" alt="`)
		_, _ = w.Write(util.EscapeHTML(alt.([]byte)))
		_, _ = w.WriteString("\"></p>\n")
	}
	return ast.WalkContinue, nil
}

// renderRawHTML writes tags as text.
func renderRawHTML(w util.BufWriter, source []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	if entering {
		_, _ = w.Write(util.EscapeHTML(node.(*ast.RawHTML).Segments.Value(source)))
	}
	return ast.WalkSkipChildren, nil
}

var tags = regexp.MustCompile(`<[^>]*>`)

// plain returns the text of rendered words.
func plain(rendered string) string {
	return html.UnescapeString(tags.ReplaceAllString(rendered, ""))
}

var (
	tableOf  = regexp.MustCompile(`(?s)<table>.*?</table>`)
	textRun  = regexp.MustCompile(`>[^<]+<`)
	longWord = regexp.MustCompile(`[^\s<>]{18,}`)
	wordPart = regexp.MustCompile(`&[a-z0-9#]+;|[/,:=?._(){}@-]+|[a-z]{2,}`)
)

// breakLongWords lets addresses, metrics and names of tests in tables continue on
// the next line, and on phones names of settings too. A table is at least as wide as
// its longest words, and the columns that follow would be out of sight.
func breakLongWords(rendered string) string {
	return tableOf.ReplaceAllStringFunc(rendered, func(table string) string {
		return textRun.ReplaceAllStringFunc(table, func(run string) string {
			return longWord.ReplaceAllStringFunc(run, func(word string) string {
				if len(word) < 36 {
					return wordPart.ReplaceAllString(word, `$0<wbr class="tight">`)
				}
				return wordPart.ReplaceAllString(word, "$0<wbr>")
			})
		})
	})
}
