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

// shortRoutes are the downloads of lists that are short in every account.
func (s *Web) shortRoutes() []route {
	return []route{
		get("/app/{account}/{mode}/webhooks.csv", member.ViewWebhooks, s.webhooksCSV),
		get("/app/{account}/{mode}/keys.csv", member.ViewKeys, s.keysCSV),
		get("/app/{account}/{mode}/members.csv", member.ViewMembers, s.membersCSV),
		get("/app/{account}/{mode}/carriers.csv", member.ViewConnections, s.carriersCSV),
	}
}

// A shortList is what surrounds a list that is read as a whole: its filters, its
// download, its pages.
type shortList struct {
	Path, Section string
	Text, State   string // the chosen filters
	States        []choice
	Cursor, Next  string
	Shown, All    int
}

// Address is the address of the list with its filters, from the cursor on.
func (l shortList) Address(path, cursor string) string {
	query := url.Values{}
	for name, value := range map[string]string{"q": l.Text, "state": l.State, "cursor": cursor} {
		if value != "" {
			query.Set(name, value)
		}
	}

	if len(query) == 0 {
		return path
	}
	return path + "?" + query.Encode()
}

// A line says how the items of a list are identified and filtered.
type line[T any] struct {
	id    func(T) string
	text  func(T) string // that the search looks at
	state func(T) string // one of the list's states
}

// shorten filters a list as the address asks, and returns one page of it.
func shorten[T any](v *visit, section string, list []T, states []choice, l line[T]) ([]T, shortList) {
	tools := shortList{
		Path:    v.to(section),
		Section: section,
		Text:    v.query("q"),
		State:   v.query("state"),
		Cursor:  v.query("cursor"),
		States:  states,
		All:     len(list),
	}

	// If the item of the cursor no longer matches, the list starts again.
	list = matching(v, list, l)
	if i := slices.IndexFunc(list, func(item T) bool { return l.id(item) == tools.Cursor }); i >= 0 {
		list = list[i+1:]
	}
	if len(list) > pageSize {
		list = list[:pageSize]
		tools.Next = tools.Address(tools.Path, l.id(list[pageSize-1]))
	}
	tools.Shown = len(list)
	return list, tools
}

// matching returns the items that have the text and the state that the address
// asks for.
func matching[T any](v *visit, list []T, l line[T]) []T {
	text := strings.ToLower(v.query("q"))
	state := v.query("state")
	return slices.DeleteFunc(slices.Clone(list), func(item T) bool {
		return !strings.Contains(strings.ToLower(l.text(item)), text) || state != "" && l.state(item) != state
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

var hookStates = []choice{
	{"", "All states"},
	{"on", "Working"},
	{"failing", "Failing"},
	{"off", "Off"},
}

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

var keyStates = []choice{{"", "All keys"}, {"on", "Active"}, {"ended", "Expired or revoked"}}

var memberLine = line[member.Member]{
	id:    func(m member.Member) string { return string(m.ID) },
	text:  func(m member.Member) string { return m.Name + " " + m.Email },
	state: func(m member.Member) string { return string(m.Role) },
}

var memberStates = []choice{
	{"", "All roles"},
	{"owner", "Owners"},
	{"developer", "Developers"},
	{"shipper", "Shippers"},
	{"viewer", "Viewers"},
}

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

var connectionStates = []choice{
	{"", "All states"},
	{"on", "Working"},
	{"failing", "Failing"},
	{"off", "Off"},
}

// webhooksCSV handles GET /app/{account}/{mode}/webhooks.csv.
func (s *Web) webhooksCSV(v *visit) error {
	list, err := s.Webhook.Endpoints(v.ctx(), v.tenant())
	if err != nil {
		return err
	}

	out := v.exportCSV("webhooks", "id", "address", "description", "state", "events", "failures", "failing since", "last success")
	for _, endpoint := range matching(v, list, hookLine) {
		word, _ := hookState(endpoint)
		out.row(
			string(endpoint.ID),
			endpoint.URL,
			endpoint.Description,
			word,
			kindLine(endpoint.Kinds),
			strconv.Itoa(endpoint.Failures),
			timeCell(endpoint.FailingSince),
			timeCell(endpoint.LastSuccessAt),
		)
	}
	return nil
}

// keysCSV handles GET /app/{account}/{mode}/keys.csv. It holds no key, only
// hints.
func (s *Web) keysCSV(v *visit) error {
	list, err := v.keysOf()
	if err != nil {
		return err
	}

	out := v.exportCSV("keys", "id", "name", "hint", "permissions", "allowed addresses", "created", "last used", "expires", "revoked")
	for _, key := range matching(v, list, keyLine) {
		out.row(
			string(key.ID),
			key.Name,
			key.Hint,
			strings.Join(key.Scopes, " "),
			networkLine(key),
			timeCell(key.CreatedAt),
			timeCell(key.LastUsedAt),
			timeCell(key.ExpiresAt),
			timeCell(key.RevokedAt),
		)
	}
	return nil
}

// membersCSV handles GET /app/{account}/{mode}/members.csv.
func (s *Web) membersCSV(v *visit) error {
	list, err := s.Member.Members(v.ctx(), v.who.Actor)
	if err != nil {
		return err
	}

	out := v.exportCSV("members", "name", "email", "role", "two-factor", "joined", "last seen")
	for _, person := range matching(v, list, memberLine) {
		out.row(
			person.Name,
			person.Email,
			string(person.Role),
			strconv.FormatBool(person.TwoFactor),
			timeCell(person.JoinedAt),
			timeCell(person.LastSeenAt),
		)
	}
	return nil
}

// carriersCSV handles GET /app/{account}/{mode}/carriers.csv.
func (s *Web) carriersCSV(v *visit) error {
	list, err := s.Account.Connections(v.ctx(), v.tenant())
	if err != nil {
		return err
	}

	out := v.exportCSV("carriers", "id", "name", "carrier", "state", "problem", "made", "checked")
	for _, connection := range matching(v, list, connectionLine) {
		out.row(
			string(connection.ID),
			connection.Name,
			connection.Carrier,
			connectionLine.state(connection),
			connection.Problem,
			timeCell(connection.CreatedAt),
			timeCell(connection.CheckedAt),
		)
	}
	return nil
}

// timeCell formats a time for a download; the zero time is empty.
func timeCell(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return machineTime(t)
}
