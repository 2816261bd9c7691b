package web

import (
	"net/http"
	"slices"
	"strings"

	"github.com/waybillhq/waybill/internal/quoting"
	"github.com/waybillhq/waybill/internal/routing"
	"github.com/waybillhq/waybill/internal/ship"
)

// ruleTry is a sample order, and what the rules would do with it.
type ruleTry struct {
	newShipment
	Shipment  string // whose order is the sample; "" for the form's own
	Metadata  string
	DeliverBy string
	Which     string // "draft" or "published"
	Drafted   bool
	Book      routing.Book
	Names     catalog
	Tried     *quoting.DryRun
	Warnings  []string
	Wrong     problems
}

// tryPage handles GET /app/{account}/{mode}/routing/try.
func (s *Web) tryPage(v *visit) error {
	page, err := v.tryForm()
	if err != nil {
		return err
	}

	page.Shipment = v.query("shipment")
	page.Order.Destination.Country = v.origin().Country
	return v.show(http.StatusOK, tryPageView(v.frame("Try rules", "routing"), page))
}

// tryForm reads the form and the rules that it is tried with: the draft if
// there is one, unless the form asks for the published rules.
func (v *visit) tryForm() (page ruleTry, err error) {
	page = ruleTry{
		newShipment: v.readShipmentForm(),
		Shipment:    v.form("shipment"),
		Metadata:    v.form("metadata"),
		DeliverBy:   v.form("deliverBy"),
		Which:       v.form("which"),
	}
	page.Order.Metadata = pairs(page.Metadata)
	page.Order.DeliverBy = ship.Date(page.DeliverBy)
	if page.Names, err = v.catalog(); err != nil {
		return page, err
	}

	desk, err := v.Rules.Workspace(v.ctx(), v.tenant())
	if err != nil {
		return page, err
	}
	page.Drafted = desk.HasDraft
	page.Book = desk.Rules
	switch {
	case !desk.HasDraft:
		page.Which = "published"
	case page.Which == "":
		page.Which = "draft"
	}
	if page.Which == "published" {
		page.Book = desk.Published.Rules
	}
	return page, nil
}

// pairs parses lines of "key = value".
func pairs(text string) map[string]string {
	var out map[string]string
	for line := range strings.Lines(text) {
		key, value, ok := strings.Cut(line, "=")
		key = strings.TrimSpace(key)
		if !ok || key == "" {
			continue
		}

		if out == nil {
			out = map[string]string{}
		}
		out[key] = strings.TrimSpace(value)
	}
	return out
}

// tryRules handles POST /app/{account}/{mode}/routing/try: it requests rates from
// the carriers and lets the rules choose. It buys nothing.
func (s *Web) tryRules(v *visit) error {
	page, err := v.tryForm()
	if err != nil {
		return err
	}

	status := http.StatusOK
	if err := v.try(&page); err != nil {
		found, fixable := problemsOf(err)
		if !fixable {
			return err
		}
		page.Wrong = found
		page.explain(found)
		status = http.StatusUnprocessableEntity
	}

	frame := v.frame("Try rules", "routing")
	if v.isPart() {
		return v.show(status, triedPart(frame, page))
	}
	return v.show(status, tryPageView(frame, page))
}

func (v *visit) try(page *ruleTry) (err error) {
	in := quoting.DryRunInput{
		Tenant:    v.tenant(),
		Account:   v.who.Account,
		Order:     page.sample(),
		OneParcel: len(page.Order.Parcels) == 1,
	}
	if page.Shipment != "" {
		if in.Order, err = v.orderOf(page.Shipment); err != nil {
			return err
		}
		in.OneParcel = len(in.Order.Parcels) == 1
	}

	// Without a book of its own, the input is tried with the published rules.
	if page.Which == "draft" {
		if page.Warnings, err = v.Rules.Check(v.ctx(), v.tenant(), page.Book); err != nil {
			return err
		}
		if in.Book, err = routing.Compile(page.Book); err != nil {
			return err
		}
	}

	tried, err := v.Quoting.DryRun(v.ctx(), in)
	if err == nil {
		page.Tried = &tried
	}
	return err
}

// sample returns the form's order. What rules cannot read is filled with
// sample values.
func (p ruleTry) sample() ship.Order {
	order := p.Order
	order.Destination.Name = or(order.Destination.Name, "Sample")
	order.Destination.Address1 = or(order.Destination.Address1, "1 Main Street")
	return order
}

