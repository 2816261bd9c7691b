package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/waybillhq/waybill/client"
	"github.com/waybillhq/waybill/internal/account"
	"github.com/waybillhq/waybill/internal/app"
	"github.com/waybillhq/waybill/internal/config"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// dev is the command "waybill dev".
type dev struct {
	*cli
	dataDir string
	state   devState
	asJSON  bool
	sink    *sink // nil without one
}

func (c *cli) devCommand() *cobra.Command {
	d := &dev{cli: c}
	noSink := false
	cmd := &cobra.Command{
		Use:   "dev",
		Short: "Try the service on this machine",
		Long: "Run the whole service on this machine, with a demo account and a test key.\n\n" +
			"Without a database URL it starts a private Postgres, with its data in a directory of this\n" +
			"user, and stops it on exit. The data, the test key and the key that encrypts stored secrets\n" +
			"are kept and used again at the next start.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if !noSink {
				if d.sink, err = openSink(); err != nil {
					return err
				}
				defer d.sink.close()
			}
			return d.run(cmd.Context())
		},
	}

	cmd.Flags().StringVar(&c.listen, "listen", "", "address the API listens on (default: LISTEN, or 127.0.0.1:8080, or a free port if that is taken)")
	cmd.Flags().StringVar(&d.dataDir, "data-dir", "", "directory for the private Postgres and the stored keys")
	cmd.Flags().BoolVar(&noSink, "no-sink", false, "do not register a webhook that displays events")
	cmd.Flags().BoolVar(&d.asJSON, "json", false, "print one line of JSON when ready, instead of instructions")
	return cmd
}

func (d *dev) run(ctx context.Context) (err error) {
	if url, _ := d.lookup("DATABASE_URL"); url == "" {
		stop, startErr := d.startPostgres(ctx)
		if startErr != nil {
			return startErr
		}
		defer func() { err = errors.Join(err, stop()) }()
	}

	if err := d.openState(); err != nil {
		return err
	}
	cfg, err := config.Load(d.lookup)
	if err != nil {
		return fmt.Errorf("invalid settings:\n%w", err)
	}

	// On a developer's machine a person reads the log, and webhooks are
	// received on the same machine.
	if _, ok := d.lookup("LOG_FORMAT"); !ok {
		cfg.LogFormat = "text"
	}
	if _, ok := d.lookup("WEBHOOK_ALLOW_LOOPBACK"); !ok {
		cfg.WebhookLoopback = true
	}

	fmt.Fprintln(d.Err, "preparing the database")
	if err := store.Migrate(ctx, cfg.DatabaseURL); err != nil {
		return err
	}
	running, err := d.start(ctx, cfg)
	if err != nil {
		return err
	}
	demo, key, err := d.openDemo(ctx, cfg)
	if err != nil {
		return err
	}

	// The sink is registered through the API, which must answer by then.
	running.OnReady(func() {
		d.registerSink(ctx, running, key)
		d.announce(cfg, running, demo, key)
	})
	return running.Run(ctx)
}

// startPostgres starts the private cluster and makes it the database of this
// run.
func (d *dev) startPostgres(ctx context.Context) (stop func() error, err error) {
	dir := d.dataDir
	if dir == "" {
		if dir, err = d.clusterDir(); err != nil {
			return nil, err
		}
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return nil, err
	}

	fmt.Fprintf(d.Err, "starting a private Postgres in %s\n", dir)
	started, url, err := startCluster(ctx, dir)
	if err != nil {
		return nil, err
	}
	d.databaseURL = url
	return func() error {
		fmt.Fprintln(d.Err, "stopping the private Postgres")
		return started.stopSoon(ctx)
	}, nil
}

