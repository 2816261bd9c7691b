package carriertest

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
)

// A recordedRequest is the part of a request that is changed.
type recordedRequest struct {
	contentType string
	query       string
	body        []byte
}

// A member is a name in a request with its value, which is empty if the value
// is not a text.
type member struct {
	path  []string
	value string
}

// mutations lists the changes to a request.
func (r recordedRequest) mutations() []mutation {
	var list []mutation
	for _, m := range formMembers(r.query) {
		list = append(list, m.mutations(true)...)
	}
	var members []member
	switch r.encoding() {
	case "json":
		members = jsonMembers(r.body)
	case "xml":
		members = xmlMembers(r.body)
	case "form":
		members = formMembers(string(r.body))
	}
	for _, m := range members {
		list = append(list, m.mutations(false)...)
	}
	return list
}

// mutate returns the body with a change.
func (r recordedRequest) mutate(m mutation) []byte {
	switch r.encoding() {
	case "json":
		return mutateJSON(r.body, m)
	case "xml":
		return mutateXML(r.body, m)
	}
	return []byte(mutateForm(string(r.body), m))
}

func (r recordedRequest) encoding() string {
	trimmed := bytes.TrimSpace(r.body)
	switch {
	case len(trimmed) == 0:
		return ""
	case bytes.HasPrefix(trimmed, []byte("{")), bytes.HasPrefix(trimmed, []byte("[")):
		return "json"
	case bytes.HasPrefix(trimmed, []byte("<")):
		return "xml"
	case strings.Contains(r.contentType, "form-urlencoded"):
		return "form"
	}
	return ""
}

// mutations lists the changes to a member.
func (m member) mutations(inQuery bool) []mutation {
	kinds := []string{"rename", "drop", "case"}
	if name := m.path[len(m.path)-1]; otherCase(name) == name {
		kinds = kinds[:2]
	}
	for _, kind := range []string{"future", "past", "currency", "code"} {
		if _, isChanged := mutateValue(m.value, kind); isChanged {
			kinds = append(kinds, kind)
		}
	}

	name := strings.Join(m.path, ".")
	if inQuery {
		name = "?" + name
	}
	var list []mutation
	for _, kind := range kinds {
		list = append(list, mutation{name: name, kind: kind, inQuery: inQuery, path: m.path})
	}
	return list
}

// renamed returns the name of a member after a change of its name.
func renamed(name, kind string) string {
	if kind == "case" {
		return otherCase(name)
	}
	return name + "Q"
}

// otherCase returns a name with its first letter in the other case.
func otherCase(name string) string {
	for i, letter := range name {
		switch {
		case unicode.IsLower(letter):
			return name[:i] + string(unicode.ToUpper(letter)) + name[i+1:]
		case unicode.IsUpper(letter):
			return name[:i] + string(unicode.ToLower(letter)) + name[i+1:]
		}
	}
	return name
}

var (
	currencies = []string{"USD", "EUR", "GBP", "CAD", "INR", "AUD", "CHF", "SEK", "PLN"}
	isCode     = regexp.MustCompile(`^[A-Z][A-Z0-9_]{1,39}$`)
	isDigits   = regexp.MustCompile(`^[0-9]{1,3}$`)
	dateForms  = []struct {
		expr   *regexp.Regexp
		layout string
	}{
		{regexp.MustCompile(`^\d{4}-\d{2}-\d{2}`), time.DateOnly},
		{regexp.MustCompile(`^\d{2}-\d{2}-\d{4}`), "02-01-2006"},
		{regexp.MustCompile(`^20\d{6}`), "20060102"},
	}
)

// mutateValue returns a value after a change of the kind, and whether the kind
// applies to it.
func mutateValue(value, kind string) (string, bool) {
	switch kind {
	case "future", "past":
		days := 400
		if kind == "past" {
			days = -400
		}
		for _, form := range dateForms {
			written := form.expr.FindString(value)
			day, err := time.Parse(form.layout, written)
			if written != "" && err == nil && time.Since(day).Abs() < 5*365*24*time.Hour {
				return day.AddDate(0, 0, days).Format(form.layout) + value[len(written):], true
			}
		}
	case "currency":
		if slices.Contains(currencies, value) {
			return "JPY", true
		}
	case "code":
		switch {
		case slices.Contains(currencies, value):
			return value, false
		case isCode.MatchString(value) && len(value) == 2:
			return "ZZ", true
		case isCode.MatchString(value):
			return value + "Z", true
		case isDigits.MatchString(value) && strings.Trim(value, "9") != "":
			return strings.Repeat("9", len(value)), true
		}
	}
	return value, false
}

// jsonMembers lists the members of a JSON value. Of a list only the first
// element is changed.
func jsonMembers(body []byte) []member {
	var list []member
	var walk func(value any, path []string)
	walk = func(value any, path []string) {
		switch value := value.(type) {
		case map[string]any:
			for _, name := range slices.Sorted(maps.Keys(value)) {
				inside := append(slices.Clone(path), name)
				text, _ := value[name].(string)
				if texts, ok := value[name].([]any); ok && len(texts) > 0 {
					text, _ = texts[0].(string)
				}
				list = append(list, member{inside, text})
				walk(value[name], inside)
			}
		case []any:
			if len(value) > 0 {
				walk(value[0], path)
			}
		}
	}
	walk(readJSON(body), nil)
	return list
}

