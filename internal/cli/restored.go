package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/waybillhq/waybill/internal/app"
)

func (c *cli) restoredCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "restored",
		Short: "Say that the database was put back to an earlier moment",
		Long: "Say that the database was put back to an earlier moment, from a backup or by making a standby\n" +
			"the server that lagged. Run it before the service starts again. For 48 hours every purchase\n" +
			"with an Idempotency-Key is then looked up at the carriers before it is made, so that a client\n" +
			"who asks again for what was bought in the lost time gets that label and not a second one. What\n" +
			"nobody can ask for again is voided, if the disk of the copy that bought it (SPOOL_DIR) is there.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := c.settings()
			if err != nil {
				return err
			}

			if err := app.RecordRestore(cmd.Context(), cfg); err != nil {
				return err
			}
			_, err = fmt.Fprintln(c.Out, "noted: for 48 hours, purchases with a key are looked up before they are made; lost ones without a key are voided")
			return err
		},
	}
}
