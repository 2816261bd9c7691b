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
		Short: "Show where a carrier sends its pushes, and their secret",
		Long: "Show where a carrier sends its pushes, and the secret that they carry. Some carriers ask for both in\n" +
			"their portals, others are subscribed by the service: see docs/carriers.md. BASE_URL must be an https address.",
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
					return errors.New("carriers cannot reach the service: set BASE_URL to its public https address")
				}
				_, err = fmt.Fprintf(c.Out, "address  %s\nsecret   %s\n", address, secret)
				return err
			})
		},
	}

	accountFlag(cmd, &owner, owningAccount)
	return cmd
}
