package emulator

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
)

// MiscasedMember returns the path of a member of a JSON text whose name differs
// only in its letter case from the one that a request of this shape has; empty if
// there is none. Go reads such a member all the same, and carriers do not: to
// them it is an unknown one.
func MiscasedMember(raw []byte, shape any) string {
	var value any
	if json.Unmarshal(raw, &value) != nil {
		return ""
	}
	return miscased(value, reflect.TypeOf(shape), "")
}

func miscased(value any, shape reflect.Type, path string) string {
	for shape != nil && shape.Kind() == reflect.Pointer {
		shape = shape.Elem()
	}
	if shape == nil {
		return ""
	}

	switch value := value.(type) {
	case []any:
		if shape.Kind() != reflect.Slice {
			return ""
		}
		for i, element := range value {
			if found := miscased(element, shape.Elem(), fmt.Sprintf("%s[%d]", path, i)); found != "" {
				return found
			}
		}

	case map[string]any:
		if shape.Kind() != reflect.Struct {
			return ""
		}
		members := membersOf(shape)
		for name, element := range value {
			member, isKnown := members[name]
			for other := range members {
				if !isKnown && strings.EqualFold(other, name) {
					return strings.TrimPrefix(path+"."+name, ".")
				}
			}
			if !isKnown {
				continue
			}
			if found := miscased(element, member, path+"."+name); found != "" {
				return strings.TrimPrefix(found, ".")
			}
		}
	}
	return ""
}

// membersOf returns the members of a struct and of those embedded in it, by name.
func membersOf(shape reflect.Type) map[string]reflect.Type {
	members := map[string]reflect.Type{}
	for _, field := range reflect.VisibleFields(shape) {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name != "" && name != "-" {
			members[name] = field.Type
		}
	}
	return members
}
