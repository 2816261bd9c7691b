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
		Short: "List carriers' codes without a meaning, and run a better table over history",
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
		Short: "List the carriers' codes that have no meaning, the one last told first",
		Long: "List the carriers' codes that no status table knew when they were told, the one last told first.\n" +
			"Their events are kept without a status. Where the table of this version knows the code,\n" +
			"\"waybill tracking replay\" gives them one.",
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
	cmd.Flags().StringVar(&since, "since", "90d", "of parcels made since: 12h, 30d, 2027-01-31 or 2027-01-31T12:00:00Z")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON, one code a line")
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
		return nil, fmt.Errorf("there is no account %s: \"waybill account list\" shows them", id)
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
		fmt.Fprintln(c.Err, "every code that was told has a meaning")
		return nil
	}

	table := tabwriter.NewWriter(c.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "CARRIER\tCODE\tEVENTS\tPARCELS\tNEWEST\tKNOWN NOW\tDESCRIPTION")
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

// printable returns a carrier's or a client's text for one line of a table. The
// control characters in it could otherwise steer the terminal.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 {
			return ' '
		}
		return r
	}, text)
}

func (c *cli) trackingReplayCommand() *cobra.Command {
	var (
		name, since string
		apply       bool
	)
	cmd := &cobra.Command{
		Use:   "replay --carrier NAME --since DATE [--apply]",
		Short: "Run this version's status table over the tracking events that are stored",
		Long: "Run this version's status table over the tracking events that are stored, and show which would\n" +
			"mean something else. Nothing is changed without --apply. With it, an event that has a status for\n" +
			"the first time is told to the client like a new one; what clients were told before is put right\n" +
			"without telling them again. It may be stopped at any moment and run again. Replace every running\n" +
			"copy first: one with the old table reads new events by it.",
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
	flags.StringVar(&since, "since", "", "of parcels made since: 12h, 30d, 2027-01-31 or 2027-01-31T12:00:00Z")
	flags.BoolVar(&apply, "apply", false, "correct what differs")
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
	fmt.Fprintf(c.Err, "looked at %d parcels of %s\n", found.Parcels, in.Spec.Title)
	if len(found.Differences) == 0 {
		fmt.Fprintln(c.Err, "every code means what it meant")
		return nil
	}

	if err := c.printDifferences(found.Differences); err != nil {
		return err
	}
	if !apply {
		fmt.Fprintln(c.Err, "nothing was changed: add --apply to correct it")
		return nil
	}

	// The totals are printed also after an error: what was corrected by then
	// stays.
	in.Apply = true
	done, err := service.Replay(ctx, in)
	fmt.Fprintf(c.Err, "corrected %d tracking events; %d parcels have another status; %d events are told to clients\n", done.Corrected, done.Moved, done.Written)
	return err
}

func (c *cli) printDifferences(list []tracking.Difference) error {
	table := tabwriter.NewWriter(c.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "CODE\tWAS\tIS\tEVENTS\tPARCELS\tCLIENTS")
	for _, difference := range list {
		clients := "are told"
		switch {
		case difference.Notified:
			clients = "are not told again"
		case difference.Is.Status == "":
			clients = "need not know"
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
	return fmt.Errorf("there is no carrier %s: it is one of %s", name, strings.Join(names, ", "))
}

// parseDay is parseSince that takes a date too, and requires one of them.
func parseDay(text string, now time.Time) (time.Time, error) {
	if at, err := time.Parse(time.DateOnly, text); err == nil && at.Before(now) {
		return at, nil
	}

	at, err := parseSince(text, now)
	if err != nil || at.IsZero() {
		return at, errors.New("--since is not understood: write 12h, 30d, a date such as 2027-01-31 or a time such as 2027-01-31T12:00:00Z that is past")
	}
	return at, nil
}
