package routing

import "github.com/waybillhq/waybill/internal/ship"

// The largest book. What is larger is refused.
const (
	MaxRules     = 500
	MaxCondition = 2000    // characters
	MaxTargets   = 50      // of one action
	MaxName      = 100     // characters
	MaxBook      = 256_000 // bytes of JSON
)

// A Book is an account's rules, tried from the first to the last. The first
// rule that matches and finds an offer decides; forbid and require go on.
type Book struct {
	Rules   []Rule `json:"rules"`
	Default Action `json:"default,omitzero"` // when no rule decides; the cheapest if absent
}

// A Rule is a condition and what follows from it.
type Rule struct {
	Name      string `json:"name"`           // unique in the book
	When      string `json:"when,omitempty"` // a CEL condition; always if empty
	Then      Action `json:"then"`
	Guard     Guard  `json:"guard,omitzero"`
	Otherwise string `json:"otherwise,omitempty"` // "next" (also "") or "refuse", if no offer fits the action
	Disabled  bool   `json:"disabled,omitempty"`  // checked, and not applied
}

// An Action is what a rule does: exactly one of Use, Choose, Prefer, Split,
// Forbid and Require. The other fields belong to one of these.
type Action struct {
	// Use allows these targets alone, in their order; of one target the
	// cheapest first.
	Use []Target `json:"use,omitempty"`

	// Choose is "cheapest" or "fastest", of the offers inside the limits that
	// follow it.
	Choose                  string    `json:"choose,omitempty"`
	By                      ship.Date `json:"by,omitzero"`                       // promised for this day or before
	WithinDays              *int      `json:"withinDays,omitempty"`              // after the ship date
	WithinDaysOfFastest     *int      `json:"withinDaysOfFastest,omitempty"`     // 0 is as fast as the fastest
	WithinPercentOfCheapest *float64  `json:"withinPercentOfCheapest,omitempty"` // 0 is as cheap as the cheapest
	Only                    []Target  `json:"only,omitempty"`

	// Prefer takes the cheapest of these targets if it costs at most the
	// tolerance more than the cheapest of all, else the cheapest of all. With
	// both tolerances the offer must be inside both.
	Prefer           []Target `json:"prefer,omitempty"`
	TolerancePercent *float64 `json:"tolerancePercent,omitempty"`
	ToleranceAmount  string   `json:"toleranceAmount,omitempty"` // "1.50", in the account's currency

	// Split shares the orders out. An order always falls to the same share.
	Split []Share `json:"split,omitempty"`

	// Forbid takes the offers of these targets away from the rules that follow.
	Forbid []Target `json:"forbid,omitempty"`

	// Require asks more of every carrier. It applies before they are asked,
	// wherever the rule stands in the book.
	Require *Requirement `json:"require,omitempty"`
}

// A Target names offers: those of the carrier, of its service and of the
// connection, where these are given.
type Target struct {
	Carrier      string            `json:"carrier"`
	Service      string            `json:"service,omitempty"`
	ConnectionID ship.ConnectionID `json:"connectionId,omitempty"`
}

// A Share is a target and how many of a hundred orders it gets.
type Share struct {
	Target
	Percent int `json:"percent"`
}

// A Requirement is an extra service that an order must have. It only raises
// what the client asked for.
type Requirement struct {
	Signature string `json:"signature"` // "standard" or "adult"
}

// A Guard limits what may follow the rule's first choice when it fails. An
// offer that cannot be compared with the first choice, because its currency is
// another or its days are not known, is outside. The zero Guard limits nothing.
type Guard struct {
	ExtraPercent *float64 `json:"extraPercent,omitempty"`
	ExtraAmount  string   `json:"extraAmount,omitempty"` // "5.00", in the account's currency
	ExtraDays    *int     `json:"extraDays,omitempty"`
	None         bool     `json:"none,omitempty"` // nothing may follow
}

// A NamedTarget is a target and where the book names it.
type NamedTarget struct {
	Target
	Pointer string // JSON pointer, "/rules/3/then/use/0"
}
