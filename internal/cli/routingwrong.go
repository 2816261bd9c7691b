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

// explain prints every error that err names, with its place in the file, and
// returns ErrUnhealthy then. Any other error is returned as it is. Rules that
// are stored have no file, so that their pointers alone are told.
func (s source) explain(w io.Writer, err error) error {
	e, ok := errors.AsType[*ship.Error](err)
	if !ok || e.Kind != ship.Invalid {
		return err
	}
	if len(e.Fields) == 0 {
		fmt.Fprintf(w, "%s: %s\n", s.name, e.Message)
		return ErrUnhealthy
	}
	places := locate(s.text)
	for _, f := range e.Fields {
		s.explainField(w, places, f)
	}
	if len(e.Fields) > 1 {
		fmt.Fprintf(w, "%d errors\n", len(e.Fields))
	}
	return ErrUnhealthy
}

func (s source) explainField(w io.Writer, places map[string]place, f ship.FieldError) {
	m, text := columnOf.FindStringSubmatch(f.Detail), places[f.Pointer].text
	switch line, column := position(s.text, nearest(places, f.Pointer).at); {
	case s.text == nil:
		fmt.Fprintf(w, "%s: %s: %s\n", s.name, f.Pointer, f.Detail)
	case f.Pointer == "" && m != nil: // it is not JSON
		line, column, text = number(m[1]), number(m[2]), string(s.text)
		fmt.Fprintf(w, "%s:%d:%d: %s\n", s.name, line, column, strings.TrimPrefix(f.Detail, m[0]))
	default:
		fmt.Fprintf(w, "%s:%d:%d: %s%s: %s\n", s.name, line, column, f.Pointer, ruleOf(places, f.Pointer), f.Detail)
	}
	if m != nil && text != "" {
		quote(w, text, number(m[1]), number(m[2]), f.Suggestion)
	} else if f.Suggestion != "" {
		fmt.Fprintf(w, "    did you mean %s?\n", f.Suggestion)
	}
}

// ruleOf is the name of the rule that a pointer leads into.
func ruleOf(places map[string]place, pointer string) string {
	parts := strings.SplitN(pointer, "/", 4)
	if len(parts) < 3 || parts[1] != "rules" {
		return ""
	}
	name := places["/rules/"+parts[2]+"/name"].text
	if name == "" {
		return ""
	}
	return " (" + printable(name) + ")"
}

// columnOf is where in a condition, or in text that is not JSON, an error is.
var columnOf = regexp.MustCompile(`^(?:line (\d+), )?column (\d+): `)

// number is what columnOf found; none is 1.
func number(digits string) int {
	n, err := strconv.Atoi(digits)
	if err != nil {
		return 1
	}
	return n
}

// quoted is how much of a long line is shown on each side of a mark.
const quoted = 100

// quote shows a line of a text with a mark under the column, and what is
// probably meant there.
func quote(w io.Writer, text string, line, column int, meant string) {
	lines := strings.Split(text, "\n")
	shown := []rune(printable(lines[min(max(line-1, 0), len(lines)-1)]))
	at := min(max(column-1, 0), len(shown))
	from := max(at-quoted, 0)
	if meant != "" {
		meant = " did you mean " + meant + "?"
	}
	fmt.Fprintf(w, "    %s\n    %s^%s\n", string(shown[from:min(at+quoted, len(shown))]), strings.Repeat(" ", at-from), meant)
}

// A place is where a value of a JSON file begins, and its text if it is one.
type place struct {
	at   int
	text string
}

// locate finds every value of a JSON text by its pointer. What cannot be read
// ends it.
func locate(text []byte) map[string]place {
	l := locator{text: text, dec: json.NewDecoder(bytes.NewReader(text)), found: map[string]place{}}
	l.value("")
	return l.found
}

type locator struct {
	text  []byte
	dec   *json.Decoder
	found map[string]place
}

// value notes a value and what is in it. It reports false at the end of what
// can be read.
func (l *locator) value(pointer string) bool {
	at := l.start()
	token, err := l.dec.Token()
	if err != nil {
		return false
	}
	text, _ := token.(string)
	l.found[pointer] = place{at, text}
	if open, ok := token.(json.Delim); ok {
		return l.inside(pointer, open == '{')
	}
	return true
}

// inside notes the members of an object or the elements of an array.
func (l *locator) inside(pointer string, object bool) bool {
	for i := 0; l.dec.More(); i++ {
		key := strconv.Itoa(i)
		if object {
			token, err := l.dec.Token()
			if err != nil {
				return false
			}
			key, _ = token.(string)
		}
		if !l.value(pointer + "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(key)) {
			return false
		}
	}
	_, err := l.dec.Token()
	return err == nil
}

// start is where the next value begins.
func (l *locator) start() int {
	at := int(l.dec.InputOffset())
	for at < len(l.text) && strings.IndexByte(" \t\r\n:,", l.text[at]) >= 0 {
		at++
	}
	return at
}

// nearest is the place of the value, or of the innermost that holds it: what is
// missing is told where it should be.
func nearest(places map[string]place, pointer string) place {
	for {
		p, ok := places[pointer]
		cut := strings.LastIndexByte(pointer, '/')
		if ok || cut < 0 {
			return p
		}
		pointer = pointer[:cut]
	}
}

// position is a line and a column of a text, both from 1.
func position(text []byte, at int) (line, column int) {
	before := text[:min(at, len(text))]
	last := bytes.LastIndexByte(before, '\n')
	return bytes.Count(before, []byte("\n")) + 1, utf8.RuneCount(before[last+1:]) + 1
}
