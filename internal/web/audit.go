package web

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/member"
)

// auditList is the page of what people did.
type auditList struct {
	Action, From, Until, At string
	List                    []member.AuditEntry
	Next                    string
}

// auditKinds are the first parts of actions, to filter by.
var auditKinds = []choice{
	{"", "Everything"},
	{"shipment.", "Shipments"},
	{"batch.", "Batches"},
	{"box.", "Boxes"},
	{"connection.", "Carriers"},
	{"key.", "Keys"},
	{"webhook.", "Webhooks"},
	{"member.", "Members"},
	{"session.", "Sessions"},
	{"settings.", "Settings"},
}

func (v *visit) auditFilter() (auditList, member.AuditFilter) {
	p := auditList{Action: v.query("action"), From: v.query("from"), Until: v.query("until"), At: v.query("cursor")}
	f := member.AuditFilter{Action: p.Action, Cursor: p.At, Limit: pageSize}
	if t, err := time.Parse(time.DateOnly, p.From); err == nil {
		f.After = t
	}
	if t, err := time.Parse(time.DateOnly, p.Until); err == nil {
		f.Before = t.AddDate(0, 0, 1)
	}
	return p, f
}

func (p auditList) address(path, cursor string) string {
	q := url.Values{}
	for name, value := range map[string]string{"action": p.Action, "from": p.From, "until": p.Until, "cursor": cursor} {
		if value != "" {
			q.Set(name, value)
		}
	}
	if len(q) == 0 {
		return path
	}
	return path + "?" + q.Encode()
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
	return v.show(http.StatusOK, auditPage(f, p))
}

// auditCSV handles GET /app/{mode}/audit.csv.
func (s *Web) auditCSV(v *visit) error {
	_, filter := v.auditFilter()
	filter.Limit = 200
	out := v.exportCSV("audit", "time", "who", "action", "target", "mode", "details", "address", "browser")
	for n := 0; n < csvLimit && out.err == nil; n += filter.Limit {
		list, next, err := s.Member.Audit(v.ctx(), v.who.Actor, filter)
		if err != nil {
			return err
		}
		for _, e := range list {
			out.row(machineTime(e.At), e.Who, e.Action, e.Target, e.Mode, detailLine(e.Details), addrText(e.From), e.From.Agent)
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
