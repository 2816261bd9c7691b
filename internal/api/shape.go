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
	instead    string   // a member that stands for all others: with it, there may be no other
	others     *shape   // of members that are not listed; nil refuses them
	maxName    int
	items      *shape
	min, max   *float64
	above      *float64
	minLength  int
	maxLength  int // maxText unless the schema says otherwise
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
	`^[0-9]{1,12}(\.[0-9]{1,4})?$`:    "must be a decimal amount without a sign, such as 12.34",
	`^[0-9]{6,10}$`:                   "must be 6 to 10 digits, such as 610910",
	`^[A-Z]{3}$`:                      "must be a three-letter ISO 4217 code, such as USD",
	`^[A-Za-z]{2}$`:                   "must be a two-letter ISO 3166-1 code, such as DE",
	`^con_[0-7][0-9A-Za-z]{25}$`:      "must be the id of a connection, such as con_01KJMBQDHV00G2N6V3T9RZKXB4; GET /v1/carriers lists them",
	`^loc_[0-7][0-9A-Za-z]{25}$`:      "must be the id of a location, such as loc_01KJMBQDHV00G2N6V3T9RZKXB4; GET /v1/locations lists them",
	`^([01][0-9]|2[0-3]):[0-5][0-9]$`: "must be a time of day in 24 hours, such as 17:00",
	`^[a-z0-9][a-z0-9_-]{0,59}$`:      "must be 1 to 60 lower-case letters, digits, hyphens and underscores, such as ups-2026",
	`^[a-z][a-z0-9_]*$`:               "must be lower-case letters, digits and underscores, such as ups",
}

type field struct {
	name     string
	shape    *shape
	required bool
	notNull  bool // null does not stand for leaving it out
}

// shapeOf prepares a schema; references are resolved in the registry, and names
// lists the properties of a schema in order.
func shapeOf(registry huma.Registry, schema *huma.Schema, names func(*huma.Schema) []string) *shape {
	for schema.Ref != "" {
		schema = registry.SchemaFromRef(schema.Ref)
	}
	out := &shape{
		kind:      schema.Type,
		min:       schema.Minimum,
		max:       schema.Maximum,
		above:     schema.ExclusiveMinimum,
		format:    schema.Format,
		minLength: valueOr(schema.MinLength, 0),
		maxLength: valueOr(schema.MaxLength, maxText),
		maxCount:  -1,
	}

	if schema.Pattern != "" {
		out.pattern = regexp.MustCompile(schema.Pattern)
		out.patternDetail = cmp.Or(patternDetails[schema.Pattern], "must match "+schema.Pattern)
	}
	for _, v := range schema.Enum {
		out.enum = append(out.enum, textOf(v))
	}
	out.enumDetail = "must be one of " + strings.Join(out.enum, ", ")

	switch schema.Type {
	case huma.TypeArray:
		out.items = shapeOf(registry, schema.Items, names)
		out.minCount = valueOr(schema.MinItems, 0)
		out.maxCount = valueOr(schema.MaxItems, -1)
	case huma.TypeObject:
		out.addMembers(registry, schema, names)
	}
	return out
}

// addMembers prepares the members of an object's schema.
func (s *shape) addMembers(registry huma.Registry, schema *huma.Schema, names func(*huma.Schema) []string) {
	required := make(map[string]bool, len(schema.Required))
	for _, name := range schema.Required {
		required[name] = true
	}
	s.addChoices(schema, required)

	s.names = names(schema)
	for _, name := range s.names {
		s.fields = append(s.fields, field{
			name:     name,
			shape:    shapeOf(registry, schema.Properties[name], names),
			required: required[name],
			notNull:  required[name] || name == s.instead || slices.Contains(s.oneOf, name),
		})
	}

	if others, ok := schema.AdditionalProperties.(*huma.Schema); ok {
		s.others = shapeOf(registry, others, names)
		s.maxCount = valueOr(schema.MaxProperties, -1)
		s.maxName = maxMetadataName
	}
}

// addChoices prepares the either-or of a schema: of two members, or of one member
// and all that are required without it.
func (s *shape) addChoices(schema *huma.Schema, required map[string]bool) {
	isAlternative := slices.ContainsFunc(schema.OneOf, func(choice *huma.Schema) bool { return len(choice.Required) > 1 })
	for _, choice := range schema.OneOf {
		switch {
		case !isAlternative:
			s.oneOf = append(s.oneOf, choice.Required...)
		case len(choice.Required) == 1:
			s.instead = choice.Required[0]
		default:
			for _, name := range choice.Required {
				required[name] = true
			}
		}
	}
}

const maxMetadataName = 500

// maxText is the longest text, in characters, of a field whose schema has no
// limit of its own.
const maxText = 10_000

// valueOr returns *p, or fallback if p is nil.
func valueOr(p *int, fallback int) int {
	if p == nil {
		return fallback
	}
	return *p
}

// textOf returns a value of a schema as it stands in JSON, without quotes.
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
