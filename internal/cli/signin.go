package cli

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/waybillhq/waybill/internal/member"
)

func (c *cli) accountSignInCommand() *cobra.Command {
	var (
		id        string
		twoFactor string
	)
	cmd := &cobra.Command{
		Use:   "sign-in [--two-factor ROLES]",
		Short: "Show or change what an account requires of those who sign in",
		Long: "Show or change what an account requires of those who sign in to the dashboard. With --two-factor,\n" +
			"members with these roles reach nothing of the account before they have set up a passkey or an\n" +
			"authenticator and proved it. Open sessions are included.",
		Example: "  waybill account sign-in --two-factor owner,developer\n  waybill account sign-in --two-factor all\n  waybill account sign-in --two-factor none",
		Args:    cobra.NoArgs,
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

				if cmd.Flags().Changed("two-factor") {
					policy.TwoFactorRoles = rolesOf(twoFactor)
					if err := m.SetSignInPolicy(cmd.Context(), by, policy); err != nil {
						return err
					}
					if policy, err = m.SignInPolicy(cmd.Context(), by); err != nil {
						return err
					}
				}
				_, err = fmt.Fprintf(c.Out, "two-factor: %s\n", rolesText(policy.TwoFactorRoles))
				return err
			})
		},
	}

	cmd.Flags().StringVar(&twoFactor, "two-factor", "", "roles that need a second factor, with commas between them; all or none")
	accountFlag(cmd, &id, oneAccount)
	return cmd
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
