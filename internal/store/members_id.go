package store

import (
	"encoding/base32"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
)

// The ids of people and of what they do: a prefix and 26 characters of
// Crockford base32. Ids of one kind sort by creation time.
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

var idText = base32.NewEncoding("0123456789ABCDEFGHJKMNPQRSTVWXYZ").WithPadding(base32.NoPadding)

func idOf[T ~string](prefix string, id ship.RawID) T { return T(prefix + idText.EncodeToString(id[:])) }

// parseID reads what idOf writes, and nothing else: an id has one spelling.
func parseID[T ~string](prefix, s string) (T, ship.RawID, bool) {
	var id ship.RawID
	text, ok := strings.CutPrefix(s, prefix)
	if !ok || len(text) != 26 {
		return "", id, false
	}
	b, err := idText.DecodeString(text)
	if err != nil || len(b) != len(id) {
		return "", id, false
	}
	copy(id[:], b)
	made := idOf[T](prefix, id)
	return made, id, string(made) == s
}

func rawOf[T ~string](prefix string, s T) ship.RawID {
	_, id, _ := parseID[T](prefix, string(s))
	return id
}

// NewPersonID makes the id of a new person. People belong to no shard.
func NewPersonID(at time.Time) PersonID { return idOf[PersonID](personPrefix, ship.NewRawID(0, at)) }

// NewSessionID makes the id of a new session.
func NewSessionID(at time.Time) SessionID {
	return idOf[SessionID](sessionPrefix, ship.NewRawID(0, at))
}

// NewInvitationID makes the id of a new invitation into an account.
func NewInvitationID(a ship.AccountID, at time.Time) InvitationID {
	return idOf[InvitationID](invitationPrefix, ship.NewRawID(a.Raw().Shard(), at))
}

// NewAuditID makes the id of a new entry of an account's audit log.
func NewAuditID(a ship.AccountID, at time.Time) AuditID {
	return idOf[AuditID](auditPrefix, ship.NewRawID(a.Raw().Shard(), at))
}

// The stored form of each id.

func (id PersonID) Raw() ship.RawID     { return rawOf(personPrefix, id) }
func (id SessionID) Raw() ship.RawID    { return rawOf(sessionPrefix, id) }
func (id InvitationID) Raw() ship.RawID { return rawOf(invitationPrefix, id) }
func (id AuditID) Raw() ship.RawID      { return rawOf(auditPrefix, id) }

// PersonIDOf is the reverse of Raw.
func PersonIDOf(id ship.RawID) PersonID { return idOf[PersonID](personPrefix, id) }

// ParsePersonID reads the id of a person as a form sends it.
func ParsePersonID(s string) (PersonID, bool) {
	id, _, ok := parseID[PersonID](personPrefix, s)
	return id, ok
}

// ParseSessionID reads the id of a session as a form sends it.
func ParseSessionID(s string) (SessionID, bool) {
	id, _, ok := parseID[SessionID](sessionPrefix, s)
	return id, ok
}

// ParseInvitationID reads the id of an invitation as a form sends it.
func ParseInvitationID(s string) (InvitationID, bool) {
	id, _, ok := parseID[InvitationID](invitationPrefix, s)
	return id, ok
}

// ParseAuditID reads the id of an audit entry, which is also a cursor.
func ParseAuditID(s string) (AuditID, bool) {
	id, _, ok := parseID[AuditID](auditPrefix, s)
	return id, ok
}
