package routing

import (
	"cmp"
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
	"github.com/waybillhq/waybill/internal/web/offers"
	"github.com/waybillhq/waybill/internal/web/parts"
	"github.com/waybillhq/waybill/internal/web/site"
)

// getRule handles GET /app/{account}/{mode}/routing/rule: the form of a new
// rule, of the one that the address names, or of the default.
func getRule(v *site.Visit) error {
	desk, err := v.Rules.Workspace(v.Context(), v.Tenant())
	if err != nil {
		return err
	}

	// The name is compared untrimmed, as it is stored.
	name := v.Request.URL.Query().Get("name")
	i := slices.IndexFunc(desk.Rules.Rules, func(r routing.Rule) bool { return r.Name == name })

	var form ruleForm
	switch {
	case v.Query("default") != "":
		form = ruleFormOf(routing.Rule{Then: desk.Rules.Default})
		form.Default = true
	case name == "":
		form = ruleFormOf(routing.Rule{})
		form.Clauses = []clauseForm{{Name: "destination.country", Test: routing.TestIs}}
		form.Focus = "name"
	case i < 0:
		return ship.Errorf(ship.NotFound, "the draft has no such rule")
	default:
		form = ruleFormOf(desk.Rules.Rules[i])
	}

	form.Mark = desk.Revision()
	return showRule(v, http.StatusOK, form)
}

func showRule(v *site.Visit, status int, form ruleForm) (err error) {
	if form.Names, err = offers.CatalogOf(v); err != nil {
		return err
	}
	form.Read = !v.Who.Can(member.ManageRouting)

	frame := v.Frame(form.title(), "routing")
	if v.IsPart() {
		return v.Show(status, ruleFormView(frame, form))
	}
	return v.Show(status, rulePage(frame, form))
}

func (f ruleForm) title() string {
	switch {
	case f.Default:
		return "If no rule applies"
	case f.Was == "":
		return "New rule"
	}
	return f.Was
}

// getRuleForm handles POST /app/{account}/{mode}/routing/rule/form: the form
// again with a row more or less, or with the fields that a choice needs.
func getRuleForm(v *site.Visit) error {
	form := readRuleForm(v)
	form.apply(v.Form("do"))
	return showRule(v, http.StatusOK, form)
}

// apply performs the action of a button of the form, such as "add" or "drop-2".
func (f *ruleForm) apply(button string) {
	action, number, _ := strings.Cut(button, "-")
	i, err := strconv.Atoi(number)
	if err != nil {
		i = -1
	}

	then := &f.Then
	switch {
	case action == "cel" && f.Builder:
		f.When = f.condition()
		f.Builder = false
		f.Focus = "when"

	case action == "build" && !f.Builder:
		f.build()

	case action == "add":
		f.Clauses = append(f.Clauses, clauseForm{Name: "destination.country", Test: routing.TestIs})
		f.Focus = rowField("c", len(f.Clauses)-1, "name")

	case action == "drop" && i >= 0 && i < len(f.Clauses):
		f.Clauses = slices.Delete(f.Clauses, i, i+1)

	case action == "target":
		then.Targets = append(then.Targets, targetForm{})
		f.Focus = rowField("t", len(then.Targets)-1, "value")

	case action == "untarget" && i >= 0 && i < len(then.Targets):
		then.Targets = slices.Delete(then.Targets, i, i+1)

	case action == "raise" && i > 0 && i < len(then.Targets):
		then.Targets[i-1], then.Targets[i] = then.Targets[i], then.Targets[i-1]
	}

	// These actions need at least one target, so there is always a row for it.
	if len(then.Targets) == 0 && then.Kind != "choose" && then.Kind != "require" {
		then.Targets = []targetForm{{}}
	}
}

// A verdict is the result of checking a rule while it is being written.
type verdict struct {
	ruleForm
	Rule     routing.Rule
	Warnings []string
	Rows     []string // the error of each clause
	Line     string   // of the condition, that the error is in
	Caret    string
	List     []string // other errors
}

// verdict returns what the form means, before it is checked.
func (f ruleForm) verdict() verdict {
	rule, _ := f.rule() // errors are shown at their fields
	return verdict{ruleForm: f, Rule: rule}
}

// checkRule handles POST /app/{account}/{mode}/routing/rule/check: the errors of
// what is written so far. It saves nothing.
func checkRule(v *site.Visit) (err error) {
	out := verdict{ruleForm: readRuleForm(v)}
	if out.Names, err = offers.CatalogOf(v); err != nil {
		return err
	}

	var invalid []ship.FieldError
	out.Rule, invalid = out.rule()
	out.Warnings, err = v.Rules.Check(v.Context(), v.Tenant(), out.bookOf(out.Rule))
	coded, ok := errors.AsType[*ship.Error](err)
	if err != nil && (!ok || coded.Kind != ship.Invalid) {
		return err
	}
	if ok {
		invalid = append(invalid, coded.Fields...)
	}

	out.assignErrors(invalid)
	return v.Show(http.StatusOK, verdictPart(v.Frame("", "routing"), out))
}

// bookOf returns a book of the one rule, or of the default alone.
func (f ruleForm) bookOf(rule routing.Rule) routing.Book {
	if f.Default {
		return routing.Book{Default: rule.Then}
	}
	rule.Name = cmp.Or(rule.Name, "x") // a name that is not typed yet is not an error
	return routing.Book{Rules: []routing.Rule{rule}}
}

