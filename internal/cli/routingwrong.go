package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/waybillhq/waybill/internal/ship"
)

// explain prints every error that err names, with its position in the file, and
// returns ErrUnhealthy then. Any other error is returned as it is. Stored rules
// have no file, so for them only the pointers are printed.
func (s source) explain(w io.Writer, err error) error {
	invalid, ok := errors.AsType[*ship.Error](err)
	if !ok || invalid.Kind != ship.Invalid {
		return err
	}
	if len(invalid.Fields) == 0 {
		fmt.Fprintf(w, "%s: %s\n", s.name, invalid.Message)
		return ErrUnhealthy
	}

	values := locateValues(s.text)
	for _, field := range invalid.Fields {
		s.explainField(w, values, field)
	}
	if len(invalid.Fields) > 1 {
		fmt.Fprintf(w, "%d errors\n", len(invalid.Fields))
	}
	return ErrUnhealthy
}

func (s source) explainField(w io.Writer, values map[string]value, field ship.FieldError) {
	// The detail may begin with a position of its own: within a condition, or
	// within a text that is not JSON.
	match := detailPosition.FindStringSubmatch(field.Detail)
	text := values[field.Pointer].text

	line, column := position(s.text, nearest(values, field.Pointer).offset)
	switch {
	case s.text == nil:
		fmt.Fprintf(w, "%s: %s: %s\n", s.name, field.Pointer, field.Detail)
	case field.Pointer == "" && match != nil: // it is not JSON
		text = string(s.text)
		fmt.Fprintf(w, "%s:%d:%d: %s\n", s.name, parseOrOne(match[1]), parseOrOne(match[2]), strings.TrimPrefix(field.Detail, match[0]))
	default:
		fmt.Fprintf(w, "%s:%d:%d: %s%s: %s\n", s.name, line, column, field.Pointer, ruleSuffix(values, field.Pointer), field.Detail)
	}

	if match != nil && text != "" {
		quoteLine(w, text, parseOrOne(match[1]), parseOrOne(match[2]), field.Suggestion)
	} else if field.Suggestion != "" {
		fmt.Fprintf(w, "    did you mean %s?\n", field.Suggestion)
	}
}

// ruleSuffix returns the name of the rule that a pointer leads into, in
// parentheses.
func ruleSuffix(values map[string]value, pointer string) string {
	parts := strings.SplitN(pointer, "/", 4)
	if len(parts) < 3 || parts[1] != "rules" {
		return ""
	}

	name := values["/rules/"+parts[2]+"/name"].text
	if name == "" {
		return ""
	}
	return " (" + printable(name) + ")"
}

// detailPosition matches where in a condition, or in text that is not JSON, an
// error is.
var detailPosition = regexp.MustCompile(`^(?:line (\d+), )?column (\d+): `)

// parseOrOne reads what detailPosition found; none is 1.
func parseOrOne(digits string) int {
	n, err := strconv.Atoi(digits)
	if err != nil {
		return 1
	}
	return n
}

// quotedRunes is how much of a long line is shown on each side of a mark.
const quotedRunes = 100

// quoteLine shows a line of a text with a mark under the column, and what is
// probably meant there.
func quoteLine(w io.Writer, text string, line, column int, meant string) {
	lines := strings.Split(text, "\n")
	shown := []rune(printable(lines[min(max(line-1, 0), len(lines)-1)]))
	mark := min(max(column-1, 0), len(shown))
	from := max(mark-quotedRunes, 0)
	if meant != "" {
		meant = " did you mean " + meant + "?"
	}
	fmt.Fprintf(w, "    %s\n    %s^%s\n", string(shown[from:min(mark+quotedRunes, len(shown))]), strings.Repeat(" ", mark-from), meant)
}

// A value is where a value of a JSON file begins, and its text if it is a
// string.
type value struct {
	offset int
	text   string
}

// locateValues finds every value of a JSON text by its pointer. It ends at the
// first one that cannot be read.
func locateValues(text []byte) map[string]value {
	l := locator{
		text:    text,
		decoder: json.NewDecoder(bytes.NewReader(text)),
		found:   map[string]value{},
	}
	l.readValue("")
	return l.found
}

type locator struct {
	text    []byte
	decoder *json.Decoder
	found   map[string]value
}

// readValue notes a value and what is in it. It reports false at the end of
// what can be read.
func (l *locator) readValue(pointer string) bool {
	offset := l.nextOffset()
	token, err := l.decoder.Token()
	if err != nil {
		return false
	}

	text, _ := token.(string)
	l.found[pointer] = value{offset, text}
	if open, ok := token.(json.Delim); ok {
		return l.readMembers(pointer, open == '{')
	}
	return true
}

// readMembers notes the members of an object or the elements of an array.
func (l *locator) readMembers(pointer string, isObject bool) bool {
	for i := 0; l.decoder.More(); i++ {
		key := strconv.Itoa(i)
		if isObject {
			token, err := l.decoder.Token()
			if err != nil {
				return false
			}
			key, _ = token.(string)
		}

		if !l.readValue(pointer + ship.Pointer(key)) {
			return false
		}
	}

	_, err := l.decoder.Token() // the closing brace or bracket
	return err == nil
}

// nextOffset returns where the next value begins: the decoder's own offset is
// the end of the token before.
func (l *locator) nextOffset() int {
	offset := int(l.decoder.InputOffset())
	for offset < len(l.text) && strings.IndexByte(" \t\r\n:,", l.text[offset]) >= 0 {
		offset++
	}
	return offset
}

// nearest returns the value, or the innermost that contains it: what is missing
// is reported where it should be.
func nearest(values map[string]value, pointer string) value {
	for {
		found, ok := values[pointer]
		cut := strings.LastIndexByte(pointer, '/')
		if ok || cut < 0 {
			return found
		}
		pointer = pointer[:cut]
	}
}

// position returns a line and a column of a text, both from 1.
func position(text []byte, offset int) (line, column int) {
	before := text[:min(offset, len(text))]
	last := bytes.LastIndexByte(before, '\n')
	return bytes.Count(before, []byte("\n")) + 1, utf8.RuneCount(before[last+1:]) + 1
}
