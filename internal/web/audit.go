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

// auditList is the page of what was changed.
type auditList struct {
	By, Action, Target, From, Until, At string

	Groups []choiceGroup // of those who can be chosen
	List   []member.AuditEntry
	Next   string
}

// auditKinds are the first parts of actions, to filter by.
var auditKinds = []choice{
	{"", "Everything"},
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

// auditActors are the kinds of those who did something.
var auditActors = []choice{
	{"", "Everybody"},
	{member.ByPeople, "People"},
	{member.ByKeys, "API keys"},
	{member.ByOperators, "Command line"},
}

// actorWord is one word for what did it.
var actorWord = map[string]string{member.ByPeople: "person", member.ByKeys: "API key", member.ByOperators: "command line"}

func (v *visit) auditFilter() (auditList, member.AuditFilter) {
	p := auditList{By: v.query("by"), Action: v.query("action"), Target: v.query("target"), From: v.query("from"), Until: v.query("until"), At: v.query("cursor")}
	f := member.AuditFilter{Action: p.Action, Target: p.Target, Cursor: p.At, Limit: pageSize}
	person, one := ship.ParsePersonID(p.By)
	key, other := ship.ParseKeyID(p.By)
	switch {
	case one:
		f.Person = person
	case other:
		f.Key = key
	default:
		f.By = p.By
	}
	if t, err := time.Parse(time.DateOnly, p.From); err == nil {
		f.After = t
	}
	if t, err := time.Parse(time.DateOnly, p.Until); err == nil {
		f.Before = t.AddDate(0, 0, 1)
	}
	return p, f
}

// address is that of the page of entries behind the cursor.
func (p auditList) address(path, cursor string) string {
	q := url.Values{}
	for name, value := range map[string]string{"by": p.By, "action": p.Action, "target": p.Target, "from": p.From, "until": p.Until, "cursor": cursor} {
		if value != "" {
			q.Set(name, value)
		}
	}
	if len(q) == 0 {
		return path
	}
	return path + "?" + q.Encode()
}

// isEmpty reports whether nothing is chosen.
func (p auditList) isEmpty() bool { return p.address("", "") == "" }

// who is the address of all that the actor of an entry did.
func (p auditList) who(path string, e member.AuditEntry) string {
	return auditList{By: or(string(e.Person)+string(e.Key), e.By())}.address(path, "")
}

// shownActors is how many people and keys there are to choose from; the names in
// the list lead to the others.
const shownActors = 100

// actors are those who can be chosen: the members, and the keys of both modes.
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
	groups := []choiceGroup{{Title: "People"}, {Title: "API keys"}}
	for _, m := range members[:min(len(members), shownActors)] {
		groups[0].Choices = append(groups[0].Choices, choice{string(m.ID), m.Name})
	}
	for _, k := range keys[:min(len(keys), shownActors)] {
		groups[1].Choices = append(groups[1].Choices, choice{string(k.ID), strings.TrimSpace(k.Name + " " + k.Hint)})
	}
	return groups, nil
}

// audit handles GET /app/{mode}/audit.
func (s *Web) audit(v *visit) error {
	p, filter := v.auditFilter()
	list, next, err := s.Member.Audit(v.ctx(), v.who.Actor, filter)
	if err != nil {
		return err
	}
	p.List = list
	if next != "" {
		p.Next = p.address(v.to("audit"), next)
	}
	f := v.frame("Audit log", "audit")
	if v.isPart() {
		return v.show(http.StatusOK, auditTable(f, p))
	}
	if p.Groups, err = v.actors(); err != nil {
		return err
	}
	return v.show(http.StatusOK, auditPage(f, p))
}

// auditCSV handles GET /app/{mode}/audit.csv.
func (s *Web) auditCSV(v *visit) error {
	_, filter := v.auditFilter()
	filter.Limit = 200
	out := v.exportCSV("audit", "time", "who", "action", "target", "mode", "details", "address", "browser", "by", "key")
	for n := 0; n < csvLimit && out.err == nil; n += filter.Limit {
		list, next, err := s.Member.Audit(v.ctx(), v.who.Actor, filter)
		if err != nil {
			return err
		}
		for _, e := range list {
			out.row(machineTime(e.At), e.Who, e.Action, e.Target, e.Mode, detailLine(e.Details), addrText(e.From), e.From.Agent, actorWord[e.By()], string(e.Key))
		}
		if filter.Cursor = next; next == "" {
			break
		}
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

func addrText(o member.Origin) string {
	if !o.Addr.IsValid() {
		return ""
	}
	return o.Addr.String()
}

// program is what was used: a browser, another program, or a command.
func program(e member.AuditEntry) string {
	agent := e.From.Agent
	switch {
	case e.By() == member.ByOperators:
		return or(agent, "Command line")
	case e.By() == member.ByKeys && !strings.HasPrefix(agent, "Mozilla/"):
		name, _, _ := strings.Cut(agent, " ") // what it calls itself; the rest is what it is built of
		return strings.ToValidUTF8(name[:min(len(name), 40)], "")
	}
	return browser(agent)
}

// browser is the part of a browser's own name that people know.
func browser(agent string) string {
	for _, known := range []string{"Edg", "OPR", "Firefox", "Chrome", "Safari", "curl"} {
		if strings.Contains(agent, known) {
			name := map[string]string{"Edg": "Edge", "OPR": "Opera"}[known]
			return or(name, known) + system(agent)
		}
	}
	return "Browser" + system(agent)
}

func system(agent string) string {
	for _, s := range []string{"iPhone", "iPad", "Android", "Mac OS", "Windows", "Linux"} {
		if strings.Contains(agent, s) {
			return " on " + strings.ReplaceAll(s, "Mac OS", "Mac")
		}
	}
	return ""
}
