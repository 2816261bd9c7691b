package easypost

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"time"
)

// values are the parameters of a request as a client wrote them. The clients differ
// in what they make of numbers and booleans (PHP sends both as text), and some send
// empty objects for what is absent, so a value is read by what it says.
type values map[string]any

// text returns a parameter as text, without the spaces around it.
func (v values) text(name string) string { return textOf(v[name]) }

func textOf(value any) string {
	switch value := value.(type) {
	case string:
		return strings.TrimSpace(value)
	case json.Number:
		return value.String()
	case bool:
		return strconv.FormatBool(value)
	case float64: // of a draft that was stored
		return strconv.FormatFloat(value, 'f', -1, 64)
	}
	return ""
}

// number returns a parameter as a number, and whether it is one.
func (v values) number(name string) (float64, bool) {
	number, err := strconv.ParseFloat(v.text(name), 64)
	return number, err == nil && !math.IsNaN(number) && !math.IsInf(number, 0)
}

// flag returns whether a parameter is true.
func (v values) flag(name string) bool {
	isTrue, _ := strconv.ParseBool(v.text(name))
	return isTrue
}

// object returns a parameter that is an object; nil for none, and for an empty one.
func (v values) object(name string) values { return objectOf(v[name]) }

func objectOf(value any) values {
	object, _ := value.(map[string]any)
	if len(object) == 0 {
		return nil
	}
	return object
}

// list returns a parameter that is a list.
func (v values) list(name string) []any {
	list, _ := v[name].([]any)
	return list
}

// names returns a parameter that is a list of texts, of one text, or of objects
// that have ids.
func (v values) names(name string) []string {
	list := v.list(name)
	if list == nil {
		if one := v.text(name); one != "" {
			return strings.FieldsFunc(one, func(r rune) bool { return r == ',' || r == ' ' })
		}
	}
	var out []string
	for _, item := range list {
		text := textOf(item)
		if object := objectOf(item); object != nil {
			text = object.text("id")
		}
		if text != "" {
			out = append(out, text)
		}
	}
	return out
}

// orNull is a text in an answer: absent ones are null there, never empty.
func orNull(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// timeOrNull is a time in an answer.
func timeOrNull(at time.Time) *string {
	if at.IsZero() {
		return nil
	}
	return new(timestamp(at))
}

// timestamp is a time as EasyPost writes it.
func timestamp(at time.Time) string { return at.UTC().Format("2006-01-02T15:04:05Z") }

// decimal is a number that is always written with a decimal point. One of the
// official clients rewrites integral weights before it checks the signature of a
// webhook, so an integer would not verify.
type decimal float64

// MarshalJSON is json.Marshaler.
func (d decimal) MarshalJSON() ([]byte, error) {
	text := strconv.FormatFloat(float64(d), 'f', -1, 64)
	if !strings.Contains(text, ".") {
		text += ".0"
	}
	return []byte(text), nil
}

// decimalOf returns a parameter as a number of an answer; nil if it is none.
func (v values) decimalOf(name string) *decimal {
	number, ok := v.number(name)
	if !ok {
		return nil
	}
	return new(decimal(number))
}
