package api

import (
	"bytes"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"

	"github.com/waybillhq/waybill/internal/httpkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// A validator walks a tape against a shape.
type validator struct {
	tape    *httpkit.Document
	path    []byte // JSON pointer of the current value
	invalid []ship.FieldError
}

// validate returns what is invalid in a body, nil if nothing is.
func (s *shape) validate(tape *httpkit.Document) []ship.FieldError {
	v := validator{tape: tape}
	v.checkValue(0, s)
	return v.invalid
}

func (v *validator) add(code, detail string) { v.addSuggestion(code, detail, "") }

func (v *validator) addSuggestion(code, detail, suggestion string) {
	v.invalid = append(v.invalid, ship.FieldError{
		Pointer:    string(v.path),
		Code:       code,
		Detail:     detail,
		Suggestion: suggestion,
	})
}

// checkValue checks the value at a node.
func (v *validator) checkValue(node int, s *shape) {
	kind := v.tape.Node(node).Kind
	switch s.kind {
	case huma.TypeObject:
		if kind != httpkit.Object {
			v.add("wrong_type", "must be an object")
			return
		}
		v.checkObject(node, s)

	case huma.TypeArray:
		if kind != httpkit.Array {
			v.add("wrong_type", "must be a list")
			return
		}
		v.checkList(node, s)

	case huma.TypeString:
		if kind != httpkit.String {
			v.add("wrong_type", "must be a string")
			return
		}
		v.checkText(node, s)

	case huma.TypeNumber, huma.TypeInteger:
		if kind != httpkit.Number {
			v.add("wrong_type", "must be a number")
			return
		}
		v.checkNumber(node, s)

	case huma.TypeBoolean:
		if kind != httpkit.True && kind != httpkit.False {
			v.add("wrong_type", "must be true or false")
		}
	}
}

// checkObject checks the members of an object. Null stands for a member that is
// left out.
func (v *validator) checkObject(node int, s *shape) {
	count := v.tape.Len(node)
	if s.maxCount >= 0 && count > s.maxCount {
		v.add("too_many", "must have at most "+strconv.Itoa(s.maxCount)+" keys")
		return
	}

	var found uint64 // of s.fields; no request has more than 64
	unknown := 0
	depth := len(v.path)
	member := v.tape.First(node)
	for range count {
		name := v.tape.Name(member)
		v.path = ship.AppendPointer(v.path[:depth], name)

		switch i := s.index(name); {
		case i >= 0:
			// A required member that is null is checked, and so reported as of
			// the wrong type instead of missing.
			if v.tape.Node(member).Kind != httpkit.Null || s.fields[i].notNull {
				found |= 1 << i
				v.checkValue(member, s.fields[i].shape)
			}
		case s.others == nil:
			if unknown++; unknown <= maxUnknown {
				v.addUnknown(string(name), s.names)
			}
		case len(name) == 0 || len(name) > s.maxName && len([]rune(string(name))) > s.maxName:
			v.add("too_long", "keys must have 1 to "+strconv.Itoa(s.maxName)+" characters")
		default:
			v.checkValue(member, s.others)
		}
		member = v.tape.Next(member)
	}

	v.path = v.path[:depth]
	v.addMissing(s, found)
}

// maxUnknown is how many unknown fields of one object are reported. To look for the
// field that is meant costs more than to read the member, and a body of nothing but
// unknown fields would keep a processor busy for half a minute.
const maxUnknown = 20

// misnamed are names that other services use for fields of this one.
var misnamed = map[string]string{
	"postalcode":    "zip",
	"postcode":      "zip",
	"zipcode":       "zip",
	"street":        "address1",
	"street1":       "address1",
	"addressline1":  "address1",
	"line1":         "address1",
	"street2":       "address2",
	"addressline2":  "address2",
	"line2":         "address2",
	"street3":       "address3",
	"addressline3":  "address3",
	"line3":         "address3",
	"province":      "state",
	"region":        "state",
	"statecode":     "state",
	"stateprovince": "state",
	"countrycode":   "country",
	"fullname":      "name",
	"contactname":   "name",
	"phonenumber":   "phone",
	"emailaddress":  "email",
	"town":          "city",
	"locality":      "city",
	"qty":           "quantity",
	"tariffnumber":  "hsCode",
	"hstariff":      "hsCode",
	"massunit":      "weightUnit",
	"distanceunit":  "unit",
	"toaddress":     "destination",
	"shipto":        "destination",
	"addressto":     "destination",
	"fromaddress":   "origin",
	"shipfrom":      "origin",
	"addressfrom":   "origin",
	"packages":      "parcels",
	"ordernumber":   "orderId",
}

// addUnknown reports a field that does not exist, with the one that is probably
// meant.
func (v *validator) addUnknown(name string, known []string) {
	// The names of other services are tried first: they are not near in
	// spelling.
	plain := strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(name))
	meant := misnamed[plain]
	if !slices.Contains(known, meant) {
		meant = ship.Nearest(name, known)
	}

	detail := "unknown field; the fields here are " + strings.Join(known, ", ")
	if meant != "" {
		detail = "unknown field; use " + meant
	}
	v.addSuggestion("unknown_field", detail, meant)
}

