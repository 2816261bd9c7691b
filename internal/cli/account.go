package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/waybillhq/waybill/internal/account"
	"github.com/waybillhq/waybill/internal/app"
	"github.com/waybillhq/waybill/internal/ship"
)

// withAccounts runs fn on the accounts of the database.
func (c *cli) withAccounts(ctx context.Context, fn func(*account.Service) error) error {
	cfg, err := c.settings()
	if err != nil {
		return err
	}
	accounts, done, err := app.OpenAccounts(ctx, cfg)
	if err != nil {
		return err
	}
	defer done()

	return fn(accounts)
}

// chooseAccount returns the account of the id; without an ID it is the only
// account that exists.
func chooseAccount(ctx context.Context, accounts *account.Service, id string) (ship.Account, error) {
	list, err := accounts.Accounts(ctx)
	if err != nil {
		return ship.Account{}, err
	}

	for _, owner := range list {
		if string(owner.ID) == id || id == "" && len(list) == 1 {
			return owner, nil
		}
	}

	if id != "" || len(list) == 0 {
		if err := accounts.Elsewhere(ctx, id); err != nil {
			return ship.Account{}, err
		}
	}
	switch {
	case len(list) == 0:
		return ship.Account{}, fmt.Errorf("there is no account yet: create one with \"waybill account create --name ...\"")
	case id == "":
		return ship.Account{}, fmt.Errorf("there are %d accounts: choose one with --account; \"waybill account list\" lists them", len(list))
	}
	return ship.Account{}, fmt.Errorf("there is no account %s: \"waybill account list\" lists the accounts", id)
}

func (c *cli) accountCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "account", Short: "Create, update and list accounts", Args: requireSubcommand, RunE: showHelp}
	cmd.AddCommand(c.accountCreateCommand(), c.accountUpdateCommand(), c.accountListCommand(), c.accountSignInCommand())
	return cmd
}

func (c *cli) accountCreateCommand() *cobra.Command {
	var flags accountFlags
	cmd := &cobra.Command{
		Use:     "create --name NAME",
		Short:   "Create an account and print its id",
		Example: "  waybill account create --name 'Acme' --units kg,cm --currency EUR \\\n    --origin '{\"name\":\"Acme\",\"address1\":\"Invalidenstr. 116\",\"city\":\"Berlin\",\"zip\":\"10115\",\"country\":\"DE\"}'",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.withAccounts(cmd.Context(), func(accounts *account.Service) error {
				set, err := flags.settings(cmd, nil)
				if err != nil {
					return err
				}

				created, err := accounts.Create(cmd.Context(), set)
				if err == nil {
					fmt.Fprintln(c.Out, created.ID)
				}
				return err
			})
		},
	}

	flags.add(cmd)
	return cmd
}

func (c *cli) accountUpdateCommand() *cobra.Command {
	var flags accountFlags
	var id string
	cmd := &cobra.Command{
		Use:   "update [--account ID]",
		Short: "Update an account; options that are not given stay unchanged",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.withAccounts(cmd.Context(), func(accounts *account.Service) error {
				present, err := chooseAccount(cmd.Context(), accounts, id)
				if err != nil {
					return err
				}
				set, err := flags.settings(cmd, present.Origin)
				if err != nil {
					return err
				}

				updated, err := accounts.Update(cmd.Context(), present.ID, set)
				if err == nil {
					fmt.Fprintln(c.Out, updated.ID)
				}
				return err
			})
		},
	}

	accountFlag(cmd, &id, oneAccount)
	flags.add(cmd)
	return cmd
}

func (c *cli) accountListCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List accounts",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.withAccounts(cmd.Context(), func(accounts *account.Service) error {
				list, err := accounts.Accounts(cmd.Context())
				if err != nil {
					return err
				}
				if asJSON {
					return c.printJSON(shownAccounts(list))
				}

				table := tabwriter.NewWriter(c.Out, 0, 0, 2, ' ', 0)
				fmt.Fprintln(table, "ID\tNAME\tORIGIN\tUNITS\tCURRENCY")
				for _, row := range list {
					origin := "none"
					if row.Origin != nil {
						origin = row.Origin.City + ", " + row.Origin.Country
					}
					fmt.Fprintf(table, "%s\t%s\t%s\t%s,%s\t%s\n", row.ID, row.Name, origin, row.Units.Weight, row.Units.Length, row.Currency)
				}
				return table.Flush()
			})
		},
	}

	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON, one account per line")
	return cmd
}

