package postnl

import (
	"encoding/json"
	"reflect"
	"strings"
)

// hasExactNames reports whether each member of a document that is one of the shape's
// has its exact spelling. Go reads "zipcode" as "Zipcode", and PostNL need not.
func hasExactNames(document []byte, shape any) bool {
	var value any
	return json.Unmarshal(document, &value) == nil && isSpelled(value, reflect.TypeOf(shape))
}

func isSpelled(value any, shape reflect.Type) bool {
	switch value := value.(type) {
	case []any:
		for _, element := range value {
			if shape.Kind() == reflect.Slice && !isSpelled(element, shape.Elem()) {
				return false
			}
		}
	case map[string]any:
		if shape.Kind() != reflect.Struct {
			return true
		}
		for name, member := range value {
			for field := range shape.Fields() {
				if !strings.EqualFold(field.Name, name) {
					continue
				}
				if field.Name != name || !isSpelled(member, field.Type) {
					return false
				}
			}
		}
	}
	return true
}