// addMissing reports the required fields that were not found.
func (v *validator) addMissing(s *shape, found uint64) {
	depth := len(v.path)
	if s.instead != "" && found&(1<<s.index([]byte(s.instead))) != 0 {
		v.addBeside(s, found)
		return
	}
	for i, field := range s.fields {
		if field.required && found&(1<<i) == 0 {
			v.path = append(append(v.path[:depth], '/'), field.name...)
			v.add("required", "this field is required")
		}
	}
	v.path = v.path[:depth]

	if len(s.oneOf) == 0 {
		return
	}
	given := 0
	for _, name := range s.oneOf {
		if found&(1<<s.index([]byte(name))) != 0 {
			given++
		}
	}
	if given == 1 {
		return
	}

	// If none is given the first is asked for, if both are the second is one
	// too many.
	v.path = append(append(v.path, '/'), s.oneOf[given/2]...)
	if given == 0 {
		v.add("required", "exactly one of "+strings.Join(s.oneOf, " and ")+" is required")
	} else {
		v.add("exclusive", "only one of "+strings.Join(s.oneOf, " and ")+" may be given")
	}
	v.path = v.path[:depth]
}

// addBeside reports the fields beside one that stands for all of them.
func (v *validator) addBeside(s *shape, found uint64) {
	depth := len(v.path)
	for i, field := range s.fields {
		if field.name != s.instead && found&(1<<i) != 0 {
			v.path = append(append(v.path[:depth], '/'), field.name...)
			v.add("exclusive", "must be omitted if "+s.instead+" is given")
		}
	}
	v.path = v.path[:depth]
}

func (v *validator) checkList(node int, s *shape) {
	count := v.tape.Len(node)
	switch {
	case count < s.minCount:
		v.add("too_few", "must have at least "+strconv.Itoa(s.minCount)+" items")
	case s.maxCount >= 0 && count > s.maxCount:
		v.add("too_many", "must have at most "+strconv.Itoa(s.maxCount)+" items")
		return
	}

	depth := len(v.path)
	element := v.tape.First(node)
	for i := range count {
		v.path = strconv.AppendInt(append(v.path[:depth], '/'), int64(i), 10)
		v.checkValue(element, s.items)
		element = v.tape.Next(element)
	}
	v.path = v.path[:depth]
}

func (v *validator) checkText(node int, s *shape) {
	text := v.tape.Text(node)
	runes := int(v.tape.Node(node).Runes)
	if v.tape.Node(node).Escaped {
		runes = utf8.RuneCount(text) // a surrogate pair is one character
	}

	switch {
	case runes < s.minLength && runes == 0:
		v.add("required", "may not be empty")
	case runes < s.minLength:
		v.add("too_short", "must have at least "+strconv.Itoa(s.minLength)+" characters")
	case runes > s.maxLength:
		v.add("too_long", "must have at most "+strconv.Itoa(s.maxLength)+" characters")
	case s.enum != nil && !s.allows(text):
		v.addSuggestion("not_allowed", s.enumDetail, ship.Nearest(string(text), s.enum))
	case s.pattern != nil && !s.pattern.Match(text):
		v.addSuggestion("invalid_format", s.patternDetail, inOtherCase(text, s.pattern))
	case s.format == "date" && !isDate(text):
		v.add("invalid_format", "must be a date, such as 2026-03-31")
	}
}

// inOtherCase is a text in upper or lower case, if that has the pattern.
func inOtherCase(text []byte, pattern *regexp.Regexp) string {
	for _, changed := range [][]byte{bytes.ToUpper(text), bytes.ToLower(text)} {
		if pattern.Match(changed) {
			return string(changed)
		}
	}
	return ""
}

func isDate(text []byte) bool {
	_, err := time.Parse(time.DateOnly, string(text))
	return err == nil
}

func (v *validator) checkNumber(node int, s *shape) {
	number, err := strconv.ParseFloat(string(v.tape.Text(node)), 64)
	if err != nil {
		v.add("wrong_type", "must be a number")
		return
	}

	switch {
	case s.kind == huma.TypeInteger && number != math.Trunc(number):
		v.add("wrong_type", "must be a whole number")
	case s.min != nil && number < *s.min:
		v.add("too_small", "must be at least "+textOf(*s.min))
	case s.above != nil && number <= *s.above:
		v.add("too_small", "must be more than "+textOf(*s.above))
	case s.max != nil && number > *s.max:
		v.add("too_large", "must be at most "+textOf(*s.max))
	case s.enum != nil && !s.allows([]byte(textOf(number))):
		v.add("not_allowed", s.enumDetail)
	}
}
