package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/waybillhq/waybill/internal/app"
	"github.com/waybillhq/waybill/internal/config"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

func (c *cli) routeCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "route",
		Short: "Send requests to the cells that hold their accounts",
		Long: "Send each request to the cell that holds its account, until it receives SIGTERM or SIGINT. It is\n" +
			"for installations with several databases; docs/cells.md describes them. A router has no state, so\n" +
			"there may be any number. It reads the map of cells from DIRECTORY_URL, or from DATABASE_URL if that\n" +
			"is not set, and needs no database for a request.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := c.directorySettings()
			if err != nil {
				return err
			}
			return app.Route(cmd.Context(), cfg)
		},
	}
	cmd.Flags().StringVar(&c.listen, "listen", "", "address the router listens on (default: LISTEN, or 127.0.0.1:8080)")
	return cmd
}

// directorySettings reads the settings of commands that use the directory, where
// DATABASE_URL need not be set.
func (c *cli) directorySettings() (config.Config, error) {
	cfg, err := config.Load(func(name string) (string, bool) {
		value, isSet := c.lookup(name)
		if name == "DATABASE_URL" && value == "" {
			return c.lookup("DIRECTORY_URL")
		}
		return value, isSet
	})
	if err != nil {
		return cfg, fmt.Errorf("invalid settings:\n%w", err)
	}
	return cfg, nil
}

// directoryOwner is the address of the directory as the login that owns its
// tables: with the flag --database-url, DIRECTORY_URL, or that which migrates.
func (c *cli) directoryOwner() (string, error) {
	if c.databaseURL != "" {
		return c.databaseURL, nil
	}
	if address, _ := c.Env("DIRECTORY_URL"); address != "" {
		return address, nil
	}
	return c.migrationURL()
}

func (c *cli) cellCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "cell", Short: "Manage cells: add, list and drain databases", Args: requireSubcommand, RunE: showHelp}
	cmd.AddCommand(c.cellAddCommand(), c.cellListCommand(), c.cellDrainCommand())
	return cmd
}

// cellName is what cells may be called; the database checks it too.
var cellName = regexp.MustCompile(`^[a-z][a-z0-9-]{0,30}$`)

func (c *cli) cellAddCommand() *cobra.Command {
	var add store.NewCell
	cmd := &cobra.Command{
		Use:   "add NAME --url URL [--cell-database URL]",
		Short: "Make a migrated database a cell, or change its URL",
		Long: "Make a migrated database a cell, and enter it in the directory. The first cell holds all accounts;\n" +
			"later ones hold none until shards are moved there. Every cell needs the same SECRET_KEY and\n" +
			"SIGNING_KEY. Restart the copies of the service that use the database afterwards.\n\n" +
			"The directory is the database of DIRECTORY_URL, or else of MIGRATE_DATABASE_URL or DATABASE_URL. Both\n" +
			"addresses need the login that owns the tables.",
		Args: oneArgument,
		RunE: func(cmd *cobra.Command, args []string) error {
			add.Name = args[0]
			if !cellName.MatchString(add.Name) {
				return fmt.Errorf("%q is not a valid cell name: use 1 to 31 lower-case letters, digits and hyphens, such as eu-1", add.Name)
			}
			if address, err := url.Parse(add.URL); err != nil || address.Scheme != "http" && address.Scheme != "https" || address.Host == "" || strings.Trim(address.Path, "/") != "" {
				return errors.New("--url must be the address of the cell's copies for routers, such as http://10.0.1.5:8080")
			}

			directory, err := c.directoryOwner()
			if err != nil {
				return err
			}
			add.Database = cmp.Or(add.Database, directory)
			if err := store.AddCell(cmd.Context(), directory, add); err != nil {
				return err
			}
			fmt.Fprintf(c.Err, "%s is a cell: restart its copies with \"waybill serve --cell %s\"\n", add.Name, add.Name)
			return nil
		},
	}
	cmd.Flags().StringVar(&add.URL, "url", "", "address at which routers reach the cell's copies of the service")
	cmd.Flags().StringVar(&add.Database, "cell-database", "", "URL of the cell's database, with the login that owns the tables (default: the directory's)")
	return cmd
}

// withDirectory calls fn with the map of the directory.
func (c *cli) withDirectory(ctx context.Context, fn func(places *store.CellMap) error) error {
	cfg, err := c.directorySettings()
	if err != nil {
		return err
	}
	directory, err := app.OpenDirectory(ctx, cfg)
	if err != nil {
		return err
	}
	defer directory.Close()

	places, err := directory.CellMap(ctx)
	if err != nil {
		return err
	}
	return fn(places)
}

func (c *cli) cellListCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the cells and how many shards each holds",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.withDirectory(cmd.Context(), func(places *store.CellMap) error {
				if len(places.Cells) == 0 {
					fmt.Fprintf(c.Out, "one database holds all %d shards; \"waybill cell add\" makes it a cell\n", ship.Shards)
					return nil
				}

				held := map[string]int{}
				leaving := map[string]int{}
				for _, place := range places.Shards {
					held[place.Cell]++
					if place.MovingTo != "" {
						leaving[place.Cell]++
					}
				}
				table := tabwriter.NewWriter(c.Out, 0, 0, 2, ' ', 0)
				fmt.Fprintln(table, "CELL\tSHARDS\tMOVING AWAY\tURL")
				for _, cell := range places.Cells {
					fmt.Fprintf(table, "%s\t%d\t%d\t%s\n", cell.Name, held[cell.Name], leaving[cell.Name], cell.URL)
				}
				return table.Flush()
			})
		},
	}
}

func (c *cli) shardCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "shard", Short: "List and move the shards that accounts belong to", Args: requireSubcommand, RunE: showHelp}
	cmd.AddCommand(c.shardListCommand(), c.shardMoveCommand(), c.shardMovesCommand(), c.shardPurgeCommand(), c.shardRebalanceCommand())
	return cmd
}

func (c *cli) shardListCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List which cell holds which shards",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.withDirectory(cmd.Context(), func(places *store.CellMap) error {
				table := tabwriter.NewWriter(c.Out, 0, 0, 2, ' ', 0)
				fmt.Fprintln(table, "SHARDS\tCELL\tEPOCH\tMOVING TO")
				for first := 0; first < ship.Shards; {
					last := first
					for last+1 < ship.Shards && places.Shards[last+1] == places.Shards[first] {
						last++
					}
					place := places.Shards[first]
					fmt.Fprintf(table, "%s\t%s\t%d\t%s\n", shardRange(first, last), place.Cell, place.Epoch, place.MovingTo)
					first = last + 1
				}
				return table.Flush()
			})
		},
	}
}

func shardRange(first, last int) string {
	if first == last {
		return fmt.Sprint(first)
	}
	return fmt.Sprintf("%d-%d", first, last)
}
