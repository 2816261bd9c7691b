package restored

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/shipping"
	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/internal/web/parts"
	"github.com/waybillhq/waybill/internal/web/site"
)

// A group is the missing purchases of a state that can be decided about together.
type group struct {
	State  string
	Count  int
	Prices []ship.Money // what their labels cost, by currency
	// Unpriced is how many of them have no known charge.
	Unpriced int
}

// heading says how many purchases the group has.
func (g group) heading() string {
	word := strings.ToLower(stateWords[g.State])
	if g.Count == 1 {
		return "1 " + word + " purchase"
	}
	return strconv.Itoa(g.Count) + " " + word + " purchases"
}

// list is the page: what is missing, and what was decided.
type list struct {
	Views       []shipping.MissingView
	Undecided   group
	Held        group
	First, Next string // addresses; empty on the first and the last page
	Wrong       site.Problems
}

// A choice is what a decision is about: one purchase, or all of a state.
type choice struct {
	How      way
	Shipment ship.ShipmentID
	State    string
}

// A way is what can be decided, in the words of its pages.
type way struct {
	Name    string // in addresses and forms
	Title   string
	To      string // the state that it gives to a purchase
	Effect  string
	Lasting string // what cannot be undone
	Class   string // of the button
}

// ways are what can be decided, the usual one first.
var ways = []way{
	{
		Name:    "adopt",
		Title:   "Adopt",
		To:      store.PurchaseAdopting,
		Effect:  "The shipments are recorded again with their labels, charges and idempotency keys. Webhooks get shipment.created and label.generated again, under new event ids.",
		Lasting: "An adopted purchase cannot become missing again. Its label can be voided like any other.",
		Class:   "button primary",
	},
	{
		Name:    "hold",
		Title:   "Hold",
		To:      store.PurchaseHeld,
		Effect:  "The purchases stay as they are, and new live labels can be bought again. A client that repeats its request still gets the label that it bought.",
		Lasting: "Nothing is final: held purchases can be adopted or voided for 400 days.",
		Class:   "button",
	},
	{
		Name:    "void",
		Title:   "Void",
		To:      store.PurchaseVoiding,
		Effect:  "The carriers are asked to void the labels. A client that repeats its request buys a new label.",
		Lasting: "This cannot be undone. Make sure that none of these labels is on a parcel. A label that its carrier does not void stays listed under Needs attention.",
		Class:   "button danger",
	},
}

// title is what the decision is called about so many purchases.
func (c choice) title(count int) string {
	if count == 1 {
		return c.How.Title + " 1 purchase"
	}
	return c.How.Title + " " + strconv.Itoa(count) + " purchases"
}

// chosen are the purchases of the choice.
func (c choice) chosen(t ship.Tenant) shipping.MissingChoice {
	chosen := shipping.MissingChoice{Tenant: t, State: c.State}
	if c.Shipment != "" {
		chosen.Shipments = []ship.ShipmentID{c.Shipment}
	}
	return chosen
}

// choiceOf reads a choice; ok is false if it chooses nothing.
func choiceOf(read func(string) string) (c choice, ok bool) {
	for _, how := range ways {
		if how.Name == read("do") {
			c.How = how
		}
	}
	if id, isID := ship.ParseShipmentID(read("id")); isID {
		c.Shipment = id
	}
	if of := read("of"); of == store.PurchaseMissing || of == store.PurchaseHeld {
		c.State = of
	}
	return c, c.How.Name != "" && (c.Shipment != "") != (c.State != "")
}

// reviewAddress is where a decision is shown before it is made.
func reviewAddress(f site.Frame, how way, shipment ship.ShipmentID, state string) string {
	query := url.Values{"do": {how.Name}}
	if shipment != "" {
		query.Set("id", string(shipment))
	} else {
		query.Set("of", state)
	}
	return f.To("restored", "review") + "?" + query.Encode()
}

// listMissing handles GET /app/{account}/{mode}/restored.
func listMissing(v *site.Visit) error { return listWith(v, http.StatusOK, site.Problems{}) }

