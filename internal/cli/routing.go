package cli

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/waybillhq/waybill/internal/app"
	"github.com/waybillhq/waybill/internal/routing"
	"github.com/waybillhq/waybill/internal/rulebook"
	"github.com/waybillhq/waybill/internal/ship"
)

// tenantFlags choose whose routing a command is about.
type tenantFlags struct {
	account string
	live    bool
}

func (f *tenantFlags) add(cmd *cobra.Command) {
	accountFlag(cmd, &f.account, oneAccount)
	cmd.Flags().BoolVar(&f.live, "live", false, "use live data (default: test data)")
}

// policy is one tenant's routing, opened.
type policy struct {
	*rulebook.Service
	tenant  ship.Tenant
	account ship.Account
}

// withPolicy runs fn on the routing that the flags choose.
func (c *cli) withPolicy(ctx context.Context, whose tenantFlags, fn func(policy) error) error {
	cfg, err := c.settings()
	if err != nil {
		return err
	}
	rules, accounts, done, err := app.OpenRules(ctx, cfg, c.Carriers, app.NewLogger(cfg, c.Err))
	if err != nil {
		return err
	}
	defer done()

	owner, err := chooseAccount(ctx, accounts, whose.account)
	if err != nil {
		return err
	}
	return fn(policy{rules, ship.Tenant{Account: owner.ID, Livemode: whose.live}, owner})
}

func (c *cli) routingCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "routing",
		Short: "Check, simulate and publish the rules that choose a carrier",
		Long: "Check, simulate and publish the rules that choose a carrier. Rules are a JSON file: check it,\n" +
			"save it as the draft, simulate it on past shipments, and publish it. Rules take effect only when\n" +
			"published, and every version can be published again.",
		Example: "  waybill routing check rules.json\n" +
			"  waybill routing simulate rules.json --last 10000\n" +
			"  waybill routing draft rules.json && waybill routing publish --note 'USPS to Alaska'",
		Args: requireSubcommand,
		RunE: showHelp,
	}

	cmd.AddCommand(
		c.routingShowCommand(),
		c.routingCheckCommand(),
		c.routingDraftCommand(),
		c.routingDiscardCommand(),
		c.routingPublishCommand(),
		c.routingHistoryCommand(),
		c.routingRollbackCommand(),
		c.routingVariablesCommand(),
		c.routingSimulateCommand(),
	)
	return cmd
}

func (c *cli) routingShowCommand() *cobra.Command {
	var (
		whose  tenantFlags
		which  versionFlags
		asJSON bool
	)
	cmd := &cobra.Command{
		Use:   "show [--draft | --version N]",
		Short: "Show the active rules",
		Long: "Show the active rules, the draft, or an earlier version. With --json they are printed as the\n" +
			"file that the other commands read.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.withPolicy(cmd.Context(), whose, func(p policy) error {
				version, err := which.find(cmd.Context(), p)
				if ship.CodeOf(err) == "version_not_found" && which.version == 0 {
					fmt.Fprintln(c.Err, "no rules are published: the cheapest offer that meets the deadline is bought")
					version = rulebook.Version{Rules: routing.Book{Rules: []routing.Rule{}}}
					err = nil
				}
				if err != nil {
					return err
				}

				if asJSON {
					return c.printBook(version.Rules)
				}
				return c.printVersion(cmd.Context(), p, version, which.draft)
			})
		},
	}

	whose.add(cmd)
	which.add(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the JSON file")
	return cmd
}

// versionFlags choose one of the stored rule books.
type versionFlags struct {
	draft   bool
	version int
}

func (f *versionFlags) add(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.draft, "draft", false, "show the draft")
	cmd.Flags().IntVar(&f.version, "version", 0, "published version to show (default: the newest)")
	cmd.MarkFlagsMutuallyExclusive("draft", "version")
}

func (f *versionFlags) find(ctx context.Context, p policy) (rulebook.Version, error) {
	if f.version < 0 {
		return rulebook.Version{}, errors.New("--version must be 1 or more")
	}
	if f.draft {
		return p.readDraft(ctx)
	}
	return p.Published(ctx, p.tenant, f.version)
}

