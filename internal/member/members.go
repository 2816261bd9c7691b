package member

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// A Member is a person of an account.
type Member struct {
	Person
	Role       Role
	JoinedAt   time.Time
	LastSeenAt time.Time  // zero if not signed in
	TwoFactor  bool       // has an authenticator or a passkey
	DailyLimit ship.Money // that they may spend on labels in the dashboard; zero for none
}

// Members lists the members of the actor's account, oldest first.
func (s *Service) Members(ctx context.Context, a Actor) ([]Member, error) {
	if err := a.Allow(ViewMembers); err != nil {
		return nil, err
	}

	rows, err := s.store.Members(ctx, a.Account)
	list := make([]Member, len(rows))
	for i, row := range rows {
		list[i] = Member{
			Person:     personOf(row.Person),
			Role:       Role(row.Role),
			JoinedAt:   row.JoinedAt,
			LastSeenAt: row.SeenAt,
			TwoFactor:  row.TwoFactor,
			DailyLimit: row.DailyLimit,
		}
	}
	return list, err
}

// SetRole changes what a member may do. The last owner of an account stays
// one.
func (s *Service) SetRole(ctx context.Context, a Actor, p ship.PersonID, role Role) error {
	if err := ship.InvalidFields(checkRole(role)); err != nil {
		return err
	}

	return s.changeMember(ctx, a, p, role != Owner, func(tx *store.Store, member store.Member) (Entry, error) {
		entry := Entry{
			Action:  "member.role_changed",
			Target:  string(p),
			Details: map[string]string{"email": member.Person.Email, "from": member.Role, "to": string(role)},
		}
		if err := tx.SetRole(ctx, a.Account, p, string(role)); err != nil || role.Can(ManageKeys) {
			return entry, err
		}

		// Who may not create keys does not keep those of their terminals either.
		return entry, tx.RevokeKeysOf(ctx, a.Account, p)
	})
}

// SetDailyLimit changes what a member may spend on live labels in a day of UTC in
// the dashboard, in the account's currency, such as 500; empty ends the limit. API
// keys have limits of their own.
func (s *Service) SetDailyLimit(ctx context.Context, a Actor, p ship.PersonID, amount string) error {
	var limit ship.Money
	if amount = strings.TrimSpace(amount); amount != "" {
		account, err := s.store.Account(ctx, a.Account)
		if err != nil {
			return err
		}
		var ok bool
		if limit, ok = ship.ParseMoney(amount, account.Currency); !ok || limit.Minor <= 0 {
			return ship.InvalidFields([]ship.FieldError{{
				Pointer: "/dailyLimit",
				Code:    "invalid",
				Detail:  "must be an amount of " + account.Currency + ", such as 500, or empty for no limit",
			}})
		}
	}

	return s.changeMember(ctx, a, p, false, func(tx *store.Store, member store.Member) (Entry, error) {
		entry := Entry{
			Action:  "member.limit_changed",
			Target:  string(p),
			Details: map[string]string{"email": member.Person.Email, "daily_limit": cmp.Or(limit.String(), "none")},
		}
		return entry, tx.SetDailyLimit(ctx, a.Account, p, limit)
	})
}

// Remove ends a membership, the keys of the person's terminals, and the person's
// sessions that used the account last.
// Other sessions of theirs no longer open it. The last owner stays. A person who
// has not proved that the address is theirs is nobody outside the account, and
// goes with the membership: the address can be invited again.
func (s *Service) Remove(ctx context.Context, a Actor, p ship.PersonID) error {
	return s.changeMember(ctx, a, p, true, func(tx *store.Store, member store.Member) (Entry, error) {
		entry := Entry{
			Action:  "member.removed",
			Target:  string(p),
			Details: map[string]string{"email": member.Person.Email, "role": member.Role},
		}

		// Under the lock nobody makes them a member elsewhere.
		if _, err := tx.LockPerson(ctx, p); err != nil {
			return entry, err
		}
		if err := tx.RemoveMember(ctx, a.Account, p); err != nil {
			return entry, err
		}
		if err := tx.RevokeKeysOf(ctx, a.Account, p); err != nil {
			return entry, err
		}
		return entry, tx.DeleteUnverified(ctx, p)
	})
}

// changeMember changes a member while nobody else changes one of the account.
// demotes reports that an owner would no longer be one.
func (s *Service) changeMember(ctx context.Context, a Actor, p ship.PersonID, demotes bool, change func(*store.Store, store.Member) (Entry, error)) error {
	if err := a.Allow(ManageMembers); err != nil {
		return err
	}

	return s.store.InSystemTx(ctx, func(tx *store.Store) error {
		// The lock comes first: the number of owners must not change between
		// the count and the change.
		if _, err := tx.LockAccount(ctx, a.Account); err != nil {
			return err
		}
		if err := s.recheckOwner(ctx, tx, a); err != nil {
			return err
		}

		member, owners, err := tx.Member(ctx, a.Account, p)
		if err != nil {
			return err
		}
		if demotes && member.Role == string(Owner) && owners == 1 {
			return ship.Coded(ship.Conflict, "last_owner", "an account needs at least one owner: make another member an owner first")
		}
		if demotes {
			if err := s.keepBreakGlass(ctx, tx, a.Account, p); err != nil {
				return err
			}
		}

		entry, err := change(tx, member)
		if err != nil {
			return err
		}
		return s.audit(ctx, tx, a, entry)
	})
}

// keepBreakGlass returns ship.Conflict if the person is the only break-glass owner
// of an account that requires single sign-on.
func (s *Service) keepBreakGlass(ctx context.Context, tx *store.Store, account ship.AccountID, p ship.PersonID) error {
	policy, err := tx.SignInPolicy(ctx, account)
	if err != nil || !policy.RequiresSSO {
		return err
	}
	owners, err := tx.OwnerAccess(ctx, account)
	if err != nil {
		return err
	}

	isNamed := false
	others := 0
	for _, owner := range owners {
		switch {
		case owner.BreakGlass && owner.Person == p:
			isNamed = true
		case owner.BreakGlass:
			others++
		}
	}
	if isNamed && others == 0 {
		return ship.Coded(ship.Conflict, "last_break_glass", "this is the only break-glass owner, and the account requires single sign-on: name another one first")
	}
	return nil
}

// recheckOwner checks the actor again under the lock: of two owners who remove
// each other at once, one succeeds.
func (s *Service) recheckOwner(ctx context.Context, tx *store.Store, a Actor) error {
	if a.operator {
		return nil
	}

	member, _, err := tx.Member(ctx, a.Account, a.Person.ID)
	if err != nil && !isKind(err, ship.NotFound) {
		return err
	}
	if !Role(member.Role).Can(ManageMembers) {
		return notAllowed()
	}
	return nil
}

func checkRole(role Role) []ship.FieldError {
	if role.Valid() {
		return nil
	}
	return []ship.FieldError{{Pointer: "/role", Code: "invalid", Detail: "must be owner, developer, shipper or viewer"}}
}

// Developers returns the e-mail addresses of those who manage an account's
// webhooks.
func (s *Service) Developers(ctx context.Context, id ship.AccountID) ([]string, error) {
	rows, err := s.store.Members(ctx, id)
	var list []string
	for _, row := range rows {
		if Role(row.Role).Can(ManageWebhooks) {
			list = append(list, row.Person.Email)
		}
	}
	return list, err
}
