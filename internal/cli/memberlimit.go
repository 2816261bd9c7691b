package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/waybillhq/waybill/internal/ship"
)

func (c *cli) memberLimitCommand() *cobra.Command {
	var id, email, limit string
	cmd := &cobra.Command{
		Use:   "limit --email ADDRESS --daily-limit AMOUNT",
		Short: "Limit what a member may spend in the dashboard",
		Long: "Limit what a member may spend on live labels per UTC day in the dashboard, batches included, in the\n" +
			"account's currency. API keys have limits of their own.",
		Example: "  waybill member limit --email bob@example.com --daily-limit 500\n  waybill member limit --email bob@example.com --daily-limit none",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if limit == "" {
				return ship.Errorf(ship.Invalid, "--daily-limit must be an amount, such as 500, or none")
			}
			amount := limit
			if limit == "none" {
				amount = ""
			}

			return c.withMembers(cmd.Context(), func(m members) error {
				by, err := m.operator(cmd, id)
				if err != nil {
					return err
				}
				list, err := m.Members(cmd.Context(), by)
				if err != nil {
					return err
				}
				for _, person := range list {
					if !strings.EqualFold(person.Email, strings.TrimSpace(email)) {
						continue
					}
					if err := m.SetDailyLimit(cmd.Context(), by, person.ID, amount); err != nil {
						return err
					}
					fmt.Fprintf(c.Err, "the daily limit of %s is %s\n", person.Email, limit)
					return nil
				}
				return errOtherAccount(email, string(by.Account))
			})
		},
	}

	cmd.Flags().StringVar(&email, "email", "", "the person's e-mail")
	cmd.Flags().StringVar(&limit, "daily-limit", "", "maximum spend per UTC day, in the account's currency, such as 500; or none")
	accountFlag(cmd, &id, oneAccount)
	return cmd
}
