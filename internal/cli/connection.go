package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/waybillhq/waybill/internal/account"
	"github.com/waybillhq/waybill/internal/app"
	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/all"
	"github.com/waybillhq/waybill/internal/plugin"
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
		Short: "Connect carrier accounts, and check, change and remove the connections",
		Long: "Connect carrier accounts. Credentials are stored encrypted and are never shown again.\n" +
			"\"waybill connection fields ups\" lists what a carrier needs and where to find it.",
		Args: requireSubcommand,
		RunE: showHelp,
	}

	cmd.AddCommand(
		c.connectionAddCommand(),
		c.connectionUpdateCommand(),
		c.connectionListCommand(),
		c.connectionCheckCommand(),
		c.connectionCertifyCommand(),
		c.connectionPushCommand(),
		c.connectionRemoveCommand(),
		c.connectionRotateCommand(),
		c.connectionFieldsCommand(),
	)
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
		Short: "Connect a carrier account and print the connection's id",
		Long: "Connect a carrier account and print the connection's id. In a terminal, you are prompted for\n" +
			"missing fields; secrets are not echoed. Then test it with \"waybill connection check\".",
		Example: "  waybill connection add --carrier ups --live --name Main --set client_id=... --set-file client_secret=/run/secrets/ups\n" +
			"  waybill connection add --carrier usps --credentials - < usps.json",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.withConnections(cmd.Context(), func(accounts *account.Service) error {
				owner, err := chooseAccount(cmd.Context(), accounts, id)
				if err != nil {
					return err
				}
				if in.Carrier == "" {
					return errors.New("--carrier is required, such as --carrier ups; \"waybill connection fields\" lists the carriers")
				}

				// Nobody should type credentials that cannot be stored.
				if err := accounts.CanConnect(in.Tenant.Livemode); err != nil {
					return err
				}

				// Fields of an unknown carrier cannot be asked for;
				// AddConnection rejects it and suggests another name.
				if spec, known := findSpec(accounts.Specs(), in.Carrier); known {
					if in.Credentials, err = c.credentials(cmd.Context(), given, spec, true); err != nil {
						return err
					}
				}

				in.Tenant.Account = owner.ID
				added, err := accounts.AddConnection(cmd.Context(), in)
				if err != nil {
					return err
				}
				fmt.Fprintf(c.Err, "connected %s %q for %s (%s)\n", added.Carrier, added.Name, owner.Name, modeName(added.Tenant))
				_, err = fmt.Fprintln(c.Out, added.ID)
				return err
			})
		},
	}

	flags := cmd.Flags()
	accountFlag(cmd, &id, oneAccount)
	flags.BoolVar(&in.Tenant.Livemode, "live", false, "connect for live labels, which cost money (default: the carrier's sandbox)")
	flags.StringVar(&in.Carrier, "carrier", "", "name of the carrier; \"waybill connection fields\" lists the carriers")
	flags.StringVar(&in.Name, "name", "", "name of the connection, unique per carrier (default: the carrier's name)")
	given.add(cmd)
	return cmd
}

func (c *cli) connectionUpdateCommand() *cobra.Command {
	var (
		owner string
		name  string
		given credentialFlags
	)
	cmd := &cobra.Command{
		Use:   "update CONNECTION_ID [--account ID]",
		Short: "Update credentials; fields that are not given stay unchanged",
		Args:  oneArgument,
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.withConnection(cmd.Context(), args[0], owner, func(accounts *account.Service, found account.Connection) error {
				// Without flags, a person is asked for the credentials.
				ask := name == "" && given.none()
				spec, _ := findSpec(accounts.Specs(), found.Carrier)
				values, err := c.credentials(cmd.Context(), given, spec, ask)
				if err != nil {
					return err
				}

				_, err = accounts.UpdateConnection(cmd.Context(), account.UpdateConnectionInput{
					Tenant:      found.Tenant,
					ID:          found.ID,
					Name:        name,
					Credentials: values,
				})
				if err != nil {
					return err
				}
				fmt.Fprintf(c.Err, "%s was updated; running copies use it within seconds\n", found.ID)
				return nil
			})
		},
	}

	accountFlag(cmd, &owner, owningAccount)
	cmd.Flags().StringVar(&name, "name", "", "new name of the connection")
	given.add(cmd)
	return cmd
}

// withConnection runs fn on the connection of the id. If owner is set, it must
// belong to that account.
func (c *cli) withConnection(ctx context.Context, text, owner string, fn func(*account.Service, account.Connection) error) error {
	id, err := parseConnectionID(text)
	if err != nil {
		return err
	}

	return c.withConnections(ctx, func(accounts *account.Service) error {
		found, err := accounts.FindConnection(ctx, id)
		if err != nil {
			return err
		}
		if owner != "" && string(found.Tenant.Account) != owner {
			return errOtherAccount(text, owner)
		}
		return fn(accounts, found)
	})
}

