package routing

import (
	"sync"
	"time"

	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/interpreter"

	"github.com/waybillhq/waybill/internal/ship"
)

// A scope is what the conditions of one decision read. It resolves variables
// for CEL; each is computed when it is first read, so a book pays only for what
// it reads.
type scope struct {
	in       *Input
	shipDate ship.Date
	shipDay  int64
	offers   []offer // still allowed, cheapest first
	current  offer   // whose fields are read
	values   []ref.Val
	sums     *parcelTotals
	today    string
	seen     offerList // the list that values hold, kept for its memory
}

// scopes are reused only for their memory.
var scopes = sync.Pool{New: func() any { return &scope{values: make([]ref.Val, len(variables))} }}

func newScope(in *Input) *scope {
	s := scopes.Get().(*scope)
	s.in = in
	s.shipDate = in.Order.ShipDate
	if s.shipDate == "" {
		s.shipDate = ship.DateOf(in.Now)
	}
	s.shipDay = dayOf(s.shipDate)
	return s
}

// close returns the scope to the pool. Nothing of the order may stay in it: the
// next decision can be of another account.
func (s *scope) close() {
	clear(s.values)
	s.seen.clear()
	s.in = nil
	s.offers = nil
	s.sums = nil
	s.today = ""
	scopes.Put(s)
}

// ResolveName returns the value of a variable.
func (s *scope) ResolveName(name string) (any, bool) {
	i, ok := variableIndex[name]
	if !ok {
		return nil, false
	}
	if s.values[i] == nil {
		s.values[i] = variables[i].read(s)
	}
	return s.values[i], true
}

// Parent is part of CEL's interface.
func (s *scope) Parent() interpreter.Activation { return nil }

// narrow replaces the offers by those that are left, and forgets what was read
// of the others.
func (s *scope) narrow(left []offer) {
	s.offers = left
	for i := firstOfferVariable; i < firstOfferVariable+len(offerVariables); i++ {
		s.values[i] = nil
	}
}

var firstOfferVariable = variableIndex[offerVariables[0].Name]

// fastest returns the offer that arrives first; of equals the cheapest.
func (s *scope) fastest() offer {
	best := s.offers[0]
	for _, other := range s.offers[1:] {
		if other.days < best.days {
			best = other
		}
	}
	return best
}

// quotes returns the offers as conditions see them.
func (s *scope) quotes() ref.Val {
	s.seen.fill(s.offers[:min(len(s.offers), maxQuotes)])
	return &s.seen
}

// parcelTotals are the totals of an order's parcels, in grams and millimetres.
type parcelTotals struct {
	grams, heaviest int64
	longest, girth  int64
	volume          float64 // cm³
	measured        bool
}

// totals adds the parcels up, once.
func (s *scope) totals() *parcelTotals {
	if s.sums != nil {
		return s.sums
	}

	sums := &parcelTotals{measured: len(s.in.Order.Parcels) > 0}
	for _, parcel := range s.in.Order.Parcels {
		sums.grams += parcel.WeightGrams
		sums.heaviest = max(sums.heaviest, parcel.WeightGrams)
		sides := parcel.Dimensions
		if sides == nil {
			sums.measured = false
			continue
		}

		longest := max(sides.LengthMM, sides.WidthMM, sides.HeightMM)
		sums.longest = max(sums.longest, longest)
		sums.girth = max(sums.girth, longest+2*(sides.LengthMM+sides.WidthMM+sides.HeightMM-longest))
		sums.volume += float64(sides.LengthMM) * float64(sides.WidthMM) * float64(sides.HeightMM) / 1000
	}
	s.sums = sums
	return sums
}

// dayOf returns the number of a calendar day.
func dayOf(date ship.Date) int64 { return dayAt(date.Time()) }

// dayAt returns the number of the UTC day of t.
func dayAt(t time.Time) int64 {
	const day = 24 * 60 * 60
	seconds := t.Unix()
	if seconds < 0 {
		seconds -= day - 1 // Go's division rounds toward zero
	}
	return seconds / day
}
