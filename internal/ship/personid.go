package ship

import "time"

// The ids of people who sign in to the dashboard, and of what they do.
type (
	PersonID     string // per_
	SessionID    string // ses_
	InvitationID string // inv_
	AuditID      string // aud_
)

const (
	personPrefix     = "per_"
	sessionPrefix    = "ses_"
	invitationPrefix = "inv_"
	auditPrefix      = "aud_"
)

// NewPersonID makes the id of a new person. People belong to no shard.
func NewPersonID(at time.Time) PersonID { return PersonID(newText(0, at, personPrefix)) }

// NewSessionID makes the id of a new session.
func NewSessionID(at time.Time) SessionID { return SessionID(newText(0, at, sessionPrefix)) }

// NewInvitationID makes the id of a new invitation into an account.
func NewInvitationID(a AccountID, at time.Time) InvitationID {
	return InvitationID(newText(a.Raw().Shard(), at, invitationPrefix))
}

// NewAuditID makes the id of a new entry of an account's audit log.
func NewAuditID(a AccountID, at time.Time) AuditID {
	return AuditID(newText(a.Raw().Shard(), at, auditPrefix))
}

// The stored form of each id, and back.

func (id PersonID) Raw() RawID     { return raw(string(id), personPrefix) }
func (id SessionID) Raw() RawID    { return raw(string(id), sessionPrefix) }
func (id InvitationID) Raw() RawID { return raw(string(id), invitationPrefix) }
func (id AuditID) Raw() RawID      { return raw(string(id), auditPrefix) }

func PersonIDOf(id RawID) PersonID         { return PersonID(id.text(personPrefix)) }
func SessionIDOf(id RawID) SessionID       { return SessionID(id.text(sessionPrefix)) }
func InvitationIDOf(id RawID) InvitationID { return InvitationID(id.text(invitationPrefix)) }
func AuditIDOf(id RawID) AuditID           { return AuditID(id.text(auditPrefix)) }

// ParsePersonID reads the id of a person as a form sends it.
func ParsePersonID(s string) (PersonID, bool) {
	id, ok := parseID(s, personPrefix)
	return PersonIDOf(id), ok
}

// ParseSessionID reads the id of a session as a form sends it.
func ParseSessionID(s string) (SessionID, bool) {
	id, ok := parseID(s, sessionPrefix)
	return SessionIDOf(id), ok
}

// ParseInvitationID reads the id of an invitation as a form sends it.
func ParseInvitationID(s string) (InvitationID, bool) {
	id, ok := parseID(s, invitationPrefix)
	return InvitationIDOf(id), ok
}

// ParseAuditID reads the id of an audit entry, which is also a cursor.
func ParseAuditID(s string) (AuditID, bool) {
	id, ok := parseID(s, auditPrefix)
	return AuditIDOf(id), ok
}
