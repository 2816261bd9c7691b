package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/waybillhq/waybill/internal/app"
	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/plugin"
	"github.com/waybillhq/waybill/internal/webhook"
)

func (c *cli) carrierCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "carrier",
		Short: "Register carrier plug-ins, and list responses that this version does not know",
		Long: "Register carriers whose driver is a program of its own. Accounts then connect them like any other\n" +
			"carrier. docs/plugins.md describes how to write one; \"waybill carrier verify\" says whether it can be\n" +
			"trusted with money.",
		Args: requireSubcommand,
		RunE: showHelp,
	}
	cmd.AddCommand(
		c.carrierAddCommand(),
		c.carrierListCommand(),
		c.carrierRemoveCommand(),
		c.carrierVerifyCommand(),
		c.carrierDriftCommand(),
	)
	return cmd
}

// secretFlags are the ways to pass the secret of a plug-in.
type secretFlags struct{ text, file string }

func (f *secretFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.text, "secret", "", "secret that the plug-in is configured with (whsec_...); visible to other users of this machine, so prefer --secret-file")
	flags.StringVar(&f.file, "secret-file", "", "file with the secret; - reads it from standard input")
}

// secretLimit bounds a file with a secret.
const secretLimit = 4096

func (c *cli) pluginSecret(f secretFlags) (string, error) {
	switch {
	case (f.text == "") == (f.file == ""):
		return "", errors.New("the secret is required: pass --secret-file PATH or --secret SECRET")
	case f.text != "":
		return f.text, nil
	case f.file != "-":
		text, err := os.ReadFile(f.file)
		if err != nil {
			return "", fmt.Errorf("--secret-file: %w", err)
		}
		return string(text), nil
	case c.In == nil:
		return "", errors.New("--secret-file: there is no standard input")
	}
	text, err := io.ReadAll(io.LimitReader(c.In, secretLimit))
	if err != nil {
		return "", fmt.Errorf("--secret-file: %w", err)
	}
	return string(text), nil
}

// withPlugins runs fn on the plug-ins of the database.
func (c *cli) withPlugins(ctx context.Context, fn func(*plugin.Service) error) error {
	cfg, err := c.settings()
	if err != nil {
		return err
	}
	plugins, done, err := app.OpenPlugins(ctx, cfg, app.NewLogger(cfg, c.Err))
	if err != nil {
		return err
	}
	defer done()
	return fn(plugins)
}

func (c *cli) carrierAddCommand() *cobra.Command {
	var (
		address string
		given   secretFlags
	)
	cmd := &cobra.Command{
		Use:   "add NAME --url URL --secret-file PATH",
		Short: "Register a carrier plug-in, or register it again after a change",
		Long: "Register a carrier plug-in under a name, which is stored with shipments and never changes. The plug-in\n" +
			"must be running: it is asked what it can do. Run the command again with the same name after the\n" +
			"plug-in's address, secret or abilities have changed. Running copies use it within seconds.\n\n" +
			"Plug-ins on private networks need CARRIER_PLUGIN_NETWORKS.",
		Example: "  waybill carrier add acme_parcels --url https://plugins.example.com/acme --secret-file acme.secret",
		Args:    oneArgument,
		RunE: func(cmd *cobra.Command, args []string) error {
			secret, err := c.pluginSecret(given)
			if err != nil {
				return err
			}
			if address == "" {
				return errors.New("--url is required, such as --url https://plugins.example.com/acme")
			}
			return c.withPlugins(cmd.Context(), func(plugins *plugin.Service) error {
				added, err := plugins.Add(cmd.Context(), args[0], address, secret)
				if err != nil {
					return err
				}
				fmt.Fprintf(c.Err, "registered %s (%s): %s\n", added.Name, added.Description.Title, strings.Join(added.Description.Abilities, ", "))
				if added.Description.Can("buy") && !added.Description.Can("find") {
					fmt.Fprintln(c.Err, "it cannot look purchases up: one whose answer is lost waits for a person, and is never bought again by itself")
				}
				fmt.Fprintf(c.Err, "connect an account with: waybill connection add --carrier %s\n", added.Name)
				return nil
			})
		},
	}

	cmd.Flags().StringVar(&address, "url", "", "address of the plug-in; the paths of the operations are added to it")
	given.add(cmd)
	return cmd
}

func (c *cli) carrierListCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the registered carrier plug-ins",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.withPlugins(cmd.Context(), func(plugins *plugin.Service) error {
				list, err := plugins.List(cmd.Context())
				if err != nil {
					return err
				}
				table := tabwriter.NewWriter(c.Out, 0, 0, 2, ' ', 0)
				fmt.Fprintln(table, "NAME\tTITLE\tURL\tABILITIES\tREGISTERED")
				for _, one := range list {
					fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", one.Name, one.Description.Title, one.URL,
						strings.Join(one.Description.Abilities, ","), one.UpdatedAt.Format("2006-01-02"))
				}
				return table.Flush()
			})
		},
	}
}

