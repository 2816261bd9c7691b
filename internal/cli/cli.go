// Package cli is the command line: it reads flags, calls what app has wired,
// and prints. It has no business rules and no queries.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/waybillhq/waybill/internal/app"
	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/config"
)

// Streams are what a command reads and writes. Results go to Out, all other
// messages to Err.
type Streams struct {
	Env func(string) (string, bool) // usually os.LookupEnv
	In  io.Reader                   // usually os.Stdin; nil is none
	Out io.Writer
	Err io.Writer
	// Carriers are those that can be connected; nil means all.
	Carriers []carrier.Spec
}

// ErrUnhealthy is the error of a command that has already printed what is
// wrong.
var ErrUnhealthy = errors.New("a check failed")

// Run runs the command of args, which do not begin with the program's name.
func Run(ctx context.Context, args []string, s Streams) error {
	s.Out = guardTerminal(s.Out)
	s.Err = guardTerminal(s.Err)
	root := newRoot(s)
	root.SetArgs(args)
	root.SetOut(s.Out)
	root.SetErr(s.Err)
	return root.ExecuteContext(ctx)
}

// cli is what all commands share.
type cli struct {
	Streams
	databaseURL string // flag; wins over the environment
	envFile     string // flag
	listen      string // flag, of the commands that serve
	cell        string // flag of serve
	secretKey   string // of "waybill dev", which keeps one
}

func newRoot(s Streams) *cobra.Command {
	c := &cli{Streams: s}
	root := &cobra.Command{
		Use:   "waybill",
		Short: "Multi-carrier shipping: rates, labels and tracking behind one API",
		Long: "Multi-carrier shipping: rates, labels and tracking behind one API.\n\n" +
			"Start with \"waybill dev\": it only needs Postgres on this machine and prints a test key.\n" +
			"On a machine that uses a service elsewhere, start with \"waybill login --url https://...\".\n" +
			"Settings come from the environment; \"waybill settings\" lists them.",
		Version:       versionText(),
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          requireSubcommand,
		RunE:          showHelp,
		PersistentPreRunE: func(cmd *cobra.Command, args []string) error {
			audited(cmd, args)
			return c.readEnvFile()
		},
	}

	root.SetVersionTemplate("{{.Name}} {{.Version}}\n")
	root.PersistentFlags().StringVar(&c.databaseURL, "database-url", "", "URL of the database (default: DATABASE_URL)")
	root.PersistentFlags().StringVar(&c.envFile, "env-file", "", "file with settings, as systemd reads it, such as /etc/waybill/env of a packaged installation; wins over the environment")

	root.AddGroup(
		&cobra.Group{ID: useGroup, Title: "Use the service (through its API, with a key):"},
		&cobra.Group{ID: runGroup, Title: "Run the service:"},
	)
	root.AddCommand(c.useCommands()...)
	run := []*cobra.Command{
		c.devCommand(),
		c.emulateCommand(),
		c.serveCommand(),
		c.routeCommand(),
		c.migrateCommand(),
		c.accountCommand(),
		c.keyCommand(),
		c.memberCommand(),
		c.cellCommand(),
		c.shardCommand(),
		c.carrierCommand(),
		c.connectionCommand(),
		c.secretKeyCommand(),
		c.trackingCommand(),
		c.routingCommand(),
		c.rateSheetCommand(),
		c.archiveCommand(),
		c.auditCommand(),
		c.doctorCommand(),
		c.healthCommand(),
		c.restoredCommand(),
		c.settingsCommand(),
		c.docsCommand(),
		c.manCommand(),
		c.versionCommand(),
	}
	for _, cmd := range run {
		cmd.GroupID = runGroup
	}
	root.AddCommand(run...)
	root.AddCommand(helpTopics()...)
	checkUsage(root)
	return root
}

// lookup returns a setting: of the flags, or else of the environment.
func (c *cli) lookup(name string) (string, bool) {
	switch {
	case name == "DATABASE_URL" && c.databaseURL != "":
		return c.databaseURL, true
	case name == "LISTEN" && c.listen != "":
		return c.listen, true
	case name == "CELL" && c.cell != "":
		return c.cell, true
	case name == "SECRET_KEY" && c.secretKey != "":
		return c.secretKey, true
	}
	return c.Env(name)
}

// packagedEnv is the file that the packaged service has its settings from.
const packagedEnv = "/etc/waybill/env"

// settingsHint returns where the settings of a packaged installation are, if the
// command has found none.
func (c *cli) settingsHint() string {
	if address, _ := c.lookup("DATABASE_URL"); address != "" || c.envFile != "" {
		return ""
	}
	if _, err := os.Lstat(packagedEnv); errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	return "\nthe settings of the packaged service are in " + packagedEnv + ": run the command as root with --env-file " + packagedEnv
}

// settings reads the settings of the flags and the environment.
func (c *cli) settings() (config.Config, error) {
	cfg, err := config.Load(c.lookup)
	if err != nil {
		return cfg, fmt.Errorf("invalid settings:\n%w%s", err, c.settingsHint())
	}
	return cfg, nil
}

func (c *cli) serveCommand() *cobra.Command {
	var roleList string
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the service",
		Long: "Run the service until it receives SIGTERM, SIGINT or SIGHUP. It then accepts no new requests\n" +
			"or jobs and finishes the running ones. The database must be migrated.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			roles, err := app.ParseRoles(roleList)
			if err != nil {
				return err
			}
			cfg, err := c.settings()
			if err != nil {
				return err
			}
			if cfg.MigrateDatabaseURL != "" && cfg.MigrateDatabaseURL != cfg.DatabaseURL {
				fmt.Fprintln(c.Err, "MIGRATE_DATABASE_URL is set, but serve does not use it: remove it from the environment of the service, so that nobody can take it from there")
			}
			running, err := app.New(cmd.Context(), cfg, roles)
			if err != nil {
				return err
			}

			// Whoever has the link can claim the installation, so it is
			// printed to a terminal alone. Elsewhere this is a log.
			if isTerminal(c.Err) {
				if link := running.SetupURL(cmd.Context()); link != "" {
					fmt.Fprintf(c.Err, "the dashboard has no owner yet: open %s to create the owner account (the link works once)\n", link)
				}
			}
			return running.Run(cmd.Context())
		},
	}

	cmd.Flags().StringVar(&roleList, "roles", app.AllRoles.String(), "roles of this copy, comma-separated")
	cmd.Flags().StringVar(&c.listen, "listen", "", "address the API listens on (default: LISTEN, or 127.0.0.1:8080)")
	cmd.Flags().StringVar(&c.cell, "cell", "", "name of the cell that the database must be, where there are several (default: CELL)")
	return cmd
}

func (c *cli) settingsCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "settings",
		Short: "List the settings read from the environment",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			for _, setting := range config.Settings() {
				fmt.Fprint(c.Out, setting.Name)
				if setting.Default != "" {
					fmt.Fprintf(c.Out, "=%s", setting.Default)
				}
				fmt.Fprintf(c.Out, "\n    %s\n", setting.Help)
			}
			return nil
		},
	}
}

func (c *cli) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintln(c.Out, "waybill", versionText())
			return err
		},
	}
}

// versionText returns what "waybill version" and "waybill --version" print
// after the program's name.
func versionText() string {
	return fmt.Sprintf("%s %s %s/%s", app.Version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
