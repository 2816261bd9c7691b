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

// get is the value of a member, nil if there is none.
func (o *object) get(name string) any {
	for _, m := range o.members {
		if m.name == name {
			return m.value
		}
	}
	return nil
}

// at walks down objects; nil if one is missing.
func (o *object) at(names ...string) *object {
	for _, name := range names {
		next, ok := o.get(name).(*object)
		if !ok {
			return nil
		}
		o = next
	}
	return o
}

func (o *object) text(name string) string {
	s, _ := o.get(name).(string)
	return s
}

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

// arrange puts the named members first, in that order.
func (o *object) arrange(names []string) {
	rank := make(map[string]int, len(names))
	for i, name := range names {
		rank[name] = i - len(names)
	}
	slices.SortStableFunc(o.members, func(a, b property) int { return rank[a.name] - rank[b.name] })
}

// MarshalJSON writes the members in their order.
func (o *object) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i, m := range o.members {
		if i > 0 {
			b = append(b, ',')
		}
		name, err := wire.Marshal(m.name)
		if err != nil {
			return nil, err
		}
		value, err := wire.Marshal(m.value)
		if err != nil {
			return nil, err
		}
		b = append(append(append(b, name...), ':'), value...)
	}
	return append(b, '}'), nil
}

// treeOf reads any value as its JSON shows it.
func treeOf(v any) (any, error) {
	b, err := wire.Marshal(v)
	if err != nil {
		return nil, err
	}
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	return readTree(dec)
}

func readTree(dec *json.Decoder) (any, error) {
	token, err := dec.Token()
	if err != nil {
		return nil, err
	}
	switch token {
	case json.Delim('{'):
		return readObject(dec)
	case json.Delim('['):
		list := []any{}
		for dec.More() {
			v, err := readTree(dec)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		_, err := dec.Token()
		return list, err
	}
	return token, nil
}

func readObject(dec *json.Decoder) (any, error) {
	o := &object{}
	for dec.More() {
		token, err := dec.Token()
		if err != nil {
			return nil, err
		}
		name, ok := token.(string)
		if !ok {
			return nil, fmt.Errorf("a name is expected, not %v", token)
		}
		v, err := readTree(dec)
		if err != nil {
			return nil, err
		}
		o.members = append(o.members, property{name, v})
	}
	_, err := dec.Token()
	return o, err
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