func readJSON(body []byte) any {
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil // it is not changed then
	}
	return value
}

func mutateJSON(body []byte, m mutation) []byte {
	root := readJSON(body)
	inside := root
	for i, name := range m.path {
		for {
			elements, isList := inside.([]any)
			if !isList || len(elements) == 0 {
				break
			}
			inside = elements[0]
		}
		object, ok := inside.(map[string]any)
		if !ok {
			return body
		}
		if i < len(m.path)-1 {
			inside = object[name]
			continue
		}
		mutateObject(object, name, m.kind)
	}

	changed, err := json.Marshal(root)
	if err != nil {
		panic(err) // it was read from JSON
	}
	return changed
}

func mutateObject(object map[string]any, name, kind string) {
	value := object[name]
	switch kind {
	case "drop":
		delete(object, name)
	case "rename", "case":
		delete(object, name)
		object[renamed(name, kind)] = value
	default:
		if texts, ok := value.([]any); ok && len(texts) > 0 {
			text, _ := texts[0].(string)
			texts[0], _ = mutateValue(text, kind)
			return
		}
		text, _ := value.(string)
		object[name], _ = mutateValue(text, kind)
	}
}

// formMembers lists the parameters of a form or query.
func formMembers(text string) []member {
	values, err := url.ParseQuery(text)
	if err != nil {
		return nil
	}
	var list []member
	for _, name := range slices.Sorted(maps.Keys(values)) {
		list = append(list, member{[]string{name}, values.Get(name)})
	}
	return list
}

func mutateForm(text string, m mutation) string {
	values, err := url.ParseQuery(text)
	if err != nil {
		return text
	}
	name := m.path[0]
	switch m.kind {
	case "drop":
		delete(values, name)
	case "rename", "case":
		values[renamed(name, m.kind)] = values[name]
		delete(values, name)
	default:
		changed, _ := mutateValue(values.Get(name), m.kind)
		values.Set(name, changed)
	}
	return values.Encode()
}

// An xmlElement is where an element is in a document.
type xmlElement struct {
	path               []string
	start, inner       int64 // its start tag
	innerEnd, end      int64 // its end tag; equal if it has none
	name               string
	value              string
	hasElements, first bool
}

// xmlElements lists the elements below the root. Of elements with the same path
// only the first is changed.
func xmlElements(body []byte) []xmlElement {
	decoder := xml.NewDecoder(bytes.NewReader(body))
	var list []xmlElement
	var open []int
	seen := map[string]bool{}
	for {
		before := decoder.InputOffset()
		token, err := decoder.RawToken()
		if err != nil {
			return list
		}
		switch token := token.(type) {
		case xml.StartElement:
			name := token.Name.Local
			if token.Name.Space != "" {
				name = token.Name.Space + ":" + name
			}
			var path []string
			if len(open) > 0 {
				parent := &list[open[len(open)-1]]
				parent.hasElements = true
				path = slices.Clone(parent.path)
			}
			path = append(path, token.Name.Local)
			key := strings.Join(path, ".")
			list = append(list, xmlElement{path: path, start: before, inner: decoder.InputOffset(), name: name, first: !seen[key]})
			seen[key] = true
			open = append(open, len(list)-1)
		case xml.EndElement:
			element := &list[open[len(open)-1]]
			element.innerEnd = before
			element.end = decoder.InputOffset()
			open = open[:len(open)-1]
		case xml.CharData:
			if len(open) > 0 {
				list[open[len(open)-1]].value += string(token)
			}
		}
	}
}

func xmlMembers(body []byte) []member {
	var list []member
	for _, element := range xmlElements(body) {
		if !element.first || len(element.path) < 2 {
			continue
		}
		value := strings.TrimSpace(element.value)
		if element.hasElements {
			value = ""
		}
		list = append(list, member{element.path[1:], value})
	}
	return list
}

func mutateXML(body []byte, m mutation) []byte {
	for _, element := range xmlElements(body) {
		if !element.first || len(element.path) < 2 || !slices.Equal(element.path[1:], m.path) {
			continue
		}
		before := string(body[:element.start])
		startTag := string(body[element.start:element.inner])
		inside := string(body[element.inner:element.innerEnd])
		endTag := string(body[element.innerEnd:element.end])
		after := string(body[element.end:])
		switch m.kind {
		case "drop":
			return []byte(before + after)
		case "rename", "case":
			prefix, local, hasPrefix := strings.Cut(element.name, ":")
			name := renamed(element.name, m.kind)
			if hasPrefix {
				name = prefix + ":" + renamed(local, m.kind)
			}
			startTag = strings.Replace(startTag, element.name, name, 1)
			endTag = strings.Replace(endTag, element.name, name, 1)
		default:
			inside, _ = mutateValue(strings.TrimSpace(inside), m.kind)
		}
		return []byte(before + startTag + inside + endTag + after)
	}
	return body
}
