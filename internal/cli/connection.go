package cli

import (
	"context"
	"errors"
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/waybillhq/waybill/internal/account"
	"github.com/waybillhq/waybill/internal/app"
	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/all"
	"github.com/waybillhq/waybill/internal/ship"
)

// withConnections runs fn on the accounts of the database, with the keys of
// their connections.
func (c *cli) withConnections(ctx context.Context, fn func(*account.Service) error) error {
	cfg, err := c.settings()
	if err != nil {
		return err
	}
	accounts, done, err := app.OpenConnections(ctx, cfg, c.Carriers, app.NewLogger(cfg, c.Err))
	if err != nil {
		return err
	}
	defer done()
	return fn(accounts)
}

func (c *cli) connectionCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "connection",
		Short: "Connect accounts with carriers, and check, rotate and remove the connections",
		Long: "Connect accounts with carriers. Credentials are stored encrypted, and nothing shows them again.\n" +
			"\"waybill connection fields ups\" says what a carrier needs and where to find it.",
		Args: aCommand,
		RunE: help,
	}
	cmd.AddCommand(c.connectionAddCommand(), c.connectionUpdateCommand(), c.connectionListCommand(), c.connectionCheckCommand(),
		c.connectionCertifyCommand(), c.connectionPushCommand(), c.connectionRemoveCommand(), c.connectionRotateCommand(), c.connectionFieldsCommand())
	return cmd
}

func (c *cli) connectionAddCommand() *cobra.Command {
	var (
		id    string
		in    account.AddConnectionInput
		given credentialFlags
	)
	cmd := &cobra.Command{
		Use:   "add --carrier NAME [--account ID] [--live]",
		Short: "Connect a carrier account, and print the connection's id",
		Long: "Connect a carrier account, and print the connection's id. What is not given is asked for in a\n" +
			"terminal, secrets without showing them. Then \"waybill connection check\" tries it.",
		Example: "  waybill connection add --carrier ups --live --name Main --set client_id=... --set-file client_secret=/run/secrets/ups\n" +
			"  waybill connection add --carrier usps --credentials - < usps.json",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.withConnections(cmd.Context(), func(accounts *account.Service) error {
				a, err := chosen(cmd.Context(), accounts, id)
				if err != nil {
					return err
				}
				if in.Carrier == "" {
					return errors.New("say which carrier: --carrier ups; \"waybill connection fields\" lists them")
				}
				// Nobody should type credentials that cannot be stored.
				if err := accounts.CanConnect(in.Tenant.Livemode); err != nil {
					return err
				}
				if spec, known := connectable(accounts.Specs(), in.Carrier); known {
					if in.Credentials, err = c.credentials(cmd.Context(), given, spec, true); err != nil {
						return err
					}
				}
				in.Tenant.Account = a.ID
				made, err := accounts.AddConnection(cmd.Context(), in)
				if err != nil {
					return err
				}
				fmt.Fprintf(c.Err, "connected %s %q of %s (%s)\n", made.Carrier, made.Name, a.Name, modeOf(made.Tenant))
				_, err = fmt.Fprintln(c.Out, made.ID)
				return err
			})
		},
	}
	flags := cmd.Flags()
	accountFlag(cmd, &id, oneAccount)
	flags.BoolVar(&in.Tenant.Livemode, "live", false, "for live labels, which cost money; without it, the carrier's own sandbox")
	flags.StringVar(&in.Carrier, "carrier", "", "name of the carrier; \"waybill connection fields\" lists them")
	flags.StringVar(&in.Name, "name", "", "what to call it, to tell several of one carrier apart (default: the carrier's name)")
	given.add(cmd)
	return cmd
}

func (c *cli) connectionUpdateCommand() *cobra.Command {
	var (
		of    string
		name  string
		given credentialFlags
	)
	cmd := &cobra.Command{
		Use:   "update CONNECTION_ID [--account ID]",
		Short: "Enter credentials that have changed; what is not given stays",
		Args:  oneArgument,
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.withConnection(cmd.Context(), args[0], of, func(accounts *account.Service, found account.Connection) error {
				spec, _ := connectable(accounts.Specs(), found.Carrier)
				values, err := c.credentials(cmd.Context(), given, spec, name == "" && given.none())
				if err != nil {
					return err
				}
				in := account.UpdateConnectionInput{Tenant: found.Tenant, ID: found.ID, Name: name, Credentials: values}
				if _, err := accounts.UpdateConnection(cmd.Context(), in); err != nil {
					return err
				}
				fmt.Fprintf(c.Err, "%s is changed; running copies use it within seconds\n", found.ID)
				return nil
			})
		},
	}
	accountFlag(cmd, &of, ofAccount)
	cmd.Flags().StringVar(&name, "name", "", "what to call it from now on")
	given.add(cmd)
	return cmd
}

