package store

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/ship"
)

// A SignInPolicy is what an account requires of sign-ins.
type SignInPolicy struct {
	TwoFactorRoles []string // whose members must prove a second factor
}

const sqlSignInPolicy = `SELECT a.two_factor_roles FROM accounts a WHERE a.id = @account`

// SignInPolicy returns what the account requires of sign-ins.
func (s *Store) SignInPolicy(ctx context.Context, account ship.AccountID) (policy SignInPolicy, err error) {
	err = s.system().QueryRow(ctx, sqlSignInPolicy, pgx.NamedArgs{"account": account}).Scan(&policy.TwoFactorRoles)
	return policy, explain(err)
}

const sqlSetSignInPolicy = `UPDATE accounts SET two_factor_roles = @roles WHERE id = @account`

// SetSignInPolicy changes what the account requires of sign-ins.
func (s *Store) SetSignInPolicy(ctx context.Context, account ship.AccountID, policy SignInPolicy) error {
	_, err := s.run(ctx, sqlSetSignInPolicy, pgx.NamedArgs{
		"account": account,
		"roles":   append([]string{}, policy.TwoFactorRoles...), // none is an empty array, not NULL
	})
	return err
}

const sqlRequiresSecondFactor = `
SELECT EXISTS (
  SELECT FROM members m JOIN accounts a ON a.id = m.account_id
  WHERE m.person_id = @person AND m.role = ANY (a.two_factor_roles)
)`

// RequiresSecondFactor reports whether an account of the person requires a second
// factor of them.
func (s *Store) RequiresSecondFactor(ctx context.Context, person ship.PersonID) (required bool, err error) {
	err = s.system().QueryRow(ctx, sqlRequiresSecondFactor, personArgs(person)).Scan(&required)
	return required, explain(err)
}
