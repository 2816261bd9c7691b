package cli

import (
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/waybillhq/waybill/internal/archive"
	"github.com/waybillhq/waybill/internal/ship"
)

func (c *cli) archiveCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "archive",
		Short: "Read what was archived before it was dropped from the database",
		Long: "Read the archive in ARCHIVE_DIR: events, deliveries, charges and shipments that are no longer in the\n" +
			"database. It needs no database. The archive has no personal data.",
		Args: requireSubcommand,
		RunE: showHelp,
	}
	cmd.PersistentFlags().String("dir", "", "directory of the archive; ARCHIVE_DIR if empty")
	cmd.AddCommand(c.archiveListCommand(), c.archiveQueryCommand(), c.archiveVerifyCommand())
	return cmd
}

// openArchive returns the archive of the flag, or else of the settings.
func (c *cli) openArchive(cmd *cobra.Command) (archive.Archive, error) {
	dir, err := cmd.Flags().GetString("dir")
	if err != nil {
		return archive.Archive{}, err
	}
	if dir == "" {
		dir, _ = c.lookup("ARCHIVE_DIR")
	}
	if dir == "" {
		return archive.Archive{}, ship.Errorf(ship.Invalid, "set ARCHIVE_DIR or --dir to the directory of the archive")
	}
	return archive.Archive{Dir: dir}, nil
}

func (c *cli) archiveListCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the files of the archive",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			opened, err := c.openArchive(cmd)
			if err != nil {
				return err
			}
			list, err := opened.List()
			if err != nil {
				return err
			}

			table := tabwriter.NewWriter(c.Out, 0, 0, 2, ' ', 0)
			fmt.Fprintln(table, "TABLE\tFROM\tTO\tROWS\tBYTES")
			for _, file := range list {
				fmt.Fprintf(table, "%s\t%s\t%s\t%d\t%d\n", file.Table, file.From.Format(time.DateOnly), file.To.Format(time.DateOnly), file.Rows, file.Bytes)
			}
			return table.Flush()
		},
	}
}

func (c *cli) archiveQueryCommand() *cobra.Command {
	var filter archive.Filter
	var from, to string

	cmd := &cobra.Command{
		Use:   "query TABLE",
		Short: "Print archived rows as JSON lines",
		Long: "Print the rows of a table as JSON, one a line: shipments, shipment_states, purchase_attempts,\n" +
			"tracking_events, events, webhook_attempts or charges. Whole files are read: give --from and --to\n" +
			"to read fewer of them.",
		Example: "  waybill archive query charges --account acct_... --from 2024-01-01 --to 2025-01-01",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			opened, err := c.openArchive(cmd)
			if err != nil {
				return err
			}

			filter.Table = args[0]
			if filter.From, err = archiveDay("--from", from); err != nil {
				return err
			}
			if filter.To, err = archiveDay("--to", to); err != nil {
				return err
			}

			return opened.Query(filter, func(line []byte) error {
				_, err := c.Out.Write(line)
				return err
			})
		},
	}

	cmd.Flags().StringVar(&from, "from", "", "first day, such as 2024-01-31")
	cmd.Flags().StringVar(&to, "to", "", "day after the last one")
	cmd.Flags().StringVar(&filter.Account, "account", "", "only rows of this account")
	cmd.Flags().StringVar(&filter.Subject, "shipment", "", "only rows about this shipment or tracker")
	return cmd
}

// archiveDay parses a day of a flag; empty is none.
func archiveDay(flag, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	day, err := time.Parse(time.DateOnly, text)
	if err != nil {
		return day, ship.Errorf(ship.Invalid, "%s must be a day such as 2024-01-31", flag)
	}
	return day, nil
}

func (c *cli) archiveVerifyCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "verify",
		Short: "Verify the archive files against their checksums",
		Long:  "Read every file of the archive and compare it with its hash. The exit code is 1 if one differs.",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			opened, err := c.openArchive(cmd)
			if err != nil {
				return err
			}
			list, err := opened.List()
			if err != nil {
				return err
			}

			broken := 0
			for _, file := range list {
				if err := opened.Verify(file); err != nil {
					broken++
					fmt.Fprintln(c.Out, "broken:", err)
				}
			}
			fmt.Fprintf(c.Out, "%d files, %d broken\n", len(list), broken)
			if broken > 0 {
				return ErrUnhealthy
			}
			return nil
		},
	}
}
