package httpkit

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"github.com/waybillhq/waybill/internal/ship"
)

// NDJSON is the media type of newline-delimited JSON.
const NDJSON = "application/x-ndjson"

// A ListReader reads a long list from a body, one value after the other: the
// lines of newline-delimited JSON, or the elements of a JSON object's only
// member, {"shipments": [...]}. It holds one value at a time.
//
// It finds where values begin and end; whether a value is JSON is for ParseJSON
// to say. Both forms refuse the same texts.
type ListReader struct {
	in       *bufio.Reader
	member   string
	maxValue int
	isNDJSON bool

	begun bool
	done  bool
	count int    // values that were read
	line  int    // of the text, from 1: where the last value began
	feeds int    // line feeds that were read
	value []byte // the last one
	head  []byte // what was read before the first value
}

// A NotListError says that a JSON body does not begin as the list does. It may
// be an object of another shape, or no JSON at all.
type NotListError struct {
	Body []byte // the whole body
}

// Error describes the error.
func (e *NotListError) Error() string { return "the body is not a list" }

// OpenList returns a reader of the list in a body of the content type, at most
// limit bytes and maxValue bytes a value. Member is the name of the member that
// has the list in a JSON object.
func OpenList(w http.ResponseWriter, r *http.Request, limit int64, maxValue int, member string) (*ListReader, error) {
	// A body that announces itself as too large is not read at all, so the
	// connection cannot be used for another request.
	if r.ContentLength > limit {
		w.Header().Set("Connection", "close")
		return nil, tooLarge(limit)
	}

	list := &ListReader{
		in:       bufio.NewReaderSize(http.MaxBytesReader(w, r.Body, limit), 32<<10),
		member:   member,
		maxValue: maxValue,
		isNDJSON: isNDJSON(r.Header.Get("Content-Type")),
	}
	if _, err := list.in.Peek(1); errors.Is(err, io.EOF) {
		return nil, ship.Coded(ship.Invalid, "malformed_json", "a JSON body is required")
	}
	if !list.isNDJSON && !isJSON(r.Header.Get("Content-Type")) {
		return nil, ship.Coded(ship.Invalid, "unsupported_media_type", "the body must be JSON, with Content-Type: application/json or %s", NDJSON)
	}
	return list, nil
}

// isNDJSON reports whether the content type is newline-delimited JSON in UTF-8.
func isNDJSON(contentType string) bool {
	media, parameters, err := mime.ParseMediaType(contentType)
	if err != nil || media != NDJSON {
		return false
	}
	charset, ok := parameters["charset"]
	return !ok || strings.EqualFold(charset, "utf-8")
}

// Next returns the next value, which is valid until the call after; io.EOF after
// the last. Any other error is one of the request, or a *NotListError.
func (l *ListReader) Next() ([]byte, error) {
	if l.done {
		return nil, io.EOF
	}
	if l.isNDJSON {
		return l.nextLine()
	}
	return l.nextElement()
}

// Malformed returns err, which ParseJSON returned for the last value, as one of
// the whole body: with the line, and the place in the list.
func (l *ListReader) Malformed(err error) error {
	parsed, ok := errors.AsType[*ship.Error](err)
	if !ok || len(parsed.Fields) == 0 {
		return err
	}
	field := parsed.Fields[0]
	return l.malformedAt(strconv.Itoa(l.count-1)+field.Pointer, field.Code, field.Detail)
}

// malformedAt is the error of a body that is not JSON at a place in the list.
func (l *ListReader) malformedAt(place, code, detail string) error {
	pointer := "/" + l.member
	if place != "" {
		pointer += "/" + place
	}
	return &ship.Error{
		Kind:    ship.Invalid,
		Code:    "malformed_json",
		Message: fmt.Sprintf("line %d of the body is not valid JSON: %s", l.line, detail),
		Fields:  []ship.FieldError{{Pointer: pointer, Code: code, Detail: detail}},
	}
}

// syntax is the error of a place where something else was expected.
func (l *ListReader) syntax(expected string) error {
	l.line = l.feeds + 1
	return l.malformedAt(strconv.Itoa(l.count), "syntax", expected)
}

// nextLine returns the next line that is not empty.
func (l *ListReader) nextLine() ([]byte, error) {
	for {
		l.value = l.value[:0]
		l.line = l.feeds + 1
		isEmpty := true
		for {
			c, err := l.in.ReadByte()
			if errors.Is(err, io.EOF) {
				l.done = true
				break
			}
			if err != nil {
				return nil, readError(err)
			}
			if c == '\n' {
				l.feeds++
				break
			}
			if len(l.value) == l.maxValue {
				return nil, l.tooLong()
			}
			isEmpty = isEmpty && isSpace(c)
			l.value = append(l.value, c)
		}

		if !isEmpty {
			l.count++
			return l.value, nil
		}
		if l.done {
			return nil, io.EOF
		}
	}
}

