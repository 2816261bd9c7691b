package team

import (
	"cmp"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/member"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/web/parts"
	"github.com/waybillhq/waybill/internal/web/site"
)

// auditList is the page of the audit log.
type auditList struct {
	By, Action, Target, From, Until, At string

	Groups []parts.ChoiceGroup // of the actors to choose from
	List   []member.AuditEntry
	Next   string
}

// auditKinds are the prefixes of actions, to filter by.
var auditKinds = []parts.Choice{
	{Value: "", Title: "All actions"},
	{Value: "shipment.", Title: "Shipments"},
	{Value: "batch.", Title: "Batches"},
	{Value: "box.", Title: "Boxes"},
	{Value: "connection.", Title: "Carriers"},
	{Value: "routing.", Title: "Routing"},
	{Value: "rate_sheet.", Title: "Rate sheets"},
	{Value: "key.", Title: "Keys"},
	{Value: "webhook.", Title: "Webhooks"},
	{Value: "event.", Title: "Events"},
	{Value: "label_link.", Title: "Label links"},
	{Value: "export.", Title: "Exports"},
	{Value: "member.", Title: "Members"},
	{Value: "session.", Title: "Sessions"},
	{Value: "settings.", Title: "Settings"},
}

// auditActors are the kinds of actors, to filter by.
var auditActors = []parts.Choice{
	{Value: "", Title: "All actors"},
	{Value: member.ByPeople, Title: "People"},
	{Value: member.ByKeys, Title: "API keys"},
	{Value: member.ByOperators, Title: "Command line"},
	{Value: member.ByLinks, Title: "Links"},
}

// actorWord names a kind of actor.
var actorWord = map[string]string{member.ByPeople: "person", member.ByKeys: "API key", member.ByOperators: "command line", member.ByLinks: "label link"}

// auditFilter reads the filter of the address, for the page and for the log.
func auditFilter(v *site.Visit) (auditList, member.AuditFilter) {
	page := auditList{
		By:     v.Query("by"),
		Action: v.Query("action"),
		Target: v.Query("target"),
		From:   v.Query("from"),
		Until:  v.Query("until"),
		At:     v.Query("cursor"),
	}
	filter := member.AuditFilter{
		Action: page.Action,
		Target: page.Target,
		Cursor: page.At,
		Limit:  site.PageSize,
	}

	person, isPerson := ship.ParsePersonID(page.By)
	key, isKey := ship.ParseKeyID(page.By)
	switch {
	case isPerson:
		filter.Person = person
	case isKey:
		filter.Key = key
	default:
		filter.By = page.By
	}

	if from, err := time.Parse(time.DateOnly, page.From); err == nil {
		filter.After = from
	}
	if until, err := time.Parse(time.DateOnly, page.Until); err == nil {
		filter.Before = until.AddDate(0, 0, 1) // the last day is included
	}
	return page, filter
}

// address returns the address of the entries after the cursor, with the same
// filter.
func (p auditList) address(path, cursor string) string {
	query := url.Values{}
	for name, value := range map[string]string{
		"by":     p.By,
		"action": p.Action,
		"target": p.Target,
		"from":   p.From,
		"until":  p.Until,
		"cursor": cursor,
	} {
		if value != "" {
			query.Set(name, value)
		}
	}

	if len(query) == 0 {
		return path
	}
	return path + "?" + query.Encode()
}

// isEmpty reports whether nothing is filtered.
func (p auditList) isEmpty() bool { return p.address("", "") == "" }

// who returns the address of everything that the actor of an entry did.
func (p auditList) who(path string, entry member.AuditEntry) string {
	return auditList{By: cmp.Or(string(entry.Person)+string(entry.Key), entry.By())}.address(path, "")
}

// shownActors is how many people and keys there are to choose from. The names
// in the list link to the others.
const shownActors = 100

