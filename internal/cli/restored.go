package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/waybillhq/waybill/internal/app"
)

func (c *cli) restoredCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "restored",
		Short: "Record that the database was restored to an earlier point in time",
		Long: "Record that the database was restored to an earlier point in time, from a backup or by promoting\n" +
			"a lagging standby. Run it before the service starts again. For 48 hours, every purchase with an\n" +
			"Idempotency-Key is then looked up at the carriers first, so a client that repeats a request from\n" +
			"the lost period gets the label already bought, not a second one. Lost purchases without a key are\n" +
			"voided, if the disk of the copy that made them (SPOOL_DIR) is available.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := c.settings()
			if err != nil {
				return err
			}

			if err := app.RecordRestore(cmd.Context(), cfg); err != nil {
				return err
			}
			_, err = fmt.Fprintln(c.Out, "recorded: for 48 hours, purchases with a key are looked up before they are made; lost ones without a key are voided")
			return err
		},
	}
}
