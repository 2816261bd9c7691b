package routing

import (
	"cmp"
	"net/http"
	"slices"
	"strings"

	"github.com/waybillhq/waybill/internal/quoting"
	"github.com/waybillhq/waybill/internal/routing"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/web/newshipment"
	"github.com/waybillhq/waybill/internal/web/offers"
	"github.com/waybillhq/waybill/internal/web/site"
)

// ruleTry is a sample order, and what the rules would do with it.
type ruleTry struct {
	newshipment.Form
	Shipment  string // whose order is the sample; "" for the form's own
	Metadata  string
	DeliverBy string
	Which     string // "draft" or "published"
	Drafted   bool
	Book      routing.Book
	Names     offers.Catalog
	Tried     *quoting.DryRun
	Warnings  []string
	Wrong     site.Problems
}

// getTry handles GET /app/{account}/{mode}/routing/try.
func getTry(v *site.Visit) error {
	page, err := tryForm(v)
	if err != nil {
		return err
	}

	page.Shipment = v.Query("shipment")
	page.Order.Destination.Country = newshipment.Origin(v).Country
	return v.Show(http.StatusOK, tryPageView(v.Frame("Try rules", "routing"), page))
}

// tryForm reads the form and the rules that it is tried with: the draft if
// there is one, unless the form asks for the published rules.
func tryForm(v *site.Visit) (page ruleTry, err error) {
	page = ruleTry{
		Form:      newshipment.ReadForm(v),
		Shipment:  v.Form("shipment"),
		Metadata:  v.Form("metadata"),
		DeliverBy: v.Form("deliverBy"),
		Which:     v.Form("which"),
	}
	page.Order.Metadata = pairs(page.Metadata)
	page.Order.DeliverBy = ship.Date(page.DeliverBy)
	if page.Names, err = offers.CatalogOf(v); err != nil {
		return page, err
	}

	desk, err := v.Rules.Workspace(v.Context(), v.Tenant())
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
func tryRules(v *site.Visit) error {
	page, err := tryForm(v)
	if err != nil {
		return err
	}

	status := http.StatusOK
	if err := tryOrder(v, &page); err != nil {
		found, fixable := site.ProblemsOf(err)
		if !fixable {
			return err
		}
		page.Wrong = found
		page.Explain(found)
		status = http.StatusUnprocessableEntity
	}

	frame := v.Frame("Try rules", "routing")
	if v.IsPart() {
		return v.Show(status, triedPart(frame, page))
	}
	return v.Show(status, tryPageView(frame, page))
}

func tryOrder(v *site.Visit, page *ruleTry) (err error) {
	in := quoting.DryRunInput{
		Tenant:    v.Tenant(),
		Account:   v.Who.Account,
		Order:     page.sample(),
		OneParcel: len(page.Order.Parcels) == 1,
	}
	if page.Shipment != "" {
		if in.Order, err = orderOf(v, page.Shipment); err != nil {
			return err
		}
		in.OneParcel = len(in.Order.Parcels) == 1
	}

	// Without a book of its own, the input is tried with the published rules.
	if page.Which == "draft" {
		if page.Warnings, err = v.Rules.Check(v.Context(), v.Tenant(), page.Book); err != nil {
			return err
		}
		if in.Book, err = routing.Compile(page.Book); err != nil {
			return err
		}
	}

	tried, err := v.Quoting.DryRun(v.Context(), in)
	if err == nil {
		page.Tried = &tried
	}
	return err
}

// sample returns the form's order. What rules cannot read is filled with
// sample values.
func (p ruleTry) sample() ship.Order {
	order := p.Order
	order.Destination.Name = cmp.Or(order.Destination.Name, "Sample")
	order.Destination.Address1 = cmp.Or(order.Destination.Address1, "1 Main Street")
	return order
}

// orderOf returns the order of a shipment, as it would be sent today.
func orderOf(v *site.Visit, id string) (ship.Order, error) {
	notFound := ship.InvalidFields([]ship.FieldError{{Pointer: "/shipment", Code: "not_found", Detail: "no such shipment"}})
	parsed, ok := ship.ParseShipmentID(id)
	if !ok {
		return ship.Order{}, notFound
	}
	shipment, err := v.Shipping.Shipment(v.Context(), v.Tenant(), parsed)
	if ship.KindOf(err) == ship.NotFound {
		return ship.Order{}, notFound
	}

	// The shipment's own dates are in the past.
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

// candidates lists all offers: those that may be bought in their order, then
// those that were dropped, with the reason.
func candidates(seen, allowed []ship.Rate, dropped []ship.Dropped) []offers.Tried {
	var list []offers.Tried
	for i, rate := range allowed {
		offer := offers.Tried{Rate: rate, Word: "If the previous offer is declined"}
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

		offer := offers.Tried{Rate: rate, Word: "Not chosen", Class: "dropped"}
		for _, drop := range dropped {
			if drop.Carrier == rate.Carrier && drop.Service == rate.Service {
				offer.Word = offers.DroppedWord(drop)
			}
		}
		list = append(list, offer)
	}
	return list
}
