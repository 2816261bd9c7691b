package web

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"

	"github.com/waybillhq/waybill/internal/routing"
	"github.com/waybillhq/waybill/internal/rulebook"
	"github.com/waybillhq/waybill/internal/ship"
)

// publishPage handles GET /app/{mode}/routing/publish: what would change.
func (s *Web) publishPage(v *visit) error {
	p, err := v.desk()
	if err != nil {
		return err
	}
	if !p.Drafted {
		return v.redirect(v.to("routing"), "")
	}
	return v.show(http.StatusOK, publishPageView(v.frame("Publish rules", "routing"), p))
}

// publishRules handles POST /app/{mode}/routing/publish.
func (s *Web) publishRules(v *visit) error {
	note := v.form("note")
	if len([]rune(note)) > maxNote {
		note = string([]rune(note)[:maxNote])
	}
	_, err := s.Rules.Publish(v.audited("routing.published", "", map[string]string{"note": note}), rulebook.PublishInput{Tenant: v.tenant(), Note: note, Mark: v.form("mark")})
	if wrong, mendable := problemsOf(err); mendable {
		p, err := v.desk()
		if err != nil {
			return err
		}
		p.Problem = wrong.All
		if !p.Drafted {
			return v.show(http.StatusUnprocessableEntity, routingPage(v.frame("Routing", "routing"), p))
		}
		return v.show(http.StatusUnprocessableEntity, publishPageView(v.frame("Publish rules", "routing"), p))
	}
	if err != nil {
		return err
	}
	return v.redirect(v.to("routing"), "published")
}

// maxNote is how long a note may be, in characters.
const maxNote = 500

// historyView is the list of versions.
type historyView struct {
	List []rulebook.Head
	At   string
	Next string
}

// changesOf is what a version changed, in few words.
func changesOf(v rulebook.Head) string {
	if v.Version == 1 {
		return or(countWords(v.Changes), "No rules")
	}
	return or(countWords(v.Changes), "Nothing changed")
}

// ruleHistory handles GET /app/{mode}/routing/history.
func (s *Web) ruleHistory(v *visit) error {
	p := historyView{At: v.query("cursor")}
	before, _ := versionOf(p.At)
	var err error
	if p.List, err = s.Rules.History(v.ctx(), v.tenant(), before, pageSize+1); err != nil {
		return err
	}
	if len(p.List) > pageSize {
		p.List = p.List[:pageSize]
		p.Next = v.to("routing", "history") + "?cursor=" + strconv.Itoa(p.List[pageSize-1].Version)
	}
	return v.show(http.StatusOK, historyPage(v.frame("History of the rules", "routing"), p))
}

// versionOf reads the number of a version.
func versionOf(text string) (int, bool) {
	n, err := strconv.ParseInt(text, 10, 32)
	return int(n), err == nil && n > 0
}

// ruleHistoryCSV handles GET /app/{mode}/routing/history.csv.
func (s *Web) ruleHistoryCSV(v *visit) error {
	out := v.exportCSV("routing-history", "version", "published", "rules", "note", "restored from", "changes")
	before := 0
	for n := 0; n < csvLimit && out.err == nil; n += pageSize {
		list, err := s.Rules.History(v.ctx(), v.tenant(), before, pageSize)
		if err != nil {
			return err
		}
		for _, made := range list {
			restored := ""
			if made.Restored > 0 {
				restored = strconv.Itoa(made.Restored)
			}
			out.row(strconv.Itoa(made.Version), machineTime(made.WrittenAt), strconv.Itoa(made.Rules), made.Note, restored, changesOf(made))
			before = made.Version
		}
		if len(list) < pageSize {
			break
		}
	}
	return nil
}

// versionView is the page of one version.
type versionView struct {
	rulebook.Version
	Newest  int
	Against int // the version it is compared with, 0 for no rules at all
	Before  int // the menu has versions before this one; 0 for the newest
	Changes []routing.Difference
	Names   catalog
	Problem string
}