func (c *cli) carrierRemoveCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "remove NAME",
		Short: "Remove a carrier plug-in that no account uses any more",
		Long: "Remove a carrier plug-in. Its connections must be removed first. Its address and secret are kept, so\n" +
			"that purchases which were made through it can still be settled and voided while it runs.",
		Args: oneArgument,
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.withPlugins(cmd.Context(), func(plugins *plugin.Service) error {
				if err := plugins.Remove(cmd.Context(), args[0]); err != nil {
					return err
				}
				fmt.Fprintf(c.Err, "%s was removed; running copies stop offering it within seconds\n", args[0])
				return nil
			})
		},
	}
}

func (c *cli) carrierVerifyCommand() *cobra.Command {
	var (
		given       secretFlags
		credentials credentialFlags
		asJSON      bool
	)
	cmd := &cobra.Command{
		Use:   "verify URL --secret-file PATH",
		Short: "Run the conformance suite with its faults against a carrier plug-in",
		Long: "Run the conformance suite that Waybill's own carriers pass against a plug-in, in its test mode: every\n" +
			"operation under every fault of the network, signatures, repeats, look-ups, and the claims of its\n" +
			"description. It buys test labels. It needs no database.\n\n" +
			"Grades: A, everything holds and every lost answer is found again. B, everything holds; what cannot be\n" +
			"looked up goes to a person. C, something fails that costs no money. F, money is at stake. The exit code\n" +
			"is 1 for C and F.",
		Example: "  waybill carrier verify http://127.0.0.1:9700 --secret-file acme.secret",
		Args:    oneArgument,
		RunE: func(cmd *cobra.Command, args []string) error {
			secret, err := c.pluginSecret(given)
			if err != nil {
				return err
			}
			target, err := plugin.Open(developerPolicy(), args[0], secret)
			if err != nil {
				return err
			}
			options := plugin.VerifyOptions{}
			if !credentials.none() {
				if options.Credentials, err = c.credentials(cmd.Context(), credentials, carrier.Spec{}, false); err != nil {
					return err
				}
			}

			report, err := target.Verify(cmd.Context(), options)
			if err != nil {
				return err
			}
			if asJSON {
				encoder := json.NewEncoder(c.Out)
				encoder.SetIndent("", "  ")
				err = encoder.Encode(report)
			} else {
				printVerification(c.Out, report)
			}
			if err != nil {
				return err
			}
			if report.Grade == plugin.GradeC || report.Grade == plugin.GradeF {
				return ErrUnhealthy
			}
			return nil
		},
	}

	given.add(cmd)
	credentials.add(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the report as JSON")
	return cmd
}

// developerPolicy allows private networks and this machine: whoever runs the
// command chose the address.
func developerPolicy() webhook.Policy {
	return webhook.Policy{
		Loopback: true,
		Networks: []netip.Prefix{
			netip.MustParsePrefix("10.0.0.0/8"),
			netip.MustParsePrefix("172.16.0.0/12"),
			netip.MustParsePrefix("192.168.0.0/16"),
			netip.MustParsePrefix("fc00::/7"),
		},
	}
}

func printVerification(out io.Writer, report plugin.Report) {
	fmt.Fprintf(out, "%s at %s: grade %s\n\n", report.Title, report.URL, report.Grade)

	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "OPERATION\tREQUIREMENTS\tMET\tUNDER FAULTS\tMET")
	type counts struct{ plain, plainMet, fault, faultMet int }
	var order []string
	byOperation := map[string]*counts{}
	for _, finding := range report.Findings {
		operation := finding.Operation
		if operation == "" {
			operation = "in general"
		}
		if byOperation[operation] == nil {
			byOperation[operation] = &counts{}
			order = append(order, operation)
		}
		count, met := &byOperation[operation].plain, &byOperation[operation].plainMet
		if finding.Fault {
			count, met = &byOperation[operation].fault, &byOperation[operation].faultMet
		}
		*count++
		if finding.Error == "" {
			*met++
		}
	}
	for _, operation := range order {
		n := byOperation[operation]
		fmt.Fprintf(table, "%s\t%d\t%d\t%d\t%d\n", operation, n.plain, n.plainMet, n.fault, n.faultMet)
	}
	_ = table.Flush() // a report that cannot be printed has nobody to tell

	if len(report.Lost) > 0 {
		fmt.Fprintln(out, "\nIf an answer is lost:")
		for _, lost := range report.Lost {
			fmt.Fprintf(out, "  %s: %s\n", lost.Operation, lost.Outcome)
		}
	}
	printFailures(out, "Untrue claims", report, func(f plugin.Finding) bool { return f.Claim })
	printFailures(out, "Lost or done twice under a fault", report, func(f plugin.Finding) bool { return !f.Claim && f.Fault })
	printFailures(out, "Not met", report, func(f plugin.Finding) bool { return !f.Claim && !f.Fault })
}

func printFailures(out io.Writer, title string, report plugin.Report, include func(plugin.Finding) bool) {
	isFirst := true
	for _, failure := range report.Failures() {
		if !include(failure) {
			continue
		}
		if isFirst {
			fmt.Fprintf(out, "\n%s:\n", title)
			isFirst = false
		}
		fmt.Fprintf(out, "  %s: %s\n", failure.Name, failure.Error)
	}
}
