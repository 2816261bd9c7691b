package store

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/ship"
)

// An Invitation is a link that makes a member, as stored.
type Invitation struct {
	ID          ship.InvitationID
	Hash        [32]byte // of its token
	Account     ship.AccountID
	AccountName string // read only
	Email       string
	Role        string
	InvitedBy   string
	ProvesEmail bool // whoever has the link reads the mail of the address, or has it from the operator
	CreatedAt   time.Time
	ExpiresAt   time.Time
}

const sqlAddInvitation = `
WITH older AS (
  UPDATE invitations SET revoked_at = @at
  WHERE account_id = @account AND email = @email AND used_at IS NULL AND revoked_at IS NULL
)
INSERT INTO invitations (account_id, id, token_hash, email, role, invited_by, proves_email, created_at, expires_at)
VALUES (@account, @id, @hash, @email, @role, @by, @proves, @at, @expires)`

// AddInvitation stores a new invitation. It replaces an open one of the same
// e-mail into the account.
func (s *Store) AddInvitation(ctx context.Context, i Invitation) error {
	_, err := s.run(ctx, sqlAddInvitation, pgx.NamedArgs{
		"account": i.Account,
		"id":      i.ID,
		"hash":    i.Hash[:],
		"email":   i.Email,
		"role":    i.Role,
		"by":      i.InvitedBy,
		"proves":  i.ProvesEmail,
		"at":      i.CreatedAt,
		"expires": i.ExpiresAt,
	})
	return err
}

const invitationColumns = `i.id, i.account_id, i.email, i.role, i.invited_by, i.proves_email, i.created_at, i.expires_at`

// scanInvitation reads invitationColumns. Further columns come after them.
func scanInvitation(r pgx.Row, further ...any) (Invitation, error) {
	var invitation Invitation
	targets := []any{
		&invitation.ID, &invitation.Account, &invitation.Email, &invitation.Role, &invitation.InvitedBy,
		&invitation.ProvesEmail, &invitation.CreatedAt, &invitation.ExpiresAt,
	}
	err := r.Scan(append(targets, further...)...)

	invitation.CreatedAt = invitation.CreatedAt.UTC()
	invitation.ExpiresAt = invitation.ExpiresAt.UTC()
	return invitation, err
}

// scanNamedInvitation reads invitationColumns and the account's name.
func scanNamedInvitation(r pgx.CollectableRow) (Invitation, error) {
	var name string
	invitation, err := scanInvitation(r, &name)
	invitation.AccountName = name
	return invitation, err
}

const sqlInvitations = `
SELECT ` + invitationColumns + ` FROM invitations i
WHERE i.account_id = $1 AND i.used_at IS NULL AND i.revoked_at IS NULL AND i.expires_at > $2
ORDER BY i.id DESC`

// Invitations lists the invitations into the account that can be accepted,
// newest first.
func (s *Store) Invitations(ctx context.Context, account ship.AccountID, now time.Time) ([]Invitation, error) {
	scan := func(r pgx.CollectableRow) (Invitation, error) { return scanInvitation(r) }
	return queryList(ctx, s, ship.Tenant{Account: account}, scan, sqlInvitations, account, now)
}

const sqlInvitationByHash = `
SELECT ` + invitationColumns + `, a.name
FROM invitations i JOIN accounts a ON a.id = i.account_id
WHERE i.token_hash = @hash AND i.used_at IS NULL AND i.revoked_at IS NULL AND i.expires_at > @now`

// InvitationByHash returns an invitation that can be accepted; ship.Gone if
// there is none.
func (s *Store) InvitationByHash(ctx context.Context, hash [32]byte, now time.Time) (Invitation, error) {
	invitation, err := selectOne(ctx, s.system(), scanNamedInvitation, sqlInvitationByHash, pgx.NamedArgs{"hash": hash[:], "now": now})
	invitation.Hash = hash
	if ship.KindOf(err) == ship.NotFound {
		return invitation, invitationGone()
	}
	return invitation, err
}

func invitationGone() error {
	return ship.Coded(ship.Gone, "expired", "this invitation was already used, was revoked or has expired: ask for a new one")
}

const sqlInvitationsByEmail = `
SELECT ` + invitationColumns + `, a.name
FROM invitations i JOIN accounts a ON a.id = i.account_id
WHERE i.email = @email AND i.used_at IS NULL AND i.revoked_at IS NULL AND i.expires_at > @now
ORDER BY i.id`

// InvitationsByEmail lists the invitations of an e-mail that can be accepted,
// into any account.
func (s *Store) InvitationsByEmail(ctx context.Context, email string, now time.Time) ([]Invitation, error) {
	return selectList(ctx, s.system(), scanNamedInvitation, sqlInvitationsByEmail, pgx.NamedArgs{"email": email, "now": now})
}

const sqlUseInvitation = `
UPDATE invitations SET used_at = @now
WHERE account_id = @account AND id = @id AND used_at IS NULL AND revoked_at IS NULL AND expires_at > @now`

// UseInvitation uses an invitation up; ship.Gone if it cannot be accepted any
// more.
func (s *Store) UseInvitation(ctx context.Context, account ship.AccountID, id ship.InvitationID, now time.Time) error {
	n, err := s.run(ctx, sqlUseInvitation, invitationArgs(account, id, now))
	if err == nil && n == 0 {
		err = invitationGone()
	}
	return err
}

func invitationArgs(account ship.AccountID, id ship.InvitationID, now time.Time) pgx.NamedArgs {
	return pgx.NamedArgs{"account": account, "id": id, "now": now}
}

const sqlRevokeInvitation = `
UPDATE invitations SET revoked_at = @now
WHERE account_id = @account AND id = @id AND used_at IS NULL AND revoked_at IS NULL
RETURNING email`

// RevokeInvitation takes an invitation back and returns its e-mail;
// ship.NotFound if there is none that could be accepted.
func (s *Store) RevokeInvitation(ctx context.Context, account ship.AccountID, id ship.InvitationID, now time.Time) (email string, err error) {
	err = s.system().QueryRow(ctx, sqlRevokeInvitation, invitationArgs(account, id, now)).Scan(&email)
	if errors.Is(err, pgx.ErrNoRows) {
		return "", ship.Errorf(ship.NotFound, "no such invitation")
	}
	return email, explain(err)
}
