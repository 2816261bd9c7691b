// Package routing has the pages of routing rules: editing, trying, back-testing
// and publishing them, their versions, and the rate sheets that they compare.
package routing

import (
	"net/http"
	"slices"
	"strconv"

	"github.com/waybillhq/waybill/internal/routing"
	"github.com/waybillhq/waybill/internal/rulebook"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/web/offers"
	"github.com/waybillhq/waybill/internal/web/site"
)

// deskView is the page of the rules.
type deskView struct {
	rulebook.Workspace
	Names   offers.Catalog
	Changes []routing.Difference // of the draft, against the published rules
	Problem string
	Broken  []string // what has become invalid in the draft
	Said    string   // what was just done, for screen readers
}

// Can reports whether the i-th rule can be moved by so many positions.
func (p deskView) Can(i, by int) bool { return i+by >= 0 && i+by < len(p.Rules.Rules) }

// desk reads the draft and the published rules for the page.
func desk(v *site.Visit) (page deskView, err error) {
	if page.Workspace, err = v.Rules.Workspace(v.Context(), v.Tenant()); err != nil {
		return page, err
	}
	return page, describeDesk(v, &page)
}

// describeDesk adds names, changes and problems to the page.
func describeDesk(v *site.Visit, page *deskView) (err error) {
	if page.Names, err = offers.CatalogOf(v); err != nil {
		return err
	}
	if page.HasDraft {
		page.Changes = routing.Compare(page.Published.Rules, page.Rules)
	}

	if found, ok := site.ProblemsOf(page.DraftError); ok {
		for pointer, text := range found.Fields {
			page.Broken = append(page.Broken, ruleAt(page.Rules, pointer)+": "+text)
		}
		slices.Sort(page.Broken)
	}
	return nil
}

// ruleAt names the rule that a pointer leads to.
func ruleAt(book routing.Book, pointer string) string {
	if i, ok := ruleIndex(pointer); ok && i < len(book.Rules) {
		return "Rule “" + book.Rules[i].Name + "”"
	}
	return "The default"
}

// getRules handles GET /app/{account}/{mode}/routing.
func getRules(v *site.Visit) error {
	page, err := desk(v)
	if err != nil {
		return err
	}
	return v.Show(http.StatusOK, routingPage(v.Frame("Routing", "routing"), page))
}

// ruleDone is what the audit log calls the actions of the buttons.
var ruleDone = map[string]string{
	"up":     "moved",
	"down":   "moved",
	"order":  "moved",
	"off":    "switched_off",
	"on":     "switched_on",
	"delete": "deleted",
}

// changeRules handles POST /app/{account}/{mode}/routing: the action of the
// button, on one rule or on the whole draft.
func changeRules(v *site.Visit) error {
	action := v.Form("do")
	name := v.Request.FormValue("rule")
	switch action {
	case "discard":
		if err := v.Rules.DropDraft(v.Audited("routing.draft_discarded", "", nil), v.Tenant()); err != nil {
			return err
		}
		return v.Redirect(v.To("routing"), "discarded")
	case "keep":
		return keepDraft(v, v.Form("mark"))
	case "up", "down", "order", "off", "on", "delete":
	default:
		return site.ErrNoPage
	}

	desk, err := v.Rules.Edit(v.Audited("routing.rule_"+ruleDone[action], name, nil), rulebook.EditInput{
		Tenant: v.Tenant(),
		Mark:   v.Form("mark"),
		Change: func(book routing.Book) (routing.Book, error) {
			return rearrange(book, action, name, v.Request.PostForm["order"])
		},
	})
	found, fixable := site.ProblemsOf(err)
	if err != nil && !fixable {
		return err
	}
	if err == nil && !v.IsPart() {
		done := "saved"
		if action == "delete" {
			done = "deleted"
		}
		return v.Redirect(v.To("routing"), done)
	}

	// An edit that failed still returns the draft, which the page shows.
	page := deskView{Workspace: desk}
	status := http.StatusOK
	if err != nil {
		page.Problem = found.All + " This is the current version."
		status = http.StatusUnprocessableEntity
	}
	if err := describeDesk(v, &page); err != nil {
		return err
	}
	page.Said = page.positionWords(name)

	frame := v.Frame("Routing", "routing")
	if v.IsPart() {
		return v.Show(status, deskPart(frame, page))
	}
	return v.Show(status, routingPage(frame, page))
}

// positionWords says which position a rule has now; "" if it is gone.
func (p deskView) positionWords(name string) string {
	i := slices.IndexFunc(p.Rules.Rules, func(r routing.Rule) bool { return r.Name == name })
	if i < 0 {
		return ""
	}
	return "“" + name + "” is rule " + strconv.Itoa(i+1) + " of " + strconv.Itoa(len(p.Rules.Rules)) + "."
}

// keepDraft makes the draft replace what was published since it was begun.
func keepDraft(v *site.Visit, mark string) error {
	page, err := desk(v)
	if err != nil {
		return err
	}
	if page.Revision() != mark {
		page.Problem = "Someone else changed the draft in the meantime. This is the current version."
		return v.Show(http.StatusUnprocessableEntity, routingPage(v.Frame("Routing", "routing"), page))
	}

	// Saving the draft again bases it on the rules that are published now.
	ctx := v.Audited("routing.draft_kept", "", map[string]string{"version": strconv.Itoa(page.Published.Version)})
	if _, err := v.Rules.SaveDraft(ctx, v.Tenant(), page.Rules); err != nil {
		return err
	}
	return v.Redirect(v.To("routing"), "saved")
}

// rearrange applies a button to the list of rules. It moves, switches or
// deletes rules and changes nothing else in them.
func rearrange(book routing.Book, action, name string, order []string) (routing.Book, error) {
	// An edit must not modify the rules that it is given.
	book.Rules = slices.Clone(book.Rules)
	indexOf := func(name string) int {
		return slices.IndexFunc(book.Rules, func(r routing.Rule) bool { return r.Name == name })
	}

	if action == "order" {
		// Rules that the list does not name keep their order, behind it.
		sorted := make([]routing.Rule, 0, len(book.Rules))
		for _, next := range order {
			if i := indexOf(next); i >= 0 {
				sorted = append(sorted, book.Rules[i])
				book.Rules = slices.Delete(book.Rules, i, i+1)
			}
		}
		book.Rules = append(sorted, book.Rules...)
		return book, nil
	}

	i := indexOf(name)
	if i < 0 {
		return book, ship.Errorf(ship.Conflict, "that rule no longer exists")
	}
	rules := book.Rules
	switch {
	case action == "up" && i > 0:
		rules[i-1], rules[i] = rules[i], rules[i-1]
	case action == "down" && i+1 < len(rules):
		rules[i+1], rules[i] = rules[i], rules[i+1]
	case action == "off" || action == "on":
		rules[i].Disabled = action == "off"
	case action == "delete":
		book.Rules = slices.Delete(rules, i, i+1)
	}
	return book, nil
}
