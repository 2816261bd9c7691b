package docsite

import (
	"fmt"
	"html"
	"regexp"
	"strconv"
	"strings"
)

// A document is one Markdown file, parsed.
//
// The parser knows the part of CommonMark and of GitHub's tables that the
// documents use, and fails on what it does not know instead of guessing.
// TestPagesRenderAsGoldmarkRendersThem compares its output for every document
// with that of a complete implementation, which would cost 0.8 MB of the binary.
type document struct {
	blocks   []block
	headings []heading
}

// A heading is a place in a document that links can lead to.
type heading struct {
	Level int
	ID    string
	HTML  string // its words, rendered
	Text  string // its words
}

type blockKind int

const (
	paragraph blockKind = iota
	headingBlock
	codeBlock
	listBlock
	quoteBlock
	tableBlock
	ruleBlock
)

// A block is a part of a document. Which fields it has depends on its kind.
type block struct {
	kind     blockKind
	text     string     // paragraph, heading: the source of its words; code: the code
	level    int        // heading
	id       string     // heading
	language string     // code
	ordered  bool       // list
	start    int        // list: number of its first item
	loose    bool       // list: its items are paragraphs
	items    [][]block  // list; quote: one
	head     []string   // table
	align    []string   // table: "", "left", "center" or "right"
	rows     [][]string // table
}

var (
	headingLine   = regexp.MustCompile(`^(#{1,6}) +(.*?)(?: +#+)? *$`)
	fenceLine     = regexp.MustCompile("^ {0,3}(```+|~~~+) *([^`]*)$")
	itemLine      = regexp.MustCompile(`^( {0,3})([-*+]|\d{1,9}[.)])( +)(\S.*)$`)
	ruleLine      = regexp.MustCompile(`^ {0,3}(?:-{3,}|\*{3,}|_{3,}) *$`)
	delimiterLine = regexp.MustCompile(`^\|?(?: *:?-+:? *\|)+(?: *:?-+:? *)?$`)
	pictureLine   = regexp.MustCompile(`^<img src="([^"]+)" alt="([^"]+)"(?: width="\d+")?>$`)
)

// parse reads a document.
func parse(source string) (*document, error) {
	d := &document{}
	blocks, err := d.parseBlocks(strings.Split(strings.ReplaceAll(source, "\r\n", "\n"), "\n"))
	d.blocks = blocks
	return d, err
}

// parseBlocks reads the lines of a document, an item or a quotation.
func (d *document) parseBlocks(lines []string) ([]block, error) {
	var blocks []block
	for at := 0; at < len(lines); {
		line := lines[at]
		switch {
		case strings.TrimSpace(line) == "":
			at++

		case strings.HasPrefix(line, "<!--"):
			// Comments mark what tests execute and what is generated.
			for !strings.Contains(lines[at], "-->") {
				if at++; at == len(lines) {
					return nil, fmt.Errorf("a comment does not end: %s", line)
				}
			}
			at++

		case pictureLine.MatchString(line):
			picture := pictureLine.FindStringSubmatch(line)
			blocks = append(blocks, block{kind: paragraph, text: "![" + picture[2] + "](" + picture[1] + ")"})
			at++

		case strings.HasPrefix(line, "<"+"!"), htmlLine.MatchString(line):
			return nil, fmt.Errorf("HTML is not supported: %s", line)

		case headingLine.MatchString(line):
			found := headingLine.FindStringSubmatch(line)
			blocks = append(blocks, d.newHeading(len(found[1]), found[2]))
			at++

		case fenceLine.MatchString(line):
			code, next, err := readFence(lines, at)
			if err != nil {
				return nil, err
			}
			blocks = append(blocks, code)
			at = next

		case ruleLine.MatchString(line):
			blocks = append(blocks, block{kind: ruleBlock})
			at++

		case strings.HasPrefix(line, ">"):
			var inner []string
			for at < len(lines) && strings.HasPrefix(lines[at], ">") {
				inner = append(inner, strings.TrimPrefix(strings.TrimPrefix(lines[at], ">"), " "))
				at++
			}
			quoted, err := d.parseBlocks(inner)
			if err != nil {
				return nil, err
			}
			blocks = append(blocks, block{kind: quoteBlock, items: [][]block{quoted}})

		case isTable(lines, at):
			table, next, err := readTable(lines, at)
			if err != nil {
				return nil, err
			}
			blocks = append(blocks, table)
			at = next

		case itemLine.MatchString(line):
			list, next, err := d.readList(lines, at)
			if err != nil {
				return nil, err
			}
			blocks = append(blocks, list)
			at = next

		case strings.HasPrefix(line, "    "):
			next := at
			for next < len(lines) && (strings.HasPrefix(lines[next], "    ") || strings.TrimSpace(lines[next]) == "") {
				next++
			}
			code := make([]string, 0, next-at)
			for _, part := range lines[at:next] {
				code = append(code, strings.TrimPrefix(part, "    "))
			}
			blocks = append(blocks, block{kind: codeBlock, text: strings.TrimRight(strings.Join(code, "\n"), "\n ") + "\n"})
			at = next

		default:
			next := at + 1
			for next < len(lines) && !startsBlock(lines, next) {
				next++
			}
			words := make([]string, 0, next-at)
			for _, part := range lines[at:next] {
				words = append(words, strings.TrimLeft(part, " "))
			}
			blocks = append(blocks, block{kind: paragraph, text: strings.TrimRight(strings.Join(words, "\n"), " \n")})
			at = next
		}
	}
	return blocks, nil
}