// assignErrors assigns each error to the place where the form shows it.
func (p *verdict) assignErrors(invalid []ship.FieldError) {
	p.Wrong = relative(invalid, "/rules/0")
	p.Rows = make([]string, len(p.Clauses))
	for i := range p.Rows {
		p.Rows[i] = p.Wrong.At("/clauses/" + strconv.Itoa(i))
	}
	hasRowError := slices.ContainsFunc(p.Rows, func(text string) bool { return text != "" })

	for _, field := range invalid {
		pointer := formPointer(field.Pointer, "/rules/0")
		switch {
		case pointer == "/when" && p.Builder && hasRowError:
			delete(p.Wrong.Fields, pointer) // the row shows it
		case pointer == "/when":
			p.Line, p.Caret = caret(p.Rule.When, field.Detail)
		case !strings.HasPrefix(pointer, "/clauses/"):
			p.List = append(p.List, p.Wrong.At(pointer))
		}
	}
}

// relative returns the errors of one rule, with pointers relative to it.
func relative(invalid []ship.FieldError, rule string) site.Problems {
	moved := make([]ship.FieldError, len(invalid))
	for i, field := range invalid {
		field.Pointer = formPointer(field.Pointer, rule)
		moved[i] = field
	}

	found, _ := site.ProblemsOf(ship.InvalidFields(moved))
	return found
}

// formPointer returns a pointer as the form knows it: relative to the rule, and
// below /then for the default, which is an action alone.
func formPointer(pointer, rule string) string {
	if rest, ok := strings.CutPrefix(pointer, "/default"); ok {
		return "/then" + rest
	}
	return strings.TrimPrefix(pointer, rule)
}

// ruleIndex returns the index of the rule that a pointer leads to.
func ruleIndex(pointer string) (int, bool) {
	rest, ok := strings.CutPrefix(pointer, "/rules/")
	number, _, _ := strings.Cut(rest, "/")
	i, err := strconv.Atoi(number)
	return i, ok && err == nil
}

// columnOf matches the position at the start of an error of a condition.
var columnOf = regexp.MustCompile(`^(?:line (\d+), )?column (\d+): `)

// caret returns the line of a condition that an error is in, and a mark below
// its column.
func caret(source, detail string) (line, mark string) {
	match := columnOf.FindStringSubmatch(detail)
	if match == nil {
		return "", ""
	}

	number, _ := strconv.Atoi(cmp.Or(match[1], "1")) // digits by the pattern
	column, _ := strconv.Atoi(match[2])
	lines := strings.Split(source, "\n")
	if number > len(lines) {
		return "", ""
	}
	return lines[number-1], strings.Repeat(" ", max(0, column-1)) + "^"
}

// saveRule handles POST /app/{account}/{mode}/routing/rule.
func saveRule(v *site.Visit) error {
	form := readRuleForm(v)
	rule, invalid := form.rule()
	if len(invalid) > 0 {
		form.Wrong = relative(invalid, "")
		return showRule(v, http.StatusUnprocessableEntity, form)
	}

	action := "routing.rule_changed"
	if form.Was == "" && !form.Default {
		action = "routing.rule_added"
	}
	index := 0
	desk, err := v.Rules.Edit(v.Audited(action, cmp.Or(form.Name, "default"), nil), rulebook.EditInput{
		Tenant: v.Tenant(),
		Mark:   form.Mark,
		Change: func(book routing.Book) (routing.Book, error) {
			book, index = form.put(book, rule)
			return book, nil
		},
	})

	// Somebody else saved first. The form takes the new mark, so saving again
	// is a decision with both versions in view.
	if ship.CodeOf(err) == "draft_changed" {
		form.Mark = desk.Revision()
		if form.Names, err = offers.CatalogOf(v); err != nil {
			return err
		}
		form.Problem = form.conflictWords(desk.Rules)
		return showRule(v, http.StatusUnprocessableEntity, form)
	}

	if coded, ok := errors.AsType[*ship.Error](err); ok && coded.Kind == ship.Invalid {
		form.Wrong = relative(coded.Fields, "/rules/"+strconv.Itoa(index))
		if len(coded.Fields) == 0 {
			form.Wrong.All = parts.Sentence(coded.Message)
		}
		return showRule(v, http.StatusUnprocessableEntity, form)
	}
	if err != nil {
		return err
	}
	return v.Redirect(v.To("routing"), "rule-saved")
}

// put places the rule in the book, where it was or at the end, and returns its
// index.
func (f ruleForm) put(book routing.Book, rule routing.Rule) (routing.Book, int) {
	if f.Default {
		book.Default = rule.Then
		return book, 0
	}

	// An edit must not modify the rules that it is given.
	book.Rules = slices.Clone(book.Rules)
	i := slices.IndexFunc(book.Rules, func(known routing.Rule) bool { return f.Was != "" && known.Name == f.Was })
	if i < 0 {
		book.Rules = append(book.Rules, rule)
		return book, len(book.Rules) - 1
	}
	book.Rules[i] = rule
	return book, i
}

// conflictWords says what saving again would do after somebody else saved
// first.
func (f ruleForm) conflictWords(book routing.Book) string {
	text := "Someone else changed the draft while you were editing, so nothing was saved. Your version is below."
	i := slices.IndexFunc(book.Rules, func(r routing.Rule) bool { return r.Name == f.Was })
	switch {
	case f.Default || f.Was == "":
		return text + " Save again to add it to theirs."
	case i < 0:
		return text + " This rule was deleted or renamed: saving again adds yours at the end."
	}

	theirs := book.Rules[i]
	condition := cmp.Or(whenWords(theirs.When), theirs.When)
	return text + " The rule is now: " + condition + ": " + actionWords(f.Names, theirs.Then) + ". Save again to put yours in its place."
}
