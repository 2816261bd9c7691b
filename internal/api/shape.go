package api

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// A shape is a JSON schema, prepared to check a request on its tape: in one
// walk, without decoding it, with exact pointers. huma's own check decodes the
// body a second time, shows dotted paths and repeats the values.
type shape struct {
	kind       string // of huma.Type...
	fields     []field
	names      []string // of fields, for suggestions
	oneOf      []string // exactly one of these members must be there
	others     *shape   // of members that are not listed; nil refuses them
	maxName    int
	items      *shape
	min, max   *float64
	above      *float64
	minLength  int
	maxLength  int // -1 for none
	minCount   int
	maxCount   int // -1 for none
	enum       []string
	pattern    *regexp.Regexp
	format     string
	enumDetail string

	patternDetail string // what a text of the pattern looks like
}

// patternDetails say what each pattern of a request means, with an example. A
// test holds that none is missing.
var patternDetails = map[string]string{
	`^[0-9]{1,12}(\.[0-9]{1,4})?$`: "must be a decimal amount without a sign, such as 12.34",
	`^[0-9]{6,10}$`:                "must be 6 to 10 digits, such as 610910",
	`^[A-Z]{3}$`:                   "must be a three-letter ISO 4217 code, such as USD",
	`^[A-Za-z]{2}$`:                "must be a two-letter ISO 3166-1 code, such as DE",
	`^con_[0-7][0-9A-Za-z]{25}$`:   "must be the id of a connection, such as con_01KJMBQDHV00G2N6V3T9RZKXB4; GET /v1/carriers lists them",
	`^[a-z0-9][a-z0-9_-]{0,59}$`:   "must be 1 to 60 lower-case letters, digits, hyphens and underscores, such as ups-2026",
	`^[a-z][a-z0-9_]*$`:            "must be lower-case letters, digits and underscores, such as ups",
}

type field struct {
	name     string
	shape    *shape
	required bool
	never    bool // null does not stand for leaving it out
}

// shapeOf prepares a schema; refs are resolved in the registry.
func shapeOf(reg huma.Registry, s *huma.Schema, names func(*huma.Schema) []string) *shape {
	for s.Ref != "" {
		s = reg.SchemaFromRef(s.Ref)
	}
	out := &shape{
		kind: s.Type, min: s.Minimum, max: s.Maximum, above: s.ExclusiveMinimum, format: s.Format,
		minLength: valueOr(s.MinLength, 0), maxLength: valueOr(s.MaxLength, -1), maxCount: -1,
	}
	if s.Pattern != "" {
		out.pattern = regexp.MustCompile(s.Pattern)
		out.patternDetail = cmp.Or(patternDetails[s.Pattern], "must match "+s.Pattern)
	}
	for _, v := range s.Enum {
		out.enum = append(out.enum, textOf(v))
	}
	out.enumDetail = "must be one of " + strings.Join(out.enum, ", ")
	switch s.Type {
	case huma.TypeArray:
		out.items = shapeOf(reg, s.Items, names)
		out.minCount, out.maxCount = valueOr(s.MinItems, 0), valueOr(s.MaxItems, -1)
	case huma.TypeObject:
		out.object(reg, s, names)
	}
	return out
}

func (out *shape) object(reg huma.Registry, s *huma.Schema, names func(*huma.Schema) []string) {
	required := make(map[string]bool, len(s.Required))
	for _, name := range s.Required {
		required[name] = true
	}
	for _, one := range s.OneOf {
		out.oneOf = append(out.oneOf, one.Required...)
	}
	out.names = names(s)
	for _, name := range out.names {
		never := required[name] || slices.Contains(out.oneOf, name)
		out.fields = append(out.fields, field{name, shapeOf(reg, s.Properties[name], names), required[name], never})
	}
	if others, ok := s.AdditionalProperties.(*huma.Schema); ok {
		out.others = shapeOf(reg, others, names)
		out.maxCount = valueOr(s.MaxProperties, -1)
		out.maxName = maxMetadataName
	}
}

const maxMetadataName = 500

func valueOr(p *int, otherwise int) int {
	if p == nil {
		return otherwise
	}
	return *p
}

func textOf(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case int:
		return strconv.Itoa(v)
	case int64:
		return strconv.FormatInt(v, 10)
	}
	return ""
}

// index finds a listed field by its exact name, -1 if there is none.
func (s *shape) index(name []byte) int {
	for k := range s.fields {
		if s.fields[k].name == string(name) {
			return k
		}
	}
	return -1
}

func (s *shape) allows(text []byte) bool {
	for _, v := range s.enum {
		if string(text) == v {
			return true
		}
	}
	return false
}