// listWith shows the page, with the problems of a decision.
func listWith(v *site.Visit, status int, wrong site.Problems) error {
	skip, _ := strconv.Atoi(v.Query("skip")) // anything else is the first page
	skip = max(skip, 0)
	page := list{Wrong: wrong}

	views, more, err := v.Shipping.MissingPurchases(v.Context(), shipping.MissingChoice{Tenant: v.Tenant()}, site.PageSize, skip)
	if err != nil {
		return err
	}
	page.Views = views
	if more {
		page.Next = v.To("restored") + "?skip=" + strconv.Itoa(skip+site.PageSize)
	}
	if skip > 0 {
		page.First = v.To("restored")
	}

	page.Undecided, err = groupOf(v, choice{State: store.PurchaseMissing})
	if err != nil {
		return err
	}
	page.Held, err = groupOf(v, choice{State: store.PurchaseHeld})
	if err != nil {
		return err
	}
	return v.Show(status, missingPage(v.Frame("Missing purchases", "attention"), page))
}

// groupOf counts the purchases of a choice.
func groupOf(v *site.Visit, c choice) (group, error) {
	counts, err := v.Shipping.CountMissing(v.Context(), c.chosen(v.Tenant()))
	if err != nil {
		return group{}, err
	}

	g := group{State: c.State}
	for _, count := range counts {
		if count.State == c.How.To {
			continue // it is decided already
		}
		g.Count += count.Count
		if count.Price.Currency == "" {
			g.Unpriced += count.Count
		} else {
			g.Prices = append(g.Prices, count.Price)
		}
	}
	return g, nil
}

// review handles GET /app/{account}/{mode}/restored/review: what a decision does, before it
// is made.
func review(v *site.Visit) error {
	c, ok := choiceOf(v.Query)
	if !ok {
		return v.Redirect(v.To("restored"), "")
	}
	counted, err := groupOf(v, c)
	if err != nil {
		return err
	}
	if counted.Count == 0 {
		return v.Redirect(v.To("restored"), "")
	}
	views, _, err := v.Shipping.MissingPurchases(v.Context(), c.chosen(v.Tenant()), reviewed, 0)
	if err != nil {
		return err
	}
	return v.Show(http.StatusOK, reviewPage(v.Frame(c.title(counted.Count), "attention"), c, counted, views))
}

// reviewed is how many of the purchases a review lists.
const reviewed = 10

// decide handles POST /app/{account}/{mode}/restored.
func decide(v *site.Visit) error {
	c, ok := choiceOf(v.Form)
	seen, err := strconv.Atoi(v.Form("seen"))
	if !ok || err != nil || seen < 1 {
		return site.ErrNoPage
	}

	_, err = v.Shipping.DecideMissing(v.Audited("", "", nil), shipping.MissingDecision{
		MissingChoice: c.chosen(v.Tenant()),
		To:            c.How.To,
		By:            v.Who.Name(),
		Seen:          seen,
	})
	if wrong, fixable := site.ProblemsOf(err); fixable {
		return listWith(v, http.StatusUnprocessableEntity, wrong)
	}
	if err != nil {
		return err
	}
	return v.Redirect(v.To("restored"), "missing-decided")
}

// stateWords are the states as people read them.
var stateWords = map[string]string{
	store.PurchaseMissing:  "Undecided",
	store.PurchaseHeld:     "Held",
	store.PurchaseAdopting: "Adopting",
	store.PurchaseVoiding:  "Voiding",
	store.PurchaseAdopted:  "Adopted",
	store.PurchaseVoided:   "Voided",
	store.PurchaseNotSold:  "Not sold",
}

// badges are the looks of the states.
var badges = map[string]string{
	store.PurchaseMissing:  "badge-warn",
	store.PurchaseHeld:     "badge-created",
	store.PurchaseAdopting: "badge-created",
	store.PurchaseVoiding:  "badge-created",
	store.PurchaseAdopted:  "badge-ok",
	store.PurchaseVoided:   "badge-failed",
	store.PurchaseNotSold:  "badge-failed",
}

// isOpen reports whether a person can decide about the purchase.
func isOpen(view shipping.MissingView) bool {
	switch view.State {
	case store.PurchaseMissing, store.PurchaseHeld, store.PurchaseAdopting, store.PurchaseVoiding:
		return true
	}
	return false
}

// title names a purchase by its order, as far as that is known.
func title(view shipping.MissingView) string {
	if view.Order.OrderID != "" {
		return view.Order.OrderID
	}
	return parts.ShortID(string(view.Shipment))
}

// recipient says who a purchase is for; empty if that is not known.
func recipient(view shipping.MissingView) string {
	if view.Order.Destination.Country == "" {
		return ""
	}
	return view.Order.Destination.Name + ", " + parts.Place(view.Order.Destination)
}

// waysOf are the decisions that change the state.
func waysOf(state string) (list []way) {
	for _, how := range ways {
		if how.To != state {
			list = append(list, how)
		}
	}
	return list
}
