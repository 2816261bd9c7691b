package member

import (
	"context"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// A Member is a person of an account.
type Member struct {
	Person
	Role       Role
	JoinedAt   time.Time
	LastSeenAt time.Time // zero if not signed in
	TwoFactor  bool      // an authenticator or a passkey
}

// Members lists the members of the actor's account, oldest first.
func (s *Service) Members(ctx context.Context, a Actor) ([]Member, error) {
	if err := a.Allow(ViewMembers); err != nil {
		return nil, err
	}
	rows, err := s.store.Members(ctx, a.Account)
	list := make([]Member, len(rows))
	for i, r := range rows {
		list[i] = Member{Person: personOf(r.Person), Role: Role(r.Role), JoinedAt: r.JoinedAt, LastSeenAt: r.SeenAt, TwoFactor: r.TwoFactor}
	}
	return list, err
}

// SetRole changes what a member may do. The last owner of an account stays
// one.
func (s *Service) SetRole(ctx context.Context, a Actor, p ship.PersonID, role Role) error {
	if err := ship.InvalidFields(checkRole(role)); err != nil {
		return err
	}
	return s.changeMember(ctx, a, p, role != Owner, func(tx *store.Store, m store.Member) (Entry, error) {
		e := Entry{Action: "member.role_changed", Target: string(p), Details: map[string]string{"email": m.Person.Email, "from": m.Role, "to": string(role)}}
		return e, tx.SetRole(ctx, a.Account, p, string(role))
	})
}

// Remove ends a membership, and the person's sessions in the account. The last
// owner stays.
func (s *Service) Remove(ctx context.Context, a Actor, p ship.PersonID) error {
	return s.changeMember(ctx, a, p, true, func(tx *store.Store, m store.Member) (Entry, error) {
		e := Entry{Action: "member.removed", Target: string(p), Details: map[string]string{"email": m.Person.Email, "role": m.Role}}
		return e, tx.RemoveMember(ctx, a.Account, p)
	})
}

// changeMember changes a member while nobody else changes one of the account.
// down says that an owner would be one no longer.
func (s *Service) changeMember(ctx context.Context, a Actor, p ship.PersonID, down bool, change func(*store.Store, store.Member) (Entry, error)) error {
	if err := a.Allow(ManageMembers); err != nil {
		return err
	}
	return s.store.InSystemTx(ctx, func(tx *store.Store) error {
		if _, err := tx.LockAccount(ctx, a.Account); err != nil {
			return err
		}
		if err := s.stillOwner(ctx, tx, a); err != nil {
			return err
		}
		m, owners, err := tx.Member(ctx, a.Account, p)
		if err != nil {
			return err
		}
		if down && m.Role == string(Owner) && owners == 1 {
			return ship.Coded(ship.Conflict, "last_owner", "an account needs an owner: make somebody else one first")
		}
		e, err := change(tx, m)
		if err != nil {
			return err
		}
		return s.tell(ctx, tx, a, e)
	})
}

// stillOwner looks again under the lock: of two owners who remove each other
// at once, one succeeds.
func (s *Service) stillOwner(ctx context.Context, tx *store.Store, a Actor) error {
	if a.operator {
		return nil
	}
	m, _, err := tx.Member(ctx, a.Account, a.Person.ID)
	if err != nil && !isKind(err, ship.NotFound) {
		return err
	}
	if !Role(m.Role).Can(ManageMembers) {
		return notAllowed()
	}
	return nil
}

func checkRole(r Role) []ship.FieldError {
	if r.Valid() {
		return nil
	}
	return []ship.FieldError{{Pointer: "/role", Code: "invalid", Detail: "must be owner, developer, shipper or viewer"}}
}

// Developers are the addresses of those who manage an account's webhooks.
func (s *Service) Developers(ctx context.Context, id ship.AccountID) ([]string, error) {
	rows, err := s.store.Members(ctx, id)
	var list []string
	for _, r := range rows {
		if Role(r.Role).Can(ManageWebhooks) {
			list = append(list, r.Person.Email)
		}
	}
	return list, err
}
