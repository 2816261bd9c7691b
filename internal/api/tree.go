package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/waybillhq/waybill/internal/wire"
)

// object is a JSON object that keeps the order of its members. Its values, and
// those of lists ([]any), are objects, lists or scalars as encoding/json has
// them.
type object struct {
	members []property
}

type property struct {
	name  string
	value any
}

// get returns the value of a member, nil if there is none.
func (o *object) get(name string) any {
	for _, m := range o.members {
		if m.name == name {
			return m.value
		}
	}
	return nil
}

// child walks down objects by the names of their members; nil if one is missing.
func (o *object) child(names ...string) *object {
	for _, name := range names {
		next, ok := o.get(name).(*object)
		if !ok {
			return nil
		}
		o = next
	}
	return o
}

// text returns a member that is a string, "" if there is none.
func (o *object) text(name string) string {
	s, _ := o.get(name).(string)
	return s
}

// list returns a member that is a list, nil if there is none.
func (o *object) list(name string) []any {
	l, _ := o.get(name).([]any)
	return l
}

// set changes a member in its place or adds it at the end.
func (o *object) set(name string, value any) {
	for i := range o.members {
		if o.members[i].name == name {
			o.members[i].value = value
			return
		}
	}
	o.members = append(o.members, property{name, value})
}

func (o *object) remove(name string) {
	o.members = slices.DeleteFunc(o.members, func(m property) bool { return m.name == name })
}

// arrange puts the named members first, in that order. The others keep theirs.
func (o *object) arrange(names []string) {
	// Named members rank below zero, which is the rank of all others.
	rank := make(map[string]int, len(names))
	for i, name := range names {
		rank[name] = i - len(names)
	}
	slices.SortStableFunc(o.members, func(a, b property) int { return rank[a.name] - rank[b.name] })
}

// MarshalJSON writes the members in their order.
func (o *object) MarshalJSON() ([]byte, error) {
	out := []byte{'{'}
	for i, m := range o.members {
		if i > 0 {
			out = append(out, ',')
		}

		name, err := wire.Marshal(m.name)
		if err != nil {
			return nil, err
		}
		value, err := wire.Marshal(m.value)
		if err != nil {
			return nil, err
		}
		out = append(out, name...)
		out = append(out, ':')
		out = append(out, value...)
	}
	return append(out, '}'), nil
}

// treeOf converts any value into the tree of its JSON.
func treeOf(v any) (any, error) {
	text, err := wire.Marshal(v)
	if err != nil {
		return nil, err
	}

	// Numbers stay as they are written: a float would change how they look.
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	return readTree(decoder)
}

func readTree(decoder *json.Decoder) (any, error) {
	token, err := decoder.Token()
	if err != nil {
		return nil, err
	}

	switch token {
	case json.Delim('{'):
		return readObject(decoder)

	case json.Delim('['):
		list := []any{}
		for decoder.More() {
			element, err := readTree(decoder)
			if err != nil {
				return nil, err
			}
			list = append(list, element)
		}
		_, err := decoder.Token()
		return list, err
	}
	return token, nil
}

func readObject(decoder *json.Decoder) (any, error) {
	out := &object{}
	for decoder.More() {
		token, err := decoder.Token()
		if err != nil {
			return nil, err
		}
		name, ok := token.(string)
		if !ok {
			return nil, fmt.Errorf("expected a key, got %v", token)
		}

		value, err := readTree(decoder)
		if err != nil {
			return nil, err
		}
		out.members = append(out.members, property{name, value})
	}

	_, err := decoder.Token()
	return out, err
}

// clone copies a tree.
func clone(v any) any {
	switch v := v.(type) {
	case *object:
		out := &object{members: make([]property, len(v.members))}
		for i, m := range v.members {
			out.members[i] = property{m.name, clone(m.value)}
		}
		return out

	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = clone(v[i])
		}
		return out
	}
	return v
}
