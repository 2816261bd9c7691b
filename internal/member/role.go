package member

import (
	"time"

	"github.com/waybillhq/waybill/internal/ship"
)

// A Role is what a member is in an account.
type Role string

// The roles.
const (
	Owner     Role = "owner"     // everything
	Developer Role = "developer" // everything but members and the account's own settings
	Shipper   Role = "shipper"   // buys, prints, voids
	Viewer    Role = "viewer"    // looks
)

// Roles lists the roles, the most powerful first.
var Roles = []Role{Owner, Developer, Shipper, Viewer}

// Valid reports whether r is one of the roles.
func (r Role) Valid() bool { _, ok := columns[r]; return ok }

// An Action is something that a member may or may not do.
type Action string

// The actions.
const (
	ViewOverview      Action = "overview.view"
	ViewShipments     Action = "shipments.view"  // with tracking, and events of one
	PrintLabels       Action = "shipments.print" // labels and customs papers, on the screen, as files and on paper
	ExportShipments   Action = "shipments.export"
	BuyShipments      Action = "shipments.buy" // also rates, address checks and batches
	VoidShipments     Action = "shipments.void"
	DecideMissing     Action = "missing.decide" // about purchases that a restore lost
	ViewConnections   Action = "connections.view"
	CheckConnections  Action = "connections.check"
	ManageConnections Action = "connections.manage" // credentials
	ViewRouting       Action = "routing.view"
	ManageRouting     Action = "routing.manage"
	ViewEvents        Action = "events.view" // the log of all, with bodies
	ViewRequests      Action = "requests.view"
	ViewWebhooks      Action = "webhooks.view"
	ManageWebhooks    Action = "webhooks.manage"
	ViewKeys          Action = "keys.view"
	ManageKeys        Action = "keys.manage"
	ControlSandbox    Action = "sandbox.control"
	ViewMembers       Action = "members.view"
	ManageMembers     Action = "members.manage"
	ViewAudit         Action = "audit.view"
	ViewPrivacy       Action = "privacy.view"
	ManagePrivacy     Action = "privacy.manage" // erase and export personal data
	ViewSettings      Action = "settings.view"
	ManageSettings    Action = "settings.manage"
	ViewSelf          Action = "self.view"   // own sessions, passkeys and so on
	ManageSelf        Action = "self.manage" // sign out elsewhere, own name
	ManageOwnSecrets  Action = "self.secrets"
)

// A decision is an explicit yes or no; the zero value means that none was made.
type decision int8

const (
	undecided decision = iota
	yes
	no
)

// A rule states who may do an action.
type rule struct {
	owner, developer, shipper, viewer decision
	fresh                             bool // needs a sign-in of the last minutes
}

// A permission is a row of the permission table.
type permission struct {
	action Action
	about  string // for the documents
	rule   rule
}

// permissions is the whole permission table: each action with a decision for
// every role. Developers may buy, because the keys that they create can.
var permissions = []permission{
	{ViewOverview, "overview, search", rule{yes, yes, yes, yes, false}},
	{ViewShipments, "list and view shipments and their tracking", rule{yes, yes, yes, yes, false}},
	{PrintLabels, "labels and customs documents", rule{yes, yes, yes, no, false}},
	{ExportShipments, "export lists of shipments as CSV", rule{yes, yes, yes, yes, false}},
	{BuyShipments, "get rates, buy labels, batches, boxes", rule{yes, yes, yes, no, false}},
	{VoidShipments, "void labels", rule{yes, yes, yes, no, false}},
	{DecideMissing, "adopt, hold and void purchases that a restore of the database lost", rule{yes, yes, no, no, false}},
	{ViewConnections, "view carriers and their state", rule{yes, yes, yes, yes, false}},
	{CheckConnections, "check a carrier connection", rule{yes, yes, yes, no, false}},
	{ManageConnections, "connect carriers, change credentials", rule{yes, yes, no, no, true}},
	{ViewRouting, "view routing rules and rate sheets", rule{yes, yes, yes, yes, false}},
	{ManageRouting, "change, test and publish routing rules, import rate sheets", rule{yes, yes, no, no, false}},
	{ViewEvents, "event log with bodies", rule{yes, yes, no, no, false}},
	{ViewRequests, "API requests and carrier exchanges", rule{yes, yes, no, no, false}},
	{ViewWebhooks, "view webhooks", rule{yes, yes, no, no, false}},
	{ManageWebhooks, "create and change webhooks, redeliver events", rule{yes, yes, no, no, false}},
	{ViewKeys, "view API keys", rule{yes, yes, no, no, false}},
	{ManageKeys, "create and revoke API keys", rule{yes, yes, no, no, true}},
	{ControlSandbox, "sandbox: move parcels, force faults", rule{yes, yes, yes, no, false}},
	{ViewMembers, "view members", rule{yes, yes, yes, yes, false}},
	{ManageMembers, "invite, change and remove members, end their sessions", rule{yes, no, no, no, true}},
	{ViewAudit, "audit log", rule{yes, yes, no, no, false}},
	{ViewPrivacy, "view erasures and exports of personal data", rule{yes, yes, no, no, false}},
	{ManagePrivacy, "erase and export personal data", rule{yes, yes, no, no, true}},
	{ViewSettings, "view the account's settings", rule{yes, yes, yes, yes, false}},
	{ManageSettings, "change the account's settings and retention", rule{yes, no, no, no, false}},
	{ViewSelf, "view your profile and sessions", rule{yes, yes, yes, yes, false}},
	{ManageSelf, "change your name, end your sessions", rule{yes, yes, yes, yes, false}},
	{ManageOwnSecrets, "change your password, passkeys and authenticator", rule{yes, yes, yes, yes, true}},
}

