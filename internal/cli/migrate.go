package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/waybillhq/waybill/internal/config"
	"github.com/waybillhq/waybill/internal/store"
)

func (c *cli) migrateCommand() *cobra.Command {
	var createLogins bool
	var servingLogin string
	cmd := &cobra.Command{
		Use:   "migrate",
		Short: "Migrate the database to the schema of this version",
		Long: "Migrate the database to the schema of this version. It is safe to run from several copies\n" +
			"at once, and copies of the previous release keep working. It connects with\n" +
			"MIGRATE_DATABASE_URL, or with DATABASE_URL if that is not set. The database user owns the\n" +
			"tables and needs permission to create roles.\n\n" +
			"With --create-logins it also creates a login for \"waybill serve\" that owns nothing, and prints\n" +
			"the DATABASE_URL for it to standard output, once. The password is stored nowhere else.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			address, err := c.migrationURL()
			if err != nil {
				return err
			}
			if err := c.migrate(cmd.Context(), address); err != nil || !createLogins {
				return err
			}
			return c.createServingLogin(cmd.Context(), address, servingLogin)
		},
	}

	cmd.Flags().BoolVar(&createLogins, "create-logins", false, "create a login for \"waybill serve\" and print its DATABASE_URL to standard output")
	cmd.Flags().StringVar(&servingLogin, "serving-login", store.ServingLogin, "name of the login that --create-logins creates")
	return cmd
}

// migrationURL is the address of the database as the login that migrates. The
// other settings must be valid, but DATABASE_URL need not be set: the login that
// serves may not exist yet.
func (c *cli) migrationURL() (string, error) {
	cfg, err := config.Load(func(name string) (string, bool) {
		value, isSet := c.lookup(name)
		if name == "DATABASE_URL" && value == "" {
			return c.lookup("MIGRATE_DATABASE_URL")
		}
		return value, isSet
	})
	if err != nil {
		return "", fmt.Errorf("invalid settings:\n%w", err)
	}

	// A flag wins over the environment.
	if c.databaseURL == "" && cfg.MigrateDatabaseURL != "" {
		return cfg.MigrateDatabaseURL, nil
	}
	return cfg.DatabaseURL, nil
}

// migrate migrates the database, and prints what it is at and who can serve it.
func (c *cli) migrate(ctx context.Context, address string) error {
	before, err := store.InspectSchema(ctx, address)
	if err != nil {
		return err
	}

	// A login that only serves has nothing to do here if all is done, so that a
	// service manager may run the command before each start.
	if !before.Login.OwnsTables && before.Migrated() {
		fmt.Fprintf(c.Err, "the database is at migration %d, its queue at version %d: nothing to migrate\n", before.Schema, before.Queue)
		return nil
	}
	if err := store.Migrate(ctx, address); err != nil {
		return err
	}

	state, err := store.InspectSchema(ctx, address)
	if err != nil {
		return err
	}
	fmt.Fprintf(c.Err, "the database is at migration %d, its queue at version %d\n", state.Schema, state.Queue)

	serving, err := store.ServingLogins(ctx, address)
	if err != nil {
		return err
	}
	if len(serving) == 0 {
		fmt.Fprintf(c.Err, "the tables belong to %s, and no other login can serve: \"waybill migrate --create-logins\" creates one\n", state.Login.Owner)
		return nil
	}
	fmt.Fprintf(c.Err, "the tables belong to %s; logins that can serve without owning them: %s\n", state.Login.Owner, strings.Join(serving, ", "))
	return nil
}

// createServingLogin creates the login and prints its address. Nothing else is
// printed to standard output, so that it can be an environment file.
func (c *cli) createServingLogin(ctx context.Context, address, name string) error {
	serving, err := store.CreateServingLogin(ctx, address, name)
	if err != nil {
		return err
	}

	if serving == "" {
		fmt.Fprintf(c.Err, "the login %s exists already and keeps its password; to set another one: ALTER ROLE %s PASSWORD ..., or \\password in psql\n", name, name)
		return nil
	}
	fmt.Fprintf(c.Err, "created the login %s, which can serve and owns nothing; its password is shown only now\n", name)
	_, err = fmt.Fprintf(c.Out, "DATABASE_URL=%s\n", serving)
	return err
}
