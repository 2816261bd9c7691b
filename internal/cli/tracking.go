package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/waybillhq/waybill/internal/app"
	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/tracking"
)

// withTracking runs fn on the tracking of the database.
func (c *cli) withTracking(ctx context.Context, fn func(*tracking.Service, []carrier.Spec) error) error {
	cfg, err := c.settings()
	if err != nil {
		return err
	}
	service, specs, done, err := app.OpenTracking(ctx, cfg, c.Carriers, app.NewLogger(cfg, c.Err))
	if err != nil {
		return err
	}
	defer done()

	return fn(service, specs)
}

func (c *cli) trackingCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "tracking",
		Short: "List unmapped carrier codes, and reapply the status table to stored events",
		Args:  requireSubcommand,
		RunE:  showHelp,
	}
	cmd.AddCommand(c.trackingUnmappedCommand(), c.trackingReplayCommand())
	return cmd
}

func (c *cli) trackingUnmappedCommand() *cobra.Command {
	var (
		id, since string
		asJSON    bool
	)
	cmd := &cobra.Command{
		Use:   "unmapped [--account ID] [--since 90d]",
		Short: "List unmapped carrier codes, most recent first",
		Long: "List the carrier codes that were in no status table when they were received, most recent first.\n" +
			"Their events are stored without a status. If the table of this version has the code,\n" +
			"\"waybill tracking replay\" assigns one.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			from, err := parseDay(since, time.Now())
			if err != nil {
				return err
			}

			return c.withTracking(cmd.Context(), func(service *tracking.Service, specs []carrier.Spec) error {
				list, err := unmappedCodes(cmd.Context(), service, id, specs, from)
				if err != nil {
					return err
				}
				return c.printUnmapped(list, asJSON)
			})
		},
	}

	accountFlag(cmd, &id, allAccounts)
	cmd.Flags().StringVar(&since, "since", "90d", "only parcels created since: 12h, 30d, 2027-01-31 or 2027-01-31T12:00:00Z")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON, one code per line")
	return cmd
}

// unmappedCodes returns those of an account in both modes; without an id, of
// all accounts.
func unmappedCodes(ctx context.Context, service *tracking.Service, id string, specs []carrier.Spec, from time.Time) ([]tracking.UnmappedCode, error) {
	if id == "" {
		return service.UnmappedCodes(ctx, specs, from)
	}
	account, valid := ship.ParseAccountID(id)
	if !valid {
		return nil, fmt.Errorf("there is no account %s: \"waybill account list\" lists the accounts", id)
	}

	var list []tracking.UnmappedCode
	for _, live := range []bool{true, false} {
		some, err := service.UnmappedOf(ctx, ship.Tenant{Account: account, Livemode: live}, specs, from)
		if err != nil {
			return nil, err
		}
		list = append(list, some...)
	}
	return list, nil
}

type shownUnmapped struct {
	Carrier     string    `json:"carrier"`
	Code        string    `json:"code"`
	Events      int       `json:"events"`
	Parcels     int       `json:"parcels"`
	NewestAt    time.Time `json:"newestAt"`
	Description string    `json:"description"`
	KnownNow    bool      `json:"knownNow"`
}

func (c *cli) printUnmapped(list []tracking.UnmappedCode, asJSON bool) error {
	if asJSON {
		var shown []any
		for _, code := range list {
			shown = append(shown, shownUnmapped{
				Carrier:     code.Carrier,
				Code:        code.Code,
				Events:      code.Events,
				Parcels:     code.Parcels,
				NewestAt:    code.NewestAt,
				Description: code.Description,
				KnownNow:    code.Known,
			})
		}
		return c.printJSON(shown)
	}
	if len(list) == 0 {
		fmt.Fprintln(c.Err, "every code received is mapped to a status")
		return nil
	}

	table := tabwriter.NewWriter(c.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "CARRIER\tCODE\tEVENTS\tPARCELS\tNEWEST\tMAPPED NOW\tDESCRIPTION")
	for _, code := range list {
		fmt.Fprintf(table, "%s\t%s\t%d\t%d\t%s\t%s\t%s\n",
			code.Carrier,
			printable(code.Code),
			code.Events,
			code.Parcels,
			formatDay(code.NewestAt),
			yesNo(code.Known),
			orDash(printable(code.Description)))
	}
	return table.Flush()
}

