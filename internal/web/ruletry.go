package web

import (
	"net/http"
	"slices"
	"strings"

	"github.com/waybillhq/waybill/internal/routing"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/shipping"
)

// ruleTry is a sample, and what the rules would do with it.
type ruleTry struct {
	newShipment
	Shipment  string // whose order is the sample; "" for the form's own
	Metadata  string
	DeliverBy string
	Which     string // "draft" or "published"
	Drafted   bool
	Book      routing.Book
	Names     catalog
	Tried     *shipping.Tried
	Warnings  []string
	Wrong     problems
}

// tryPage handles GET /app/{mode}/routing/try.
func (s *Web) tryPage(v *visit) error {
	p, err := v.tryForm()
	if err != nil {
		return err
	}
	p.Shipment = v.query("shipment")
	p.Order.Destination.Country = "US"
	if o := v.who.Account.Origin; o != nil {
		p.Order.Destination.Country = o.Country
	}
	return v.show(http.StatusOK, tryPageView(v.frame("Try rules", "routing"), p))
}

// tryForm reads the form and the rules.
func (v *visit) tryForm() (p ruleTry, err error) {
	p = ruleTry{newShipment: v.readShipmentForm(), Shipment: v.form("shipment"), Metadata: v.form("metadata"), DeliverBy: v.form("deliverBy"), Which: v.form("which")}
	p.Order.Metadata, p.Order.DeliverBy = pairs(p.Metadata), ship.Date(p.DeliverBy)
	if p.Names, err = v.catalog(); err != nil {
		return p, err
	}
	desk, err := v.Rules.Desk(v.ctx(), v.tenant())
	if err != nil {
		return p, err
	}
	p.Drafted, p.Book = desk.Drafted, desk.Rules
	if p.Which == "" || !desk.Drafted {
		p.Which = "published"
		if desk.Drafted {
			p.Which = "draft"
		}
	}
	if p.Which == "published" {
		p.Book = desk.Published.Rules
	}
	return p, nil
}

// pairs reads lines of "key = value".
func pairs(text string) map[string]string {
	var out map[string]string
	for line := range strings.Lines(text) {
		key, value, ok := strings.Cut(line, "=")
		if key = strings.TrimSpace(key); ok && key != "" {
			if out == nil {
				out = map[string]string{}
			}
			out[key] = strings.TrimSpace(value)
		}
	}
	return out
}

// tryRules handles POST /app/{mode}/routing/try: asks the carriers for prices
// and lets the rules choose. It buys nothing.
func (s *Web) tryRules(v *visit) error {
	p, err := v.tryForm()
	if err != nil {
		return err
	}
	err = v.try(&p)
	if wrong, mendable := problemsOf(err); mendable {
		p.Wrong = wrong
		p.explain(wrong)
	} else if err != nil {
		return err
	}
	status := http.StatusOK
	if err != nil {
		status = http.StatusUnprocessableEntity
	}
	f := v.frame("Try rules", "routing")
	if v.isPart() {
		return v.show(status, triedPart(f, p))
	}
	return v.show(status, tryPageView(f, p))
}

func (v *visit) try(p *ruleTry) (err error) {
	in := shipping.TryInput{Tenant: v.tenant(), Account: v.who.Account, Order: p.sample(), OneParcel: len(p.Order.Parcels) == 1}
	if p.Shipment != "" {
		if in.Order, err = v.orderOf(p.Shipment); err != nil {
			return err
		}
		in.OneParcel = len(in.Order.Parcels) == 1
	}
	if p.Which == "draft" {
		if p.Warnings, err = v.Rules.Check(v.ctx(), v.tenant(), p.Book); err != nil {
			return err
		}
		if in.Book, err = routing.Compile(p.Book); err != nil {
			return err
		}
	}
	tried, err := v.Shipping.Try(v.ctx(), in)
	if err == nil {
		p.Tried = &tried
	}
	return err
}

// sample is the form's order. What rules cannot read is made up.
func (p ruleTry) sample() ship.Order {
	o := p.Order
	o.Destination.Name = or(o.Destination.Name, "Sample")
	o.Destination.Address1 = or(o.Destination.Address1, "1 Main Street")
	return o
}

