package web

import (
	"net/http"
	"slices"
	"strconv"

	"github.com/waybillhq/waybill/internal/member"
	"github.com/waybillhq/waybill/internal/routing"
	"github.com/waybillhq/waybill/internal/rulebook"
	"github.com/waybillhq/waybill/internal/ship"
)

// routingRoutes are about the rules that choose carriers.
func (s *Web) routingRoutes() []route {
	return []route{
		get("/app/{account}/{mode}/routing", member.ViewRouting, s.routing),
		post("/app/{account}/{mode}/routing", member.ManageRouting, s.changeRules),

		get("/app/{account}/{mode}/routing/rule", member.ViewRouting, s.rule),
		post("/app/{account}/{mode}/routing/rule", member.ManageRouting, s.saveRule),
		post("/app/{account}/{mode}/routing/rule/form", member.ManageRouting, s.ruleFormPart),
		post("/app/{account}/{mode}/routing/rule/check", member.ManageRouting, s.checkRule),

		get("/app/{account}/{mode}/routing/try", member.ViewRouting, s.tryPage),
		post("/app/{account}/{mode}/routing/try", member.BuyShipments, s.tryRules),

		get("/app/{account}/{mode}/routing/backtest", member.ViewRouting, s.backtestPage),
		post("/app/{account}/{mode}/routing/backtest", member.ViewRouting, s.backtest),
		post("/app/{account}/{mode}/routing/backtest.csv", member.ExportShipments, s.backtestCSV),

		get("/app/{account}/{mode}/routing/publish", member.ManageRouting, s.publishPage),
		post("/app/{account}/{mode}/routing/publish", member.ManageRouting, s.publishRules),

		get("/app/{account}/{mode}/routing/history", member.ViewRouting, s.ruleHistory),
		get("/app/{account}/{mode}/routing/history.csv", member.ViewRouting, s.ruleHistoryCSV),
		get("/app/{account}/{mode}/routing/versions/{id}", member.ViewRouting, s.ruleVersion),
		get("/app/{account}/{mode}/routing/versions/{id}/rules.json", member.ViewRouting, s.ruleVersionJSON),
		post("/app/{account}/{mode}/routing/versions/{id}", member.ManageRouting, s.rollBack),
	}
}

// deskView is the page of the rules.
type deskView struct {
	rulebook.Workspace
	Names   catalog
	Changes []routing.Difference // of the draft, against the published rules
	Problem string
	Broken  []string // what has become invalid in the draft
	Said    string   // what was just done, for screen readers
}

// Can reports whether the i-th rule can be moved by so many positions.
func (p deskView) Can(i, by int) bool { return i+by >= 0 && i+by < len(p.Rules.Rules) }

// desk reads the draft and the published rules for the page.
func (v *visit) desk() (page deskView, err error) {
	if page.Workspace, err = v.Rules.Workspace(v.ctx(), v.tenant()); err != nil {
		return page, err
	}
	return page, v.describeDesk(&page)
}

// describeDesk adds names, changes and problems to the page.
func (v *visit) describeDesk(page *deskView) (err error) {
	if page.Names, err = v.catalog(); err != nil {
		return err
	}
	if page.HasDraft {
		page.Changes = routing.Compare(page.Published.Rules, page.Rules)
	}

	if found, ok := problemsOf(page.DraftError); ok {
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

// routing handles GET /app/{account}/{mode}/routing.
func (s *Web) routing(v *visit) error {
	page, err := v.desk()
	if err != nil {
		return err
	}
	return v.show(http.StatusOK, routingPage(v.frame("Routing", "routing"), page))
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
func (s *Web) changeRules(v *visit) error {
	action := v.form("do")
	name := v.r.FormValue("rule")
	switch action {
	case "discard":
		if err := s.Rules.DropDraft(v.audited("routing.draft_discarded", "", nil), v.tenant()); err != nil {
			return err
		}
		return v.redirect(v.to("routing"), "discarded")
	case "keep":
		return v.keepDraft(v.form("mark"))
	case "up", "down", "order", "off", "on", "delete":
	default:
		return errNoPage
	}

	desk, err := s.Rules.Edit(v.audited("routing.rule_"+ruleDone[action], name, nil), rulebook.EditInput{
		Tenant: v.tenant(),
		Mark:   v.form("mark"),
		Change: func(book routing.Book) (routing.Book, error) {
			return rearrange(book, action, name, v.r.PostForm["order"])
		},
	})
	found, fixable := problemsOf(err)
	if err != nil && !fixable {
		return err
	}
	if err == nil && !v.isPart() {
		done := "saved"
		if action == "delete" {
			done = "deleted"
		}
		return v.redirect(v.to("routing"), done)
	}

	// An edit that failed still returns the draft, which the page shows.
	page := deskView{Workspace: desk}
	status := http.StatusOK
	if err != nil {
		page.Problem = found.All + " This is the current version."
		status = http.StatusUnprocessableEntity
	}
	if err := v.describeDesk(&page); err != nil {
		return err
	}
	page.Said = page.positionWords(name)

	frame := v.frame("Routing", "routing")
	if v.isPart() {
		return v.show(status, deskPart(frame, page))
	}
	return v.show(status, routingPage(frame, page))
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
func (v *visit) keepDraft(mark string) error {
	page, err := v.desk()
	if err != nil {
		return err
	}
	if page.Revision() != mark {
		page.Problem = "Someone else changed the draft in the meantime. This is the current version."
		return v.show(http.StatusUnprocessableEntity, routingPage(v.frame("Routing", "routing"), page))
	}

	// Saving the draft again bases it on the rules that are published now.
	ctx := v.audited("routing.draft_kept", "", map[string]string{"version": strconv.Itoa(page.Published.Version)})
	if _, err := v.Rules.SaveDraft(ctx, v.tenant(), page.Rules); err != nil {
		return err
	}
	return v.redirect(v.to("routing"), "saved")
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
