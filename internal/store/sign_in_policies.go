package store

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/ship"
)

// A SignInPolicy is what an account requires of sign-ins.
type SignInPolicy struct {
	TwoFactorRoles []string // whose members must prove a second factor
	RequiresSSO    bool     // only sessions of the identity provider reach the account
}

const sqlSignInPolicy = `SELECT a.two_factor_roles, a.sso_required FROM accounts a WHERE a.id = @account`

// SignInPolicy returns what the account requires of sign-ins.
func (s *Store) SignInPolicy(ctx context.Context, account ship.AccountID) (policy SignInPolicy, err error) {
	row := s.system().QueryRow(ctx, sqlSignInPolicy, pgx.NamedArgs{"account": account})
	err = row.Scan(&policy.TwoFactorRoles, &policy.RequiresSSO)
	return policy, explain(err)
}

const sqlSetSignInPolicy = `UPDATE accounts SET two_factor_roles = @roles, sso_required = @sso WHERE id = @account`

// SetSignInPolicy changes what the account requires of sign-ins.
func (s *Store) SetSignInPolicy(ctx context.Context, account ship.AccountID, policy SignInPolicy) error {
	_, err := s.run(ctx, sqlSetSignInPolicy, pgx.NamedArgs{
		"account": account,
		"roles":   append([]string{}, policy.TwoFactorRoles...), // none is an empty array, not NULL
		"sso":     policy.RequiresSSO,
	})
	return err
}

// An OwnerAccess is how an owner of an account can sign in.
type OwnerAccess struct {
	Person       ship.PersonID
	Email        string
	Name         string
	BreakGlass   bool // reaches the account without single sign-on
	Password     bool
	SecondFactor bool
}

const sqlOwnerAccess = `
SELECT p.id, p.email, p.name, m.break_glass, p.password_hash IS NOT NULL,
  p.encrypted_totp_seed IS NOT NULL OR EXISTS (SELECT FROM passkeys k WHERE k.person_id = p.id)
FROM members m JOIN people p ON p.id = m.person_id
WHERE m.account_id = @account AND m.role = 'owner'
ORDER BY m.joined_at, p.id`

// OwnerAccess lists the owners of the account and how they can sign in, oldest
// first.
func (s *Store) OwnerAccess(ctx context.Context, account ship.AccountID) ([]OwnerAccess, error) {
	return selectList(ctx, s.system(), pgx.RowToStructByPos[OwnerAccess], sqlOwnerAccess, pgx.NamedArgs{"account": account})
}

const sqlSetBreakGlass = `UPDATE members SET break_glass = person_id = ANY (@people) WHERE account_id = @account`

// SetBreakGlass names the members who reach the account without single sign-on.
func (s *Store) SetBreakGlass(ctx context.Context, account ship.AccountID, people []ship.PersonID) error {
	ids := make(idArray, len(people))
	for i, person := range people {
		ids[i] = person.Raw()
	}
	_, err := s.run(ctx, sqlSetBreakGlass, pgx.NamedArgs{"account": account, "people": ids})
	return err
}

// Requirements are what the accounts of a person require of them.
type Requirements struct{ SecondFactor, SSO bool }

const sqlRequirements = `
SELECT coalesce(bool_or(m.role = ANY (a.two_factor_roles) OR a.sso_required AND m.break_glass), false), coalesce(bool_or(a.sso_required), false)
FROM members m JOIN accounts a ON a.id = m.account_id
WHERE m.person_id = @person`

// Requirements returns what any account of the person requires of them.
func (s *Store) Requirements(ctx context.Context, person ship.PersonID) (required Requirements, err error) {
	err = s.system().QueryRow(ctx, sqlRequirements, personArgs(person)).Scan(&required.SecondFactor, &required.SSO)
	return required, explain(err)
}
