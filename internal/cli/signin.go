package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/waybillhq/waybill/internal/member"
	"github.com/waybillhq/waybill/internal/ship"
)

// signInFlags are what an account is to require of those who sign in.
type signInFlags struct{ twoFactor, sso, breakGlass string }

func (c *cli) accountSignInCommand() *cobra.Command {
	var id string
	var flags signInFlags
	cmd := &cobra.Command{
		Use:   "sign-in [--two-factor ROLES] [--sso required|optional] [--break-glass ADDRESSES]",
		Short: "Show or change what an account requires of those who sign in",
		Long: "Show or change what an account requires of those who sign in to the dashboard. With --two-factor,\n" +
			"members with these roles reach nothing of the account before they have set up a passkey or an\n" +
			"authenticator and proved it. With --sso required, only sign-ins with the identity provider reach the\n" +
			"account, except for those of the owners that --break-glass names. Open sessions are included.",
		Example: "  waybill account sign-in --two-factor owner,developer\n  waybill account sign-in --two-factor all\n" +
			"  waybill account sign-in --sso required --break-glass ada@example.com",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.withMembers(cmd.Context(), func(m members) error {
				by, err := m.operator(cmd, id)
				if err != nil {
					return err
				}
				policy, err := m.SignInPolicy(cmd.Context(), by)
				if err != nil {
					return err
				}
				owners, err := m.OwnerAccess(cmd.Context(), by)
				if err != nil {
					return err
				}

				if cmd.Flags().Changed("two-factor") || cmd.Flags().Changed("sso") || cmd.Flags().Changed("break-glass") {
					if err := flags.apply(cmd, &policy, owners); err != nil {
						return err
					}
					if err := m.SetSignInPolicy(cmd.Context(), by, policy); err != nil {
						return err
					}
					if policy, err = m.SignInPolicy(cmd.Context(), by); err != nil {
						return err
					}
				}
				return c.printPolicy(policy, owners)
			})
		},
	}

	cmd.Flags().StringVar(&flags.twoFactor, "two-factor", "", "roles that need a second factor, with commas between them; all or none")
	cmd.Flags().StringVar(&flags.sso, "sso", "", "required or optional: whether only the identity provider opens the account")
	cmd.Flags().StringVar(&flags.breakGlass, "break-glass", "", "e-mail addresses of the owners who need no single sign-on, with commas between them")
	accountFlag(cmd, &id, oneAccount)
	return cmd
}

// apply changes the policy as the flags that were given say.
func (f signInFlags) apply(cmd *cobra.Command, policy *member.SignInPolicy, owners []member.OwnerAccess) error {
	if cmd.Flags().Changed("two-factor") {
		policy.TwoFactorRoles = rolesOf(f.twoFactor)
	}
	if cmd.Flags().Changed("sso") {
		if f.sso != "required" && f.sso != "optional" {
			return ship.Errorf(ship.Invalid, "--sso must be required or optional")
		}
		policy.RequiresSSO = f.sso == "required"
	}
	if !cmd.Flags().Changed("break-glass") {
		return nil
	}

	policy.BreakGlass = nil
	for email := range strings.SplitSeq(f.breakGlass, ",") {
		email = strings.TrimSpace(email)
		i := slices.IndexFunc(owners, func(o member.OwnerAccess) bool { return strings.EqualFold(o.Email, email) })
		if i < 0 {
			return ship.Errorf(ship.NotFound, "%s is not an owner of the account", email)
		}
		policy.BreakGlass = append(policy.BreakGlass, owners[i].Person)
	}
	return nil
}

func (c *cli) printPolicy(policy member.SignInPolicy, owners []member.OwnerAccess) error {
	sso := "optional"
	if policy.RequiresSSO {
		var names []string
		for _, owner := range owners {
			if slices.Contains(policy.BreakGlass, owner.Person) {
				names = append(names, owner.Email)
			}
		}
		sso = "required, except for " + cmp.Or(strings.Join(names, ", "), "nobody")
	}
	_, err := fmt.Fprintf(c.Out, "two-factor: %s\nsingle sign-on: %s\n", rolesText(policy.TwoFactorRoles), sso)
	return err
}

// rolesOf reads a list of roles.
func rolesOf(text string) []member.Role {
	switch strings.TrimSpace(text) {
	case "all":
		return member.Roles
	case "none", "":
		return nil
	}

	var roles []member.Role
	for role := range strings.SplitSeq(text, ",") {
		roles = append(roles, member.Role(strings.TrimSpace(role)))
	}
	return roles
}

func rolesText(roles []member.Role) string {
	names := make([]string, len(roles))
	for i, role := range roles {
		names[i] = string(role)
	}
	return cmp.Or(strings.Join(names, ", "), "none")
}
