//go:build chaos

package crash

import (
	"strings"

	"github.com/waybillhq/waybill/internal/emulator"
)

// An outcome is what the carrier does with the first purchase.
type outcome string

// All that a carrier can do with a purchase.
var outcomes = []outcome{
	"answered", "hang", "reset", "500", "502", "truncate", "wrong_reference", // sold
	"refused", "unheard", // not sold; unheard: nor answered
}

// faults are those of the first purchase call; nil behaves.
func (o outcome) faults() *emulator.Faults {
	switch o {
	case "answered":
		return nil
	case "refused":
		return &emulator.Faults{Refuse: 1}
	case "unheard":
		return &emulator.Faults{Stall: 1}
	}
	return &emulator.Faults{Buy: map[string]float64{string(o): 1}}
}

// A scenario is one purchase and what happens around it, but for the death of
// the process that is asked.
type scenario struct {
	carrier string
	outcome outcome

	voids     bool   // the client voids what it bought
	voidFault string // of the first void, the client's or ours
	overLimit bool   // the carrier charges more than it quoted
	unnamed   bool   // the client gives no idempotency key
	review    bool   // the carrier answers no look-up for so long that a person must decide
	// approval is what becomes of the approval that the client's key needs:
	// "approved" or "expired"; empty if it needs none.
	approval string
	// earlier is what happened before: a copy died with a sale on its disk and
	// comes back when "settled" (another copy dealt with it), "lost" (the
	// database was put back to before the purchase) or "restored" (likewise,
	// and the client asks again).
	earlier string
}

func (s scenario) String() string {
	words := []string{s.carrier, string(s.outcome)}
	for _, w := range []struct {
		is   bool
		word string
	}{
		{s.voids, "void"}, {s.voidFault != "", "void-" + s.voidFault}, {s.overLimit, "dear"}, {s.unnamed, "unnamed"}, {s.review, "review"}, {s.earlier != "", s.earlier}, {s.approval != "", s.approval},
	} {
		if w.is {
			words = append(words, w.word)
		}
	}
	return strings.Join(words, " ")
}

// special are the scenarios of a carrier beside one purchase with each
// outcome.
func special(carrier string, canVoid bool) []scenario {
	list := []scenario{
		{carrier: carrier, outcome: "answered", unnamed: true},
		{carrier: carrier, outcome: "answered", overLimit: true},
		{carrier: carrier, outcome: "hang", review: true},
		{carrier: carrier, outcome: "answered", approval: "approved"},
		{carrier: carrier, outcome: "hang", approval: "approved"},
		{carrier: carrier, outcome: "answered", approval: "expired"},
		{carrier: carrier, outcome: "answered", earlier: "settled"},
		{carrier: carrier, outcome: "answered", earlier: "lost", unnamed: true},
		{carrier: carrier, outcome: "answered", earlier: "restored"},
	}
	if !canVoid {
		return list
	}
	return append(list,
		scenario{carrier: carrier, outcome: "answered", voids: true},
		scenario{carrier: carrier, outcome: "answered", voids: true, voidFault: "refuse"},
		scenario{carrier: carrier, outcome: "answered", voids: true, voidFault: "lost"},
		scenario{carrier: carrier, outcome: "answered", overLimit: true, voidFault: "refuse"},
		scenario{carrier: carrier, outcome: "answered", overLimit: true, voidFault: "lost"},
		scenario{carrier: carrier, outcome: "hang", voidFault: "lost"},
	)
}

// scenarios are all of them.
func scenarios() (list []scenario) {
	for _, m := range makers {
		for _, o := range outcomes {
			list = append(list, scenario{carrier: m.name, outcome: o})
		}
		list = append(list, special(m.name, m.voids != "none")...)
	}
	return list
}

// few are those of the gate: each point is reached by one of them.
func few() (list []scenario) {
	for _, o := range []outcome{"answered", "hang", "refused", "unheard"} {
		list = append(list, scenario{carrier: "ups", outcome: o})
	}
	list = append(list, scenario{carrier: "fedex", outcome: "hang"}, scenario{carrier: "fedex", outcome: "answered", earlier: "settled"})
	return append(list, special("ups", true)...)
}
