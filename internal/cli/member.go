package cli

import (
	"context"
	"fmt"
	"net"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/waybillhq/waybill/internal/account"
	"github.com/waybillhq/waybill/internal/config"
	"github.com/waybillhq/waybill/internal/member"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// members are the people of the database, and its accounts.
type members struct {
	*member.Service
	accounts *account.Service
}

// operator returns the operator in the account of the id; without an id, in the
// only one there is.
func (m members) operator(cmd *cobra.Command, id string) (member.Actor, error) {
	owner, err := chooseAccount(cmd.Context(), m.accounts, id)
	return operator(owner.ID, cmd.CommandPath()), err
}

// requireMember rejects an e-mail that belongs to no member of the account.
func (m members) requireMember(cmd *cobra.Command, account, email string) error {
	by, err := m.operator(cmd, account)
	if err != nil {
		return err
	}
	list, err := m.Members(cmd.Context(), by)
	if err != nil {
		return err
	}

	// E-mail addresses are compared without regard to case, as at sign-in.
	for _, person := range list {
		if strings.EqualFold(person.Email, strings.TrimSpace(email)) {
			return nil
		}
	}
	return errOtherAccount(email, account)
}

// withMembers runs fn on the people of the database.
func (c *cli) withMembers(ctx context.Context, fn func(members) error) error {
	cfg, err := c.settings()
	if err != nil {
		return err
	}
	state, err := store.InspectSchema(ctx, cfg.DatabaseURL)
	if err == nil {
		err = state.NeedsMigration()
	}
	if err != nil {
		return err
	}

	st, err := store.Open(ctx, store.Options{URL: cfg.DatabaseURL, Connections: cfg.DatabaseConnections})
	if err != nil {
		return err
	}
	defer st.Close()

	people, err := member.New(member.Config{
		Store:   st,
		BaseURL: dashboardURL(cfg),
		OIDC:    member.OIDC{Issuer: cfg.OIDCIssuer, ClientID: cfg.OIDCClientID},
	})
	if err != nil {
		return err
	}
	return fn(members{people, account.New(st)})
}

// dashboardURL returns where links lead: the public address, or else the one
// that the service listens on.
func dashboardURL(cfg config.Config) string {
	if cfg.BaseURL != "" {
		return cfg.BaseURL
	}

	host, port, err := net.SplitHostPort(cfg.Listen)
	if ip := net.ParseIP(host); err == nil && (host == "" || ip != nil && ip.IsUnspecified()) {
		return "http://" + net.JoinHostPort("localhost", port)
	}
	return "http://" + cfg.Listen
}

func (c *cli) memberCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "member",
		Short: "Manage dashboard users: add, invite, list, and recover access",
		Long: "Manage dashboard users. These commands are for the operator: owners invite and remove\n" +
			"people in the dashboard itself. A link is printed only once; anyone who has it gets access.",
		Args: requireSubcommand,
		RunE: showHelp,
	}

	cmd.AddCommand(
		c.memberSetupCommand(),
		c.memberAddCommand(),
		c.memberInviteCommand(),
		c.memberListCommand(),
		c.memberLimitCommand(),
		c.memberResetCommand(),
	)
	return cmd
}

func (c *cli) memberSetupCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "setup",
		Short: "Print a link that creates the owner account",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.withMembers(cmd.Context(), func(m members) error {
				url, err := m.SetupURL(cmd.Context())
				if err != nil {
					return err
				}
				_, err = fmt.Fprintln(c.Out, url)
				return err
			})
		},
	}
}

func (c *cli) memberAddCommand() *cobra.Command {
	var id string
	in := member.AddMemberInput{Role: member.Owner}
	cmd := &cobra.Command{
		Use:   "add --email ADDRESS [--role owner]",
		Short: "Add a member and print a link to set a password",
		Long: "Add a member, as an owner unless --role is given, and print a link to set a password. The link also\n" +
			"proves that the e-mail address is the person's, so give it to nobody else. For a person whose address\n" +
			"is verified, no link is needed and nothing is printed. Somebody who signs in with an unverified\n" +
			"address, because an owner of another account invited them, cannot sign in until they use the link.",
		Example: "  waybill member add --email ada@example.com --name 'Ada Lovelace'",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.withMembers(cmd.Context(), func(m members) error {
				by, err := m.operator(cmd, id)
				if err != nil {
					return err
				}
				link, err := m.AddMember(cmd.Context(), by, in)
				if err != nil {
					return err
				}

				fmt.Fprintf(c.Err, "%s is now %s of %s\n", in.Email, in.Role, by.Account)
				if link != "" {
					fmt.Fprintln(c.Err, "give them this link: it works once, within a day, and replaces any password that was set before")
					_, err = fmt.Fprintln(c.Out, link)
				}
				return err
			})
		},
	}

	cmd.Flags().StringVar(&in.Name, "name", "", "the person's name")
	memberFlags(cmd, &in.Email, &id, &in.Role)
	return cmd
}