func (c *cli) trackingReplayCommand() *cobra.Command {
	var (
		name, since string
		apply       bool
	)
	cmd := &cobra.Command{
		Use:   "replay --carrier NAME --since DATE [--apply]",
		Short: "Reapply this version's status table to stored tracking events",
		Long: "Reapply this version's status table to stored tracking events, and show which of them would\n" +
			"change. Nothing is changed without --apply. With it, clients are notified of an event that gets a\n" +
			"status for the first time as of a new one; events already sent to clients are corrected without\n" +
			"another notification. It can be stopped at any time and run again. Upgrade every running copy\n" +
			"first: a copy with the old table applies that to new events.",
		Example: "  waybill tracking replay --carrier ups --since 2026-01-01\n" +
			"  waybill tracking replay --carrier ups --since 2026-01-01 --apply",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			from, err := parseDay(since, time.Now())
			if err != nil {
				return err
			}

			return c.withTracking(cmd.Context(), func(service *tracking.Service, specs []carrier.Spec) error {
				spec, known := findSpec(specs, name)
				if !known {
					return unknownCarrier(specs, name)
				}
				return c.replay(cmd.Context(), service, tracking.ReplayInput{Spec: spec, Since: from}, apply)
			})
		},
	}

	flags := cmd.Flags()
	flags.StringVar(&name, "carrier", "", "name of the carrier")
	flags.StringVar(&since, "since", "", "only parcels created since: 12h, 30d, 2027-01-31 or 2027-01-31T12:00:00Z")
	flags.BoolVar(&apply, "apply", false, "apply the corrections")
	for _, required := range []string{"carrier", "since"} {
		_ = cmd.MarkFlagRequired(required) // fails only for a flag that is not there
	}
	return cmd
}

// replay shows what differs, and corrects it if apply is set.
func (c *cli) replay(ctx context.Context, service *tracking.Service, in tracking.ReplayInput, apply bool) error {
	found, err := service.Replay(ctx, in)
	if err != nil {
		return err
	}
	fmt.Fprintf(c.Err, "checked %d parcels of %s\n", found.Parcels, in.Spec.Title)
	if len(found.Differences) == 0 {
		fmt.Fprintln(c.Err, "no changes: every code has the same meaning")
		return nil
	}

	if err := c.printDifferences(found.Differences); err != nil {
		return err
	}
	if !apply {
		fmt.Fprintln(c.Err, "nothing was changed: add --apply to apply the corrections")
		return nil
	}

	// The totals are printed also after an error: what was corrected by then
	// stays.
	in.Apply = true
	done, err := service.Replay(ctx, in)
	fmt.Fprintf(c.Err, "corrected %d tracking events; %d parcels have a new status; %d events are sent to clients\n", done.Corrected, done.Moved, done.Written)
	return err
}

func (c *cli) printDifferences(list []tracking.Difference) error {
	table := tabwriter.NewWriter(c.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "CODE\tWAS\tIS\tEVENTS\tPARCELS\tCLIENTS")
	for _, difference := range list {
		clients := "notified"
		switch {
		case difference.Notified:
			clients = "not notified again"
		case difference.Is.Status == "":
			clients = "not notified"
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%d\t%d\t%s\n",
			printable(difference.Code),
			formatSense(difference.Was),
			formatSense(difference.Is),
			difference.Events,
			difference.Parcels,
			clients)
	}
	return table.Flush()
}

func formatSense(sense tracking.CodeMeaning) string {
	return strings.TrimSpace(orDash(string(sense.Status)) + " " + sense.Reason)
}

func unknownCarrier(specs []carrier.Spec, name string) error {
	names := make([]string, len(specs))
	for i, spec := range specs {
		names[i] = spec.Name
	}

	if near := ship.Nearest(name, names); near != "" {
		return fmt.Errorf("there is no carrier %s (did you mean %s?)", name, near)
	}
	return fmt.Errorf("there is no carrier %s: choose from %s", name, strings.Join(names, ", "))
}

// parseDay is like parseSince but also accepts a date, and requires a value.
func parseDay(text string, now time.Time) (time.Time, error) {
	if at, err := time.Parse(time.DateOnly, text); err == nil && at.Before(now) {
		return at, nil
	}

	at, err := parseSince(text, now)
	if err != nil || at.IsZero() {
		return at, errors.New("--since must be a duration such as 12h or 30d, or a past date or time such as 2027-01-31 or 2027-01-31T12:00:00Z")
	}
	return at, nil
}
