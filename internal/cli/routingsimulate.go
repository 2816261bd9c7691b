package cli

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/waybillhq/waybill/internal/api"
	"github.com/waybillhq/waybill/internal/routing"
	"github.com/waybillhq/waybill/internal/rulebook"
	"github.com/waybillhq/waybill/internal/ship"
)

// simulateFlags say which rules are tried on which shipments.
type simulateFlags struct {
	whose  tenantFlags
	which  versionFlags
	last   int
	since  string
	asJSON bool
}

func (c *cli) routingSimulateCommand() *cobra.Command {
	var f simulateFlags
	cmd := &cobra.Command{
		Use:   "simulate [FILE | --draft | --version N] [--last N] [--since 30d]",
		Short: "Simulate rules on past shipments and show changes in carrier, cost and time",
		Long: "Simulate rules on past shipments, newest first: which would have shipped differently, and what\n" +
			"that would have cost or saved, in money and days. It uses the offers that were stored with each\n" +
			"shipment; nothing is bought and no carrier is called. Without FILE it uses the draft.",
		Example: "  waybill routing simulate rules.json --last 10000\n" +
			"  waybill routing simulate --draft --since 30d --json",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.simulate(cmd.Context(), f, args)
		},
	}

	f.whose.add(cmd)
	f.which.add(cmd)
	flags := cmd.Flags()
	flags.Lookup("version").Usage = "published version to simulate"
	flags.IntVar(&f.last, "last", 10_000, fmt.Sprintf("number of shipments to examine, at most %d", rulebook.MostSimulated))
	flags.StringVar(&f.since, "since", "", "only shipments created since: 12h, 30d, 2027-01-31 or 2027-01-31T12:00:00Z")
	flags.BoolVar(&f.asJSON, "json", false, "print the result as one line of JSON")
	return cmd
}

func (c *cli) simulate(ctx context.Context, flags simulateFlags, args []string) error {
	if flags.last < 1 || flags.last > rulebook.MostSimulated {
		return fmt.Errorf("--last must be from 1 to %d", rulebook.MostSimulated)
	}
	if len(args) == 1 && (flags.which.draft || flags.which.version != 0) {
		return fmt.Errorf("use only one of FILE, --draft and --version")
	}

	in := rulebook.SimulateInput{Last: flags.last}
	if flags.since != "" {
		var err error
		if in.Since, err = parseDay(flags.since, time.Now()); err != nil {
			return err
		}
	}

	// A file is read before the database is opened: errors in it are shown
	// at once.
	file := source{name: "the stored rules"}
	if len(args) == 1 {
		var err error
		if file, in.Rules, err = c.readBook(args[0], c.Err); err != nil {
			return err
		}
	}

	return c.withPolicy(ctx, flags.whose, func(p policy) error {
		if len(args) == 0 {
			var err error
			if in.Rules, err = flags.storedRules(ctx, p); err != nil {
				return err
			}
		}

		progress := newBar(c.Err)
		in.Tenant = p.tenant
		in.Account = p.account
		in.Progress = progress.update
		simulation, err := p.Simulate(ctx, in)
		progress.close()
		if err := file.explain(c.Err, err); err != nil {
			return err
		}

		if flags.asJSON {
			return c.printJSON([]any{api.SimulationOf(simulation)})
		}
		return c.printSimulation(simulation)
	})
}

// storedRules returns a version, or the draft.
func (f *simulateFlags) storedRules(ctx context.Context, p policy) (routing.Book, error) {
	which := f.which
	which.draft = which.version == 0
	version, err := which.find(ctx, p)
	if ship.CodeOf(err) == "draft_not_found" {
		return version.Rules, fmt.Errorf("there is no draft: save one with \"waybill routing draft FILE\", or pass a file or --version")
	}
	return version.Rules, err
}

// bar shows how far a long command is: a bar in a terminal, a line for each
// tenth elsewhere.
type bar struct {
	out      io.Writer
	terminal bool
	shown    time.Time // when the bar was last drawn
	tenths   int
}

func newBar(out io.Writer) *bar { return &bar{out: unguarded(out), terminal: isTerminal(out)} }

const barWidth = 30

// update shows that done of at most most shipments were looked at.
func (b *bar) update(done, most int) {
	if !b.terminal {
		if tenths := done * 10 / most; tenths > b.tenths {
			b.tenths = tenths
			fmt.Fprintf(b.out, "looked at %d of at most %d shipments\n", done, most)
		}
		return
	}

	// Drawing at every step would slow the simulation down.
	if now := time.Now(); now.Sub(b.shown) > 50*time.Millisecond || done == most {
		b.shown = now
		full := barWidth * done / most
		fmt.Fprintf(b.out, "\r\x1b[K[%s%s] %3d %%  %d of at most %d shipments", strings.Repeat("#", full), strings.Repeat("-", barWidth-full), 100*done/most, done, most)
	}
}

// close removes the bar.
func (b *bar) close() {
	if b.terminal {
		fmt.Fprint(b.out, "\r\x1b[K")
	}
}
