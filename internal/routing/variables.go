package routing

import (
	"slices"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"

	"github.com/waybillhq/waybill/internal/ship"
)

// A Variable is something that a condition can read. No name, street, phone or
// e-mail address is one: what rules read may be told in a trace.
type Variable struct {
	Name    string   `json:"name"`             // "destination.country"
	Type    string   `json:"type"`             // see the types of variables
	Doc     string   `json:"doc"`              // one line
	Example string   `json:"example"`          // a condition that reads it
	Values  []string `json:"values,omitempty"` // all that it can be, if that is a short closed list
}

// The types of variables, in the words of the docs and of error messages.
const (
	textType    = "text"
	wholeType   = "whole number"
	numberType  = "number"
	truthType   = "true or false"
	mapType     = "map of text"
	offersType  = "list of offers"
	unknownDays = 999 // of an offer that promises nothing: never fast
)

// A variable is a Variable with its place in the language. One of the four
// getters reads it, or read alone.
type variable struct {
	Variable
	known func(string) bool // whether it can ever be this, where Values is too long to list
	size  uint64            // the most characters or entries, for the estimate of costs
	getters
	read func(*scope) ref.Val
}

// getters read a value without the language.
type getters struct {
	text   func(*scope) string
	whole  func(*scope) int64
	number func(*scope) float64
	truth  func(*scope) bool
}

// Variables lists what conditions can read, in groups of the same first part.
func Variables() []Variable {
	out := make([]Variable, len(variables))
	for i, v := range variables {
		out[i] = v.Variable
		out[i].Values = slices.Clone(v.Values)
	}
	return out
}

// OfferFields lists what conditions can read of each of the quotes. Their
// names follow that of the loop: "q.carrier".
func OfferFields() []Variable {
	out := make([]Variable, len(offerFields))
	for i, f := range offerFields {
		out[i] = f.Variable
	}
	return out
}

var (
	weekdays   = []string{"monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"}
	signatures = []string{"", "standard", "adult"}
	billings   = []string{"sender", "recipient", "third_party"}
)

var variables = slices.Concat(placeVariables, parcelVariables, orderVariables, offerVariables, timeVariables)

// place maps the names of variables to their places in the list, and groups
// their first parts to their names.
var place, groups = arrange(variables)

func arrange(list []variable) (map[string]int, map[string][]string) {
	at, by := make(map[string]int, len(list)), map[string][]string{}
	for i, v := range list {
		at[v.Name] = i
		group, _, _ := cutName(v.Name)
		by[group] = append(by[group], v.Name)
	}
	return at, by
}

func text(name string, size uint64, doc, example string, read func(*scope) string) variable {
	return variable{
		Variable: Variable{Name: name, Type: textType, Doc: doc, Example: example}, size: size, getters: getters{text: read},
		read: func(s *scope) ref.Val { return types.String(read(s)) },
	}
}

func whole(name, doc, example string, read func(*scope) int64) variable {
	return variable{
		Variable: Variable{Name: name, Type: wholeType, Doc: doc, Example: example}, size: 1, getters: getters{whole: read},
		read: func(s *scope) ref.Val { return types.Int(read(s)) },
	}
}

func number(name, doc, example string, read func(*scope) float64) variable {
	return variable{
		Variable: Variable{Name: name, Type: numberType, Doc: doc, Example: example}, size: 1, getters: getters{number: read},
		read: func(s *scope) ref.Val { return types.Double(read(s)) },
	}
}

func truth(name, doc, example string, read func(*scope) bool) variable {
	return variable{
		Variable: Variable{Name: name, Type: truthType, Doc: doc, Example: example}, size: 1, getters: getters{truth: read},
		read: func(s *scope) ref.Val { return types.Bool(read(s)) },
	}
}

// oneOf says all that the variable can be.
func (v variable) oneOf(values []string) variable {
	v.Values = values
	v.known = func(s string) bool { return slices.Contains(values, s) }
	return v
}

// country says that the variable is a country.
func (v variable) country() variable {
	v.known = func(s string) bool { return s == "" || ship.KnownCountry(s) }
	return v
}

// celType is the type of the variable in the language.
func (v variable) celType() *cel.Type {
	switch v.Type {
	case textType:
		return cel.StringType
	case wholeType:
		return cel.IntType
	case numberType:
		return cel.DoubleType
	case truthType:
		return cel.BoolType
	case mapType:
		return cel.MapType(cel.StringType, cel.StringType)
	}
	return cel.ListType(offerType)
}