// rules are the permissions by action.
var rules = rulesByAction(permissions)

func rulesByAction(list []permission) map[Action]rule {
	byAction := make(map[Action]rule, len(list))
	for _, permission := range list {
		byAction[permission.action] = permission.rule
	}
	return byAction
}

// A Permission is a row of the permission table, for documents and tests: its
// roles and whether it needs a recent sign-in follow from the action.
type Permission struct {
	Action Action
	About  string
}

// Permissions lists the permission table.
func Permissions() []Permission {
	list := make([]Permission, len(permissions))
	for i, permission := range permissions {
		list[i] = Permission{Action: permission.action, About: permission.about}
	}
	return list
}

// columns select the decision for a role.
var columns = map[Role]func(rule) decision{
	Owner:     func(r rule) decision { return r.owner },
	Developer: func(r rule) decision { return r.developer },
	Shipper:   func(r rule) decision { return r.shipper },
	Viewer:    func(r rule) decision { return r.viewer },
}

// Can reports whether the role may do the action. Nobody may do what is not in
// the table.
func (r Role) Can(a Action) bool {
	column, known := columns[r]
	return known && column(rules[a]) == yes
}

// NeedsStepUp reports whether the action needs a fresh sign-in.
func (a Action) NeedsStepUp() bool { return rules[a].fresh }

// freshDuration is how long a sign-in counts as fresh.
const freshDuration = 10 * time.Minute

// An Actor is who does something: a signed-in member of an account, an API key
// of it, or the operator of the installation.
type Actor struct {
	Person     Person
	Account    ship.AccountID
	Role       Role
	Session    ship.SessionID
	From       Origin
	FreshUntil time.Time // until when a step-up is not needed

	// SecondFactor reports that the person has proved a second factor in this
	// session.
	SecondFactor bool

	// DailyLimit is what the person may spend on labels in a day; zero for no
	// limit.
	DailyLimit ship.Money

	method    string // of the session
	missing   error  // what the session lacks to reach the account; nil if nothing
	operator  bool
	key       ship.KeyID // of a program
	keyName   string
	holdsLink bool // and has proved nothing else
	now       time.Time
}

// Operator returns the actor of the operators' commands: whoever can read the
// installation's secrets may do everything in the account.
func Operator(a ship.AccountID) Actor {
	return Actor{Account: a, Role: Owner, operator: true}
}

// Program returns the actor of what is done with an API key. The key's scopes
// decide what it may do: it is allowed no action of people.
func Program(a ship.AccountID, key ship.KeyID, name, hint string, from Origin) Actor {
	if name != "" {
		hint = name + " (" + hint + ")"
	}
	return Actor{Account: a, key: key, keyName: hint, From: from}
}

// LinkHolder returns the actor who opened a link of the account that needs no
// key and no sign-in.
func LinkHolder(a ship.AccountID, from Origin) Actor {
	return Actor{Account: a, holdsLink: true, From: from}
}

// Can reports whether the actor may do the action at all, perhaps after a
// step-up. Pages show what the actor can do.
func (a Actor) Can(action Action) bool { return a.Role.Can(action) }

// Fresh reports whether the actor has signed in or stepped up lately.
func (a Actor) Fresh() bool { return a.operator || a.now.Before(a.FreshUntil) }

// Admitted returns nil if the session reaches the account. It is ship.Forbidden
// with the code "second_factor_required" if the account requires a second factor
// that was not proved, and "sso_required" if it requires single sign-on.
func (a Actor) Admitted() error { return a.missing }

// isOwn reports whether the action is about the person themselves, and shows and
// changes nothing of an account.
func (a Action) isOwn() bool { return a == ViewSelf || a == ManageSelf || a == ManageOwnSecrets }

// Allow returns nil if the actor may do the action now. Otherwise it returns
// ship.Forbidden with the code "not_allowed", or "step_up_required" if a fresh
// sign-in is all that is missing, or what Admitted returns.
func (a Actor) Allow(action Action) error {
	switch {
	case !a.Can(action):
		return notAllowed()
	case a.missing != nil && !action.isOwn():
		return a.missing
	case action.NeedsStepUp() && !a.Fresh():
		return ship.Coded(ship.Forbidden, "step_up_required", "confirm your identity to continue")
	}
	return nil
}

func notAllowed() error {
	return ship.Coded(ship.Forbidden, "not_allowed", "your role does not allow this")
}