type shownAccount struct {
	ID       ship.AccountID `json:"id"`
	Name     string         `json:"name"`
	Origin   *ship.Address  `json:"origin,omitempty"`
	Units    ship.Units     `json:"units"`
	Currency string         `json:"currency"`
}

func shownAccounts(list []ship.Account) []any {
	shown := make([]any, len(list))
	for i, row := range list {
		shown[i] = shownAccount{
			ID:       row.ID,
			Name:     row.Name,
			Origin:   row.Origin,
			Units:    row.Units,
			Currency: row.Currency,
		}
	}
	return shown
}

// printJSON prints each value on a line of its own.
func (c *cli) printJSON(values []any) error {
	encoder := json.NewEncoder(c.Out)
	encoder.SetEscapeHTML(false)
	for _, value := range values {
		if err := encoder.Encode(value); err != nil {
			return err
		}
	}
	return nil
}

// accountFlags are the settings of an account.
type accountFlags struct {
	name, origin, units, currency string
	originPart                    map[string]*string // by the field of the address
}

// originParts are the flags for single fields of the origin, --origin-zip and
// so on.
var originParts = []string{"name", "company", "address1", "address2", "city", "state", "zip", "country", "phone", "email"}

func (f *accountFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.name, "name", "", "name of the account")
	flags.StringVar(&f.origin, "origin", "", "address that its parcels ship from, as JSON or @file")
	flags.StringVar(&f.units, "units", "", "units of numbers without a unit: weight (lb, oz, kg, g) and length (in, cm, mm), such as lb,in")
	flags.StringVar(&f.currency, "currency", "", "currency of the account, such as USD")

	f.originPart = map[string]*string{}
	for _, name := range originParts {
		f.originPart[name] = flags.String("origin-"+name, "", name+" of the origin, instead of --origin")
	}
}

// settings returns the flags that were given. Single fields of the origin
// change the present one.
func (f *accountFlags) settings(cmd *cobra.Command, present *ship.Address) (account.Settings, error) {
	var set account.Settings
	if cmd.Flags().Changed("name") {
		set.Name = &f.name
	}
	if cmd.Flags().Changed("currency") {
		set.Currency = &f.currency
	}
	if cmd.Flags().Changed("units") {
		weight, length, _ := strings.Cut(f.units, ",")
		set.Units = &ship.Units{
			Weight: ship.WeightUnit(strings.TrimSpace(weight)),
			Length: ship.LengthUnit(strings.TrimSpace(length)),
		}
	}

	var err error
	set.Origin, err = f.address(cmd, present)
	return set, err
}

func (f *accountFlags) address(cmd *cobra.Command, present *ship.Address) (*ship.Address, error) {
	parts := map[string]string{}
	for name, value := range f.originPart {
		if cmd.Flags().Changed("origin-" + name) {
			parts[name] = *value
		}
	}

	text := []byte(f.origin)
	switch {
	case f.origin != "" && len(parts) > 0:
		return nil, fmt.Errorf("use either --origin or the --origin-... options, not both")
	case f.origin == "" && len(parts) == 0:
		return nil, nil
	case strings.HasPrefix(f.origin, "@"):
		var err error
		if text, err = os.ReadFile(f.origin[1:]); err != nil {
			return nil, fmt.Errorf("--origin: %w", err)
		}
	}

	// Single fields are decoded over the present address, so that the others
	// keep their values.
	var address ship.Address
	if len(parts) > 0 {
		if present != nil {
			address = *present
		}
		var err error
		if text, err = json.Marshal(parts); err != nil {
			return nil, err
		}
	}

	if err := ship.UnmarshalStrict(text, &address); err != nil {
		return nil, fmt.Errorf("--origin must be an address as JSON, such as {\"name\":\"Acme\",\"address1\":\"1 Main St\",\"city\":\"Austin\",\"state\":\"TX\",\"zip\":\"78701\",\"country\":\"US\"}: %w", err)
	}
	return &address, nil
}
