package member

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// A SignInPolicy is what an account requires of those who sign in.
type SignInPolicy struct {
	TwoFactorRoles []Role // whose members must prove a second factor
}

// isSecondFactor reports whether a method of a session or of a step-up proves
// more than a password. An identity provider asks for its own second factor.
func isSecondFactor(method string) bool {
	switch method {
	case "totp", "recovery_code", "passkey", "oidc":
		return true
	}
	return false
}

// provesSecondFactor reports whether the person has proved a second factor in the
// session. Whoever has removed their last one since has none.
func provesSecondFactor(session store.Session, standing store.Standing) bool {
	return session.SecondFactor && (standing.HasSecondFactor || session.Method == "oidc")
}

// missingProof returns what the session lacks to reach the account; nil if
// nothing.
func missingProof(session store.Session, standing store.Standing) error {
	if standing.RequiresSecondFactor && !provesSecondFactor(session, standing) {
		return secondFactorRequired()
	}
	return nil
}

func secondFactorRequired() error {
	return ship.Coded(ship.Forbidden, "second_factor_required", "this needs a second factor: set one up, or confirm with the one you have")
}

// requireOwnFactor keeps whoever knows only the password from changing the ways
// to sign in of somebody who has a second factor and needs it in one of their
// accounts: a factor that is added with the password alone would open it.
func (s *Service) requireOwnFactor(ctx context.Context, tx *store.Store, session store.Session, standing store.Standing) error {
	if !standing.HasSecondFactor || session.SecondFactor {
		return nil
	}
	isRequired, err := tx.RequiresSecondFactor(ctx, session.Person)
	if err == nil && isRequired {
		err = secondFactorRequired()
	}
	return err
}

// proveFirstFactor records that the actor proves a second factor with the one
// that they are about to add, if it is their first. Another one proves nothing:
// whoever adds it may not have the first.
func (s *Service) proveFirstFactor(ctx context.Context, tx *store.Store, a Actor) error {
	now := s.clock()
	_, standing, err := tx.SessionIn(ctx, a.Person.ID, a.Session, a.Account, now, now.Add(-idleTimeout))
	if err != nil || standing.HasSecondFactor {
		return err
	}
	return tx.ProveSecondFactor(ctx, a.Person.ID, a.Session)
}

// SignInPolicy returns what the actor's account requires of those who sign in.
func (s *Service) SignInPolicy(ctx context.Context, a Actor) (SignInPolicy, error) {
	if err := a.Allow(ViewMembers); err != nil {
		return SignInPolicy{}, err
	}

	row, err := s.store.SignInPolicy(ctx, a.Account)
	policy := SignInPolicy{}
	for _, role := range row.TwoFactorRoles {
		policy.TwoFactorRoles = append(policy.TwoFactorRoles, Role(role))
	}
	return policy, err
}

// SetSignInPolicy changes what the actor's account requires of those who sign in.
// It applies to open sessions too. Whoever requires a second factor must have
// proved one: they would lock themselves out, or could not help the others.
func (s *Service) SetSignInPolicy(ctx context.Context, a Actor, policy SignInPolicy) error {
	if err := a.Allow(ManageMembers); err != nil {
		return err
	}
	row, err := policyRow(policy)
	if err != nil {
		return err
	}
	if len(row.TwoFactorRoles) > 0 && !a.operator && !a.SecondFactor {
		return secondFactorRequired()
	}

	return s.store.InSystemTx(ctx, func(tx *store.Store) error {
		if _, err := tx.LockAccount(ctx, a.Account); err != nil {
			return err
		}
		if err := s.recheckOwner(ctx, tx, a); err != nil {
			return err
		}
		before, err := tx.SignInPolicy(ctx, a.Account)
		if err != nil {
			return err
		}
		if err := tx.SetSignInPolicy(ctx, a.Account, row); err != nil {
			return err
		}
		return s.audit(ctx, tx, a, Entry{
			Action: "sign_in_policy.changed",
			Target: string(a.Account),
			Details: map[string]string{
				"two_factor_before": listText(before.TwoFactorRoles),
				"two_factor":        listText(row.TwoFactorRoles),
			},
		})
	})
}

// policyRow returns the policy as it is stored: each role once, in the order of
// Roles.
func policyRow(policy SignInPolicy) (row store.SignInPolicy, err error) {
	for _, role := range policy.TwoFactorRoles {
		if !role.Valid() {
			return row, ship.InvalidFields([]ship.FieldError{{
				Pointer: "/twoFactorRoles",
				Code:    "invalid",
				Detail:  "must name roles: owner, developer, shipper or viewer",
			}})
		}
	}
	for _, role := range Roles {
		if slices.Contains(policy.TwoFactorRoles, role) {
			row.TwoFactorRoles = append(row.TwoFactorRoles, string(role))
		}
	}
	return row, nil
}

func listText(list []string) string { return cmp.Or(strings.Join(list, ", "), "none") }