// orderOf is the order of a shipment, as it would be sent today.
func (v *visit) orderOf(id string) (ship.Order, error) {
	notThere := ship.InvalidFields([]ship.FieldError{{Pointer: "/shipment", Code: "not_found", Detail: "there is no such shipment"}})
	parsed, ok := ship.ParseShipmentID(id)
	if !ok {
		return ship.Order{}, notThere
	}
	sh, err := v.Shipping.Shipment(v.ctx(), v.tenant(), parsed)
	if ship.KindOf(err) == ship.NotFound {
		return ship.Order{}, notThere
	}
	o := sh.Order
	o.ShipDate, o.DeliverBy = "", ""
	return o, err
}

// A triedRule is a rule of the book and what became of it.
type triedRule struct {
	routing.Rule
	Outcome string // of the routing package's steps; "" if it was not asked
}

// Rules are the rules in their order, with what became of each.
func (p ruleTry) Rules() []triedRule {
	list := make([]triedRule, len(p.Book.Rules))
	for i, r := range p.Book.Rules {
		list[i].Rule = r
		for _, s := range p.Tried.Steps {
			if s.Rule == r.Name {
				list[i].Outcome = s.Outcome
			}
		}
	}
	return list
}

// Word is what became of the rule, and the icon and the class of it.
func (r triedRule) Word() (word, icon, class string) {
	switch {
	case r.Disabled:
		return "Switched off", "cross", "muted"
	case r.Outcome == routing.StepChose:
		return "Decides", "check", "ok"
	case r.Outcome == routing.StepForbade:
		return "Holds: forbids", "check", "ok"
	case r.Outcome == routing.StepRequired:
		return "Holds: asks for a signature", "check", "ok"
	case r.Outcome == routing.StepMissed:
		return "Holds, and no offer fits: the next rule is asked", "alert", "warn"
	case r.Outcome == routing.StepRefused:
		return "Holds, and no offer fits: the shipment is refused", "alert", "fail"
	case r.Outcome == routing.StepFailed:
		return "Cannot be computed for this order: counts as not met", "alert", "warn"
	case r.Outcome == routing.StepNotMet:
		return "Does not hold", "cross", "muted"
	}
	return "Not asked: a rule before it decides", "right", "muted"
}

// A triedOffer is an offer and where it stands.
type triedOffer struct {
	ship.Rate
	Word  string
	Class string
}

// candidates are all offers: those that may be bought in their order, then
// those that were dropped, with the reason.
func candidates(seen, allowed []ship.Rate, dropped []ship.Dropped) []triedOffer {
	var list []triedOffer
	for i, r := range allowed {
		o := triedOffer{Rate: r, Word: "If the one before says no"}
		if i == 0 {
			o.Word, o.Class = "Chosen", "taken"
		}
		list = append(list, o)
	}
	for _, r := range seen {
		if slices.ContainsFunc(allowed, func(a ship.Rate) bool {
			return a.Carrier == r.Carrier && a.Service == r.Service && a.Connection == r.Connection
		}) {
			continue
		}
		o := triedOffer{Rate: r, Word: "Not chosen", Class: "dropped"}
		for _, d := range dropped {
			if d.Carrier == r.Carrier && d.Service == r.Service {
				o.Word = droppedWord(d)
			}
		}
		list = append(list, o)
	}
	return list
}

// Offers are the offers that a shipment was chosen of, the cheapest first, at
// most ten, with the reason of those that could not be.
func (p shipmentView) Offers() []triedOffer {
	r := p.Deal.Routing
	var list []triedOffer
	for _, rate := range r.Seen[:min(len(r.Seen), 10)] {
		o := triedOffer{Rate: rate}
		for _, d := range r.Dropped {
			if d.Carrier == rate.Carrier && d.Service == rate.Service {
				o.Word, o.Class = droppedWord(d), "dropped"
			}
		}
		if rate.Carrier == p.Deal.Carrier && rate.Service == p.Deal.Service {
			o.Word, o.Class = "", "taken"
		}
		list = append(list, o)
	}
	return list
}

// droppedWord says why an offer could not be chosen.
func droppedWord(d ship.Dropped) string {
	word := map[string]string{
		"late": "Too late", "over_limit": "Over the limit", "other_currency": "In another currency", "forbidden": "Forbidden", "not_in_rule": "Not what the rule names",
		"guard": "Outside the rule's limits",
	}[d.Why]
	if word = or(word, plain(d.Why)); d.Rule != "" && d.Why == "forbidden" {
		word += " by “" + d.Rule + "”"
	}
	return word
}
