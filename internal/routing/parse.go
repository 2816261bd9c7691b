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

// ParseBook reads a book from JSON, strictly: a field that is unknown,
// duplicate or of the wrong type is rejected, with a pointer to it and the
// nearest known name. What the fields say is checked by Compile.
func ParseBook(data []byte) (Book, error) {
	if len(data) > MaxBook {
		return Book{}, ship.InvalidFields([]ship.FieldError{{Code: "too_long", Detail: fmt.Sprintf("the rules are larger than %d bytes", MaxBook)}})
	}
	if !json.Valid(data) {
		return Book{}, ship.InvalidFields([]ship.FieldError{{Code: "invalid", Detail: badJSON(data)}})
	}

	// The decoder alone reports only the first error, and accepts duplicate
	// fields.
	var schema schemaChecker
	schema.value(data, reflect.TypeFor[Book](), "")
	if len(schema.invalid) > 0 {
		return Book{}, ship.InvalidFields(schema.invalid)
	}

	var book Book
	if err := json.Unmarshal(data, &book); err != nil {
		return Book{}, ship.InvalidFields([]ship.FieldError{{Code: "invalid", Detail: "the rules could not be parsed"}})
	}
	return book, nil
}

// ReadBook reads a book that was stored after ParseBook had read it. An unknown
// field is rejected: it is of a later release, and without it the book would
// mean something else.
func ReadBook(data []byte) (book Book, err error) {
	if err := ship.UnmarshalStrict(data, &book); err != nil {
		return Book{}, fmt.Errorf("read the stored rules: %w", err)
	}
	if book.Rules == nil {
		book.Rules = []Rule{} // a list, as clients see it
	}
	return book, nil
}

// badJSON says where the text stops being JSON.
func badJSON(data []byte) string {
	var raw json.RawMessage
	if syntax, ok := errors.AsType[*json.SyntaxError](json.Unmarshal(data, &raw)); ok {
		before := string(data[:max(0, min(len(data), int(syntax.Offset)-1))])
		location := locate(before, len(before))
		return fmt.Sprintf("line %d, column %d: invalid JSON: %s", location.Line(), location.Column()+1, syntax)
	}
	return "invalid JSON"
}

// A schemaChecker compares JSON with the types that it is decoded into.
type schemaChecker struct{ invalid []ship.FieldError }

// maxErrors is how many errors are reported at once.
const maxErrors = 50

func (s *schemaChecker) add(pointer, code, detail, suggestion string) {
	if len(s.invalid) < maxErrors {
		s.invalid = append(s.invalid, ship.FieldError{Pointer: pointer, Code: code, Detail: detail, Suggestion: suggestion})
	}
}

func (s *schemaChecker) value(data []byte, goType reflect.Type, pointer string) {
	data = bytes.TrimSpace(data)
	if goType.Kind() == reflect.Pointer {
		goType = goType.Elem()
	}

	switch goType.Kind() {
	case reflect.Struct:
		if data[0] != '{' {
			s.add(pointer, "invalid", "must be an object", "")
			return
		}
		s.object(data, goType, pointer)

	case reflect.Slice:
		var items []json.RawMessage
		if data[0] != '[' || json.Unmarshal(data, &items) != nil {
			s.add(pointer, "invalid", "must be an array", "")
			return
		}
		for i, item := range items {
			s.value(item, goType.Elem(), pointer+"/"+strconv.Itoa(i))
		}

	default:
		// json.Unmarshal ignores null, which is not a value here.
		if data[0] == 'n' || json.Unmarshal(data, reflect.New(goType).Interface()) != nil {
			s.add(pointer, "invalid", "must be "+article(goType.Kind()), "")
		}
	}
}

func (s *schemaChecker) object(data []byte, goType reflect.Type, pointer string) {
	known := fieldsOf(goType)
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	if _, err := decoder.Token(); err != nil {
		return // cannot happen: the JSON is valid
	}

	seen := map[string]bool{}
	for decoder.More() {
		token, err := decoder.Token()
		name, ok := token.(string)
		var value json.RawMessage
		if err != nil || !ok || decoder.Decode(&value) != nil {
			return
		}

		fieldPointer := pointer + ship.Pointer(name)
		i := slices.IndexFunc(known, func(f field) bool { return f.name == name })
		switch {
		case i < 0:
			s.add(fieldPointer, "unknown_field", "unknown field", nearestField(name, known))
		case seen[name]:
			s.add(fieldPointer, "duplicate", "duplicate field", "")
		default:
			s.value(value, known[i].goType, fieldPointer)
		}
		seen[name] = true
	}
}

// A field is a JSON field of a type.
type field struct {
	name   string
	goType reflect.Type
}

func fieldsOf(goType reflect.Type) []field {
	var all []field
	for structField := range goType.Fields() {
		if structField.Anonymous {
			all = append(all, fieldsOf(structField.Type)...)
			continue
		}
		name, _, _ := strings.Cut(structField.Tag.Get("json"), ",")
		all = append(all, field{name, structField.Type})
	}
	return all
}

func nearestField(name string, known []field) string {
	names := make([]string, len(known))
	for i, candidate := range known {
		names[i] = candidate.name
	}
	return ship.Nearest(name, names)
}

func article(kind reflect.Kind) string {
	switch kind {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Float64:
		return "a number"
	}
	return "a whole number"
}