// memberFlags adds the flags that both ways to become a member need.
func memberFlags(cmd *cobra.Command, email, id *string, role *member.Role) {
	cmd.Flags().StringVar(email, "email", "", "the person's e-mail")
	cmd.Flags().StringVar((*string)(role), "role", string(*role), "owner, developer, shipper or viewer")
	accountFlag(cmd, id, oneAccount)
}

func (c *cli) memberInviteCommand() *cobra.Command {
	var id string
	in := member.InviteInput{Role: member.Shipper}
	cmd := &cobra.Command{
		Use:   "invite --email ADDRESS [--role shipper]",
		Short: "Print an invitation link",
		Long: "Print an invitation link. It works once, within a week. Whoever opens it counts as the owner of the\n" +
			"e-mail address, so give it to nobody else.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.withMembers(cmd.Context(), func(m members) error {
				by, err := m.operator(cmd, id)
				if err != nil {
					return err
				}
				invitation, link, err := m.Invite(cmd.Context(), by, in)
				if err != nil {
					return err
				}

				fmt.Fprintf(c.Err, "%s may join %s as %s until %s\n", invitation.Email, invitation.AccountName, invitation.Role, invitation.ExpiresAt.Format(time.DateTime))
				_, err = fmt.Fprintln(c.Out, link)
				return err
			})
		},
	}

	memberFlags(cmd, &in.Email, &id, &in.Role)
	return cmd
}

func (c *cli) memberListCommand() *cobra.Command {
	var (
		id     string
		asJSON bool
	)
	cmd := &cobra.Command{
		Use:   "list [--account ID]",
		Short: "List the members of an account",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.withMembers(cmd.Context(), func(m members) error {
				by, err := m.operator(cmd, id)
				if err != nil {
					return err
				}
				list, err := m.Members(cmd.Context(), by)
				if err != nil {
					return err
				}

				if asJSON {
					return c.printJSON(shownMembers(list))
				}
				return c.printMembers(list)
			})
		},
	}

	accountFlag(cmd, &id, oneAccount)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON, one member per line")
	return cmd
}

func (c *cli) printMembers(list []member.Member) error {
	table := tabwriter.NewWriter(c.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "ID\tE-MAIL\tVERIFIED\tNAME\tROLE\tTWO-FACTOR\tDAILY LIMIT\tLAST SEEN")
	for _, person := range list {
		lastSeen := "never"
		if !person.LastSeenAt.IsZero() {
			lastSeen = person.LastSeenAt.Format(time.DateTime)
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n",
			person.ID, person.Email, yesNo(person.EmailVerified), person.Name, person.Role, yesNo(person.TwoFactor), orDash(person.DailyLimit.String()), lastSeen)
	}
	return table.Flush()
}

func yesNo(is bool) string {
	if is {
		return "yes"
	}
	return "no"
}

type shownMember struct {
	ID         ship.PersonID `json:"id"`
	Email      string        `json:"email"`
	Name       string        `json:"name"`
	Role       member.Role   `json:"role"`
	Verified   bool          `json:"emailVerified"`
	TwoFactor  bool          `json:"twoFactor"`
	DailyLimit string        `json:"dailyLimit,omitempty"`
	LastSeenAt time.Time     `json:"lastSeenAt,omitzero"`
}

func shownMembers(list []member.Member) []any {
	shown := make([]any, len(list))
	for i, person := range list {
		shown[i] = shownMember{
			ID:         person.ID,
			Email:      person.Email,
			Name:       person.Name,
			Role:       person.Role,
			Verified:   person.EmailVerified,
			TwoFactor:  person.TwoFactor,
			DailyLimit: person.DailyLimit.String(),
			LastSeenAt: person.LastSeenAt,
		}
	}
	return shown
}

func (c *cli) memberResetCommand() *cobra.Command {
	var (
		email, owner string
		drop         bool
	)
	cmd := &cobra.Command{
		Use:   "reset --email ADDRESS [--account ID]",
		Short: "Print a password reset link",
		Long: "Print a password reset link. It works once, within a day. Using it sets a new password, removes the\n" +
			"person's passkeys and connections to the identity provider, and ends all their sessions. It also\n" +
			"proves that the e-mail address is theirs, so give it to nobody else. If they have lost their\n" +
			"authenticator, add --drop-second-factors.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.withMembers(cmd.Context(), func(m members) error {
				if owner != "" {
					if err := m.requireMember(cmd, owner, email); err != nil {
						return err
					}
				}

				// A person can be a member of several accounts, so the
				// operator acts for none of them.
				link, err := m.ResetURL(cmd.Context(), operator("", cmd.CommandPath()), email, drop)
				if err != nil {
					return err
				}
				_, err = fmt.Fprintln(c.Out, link)
				return err
			})
		},
	}

	accountFlag(cmd, &owner, owningAccount)
	cmd.Flags().StringVar(&email, "email", "", "the person's e-mail")
	cmd.Flags().BoolVar(&drop, "drop-second-factors", false, "also remove their authenticator and recovery codes")
	return cmd
}
