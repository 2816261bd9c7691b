package member

import (
	"context"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// inviteFor is how long an invitation can be accepted.
const inviteFor = 7 * 24 * time.Hour

// InviteInput is a person to invite.
type InviteInput struct {
	Email string
	Role  Role
}

// An Invitation lets one person join an account, once.
type Invitation struct {
	ID          ship.InvitationID
	Account     ship.AccountID
	AccountName string // by InvitationOf alone
	Email       string
	Role        Role
	InvitedBy   string // name, or "operator"
	CreatedAt   time.Time
	ExpiresAt   time.Time
	// HasPerson says that somebody with this e-mail signs in here already: they
	// accept with AcceptAs after signing in. It is set by InvitationOf alone.
	HasPerson bool
}

func invitationOf(i store.Invitation) Invitation {
	return Invitation{
		ID: i.ID, Account: i.Account, AccountName: i.AccountName, Email: i.Email, Role: Role(i.Role), InvitedBy: i.InvitedBy,
		CreatedAt: i.CreatedAt, ExpiresAt: i.ExpiresAt,
	}
}

// Invite makes a link for one person to join the actor's account. It is shown
// this once; another invitation of the same e-mail ends it.
func (s *Service) Invite(ctx context.Context, a Actor, in InviteInput) (made Invitation, link string, err error) {
	if err := a.Allow(ManageMembers); err != nil {
		return Invitation{}, "", err
	}
	email := tidyEmail(in.Email)
	if err := ship.InvalidFields(append(checkEmail(email), checkRole(in.Role)...)); err != nil {
		return Invitation{}, "", err
	}
	token, hash := newToken()
	now := s.clock()
	row := store.Invitation{
		ID: ship.NewInvitationID(a.Account, now), Hash: hash, Account: a.Account, Email: email, Role: string(in.Role), InvitedBy: a.Person.Name,
		CreatedAt: now, ExpiresAt: now.Add(inviteFor),
	}
	if a.operator {
		row.InvitedBy = operatorName
	}
	err = s.store.InSystemTx(ctx, func(tx *store.Store) error {
		if row.AccountName, err = tx.LockAccount(ctx, a.Account); err != nil {
			return err
		}
		if err := s.stillOwner(ctx, tx, a); err != nil {
			return err
		}
		if err := s.notYetMember(ctx, tx, a.Account, email); err != nil {
			return err
		}
		if err := tx.AddInvitation(ctx, row); err != nil {
			return err
		}
		return s.tell(ctx, tx, a, Entry{Action: "member.invited", Target: string(row.ID), Details: map[string]string{"email": email, "role": row.Role}})
	})
	if err != nil {
		return Invitation{}, "", err
	}
	return invitationOf(row), s.base + invitePath + token, nil
}

// notYetMember is ship.Conflict if the e-mail is a member's of the account.
func (s *Service) notYetMember(ctx context.Context, tx *store.Store, account ship.AccountID, email string) error {
	p, err := tx.PersonByEmail(ctx, email)
	if err == nil {
		_, _, err = tx.Member(ctx, account, p.ID)
	}
	if isKind(err, ship.NotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return ship.Coded(ship.Conflict, "already_member", "this person is a member of the account already")
}

// Invitations lists those into the actor's account that can be accepted.
func (s *Service) Invitations(ctx context.Context, a Actor) ([]Invitation, error) {
	if err := a.Allow(ViewMembers); err != nil {
		return nil, err
	}
	rows, err := s.store.Invitations(ctx, a.Account, s.clock())
	list := make([]Invitation, len(rows))
	for i, r := range rows {
		list[i] = invitationOf(r)
	}
	return list, err
}

// RevokeInvitation takes an invitation back.
func (s *Service) RevokeInvitation(ctx context.Context, a Actor, id ship.InvitationID) error {
	if err := a.Allow(ManageMembers); err != nil {
		return err
	}
	return s.store.InSystemTx(ctx, func(tx *store.Store) error {
		email, err := tx.RevokeInvitation(ctx, a.Account, id, s.clock())
		if err != nil {
			return err
		}
		return s.tell(ctx, tx, a, Entry{Action: "invitation.revoked", Target: string(id), Details: map[string]string{"email": email}})
	})
}

// InvitationOf returns the invitation of a link; ship.Gone if it can no longer
// be accepted.
func (s *Service) InvitationOf(ctx context.Context, token string) (Invitation, error) {
	row, err := s.store.InvitationByHash(ctx, hashOf(token), s.clock())
	if err != nil {
		return Invitation{}, err
	}
	i := invitationOf(row)
	_, err = s.store.PersonByEmail(ctx, row.Email)
	if i.HasPerson = err == nil; isKind(err, ship.NotFound) {
		err = nil
	}
	return i, err
}

// AcceptInput makes a new person of an invitation.
type AcceptInput struct {
	Token    string
	Name     string
	Password string
	From     Origin
}

// Accept makes the invited person, a member, and signs them in. It is
// ship.Conflict if they sign in here already: then AcceptAs is for them.
func (s *Service) Accept(ctx context.Context, in AcceptInput) (SignedIn, error) {
	row, err := s.store.InvitationByHash(ctx, hashOf(in.Token), s.clock())
	if err != nil {
		return SignedIn{}, err
	}
	now := s.clock()
	p := store.Person{ID: ship.NewPersonID(now), Email: row.Email, Name: strings.TrimSpace(in.Name), CreatedAt: now}
	if err := ship.InvalidFields(append(checkName("/name", p.Name), checkPassword(in.Password, p.Email, p.Name)...)); err != nil {
		return SignedIn{}, err
	}
	if p.PasswordHash, err = s.passwords.hash(ctx, in.Password); err != nil {
		return SignedIn{}, err
	}
	return s.begin(ctx, p, opening{method: "invitation", from: in.From, to: row.Account, also: func(tx *store.Store) error {
		if err := tx.AddPerson(ctx, p); err != nil {
			return err
		}
		return s.join(ctx, tx, Actor{Person: personOf(p), From: in.From}, row)
	}})
}

// join makes the person of the invitation a member, and uses it up.
func (s *Service) join(ctx context.Context, tx *store.Store, a Actor, i store.Invitation) error {
	if _, err := tx.LockAccount(ctx, i.Account); err != nil {
		return err
	}
	if err := tx.UseInvitation(ctx, i.Account, i.ID, s.clock()); err != nil {
		return err
	}
	if err := tx.AddMember(ctx, i.Account, a.Person.ID, i.Role, s.clock()); err != nil {
		return err
	}
	a.Account = i.Account
	return s.tell(ctx, tx, a, Entry{Action: "member.joined", Target: string(a.Person.ID), Details: map[string]string{"email": a.Person.Email, "role": i.Role, "invited_by": i.InvitedBy}})
}

// AcceptAs makes the actor a member of the account that invites them, and
// shows it. The invitation must be theirs.
func (s *Service) AcceptAs(ctx context.Context, a Actor, token string) (ship.AccountID, error) {
	row, err := s.store.InvitationByHash(ctx, hashOf(token), s.clock())
	if err != nil {
		return "", err
	}
	if row.Email != a.Person.Email {
		return "", ship.Coded(ship.Forbidden, "wrong_person", "this invitation is for somebody else: sign in with its e-mail")
	}
	err = s.store.InSystemTx(ctx, func(tx *store.Store) error {
		if err := s.join(ctx, tx, a, row); err != nil {
			return err
		}
		return tx.SwitchSession(ctx, a.Person.ID, a.Session, row.Account)
	})
	return row.Account, err
}
