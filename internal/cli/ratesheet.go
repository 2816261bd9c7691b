package cli

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/waybillhq/waybill/internal/rulebook"
	"github.com/waybillhq/waybill/internal/sheet"
	"github.com/waybillhq/waybill/internal/ship"
)

func (c *cli) rateSheetCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "ratesheet",
		Short: "Import, list and remove price lists of carriers that have no rate call",
		Long: "Import, list and remove rate sheets: price lists as CSV, for a carrier or a contract without a\n" +
			"rate call. A sheet quotes instead of the carrier that it is for, beside the others.",
		Args: aCommand,
		RunE: help,
	}
	cmd.AddCommand(c.rateSheetImportCommand(), c.rateSheetCheckCommand(), c.rateSheetListCommand(), c.rateSheetShowCommand(), c.rateSheetRemoveCommand())
	return cmd
}

func (c *cli) rateSheetImportCommand() *cobra.Command {
	var (
		whose      tenantFlags
		in         rulebook.SheetInput
		connection string
	)
	cmd := &cobra.Command{
		Use:   "import FILE --carrier NAME [--connection con_...] [--name NAME]",
		Short: "Check a rate sheet, and make it count in place of the one of the same name",
		Long: "Check a rate sheet, and make it count in place of the one of the same name, from the next quote\n" +
			"on; - is standard input. It prices every account with the carrier, or the one of --connection.",
		Args: oneArgument,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if connection != "" {
				if in.Connection, err = connectionID(connection); err != nil {
					return err
				}
			}
			s, err := c.read(args[0], sheet.MaxBytes)
			if err != nil {
				return err
			}
			if in.Name == "" {
				in.Name = sheetName(args[0], in.Carrier)
			}
			in.CSV = string(s.text)
			return c.withPolicy(cmd.Context(), whose, func(p policy) error {
				made, err := p.ImportSheet(cmd.Context(), p.tenant, in)
				if err != nil {
					return s.explainSheet(c.Err, err)
				}
				printProblems(c.Err, s.name+": warning: ", made.Parsed.Warnings)
				fmt.Fprintf(c.Err, "version %d of %s prices %s of %s (%s): %s\n", made.Version, made.Name, pricedBy(made), p.account.Name, modeOf(p.tenant), countsOf(made.Parsed))
				_, err = fmt.Fprintln(c.Out, made.Name)
				return err
			})
		},
	}
	whose.add(cmd)
	flags := cmd.Flags()
	flags.StringVar(&in.Carrier, "carrier", "", "carrier whose prices these are")
	flags.StringVar(&connection, "connection", "", "id of the carrier account that they are for (default: all accounts with the carrier that have no sheet of their own)")
	flags.StringVar(&in.Name, "name", "", "what to call it (default: the name of the file)")
	_ = cmd.MarkFlagRequired("carrier") // fails only for a flag that is not there
	return cmd
}

// sheetName is what a sheet is called after its file, or after the carrier.
func sheetName(path, carrier string) string {
	if path == "-" {
		return carrier
	}
	base := filepath.Base(path)
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '_' {
			return r
		}
		return '-'
	}, strings.ToLower(strings.TrimSuffix(base, filepath.Ext(base))))
	return strings.Trim(name[:min(len(name), 60)], "-_")
}

// explainSheet prints every error of a sheet, with its line and column, and
// returns ErrUnhealthy then. Any other error is returned as it is.
func (s source) explainSheet(w io.Writer, err error) error {
	list := sheet.ProblemsOf(err)
	if len(list) == 0 {
		return err
	}
	printProblems(w, s.name+": ", list)
	if len(list) > 1 {
		fmt.Fprintf(w, "%d errors\n", len(list))
	}
	return ErrUnhealthy
}

func printProblems(w io.Writer, before string, list []sheet.Problem) {
	for _, p := range list {
		fmt.Fprintf(w, "%s%s\n", before, printable(p.String()))
	}
}

func countsOf(s sheet.Sheet) string {
	n := s.Counts()
	return fmt.Sprintf("%s, %s, %s, %s", count(n.Services, "service"), count(n.Zones, "zone"), count(n.Prices, "price"), count(n.Surcharges, "surcharge"))
}

// pricedBy is what a sheet is for.
func pricedBy(s rulebook.Sheet) string {
	if s.Connection != "" {
		return s.Carrier + " over " + string(s.Connection)
	}
	return s.Carrier
}

func (c *cli) rateSheetCheckCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "check FILE",
		Short: "Say what is wrong with a rate sheet, and where",
		Long:  "Say what is wrong with a rate sheet, and where; - is standard input. Nothing is stored, and no\ndatabase is needed. The exit code is 1 if something is wrong.",
		Args:  oneArgument,
		RunE: func(_ *cobra.Command, args []string) error {
			s, err := c.read(args[0], sheet.MaxBytes)
			if err != nil {
				return err
			}
			parsed, err := sheet.Parse(s.text)
			if err != nil {
				return s.explainSheet(c.Out, err)
			}
			printProblems(c.Out, s.name+": warning: ", parsed.Warnings)
			_, err = fmt.Fprintf(c.Out, "%s: %s, nothing wrong\n", s.name, countsOf(parsed))
			return err
		},
	}
}

func (c *cli) rateSheetListCommand() *cobra.Command {
	var (
		whose  tenantFlags
		asJSON bool
	)
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the rate sheets that count",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.withPolicy(cmd.Context(), whose, func(p policy) error {
				list, err := p.Sheets(cmd.Context(), p.tenant)
				if err != nil {
					return err
				}
				if asJSON {
					return c.printJSON(shownSheets(list))
				}
				if len(list) == 0 {
					fmt.Fprintln(c.Err, "there is no rate sheet")
					return nil
				}
				return c.printSheets(list)
			})
		},
	}
	whose.add(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON, one sheet a line")
	return cmd
}

func (c *cli) printSheets(list []rulebook.Sheet) error {
	w := tabwriter.NewWriter(c.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tVERSION\tCARRIER\tCONNECTION\tCURRENCY\tVALID\tSERVICES\tZONES\tPRICES\tIMPORTED")
	for _, s := range list {
		n := s.Parsed.Counts()
		fmt.Fprintf(w, "%s\t%d\t%s\t%s\t%s\t%s\t%d\t%d\t%d\t%s\n", s.Name, s.Version, s.Carrier, orDash(string(s.Connection)), s.Parsed.Currency,
			validity(s.Parsed.ValidFrom, s.Parsed.ValidUntil), n.Services, n.Zones, n.Prices, day(s.AddedAt))
	}
	return w.Flush()
}

func validity(from, until ship.Date) string {
	switch {
	case from == "" && until == "":
		return "always"
	case until == "":
		return "from " + string(from)
	case from == "":
		return "until " + string(until)
	}
	return string(from) + " to " + string(until)
}