func parseConnectionID(text string) (ship.ConnectionID, error) {
	id, ok := ship.ParseConnectionID(text)
	if !ok {
		return id, errors.New("this is not the id of a connection: it starts with con_; \"waybill connection list\" shows it")
	}
	return id, nil
}

func (c *cli) connectionRemoveCommand() *cobra.Command {
	var owner string
	cmd := &cobra.Command{
		Use:   "remove CONNECTION_ID [--account ID]",
		Short: "Remove a connection",
		Long:  "Remove a connection. Its encrypted credentials are kept so that existing purchases can still be settled and voided.",
		Args:  oneArgument,
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.withConnection(cmd.Context(), args[0], owner, func(accounts *account.Service, found account.Connection) error {
				if err := accounts.RemoveConnection(cmd.Context(), found.Tenant, found.ID); err != nil {
					return err
				}
				fmt.Fprintf(c.Err, "%s was removed; running copies stop using it within seconds\n", found.ID)
				return nil
			})
		},
	}

	accountFlag(cmd, &owner, owningAccount)
	return cmd
}

func (c *cli) connectionRotateCommand() *cobra.Command {
	var every bool
	cmd := &cobra.Command{
		Use:    "rotate",
		Hidden: true, // "waybill secret-key rotate" replaces it
		Short:  "Re-encrypt the keys of all credentials with the current SECRET_KEY or SECRET_KMS",
		Long: "Re-encrypt the keys of all credentials with the first key of SECRET_KEY or SECRET_KMS, and nothing\n" +
			"else: use \"waybill secret-key rotate\", which re-encrypts all stored secrets.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.withConnections(cmd.Context(), func(accounts *account.Service) error {
				rotation, err := accounts.RotateConnections(cmd.Context(), every)
				if err != nil {
					return err
				}

				// The exit code says whether the old key may be dropped.
				fmt.Fprintf(c.Out, "%d rewrapped, %d already under the current key, %d failed\n", rotation.Rewrapped, rotation.Current, len(rotation.Failed))
				for _, id := range rotation.Failed {
					fmt.Fprintf(c.Out, "%s cannot be decrypted: \"waybill connection check %s\" explains what to do\n", id, id)
				}
				if len(rotation.Failed) > 0 {
					return ErrUnhealthy
				}
				return nil
			})
		},
	}

	cmd.Flags().BoolVar(&every, "all", false, "include those already under the current key, for a key service that has rotated it")
	return cmd
}

func (c *cli) connectionFieldsCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "fields [CARRIER]",
		Short: "List the credentials that a carrier needs and where to find them",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			specs := c.describedCarriers(cmd.Context())
			table := tabwriter.NewWriter(c.Out, 0, 0, 2, ' ', 0)
			if len(args) == 0 {
				for _, spec := range specs {
					fmt.Fprintf(table, "%s\t%s\n", spec.Name, spec.Title)
				}
				return table.Flush()
			}

			spec, ok := findSpec(specs, args[0])
			if !ok {
				return fmt.Errorf("there is no carrier %q: \"waybill connection fields\" lists the carriers", args[0])
			}
			fmt.Fprintln(table, "FIELD\tDESCRIPTION\t\tWHERE TO FIND IT")
			for _, field := range spec.Fields {
				fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", field.Name, field.Title, fieldKind(field), field.Help)
			}
			return table.Flush()
		},
	}
}

// describedCarriers returns the carriers of Waybill and the plug-ins that are
// registered. Carriers can be described without a database: then a note says why
// there are no plug-ins.
func (c *cli) describedCarriers(ctx context.Context) []carrier.Spec {
	specs := slices.Clone(c.Carriers)
	if c.Carriers == nil {
		specs = slices.Clone(all.Specs)
	}

	err := c.withPlugins(ctx, func(plugins *plugin.Service) error {
		registered, err := plugins.List(ctx)
		for _, one := range registered {
			specs = append(specs, one.Spec())
		}
		return err
	})
	if err != nil {
		fmt.Fprintf(c.Err, "carrier plug-ins are not listed: %s\n", Explain(err))
	}
	return specs
}

func fieldKind(field carrier.Field) string {
	switch {
	case field.Secret && field.Required:
		return "required, secret"
	case field.Required:
		return "required"
	case field.Secret:
		return "optional, secret"
	}
	return "optional"
}

func findSpec(specs []carrier.Spec, name string) (carrier.Spec, bool) {
	for _, spec := range specs {
		if spec.Name == name {
			return spec, true
		}
	}
	return carrier.Spec{}, false
}

func modeName(tenant ship.Tenant) string {
	if tenant.Livemode {
		return "live"
	}
	return "test"
}