// readDraft returns the draft. What became invalid since it was saved is added
// to its warnings: the draft can still be read.
func (p policy) readDraft(ctx context.Context) (rulebook.Version, error) {
	draft, err := p.Draft(ctx, p.tenant)
	invalid, ok := errors.AsType[*ship.Error](err)
	if !ok || invalid.Kind != ship.Invalid {
		return draft, err
	}

	for _, field := range invalid.Fields {
		draft.Warnings = append(draft.Warnings, field.Pointer+" "+field.Detail)
	}
	return draft, nil
}

// printVersion prints rules for a person, and to Err which rules they are.
func (c *cli) printVersion(ctx context.Context, p policy, version rulebook.Version, isDraft bool) error {
	switch {
	case isDraft:
		fmt.Fprintf(c.Err, "draft of %s (%s), saved %s, based on version %d\n", p.account.Name, modeName(p.tenant), formatMinute(version.WrittenAt), version.Version)
	case version.Version > 0:
		fmt.Fprintf(c.Err, "version %d of %s (%s), published %s%s\n", version.Version, p.account.Name, modeName(p.tenant), formatMinute(version.WrittenAt), noteSuffix(version))
	}

	// A forgotten draft is mentioned: whoever looks at the rules may miss their
	// own changes.
	if !isDraft {
		if draft, err := p.readDraft(ctx); err == nil {
			fmt.Fprintf(c.Err, "there is a draft, saved %s: see \"waybill routing show --draft\"\n", formatMinute(draft.WrittenAt))
		} else if ship.KindOf(err) != ship.NotFound {
			return err
		}
	}

	c.printWarnings(version.Warnings)
	return c.printRules(version.Rules)
}

func (c *cli) printWarnings(list []string) {
	for _, warning := range list {
		fmt.Fprintf(c.Err, "warning: %s\n", warning)
	}
}

func (c *cli) routingHistoryCommand() *cobra.Command {
	var (
		whose  tenantFlags
		limit  int
		asJSON bool
	)
	cmd := &cobra.Command{
		Use:   "history [--limit 20]",
		Short: "List published versions, newest first",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.withPolicy(cmd.Context(), whose, func(p policy) error {
				list, err := p.Versions(cmd.Context(), p.tenant, 0, limit)
				if err != nil {
					return err
				}
				if asJSON {
					return c.printJSON(shownVersions(list))
				}
				if len(list) == 0 {
					fmt.Fprintln(c.Err, "no rules are published")
					return nil
				}

				table := tabwriter.NewWriter(c.Out, 0, 0, 2, ' ', 0)
				fmt.Fprintln(table, "VERSION\tPUBLISHED\tRULES\tNOTE")
				for _, version := range list {
					fmt.Fprintf(table, "%d\t%s\t%d\t%s\n", version.Version, formatMinute(version.WrittenAt), len(version.Rules.Rules), orDash(historyNote(version)))
				}
				return table.Flush()
			})
		},
	}

	whose.add(cmd)
	cmd.Flags().IntVar(&limit, "limit", 20, "maximum number of versions")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON, one version per line")
	return cmd
}

func (c *cli) routingRollbackCommand() *cobra.Command {
	var (
		whose tenantFlags
		note  string
	)
	cmd := &cobra.Command{
		Use:   "rollback VERSION",
		Short: "Publish an earlier version again",
		Long:  "Publish an earlier version again, as a new version; the history keeps both. The draft is unchanged.",
		Args:  oneArgument,
		RunE: func(cmd *cobra.Command, args []string) error {
			earlier, err := strconv.Atoi(args[0])
			if err != nil || earlier < 1 {
				return errors.New("the version must be a number, 1 or more; \"waybill routing history\" lists the versions")
			}

			return c.withPolicy(cmd.Context(), whose, func(p policy) error {
				published, err := p.RollBack(cmd.Context(), p.tenant, earlier, note)
				if err != nil {
					return err
				}
				c.printWarnings(published.Warnings)
				fmt.Fprintf(c.Err, "version %d, with the rules of version %d, is now active; running copies apply it within two seconds\n", published.Version, earlier)
				_, err = fmt.Fprintln(c.Out, published.Version)
				return err
			})
		},
	}

	whose.add(cmd)
	cmd.Flags().StringVar(&note, "note", "", "reason, shown in the history")
	return cmd
}
