package routing

import (
	"sync"
	"time"

	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/interpreter"

	"github.com/waybillhq/waybill/internal/ship"
)

// A scope is what the conditions of one decision read. It answers the
// language's questions for variables; each is worked out when it is first
// read, so a book pays only for what it asks.
type scope struct {
	in       *Input
	shipDate ship.Date
	shipDay  int64
	offers   []offer // still allowed, cheapest first
	turn     offer   // the one that a loop is at
	values   []ref.Val
	pile     *pieces
	today    string
	seen     offerList // the list that values hold, kept for its memory
}

// scopes are kept for their memory alone.
var scopes = sync.Pool{New: func() any { return &scope{values: make([]ref.Val, len(variables))} }}

func newScope(in *Input) *scope {
	s := scopes.Get().(*scope)
	s.in, s.shipDate = in, in.Order.ShipDate
	if s.shipDate == "" {
		s.shipDate = ship.DateOf(in.Now)
	}
	s.shipDay = dayOf(s.shipDate)
	return s
}

// close gives the scope back. Nothing of the order stays in it.
func (s *scope) close() {
	clear(s.values)
	s.seen.clear()
	s.in, s.offers, s.turn, s.pile, s.today = nil, nil, offer{}, nil, ""
	scopes.Put(s)
}

// ResolveName is the value of a variable.
func (s *scope) ResolveName(name string) (any, bool) {
	i, ok := place[name]
	if !ok {
		return nil, false
	}
	if s.values[i] == nil {
		s.values[i] = variables[i].read(s)
	}
	return s.values[i], true
}

// Parent is part of the language's interface.
func (s *scope) Parent() interpreter.Activation { return nil }

// narrow makes the offers those that are left. What was read of the others is
// forgotten.
func (s *scope) narrow(left []offer) {
	s.offers = left
	for i := firstOfferVariable; i < firstOfferVariable+len(offerVariables); i++ {
		s.values[i] = nil
	}
}

var firstOfferVariable = place[offerVariables[0].Name]

// fastest is the offer that arrives first; of equals the cheapest.
func (s *scope) fastest() offer {
	best := s.offers[0]
	for _, o := range s.offers[1:] {
		if o.days < best.days {
			best = o
		}
	}
	return best
}

// quotes are the offers as conditions see them.
func (s *scope) quotes() ref.Val {
	s.seen.fill(s.offers[:min(len(s.offers), maxQuotes)])
	return &s.seen
}

// pieces are the sums of the parcels of an order, in grams and millimetres.
type pieces struct {
	grams, heaviest int64
	longest, girth  int64
	volume          float64 // cm³
	measured        bool
}

// pieces adds the parcels up, once.
func (s *scope) pieces() *pieces {
	if s.pile != nil {
		return s.pile
	}
	p := &pieces{measured: len(s.in.Order.Parcels) > 0}
	for _, parcel := range s.in.Order.Parcels {
		p.grams += parcel.WeightGrams
		p.heaviest = max(p.heaviest, parcel.WeightGrams)
		d := parcel.Dimensions
		if d == nil {
			p.measured = false
			continue
		}
		longest := max(d.LengthMM, d.WidthMM, d.HeightMM)
		p.longest = max(p.longest, longest)
		p.girth = max(p.girth, longest+2*(d.LengthMM+d.WidthMM+d.HeightMM-longest))
		p.volume += float64(d.LengthMM) * float64(d.WidthMM) * float64(d.HeightMM) / 1000
	}
	s.pile = p
	return p
}

// dayOf is the number of a calendar day.
func dayOf(d ship.Date) int64 { return dayAt(d.Time()) }

// dayAt is the number of the UTC day of t.
func dayAt(t time.Time) int64 {
	const day = 24 * 60 * 60
	n := t.Unix()
	if n < 0 {
		n -= day - 1
	}
	return n / day
}
