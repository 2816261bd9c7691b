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

// A choice is one option of a select element.
type choice struct{ Value, Title string }

// ID is the id of the HTML element.
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

// initials returns up to two initials of a name.
func initials(name string) string {
	var letters strings.Builder
	for word := range strings.FieldsSeq(name) {
		first, _ := utf8.DecodeRuneInString(word)
		if letters.Len() < 2 && unicode.IsLetter(first) {
			letters.WriteRune(unicode.ToUpper(first))
		}
	}
	return letters.String()
}

// htmxConfig limits htmx to what the pages' security policy allows: no eval, no
// styles of its own, no history in the browser's storage, and no requests to
// other servers.
const htmxConfig = `{"includeIndicatorStyles":false,"allowEval":false,"allowScriptTags":false,"selfRequestsOnly":true,"historyCacheSize":0,"historyRestoreAsHxRequest":false,` +
	`"responseHandling":[{"code":"204","swap":false},{"code":"[23]..","swap":true},{"code":"422","swap":true},{"code":"[45]..","swap":false,"error":true}]}`
