package routing

import (
	"cmp"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strconv"

	"github.com/waybillhq/waybill/internal/routing"
	"github.com/waybillhq/waybill/internal/rulebook"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/web/offers"
	"github.com/waybillhq/waybill/internal/web/parts"
	"github.com/waybillhq/waybill/internal/web/site"
)

// getPublish handles GET /app/{account}/{mode}/routing/publish: what would
// change.
func getPublish(v *site.Visit) error {
	page, err := desk(v)
	if err != nil {
		return err
	}
	if !page.HasDraft {
		return v.Redirect(v.To("routing"), "")
	}
	return v.Show(http.StatusOK, publishPageView(v.Frame("Publish rules", "routing"), page))
}

// publishRules handles POST /app/{account}/{mode}/routing/publish.
func publishRules(v *site.Visit) error {
	note := readNote(v)
	ctx := v.Audited("routing.published", "", map[string]string{"note": note})
	_, err := v.Rules.Publish(ctx, rulebook.PublishInput{Tenant: v.Tenant(), Note: note, Mark: v.Form("mark")})
	if found, fixable := site.ProblemsOf(err); fixable {
		page, err := desk(v)
		if err != nil {
			return err
		}

		// Somebody else may have published or discarded the draft meanwhile.
		page.Problem = found.All
		if !page.HasDraft {
			return v.Show(http.StatusUnprocessableEntity, routingPage(v.Frame("Routing", "routing"), page))
		}
		return v.Show(http.StatusUnprocessableEntity, publishPageView(v.Frame("Publish rules", "routing"), page))
	}
	if err != nil {
		return err
	}
	return v.Redirect(v.To("routing"), "published")
}

// maxNote is the longest note, in characters.
const maxNote = 500

// readNote returns the note of a form, shortened if it is too long.
func readNote(v *site.Visit) string {
	note := v.Form("note")
	if runes := []rune(note); len(runes) > maxNote {
		note = string(runes[:maxNote]) // a cut between bytes could split a character
	}
	return note
}

// historyView is the list of versions.
type historyView struct {
	List []rulebook.Head
	At   string
	Next string
}

// changesOf summarizes what a version changed.
func changesOf(version rulebook.Head) string {
	if version.Version == 1 {
		return cmp.Or(countWords(version.Changes), "No rules")
	}
	return cmp.Or(countWords(version.Changes), "No changes")
}

// listVersions handles GET /app/{account}/{mode}/routing/history.
func listVersions(v *site.Visit) error {
	page := historyView{At: v.Query("cursor")}
	before, _ := versionOf(page.At)

	// One more than a page shows whether there is a next one.
	list, err := v.Rules.History(v.Context(), v.Tenant(), before, site.PageSize+1)
	if err != nil {
		return err
	}
	page.List = list
	if len(list) > site.PageSize {
		page.List = list[:site.PageSize]
		page.Next = v.To("routing", "history") + "?cursor=" + strconv.Itoa(list[site.PageSize-1].Version)
	}
	return v.Show(http.StatusOK, historyPage(v.Frame("Rule history", "routing"), page))
}

// versionOf parses the number of a version.
func versionOf(text string) (int, bool) {
	n, err := strconv.ParseInt(text, 10, 32)
	return int(n), err == nil && n > 0
}

