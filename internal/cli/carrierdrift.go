package cli

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/waybillhq/waybill/internal/account"
	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/tracking"
)

// driftFor is how old a parcel may be for its unmapped codes to be listed.
const driftFor = 90 * 24 * time.Hour

// A shownDifference is what a carrier answered that its driver does not know.
type shownDifference struct {
	Carrier   string     `json:"carrier"`
	Kind      string     `json:"kind"`
	Operation string     `json:"operation"`
	Code      string     `json:"code,omitempty"`
	Detail    string     `json:"detail"`
	Count     int        `json:"count"`
	FirstAt   *time.Time `json:"firstAt,omitempty"`
	LastAt    time.Time  `json:"lastAt"`
}

func (c *cli) carrierDriftCommand() *cobra.Command {
	var (
		id     string
		asJSON bool
	)
	cmd := &cobra.Command{
		Use:   "drift [--account ID]",
		Short: "List what carriers responded that this version does not know",
		Long: "List what carriers responded on live connections that this version does not know: error codes, refusals\n" +
			"and responses that could not be used, and unmapped tracking codes of the last 90 days. The list has\n" +
			"the carriers' codes and the names of response fields, but no values of shipments, so it can be sent\n" +
			"to the project.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			list, err := c.differences(cmd.Context(), id)
			if err != nil {
				return err
			}
			return c.printDrift(list, asJSON)
		},
	}

	accountFlag(cmd, &id, allAccounts)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON, one difference per line")
	return cmd
}

// differences returns those of an account; without an id, of all accounts.
func (c *cli) differences(ctx context.Context, id string) ([]shownDifference, error) {
	var list []shownDifference
	err := c.withAccounts(ctx, func(accounts *account.Service) error {
		found, err := accountDifferences(ctx, accounts, id)
		for _, d := range found {
			list = append(list, shownDifference{
				Carrier:   d.Carrier,
				Kind:      d.Kind,
				Operation: d.Operation,
				Code:      d.Code,
				Detail:    d.Detail,
				Count:     d.Count,
				FirstAt:   new(d.FirstAt),
				LastAt:    d.LastAt,
			})
		}
		return err
	})
	if err != nil {
		return nil, err
	}

	err = c.withTracking(ctx, func(service *tracking.Service, specs []carrier.Spec) error {
		codes, err := unmappedCodes(ctx, service, id, specs, time.Now().Add(-driftFor))
		for _, code := range codes {
			list = append(list, shownDifference{
				Carrier:   code.Carrier,
				Kind:      "tracking_code",
				Operation: string(carrier.OpTrack),
				Code:      code.Code,
				Detail:    carrier.WithoutNames(code.Description),
				Count:     code.Events,
				LastAt:    code.NewestAt,
			})
		}
		return err
	})
	return list, err
}

func accountDifferences(ctx context.Context, accounts *account.Service, id string) ([]account.Difference, error) {
	if id == "" {
		return accounts.AllDifferences(ctx)
	}
	parsed, valid := ship.ParseAccountID(id)
	if !valid {
		return nil, fmt.Errorf("there is no account %s: \"waybill account list\" lists the accounts", id)
	}
	return accounts.Differences(ctx, ship.Tenant{Account: parsed, Livemode: true})
}

func (c *cli) printDrift(list []shownDifference, asJSON bool) error {
	if asJSON {
		var shown []any
		for _, difference := range list {
			shown = append(shown, difference)
		}
		return c.printJSON(shown)
	}
	if len(list) == 0 {
		fmt.Fprintln(c.Err, "carriers responded with nothing that this version does not know")
		return nil
	}

	table := tabwriter.NewWriter(c.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "CARRIER\tKIND\tOPERATION\tCODE\tCOUNT\tLAST\tDETAIL")
	for _, d := range list {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%d\t%s\t%s\n",
			d.Carrier,
			d.Kind,
			d.Operation,
			orDash(printable(d.Code)),
			d.Count,
			formatDay(d.LastAt),
			orDash(printable(strings.ReplaceAll(d.Detail, "\n", ", "))))
	}
	return table.Flush()
}