// htmlLine matches a line that starts with a tag. An address in angle brackets
// is not a tag.
var htmlLine = regexp.MustCompile(`^</?[a-zA-Z][a-zA-Z0-9-]*(?:[ />]|$)`)

// startsBlock reports whether a line ends the paragraph before it.
func startsBlock(lines []string, at int) bool {
	line := lines[at]
	if strings.TrimSpace(line) == "" || strings.HasPrefix(line, ">") || strings.HasPrefix(line, "<!--") ||
		headingLine.MatchString(line) || fenceLine.MatchString(line) || ruleLine.MatchString(line) || isTable(lines, at) {
		return true
	}

	// A number in the middle of a sentence may stand at the beginning of a line:
	// only 1 starts a list there.
	item := itemLine.FindStringSubmatch(line)
	return item != nil && (!isOrdered(item[2]) || item[2][:len(item[2])-1] == "1")
}

func isOrdered(marker string) bool { return len(marker) > 1 }

// readFence reads a block of code between fences.
func readFence(lines []string, at int) (block, int, error) {
	opening := fenceLine.FindStringSubmatch(lines[at])
	indent := len(lines[at]) - len(strings.TrimLeft(lines[at], " "))

	code := block{kind: codeBlock, language: strings.TrimSpace(opening[2])}
	for next := at + 1; next < len(lines); next++ {
		closing := strings.TrimSpace(lines[next])
		if strings.HasPrefix(closing, opening[1]) && strings.Trim(closing, opening[1][:1]) == "" {
			return code, next + 1, nil
		}

		line := lines[next]
		for range indent {
			line = strings.TrimPrefix(line, " ")
		}
		code.text += line + "\n"
	}
	return code, 0, fmt.Errorf("a block of code does not end: %s", lines[at])
}

// isTable reports whether a table begins at the line.
func isTable(lines []string, at int) bool {
	return strings.HasPrefix(lines[at], "|") && at+1 < len(lines) && delimiterLine.MatchString(strings.TrimSpace(lines[at+1]))
}

func readTable(lines []string, at int) (block, int, error) {
	table := block{kind: tableBlock, head: cellsOf(lines[at])}
	for _, delimiter := range cellsOf(lines[at+1]) {
		align := ""
		switch {
		case strings.HasPrefix(delimiter, ":") && strings.HasSuffix(delimiter, ":"):
			align = "center"
		case strings.HasPrefix(delimiter, ":"):
			align = "left"
		case strings.HasSuffix(delimiter, ":"):
			align = "right"
		}
		table.align = append(table.align, align)
	}
	if len(table.align) != len(table.head) {
		return table, 0, fmt.Errorf("a table has %d columns and %d delimiters: %s", len(table.head), len(table.align), lines[at])
	}

	next := at + 2
	for ; next < len(lines) && strings.HasPrefix(lines[next], "|"); next++ {
		cells := cellsOf(lines[next])
		if len(cells) > len(table.head) {
			return table, 0, fmt.Errorf("a row has %d cells, its table %d columns: %s", len(cells), len(table.head), lines[next])
		}
		for len(cells) < len(table.head) {
			cells = append(cells, "")
		}
		table.rows = append(table.rows, cells)
	}
	return table, next, nil
}

