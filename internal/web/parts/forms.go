package parts

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// An Input is one labelled field of a form.
type Input struct {
	Name, Label, Value, Help, Wrong string
	Type, Mode, Step, Placeholder   string
	Autocomplete                    string
	Required, Optional, Focus, Wide bool
	Choices                         []Choice
}

// A Choice is one option of a select element.
type Choice struct{ Value, Title string }

// ID returns the id of the HTML element.
func (in Input) ID() string { return "f-" + strings.ReplaceAll(in.Name, ".", "-") }

func (in Input) kind() string {
	if in.Type == "" {
		return "text"
	}
	return in.Type
}

func (in Input) autocomplete() string {
	if in.Autocomplete == "" {
		return "off"
	}
	return in.Autocomplete
}

// Initials returns up to two initials of a name.
func Initials(name string) string {
	var letters strings.Builder
	for word := range strings.FieldsSeq(name) {
		first, _ := utf8.DecodeRuneInString(word)
		if letters.Len() < 2 && unicode.IsLetter(first) {
			letters.WriteRune(unicode.ToUpper(first))
		}
	}
	return letters.String()
}

// A ChoiceGroup is a group of options in a long select.
type ChoiceGroup struct {
	Title   string
	Choices []Choice
}
