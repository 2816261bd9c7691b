package web

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// An input is one labelled field of a form.
type input struct {
	Name, Label, Value, Help, Wrong string
	Type, Mode, Step, Placeholder   string
	Autocomplete                    string
	Required, Optional, Focus, Wide bool
	Choices                         []choice
}

// A choice is one line of a select.
type choice struct{ Value, Title string }

// ID is the element's.
func (in input) ID() string { return "f-" + strings.ReplaceAll(in.Name, ".", "-") }

func (in input) kind() string {
	if in.Type == "" {
		return "text"
	}
	return in.Type
}

func (in input) autocomplete() string {
	if in.Autocomplete == "" {
		return "off"
	}
	return in.Autocomplete
}

// initials are at most two letters of a name.
func initials(name string) string {
	var b strings.Builder
	for word := range strings.FieldsSeq(name) {
		r, _ := utf8.DecodeRuneInString(word)
		if b.Len() < 2 && unicode.IsLetter(r) {
			b.WriteRune(unicode.ToUpper(r))
		}
	}
	return b.String()
}

// htmxConfig keeps the script to what the pages' policy allows: no evaluation,
// no styles of its own, nothing kept in the browser, and no other server.
const htmxConfig = `{"includeIndicatorStyles":false,"allowEval":false,"allowScriptTags":false,"selfRequestsOnly":true,"historyCacheSize":0,"historyRestoreAsHxRequest":false,` +
	`"responseHandling":[{"code":"204","swap":false},{"code":"[23]..","swap":true},{"code":"422","swap":true},{"code":"[45]..","swap":false,"error":true}]}`
