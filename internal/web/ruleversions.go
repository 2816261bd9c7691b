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

// publishPage handles GET /app/{account}/{mode}/routing/publish: what would
// change.
func (s *Web) publishPage(v *visit) error {
	page, err := v.desk()
	if err != nil {
		return err
	}
	if !page.HasDraft {
		return v.redirect(v.to("routing"), "")
	}
	return v.show(http.StatusOK, publishPageView(v.frame("Publish rules", "routing"), page))
}

// publishRules handles POST /app/{account}/{mode}/routing/publish.
func (s *Web) publishRules(v *visit) error {
	note := v.form("note")
	if runes := []rune(note); len(runes) > maxNote {
		note = string(runes[:maxNote]) // a cut between bytes could split a character
	}

	ctx := v.audited("routing.published", "", map[string]string{"note": note})
	_, err := s.Rules.Publish(ctx, rulebook.PublishInput{Tenant: v.tenant(), Note: note, Mark: v.form("mark")})
	if found, fixable := problemsOf(err); fixable {
		page, err := v.desk()
		if err != nil {
			return err
		}

		// Somebody else may have published or discarded the draft meanwhile.
		page.Problem = found.All
		if !page.HasDraft {
			return v.show(http.StatusUnprocessableEntity, routingPage(v.frame("Routing", "routing"), page))
		}
		return v.show(http.StatusUnprocessableEntity, publishPageView(v.frame("Publish rules", "routing"), page))
	}
	if err != nil {
		return err
	}
	return v.redirect(v.to("routing"), "published")
}

// maxNote is the longest note, in characters.
const maxNote = 500

// historyView is the list of versions.
type historyView struct {
	List []rulebook.Head
	At   string
	Next string
}

// changesOf summarizes what a version changed.
func changesOf(version rulebook.Head) string {
	if version.Version == 1 {
		return or(countWords(version.Changes), "No rules")
	}
	return or(countWords(version.Changes), "No changes")
}

// ruleHistory handles GET /app/{account}/{mode}/routing/history.
func (s *Web) ruleHistory(v *visit) error {
	page := historyView{At: v.query("cursor")}
	before, _ := versionOf(page.At)

	// One more than a page shows whether there is a next one.
	list, err := s.Rules.History(v.ctx(), v.tenant(), before, pageSize+1)
	if err != nil {
		return err
	}
	page.List = list
	if len(list) > pageSize {
		page.List = list[:pageSize]
		page.Next = v.to("routing", "history") + "?cursor=" + strconv.Itoa(list[pageSize-1].Version)
	}
	return v.show(http.StatusOK, historyPage(v.frame("Rule history", "routing"), page))
}

// versionOf parses the number of a version.
func versionOf(text string) (int, bool) {
	n, err := strconv.ParseInt(text, 10, 32)
	return int(n), err == nil && n > 0
}

