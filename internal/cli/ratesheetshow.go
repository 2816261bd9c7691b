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
		Short: "Show a rate sheet; with --csv, as CSV",
		Args:  oneArgument,
		RunE: func(cmd *cobra.Command, args []string) error {
			if version < 0 {
				return errors.New("--version must be 1 or more")
			}

			return c.withPolicy(cmd.Context(), whose, func(p policy) error {
				stored, err := p.Sheet(cmd.Context(), p.tenant, args[0], version)
				switch {
				case ship.KindOf(err) == ship.NotFound:
					return fmt.Errorf("%w: \"waybill ratesheet list\" lists the active sheets", err)
				case err != nil:
					return err
				case asCSV:
					_, err = fmt.Fprint(c.Out, stored.CSV)
					return err
				case asJSON:
					return c.printJSON(shownSheets([]rulebook.Sheet{stored}))
				}
				return c.printSheet(stored)
			})
		},
	}

	whose.add(cmd)
	flags := cmd.Flags()
	flags.IntVar(&version, "version", 0, "version to show (default: the active one)")
	flags.BoolVar(&asCSV, "csv", false, "print the CSV as it was imported")
	flags.BoolVar(&asJSON, "json", false, "print JSON")
	cmd.MarkFlagsMutuallyExclusive("csv", "json")
	return cmd
}

func (c *cli) printSheet(stored rulebook.Sheet) error {
	printProblems(c.Err, "warning: ", stored.Parsed.Warnings)

	table := tabwriter.NewWriter(c.Out, 0, 0, 2, ' ', 0)
	for _, line := range [][2]string{
		{"name", fmt.Sprintf("%s, version %d, imported %s", stored.Name, stored.Version, formatMinute(stored.AddedAt))},
		{"title", orDash(printable(stored.Parsed.Name))},
		{"prices", pricedCarrier(stored)},
		{"currency", stored.Parsed.Currency},
		{"valid", formatValidity(stored.Parsed.ValidFrom, stored.Parsed.ValidUntil)},
		{"contents", formatCounts(stored.Parsed)},
		{"zones", zoneNames(stored.Parsed.Zones)},
	} {
		fmt.Fprintf(table, "%s\t%s\n", line[0], line[1])
	}

	fmt.Fprintln(table, "\nSERVICE\tNAME\tGUARANTEED")
	for _, service := range stored.Parsed.Services {
		fmt.Fprintf(table, "%s\t%s\t%s\n", service.Code, orDash(printable(service.Name)), yesNo(service.Guaranteed))
	}
	return table.Flush()
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
	for i, stored := range list {
		view := shownSheet{
			Name:       stored.Name,
			Version:    stored.Version,
			Carrier:    stored.Carrier,
			Connection: stored.Connection,
			Currency:   stored.Parsed.Currency,
			ValidFrom:  stored.Parsed.ValidFrom,
			ValidUntil: stored.Parsed.ValidUntil,
			Counts:     stored.Parsed.Counts(),
			ImportedAt: stored.AddedAt,
		}
		for _, warning := range stored.Parsed.Warnings {
			view.Warnings = append(view.Warnings, warning.String())
		}
		shown[i] = view
	}
	return shown
}

func (c *cli) rateSheetRemoveCommand() *cobra.Command {
	var whose tenantFlags
	cmd := &cobra.Command{
		Use:   "remove NAME",
		Short: "Remove a rate sheet; its carrier is called for rates again",
		Long:  "Remove a rate sheet; its carrier is called for rates again. Its versions are kept, and can be shown\nand imported again.",
		Args:  oneArgument,
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.withPolicy(cmd.Context(), whose, func(p policy) error {
				if err := p.RemoveSheet(cmd.Context(), p.tenant, args[0]); err != nil {
					return err
				}
				fmt.Fprintf(c.Err, "%s was removed; running copies call the carrier again within seconds\n", args[0])
				return nil
			})
		},
	}

	whose.add(cmd)
	return cmd
}
