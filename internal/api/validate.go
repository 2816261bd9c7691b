package api

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"

	"github.com/waybillhq/waybill/internal/httpkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// check walks a tape against a shape.
type check struct {
	tape  *httpkit.Tape
	path  []byte // JSON pointer of where it stands
	wrong []ship.FieldError
}

// validate returns what is wrong with a body, nil if nothing is.
func (s *shape) validate(tape *httpkit.Tape) []ship.FieldError {
	c := check{tape: tape}
	c.value(0, s)
	return c.wrong
}

func (c *check) add(code, detail string) { c.suggest(code, detail, "") }

func (c *check) suggest(code, detail, suggestion string) {
	c.wrong = append(c.wrong, ship.FieldError{Pointer: string(c.path), Code: code, Detail: detail, Suggestion: suggestion})
}

// value checks node i.
func (c *check) value(i int, s *shape) {
	kind := c.tape.Node(i).Kind
	switch s.kind {
	case huma.TypeObject:
		if kind != httpkit.Object {
			c.add("wrong_type", "must be an object")
			return
		}
		c.object(i, s)
	case huma.TypeArray:
		if kind != httpkit.Array {
			c.add("wrong_type", "must be a list")
			return
		}
		c.list(i, s)
	case huma.TypeString:
		if kind != httpkit.String {
			c.add("wrong_type", "must be a string")
			return
		}
		c.text(i, s)
	case huma.TypeNumber, huma.TypeInteger:
		if kind != httpkit.Number {
			c.add("wrong_type", "must be a number")
			return
		}
		c.number(i, s)
	case huma.TypeBoolean:
		if kind != httpkit.True && kind != httpkit.False {
			c.add("wrong_type", "must be true or false")
		}
	}
}

// object checks the members of node i. Null stands for a member that is left
// out.
func (c *check) object(i int, s *shape) {
	count := c.tape.Len(i)
	if s.maxCount >= 0 && count > s.maxCount {
		c.add("too_many", "has more than "+strconv.Itoa(s.maxCount)+" members")
		return
	}
	var found uint64 // of s.fields; no request has more than 64
	depth := len(c.path)
	at := c.tape.First(i)
	for range count {
		name := c.tape.Name(at)
		c.path = httpkit.AppendPointer(c.path[:depth], name)
		switch k := s.index(name); {
		case k >= 0:
			if c.tape.Node(at).Kind != httpkit.Null || s.fields[k].never {
				found |= 1 << k
				c.value(at, s.fields[k].shape)
			}
		case s.others == nil:
			c.unknown(string(name), s.names)
		case len(name) == 0 || len(name) > s.maxName && len([]rune(string(name))) > s.maxName:
			c.add("too_long", "names have 1 to "+strconv.Itoa(s.maxName)+" characters")
		default:
			c.value(at, s.others)
		}
		at = c.tape.Next(at)
	}
	c.path = c.path[:depth]
	c.missing(s, found)
}

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

// unknown reports a field that there is not, with the one that is probably
// meant.
func (c *check) unknown(name string, known []string) {
	plain := strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(name))
	meant := misnamed[plain]
	if !slices.Contains(known, meant) {
		meant = ship.Nearest(name, known)
	}
	detail := "there is no such field; the fields here are " + strings.Join(known, ", ")
	if meant != "" {
		detail = "there is no such field; use " + meant
	}
	c.suggest("unknown_field", detail, meant)
}

// missing reports the required fields that were not found.
func (c *check) missing(s *shape, found uint64) {
	depth := len(c.path)
	for k, f := range s.fields {
		if f.required && found&(1<<k) == 0 {
			c.path = append(append(c.path[:depth], '/'), f.name...)
			c.add("required", "this field is required")
		}
	}
	c.path = c.path[:depth]
	if len(s.oneOf) == 0 {
		return
	}
	have := 0
	for _, name := range s.oneOf {
		if found&(1<<s.index([]byte(name))) != 0 {
			have++
		}
	}
	if have == 1 {
		return
	}
	c.path = append(append(c.path, '/'), s.oneOf[have/2]...)
	if have == 0 {
		c.add("required", "one of "+strings.Join(s.oneOf, " and ")+" is required")
	} else {
		c.add("exclusive", "only one of "+strings.Join(s.oneOf, " and ")+" may be given")
	}
	c.path = c.path[:depth]
}

func (c *check) list(i int, s *shape) {
	count := c.tape.Len(i)
	switch {
	case count < s.minCount:
		c.add("too_few", "needs at least "+strconv.Itoa(s.minCount)+" items")
	case s.maxCount >= 0 && count > s.maxCount:
		c.add("too_many", "has more than "+strconv.Itoa(s.maxCount)+" items")
		return
	}
	depth := len(c.path)
	at := c.tape.First(i)
	for k := range count {
		c.path = strconv.AppendInt(append(c.path[:depth], '/'), int64(k), 10)
		c.value(at, s.items)
		at = c.tape.Next(at)
	}
	c.path = c.path[:depth]
}

func (c *check) text(i int, s *shape) {
	runes := int(c.tape.Node(i).Runes)
	text := c.tape.Text(i)
	if c.tape.Node(i).Escaped {
		runes = utf8.RuneCount(text) // a surrogate pair is one character
	}
	switch {
	case runes < s.minLength && runes == 0:
		c.add("required", "may not be empty")
	case runes < s.minLength:
		c.add("too_short", "needs at least "+strconv.Itoa(s.minLength)+" characters")
	case s.maxLength >= 0 && runes > s.maxLength:
		c.add("too_long", "has more than "+strconv.Itoa(s.maxLength)+" characters")
	case s.enum != nil && !s.allows(text):
		c.suggest("not_allowed", s.enumDetail, ship.Nearest(string(text), s.enum))
	case s.pattern != nil && !s.pattern.Match(text):
		c.add("invalid_format", s.patternDetail)
	case s.format == "date" && !isDate(text):
		c.add("invalid_format", "must be a date, as 2026-03-31")
	}
}

func isDate(text []byte) bool {
	_, err := time.Parse(time.DateOnly, string(text))
	return err == nil
}

func (c *check) number(i int, s *shape) {
	v, err := strconv.ParseFloat(string(c.tape.Text(i)), 64)
	if err != nil {
		c.add("wrong_type", "must be a number")
		return
	}
	switch {
	case s.kind == huma.TypeInteger && v != math.Trunc(v):
		c.add("wrong_type", "must be a whole number")
	case s.min != nil && v < *s.min:
		c.add("too_small", "must be at least "+textOf(*s.min))
	case s.above != nil && v <= *s.above:
		c.add("too_small", "must be more than "+textOf(*s.above))
	case s.max != nil && v > *s.max:
		c.add("too_large", "must be at most "+textOf(*s.max))
	case s.enum != nil && !s.allows([]byte(textOf(v))):
		c.add("not_allowed", s.enumDetail)
	}
}
