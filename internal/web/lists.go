package web

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/account"
	"github.com/waybillhq/waybill/internal/member"
	"github.com/waybillhq/waybill/internal/webhook"
)

// shortRoutes are the downloads of the lists that an account has few lines in.
func (s *Web) shortRoutes() []route {
	return []route{
		get("/app/{mode}/webhooks.csv", member.ViewWebhooks, s.webhooksCSV),
		get("/app/{mode}/keys.csv", member.ViewKeys, s.keysCSV),
		get("/app/{mode}/members.csv", member.ViewMembers, s.membersCSV),
		get("/app/{mode}/carriers.csv", member.ViewConnections, s.carriersCSV),
	}
}

// A shortList is what stands above and below a list that is read whole: its
// filters, its download, its pages.
type shortList struct {
	Path, Section string
	Text, State   string // as they were chosen
	States        []choice
	Cursor, Next  string
	Shown, All    int
}

// Address is the list with its filters and a cursor.
func (l shortList) Address(path, cursor string) string {
	q := url.Values{}
	for name, value := range map[string]string{"q": l.Text, "state": l.State, "cursor": cursor} {
		if value != "" {
			q.Set(name, value)
		}
	}
	if len(q) == 0 {
		return path
	}
	return path + "?" + q.Encode()
}

// A line is how a list tells its things apart and finds them.
type line[T any] struct {
	id    func(T) string
	text  func(T) string // what the search looks at
	state func(T) string // one of the states
}

// shorten keeps what the address asks for, a page of it.
func shorten[T any](v *visit, section string, list []T, states []choice, l line[T]) ([]T, shortList) {
	s := shortList{Path: v.to(section), Section: section, Text: v.query("q"), State: v.query("state"), Cursor: v.query("cursor"), States: states, All: len(list)}
	list = matching(v, list, l)
	if i := slices.IndexFunc(list, func(t T) bool { return l.id(t) == s.Cursor }); i >= 0 {
		list = list[i+1:]
	}
	if len(list) > pageSize {
		list = list[:pageSize]
		s.Next = s.Address(s.Path, l.id(list[pageSize-1]))
	}
	s.Shown = len(list)
	return list, s
}

// matching are those with the text in them, and of the state, that the address
// asks for.
func matching[T any](v *visit, list []T, l line[T]) []T {
	text, state := strings.ToLower(v.query("q")), v.query("state")
	return slices.DeleteFunc(slices.Clone(list), func(t T) bool {
		return !strings.Contains(strings.ToLower(l.text(t)), text) || state != "" && l.state(t) != state
	})
}

var hookLine = line[webhook.Endpoint]{
	id:   func(e webhook.Endpoint) string { return string(e.ID) },
	text: func(e webhook.Endpoint) string { return e.URL + " " + e.Description },
	state: func(e webhook.Endpoint) string {
		switch {
		case !e.Enabled:
			return "off"
		case e.Parked || e.Failures > 0:
			return "failing"
		}
		return "on"
	},
}

var hookStates = []choice{{"", "All states"}, {"on", "Working"}, {"failing", "Failing"}, {"off", "Off"}}

var keyLine = line[account.APIKey]{
	id:   func(k account.APIKey) string { return string(k.ID) },
	text: func(k account.APIKey) string { return k.Name + " " + k.Hint + " " + strings.Join(k.Scopes, " ") },
	state: func(k account.APIKey) string {
		if !k.RevokedAt.IsZero() || !k.ExpiresAt.IsZero() && k.ExpiresAt.Before(time.Now()) {
			return "ended"
		}
		return "on"
	},
}

var keyStates = []choice{{"", "All keys"}, {"on", "In use"}, {"ended", "Ended"}}

var memberLine = line[member.Member]{
	id:    func(m member.Member) string { return string(m.ID) },
	text:  func(m member.Member) string { return m.Name + " " + m.Email },
	state: func(m member.Member) string { return string(m.Role) },
}

var memberStates = []choice{{"", "All roles"}, {"owner", "Owners"}, {"developer", "Developers"}, {"shipper", "Shippers"}, {"viewer", "Viewers"}}

var connectionLine = line[account.Connection]{
	id:   func(c account.Connection) string { return string(c.ID) },
	text: func(c account.Connection) string { return c.Name + " " + carrierTitle(c.Carrier) + " " + string(c.ID) },
	state: func(c account.Connection) string {
		switch {
		case !c.Enabled:
			return "off"
		case c.Problem != "" || account.Failed(c.Findings):
			return "failing"
		}
		return "on"
	},
}

var connectionStates = []choice{{"", "All states"}, {"on", "Working"}, {"failing", "Failing"}, {"off", "Off"}}

// webhooksCSV handles GET /app/{mode}/webhooks.csv.
func (s *Web) webhooksCSV(v *visit) error {
	list, err := s.Webhook.Endpoints(v.ctx(), v.tenant())
	if err != nil {
		return err
	}
	out := v.exportCSV("webhooks", "id", "address", "description", "state", "hears of", "failures", "failing since", "last success")
	for _, e := range matching(v, list, hookLine) {
		word, _ := hookState(e)
		out.row(string(e.ID), e.URL, e.Description, word, kindLine(e.Kinds), strconv.Itoa(e.Failures), timeCell(e.FailingSince), timeCell(e.LastSuccessAt))
	}
	return nil
}

// keysCSV handles GET /app/{mode}/keys.csv. No key is in it.
func (s *Web) keysCSV(v *visit) error {
	list, err := v.keysOf()
	if err != nil {
		return err
	}
	out := v.exportCSV("keys", "id", "name", "hint", "may", "only from", "made", "last used", "ends", "revoked")
	for _, k := range matching(v, list, keyLine) {
		out.row(string(k.ID), k.Name, k.Hint, strings.Join(k.Scopes, " "), networkLine(k), timeCell(k.CreatedAt), timeCell(k.LastUsedAt), timeCell(k.ExpiresAt), timeCell(k.RevokedAt))
	}
	return nil
}

// membersCSV handles GET /app/{mode}/members.csv.
func (s *Web) membersCSV(v *visit) error {
	list, err := s.Member.Members(v.ctx(), v.who.Actor)
	if err != nil {
		return err
	}
	out := v.exportCSV("members", "name", "email", "role", "second factor", "joined", "seen")
	for _, m := range matching(v, list, memberLine) {
		out.row(m.Name, m.Email, string(m.Role), strconv.FormatBool(m.TwoFactor), timeCell(m.JoinedAt), timeCell(m.LastSeenAt))
	}
	return nil
}

// carriersCSV handles GET /app/{mode}/carriers.csv.
func (s *Web) carriersCSV(v *visit) error {
	list, err := s.Account.Connections(v.ctx(), v.tenant())
	if err != nil {
		return err
	}
	out := v.exportCSV("carriers", "id", "name", "carrier", "state", "problem", "made", "checked")
	for _, c := range matching(v, list, connectionLine) {
		out.row(string(c.ID), c.Name, c.Carrier, connectionLine.state(c), c.Problem, timeCell(c.CreatedAt), timeCell(c.CheckedAt))
	}
	return nil
}

// timeCell is a time in a download; empty for none.
func timeCell(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return machineTime(t)
}
