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

// offerType is the CEL type of an offer.
var offerType = types.NewObjectType("offer")

// An offerValue is an offer as conditions see it. Its fields are computed when
// they are read.
type offerValue struct {
	offer  offer
	fields []ref.Val
}

// field returns the value of the i-th of offerFields.
func (v *offerValue) field(i int) ref.Val {
	if v.fields[i] == nil {
		v.fields[i] = offerFields[i].read(&scope{current: v.offer})
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
	otherOffer, ok := other.(*offerValue)
	return types.Bool(ok && otherOffer.offer.rate == v.offer.rate)
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

// fill makes it the list of these offers. It allocates only if there are more
// than before.
func (l *offerList) fill(offers []offer) {
	count := len(offers)
	width := len(offerFields)
	if cap(l.items) < count {
		l.items = make([]offerValue, count)
		l.values = make([]ref.Val, count)
		l.fields = make([]ref.Val, count*width)
	}
	l.items = l.items[:count]
	l.values = l.values[:count]
	l.fields = l.fields[:count*width]

	clear(l.fields)
	for i, next := range offers {
		l.items[i] = offerValue{offer: next, fields: l.fields[i*width : (i+1)*width]}
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

// metadata is the map of the client's own values. No key is missing: one that
// was not given reads as empty text.
type metadata map[string]string

// Find returns the value of a key. It is always found.
func (m metadata) Find(key ref.Val) (ref.Val, bool) {
	name, ok := key.(types.String)
	if !ok {
		return types.MaybeNoSuchOverloadErr(key), false
	}
	return types.String(m[string(name)]), true
}

func (m metadata) Get(key ref.Val) ref.Val {
	value, _ := m.Find(key)
	return value
}

// Contains reports whether the client gave the key.
func (m metadata) Contains(key ref.Val) ref.Val {
	name, ok := key.(types.String)
	if !ok {
		return types.MaybeNoSuchOverloadErr(key)
	}
	_, ok = m[string(name)]
	return types.Bool(ok)
}

func (m metadata) plain() traits.Mapper {
	return types.NewStringStringMap(types.DefaultTypeAdapter, m)
}

func (m metadata) Size() ref.Val { return types.Int(len(m)) }

// Iterator returns the keys sorted, so the same order always reads the same.
func (m metadata) Iterator() traits.Iterator {
	keys := slices.Sorted(maps.Keys(m))
	return types.NewStringList(types.DefaultTypeAdapter, keys).(traits.Iterable).Iterator()
}

func (m metadata) Equal(other ref.Val) ref.Val                 { return m.plain().Equal(other) }
func (m metadata) ConvertToNative(t reflect.Type) (any, error) { return m.plain().ConvertToNative(t) }
func (m metadata) ConvertToType(t ref.Type) ref.Val            { return m.plain().ConvertToType(t) }
func (m metadata) Type() ref.Type                              { return types.MapType }
func (m metadata) Value() any                                  { return map[string]string(m) }
