package label

import (
	"bytes"
	"strconv"
)

// The values of a PDF file. A number is a float64, null is nil.
type (
	pdfName   string // without the slash, unescaped
	pdfString []byte // as it is in the file, with its brackets
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
	for _, entry := range d {
		if entry.key == key {
			return entry.value
		}
	}
	return nil
}

// The limits of the values in a carrier's PDF.
const (
	maxPDFDepth   = 32
	maxPDFObjects = 5000
	maxPDFName    = 127
	maxPDFText    = 1 << 16
	maxPDFEntries = 256 // of a dictionary: keys are compared one by one
)

var errPDFSyntax = finding("pdf_syntax", "it has a PDF syntax error")

// pdfLexer reads values from bytes. It is strict: whatever two readers could
// interpret differently is an error.
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

// skipSpace skips white space and comments.
func (l *pdfLexer) skipSpace() {
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

// readWord reads regular characters; it may be empty.
func (l *pdfLexer) readWord() string {
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

// readInt reads an integer from 0 to 1<<31 - 1. It stays where it is if there
// is none.
func (l *pdfLexer) readInt() (int, bool) {
	l.skipSpace()
	start := l.pos
	n, err := strconv.ParseUint(l.readWord(), 10, 31)
	if err != nil {
		l.pos = start
	}
	return int(n), err == nil
}

// readValue reads one value.
func (l *pdfLexer) readValue(depth int) (any, error) {
	l.skipSpace()
	if depth > maxPDFDepth || l.pos >= len(l.data) {
		return nil, errPDFSyntax
	}

	switch c := l.data[l.pos]; {
	case c == '/':
		return l.readName()
	case c == '(':
		return l.readLiteral()
	case c == '[':
		l.pos++
		return l.readArray(depth)
	case bytes.HasPrefix(l.data[l.pos:], []byte("<<")):
		l.pos += 2
		return l.readDict(depth)
	case c == '<':
		return l.readHex()
	case c >= '0' && c <= '9':
		return l.readNumberOrRef()
	case c == '+' || c == '-' || c == '.':
		return l.readNumber()
	}

	switch l.readWord() {
	case "true":
		return true, nil
	case "false":
		return false, nil
	case "null":
		return nil, nil
	}
	return nil, errPDFSyntax
}

func (l *pdfLexer) readNumber() (any, error) {
	word := l.readWord()

	// PDF knows neither exponents nor words such as "inf", both of which
	// ParseFloat accepts.
	for i := range len(word) {
		if c := word[i]; (c < '0' || c > '9') && c != '.' && c != '-' && c != '+' {
			return nil, errPDFSyntax
		}
	}

	number, err := strconv.ParseFloat(word, 64)
	if err != nil || len(word) > 32 {
		return nil, errPDFSyntax
	}
	return number, nil
}

// readNumberOrRef looks ahead: "7 0 R" is a reference.
func (l *pdfLexer) readNumberOrRef() (any, error) {
	start := l.pos
	if n, ok := l.readInt(); ok {
		if _, ok := l.readInt(); ok {
			if l.skipSpace(); l.accept("R") {
				return pdfRef(n), nil
			}
		}
	}
	l.pos = start
	return l.readNumber()
}

func (l *pdfLexer) readName() (any, error) {
	l.pos++
	raw := l.readWord()
	if bytes.IndexByte([]byte(raw), '#') < 0 {
		if len(raw) > maxPDFName {
			return nil, errPDFSyntax
		}
		return pdfName(raw), nil
	}

	// Escapes are undone here, so that a name cannot pass the checks in
	// disguise.
	name := make([]byte, 0, len(raw))
	for i := 0; i < len(raw); i++ {
		if raw[i] != '#' {
			name = append(name, raw[i])
			continue
		}

		if i+2 >= len(raw) {
			return nil, errPDFSyntax
		}
		char, err := strconv.ParseUint(raw[i+1:i+3], 16, 8)
		if err != nil || char == 0 {
			return nil, errPDFSyntax
		}
		name = append(name, byte(char))
		i += 2
	}

	if len(name) > maxPDFName {
		return nil, errPDFSyntax
	}
	return pdfName(name), nil
}

// readLiteral reads a string in parentheses, which may be nested.
func (l *pdfLexer) readLiteral() (any, error) {
	start := l.pos
	open := 0
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

func (l *pdfLexer) readHex() (any, error) {
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

func (l *pdfLexer) readArray(depth int) (any, error) {
	list := pdfArray{}
	for {
		if l.skipSpace(); l.pos < len(l.data) && l.data[l.pos] == ']' {
			l.pos++
			return list, nil
		}

		item, err := l.readValue(depth + 1)
		if err != nil {
			return nil, err
		}
		list = append(list, item)
	}
}

func (l *pdfLexer) readDict(depth int) (any, error) {
	dict := pdfDict{}
	for {
		if l.skipSpace(); bytes.HasPrefix(l.data[l.pos:], []byte(">>")) {
			l.pos += 2
			return dict, nil
		}

		key, err := l.readValue(depth + 1)
		if err != nil {
			return nil, err
		}

		// Of two values of a key, some readers take the first and some the
		// last.
		name, ok := key.(pdfName)
		if !ok || len(dict) > maxPDFEntries || dict.has(name) {
			return nil, errPDFSyntax
		}

		value, err := l.readValue(depth + 1)
		if err != nil {
			return nil, err
		}
		dict = append(dict, pdfEntry{name, value})
	}
}

// has reports whether the dictionary has a key, be its value null.
func (d pdfDict) has(key pdfName) bool {
	for _, entry := range d {
		if entry.key == key {
			return true
		}
	}
	return false
}
