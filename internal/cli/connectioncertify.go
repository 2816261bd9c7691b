package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/waybillhq/waybill/internal/account"
	"github.com/waybillhq/waybill/internal/app"
	"github.com/waybillhq/waybill/internal/certify"
	"github.com/waybillhq/waybill/internal/label"
)

// certification is the command "waybill connection certify".
type certification struct {
	*cli
	account  string
	dir      string
	services []string
	wait     time.Duration
	live     bool
	asJSON   bool
}

func (c *cli) connectionCertifyCommand() *cobra.Command {
	run := &certification{cli: c}
	cmd := &cobra.Command{
		Use:   "certify CONNECTION_ID --out DIR [--account ID]",
		Short: "Buy and void test labels, and write a report for the carrier's go-live review",
		Long: "Test everything a connection must do, against the carrier's test environment or an emulator:\n" +
			"sign-in, rates of every service, a domestic, a multi-piece and an international purchase, labels in\n" +
			"all formats, lookup, tracking and void. It lists its purchases before it starts, records each one in\n" +
			"DIR/report.json before the carrier is called, and voids them all at the end.\n\n" +
			"DIR receives the report as Markdown and JSON, the labels, the requests and responses without secrets,\n" +
			"and the documents and steps of the carrier's go-live review. The exit code is 1 if a check fails.",
		Example: "  waybill connection certify con_... --out ups-report\n" +
			"  waybill connection certify con_... --out fedex-report --services all",
		Args: oneArgument,
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.withConnection(cmd.Context(), args[0], run.account, func(accounts *account.Service, found account.Connection) error {
				return run.run(cmd.Context(), accounts, found)
			})
		},
	}

	flags := cmd.Flags()
	accountFlag(cmd, &run.account, owningAccount)
	flags.StringVar(&run.dir, "out", "", "directory for the report; must be new or empty")
	flags.StringSliceVar(&run.services, "services", nil, "services to buy one more label of each, comma-separated, or \"all\" for every quoted service")
	flags.DurationVar(&run.wait, "lookup-wait", 0, "how long to retry a lookup that finds nothing (default: the carrier's known delay, at most 2m)")
	flags.BoolVar(&run.live, "live", false, "certify a live connection: it buys real labels, which cost money unless the carrier voids them")
	flags.BoolVar(&run.asJSON, "json", false, "print the report as JSON")
	return cmd
}

func (c *certification) run(ctx context.Context, accounts *account.Service, found account.Connection) error {
	// Certification buys labels. With a live connection they cost money, so it
	// must be asked for by a flag of its own.
	switch {
	case c.dir == "":
		return errors.New("--out DIR is required: the directory for the report")
	case found.Tenant.Livemode && !c.live:
		return errors.New("this connection is live and certification buys labels: use a test connection, or add --live to spend money")
	case !found.Tenant.Livemode && c.live:
		return errors.New("this connection is a test connection: omit --live")
	}

	walk, err := c.prepare(ctx, accounts, found)
	if err != nil {
		return err
	}
	c.announce(walk, found)

	// The report is printed also after an error: it may list labels that are
	// still to be voided.
	report, err := walk.Run(ctx)
	if c.asJSON {
		err = errors.Join(err, c.printJSON([]any{report}))
	}
	c.summarize(report)
	if err == nil && (report.Count(certify.Failed) > 0 || len(report.Open()) > 0) {
		return ErrUnhealthy
	}
	return err
}

// prepare opens the connection.
func (c *certification) prepare(ctx context.Context, accounts *account.Service, found account.Connection) (*certify.Walk, error) {
	cfg, err := c.settings()
	if err != nil {
		return nil, err
	}
	owner, err := accounts.Account(ctx, found.Tenant.Account)
	if err != nil {
		return nil, err
	}
	opened, err := accounts.Carrier(ctx, found.Tenant, found.ID)
	if err != nil {
		return nil, err
	}
	labels, err := label.NewRenderer(cfg.FontDir)
	if err != nil {
		return nil, err
	}

	return certify.New(certify.Options{
		Carrier:    opened,
		Tenant:     found.Tenant,
		Account:    owner,
		Fields:     found.Fields,
		Dir:        c.dir,
		Version:    app.Version(),
		Services:   c.services,
		LookupWait: c.wait,
		Scale:      cfg.LookupScale,
		Measured: func(ctx context.Context, delay time.Duration) error {
			return accounts.RecordMeasurement(ctx, found.Tenant, found.ID, delay)
		},
		Measure:  accounts.MeasureLater,
		Labels:   labels,
		Progress: c.progress,
	})
}

// announce says what will be bought.
func (c *certification) announce(walk *certify.Walk, found account.Connection) {
	fmt.Fprintf(c.Err, "%s %s %q (%s) will buy:\n", found.ID, found.Carrier, found.Name, modeName(found.Tenant))
	for _, line := range walk.Plan() {
		fmt.Fprintf(c.Err, "  %s\n", line)
	}
	if walk.Voids() {
		fmt.Fprintln(c.Err, "and void all of it at the end")
	} else {
		fmt.Fprintln(c.Err, "and leave it unused: the carrier cannot void labels")
	}
}

// progress prints one check. With --json only the report is printed.
func (c *certification) progress(check certify.Check) {
	if c.asJSON {
		return
	}

	result := string(check.Result)
	switch check.Result {
	case certify.Failed:
		result = "FAIL"
	case certify.NotTestable:
		result = "not testable"
	}
	code := ""
	if check.CarrierCode != "" {
		code = " [" + check.CarrierCode + "]"
	}
	fmt.Fprintf(c.Out, "%-12s  %s: %s%s\n", result, check.Name, check.Message, code)
}

// summarize says where the report is, and which purchases need attention.
func (c *certification) summarize(report certify.Report) {
	fmt.Fprintf(c.Err, "%d ok, %d failed, %d not testable, %d skipped; the report is %s\n",
		report.Count(certify.OK),
		report.Count(certify.Failed),
		report.Count(certify.NotTestable),
		report.Count(certify.Skipped),
		filepath.Join(c.dir, "report.md"))
	for _, purchase := range report.Purchases {
		if purchase.State == certify.Measuring {
			fmt.Fprintf(c.Err, "%s is not visible yet: the worker looks it up until 60 minutes after its sale, stores the delay and voids it\n", purchase.TrackingNumber)
		}
	}
	for _, purchase := range report.Open() {
		fmt.Fprintf(c.Err, "needs attention: %s is %s, reference %s %s\n", purchase.Name, purchase.State, purchase.Reference, purchase.TrackingNumber)
	}
}
