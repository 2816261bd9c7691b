package member

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/waybillhq/waybill/internal/job"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// A SignInPolicy is what an account requires of those who sign in.
type SignInPolicy struct {
	TwoFactorRoles []Role // whose members must prove a second factor

	// RequiresSSO reports that only sessions of the identity provider reach the
	// account, except for those of the break-glass owners.
	RequiresSSO bool
	BreakGlass  []ship.PersonID
}

// An OwnerAccess is how an owner can sign in.
type OwnerAccess struct {
	Person     ship.PersonID
	Email      string
	Name       string
	BreakGlass bool // reaches the account without single sign-on
	CanBe      bool // has a password and a second factor, which a break-glass owner needs
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
	bypassesSSO := bypassesSSO(session, standing)
	if bypassesSSO && !standing.IsBreakGlass {
		return ssoRequired()
	}
	if (standing.RequiresSecondFactor || bypassesSSO) && !provesSecondFactor(session, standing) {
		return secondFactorRequired()
	}
	return nil
}

// bypassesSSO reports whether the account requires single sign-on and the session
// did not come by it. Only break-glass owners may do that.
func bypassesSSO(session store.Session, standing store.Standing) bool {
	return standing.RequiresSSO && session.Method != "oidc"
}

func ssoRequired() error {
	return ship.Coded(ship.Forbidden, "sso_required", "this account requires single sign-on: sign in with your identity provider")
}

// recordBreakGlass records that a break-glass owner has reached the account
// without single sign-on, once in each session. A job notifies all owners by mail:
// the page does not wait for the mail server, and a server that is down keeps
// nobody out, because this way in is for when things are out of order.
func (s *Service) recordBreakGlass(ctx context.Context, a Actor, method string) error {
	return s.store.InSystemTx(ctx, func(tx *store.Store) error {
		isNew, err := tx.MarkBreakGlass(ctx, a.Person.ID, a.Session, a.Account)
		if err != nil || !isNew {
			return err
		}
		err = s.audit(ctx, tx, a, Entry{
			Action:  "session.break_glass",
			Target:  string(a.Person.ID),
			Details: map[string]string{"email": a.Person.Email, "method": method},
		})
		if err != nil || s.mail == nil {
			return err
		}
		return tx.Enqueue(ctx, job.NotifyBreakGlass{Account: a.Account, Person: a.Person.ID}, 0)
	})
}

