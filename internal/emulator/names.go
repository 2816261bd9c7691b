package emulator

import (
	"cmp"
	"encoding/json"
	"reflect"
	"strings"
)

// HasExactNames reports whether each member of a JSON document that the shape has is
// spelled as there. Go also reads "zipcode" as "Zipcode", which a carrier need not.
// Members that the shape does not have are not looked at.
func HasExactNames(document []byte, shape any) bool {
	var value any
	return json.Unmarshal(document, &value) == nil && isSpelled(value, reflect.TypeOf(shape))
}

func isSpelled(value any, shape reflect.Type) bool {
	if shape.Kind() == reflect.Pointer {
		shape = shape.Elem()
	}
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
				tag, _, _ := strings.Cut(field.Tag.Get("json"), ",")
				spelling := cmp.Or(tag, field.Name)
				if !strings.EqualFold(spelling, name) {
					continue
				}
				if spelling != name || !isSpelled(member, field.Type) {
					return false
				}
			}
		}
	}
	return true
}
