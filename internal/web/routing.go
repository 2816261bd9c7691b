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
		get("/app/{mode}/routing", member.ViewRouting, s.routing),
		post("/app/{mode}/routing", member.ManageRouting, s.changeRules),
		get("/app/{mode}/routing/rule", member.ViewRouting, s.rule),
		post("/app/{mode}/routing/rule", member.ManageRouting, s.saveRule),
		post("/app/{mode}/routing/rule/form", member.ManageRouting, s.ruleFormPart),
		post("/app/{mode}/routing/rule/check", member.ManageRouting, s.checkRule),
		get("/app/{mode}/routing/try", member.ViewRouting, s.tryPage),
		post("/app/{mode}/routing/try", member.BuyShipments, s.tryRules),
		get("/app/{mode}/routing/backtest", member.ViewRouting, s.backtestPage),
		post("/app/{mode}/routing/backtest", member.ViewRouting, s.backtest),
		post("/app/{mode}/routing/backtest.csv", member.ExportShipments, s.backtestCSV),
		get("/app/{mode}/routing/publish", member.ManageRouting, s.publishPage),
		post("/app/{mode}/routing/publish", member.ManageRouting, s.publishRules),
		get("/app/{mode}/routing/history", member.ViewRouting, s.ruleHistory),
		get("/app/{mode}/routing/history.csv", member.ViewRouting, s.ruleHistoryCSV),
		get("/app/{mode}/routing/versions/{id}", member.ViewRouting, s.ruleVersion),
		get("/app/{mode}/routing/versions/{id}/rules.json", member.ViewRouting, s.ruleVersionJSON),
		post("/app/{mode}/routing/versions/{id}", member.ManageRouting, s.rollBack),
	}
}

// deskView is the page of the rules.
type deskView struct {
	rulebook.Desk
	Names   catalog
	Changes []routing.Difference // of the draft, against what counts
	Problem string
	Broken  []string // what became wrong with the draft
	Said    string   // what was just done, for those who do not see it
}

// Can reports whether the place of the i-th rule can change by so many.
func (p deskView) Can(i, by int) bool { return i+by >= 0 && i+by < len(p.Rules.Rules) }

// desk reads the page.
func (v *visit) desk() (p deskView, err error) {
	if p.Desk, err = v.Rules.Desk(v.ctx(), v.tenant()); err != nil {
		return p, err
	}
	return p, v.dress(&p)
}

// dress adds what the page says about the desk.
func (v *visit) dress(p *deskView) (err error) {
	if p.Names, err = v.catalog(); err != nil {
		return err
	}
	if p.Drafted {
		p.Changes = routing.Compare(p.Published.Rules, p.Rules)
	}
	if wrong, ok := problemsOf(p.Wrong); ok {
		for pointer, text := range wrong.Fields {
			p.Broken = append(p.Broken, ruleAt(p.Rules, pointer)+": "+text)
		}
		slices.Sort(p.Broken)
	}
	return nil
}

// ruleAt names the rule that a pointer leads to.
func ruleAt(b routing.Book, pointer string) string {
	if i, ok := ruleIndex(pointer); ok && i < len(b.Rules) {
		return "Rule “" + b.Rules[i].Name + "”"
	}
	return "The default"
}

// routing handles GET /app/{mode}/routing.
func (s *Web) routing(v *visit) error {
	p, err := v.desk()
	if err != nil {
		return err
	}
	return v.show(http.StatusOK, routingPage(v.frame("Routing", "routing"), p))
}

// ruleDone is what the buttons do to a rule, for the audit log.
var ruleDone = map[string]string{"up": "moved", "down": "moved", "order": "moved", "off": "switched_off", "on": "switched_on", "delete": "deleted"}

