package label

import (
	"bytes"
	"strconv"
)

// The values of a PDF file. A number is a float64, null is nil.
type (
	pdfName   string // without the slash, escapes undone
	pdfString []byte // as it stands in the file, with its brackets
	pdfRef    int    // number of an object
	pdfArray  []any
	pdfDict   []pdfEntry
	pdfEntry  struct {
		key   pdfName
		value any
	}
)

// get returns the value of a key, nil if there is none.
func (d pdfDict) get(key pdfName) any {
	for _, e := range d {
		if e.key == key {
			return e.value
		}
	}
	return nil
}

// The limits of what is read of a carrier's PDF.
const (
	maxPDFDepth   = 32
	maxPDFObjects = 5000
	maxPDFName    = 127
	maxPDFText    = 1 << 16
	maxPDFEntries = 256 // of a dictionary: keys are compared one by one
)

var errPDFSyntax = finding("pdf_syntax", "it is not written as a pdf file must be")

// pdfLexer reads values from bytes. It is strict: what two readers could take
// for different things is an error.
type pdfLexer struct {
	data []byte
	pos  int
}

func isPDFSpace(c byte) bool {
	return c == ' ' || c == '\n' || c == '\r' || c == '\t' || c == '\f' || c == 0
}

func isPDFDelimiter(c byte) bool {
	switch c {
	case '(', ')', '<', '>', '[', ']', '{', '}', '/', '%':
		return true
	}
	return false
}

func isPDFRegular(c byte) bool { return !isPDFSpace(c) && !isPDFDelimiter(c) }

// space skips white space and comments.
func (l *pdfLexer) space() {
	for l.pos < len(l.data) {
		switch c := l.data[l.pos]; {
		case isPDFSpace(c):
			l.pos++
		case c == '%':
			end := bytes.IndexAny(l.data[l.pos:], "\r\n")
			if end < 0 {
				end = len(l.data) - l.pos
			}
			l.pos += end
		default:
			return
		}
	}
}

// word reads regular characters; it may be empty.
func (l *pdfLexer) word() string {
	start := l.pos
	for l.pos < len(l.data) && isPDFRegular(l.data[l.pos]) {
		l.pos++
	}
	return string(l.data[start:l.pos])
}

// accept skips a keyword if it is next.
func (l *pdfLexer) accept(keyword string) bool {
	if !bytes.HasPrefix(l.data[l.pos:], []byte(keyword)) {
		return false
	}
	end := l.pos + len(keyword)
	if end < len(l.data) && isPDFRegular(l.data[end]) {
		return false
	}
	l.pos = end
	return true
}

// whole reads a number that is not negative and below ten digits.
func (l *pdfLexer) whole() (int, bool) {
	l.space()
	start := l.pos
	n, err := strconv.ParseUint(l.word(), 10, 31)
	if err != nil {
		l.pos = start
	}
	return int(n), err == nil
}

// value reads one value.
func (l *pdfLexer) value(depth int) (any, error) {
	l.space()
	if depth > maxPDFDepth || l.pos >= len(l.data) {
		return nil, errPDFSyntax
	}
	switch c := l.data[l.pos]; {
	case c == '/':
		return l.name()
	case c == '(':
		return l.literal()
	case c == '[':
		l.pos++
		return l.array(depth)
	case bytes.HasPrefix(l.data[l.pos:], []byte("<<")):
		l.pos += 2
		return l.dict(depth)
	case c == '<':
		return l.hex()
	case c >= '0' && c <= '9':
		return l.numberOrRef()
	case c == '+' || c == '-' || c == '.':
		return l.number()
	}
	switch l.word() {
	case "true":
		return true, nil
	case "false":
		return false, nil
	case "null":
		return nil, nil
	}
	return nil, errPDFSyntax
}

func (l *pdfLexer) number() (any, error) {
	s := l.word()
	for i := range len(s) { // no exponents, no words that stand for numbers
		if c := s[i]; (c < '0' || c > '9') && c != '.' && c != '-' && c != '+' {
			return nil, errPDFSyntax
		}
	}
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || len(s) > 32 {
		return nil, errPDFSyntax
	}
	return v, nil
}

// numberOrRef looks ahead: "7 0 R" is a reference.
func (l *pdfLexer) numberOrRef() (any, error) {
	start := l.pos
	if n, ok := l.whole(); ok {
		if _, ok := l.whole(); ok {
			if l.space(); l.accept("R") {
				return pdfRef(n), nil
			}
		}
	}
	l.pos = start
	return l.number()
}

func (l *pdfLexer) name() (any, error) {
	l.pos++
	raw := l.word()
	if bytes.IndexByte([]byte(raw), '#') < 0 {
		if len(raw) > maxPDFName {
			return nil, errPDFSyntax
		}
		return pdfName(raw), nil
	}
	out := make([]byte, 0, len(raw))
	for i := 0; i < len(raw); i++ {
		if raw[i] != '#' {
			out = append(out, raw[i])
			continue
		}
		if i+2 >= len(raw) {
			return nil, errPDFSyntax
		}
		v, err := strconv.ParseUint(raw[i+1:i+3], 16, 8)
		if err != nil || v == 0 {
			return nil, errPDFSyntax
		}
		out = append(out, byte(v))
		i += 2
	}
	if len(out) > maxPDFName {
		return nil, errPDFSyntax
	}
	return pdfName(out), nil
}

// literal reads a string in round brackets, which may be nested.
func (l *pdfLexer) literal() (any, error) {
	start, open := l.pos, 0
	for ; l.pos < len(l.data) && l.pos-start < maxPDFText; l.pos++ {
		switch l.data[l.pos] {
		case '\\':
			l.pos++
		case '(':
			open++
		case ')':
			if open--; open == 0 {
				l.pos++
				return pdfString(l.data[start:l.pos]), nil
			}
		}
	}
	return nil, errPDFSyntax
}

func (l *pdfLexer) hex() (any, error) {
	start := l.pos
	for l.pos++; l.pos < len(l.data) && l.pos-start < maxPDFText; l.pos++ {
		switch c := l.data[l.pos]; {
		case c == '>':
			l.pos++
			return pdfString(l.data[start:l.pos]), nil
		case isPDFSpace(c), c >= '0' && c <= '9', c >= 'A' && c <= 'F', c >= 'a' && c <= 'f':
		default:
			return nil, errPDFSyntax
		}
	}
	return nil, errPDFSyntax
}

func (l *pdfLexer) array(depth int) (any, error) {
	list := pdfArray{}
	for {
		if l.space(); l.pos < len(l.data) && l.data[l.pos] == ']' {
			l.pos++
			return list, nil
		}
		v, err := l.value(depth + 1)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
}

func (l *pdfLexer) dict(depth int) (any, error) {
	d := pdfDict{}
	for {
		if l.space(); bytes.HasPrefix(l.data[l.pos:], []byte(">>")) {
			l.pos += 2
			return d, nil
		}
		key, err := l.value(depth + 1)
		if err != nil {
			return nil, err
		}
		name, ok := key.(pdfName)
		if !ok || len(d) > maxPDFEntries || d.has(name) {
			return nil, errPDFSyntax // of two values readers take the first or the last
		}
		v, err := l.value(depth + 1)
		if err != nil {
			return nil, err
		}
		d = append(d, pdfEntry{name, v})
	}
}

func (d pdfDict) has(key pdfName) bool {
	for _, e := range d {
		if e.key == key {
			return true
		}
	}
	return false
}