// withConnection runs fn on the connection of the id, which is the account's of
// --account if there is one.
func (c *cli) withConnection(ctx context.Context, text, of string, fn func(*account.Service, account.Connection) error) error {
	id, err := connectionID(text)
	if err != nil {
		return err
	}
	return c.withConnections(ctx, func(accounts *account.Service) error {
		found, err := accounts.FindConnection(ctx, id)
		if err != nil {
			return err
		}
		if of != "" && string(found.Tenant.Account) != of {
			return notOf(text, of)
		}
		return fn(accounts, found)
	})
}

func connectionID(text string) (ship.ConnectionID, error) {
	id, ok := ship.ParseConnectionID(text)
	if !ok {
		return id, errors.New("that is not the id of a connection: it begins with con_, and \"waybill connection list\" shows it")
	}
	return id, nil
}

func (c *cli) connectionRemoveCommand() *cobra.Command {
	var of string
	cmd := &cobra.Command{
		Use:   "remove CONNECTION_ID [--account ID]",
		Short: "Take a connection out of use",
		Long:  "Take a connection out of use. It is kept, encrypted, so that what was bought through it can still be settled and voided.",
		Args:  oneArgument,
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.withConnection(cmd.Context(), args[0], of, func(accounts *account.Service, found account.Connection) error {
				if err := accounts.RemoveConnection(cmd.Context(), found.Tenant, found.ID); err != nil {
					return err
				}
				fmt.Fprintf(c.Err, "%s is removed; running copies buy nothing through it within seconds\n", found.ID)
				return nil
			})
		},
	}
	accountFlag(cmd, &of, ofAccount)
	return cmd
}

func (c *cli) connectionRotateCommand() *cobra.Command {
	var every bool
	cmd := &cobra.Command{
		Use:   "rotate",
		Short: "Bring the keys of all credentials under the present SECRET_KEY or SECRET_KMS",
		Long: "Bring the keys of all credentials under the first key of SECRET_KEY or SECRET_KMS. The service\n" +
			"goes on working. Afterwards the old key is no longer needed for them, if nothing fails here.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.withConnections(cmd.Context(), func(accounts *account.Service) error {
				r, err := accounts.RotateConnections(cmd.Context(), every)
				if err != nil {
					return err
				}
				fmt.Fprintf(c.Out, "%d rewrapped, %d were under the present key, %d failed\n", r.Rewrapped, r.Current, len(r.Failed))
				for _, id := range r.Failed {
					fmt.Fprintf(c.Out, "%s cannot be decrypted: \"waybill connection check %s\" says what to do\n", id, id)
				}
				if len(r.Failed) > 0 {
					return ErrUnhealthy
				}
				return nil
			})
		},
	}
	cmd.Flags().BoolVar(&every, "all", false, "also those under the present key, for a key service that has made a new version of it")
	return cmd
}

func (c *cli) connectionFieldsCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "fields [CARRIER]",
		Short: "Say what a carrier needs, and where to find it",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			specs := c.Carriers
			if specs == nil {
				specs = all.Specs
			}
			w := tabwriter.NewWriter(c.Out, 0, 0, 2, ' ', 0)
			if len(args) == 0 {
				for _, s := range specs {
					fmt.Fprintf(w, "%s\t%s\n", s.Name, s.Title)
				}
				return w.Flush()
			}
			spec, ok := connectable(specs, args[0])
			if !ok {
				return fmt.Errorf("there is no carrier %q: \"waybill connection fields\" lists them", args[0])
			}
			fmt.Fprintln(w, "FIELD\tWHAT\t\tWHERE TO FIND IT")
			for _, f := range spec.Fields {
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", f.Name, f.Title, kindOf(f), f.Help)
			}
			return w.Flush()
		},
	}
}

func kindOf(f carrier.Field) string {
	switch {
	case f.Secret && f.Required:
		return "required, secret"
	case f.Required:
		return "required"
	case f.Secret:
		return "optional, secret"
	}
	return "optional"
}

func connectable(specs []carrier.Spec, name string) (carrier.Spec, bool) {
	for _, s := range specs {
		if s.Name == name {
			return s, true
		}
	}
	return carrier.Spec{}, false
}

func modeOf(t ship.Tenant) string {
	if t.Livemode {
		return "live"
	}
	return "test"
}