// changeRules handles POST /app/{mode}/routing: what the button says, to the
// rule or to the whole draft.
func (s *Web) changeRules(v *visit) error {
	do, name := v.form("do"), v.r.FormValue("rule")
	switch do {
	case "discard":
		if err := s.Rules.DropDraft(v.audited("routing.draft_discarded", "", nil), v.tenant()); err != nil {
			return err
		}
		return v.redirect(v.to("routing"), "discarded")
	case "up", "down", "order", "off", "on", "delete", "keep":
	default:
		return errNoPage
	}
	in := rulebook.EditInput{Tenant: v.tenant(), Mark: v.form("mark"), Change: func(b routing.Book) (routing.Book, error) {
		return rearrange(b, do, name, v.r.PostForm["order"])
	}}
	if do == "keep" {
		return v.keepDraft(in.Mark)
	}
	desk, err := s.Rules.Edit(v.audited("routing.rule_"+ruleDone[do], name, nil), in)
	p := deskView{Desk: desk}
	wrong, mendable := problemsOf(err)
	if err != nil && !mendable {
		return err
	}
	if err == nil && !v.isPart() {
		return v.redirect(v.to("routing"), map[bool]string{true: "deleted", false: "saved"}[do == "delete"])
	}
	status := http.StatusOK
	if err != nil {
		p.Problem, status = wrong.All+" This is how it is now.", http.StatusUnprocessableEntity
	}
	if err := v.dress(&p); err != nil {
		return err
	}
	p.Said = p.saidOf(name)
	f := v.frame("Routing", "routing")
	if v.isPart() {
		return v.show(status, deskPart(f, p))
	}
	return v.show(status, routingPage(f, p))
}

func (p deskView) saidOf(name string) string {
	i := slices.IndexFunc(p.Rules.Rules, func(r routing.Rule) bool { return r.Name == name })
	if i < 0 {
		return ""
	}
	return "“" + name + "” is number " + strconv.Itoa(i+1) + " of " + strconv.Itoa(len(p.Rules.Rules)) + "."
}

// keepDraft has the draft replace what was published since it was begun.
func (v *visit) keepDraft(mark string) error {
	p, err := v.desk()
	if err != nil {
		return err
	}
	if p.Mark() != mark {
		p.Problem = "Someone else changed the draft in the meantime. This is the current version."
		return v.show(http.StatusUnprocessableEntity, routingPage(v.frame("Routing", "routing"), p))
	}
	if _, err := v.Rules.SaveDraft(v.audited("routing.draft_kept", "", map[string]string{"version": strconv.Itoa(p.Published.Version)}), v.tenant(), p.Rules); err != nil {
		return err
	}
	return v.redirect(v.to("routing"), "saved")
}

// rearrange changes the list of rules, and no rule but for its switch.
func rearrange(b routing.Book, do, name string, order []string) (routing.Book, error) {
	b.Rules = slices.Clone(b.Rules)
	at := func(name string) int {
		return slices.IndexFunc(b.Rules, func(r routing.Rule) bool { return r.Name == name })
	}
	if do == "order" {
		sorted := make([]routing.Rule, 0, len(b.Rules))
		for _, n := range order {
			if i := at(n); i >= 0 {
				sorted, b.Rules = append(sorted, b.Rules[i]), slices.Delete(b.Rules, i, i+1)
			}
		}
		b.Rules = append(sorted, b.Rules...)
		return b, nil
	}
	i := at(name)
	if i < 0 {
		return b, ship.Errorf(ship.Conflict, "that rule is not there any more")
	}
	switch {
	case do == "up" && i > 0:
		b.Rules[i-1], b.Rules[i] = b.Rules[i], b.Rules[i-1]
	case do == "down" && i+1 < len(b.Rules):
		b.Rules[i+1], b.Rules[i] = b.Rules[i], b.Rules[i+1]
	case do == "off" || do == "on":
		b.Rules[i].Disabled = do == "off"
	case do == "delete":
		b.Rules = slices.Delete(b.Rules, i, i+1)
	}
	return b, nil
}