// orderOf returns the order of a shipment, as it would be sent today.
func (v *visit) orderOf(id string) (ship.Order, error) {
	notFound := ship.InvalidFields([]ship.FieldError{{Pointer: "/shipment", Code: "not_found", Detail: "no such shipment"}})
	parsed, ok := ship.ParseShipmentID(id)
	if !ok {
		return ship.Order{}, notFound
	}
	shipment, err := v.Shipping.Shipment(v.ctx(), v.tenant(), parsed)
	if ship.KindOf(err) == ship.NotFound {
		return ship.Order{}, notFound
	}

	// Its own dates are past.
	order := shipment.Order
	order.ShipDate = ""
	order.DeliverBy = ""
	return order, err
}

// A triedRule is a rule of the book and what became of it.
type triedRule struct {
	routing.Rule
	Outcome string // of the routing package's steps; "" if it was not evaluated
}

// Rules returns the rules in their order, with the outcome of each.
func (p ruleTry) Rules() []triedRule {
	list := make([]triedRule, len(p.Book.Rules))
	for i, rule := range p.Book.Rules {
		list[i].Rule = rule
		for _, step := range p.Tried.Steps {
			if step.Rule == rule.Name {
				list[i].Outcome = step.Outcome
			}
		}
	}
	return list
}

// Word returns the rule's outcome as text, with its icon and class.
func (r triedRule) Word() (word, icon, class string) {
	if r.Disabled {
		return "Disabled", "cross", "muted"
	}

	switch r.Outcome {
	case routing.StepChose:
		return "Decides", "check", "ok"
	case routing.StepForbade:
		return "Matches: excludes offers", "check", "ok"
	case routing.StepRequired:
		return "Matches: requires a signature", "check", "ok"
	case routing.StepMissed:
		return "Matches, but no offer qualifies: the next rule is evaluated", "alert", "warn"
	case routing.StepRefused:
		return "Matches, but no offer qualifies: the shipment is refused", "alert", "fail"
	case routing.StepFailed:
		return "Cannot be evaluated for this order: treated as not matching", "alert", "warn"
	case routing.StepNotMet:
		return "Does not match", "cross", "muted"
	}
	return "Not evaluated: an earlier rule decides", "right", "muted"
}

// A triedOffer is an offer and its standing.
type triedOffer struct {
	ship.Rate
	Word  string
	Class string
}

// candidates lists all offers: those that may be bought in their order, then
// those that were dropped, with the reason.
func candidates(seen, allowed []ship.Rate, dropped []ship.Dropped) []triedOffer {
	var list []triedOffer
	for i, rate := range allowed {
		offer := triedOffer{Rate: rate, Word: "If the previous offer is declined"}
		if i == 0 {
			offer.Word = "Chosen"
			offer.Class = "taken"
		}
		list = append(list, offer)
	}

	for _, rate := range seen {
		if slices.ContainsFunc(allowed, func(other ship.Rate) bool {
			return other.Carrier == rate.Carrier && other.Service == rate.Service && other.Connection == rate.Connection
		}) {
			continue
		}

		offer := triedOffer{Rate: rate, Word: "Not chosen", Class: "dropped"}
		for _, drop := range dropped {
			if drop.Carrier == rate.Carrier && drop.Service == rate.Service {
				offer.Word = droppedWord(drop)
			}
		}
		list = append(list, offer)
	}
	return list
}

// Offers lists the offers that were compared for a shipment, cheapest first, at
// most ten, with the reason for those that could not be chosen.
func (p shipmentView) Offers() []triedOffer {
	routed := p.Purchase.Routing
	var list []triedOffer
	for _, rate := range routed.Seen[:min(len(routed.Seen), 10)] {
		offer := triedOffer{Rate: rate}
		for _, drop := range routed.Dropped {
			if drop.Carrier == rate.Carrier && drop.Service == rate.Service {
				offer.Word = droppedWord(drop)
				offer.Class = "dropped"
			}
		}
		if rate.Carrier == p.Purchase.Carrier && rate.Service == p.Purchase.Service {
			offer.Word = ""
			offer.Class = "taken"
		}
		list = append(list, offer)
	}
	return list
}

// droppedWords are the reasons for which an offer could not be chosen.
var droppedWords = map[string]string{
	"late":           "Too late",
	"over_limit":     "Over the limit",
	"other_currency": "In another currency",
	"forbidden":      "Forbidden",
	"not_in_rule":    "Not listed in the rule",
	"guard":          "Outside the rule's limits",
}

// droppedWord says why an offer could not be chosen.
func droppedWord(dropped ship.Dropped) string {
	word := or(droppedWords[dropped.Why], plain(dropped.Why))
	if dropped.Rule != "" && dropped.Why == "forbidden" {
		word += " by “" + dropped.Rule + "”"
	}
	return word
}