// cellsOf splits a row of a table. A bar after a backslash belongs to its cell.
func cellsOf(line string) []string {
	line = strings.TrimSpace(line)
	line = strings.TrimPrefix(line, "|")
	if strings.HasSuffix(line, "|") && !strings.HasSuffix(line, `\|`) {
		line = strings.TrimSuffix(line, "|")
	}

	var cells []string
	begin := 0
	for i := range len(line) {
		if line[i] == '|' && (i == 0 || line[i-1] != '\\') {
			cells = append(cells, line[begin:i])
			begin = i + 1
		}
	}
	cells = append(cells, line[begin:])

	for i, cell := range cells {
		cells[i] = strings.ReplaceAll(strings.TrimSpace(cell), `\|`, "|")
	}
	return cells
}

// readList reads the items of a list; an item has the lines that are indented
// like its first word.
func (d *document) readList(lines []string, at int) (block, int, error) {
	first := itemLine.FindStringSubmatch(lines[at])
	list := block{kind: listBlock, ordered: isOrdered(first[2])}
	if list.ordered {
		list.start, _ = strconv.Atoi(first[2][:len(first[2])-1]) // the expression allows digits alone
	}

	// Items of one list have the same kind of marker.
	isItem := func(line string) bool {
		item := itemLine.FindStringSubmatch(line)
		return item != nil && item[2][len(item[2])-1] == first[2][len(first[2])-1]
	}

	for at < len(lines) && isItem(lines[at]) {
		item := itemLine.FindStringSubmatch(lines[at])
		width := len(item[1]) + len(item[2]) + len(item[3])
		indent := strings.Repeat(" ", width)
		inner := []string{item[4]}

		next := at + 1
		blank := false // the line before is empty
		for ; next < len(lines); next++ {
			line := lines[next]
			if strings.TrimSpace(line) == "" {
				blank = true
				inner = append(inner, "")
				continue
			}

			indented := strings.HasPrefix(line, indent)
			if !indented && (blank || startsBlock(lines, next) || isItem(line)) {
				break
			}
			inner = append(inner, strings.TrimPrefix(line, indent))
			blank = false
		}

		parsed, err := d.parseBlocks(inner)
		if err != nil {
			return list, 0, err
		}
		list.items = append(list.items, parsed)
		if hasGap(inner, parsed) {
			list.loose = true
		}

		// An empty line between two items makes the list loose; one after the
		// last item does not.
		if blank && next < len(lines) && isItem(lines[next]) {
			list.loose = true
		}
		at = next
	}
	return list, at, nil
}

// hasGap reports whether an empty line lies between two blocks of an item.
func hasGap(lines []string, blocks []block) bool {
	text := strings.TrimRight(strings.Join(lines, "\n"), "\n")
	if len(blocks) < 2 {
		return false
	}
	inCode := false
	for line := range strings.SplitSeq(text, "\n") {
		if fenceLine.MatchString(line) {
			inCode = !inCode
		}
		if !inCode && strings.TrimSpace(line) == "" {
			return true
		}
	}
	return false
}

// newHeading makes the id of a heading as GitHub does, so the same links work
// there and here.
func (d *document) newHeading(level int, text string) block {
	id := headingID(text)
	for n, candidate := 1, id; ; n++ {
		if !d.hasID(candidate) {
			id = candidate
			break
		}
		candidate = id + "-" + strconv.Itoa(n)
	}

	d.headings = append(d.headings, heading{Level: level, ID: id})
	return block{kind: headingBlock, level: level, text: text, id: id}
}

func (d *document) hasID(id string) bool {
	for _, known := range d.headings {
		if known.ID == id {
			return true
		}
	}
	return false
}

var notInID = regexp.MustCompile(`[^\p{L}\p{N} _-]`)

func headingID(text string) string {
	return strings.ReplaceAll(notInID.ReplaceAllString(strings.ToLower(text), ""), " ", "-")
}

// A renderer writes a document as HTML.
type renderer struct {
	out strings.Builder

	// link returns where a link or a picture of the document leads.
	link func(target string) (string, error)

	// section is called at each heading, with what was written since the last.
	section func(heading heading, written string)

	err error
}