// start wires the program. An address that is taken is replaced by a free one,
// unless the user has asked for it.
func (d *dev) start(ctx context.Context, cfg config.Config) (*app.App, error) {
	running, err := app.New(ctx, cfg, app.AllRoles)

	// The error does not tell which of the two addresses is taken, so first
	// one and then both are replaced.
	for _, try := range []struct {
		setting string
		address *string
	}{
		{"METRICS_LISTEN", &cfg.MetricsListen},
		{"LISTEN", &cfg.Listen},
	} {
		if asked, _ := d.lookup(try.setting); asked == "" && errors.Is(err, syscall.EADDRINUSE) {
			*try.address = "127.0.0.1:0"
			running, err = app.New(ctx, cfg, app.AllRoles)
		}
	}
	return running, err
}

const demoName = "Demo"

// demoKeyLife is how long the key of a demo works. It is kept and used again:
// scripts that hold it work after a restart. A forgotten one expires.
const demoKeyLife = 365 * 24 * time.Hour

// openDemo finds or creates the demo account and its test key.
func (d *dev) openDemo(ctx context.Context, cfg config.Config) (ship.Account, ship.Key, error) {
	accounts, done, err := app.OpenAccounts(ctx, cfg)
	if err != nil {
		return ship.Account{}, "", err
	}
	defer done()

	ctx = asOperator(ctx, "waybill dev")
	demo, err := demoAccount(ctx, accounts)
	if err != nil {
		return demo, "", err
	}

	// The kept key is used again if it still works. It is replaced only if the
	// service says that it does not work; an error of the database is not a
	// reason to replace it.
	if key, found := d.state.apiKey(demo.ID); found {
		caller, err := accounts.Authenticate(ctx, string(key), netip.AddrFrom4([4]byte{127, 0, 0, 1}))
		if err == nil && caller.Account.ID == demo.ID {
			return demo, key, nil
		}
		if err != nil && ship.KindOf(err) != ship.Forbidden {
			return demo, "", err
		}
	}

	key, _, err := accounts.NewKey(ctx, account.NewKeyInput{
		Account:   demo.ID,
		Name:      "dev",
		ExpiresAt: time.Now().Add(demoKeyLife),
	})
	if err != nil {
		return demo, "", err
	}
	return demo, key, d.state.keepAPIKey(demo.ID, key)
}

func demoAccount(ctx context.Context, accounts *account.Service) (ship.Account, error) {
	list, err := accounts.Accounts(ctx)
	if err != nil {
		return ship.Account{}, err
	}

	for _, demo := range list {
		if demo.Name != demoName {
			continue
		}
		// A demo account of an earlier version has no phone number.
		if demo.Origin != nil && demo.Origin.Address1 == ship.DemoOrigin.Address1 && demo.Origin.Phone == "" {
			return accounts.Update(ctx, demo.ID, account.Settings{Origin: &ship.DemoOrigin})
		}
		return demo, nil
	}

	return accounts.Create(ctx, account.Settings{
		Name:   new(demoName),
		Origin: &ship.DemoOrigin,
	})
}

// registerSink makes the sink a webhook of the demo account. The rest works
// without it, so a failure is only printed.
func (d *dev) registerSink(ctx context.Context, running *app.App, key ship.Key) {
	if d.sink == nil {
		return
	}

	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	service := client.New(string(key), client.Options{BaseURL: running.LocalURL()})
	if err := d.sink.register(ctx, service); err != nil {
		fmt.Fprintf(d.Err, "the webhook sink is not available: %v\n", err)
		d.sink.close()
		d.sink = nil
	}
}

// sinkURL returns the address of the page that shows what arrived, empty
// without one.
func (d *dev) sinkURL() string {
	if d.sink == nil {
		return ""
	}
	return d.sink.url()
}

