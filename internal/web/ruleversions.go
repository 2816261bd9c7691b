package web

import (
	"encoding/json"
	"net/http"
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
	List  []rulebook.Version // one more than is shown, where there is one
	Shown int
	At    string
	Next  string
}

// Changes is what a version changed, in few words.
func (p historyView) Changes(i int) string {
	if i+1 < len(p.List) {
		return or(changeCounts(routing.Compare(p.List[i+1].Rules, p.List[i].Rules)), "Nothing changed")
	}
	if p.List[i].Version == 1 {
		return or(changeCounts(routing.Compare(routing.Book{}, p.List[i].Rules)), "No rules")
	}
	return ""
}

// ruleHistory handles GET /app/{mode}/routing/history.
func (s *Web) ruleHistory(v *visit) error {
	p := historyView{At: v.query("cursor")}
	before, _ := versionOf(p.At)
	var err error
	if p.List, err = s.Rules.Versions(v.ctx(), v.tenant(), before, pageSize+1); err != nil {
		return err
	}
	if p.Shown = min(len(p.List), pageSize); len(p.List) > pageSize {
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
	for n := 0; n < csvLimit && out.err == nil; n += 200 {
		list, err := s.Rules.Versions(v.ctx(), v.tenant(), before, 201)
		if err != nil {
			return err
		}
		p := historyView{List: list}
		for i, made := range list[:min(len(list), 200)] {
			restored := ""
			if made.Restored > 0 {
				restored = strconv.Itoa(made.Restored)
			}
			out.row(strconv.Itoa(made.Version), machineTime(made.WrittenAt), strconv.Itoa(len(made.Rules.Rules)), made.Note, restored, p.Changes(i))
			before = made.Version
		}
		if len(list) <= 200 {
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

// Others are the versions that it can be compared with.
func (p versionView) Others() []choice {
	var list []choice
	for n := p.Newest; n > 0 && n > p.Newest-50; n-- {
		if n != p.Version.Version {
			list = append(list, choice{strconv.Itoa(n), "Version " + strconv.Itoa(n)})
		}
	}
	return list
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