// nextElement returns the next element of the list in a JSON object.
func (l *ListReader) nextElement() ([]byte, error) {
	if !l.begun {
		if err := l.readHead(); err != nil {
			return nil, err
		}
		l.begun = true
	}

	c, err := l.skipSpace()
	if err != nil {
		return nil, err
	}
	switch {
	case c == ']':
		return nil, l.readEnd()
	case l.count > 0 && c != ',':
		return nil, l.syntax("expected a comma or a closing bracket")
	case l.count > 0:
		if c, err = l.skipSpace(); err != nil {
			return nil, err
		}
	}

	l.line = l.feeds + 1
	if err := l.readValue(c); err != nil {
		return nil, err
	}
	l.count++
	return l.value, nil
}

// readHead reads up to the bracket that opens the list.
func (l *ListReader) readHead() error {
	for _, expected := range []string{"{", `"` + l.member + `"`, ":", "["} {
		c, err := l.skipSpace()
		if err != nil {
			return l.notList(err)
		}
		for i := range len(expected) {
			if i > 0 {
				if c, err = l.readByte(); err != nil {
					return l.notList(err)
				}
			}
			l.head = append(l.head, c)
			if c != expected[i] {
				return l.notList(nil)
			}
		}
	}
	return nil
}

// notList reads the rest of a body that does not begin as the list does. A body
// that ends in its head is complete.
func (l *ListReader) notList(err error) error {
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return err
	}
	rest, err := io.ReadAll(io.LimitReader(l.in, int64(l.maxValue)+1))
	if err != nil {
		return readError(err)
	}
	if len(rest) > l.maxValue {
		l.line = 1
		return l.malformedAt("", "syntax", `expected an object with the field "`+l.member+`" first`)
	}
	return &NotListError{Body: append(l.head, rest...)}
}

// readEnd reads what follows the list: the end of the object and of the body.
func (l *ListReader) readEnd() error {
	c, err := l.skipSpace()
	switch {
	case err != nil:
		return err
	case c == ',':
		return ship.InvalidFields([]ship.FieldError{{Code: "unknown_field", Detail: "unknown field; the fields here are " + l.member}})
	case c != '}':
		return l.syntax("expected a closing bracket")
	}

	for {
		c, err := l.in.ReadByte()
		if errors.Is(err, io.EOF) {
			l.done = true
			return io.EOF
		}
		if err != nil {
			return readError(err)
		}
		if !isSpace(c) {
			l.line = l.feeds + 1
			return l.malformedAt("", "trailing_data", "there is data after the end of the JSON value")
		}
	}
}

// readValue reads a value that begins with c. An object or a list ends where as
// many brackets were closed as opened, outside of strings; anything else ends
// before what cannot be a part of it.
func (l *ListReader) readValue(c byte) error {
	l.value = l.value[:0]
	depth := 0
	inString, escaped := false, false
	for {
		if len(l.value) == l.maxValue {
			return l.tooLong()
		}

		switch {
		case escaped:
			escaped = false
		case inString && c == '\\':
			escaped = true
		case c == '"':
			inString = !inString
		case inString:
		case c == '{' || c == '[':
			depth++
		case (c == '}' || c == ']' || c == ',') && depth == 0:
			// The value was over before; an empty one is refused by ParseJSON.
			return l.unread(c)
		case c == '}' || c == ']':
			depth--
			if depth == 0 {
				l.value = append(l.value, c)
				return nil
			}
		case isSpace(c) && depth == 0:
			return l.unread(c)
		}
		l.value = append(l.value, c)

		var err error
		if c, err = l.readByte(); err != nil {
			return err
		}
	}
}

// unread puts the last byte back, which is c.
func (l *ListReader) unread(c byte) error {
	if c == '\n' {
		l.feeds--
	}
	if err := l.in.UnreadByte(); err != nil {
		return fmt.Errorf("read a list: %w", err)
	}
	return nil
}

// skipSpace returns the next byte that is no space.
func (l *ListReader) skipSpace() (byte, error) {
	for {
		c, err := l.readByte()
		if err != nil || !isSpace(c) {
			return c, err
		}
		if !l.begun {
			l.head = append(l.head, c)
			if len(l.head) > l.maxValue {
				return 0, l.tooLong()
			}
		}
	}
}

// readByte returns the next byte of a body that must not end here.
func (l *ListReader) readByte() (byte, error) {
	c, err := l.in.ReadByte()
	switch {
	case errors.Is(err, io.EOF) && !l.begun:
		return 0, io.ErrUnexpectedEOF
	case errors.Is(err, io.EOF):
		return 0, l.syntax("the body ends before the list does")
	case err != nil:
		return 0, readError(err)
	}
	if c == '\n' {
		l.feeds++
	}
	return c, nil
}

// tooLong is the error of a value that is larger than one may be.
func (l *ListReader) tooLong() error {
	return ship.Coded(ship.Invalid, "body_too_large", "item %d, on line %d of the body, is larger than %d bytes; send less in one item", l.count+1, max(l.line, 1), l.maxValue)
}

// readError is the error of a body that could not be read.
func readError(err error) error {
	if tooMuch, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return tooLarge(tooMuch.Limit)
	}
	return ship.Coded(ship.Invalid, "malformed_json", "the request body could not be read completely; send it again")
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }
