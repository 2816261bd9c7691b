package web

import (
	"errors"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/waybillhq/waybill/internal/member"
	"github.com/waybillhq/waybill/internal/routing"
	"github.com/waybillhq/waybill/internal/rulebook"
	"github.com/waybillhq/waybill/internal/ship"
)

// rule handles GET /app/{mode}/routing/rule: the form of a new rule, of the
// one that the address names, or of the default.
func (s *Web) rule(v *visit) error {
	desk, err := s.Rules.Desk(v.ctx(), v.tenant())
	if err != nil {
		return err
	}
	name := v.r.URL.Query().Get("name")
	var p ruleForm
	switch i := slices.IndexFunc(desk.Rules.Rules, func(r routing.Rule) bool { return r.Name == name }); {
	case v.query("default") != "":
		p = ruleFormOf(routing.Rule{Then: desk.Rules.Default})
		p.Default = true
	case name == "":
		p = ruleFormOf(routing.Rule{})
		p.Clauses, p.Focus = []clauseForm{{Name: "destination.country", Test: routing.TestIs}}, "name"
	case i < 0:
		return ship.Errorf(ship.NotFound, "there is no such rule in the draft")
	default:
		p = ruleFormOf(desk.Rules.Rules[i])
	}
	p.Mark = desk.Mark()
	return v.showRule(http.StatusOK, p)
}

func (v *visit) showRule(status int, p ruleForm) (err error) {
	if p.Names, err = v.catalog(); err != nil {
		return err
	}
	p.Read = !v.who.Can(member.ManageRouting)
	f := v.frame(p.title(), "routing")
	if v.isPart() {
		return v.show(status, ruleFormView(f, p))
	}
	return v.show(status, rulePage(f, p))
}

func (f ruleForm) title() string {
	switch {
	case f.Default:
		return "If no rule decides"
	case f.Was == "":
		return "New rule"
	}
	return f.Was
}

// ruleFormPart handles POST /app/{mode}/routing/rule/form: the form again with
// a row more or less, or with the fields that a choice needs.
func (s *Web) ruleFormPart(v *visit) error {
	p := v.ruleForm()
	p.apply(v.form("do"))
	return v.showRule(http.StatusOK, p)
}

// apply does what a button of the form says.
func (f *ruleForm) apply(do string) {
	what, number, _ := strings.Cut(do, "-")
	i, err := strconv.Atoi(number)
	if err != nil {
		i = -1
	}
	a := &f.Then
	switch {
	case what == "cel" && f.Builder:
		f.When, f.Builder, f.Focus = f.condition(), false, "when"
	case what == "build" && !f.Builder:
		f.build()
	case what == "add":
		f.Clauses = append(f.Clauses, clauseForm{Name: "destination.country", Test: routing.TestIs})
		f.Focus = rowField("c", len(f.Clauses)-1, "name")
	case what == "drop" && i >= 0 && i < len(f.Clauses):
		f.Clauses = slices.Delete(f.Clauses, i, i+1)
	case what == "target":
		a.Targets = append(a.Targets, targetForm{})
		f.Focus = rowField("t", len(a.Targets)-1, "value")
	case what == "untarget" && i >= 0 && i < len(a.Targets):
		a.Targets = slices.Delete(a.Targets, i, i+1)
	case what == "raise" && i > 0 && i < len(a.Targets):
		a.Targets[i-1], a.Targets[i] = a.Targets[i], a.Targets[i-1]
	}
	if len(a.Targets) == 0 && a.Kind != "choose" && a.Kind != "require" {
		a.Targets = []targetForm{{}}
	}
}

// A verdict is what the check says of a rule while it is written.
type verdict struct {
	ruleForm
	Rule     routing.Rule
	Warnings []string
	Rows     []string // what each clause lacks
	Line     string   // of the condition, that the error is in
	Caret    string
	List     []string // other errors
}

// verdict is what the form means, before it was checked.
func (f ruleForm) verdict() verdict {
	r, _ := f.rule() // what is wrong stands at its fields
	return verdict{ruleForm: f, Rule: r}
}

// checkRule handles POST /app/{mode}/routing/rule/check: what is wrong with
// what is written so far. It saves nothing.
func (s *Web) checkRule(v *visit) (err error) {
	out := verdict{ruleForm: v.ruleForm()}
	if out.Names, err = v.catalog(); err != nil {
		return err
	}
	var wrong []ship.FieldError
	out.Rule, wrong = out.rule()
	out.Warnings, err = s.Rules.Check(v.ctx(), v.tenant(), out.bookOf(out.Rule))
	e, ok := errors.AsType[*ship.Error](err)
	if err != nil && (!ok || e.Kind != ship.Invalid) {
		return err
	}
	if ok {
		wrong = append(wrong, e.Fields...)
	}
	out.judge(wrong)
	return v.show(http.StatusOK, verdictPart(v.frame("", "routing"), out))
}

// bookOf is a book of the one rule, or of the one default.
func (f ruleForm) bookOf(r routing.Rule) routing.Book {
	if f.Default {
		return routing.Book{Default: r.Then}
	}
	r.Name = or(r.Name, "x") // a name that is not written yet is no mistake
	return routing.Book{Rules: []routing.Rule{r}}
}

// judge sorts what is wrong to where it is said.
func (p *verdict) judge(wrong []ship.FieldError) {
	p.Wrong = relative(wrong, "/rules/0")
	p.Rows = make([]string, len(p.Clauses))
	for i := range p.Rows {
		p.Rows[i] = p.Wrong.At("/clauses/" + strconv.Itoa(i))
	}
	for _, f := range wrong {
		at := placeOf(f.Pointer, "/rules/0")
		if at == "/when" && p.Builder && slices.ContainsFunc(p.Rows, func(s string) bool { return s != "" }) {
			delete(p.Wrong.Fields, at) // the row says it
		} else if at == "/when" {
			p.Line, p.Caret = caret(p.Rule.When, f.Detail)
		} else if !strings.HasPrefix(at, "/clauses/") {
			p.List = append(p.List, p.Wrong.At(at))
		}
	}
}

// relative are the errors of one rule, with pointers that begin at it.
func relative(wrong []ship.FieldError, rule string) problems {
	moved := make([]ship.FieldError, len(wrong))
	for i, f := range wrong {
		f.Pointer = placeOf(f.Pointer, rule)
		moved[i] = f
	}
	p, _ := problemsOf(ship.InvalidFields(moved))
	return p
}

// placeOf is a pointer as the form knows it: of the default it is the action.
func placeOf(pointer, rule string) string {
	if rest, ok := strings.CutPrefix(pointer, "/default"); ok {
		return "/then" + rest
	}
	return strings.TrimPrefix(pointer, rule)
}

// ruleIndex is the place of the rule that a pointer leads to.
func ruleIndex(pointer string) (int, bool) {
	rest, ok := strings.CutPrefix(pointer, "/rules/")
	number, _, _ := strings.Cut(rest, "/")
	i, err := strconv.Atoi(number)
	return i, ok && err == nil
}

var columnOf = regexp.MustCompile(`^(?:line (\d+), )?column (\d+): `)

// caret is the line that an error of a condition is in, and a mark under its
// column.
func caret(source, detail string) (line, mark string) {
	m := columnOf.FindStringSubmatch(detail)
	if m == nil {
		return "", ""
	}
	n, _ := strconv.Atoi(or(m[1], "1")) // digits by the pattern
	column, _ := strconv.Atoi(m[2])
	lines := strings.Split(source, "\n")
	if n > len(lines) {
		return "", ""
	}
	return lines[n-1], strings.Repeat(" ", max(0, column-1)) + "^"
}

// saveRule handles POST /app/{mode}/routing/rule.
func (s *Web) saveRule(v *visit) error {
	p := v.ruleForm()
	r, wrong := p.rule()
	if len(wrong) > 0 {
		p.Wrong = relative(wrong, "")
		return v.showRule(http.StatusUnprocessableEntity, p)
	}
	at, what := 0, "routing.rule_changed"
	if p.Was == "" && !p.Default {
		what = "routing.rule_added"
	}
	desk, err := s.Rules.Edit(v.audited(what, or(p.Name, "default"), nil), rulebook.EditInput{Tenant: v.tenant(), Mark: p.Mark, Change: func(b routing.Book) (routing.Book, error) {
		b, at = p.put(b, r)
		return b, nil
	}})
	if ship.CodeOf(err) == "draft_changed" {
		p.Mark = desk.Mark()
		if p.Names, err = v.catalog(); err != nil {
			return err
		}
		p.Problem = p.meanwhile(desk.Rules)
		return v.showRule(http.StatusUnprocessableEntity, p)
	}
	if e, ok := errors.AsType[*ship.Error](err); ok && e.Kind == ship.Invalid {
		p.Wrong = relative(e.Fields, "/rules/"+strconv.Itoa(at))
		if len(e.Fields) == 0 {
			p.Wrong.All = sentence(e.Message)
		}
		return v.showRule(http.StatusUnprocessableEntity, p)
	}
	if err != nil {
		return err
	}
	return v.redirect(v.to("routing"), "rule-saved")
}

// put places the rule in the book: where it was, or at the end.
func (f ruleForm) put(b routing.Book, r routing.Rule) (routing.Book, int) {
	if f.Default {
		b.Default = r.Then
		return b, 0
	}
	b.Rules = slices.Clone(b.Rules)
	i := slices.IndexFunc(b.Rules, func(known routing.Rule) bool { return f.Was != "" && known.Name == f.Was })
	if i < 0 {
		b.Rules = append(b.Rules, r)
		return b, len(b.Rules) - 1
	}
	b.Rules[i] = r
	return b, i
}

// meanwhile says what saving again would do after somebody else saved first.
func (f ruleForm) meanwhile(b routing.Book) string {
	text := "Someone else changed the draft while you were editing, so nothing was saved. Your version is below."
	i := slices.IndexFunc(b.Rules, func(r routing.Rule) bool { return r.Name == f.Was })
	switch {
	case f.Default || f.Was == "":
		return text + " Save again to add it to theirs."
	case i < 0:
		return text + " This rule was deleted or renamed: saving again adds yours at the end."
	}
	now := whenWords(b.Rules[i].When)
	if now == "" {
		now = b.Rules[i].When
	}
	return text + " The rule is now: " + now + ": " + f.Names.actionWords(b.Rules[i].Then) + ". Save again to put yours in its place."
}
