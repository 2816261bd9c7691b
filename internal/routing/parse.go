package routing

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/waybillhq/waybill/internal/ship"
)

// ParseBook reads a book from JSON, strictly: a field that is not known, is
// there twice or has the wrong type is refused, with a pointer to it and the
// nearest known name. What the fields say is checked by Compile.
func ParseBook(data []byte) (Book, error) {
	if len(data) > MaxBook {
		return Book{}, ship.InvalidFields([]ship.FieldError{{Code: "too_long", Detail: fmt.Sprintf("the rules are larger than %d bytes", MaxBook)}})
	}
	if !json.Valid(data) {
		return Book{}, ship.InvalidFields([]ship.FieldError{{Code: "invalid", Detail: badJSON(data)}})
	}
	var s strict
	s.value(data, reflect.TypeFor[Book](), "")
	if len(s.wrong) > 0 {
		return Book{}, ship.InvalidFields(s.wrong)
	}
	var b Book
	if err := json.Unmarshal(data, &b); err != nil {
		return Book{}, ship.InvalidFields([]ship.FieldError{{Code: "invalid", Detail: "the rules cannot be read"}})
	}
	return b, nil
}

// ReadBook reads a book that was stored after ParseBook had read it. A field
// that is not known is refused: it is of a later release, and without it the
// book would mean something else.
func ReadBook(data []byte) (b Book, err error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&b); err != nil {
		return Book{}, fmt.Errorf("read the stored rules: %w", err)
	}
	if b.Rules == nil {
		b.Rules = []Rule{} // a list, as clients see it
	}
	return b, nil
}

// badJSON says where JSON stops to be JSON.
func badJSON(data []byte) string {
	var whole json.RawMessage
	if syntax, ok := errors.AsType[*json.SyntaxError](json.Unmarshal(data, &whole)); ok {
		before := string(data[:max(0, min(len(data), int(syntax.Offset)-1))])
		at := locate(before, len(before))
		return fmt.Sprintf("line %d, column %d: this is not JSON: %s", at.Line(), at.Column()+1, syntax)
	}
	return "this is not JSON"
}

// escapes write a name in a JSON pointer.
var escapes = strings.NewReplacer("~", "~0", "/", "~1")

// strict compares JSON with the types that it is to fill.
type strict struct{ wrong []ship.FieldError }

// maxWrong is how many errors are told at once.
const maxWrong = 50

func (s *strict) add(pointer, code, detail, suggestion string) {
	if len(s.wrong) < maxWrong {
		s.wrong = append(s.wrong, ship.FieldError{Pointer: pointer, Code: code, Detail: detail, Suggestion: suggestion})
	}
}

func (s *strict) value(data []byte, t reflect.Type, pointer string) {
	data = bytes.TrimSpace(data)
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.Struct:
		if data[0] != '{' {
			s.add(pointer, "invalid", "must be an object", "")
			return
		}
		s.object(data, t, pointer)
	case reflect.Slice:
		var items []json.RawMessage
		if data[0] != '[' || json.Unmarshal(data, &items) != nil {
			s.add(pointer, "invalid", "must be a list", "")
			return
		}
		for i, item := range items {
			s.value(item, t.Elem(), pointer+"/"+strconv.Itoa(i))
		}
	default:
		if data[0] == 'n' || json.Unmarshal(data, reflect.New(t).Interface()) != nil {
			s.add(pointer, "invalid", "must be "+article(t.Kind()), "")
		}
	}
}

func (s *strict) object(data []byte, t reflect.Type, pointer string) {
	known := fieldsOf(t)
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	if _, err := dec.Token(); err != nil {
		return // valid JSON has no such
	}
	seen := map[string]bool{}
	for dec.More() {
		token, err := dec.Token()
		name, ok := token.(string)
		var value json.RawMessage
		if err != nil || !ok || dec.Decode(&value) != nil {
			return
		}
		at := pointer + "/" + escapes.Replace(name)
		i := slices.IndexFunc(known, func(f field) bool { return f.name == name })
		switch {
		case i < 0:
			s.add(at, "unknown_field", "there is no such field", nearestField(name, known))
		case seen[name]:
			s.add(at, "duplicate", "this field is there twice", "")
		default:
			s.value(value, known[i].is, at)
		}
		seen[name] = true
	}
}

// A field is a JSON field of a type.
type field struct {
	name string
	is   reflect.Type
}

func fieldsOf(t reflect.Type) []field {
	var all []field
	for f := range t.Fields() {
		if f.Anonymous {
			all = append(all, fieldsOf(f.Type)...)
			continue
		}
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		all = append(all, field{name, f.Type})
	}
	return all
}

func nearestField(name string, known []field) string {
	names := make([]string, len(known))
	for i, f := range known {
		names[i] = f.name
	}
	return ship.Nearest(name, names)
}

func article(k reflect.Kind) string {
	switch k {
	case reflect.String:
		return "a text"
	case reflect.Bool:
		return "true or false"
	case reflect.Float64:
		return "a number"
	}
	return "a whole number"
}
