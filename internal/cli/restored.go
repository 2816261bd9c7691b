package cli

import (
	"errors"
	"fmt"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/waybillhq/waybill/internal/app"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// restoredFlags are what a person decides about purchases that a restore lost.
type restoredFlags struct {
	adopt, hold, void bool
	all, dryRun, goOn bool
	account           string
}

// decision is the state that the flags give to a purchase; empty for none.
func (f restoredFlags) decision() string {
	switch {
	case f.adopt:
		return store.PurchaseAdopting
	case f.hold:
		return store.PurchaseHeld
	case f.void:
		return store.PurchaseVoiding
	}
	return ""
}

func (c *cli) restoredCommand() *cobra.Command {
	var flags restoredFlags
	cmd := &cobra.Command{
		Use:   "restored [SHIPMENT...]",
		Short: "Record a restore of the database, and decide about the purchases that it lost",
		Long: "Record that the database was restored to an earlier point in time, and list the live purchases that\n" +
			"it lost: those that the recovery logs in SPOOL_DIR have. The service notices a restore by itself where\n" +
			"one of these directories is left; otherwise run this command before the service starts.\n\n" +
			"An account with missing purchases makes no new live purchases (503 restore_pending) until each is\n" +
			"decided: --adopt records it again with its label, --hold leaves it as it is, --void voids its label.\n" +
			"Name shipments, or use --all. The service carries the decisions out within seconds. Nothing that a\n" +
			"restore lost is voided otherwise. --continue releases all accounts: what is undecided is held, and\n" +
			"purchases under a key are no longer looked up before they are made.",
		RunE: func(cmd *cobra.Command, args []string) error { return c.restored(cmd, args, flags) },
	}

	cmd.Flags().BoolVar(&flags.adopt, "adopt", false, "record the purchases again, with their labels, charges and keys")
	cmd.Flags().BoolVar(&flags.hold, "hold", false, "leave the purchases as they are, and release their accounts")
	cmd.Flags().BoolVar(&flags.void, "void", false, "void the labels of the purchases")
	cmd.Flags().BoolVar(&flags.all, "all", false, "decide about all missing purchases that are listed")
	cmd.Flags().StringVar(&flags.account, "account", "", "list and decide only purchases of this account")
	cmd.Flags().BoolVar(&flags.dryRun, "dry-run", false, "change nothing: list what is missing, and what would be decided")
	cmd.Flags().BoolVar(&flags.goOn, "continue", false, "release all accounts, and hold what is undecided")
	cmd.MarkFlagsMutuallyExclusive("adopt", "hold", "void", "continue")
	return cmd
}

// errNoDecision is the error of shipments without a decision.
var errNoDecision = errors.New("say what to do with them: --adopt, --hold or --void")

// check returns what is wrong with the flags.
func (f restoredFlags) check(shipments []string) error {
	isChosen := len(shipments) > 0 || f.all
	switch {
	case f.decision() == "" && isChosen:
		return errNoDecision
	case f.decision() != "" && !isChosen:
		return errors.New("name shipments, or use --all for all that are listed")
	case len(shipments) > 0 && f.all:
		return errors.New("name shipments or use --all, not both")
	}
	return nil
}

func (c *cli) restored(cmd *cobra.Command, shipments []string, flags restoredFlags) error {
	if err := flags.check(shipments); err != nil {
		return err
	}
	cfg, err := c.settings()
	if err != nil {
		return err
	}
	ctx := cmd.Context()
	review, err := app.OpenRestoreReview(ctx, cfg)
	if err != nil {
		return err
	}
	defer review.Close()

	state, err := review.State(ctx)
	if err != nil {
		return err
	}
	list, err := review.Missing(ctx, ship.AccountID(flags.account))
	if err != nil {
		return err
	}

	// A restore that is being reviewed is the one that is meant.
	isOpen := state.AsksCarriers || len(list) > 0
	if flags.decision() == "" && !flags.goOn && !flags.dryRun && !isOpen {
		if err := review.Record(ctx); err != nil {
			return err
		}
		fmt.Fprintln(c.Out, "recorded: purchases under a key are looked up until every copy has compared its recovery log; run this command again to see what is missing")
		return nil
	}

	chosen := list
	if len(shipments) > 0 {
		if chosen, err = named(list, shipments); err != nil {
			return err
		}
	}
	c.printMissing(chosen, flags)
	if state.AsksCarriers {
		fmt.Fprintln(c.Out, "not every copy has compared its recovery log since the restore of", state.NoticedAt.Format(time.RFC3339)+": purchases under a key are looked up first")
	}
	if flags.dryRun {
		return nil
	}

	if flags.goOn {
		if err := review.Continue(ctx); err != nil {
			return err
		}
		_, err := fmt.Fprintln(c.Out, "continued: all accounts are released, and what was undecided is held")
		return err
	}
	if flags.decision() == "" {
		return nil
	}
	if err := review.Decide(ctx, chosen, len(shipments) > 0, flags.decision()); err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.Out, "decided: %d; the service carries it out\n", len(chosen))
	return err
}

// named returns the missing purchases of the shipments.
func named(list []store.MissingPurchase, shipments []string) (chosen []store.MissingPurchase, err error) {
	for _, id := range shipments {
		i := slices.IndexFunc(list, func(missing store.MissingPurchase) bool { return string(missing.Shipment) == id })
		if i < 0 {
			return nil, fmt.Errorf("no purchase of shipment %s is missing; \"waybill restored --dry-run\" lists those that are", id)
		}
		chosen = append(chosen, list[i])
	}
	return chosen, nil
}

// printMissing lists missing purchases, with what the flags make of them.
func (c *cli) printMissing(list []store.MissingPurchase, flags restoredFlags) {
	if len(list) == 0 {
		fmt.Fprintln(c.Out, "no purchase is missing")
		return
	}

	table := tabwriter.NewWriter(c.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "SHIPMENT\tACCOUNT\tREQUESTED\tCARRIER\tNUMBER\tPRICE\tKEY\tSTATE")
	for _, missing := range list {
		number, price := "-", "-"
		if missing.Number != "" {
			number, price = missing.Number, missing.Price.String()
		}
		key := "no"
		if missing.Key != "" {
			key = "yes"
		}
		state := missing.State
		if flags.dryRun && flags.decision() != "" {
			state += " -> " + flags.decision()
		}
		if missing.Message != "" {
			state += ": " + missing.Message
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", missing.Shipment, missing.Tenant.Account,
			missing.RequestedAt.UTC().Format(time.RFC3339), missing.Carrier, number, price, key, state)
	}
	_ = table.Flush() // as all output, it is written to the terminal or lost with it
}
