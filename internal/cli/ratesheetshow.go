package cli

import (
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/waybillhq/waybill/internal/rulebook"
	"github.com/waybillhq/waybill/internal/sheet"
	"github.com/waybillhq/waybill/internal/ship"
)

func (c *cli) rateSheetShowCommand() *cobra.Command {
	var (
		whose         tenantFlags
		version       int
		asCSV, asJSON bool
	)
	cmd := &cobra.Command{
		Use:   "show NAME [--version N]",
		Short: "Show what is in a rate sheet; with --csv, the sheet itself",
		Args:  oneArgument,
		RunE: func(cmd *cobra.Command, args []string) error {
			if version < 0 {
				return errors.New("--version is a number from 1")
			}
			return c.withPolicy(cmd.Context(), whose, func(p policy) error {
				s, err := p.Sheet(cmd.Context(), p.tenant, args[0], version)
				switch {
				case ship.KindOf(err) == ship.NotFound:
					return fmt.Errorf("%w: \"waybill ratesheet list\" shows those that count", err)
				case err != nil:
					return err
				case asCSV:
					_, err = fmt.Fprint(c.Out, s.CSV)
					return err
				case asJSON:
					return c.printJSON(shownSheets([]rulebook.Sheet{s}))
				}
				return c.printSheet(s)
			})
		},
	}
	whose.add(cmd)
	flags := cmd.Flags()
	flags.IntVar(&version, "version", 0, "an earlier version (default: the one that counts)")
	flags.BoolVar(&asCSV, "csv", false, "print the CSV as it was imported")
	flags.BoolVar(&asJSON, "json", false, "print JSON")
	cmd.MarkFlagsMutuallyExclusive("csv", "json")
	return cmd
}

func (c *cli) printSheet(s rulebook.Sheet) error {
	printProblems(c.Err, "warning: ", s.Parsed.Warnings)
	w := tabwriter.NewWriter(c.Out, 0, 0, 2, ' ', 0)
	for _, line := range [][2]string{
		{"name", fmt.Sprintf("%s, version %d, imported %s", s.Name, s.Version, minute(s.AddedAt))},
		{"title", orDash(printable(s.Parsed.Name))},
		{"prices", pricedBy(s)},
		{"currency", s.Parsed.Currency},
		{"valid", validity(s.Parsed.ValidFrom, s.Parsed.ValidUntil)},
		{"holds", countsOf(s.Parsed)},
		{"zones", zoneNames(s.Parsed.Zones)},
	} {
		fmt.Fprintf(w, "%s\t%s\n", line[0], line[1])
	}
	fmt.Fprintln(w, "\nSERVICE\tNAME\tGUARANTEED")
	for _, v := range s.Parsed.Services {
		fmt.Fprintf(w, "%s\t%s\t%s\n", v.Code, orDash(printable(v.Name)), map[bool]string{true: "yes", false: "no"}[v.Guaranteed])
	}
	return w.Flush()
}

func zoneNames(list []string) string {
	shown := printable(strings.Join(list[:min(len(list), shownZones)], " "))
	if more := len(list) - shownZones; more > 0 {
		shown += fmt.Sprintf(" and %d more", more)
	}
	return shown
}

type shownSheet struct {
	Name       string            `json:"name"`
	Version    int               `json:"version"`
	Carrier    string            `json:"carrier"`
	Connection ship.ConnectionID `json:"connectionId,omitempty"`
	Currency   string            `json:"currency"`
	ValidFrom  ship.Date         `json:"validFrom,omitempty"`
	ValidUntil ship.Date         `json:"validUntil,omitempty"`
	Counts     sheet.Counts      `json:"counts"`
	ImportedAt time.Time         `json:"importedAt"`
	Warnings   []string          `json:"warnings,omitempty"`
}

func shownSheets(list []rulebook.Sheet) []any {
	shown := make([]any, len(list))
	for i, s := range list {
		v := shownSheet{
			Name: s.Name, Version: s.Version, Carrier: s.Carrier, Connection: s.Connection, Currency: s.Parsed.Currency, ValidFrom: s.Parsed.ValidFrom,
			ValidUntil: s.Parsed.ValidUntil, Counts: s.Parsed.Counts(), ImportedAt: s.AddedAt,
		}
		for _, w := range s.Parsed.Warnings {
			v.Warnings = append(v.Warnings, w.String())
		}
		shown[i] = v
	}
	return shown
}

func (c *cli) rateSheetRemoveCommand() *cobra.Command {
	var whose tenantFlags
	cmd := &cobra.Command{
		Use:   "remove NAME",
		Short: "End a rate sheet: its carrier is asked for prices again",
		Long:  "End a rate sheet: its carrier is asked for prices again. Its versions are kept, and can be shown\nand imported again.",
		Args:  oneArgument,
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.withPolicy(cmd.Context(), whose, func(p policy) error {
				if err := p.RemoveSheet(cmd.Context(), p.tenant, args[0]); err != nil {
					return err
				}
				fmt.Fprintf(c.Err, "%s counts no more; running copies ask the carrier again within seconds\n", args[0])
				return nil
			})
		},
	}
	whose.add(cmd)
	return cmd
}
