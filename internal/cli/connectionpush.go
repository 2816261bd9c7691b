package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/waybillhq/waybill/internal/app"
	"github.com/waybillhq/waybill/internal/ship"
)

func (c *cli) connectionPushCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "push con_...",
		Short: "Show where a carrier sends its pushes, and their secret",
		Long: "Show where a carrier sends its pushes, and the secret that they carry. UPS and FedEx ask for both\n" +
			"in their portals; USPS is told by the service itself. BASE_URL must be an https address.",
		Args: oneArgument,
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, err := c.settings()
			if err != nil {
				return err
			}
			id, ok := ship.ParseConnectionID(args[0])
			if !ok {
				return fmt.Errorf("%s is not the id of a connection: see waybill connection list", args[0])
			}
			address, secret, err := app.PushAddress(cmd.Context(), cfg, id)
			if err != nil {
				return err
			}
			if address[0] == '/' {
				return errors.New("carriers cannot reach the service: set BASE_URL to its public https address")
			}
			_, err = fmt.Fprintf(c.Out, "address  %s\nsecret   %s\n", address, secret)
			return err
		},
	}
}
