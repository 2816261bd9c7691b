package web

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/member"
	"github.com/waybillhq/waybill/internal/ship"
)

// auditList is the page of the audit log.
type auditList struct {
	By, Action, Target, From, Until, At string

	Groups []choiceGroup // of the actors to choose from
	List   []member.AuditEntry
	Next   string
}

// auditKinds are the prefixes of actions, to filter by.
var auditKinds = []choice{
	{"", "All actions"},
	{"shipment.", "Shipments"},
	{"batch.", "Batches"},
	{"box.", "Boxes"},
	{"connection.", "Carriers"},
	{"routing.", "Routing"},
	{"rate_sheet.", "Rate sheets"},
	{"key.", "Keys"},
	{"webhook.", "Webhooks"},
	{"event.", "Events"},
	{"member.", "Members"},
	{"session.", "Sessions"},
	{"settings.", "Settings"},
}

// auditActors are the kinds of actors, to filter by.
var auditActors = []choice{
	{"", "All actors"},
	{member.ByPeople, "People"},
	{member.ByKeys, "API keys"},
	{member.ByOperators, "Command line"},
}

// actorWord names a kind of actor.
var actorWord = map[string]string{member.ByPeople: "person", member.ByKeys: "API key", member.ByOperators: "command line"}

// auditFilter reads the filter of the address, for the page and for the log.
func (v *visit) auditFilter() (auditList, member.AuditFilter) {
	page := auditList{
		By:     v.query("by"),
		Action: v.query("action"),
		Target: v.query("target"),
		From:   v.query("from"),
		Until:  v.query("until"),
		At:     v.query("cursor"),
	}
	filter := member.AuditFilter{
		Action: page.Action,
		Target: page.Target,
		Cursor: page.At,
		Limit:  pageSize,
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

// address is the address of the entries after the cursor, with the same filter.
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

// who is the address of everything that the actor of an entry did.
func (p auditList) who(path string, entry member.AuditEntry) string {
	return auditList{By: or(string(entry.Person)+string(entry.Key), entry.By())}.address(path, "")
}

// shownActors is how many people and keys there are to choose from. The names
// in the list link to the others.
const shownActors = 100

// actors are the actors to choose from: the members, and the keys of both
// modes, the newest first.
func (v *visit) actors() ([]choiceGroup, error) {
	members, err := v.Member.Members(v.ctx(), v.who.Actor)
	if err != nil {
		return nil, err
	}
	keys, err := v.Account.Keys(v.ctx(), v.who.Account.ID)
	if err != nil {
		return nil, err
	}
	slices.Reverse(keys)

	people := choiceGroup{Title: "People"}
	for _, person := range members[:min(len(members), shownActors)] {
		people.Choices = append(people.Choices, choice{string(person.ID), person.Name})
	}

	apiKeys := choiceGroup{Title: "API keys"}
	for _, key := range keys[:min(len(keys), shownActors)] {
		apiKeys.Choices = append(apiKeys.Choices, choice{string(key.ID), strings.TrimSpace(key.Name + " " + key.Hint)})
	}
	return []choiceGroup{people, apiKeys}, nil
}

// audit handles GET /app/{account}/{mode}/audit.
func (s *Web) audit(v *visit) error {
	page, filter := v.auditFilter()
	list, next, err := s.Member.Audit(v.ctx(), v.who.Actor, filter)
	if err != nil {
		return err
	}
	page.List = list
	if next != "" {
		page.Next = page.address(v.to("audit"), next)
	}

	frame := v.frame("Audit log", "audit")
	if v.isPart() {
		return v.show(http.StatusOK, auditTable(frame, page))
	}

	if page.Groups, err = v.actors(); err != nil {
		return err
	}
	return v.show(http.StatusOK, auditPage(frame, page))
}

// auditCSV handles GET /app/{account}/{mode}/audit.csv.
func (s *Web) auditCSV(v *visit) error {
	_, filter := v.auditFilter()
	filter.Limit = 200

	out := v.exportCSV("audit", "time", "who", "action", "target", "mode", "details", "address", "browser", "by", "key")
	for n := 0; n < csvLimit && out.err == nil; n += filter.Limit {
		list, next, err := s.Member.Audit(v.ctx(), v.who.Actor, filter)
		if err != nil {
			return err
		}

		for _, entry := range list {
			out.row(
				machineTime(entry.At),
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
		return or(agent, "Command line")
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
			return or(name, known) + system(agent)
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
