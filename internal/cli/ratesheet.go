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
		Short: "Import, list and remove rate sheets for carriers without a rate API",
		Long: "Import, list and remove rate sheets: price lists in CSV, for a carrier or a contract without a\n" +
			"rate API. A sheet provides the quotes of its carrier; other carriers are still called.",
		Args: requireSubcommand,
		RunE: showHelp,
	}

	cmd.AddCommand(
		c.rateSheetImportCommand(),
		c.rateSheetCheckCommand(),
		c.rateSheetListCommand(),
		c.rateSheetShowCommand(),
		c.rateSheetRemoveCommand(),
	)
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
		Short: "Check and activate a rate sheet, replacing the one of the same name",
		Long: "Check a rate sheet and activate it from the next quote on, replacing the one of the same name;\n" +
			"- reads standard input. It prices all connections of the carrier, or the one of --connection.",
		Args: oneArgument,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if connection != "" {
				if in.Connection, err = parseConnectionID(connection); err != nil {
					return err
				}
			}

			file, err := c.readFile(args[0], sheet.MaxBytes)
			if err != nil {
				return err
			}
			if in.Name == "" {
				in.Name = sheetName(args[0], in.Carrier)
			}
			in.CSV = string(file.text)

			return c.withPolicy(cmd.Context(), whose, func(p policy) error {
				imported, err := p.ImportSheet(cmd.Context(), p.tenant, in)
				if err != nil {
					return file.explainSheet(c.Err, err)
				}
				printProblems(c.Err, file.name+": warning: ", imported.Parsed.Warnings)
				fmt.Fprintf(c.Err, "version %d of %s prices %s of %s (%s): %s\n", imported.Version, imported.Name, pricedCarrier(imported), p.account.Name, modeName(p.tenant), formatCounts(imported.Parsed))
				_, err = fmt.Fprintln(c.Out, imported.Name)
				return err
			})
		},
	}

	whose.add(cmd)
	flags := cmd.Flags()
	flags.StringVar(&in.Carrier, "carrier", "", "carrier that the prices belong to")
	flags.StringVar(&connection, "connection", "", "id of the connection they apply to (default: all connections of the carrier without their own sheet)")
	flags.StringVar(&in.Name, "name", "", "name of the sheet (default: the name of the file)")
	_ = cmd.MarkFlagRequired("carrier") // fails only for a flag that is not there
	return cmd
}

// sheetName names a sheet after its file, or after the carrier if it is read
// from standard input.
func sheetName(path, carrier string) string {
	if path == "-" {
		return carrier
	}

	// A name has lower-case letters, digits, - and _ alone, since it is part of
	// an address of the API.
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
	for _, problem := range list {
		fmt.Fprintf(w, "%s%s\n", before, printable(problem.String()))
	}
}

func formatCounts(parsed sheet.Sheet) string {
	counts := parsed.Counts()
	return fmt.Sprintf("%s, %s, %s, %s",
		pluralize(counts.Services, "service"),
		pluralize(counts.Zones, "zone"),
		pluralize(counts.Prices, "price"),
		pluralize(counts.Surcharges, "surcharge"))
}

// pricedCarrier returns what a sheet is for: a carrier, or one connection to it.
func pricedCarrier(stored rulebook.Sheet) string {
	if stored.Connection != "" {
		return stored.Carrier + " over " + string(stored.Connection)
	}
	return stored.Carrier
}

func (c *cli) rateSheetCheckCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "check FILE",
		Short: "Report the errors in a rate sheet",
		Long:  "Report the errors in a rate sheet, with line and column; - reads standard input. Nothing is stored,\nand no database is needed. The exit code is 1 if there are errors.",
		Args:  oneArgument,
		RunE: func(_ *cobra.Command, args []string) error {
			file, err := c.readFile(args[0], sheet.MaxBytes)
			if err != nil {
				return err
			}
			parsed, err := sheet.Parse(file.text)
			if err != nil {
				return file.explainSheet(c.Out, err)
			}

			printProblems(c.Out, file.name+": warning: ", parsed.Warnings)
			_, err = fmt.Fprintf(c.Out, "%s: %s, no errors\n", file.name, formatCounts(parsed))
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
		Short: "List the active rate sheets",
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
					fmt.Fprintln(c.Err, "there are no rate sheets")
					return nil
				}
				return c.printSheets(list)
			})
		},
	}

	whose.add(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON, one sheet per line")
	return cmd
}

func (c *cli) printSheets(list []rulebook.Sheet) error {
	table := tabwriter.NewWriter(c.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "NAME\tVERSION\tCARRIER\tCONNECTION\tCURRENCY\tVALID\tSERVICES\tZONES\tPRICES\tIMPORTED")
	for _, stored := range list {
		counts := stored.Parsed.Counts()
		fmt.Fprintf(table, "%s\t%d\t%s\t%s\t%s\t%s\t%d\t%d\t%d\t%s\n",
			stored.Name,
			stored.Version,
			stored.Carrier,
			orDash(string(stored.Connection)),
			stored.Parsed.Currency,
			formatValidity(stored.Parsed.ValidFrom, stored.Parsed.ValidUntil),
			counts.Services,
			counts.Zones,
			counts.Prices,
			formatDay(stored.AddedAt))
	}
	return table.Flush()
}

func formatValidity(from, until ship.Date) string {
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
