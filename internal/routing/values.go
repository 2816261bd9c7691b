package routing

import (
	"fmt"
	"maps"
	"reflect"
	"slices"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
)

// offerType is an offer in the language.
var offerType = types.NewObjectType("offer")

// An offerValue is an offer as conditions see it. Its fields are made when
// they are read.
type offerValue struct {
	offer  offer
	fields []ref.Val
}

// field is the value of the i-th of offerFields.
func (v *offerValue) field(i int) ref.Val {
	if v.fields[i] == nil {
		v.fields[i] = offerFields[i].read(&scope{turn: v.offer})
	}
	return v.fields[i]
}

func (v *offerValue) ConvertToNative(t reflect.Type) (any, error) {
	return nil, fmt.Errorf("an offer is not a %v", t)
}

func (v *offerValue) ConvertToType(t ref.Type) ref.Val {
	return types.NewErr("an offer is not a %s", t.TypeName())
}

// Equal reports whether both are the same offer.
func (v *offerValue) Equal(other ref.Val) ref.Val {
	o, ok := other.(*offerValue)
	return types.Bool(ok && o.offer.rate == v.offer.rate)
}

func (v *offerValue) Type() ref.Type { return offerType }

func (v *offerValue) Value() any { return v }

// An offerList is the variable quotes. Its memory serves many decisions.
type offerList struct {
	traits.Lister // all but what follows
	items         []offerValue
	values        []ref.Val
	fields        []ref.Val
}

// fill makes it the list of these offers.
func (l *offerList) fill(offers []offer) {
	n, each := len(offers), len(offerFields)
	if cap(l.items) < n {
		l.items, l.values, l.fields = make([]offerValue, n), make([]ref.Val, n), make([]ref.Val, n*each)
	}
	l.items, l.values, l.fields = l.items[:n], l.values[:n], l.fields[:n*each]
	clear(l.fields)
	for i, o := range offers {
		l.items[i] = offerValue{offer: o, fields: l.fields[i*each : (i+1)*each]}
		l.values[i] = &l.items[i]
	}
	l.Lister = types.NewRefValList(types.DefaultTypeAdapter, l.values)
}

// clear forgets the offers.
func (l *offerList) clear() {
	clear(l.items)
	clear(l.values)
	clear(l.fields)
	l.Lister = nil
}

// metadata is the map of the client's own values, in which nothing is missing:
// a key that is not there reads as empty text.
type metadata map[string]string

// Find is the value of a key. It is always found.
func (m metadata) Find(key ref.Val) (ref.Val, bool) {
	k, ok := key.(types.String)
	if !ok {
		return types.MaybeNoSuchOverloadErr(key), false
	}
	return types.String(m[string(k)]), true
}

func (m metadata) Get(key ref.Val) ref.Val {
	v, _ := m.Find(key)
	return v
}

// Contains reports whether the client gave the key.
func (m metadata) Contains(key ref.Val) ref.Val {
	k, ok := key.(types.String)
	if !ok {
		return types.MaybeNoSuchOverloadErr(key)
	}
	_, ok = m[string(k)]
	return types.Bool(ok)
}

func (m metadata) plain() traits.Mapper {
	return types.NewStringStringMap(types.DefaultTypeAdapter, m)
}

func (m metadata) Size() ref.Val { return types.Int(len(m)) }

// Iterator goes through the keys in their order, so that the same order always
// reads the same.
func (m metadata) Iterator() traits.Iterator {
	keys := slices.Sorted(maps.Keys(m))
	return types.NewStringList(types.DefaultTypeAdapter, keys).(traits.Iterable).Iterator()
}

func (m metadata) Equal(other ref.Val) ref.Val                 { return m.plain().Equal(other) }
func (m metadata) ConvertToNative(t reflect.Type) (any, error) { return m.plain().ConvertToNative(t) }
func (m metadata) ConvertToType(t ref.Type) ref.Val            { return m.plain().ConvertToType(t) }
func (m metadata) Type() ref.Type                              { return types.MapType }
func (m metadata) Value() any                                  { return map[string]string(m) }