// NotifyBreakGlass notifies all owners of the account by mail that the person has
// reached it without single sign-on. If it fails halfway and is repeated, some get
// the message twice.
func (s *Service) NotifyBreakGlass(ctx context.Context, id ship.AccountID, who ship.PersonID) error {
	if s.mail == nil {
		return nil // the mail server was removed from the settings since
	}
	account, err := s.store.Account(ctx, id)
	if err != nil {
		return err
	}
	owners, err := s.store.OwnerAccess(ctx, id)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(owners, func(owner store.OwnerAccess) bool { return owner.Person == who })
	if at < 0 {
		return nil // removed since
	}

	subject := fmt.Sprintf("Sign-in to %s without single sign-on", account.Name)
	text := fmt.Sprintf(`%s (%s) has signed in to %s on %s without single sign-on, as a break-glass owner.

The audit log shows when, and from which address. If you did not expect this, end their sessions under Members.
`, owners[at].Name, owners[at].Email, account.Name, appName)
	var failed error
	for _, owner := range owners {
		failed = errors.Join(failed, s.sendMail(ctx, owner.Email, subject, text))
	}
	return failed
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
	required, err := tx.Requirements(ctx, session.Person)
	if err == nil && required.SecondFactor {
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
	if err != nil {
		return SignInPolicy{}, err
	}
	policy := SignInPolicy{RequiresSSO: row.RequiresSSO}
	for _, role := range row.TwoFactorRoles {
		policy.TwoFactorRoles = append(policy.TwoFactorRoles, Role(role))
	}

	owners, err := s.store.OwnerAccess(ctx, a.Account)
	for _, owner := range owners {
		if owner.BreakGlass {
			policy.BreakGlass = append(policy.BreakGlass, owner.Person)
		}
	}
	return policy, err
}

// OwnerAccess lists the owners of the actor's account and how they can sign in.
func (s *Service) OwnerAccess(ctx context.Context, a Actor) ([]OwnerAccess, error) {
	if err := a.Allow(ViewMembers); err != nil {
		return nil, err
	}

	rows, err := s.store.OwnerAccess(ctx, a.Account)
	list := make([]OwnerAccess, len(rows))
	for i, row := range rows {
		list[i] = OwnerAccess{
			Person:     row.Person,
			Email:      row.Email,
			Name:       row.Name,
			BreakGlass: row.BreakGlass,
			CanBe:      row.Password && row.SecondFactor,
		}
	}
	return list, err
}

// SetSignInPolicy changes what the actor's account requires of those who sign in.
// It applies to open sessions too. Whoever requires something must meet it
// themselves: they would lock themselves out, or could not help the others.
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
		owners, err := tx.OwnerAccess(ctx, a.Account)
		if err != nil {
			return err
		}
		if policy.RequiresSSO {
			if err := s.checkSSO(a, policy, owners); err != nil {
				return err
			}
		} else {
			policy.BreakGlass = nil
		}

		before, err := tx.SignInPolicy(ctx, a.Account)
		if err != nil {
			return err
		}
		if err := tx.SetSignInPolicy(ctx, a.Account, row); err != nil {
			return err
		}
		if err := tx.SetBreakGlass(ctx, a.Account, policy.BreakGlass); err != nil {
			return err
		}
		return s.audit(ctx, tx, a, Entry{
			Action: "sign_in_policy.changed",
			Target: string(a.Account),
			Details: map[string]string{
				"two_factor_before": listText(before.TwoFactorRoles),
				"two_factor":        listText(row.TwoFactorRoles),
				"sso_before":        strconv.FormatBool(before.RequiresSSO),
				"sso":               strconv.FormatBool(row.RequiresSSO),
				"break_glass":       listText(emailsOf(owners, policy.BreakGlass)),
			},
		})
	})
}

// checkSSO checks that an account which requires single sign-on can still be
// reached: by the actor now, and by a break-glass owner when the identity
// provider is out of order.
func (s *Service) checkSSO(a Actor, policy SignInPolicy, owners []store.OwnerAccess) error {
	if s.oidc == nil {
		return noOIDC()
	}

	invalid := func(detail string) error {
		return ship.InvalidFields([]ship.FieldError{{Pointer: "/breakGlass", Code: "invalid", Detail: detail}})
	}
	if len(policy.BreakGlass) == 0 {
		return invalid("must name at least one owner, who signs in with a password when the identity provider does not work")
	}
	for _, person := range policy.BreakGlass {
		i := slices.IndexFunc(owners, func(owner store.OwnerAccess) bool { return owner.Person == person })
		if i < 0 {
			return invalid("must name owners of the account")
		}
		if owner := owners[i]; !owner.Password || !owner.SecondFactor {
			return invalid("must name owners with a password and a second factor; " + owner.Email + " has only one of them, or none")
		}
	}

	if a.operator || a.method == "oidc" {
		return nil
	}
	if !slices.Contains(policy.BreakGlass, a.Person.ID) {
		return ship.Coded(ship.Conflict, "locks_out", "this would lock you out: sign in with single sign-on first, or name yourself as a break-glass owner")
	}
	if !a.SecondFactor {
		return secondFactorRequired()
	}
	return nil
}

func emailsOf(owners []store.OwnerAccess, people []ship.PersonID) []string {
	var emails []string
	for _, owner := range owners {
		if slices.Contains(people, owner.Person) {
			emails = append(emails, owner.Email)
		}
	}
	return emails
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
	row.RequiresSSO = policy.RequiresSSO
	return row, nil
}

func listText(list []string) string { return cmp.Or(strings.Join(list, ", "), "none") }