// render writes the blocks. tight leaves the tags of paragraphs out.
func (r *renderer) render(blocks []block, tight bool) {
	for i, b := range blocks {
		switch b.kind {
		case paragraph:
			if tight {
				r.out.WriteString(r.inline(b.text))
				if i < len(blocks)-1 {
					r.out.WriteString("\n")
				}
				continue
			}
			r.out.WriteString("<p>" + r.inline(b.text) + "</p>\n")

		case headingBlock:
			words := r.inline(b.text)
			if r.section != nil {
				r.section(heading{Level: b.level, ID: b.id, HTML: words, Text: plain(words)}, r.out.String())
			}
			tag := "h" + strconv.Itoa(b.level)
			anchor := ""
			if b.level > 1 {
				anchor = ` <a class="anchor" href="#` + b.id + `" aria-label="Link to this section">#</a>`
			}
			r.out.WriteString("<" + tag + ` id="` + b.id + `">` + words + anchor + "</" + tag + ">\n")

		case codeBlock:
			r.renderCode(b)

		case listBlock:
			r.renderList(b)

		case quoteBlock:
			r.out.WriteString("<blockquote>\n")
			r.render(b.items[0], false)
			r.out.WriteString("</blockquote>\n")

		case tableBlock:
			r.renderTable(b)

		case ruleBlock:
			r.out.WriteString("<hr>\n")
		}
	}
}

func (r *renderer) renderCode(b block) {
	class := ""
	if b.language != "" {
		class = ` class="language-` + html.EscapeString(b.language) + `"`
	}
	// The focus lets a keyboard scroll what is too wide.
	r.out.WriteString(`<div class="code"><pre tabindex="0"><code` + class + ">" + escape(b.text) + "</code></pre></div>\n")
}

func (r *renderer) renderList(b block) {
	tag, start := "ul", ""
	if b.ordered {
		tag = "ol"
		if b.start != 1 {
			start = ` start="` + strconv.Itoa(b.start) + `"`
		}
	}

	r.out.WriteString("<" + tag + start + ">\n")
	for _, item := range b.items {
		r.out.WriteString("<li>")
		if b.loose {
			r.out.WriteString("\n")
		}
		r.render(item, !b.loose)
		r.out.WriteString("</li>\n")
	}
	r.out.WriteString("</" + tag + ">\n")
}

func (r *renderer) renderTable(b block) {
	row := func(tag string, cells []string) {
		r.out.WriteString("<tr>\n")
		for i, cell := range cells {
			class := ""
			if b.align[i] != "" {
				class = ` class="` + b.align[i] + `"`
			}
			r.out.WriteString("<" + tag + class + ">" + r.inline(cell) + "</" + tag + ">\n")
		}
		r.out.WriteString("</tr>\n")
	}

	r.out.WriteString(`<div class="scroll" tabindex="0">` + "<table>\n<thead>\n")
	row("th", b.head)
	r.out.WriteString("</thead>\n")
	if len(b.rows) > 0 {
		r.out.WriteString("<tbody>\n")
		for _, cells := range b.rows {
			row("td", cells)
		}
		r.out.WriteString("</tbody>\n")
	}
	r.out.WriteString("</table></div>\n")
}

// escape escapes text for HTML.
func escape(text string) string { return escaper.Replace(text) }

var escaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;")

const punctuation = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"

// inline renders the words of a paragraph: code, links, pictures, emphasis.
func (r *renderer) inline(text string) string {
	var out strings.Builder
	for i := 0; i < len(text); {
		rest := text[i:]
		switch {
		case rest[0] == '\\' && len(rest) > 1 && strings.IndexByte(punctuation, rest[1]) >= 0:
			out.WriteString(escape(rest[1:2]))
			i += 2

		case rest[0] == '`':
			code, length := codeSpan(rest)
			out.WriteString(code)
			i += length

		case strings.HasPrefix(rest, "!["):
			rendered, length := r.linkAt(rest[1:], true)
			if length == 0 {
				out.WriteString("!")
				i++
				continue
			}
			out.WriteString(rendered)
			i += 1 + length

		case rest[0] == '[':
			rendered, length := r.linkAt(rest, false)
			if length == 0 {
				out.WriteString("[")
				i++
				continue
			}
			out.WriteString(rendered)
			i += length

		case strings.HasPrefix(rest, "<https://"):
			end := strings.IndexByte(rest, '>')
			if end < 0 {
				r.fail("an address does not end: %s", rest)
				return ""
			}
			address := escape(rest[1:end])
			out.WriteString(`<a href="` + address + `">` + address + `</a>`)
			i += end + 1

		case mailAddress.MatchString(rest):
			address := escape(mailAddress.FindStringSubmatch(rest)[1])
			out.WriteString(`<a href="mailto:` + address + `">` + address + `</a>`)
			i += strings.IndexByte(rest, '>') + 1

		case rest[0] == '*':
			rendered, length := r.emphasis(text, i)
			out.WriteString(rendered)
			i += length

		case strings.HasPrefix(rest, "  \n"):
			r.fail("hard line breaks are not supported: %q", text)
			return ""

		default:
			out.WriteString(escape(rest[:1]))
			i++
		}
	}
	return out.String()
}