// ruleHistoryCSV handles GET /app/{account}/{mode}/routing/history.csv.
func (s *Web) ruleHistoryCSV(v *visit) error {
	out := v.exportCSV("routing-history", "version", "published", "rules", "note", "restored from", "changes")
	before := 0
	for n := 0; n < csvLimit && out.err == nil; n += pageSize {
		list, err := s.Rules.History(v.ctx(), v.tenant(), before, pageSize)
		if err != nil {
			return err
		}

		for _, version := range list {
			restored := ""
			if version.Restored > 0 {
				restored = strconv.Itoa(version.Restored)
			}
			out.row(
				strconv.Itoa(version.Version),
				machineTime(version.WrittenAt),
				strconv.Itoa(version.Rules),
				version.Note,
				restored,
				changesOf(version),
			)
			before = version.Version
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
	Against int // the version it is compared with; 0 for no rules at all
	Before  int // the menu lists versions before this one; 0 for the newest
	Changes []routing.Difference
	Names   catalog
	Problem string
}

// versionOf reads the version that the address names.
func (v *visit) versionOf() (page versionView, err error) {
	number, ok := versionOf(v.r.PathValue("id"))
	if !ok {
		return page, ship.Coded(ship.NotFound, "version_not_found", "no such version of the rules")
	}
	if page.Version, err = v.Rules.Published(v.ctx(), v.tenant(), number); err != nil {
		return page, err
	}
	newest, err := v.Rules.Published(v.ctx(), v.tenant(), 0)
	if err != nil {
		return page, err
	}
	page.Newest = newest.Version
	page.Before, _ = versionOf(v.query("before"))

	page.Against = number - 1
	if other, ok := versionOf(v.query("against")); ok && other != number {
		page.Against = other
	}
	var previous rulebook.Version
	if page.Against > 0 {
		if previous, err = v.Rules.Published(v.ctx(), v.tenant(), page.Against); err != nil {
			return page, err
		}
	}
	page.Changes = routing.Compare(previous.Rules, page.Rules)

	page.Names, err = v.catalog()
	return page, err
}

// Others lists the versions that it can be compared with: a page of them, and
// the one that it is compared with.
func (p versionView) Others() []choice {
	list := p.menu().choices(p.Against)
	return slices.DeleteFunc(list, func(c choice) bool { return c.Value == strconv.Itoa(p.Version.Version) })
}

func (p versionView) menu() versionMenu { return versionMenu{p.Newest, p.Before} }

// menuSize is the number of versions in a menu.
const menuSize = 50

// A versionMenu is a page of a list of versions, newest first.
type versionMenu struct {
	newest int
	before int // it lists those before this one; 0 for the newest
}

// first returns the newest version on the page.
func (m versionMenu) first() int {
	if m.before > 0 {
		return min(m.newest, m.before-1)
	}
	return m.newest
}

// choices lists the versions of the page, and the chosen one even if it is on
// another; 0 for none.
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

// Older returns the cursor of the next page; "" if this is the last.
func (m versionMenu) Older() string {
	if m.first() <= menuSize {
		return ""
	}
	return strconv.Itoa(m.first() - menuSize + 1)
}

// ruleVersion handles GET /app/{account}/{mode}/routing/versions/{id}.
func (s *Web) ruleVersion(v *visit) error {
	page, err := v.versionOf()
	if err != nil {
		return err
	}
	return v.show(http.StatusOK, versionPage(v.frame("Version "+strconv.Itoa(page.Version.Version), "routing"), page))
}

// ruleVersionJSON handles GET
// /app/{account}/{mode}/routing/versions/{id}/rules.json: the file that the
// commands and the API read.
func (s *Web) ruleVersionJSON(v *visit) error {
	page, err := v.versionOf()
	if err != nil {
		return err
	}

	header := v.w.Header()
	header.Set("Content-Type", "application/json")
	header.Set("Content-Disposition", `attachment; filename="rules-`+v.mode()+"-"+strconv.Itoa(page.Version.Version)+`.json"`)

	encoder := json.NewEncoder(v.w)
	encoder.SetIndent("", "  ")
	return encoder.Encode(page.Rules)
}

// rollBack handles POST /app/{account}/{mode}/routing/versions/{id}.
func (s *Web) rollBack(v *visit) error {
	page, err := v.versionOf()
	if err != nil {
		return err
	}

	number := page.Version.Version
	ctx := v.audited("routing.rolled_back", "", map[string]string{"to": strconv.Itoa(number)})
	_, err = s.Rules.RollBack(ctx, v.tenant(), number, v.form("note"))

	// Old rules can name services or accounts that no longer exist.
	if found, fixable := problemsOf(err); fixable {
		page.Problem = "These rules cannot be published again as they are. " + found.All
		for pointer, text := range found.Fields {
			page.Problem += " " + ruleAt(page.Rules, pointer) + ": " + text
		}
		return v.show(http.StatusUnprocessableEntity, versionPage(v.frame("Version "+strconv.Itoa(number), "routing"), page))
	}
	if err != nil {
		return err
	}
	return v.redirect(v.to("routing"), "rolled-back")
}
