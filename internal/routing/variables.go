package routing

import (
	"slices"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"

	"github.com/waybillhq/waybill/internal/ship"
)

// A Variable is something that a condition can read. Names, streets, phone
// numbers and e-mail addresses are not among them: what rules read may appear
// in a trace.
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
	integerType = "whole number"
	numberType  = "number"
	booleanType = "true or false"
	mapType     = "map of text"
	offersType  = "list of offers"
	unknownDays = 999 // of an offer that promises nothing: never fast
)

// A variable is a Variable with how it is read.
type variable struct {
	Variable
	known func(string) bool // whether it can ever be this, where Values is too long to list
	size  uint64            // the most characters or entries, for the cost estimate
	read  func(*scope) ref.Val
}

// Variables lists what conditions can read, in groups of the same first part.
func Variables() []Variable {
	out := make([]Variable, len(variables))
	for i, known := range variables {
		out[i] = known.Variable
		out[i].Values = slices.Clone(known.Values)
	}
	return out
}

// OfferFields lists what conditions can read of each of the quotes. Their
// names follow that of the loop: "q.carrier".
func OfferFields() []Variable {
	out := make([]Variable, len(offerFields))
	for i, field := range offerFields {
		out[i] = field.Variable
	}
	return out
}

var (
	weekdays   = []string{"monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"}
	signatures = append([]string{""}, ship.Signatures...)
	billings   = []string{"sender", "recipient", "third_party"}
)

var variables = slices.Concat(placeVariables, parcelVariables, orderVariables, offerVariables, timeVariables)

// variableIndex maps the names of variables to their indexes in the list, and
// groups their first parts to their names.
var variableIndex, groups = indexVariables(variables)

func indexVariables(list []variable) (indexes map[string]int, groups map[string][]string) {
	indexes = make(map[string]int, len(list))
	groups = map[string][]string{}
	for i, next := range list {
		indexes[next.Name] = i
		group, _, _ := cutName(next.Name)
		groups[group] = append(groups[group], next.Name)
	}
	return indexes, groups
}

func text(name string, size uint64, doc, example string, read func(*scope) string) variable {
	return variable{
		Variable: Variable{Name: name, Type: textType, Doc: doc, Example: example},
		size:     size,
		read:     func(s *scope) ref.Val { return types.String(read(s)) },
	}
}

func integer(name, doc, example string, read func(*scope) int64) variable {
	return variable{
		Variable: Variable{Name: name, Type: integerType, Doc: doc, Example: example},
		size:     1,
		read:     func(s *scope) ref.Val { return types.Int(read(s)) },
	}
}

func number(name, doc, example string, read func(*scope) float64) variable {
	return variable{
		Variable: Variable{Name: name, Type: numberType, Doc: doc, Example: example},
		size:     1,
		read:     func(s *scope) ref.Val { return types.Double(read(s)) },
	}
}

func boolean(name, doc, example string, read func(*scope) bool) variable {
	return variable{
		Variable: Variable{Name: name, Type: booleanType, Doc: doc, Example: example},
		size:     1,
		read:     func(s *scope) ref.Val { return types.Bool(read(s)) },
	}
}

// oneOf lists all values of the variable.
func (v variable) oneOf(values []string) variable {
	v.Values = values
	v.known = func(value string) bool { return slices.Contains(values, value) }
	return v
}

// country makes the variable a country.
func (v variable) country() variable {
	v.known = func(code string) bool { return code == "" || ship.KnownCountry(code) }
	return v
}

// celType returns the CEL type of the variable.
func (v variable) celType() *cel.Type {
	switch v.Type {
	case textType:
		return cel.StringType
	case integerType:
		return cel.IntType
	case numberType:
		return cel.DoubleType
	case booleanType:
		return cel.BoolType
	case mapType:
		return cel.MapType(cel.StringType, cel.StringType)
	}
	return cel.ListType(offerType)
}
