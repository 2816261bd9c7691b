package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/waybillhq/waybill/internal/account"
	"github.com/waybillhq/waybill/internal/app"
)

func (c *cli) connectionPushCommand() *cobra.Command {
	var owner string
	cmd := &cobra.Command{
		Use:   "push CONNECTION_ID [--account ID]",
		Short: "Show the URL and secret for a carrier's pushes",
		Long: "Show the URL that a carrier sends pushes to, and their secret. Some carriers ask for both in\n" +
			"their portals; for others the service subscribes itself: see docs/carriers.md. BASE_URL must be an https URL.",
		Args: oneArgument,
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, err := c.settings()
			if err != nil {
				return err
			}

			return c.withConnection(cmd.Context(), args[0], owner, func(_ *account.Service, found account.Connection) error {
				address, secret, err := app.PushAddress(cmd.Context(), cfg, found.ID)
				if err != nil {
					return err
				}

				// Without a base that carriers reach, the address is only a
				// path.
				if address[0] == '/' {
					return errors.New("carriers cannot reach the service: set BASE_URL to its public https URL")
				}
				_, err = fmt.Fprintf(c.Out, "address  %s\nsecret   %s\n", address, secret)
				return err
			})
		},
	}

	accountFlag(cmd, &owner, owningAccount)
	return cmd
}
