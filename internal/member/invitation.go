package member

import (
	"context"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// inviteLifetime is how long an invitation can be accepted.
const inviteLifetime = 7 * 24 * time.Hour

// InviteInput is a person to invite.
type InviteInput struct {
	Email string
	Role  Role
}

// An Invitation lets one person join an account, once.
type Invitation struct {
	ID          ship.InvitationID
	Account     ship.AccountID
	AccountName string // set by InvitationOf alone
	Email       string
	Role        Role
	InvitedBy   string // name, or "operator"
	CreatedAt   time.Time
	ExpiresAt   time.Time
	// HasPerson reports that somebody with this e-mail signs in here already:
	// they accept with AcceptAs after signing in. It is set by InvitationOf
	// alone.
	HasPerson bool
}

func invitationOf(row store.Invitation) Invitation {
	return Invitation{
		ID:          row.ID,
		Account:     row.Account,
		AccountName: row.AccountName,
		Email:       row.Email,
		Role:        Role(row.Role),
		InvitedBy:   row.InvitedBy,
		CreatedAt:   row.CreatedAt,
		ExpiresAt:   row.ExpiresAt,
	}
}

// Invite creates a link for one person to join the actor's account. It is shown
// only this once; another invitation of the same e-mail ends it.
func (s *Service) Invite(ctx context.Context, a Actor, in InviteInput) (made Invitation, link string, err error) {
	if err := a.Allow(ManageMembers); err != nil {
		return Invitation{}, "", err
	}
	email := normalizeEmail(in.Email)
	if err := ship.InvalidFields(append(checkEmail(email), checkRole(in.Role)...)); err != nil {
		return Invitation{}, "", err
	}

	token, hash := newToken()
	now := s.clock()
	row := store.Invitation{
		ID:        ship.NewInvitationID(a.Account, now),
		Hash:      hash,
		Account:   a.Account,
		Email:     email,
		Role:      string(in.Role),
		InvitedBy: a.Person.Name,
		CreatedAt: now,
		ExpiresAt: now.Add(inviteLifetime),
	}
	if a.operator {
		row.InvitedBy = operatorName
	}

	err = s.store.InSystemTx(ctx, func(tx *store.Store) error {
		// Under the lock nobody joins or is removed, so what is checked here
		// still holds when the invitation is stored.
		if row.AccountName, err = tx.LockAccount(ctx, a.Account); err != nil {
			return err
		}
		if err := s.recheckOwner(ctx, tx, a); err != nil {
			return err
		}
		if err := s.checkNotMember(ctx, tx, a.Account, email); err != nil {
			return err
		}

		if err := tx.AddInvitation(ctx, row); err != nil {
			return err
		}
		return s.audit(ctx, tx, a, Entry{
			Action:  "member.invited",
			Target:  string(row.ID),
			Details: map[string]string{"email": email, "role": row.Role},
		})
	})
	if err != nil {
		return Invitation{}, "", err
	}
	return invitationOf(row), s.base + invitePath + token, nil
}

// checkNotMember returns ship.Conflict if the e-mail is that of a member of the
// account.
func (s *Service) checkNotMember(ctx context.Context, tx *store.Store, account ship.AccountID, email string) error {
	person, err := tx.PersonByEmail(ctx, email)
	if err == nil {
		_, _, err = tx.Member(ctx, account, person.ID)
	}

	if isKind(err, ship.NotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return ship.Coded(ship.Conflict, "already_member", "this person is already a member of the account")
}

// Invitations lists those into the actor's account that can be accepted.
func (s *Service) Invitations(ctx context.Context, a Actor) ([]Invitation, error) {
	if err := a.Allow(ViewMembers); err != nil {
		return nil, err
	}

	rows, err := s.store.Invitations(ctx, a.Account, s.clock())
	list := make([]Invitation, len(rows))
	for i, row := range rows {
		list[i] = invitationOf(row)
	}
	return list, err
}

// RevokeInvitation withdraws an invitation.
func (s *Service) RevokeInvitation(ctx context.Context, a Actor, id ship.InvitationID) error {
	if err := a.Allow(ManageMembers); err != nil {
		return err
	}

	return s.store.InSystemTx(ctx, func(tx *store.Store) error {
		email, err := tx.RevokeInvitation(ctx, a.Account, id, s.clock())
		if err != nil {
			return err
		}
		return s.audit(ctx, tx, a, Entry{Action: "invitation.revoked", Target: string(id), Details: map[string]string{"email": email}})
	})
}

// InvitationOf returns the invitation of a link; ship.Gone if it can no longer
// be accepted.
func (s *Service) InvitationOf(ctx context.Context, token string) (Invitation, error) {
	row, err := s.store.InvitationByHash(ctx, hashOf(token), s.clock())
	if err != nil {
		return Invitation{}, err
	}

	invitation := invitationOf(row)
	_, err = s.store.PersonByEmail(ctx, row.Email)
	invitation.HasPerson = err == nil
	if isKind(err, ship.NotFound) {
		err = nil
	}
	return invitation, err
}

// AcceptInput is a new person who accepts an invitation.
type AcceptInput struct {
	Token    string
	Name     string
	Password string
	From     Origin
}

// Accept creates the invited person, makes them a member, and signs them in. It
// is ship.Conflict if they sign in here already: then AcceptAs is for them.
func (s *Service) Accept(ctx context.Context, in AcceptInput) (SignedIn, error) {
	invitation, err := s.store.InvitationByHash(ctx, hashOf(in.Token), s.clock())
	if err != nil {
		return SignedIn{}, err
	}

	now := s.clock()
	person := store.Person{
		ID:        ship.NewPersonID(now),
		Email:     invitation.Email,
		Name:      strings.TrimSpace(in.Name),
		CreatedAt: now,
	}
	invalid := append(checkName("/name", person.Name), checkPassword(in.Password, person.Email, person.Name)...)
	if err := ship.InvalidFields(invalid); err != nil {
		return SignedIn{}, err
	}
	if person.PasswordHash, err = s.passwords.hash(ctx, in.Password); err != nil {
		return SignedIn{}, err
	}

	return s.startSession(ctx, person, sessionStart{
		method:  "invitation",
		from:    in.From,
		account: invitation.Account,
		prepare: func(tx *store.Store) error {
			if err := tx.AddPerson(ctx, person); err != nil {
				return err
			}
			return s.acceptInvitation(ctx, tx, Actor{Person: personOf(person), From: in.From}, invitation)
		},
	})
}

// acceptInvitation makes the actor a member, and uses the invitation up.
func (s *Service) acceptInvitation(ctx context.Context, tx *store.Store, a Actor, invitation store.Invitation) error {
	if _, err := tx.LockAccount(ctx, invitation.Account); err != nil {
		return err
	}
	if err := tx.UseInvitation(ctx, invitation.Account, invitation.ID, s.clock()); err != nil {
		return err
	}
	if err := tx.AddMember(ctx, invitation.Account, a.Person.ID, invitation.Role, s.clock()); err != nil {
		return err
	}

	// The entry belongs to the account that they join.
	a.Account = invitation.Account
	return s.audit(ctx, tx, a, Entry{
		Action: "member.joined",
		Target: string(a.Person.ID),
		Details: map[string]string{
			"email":      a.Person.Email,
			"role":       invitation.Role,
			"invited_by": invitation.InvitedBy,
		},
	})
}

// AcceptAs makes the actor a member of the account that invites them, and
// returns the account. The invitation must be theirs.
func (s *Service) AcceptAs(ctx context.Context, a Actor, token string) (ship.AccountID, error) {
	invitation, err := s.store.InvitationByHash(ctx, hashOf(token), s.clock())
	if err != nil {
		return "", err
	}
	if invitation.Email != a.Person.Email {
		return "", ship.Coded(ship.Forbidden, "wrong_person", "this invitation is for someone else: sign in with the e-mail address it was sent to")
	}

	err = s.store.InSystemTx(ctx, func(tx *store.Store) error {
		return s.acceptInvitation(ctx, tx, a, invitation)
	})
	return invitation.Account, err
}