// mailAddress matches a mail address in angle brackets, which is a link.
var mailAddress = regexp.MustCompile(`^<([\w.+-]+@[\w-]+(?:\.[\w-]+)+)>`)

// codeSpan renders code between backquotes. Backquotes that nothing closes are
// text.
func codeSpan(text string) (rendered string, length int) {
	ticks := len(text) - len(strings.TrimLeft(text, "`"))
	for end := ticks; end < len(text); {
		at := strings.IndexByte(text[end:], '`')
		if at < 0 {
			break
		}
		end += at
		closing := len(text[end:]) - len(strings.TrimLeft(text[end:], "`"))
		if closing != ticks {
			end += closing
			continue
		}

		code := strings.ReplaceAll(text[ticks:end], "\n", " ")
		if strings.HasPrefix(code, " ") && strings.HasSuffix(code, " ") && strings.TrimSpace(code) != "" {
			code = code[1 : len(code)-1]
		}
		return "<code>" + escape(code) + "</code>", end + closing
	}
	return text[:ticks], ticks
}

// linkAt renders the link or the picture at the beginning of text, which starts
// with "["; its length is 0 if there is none.
func (r *renderer) linkAt(text string, isPicture bool) (rendered string, length int) {
	end := closingBracket(text)
	if end < 0 || end+1 >= len(text) || text[end+1] != '(' {
		return "", 0
	}
	size := strings.IndexByte(text[end+2:], ')')
	if size < 0 {
		return "", 0
	}
	target := text[end+2 : end+2+size]
	if strings.ContainsAny(target, " \n\"<(") {
		r.fail("a link has a title, a space or a bracket: %s", target)
		return "", 0
	}

	address := target
	if r.link != nil {
		var err error
		if address, err = r.link(target); err != nil {
			r.fail("%w", err)
		}
	}
	words := r.inline(text[1:end])
	if isPicture {
		return `<img src="` + escape(address) + `" alt="` + escape(plain(words)) + `">`, end + 3 + size
	}
	return `<a href="` + escape(address) + `">` + words + "</a>", end + 3 + size
}

// closingBracket finds the bracket that closes the first one. Brackets in code
// do not count.
func closingBracket(text string) int {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '`':
			_, length := codeSpan(text[i:])
			i += length - 1
		case '[':
			depth++
		case ']':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

// emphasis renders *emphasis* and **strong emphasis** at text[i:]. A star beside
// spaces is a star.
func (r *renderer) emphasis(text string, i int) (rendered string, length int) {
	marker, tag := "*", "em"
	if strings.HasPrefix(text[i:], "**") {
		marker, tag = "**", "strong"
	}

	inner := text[i+len(marker):]
	if inner != "" && inner[0] != ' ' && inner[0] != '\n' {
		for end := 0; end < len(inner); end++ {
			switch {
			case inner[end] == '\\':
				end++
			case inner[end] == '`':
				_, size := codeSpan(inner[end:])
				end += size - 1
			case end > 0 && strings.HasPrefix(inner[end:], marker) && inner[end-1] != ' ' && inner[end-1] != '\n':
				return "<" + tag + ">" + r.inline(inner[:end]) + "</" + tag + ">", end + 2*len(marker)
			}
		}
	}
	return marker, len(marker)
}

// fail keeps the first error.
func (r *renderer) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf(format, args...)
	}
}

var tagOrEntity = regexp.MustCompile(`<[^>]*>`)

// plain returns the text of rendered words.
func plain(rendered string) string {
	return html.UnescapeString(tagOrEntity.ReplaceAllString(rendered, ""))
}