// versionOf reads the version of the address.
func (v *visit) versionOf() (p versionView, err error) {
	n, ok := versionOf(v.r.PathValue("id"))
	if !ok {
		return p, ship.Coded(ship.NotFound, "version_not_found", "there is no such version of the rules")
	}
	if p.Version, err = v.Rules.Published(v.ctx(), v.tenant(), n); err != nil {
		return p, err
	}
	newest, err := v.Rules.Published(v.ctx(), v.tenant(), 0)
	if err != nil {
		return p, err
	}
	p.Newest, p.Against = newest.Version, n-1
	p.Before, _ = versionOf(v.query("before"))
	if other, ok := versionOf(v.query("against")); ok && other != n {
		p.Against = other
	}
	var was rulebook.Version
	if p.Against > 0 {
		if was, err = v.Rules.Published(v.ctx(), v.tenant(), p.Against); err != nil {
			return p, err
		}
	}
	p.Changes = routing.Compare(was.Rules, p.Rules)
	p.Names, err = v.catalog()
	return p, err
}

// Others are the versions that it can be compared with: a page of them, and
// the one that it is compared with.
func (p versionView) Others() []choice {
	list := p.menu().choices(p.Against)
	return slices.DeleteFunc(list, func(c choice) bool { return c.Value == strconv.Itoa(p.Version.Version) })
}

func (p versionView) menu() versionMenu { return versionMenu{p.Newest, p.Before} }

// menuSize is how many versions a menu has.
const menuSize = 50

// A versionMenu is a page of a list of versions, the newest first.
type versionMenu struct {
	newest int
	before int // it has those before this one; 0 for the newest
}

// first is the newest version on the page.
func (m versionMenu) first() int {
	if m.before > 0 {
		return min(m.newest, m.before-1)
	}
	return m.newest
}

// choices are the versions of the page, and the chosen one wherever it is; 0
// for none.
func (m versionMenu) choices(chosen int) []choice {
	var list []choice
	add := func(n int) { list = append(list, choice{strconv.Itoa(n), "Version " + strconv.Itoa(n)}) }
	if chosen > m.first() && chosen <= m.newest {
		add(chosen)
	}
	last := max(m.first()-menuSize, 0)
	for n := m.first(); n > last; n-- {
		add(n)
	}
	if chosen > 0 && chosen <= last {
		add(chosen)
	}
	return list
}

// Older is the cursor of the next page; "" if this is the last.
func (m versionMenu) Older() string {
	if m.first() <= menuSize {
		return ""
	}
	return strconv.Itoa(m.first() - menuSize + 1)
}

// ruleVersion handles GET /app/{mode}/routing/versions/{id}.
func (s *Web) ruleVersion(v *visit) error {
	p, err := v.versionOf()
	if err != nil {
		return err
	}
	return v.show(http.StatusOK, versionPage(v.frame("Version "+strconv.Itoa(p.Version.Version), "routing"), p))
}

// ruleVersionJSON handles GET /app/{mode}/routing/versions/{id}/rules.json:
// the file that the commands and the API read.
func (s *Web) ruleVersionJSON(v *visit) error {
	p, err := v.versionOf()
	if err != nil {
		return err
	}
	v.w.Header().Set("Content-Type", "application/json")
	v.w.Header().Set("Content-Disposition", `attachment; filename="rules-`+v.mode()+"-"+strconv.Itoa(p.Version.Version)+`.json"`)
	enc := json.NewEncoder(v.w)
	enc.SetIndent("", "  ")
	return enc.Encode(p.Rules)
}

// rollBack handles POST /app/{mode}/routing/versions/{id}.
func (s *Web) rollBack(v *visit) error {
	p, err := v.versionOf()
	if err != nil {
		return err
	}
	_, err = s.Rules.RollBack(v.audited("routing.rolled_back", "", map[string]string{"to": strconv.Itoa(p.Version.Version)}), v.tenant(), p.Version.Version, v.form("note"))
	if wrong, mendable := problemsOf(err); mendable {
		p.Problem = "These rules cannot be published again as they are. " + wrong.All
		for pointer, text := range wrong.Fields {
			p.Problem += " " + ruleAt(p.Rules, pointer) + ": " + text
		}
		return v.show(http.StatusUnprocessableEntity, versionPage(v.frame("Version "+strconv.Itoa(p.Version.Version), "routing"), p))
	}
	if err != nil {
		return err
	}
	return v.redirect(v.to("routing"), "rolled-back")
}