// exportVersions handles GET /app/{account}/{mode}/routing/history.csv.
func exportVersions(v *site.Visit) error {
	out := v.ExportCSV("routing-history", "version", "published", "rules", "note", "restored from", "changes")
	before := 0
	for n := 0; n < site.CSVLimit && out.Err == nil; n += site.PageSize {
		list, err := v.Rules.History(v.Context(), v.Tenant(), before, site.PageSize)
		if err != nil {
			return err
		}

		for _, version := range list {
			restored := ""
			if version.Restored > 0 {
				restored = strconv.Itoa(version.Restored)
			}
			out.Row(
				strconv.Itoa(version.Version),
				parts.MachineTime(version.WrittenAt),
				strconv.Itoa(version.Rules),
				version.Note,
				restored,
				changesOf(version),
			)
			before = version.Version
		}
		if len(list) < site.PageSize {
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
	Names   offers.Catalog
	Problem string
}

// readVersion reads the version that the address names.
func readVersion(v *site.Visit) (page versionView, err error) {
	number, ok := versionOf(v.Request.PathValue("id"))
	if !ok {
		return page, ship.Coded(ship.NotFound, "version_not_found", "no such version of the rules")
	}
	if page.Version, err = v.Rules.Published(v.Context(), v.Tenant(), number); err != nil {
		return page, err
	}
	newest, err := v.Rules.Published(v.Context(), v.Tenant(), 0)
	if err != nil {
		return page, err
	}
	page.Newest = newest.Version
	page.Before, _ = versionOf(v.Query("before"))

	page.Against = number - 1
	if other, ok := versionOf(v.Query("against")); ok && other != number {
		page.Against = other
	}
	var previous rulebook.Version
	if page.Against > 0 {
		if previous, err = v.Rules.Published(v.Context(), v.Tenant(), page.Against); err != nil {
			return page, err
		}
	}
	page.Changes = routing.Compare(previous.Rules, page.Rules)

	page.Names, err = offers.CatalogOf(v)
	return page, err
}

// Others lists the versions that it can be compared with: a page of them, and
// the one that it is compared with.
func (p versionView) Others() []parts.Choice {
	list := p.menu().choices(p.Against)
	return slices.DeleteFunc(list, func(c parts.Choice) bool { return c.Value == strconv.Itoa(p.Version.Version) })
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
func (m versionMenu) choices(chosen int) []parts.Choice {
	var list []parts.Choice
	add := func(n int) {
		list = append(list, parts.Choice{Value: strconv.Itoa(n), Title: "Version " + strconv.Itoa(n)})
	}

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

// getVersion handles GET /app/{account}/{mode}/routing/versions/{id}.
func getVersion(v *site.Visit) error {
	page, err := readVersion(v)
	if err != nil {
		return err
	}
	return v.Show(http.StatusOK, versionPage(v.Frame("Version "+strconv.Itoa(page.Version.Version), "routing"), page))
}

// downloadVersion handles GET
// /app/{account}/{mode}/routing/versions/{id}/rules.json: the file that the
// commands and the API read.
func downloadVersion(v *site.Visit) error {
	page, err := readVersion(v)
	if err != nil {
		return err
	}

	header := v.Writer.Header()
	header.Set("Content-Type", "application/json")
	header.Set("Content-Disposition", `attachment; filename="rules-`+v.Mode()+"-"+strconv.Itoa(page.Version.Version)+`.json"`)

	encoder := json.NewEncoder(v.Writer)
	encoder.SetIndent("", "  ")
	return encoder.Encode(page.Rules)
}

// rollBack handles POST /app/{account}/{mode}/routing/versions/{id}.
func rollBack(v *site.Visit) error {
	page, err := readVersion(v)
	if err != nil {
		return err
	}

	number := page.Version.Version
	ctx := v.Audited("routing.rolled_back", "", map[string]string{"to": strconv.Itoa(number)})
	_, err = v.Rules.RollBack(ctx, v.Tenant(), number, readNote(v))

	// Old rules can name services or accounts that no longer exist.
	if found, fixable := site.ProblemsOf(err); fixable {
		page.Problem = "These rules cannot be published again as they are. " + found.All
		for _, pointer := range slices.Sorted(maps.Keys(found.Fields)) {
			page.Problem += " " + ruleAt(page.Rules, pointer) + ": " + found.Fields[pointer]
		}
		return v.Show(http.StatusUnprocessableEntity, versionPage(v.Frame("Version "+strconv.Itoa(number), "routing"), page))
	}
	if err != nil {
		return err
	}
	return v.Redirect(v.To("routing"), "rolled-back")
}