// announce prints where everything is.
func (d *dev) announce(cfg config.Config, running *app.App, demo ship.Account, key ship.Key) {
	d.keepSettings(cfg, running, key)
	metrics := ""
	if running.MetricsAddr() != "" {
		metrics = "http://" + running.MetricsAddr()
	}

	if !d.asJSON {
		moves := "The simulated parcel advances one step every " + cfg.SandboxStep.String() + "."
		if cfg.SandboxStep == 0 {
			moves = "SANDBOX_STEP is 0: the parcel advances only on POST /v1/sandbox/shipments/{id}/advance."
		}
		metricsPage := "off"
		if metrics != "" {
			metricsPage = metrics + "/metrics"
		}
		sink := "off"
		if d.sink != nil {
			sink = d.sinkURL() + " (shows webhook events)"
		}
		dashboard := cmp.Or(running.SetupURL(context.Background()), running.BaseURL()+"/app")
		fmt.Fprintf(d.Out, welcome, running.BaseURL(), metricsPage, cfg.RedactedDatabaseURL(), demo.ID, key, moves, sink, program(), dashboard, d.state.envPath())
		return
	}

	line, err := json.Marshal(struct {
		URL         string         `json:"url"`
		APIKey      ship.Key       `json:"apiKey"`
		AccountID   ship.AccountID `json:"accountId"`
		DocsURL     string         `json:"docsUrl"`
		MetricsURL  string         `json:"metricsUrl,omitempty"`
		SinkURL     string         `json:"sinkUrl,omitempty"`
		DatabaseURL string         `json:"databaseUrl"`
		EnvFile     string         `json:"envFile"`
	}{
		URL:         running.BaseURL(),
		APIKey:      key,
		AccountID:   demo.ID,
		DocsURL:     running.BaseURL() + "/docs",
		MetricsURL:  metrics,
		SinkURL:     d.sinkURL(),
		DatabaseURL: cfg.DatabaseURL,
		EnvFile:     d.state.envPath(),
	})
	if err == nil {
		fmt.Fprintf(d.Out, "%s\n", line)
	}
}

// keepSettings writes the settings that other terminals need. The rest works
// without them, so a failure is only printed.
func (d *dev) keepSettings(cfg config.Config, running *app.App, key ship.Key) {
	secret, _ := d.lookup("SECRET_KEY")
	secretFile, _ := d.lookup("SECRET_KEY_FILE")
	err := d.state.keepEnv([][2]string{
		{"WAYBILL_URL", running.LocalURL()},
		{"WAYBILL_KEY", string(key)},
		{"DATABASE_URL", cfg.DatabaseURL},
		{"SECRET_KEY", secret},
		{"SECRET_KEY_FILE", secretFile},
	})
	if err != nil {
		fmt.Fprintln(d.Err, err)
	}
}

// program returns how the user called this program.
func program() string {
	if filepath.Base(os.Args[0]) != "waybill" {
		return "waybill" // a test, or "go run"
	}
	return os.Args[0]
}

const welcome = `
Waybill is running.

  API       %[1]s
  Dashboard %[9]s
  Docs      %[1]s/docs
  Sink      %[7]s
  Metrics   %[2]s
  Database  %[3]s
  Account   %[4]s (Demo)
  Test key  %[5]s

Buy a label (in the sandbox: free, no carrier account needed):

  curl -s %[1]s/v1/shipments -H 'Authorization: Bearer %[5]s' -H 'Content-Type: application/json' -H "Idempotency-Key: demo-$(date +%%s)" -d '{"orderId":"ORD-1001","destination":{"name":"Ada Lovelace","address1":"350 5th Ave","city":"New York","state":"NY","zip":"10118","country":"US"},"parcel":{"weight":2.5,"dimensions":{"length":12,"width":9,"height":4}}}'

Then fetch its labelUrl, and look up its trackingNumber at %[1]s/v1/tracking/, with the same
Authorization header. %[6]s

Forward its signed events to your own program (no public URL is needed):

  %[8]s listen --forward http://localhost:3000/hook --url %[1]s --key %[5]s

The other commands need the database and keys of this service. In another terminal:

  . %[10]s

Press Ctrl-C to stop everything.

`