// actors returns the actors to choose from: the members, and the keys of both
// modes, the newest first.
func actors(v *site.Visit) ([]parts.ChoiceGroup, error) {
	members, err := v.Member.Members(v.Context(), v.Who.Actor)
	if err != nil {
		return nil, err
	}
	keys, err := v.Account.Keys(v.Context(), v.Who.Account.ID)
	if err != nil {
		return nil, err
	}
	slices.Reverse(keys)

	people := parts.ChoiceGroup{Title: "People"}
	for _, person := range members[:min(len(members), shownActors)] {
		people.Choices = append(people.Choices, parts.Choice{Value: string(person.ID), Title: person.Name})
	}

	apiKeys := parts.ChoiceGroup{Title: "API keys"}
	for _, key := range keys[:min(len(keys), shownActors)] {
		apiKeys.Choices = append(apiKeys.Choices, parts.Choice{Value: string(key.ID), Title: strings.TrimSpace(key.Name + " " + key.Hint)})
	}
	return []parts.ChoiceGroup{people, apiKeys}, nil
}

// listAuditEntries handles GET /app/{account}/{mode}/audit.
func listAuditEntries(v *site.Visit) error {
	page, filter := auditFilter(v)
	list, next, err := v.Member.Audit(v.Context(), v.Who.Actor, filter)
	if err != nil {
		return err
	}
	page.List = list
	if next != "" {
		page.Next = page.address(v.To("audit"), next)
	}

	frame := v.Frame("Audit log", "audit")
	if v.IsPart() {
		return v.Show(http.StatusOK, auditTable(frame, page))
	}

	if page.Groups, err = actors(v); err != nil {
		return err
	}
	return v.Show(http.StatusOK, auditPage(frame, page))
}

// exportAuditEntries handles GET /app/{account}/{mode}/audit.csv.
func exportAuditEntries(v *site.Visit) error {
	_, filter := auditFilter(v)
	filter.Limit = 200

	out := v.ExportCSV("audit", "time", "who", "action", "target", "mode", "details", "address", "browser", "by", "key")
	for n := 0; n < site.CSVLimit && out.Err == nil; n += filter.Limit {
		list, next, err := v.Member.Audit(v.Context(), v.Who.Actor, filter)
		if err != nil {
			return err
		}

		for _, entry := range list {
			out.Row(
				parts.MachineTime(entry.At),
				entry.Who,
				entry.Action,
				entry.Target,
				entry.Mode,
				detailLine(entry.Details),
				addrText(entry.From),
				entry.From.Agent,
				actorWord[entry.By()],
				string(entry.Key),
			)
		}

		if next == "" {
			break
		}
		filter.Cursor = next
	}
	return nil
}

func detailLine(details map[string]string) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(details)) {
		parts = append(parts, name+" "+details[name])
	}
	return strings.Join(parts, ", ")
}

func addrText(origin member.Origin) string {
	if !origin.Addr.IsValid() {
		return ""
	}
	return origin.Addr.String()
}

// program names what the actor used: a browser, another program, or a command.
func program(entry member.AuditEntry) string {
	agent := entry.From.Agent
	switch {
	case entry.By() == member.ByOperators:
		return cmp.Or(agent, "Command line")
	case entry.By() == member.ByKeys && !strings.HasPrefix(agent, "Mozilla/"):
		// A program names itself first and its libraries after that.
		name, _, _ := strings.Cut(agent, " ")
		return strings.ToValidUTF8(name[:min(len(name), 40)], "")
	}
	return browser(agent)
}

// browser returns the well-known name of the browser, and its system.
func browser(agent string) string {
	// The order matters: Edge and Opera also call themselves Chrome, and Chrome
	// calls itself Safari.
	for _, known := range []string{"Edg", "OPR", "Firefox", "Chrome", "Safari", "curl"} {
		if strings.Contains(agent, known) {
			name := map[string]string{"Edg": "Edge", "OPR": "Opera"}[known]
			return cmp.Or(name, known) + system(agent)
		}
	}
	return "Browser" + system(agent)
}

func system(agent string) string {
	// iPhones and iPads also mention Mac OS, and Android mentions Linux.
	for _, name := range []string{"iPhone", "iPad", "Android", "Mac OS", "Windows", "Linux"} {
		if strings.Contains(agent, name) {
			return " on " + strings.ReplaceAll(name, "Mac OS", "Mac")
		}
	}
	return ""
}
