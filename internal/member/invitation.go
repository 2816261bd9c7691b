package member

import (
	"context"
	"fmt"
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
	// HasPerson reports that the e-mail is a person's: they accept with AcceptAs
	// after signing in. It is set by InvitationOf alone.
	HasPerson bool

	// NeedsProof reports that somebody uses the e-mail in another account without
	// having proved that it is theirs, and that this link does not prove it
	// either: nobody can accept the invitation before the operator has given out
	// a link. It is set by InvitationOf alone.
	NeedsProof bool
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

// Invite invites one person to the actor's account; another invitation of the
// same e-mail ends this one. With a mail server the link is sent to the person,
// and the one returned is empty: whoever accepts has proved that the address is
// theirs. Without one the actor passes the link on, and whoever accepts has
// proved nothing. The operator's link is always returned, and is a proof.
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

	isMailed := s.mail != nil && !a.operator
	row.ProvesEmail = isMailed || a.operator
	if isMailed {
		if err := s.store.CountMail(ctx, a.Account, s.clock()); err != nil {
			return Invitation{}, "", err
		}
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

	link = s.base + invitePath + token
	if isMailed {
		return invitationOf(row), "", s.mailInvitation(ctx, row, link)
	}
	return invitationOf(row), link, nil
}

// mailInvitation sends the link to the invited person.
func (s *Service) mailInvitation(ctx context.Context, invitation store.Invitation, link string) error {
	subject := fmt.Sprintf("Join %s on %s", invitation.AccountName, appName)
	return s.sendMail(ctx, invitation.Email, subject, fmt.Sprintf(`%s invited you to join %s on %s as %s.

Open this link to accept. It works once, until %s:

%s

If you do not know the sender, ignore this message.
`, invitation.InvitedBy, invitation.AccountName, appName, invitation.Role, invitation.ExpiresAt.Format("2 January 2006"), link))
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
	person, err := s.store.PersonByEmail(ctx, row.Email)
	if isKind(err, ship.NotFound) {
		return invitation, nil
	}
	if err != nil {
		return Invitation{}, err
	}

	invitation.HasPerson = !person.EmailVerifiedAt.IsZero()
	invitation.NeedsProof = !invitation.HasPerson && !row.ProvesEmail
	return invitation, nil
}

// AcceptInput is somebody who is not signed in and accepts an invitation.
type AcceptInput struct {
	Token    string
	Name     string
	Password string
	From     Origin
}

// Accept creates the invited person, makes them a member, and signs them in. It
// is ship.Conflict with the code "email_taken" if they sign in here already: then
// AcceptAs is for them. Somebody who uses the address without having proved that
// it is theirs is replaced by whoever has a link that proves it; without such a
// link the error has the code "email_unverified".
func (s *Service) Accept(ctx context.Context, in AcceptInput) (SignedIn, error) {
	invitation, err := s.store.InvitationByHash(ctx, hashOf(in.Token), s.clock())
	if err != nil {
		return SignedIn{}, err
	}
	person, isNew, err := s.invitee(ctx, invitation)
	if err != nil {
		return SignedIn{}, err
	}
	account, err := s.store.Account(ctx, invitation.Account)
	if err != nil {
		return SignedIn{}, err
	}

	person.Name = strings.TrimSpace(in.Name)
	invalid := append(checkName("/name", person.Name), checkPassword(in.Password, person.Email, person.Name, account.Name)...)
	if err := ship.InvalidFields(invalid); err != nil {
		return SignedIn{}, err
	}
	hash, err := s.passwords.hash(ctx, in.Password)
	if err != nil {
		return SignedIn{}, err
	}

	actor := Actor{Person: personOf(person), From: in.From}
	return s.startSession(ctx, person, sessionStart{
		method:  "invitation",
		from:    in.From,
		account: invitation.Account,
		prepare: func(tx *store.Store) error {
			// The account is locked before the person, as when a member is added
			// or removed, so that neither waits for the other.
			if _, err := tx.LockAccount(ctx, invitation.Account); err != nil {
				return err
			}

			if isNew {
				if err := tx.AddPerson(ctx, person); err != nil {
					return err
				}
			} else if err := s.replaceUnverified(ctx, tx, actor); err != nil {
				return err
			}

			// The password comes last: an unverified person who can sign in
			// joins nothing.
			if err := s.acceptInvitation(ctx, tx, actor, invitation); err != nil {
				return err
			}
			return tx.SetPasswordHash(ctx, person.ID, hash, "")
		},
	})
}

// invitee returns the person whom an invitation is for: a new one, or whoever
// uses the address without having proved that it is theirs, if the link proves
// it.
func (s *Service) invitee(ctx context.Context, invitation store.Invitation) (person store.Person, isNew bool, err error) {
	person, err = s.store.PersonByEmail(ctx, invitation.Email)
	switch {
	case isKind(err, ship.NotFound):
		now := s.clock()
		person = store.Person{
			ID:        ship.NewPersonID(now),
			Email:     invitation.Email,
			CreatedAt: now,
		}
		if invitation.ProvesEmail {
			person.EmailVerifiedAt = now
		}
		return person, true, nil

	case err != nil:
		return person, false, err
	case !person.EmailVerifiedAt.IsZero():
		return person, false, emailTaken()
	case !invitation.ProvesEmail:
		return person, false, store.UnverifiedEmail()
	}
	return person, false, nil
}

// replaceUnverified gives the actor, who has proved the address, the place of
// whoever used it before, and the actor's name.
func (s *Service) replaceUnverified(ctx context.Context, tx *store.Store, a Actor) error {
	locked, err := tx.LockPerson(ctx, a.Person.ID)
	if err != nil {
		return err
	}
	if !locked.EmailVerifiedAt.IsZero() {
		return emailTaken() // by somebody who was quicker
	}

	if err := s.claimEmail(ctx, tx, a); err != nil {
		return err
	}
	return tx.RenamePerson(ctx, a.Person.ID, a.Person.Name)
}

func emailTaken() error {
	return ship.Coded(ship.Conflict, "email_taken", "this e-mail address is already in use: sign in to accept the invitation")
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

// acceptAll accepts all open invitations of the actor's e-mail, and returns the
// account that they joined first. It is ship.Forbidden if there are none.
func (s *Service) acceptAll(ctx context.Context, tx *store.Store, a Actor) (ship.AccountID, error) {
	invitations, err := tx.InvitationsByEmail(ctx, a.Person.Email, s.clock())
	if err != nil {
		return "", err
	}
	if len(invitations) == 0 {
		return "", notAMember()
	}

	for _, invitation := range invitations {
		if err := s.acceptInvitation(ctx, tx, a, invitation); err != nil {
			return "", err
		}
	}
	return invitations[0].Account, nil
}

// AcceptAs makes the actor a member of the account that invites them, and
// returns the account. The invitation must be theirs, and so must the address:
// it is ship.Conflict with the code "email_unverified" until they have proved
// that.
func (s *Service) AcceptAs(ctx context.Context, a Actor, token string) (ship.AccountID, error) {
	invitation, err := s.store.InvitationByHash(ctx, hashOf(token), s.clock())
	if err != nil {
		return "", err
	}
	if invitation.Email != a.Person.Email {
		return "", ship.Coded(ship.Forbidden, "wrong_person", "this invitation is for someone else: sign in with the e-mail address it was sent to")
	}

	err = s.store.InSystemTx(ctx, func(tx *store.Store) error {
		// The account is locked before the person, as when a member is added or
		// removed, so that neither waits for the other.
		if _, err := tx.LockAccount(ctx, invitation.Account); err != nil {
			return err
		}
		person, err := s.lockActor(ctx, tx, a)
		if err != nil {
			return err
		}
		if person.EmailVerifiedAt.IsZero() {
			return store.UnverifiedEmail()
		}
		return s.acceptInvitation(ctx, tx, a, invitation)
	})
	return invitation.Account, err
}
