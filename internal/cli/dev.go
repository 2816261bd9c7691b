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
	d, noSink := &dev{cli: c}, false
	cmd := &cobra.Command{
		Use:   "dev",
		Short: "Try the service on this machine",
		Long: "Run the whole service on this machine, with a demo account and a test key.\n\n" +
			"Without an address of a database it starts a Postgres of its own, in a directory of this\n" +
			"user, and stops it in the end; the data stays. So do the test key and the key that encrypts\n" +
			"stored secrets: the next start uses them again.",
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
	cmd.Flags().StringVar(&c.listen, "listen", "", "address that the API listens on (default: LISTEN, or 127.0.0.1:8080, or a free port if that is taken)")
	cmd.Flags().StringVar(&d.dataDir, "data-dir", "", "directory of the private Postgres and of the keys that are kept")
	cmd.Flags().BoolVar(&noSink, "no-sink", false, "do not register a webhook that shows what arrives")
	cmd.Flags().BoolVar(&d.asJSON, "json", false, "print one line of JSON when it is ready, instead of an explanation")
	return cmd
}

func (d *dev) run(ctx context.Context) (err error) {
	if url, _ := d.lookup("DATABASE_URL"); url == "" {
		stop, err := d.startPostgres(ctx)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, stop()) }()
	}
	if err := d.openState(); err != nil {
		return err
	}
	cfg, err := config.Load(d.lookup)
	if err != nil {
		return fmt.Errorf("the settings are not right:\n%w", err)
	}
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
	a, err := d.start(ctx, cfg)
	if err != nil {
		return err
	}
	demo, key, err := d.makeDemo(ctx, cfg)
	if err != nil {
		return err
	}
	a.OnReady(func() {
		d.registerSink(ctx, a, key)
		d.tell(cfg, a, demo, key)
	})
	return a.Run(ctx)
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
	c, url, err := startCluster(ctx, dir)
	if err != nil {
		return nil, err
	}
	d.databaseURL = url
	return func() error {
		fmt.Fprintln(d.Err, "stopping the private Postgres")
		return c.stopSoon(ctx)
	}, nil
}

// start wires the program. An address that nobody asked for by name and that
// is taken is replaced by a free one.
func (d *dev) start(ctx context.Context, cfg config.Config) (*app.App, error) {
	a, err := app.New(ctx, cfg, app.AllRoles)
	for _, try := range []struct {
		setting string
		address *string
	}{{"METRICS_LISTEN", &cfg.MetricsListen}, {"LISTEN", &cfg.Listen}} {
		if asked, _ := d.lookup(try.setting); asked == "" && errors.Is(err, syscall.EADDRINUSE) {
			*try.address = "127.0.0.1:0"
			a, err = app.New(ctx, cfg, app.AllRoles)
		}
	}
	return a, err
}

const demoName = "Demo"

// demoKeyLife is how long the key of a demo works. It is kept and used again, so
// that scripts that hold it outlive a restart; a forgotten one ends.
const demoKeyLife = 365 * 24 * time.Hour

// makeDemo finds or makes the demo account and its test key.
func (d *dev) makeDemo(ctx context.Context, cfg config.Config) (ship.Account, ship.Key, error) {
	accounts, done, err := app.OpenAccounts(ctx, cfg)
	if err != nil {
		return ship.Account{}, "", err
	}
	defer done()
	ctx = asOperator(ctx, "waybill dev")
	a, err := demoAccount(ctx, accounts)
	if err != nil {
		return a, "", err
	}

	if key, found := d.state.apiKey(a.ID); found {
		who, err := accounts.Authenticate(ctx, string(key), netip.AddrFrom4([4]byte{127, 0, 0, 1}))
		if err == nil && who.Account.ID == a.ID {
			return a, key, nil
		}
		if err != nil && ship.KindOf(err) != ship.Forbidden { // it was not looked up at all
			return a, "", err
		}
	}

	key, _, err := accounts.NewKey(ctx, account.NewKeyInput{
		Account:   a.ID,
		Name:      "dev",
		ExpiresAt: time.Now().Add(demoKeyLife),
	})
	if err != nil {
		return a, "", err
	}
	return a, key, d.state.keepAPIKey(a.ID, key)
}

// demoOrigin is complete: carriers ask for a phone number of the sender.
var demoOrigin = ship.Address{
	Name:     "Demo Warehouse",
	Address1: "1201 S Figueroa St",
	City:     "Los Angeles",
	State:    "CA",
	Zip:      "90015",
	Country:  "US",
	Phone:    "+12135550142",
}

func demoAccount(ctx context.Context, accounts *account.Service) (ship.Account, error) {
	list, err := accounts.Accounts(ctx)
	if err != nil {
		return ship.Account{}, err
	}
	for _, a := range list {
		if a.Name != demoName {
			continue
		}
		// A demo account of an earlier version has no phone number.
		if a.Origin != nil && a.Origin.Address1 == demoOrigin.Address1 && a.Origin.Phone == "" {
			return accounts.Update(ctx, a.ID, account.Settings{Origin: &demoOrigin})
		}
		return a, nil
	}
	return accounts.Create(ctx, account.Settings{
		Name:   new(demoName),
		Origin: &demoOrigin,
	})
}

// registerSink has the events of the demo account sent to the sink. Without it
// the rest works too, so that a failure is only told.
func (d *dev) registerSink(ctx context.Context, a *app.App, key ship.Key) {
	if d.sink == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if err := d.sink.register(ctx, client.New(string(key), client.Options{BaseURL: a.LocalURL()})); err != nil {
		fmt.Fprintf(d.Err, "there is no sink for webhooks: %v\n", err)
		d.sink.close()
		d.sink = nil
	}
}

// sinkURL is the address of the page that shows what arrived, empty without
// one.
func (d *dev) sinkURL() string {
	if d.sink == nil {
		return ""
	}
	return d.sink.url()
}

// tell prints where everything is.
func (d *dev) tell(cfg config.Config, a *app.App, demo ship.Account, key ship.Key) {
	d.keepSettings(cfg, a, key)
	metrics := ""
	if a.MetricsAddr() != "" {
		metrics = "http://" + a.MetricsAddr()
	}
	if !d.asJSON {
		moves := "It moves by itself, a step every " + cfg.SandboxStep.String() + "."
		if cfg.SandboxStep == 0 {
			moves = "SANDBOX_STEP is 0: it moves only when POST /v1/sandbox/shipments/{id}/advance says so."
		}
		shown := "off"
		if metrics != "" {
			shown = metrics + "/metrics"
		}
		sink := "off"
		if d.sink != nil {
			sink = d.sinkURL() + " (what is sent to webhooks)"
		}
		dashboard := cmp.Or(a.SetupURL(context.Background()), a.BaseURL()+"/app")
		fmt.Fprintf(d.Out, welcome, a.BaseURL(), shown, cfg.RedactedDatabaseURL(), demo.ID, key, moves, sink, program(), dashboard, d.state.envPath())
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
		URL:         a.BaseURL(),
		APIKey:      key,
		AccountID:   demo.ID,
		DocsURL:     a.BaseURL() + "/docs",
		MetricsURL:  metrics,
		SinkURL:     d.sinkURL(),
		DatabaseURL: cfg.DatabaseURL,
		EnvFile:     d.state.envPath(),
	})
	if err == nil {
		fmt.Fprintf(d.Out, "%s\n", line)
	}
}

// keepSettings writes what other terminals need. Without it the rest works too,
// so that a failure is only printed.
func (d *dev) keepSettings(cfg config.Config, a *app.App, key ship.Key) {
	secret, _ := d.lookup("SECRET_KEY")
	err := d.state.keepEnv([][2]string{
		{"WAYBILL_URL", a.LocalURL()},
		{"WAYBILL_KEY", string(key)},
		{"DATABASE_URL", cfg.DatabaseURL},
		{"SECRET_KEY", secret},
	})
	if err != nil {
		fmt.Fprintln(d.Err, err)
	}
}

// program is how the user called this program.
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

Buy a label (in the sandbox: no money, no carrier account):

  curl -s %[1]s/v1/shipments -H 'Authorization: Bearer %[5]s' -H 'Content-Type: application/json' -H "Idempotency-Key: demo-$(date +%%s)" -d '{"orderId":"ORD-1001","destination":{"name":"Ada Lovelace","address1":"350 5th Ave","city":"New York","state":"NY","zip":"10118","country":"US"},"parcel":{"weight":2.5,"dimensions":{"length":12,"width":9,"height":4}}}'

Then fetch its labelUrl, and look its trackingNumber up at %[1]s/v1/tracking/, with the same
Authorization header. %[6]s

Have its events sent to a program of yours, signed (no public address is needed):

  %[8]s listen --forward http://localhost:3000/hook --url %[1]s --key %[5]s

The other commands need its database and its keys. In another terminal:

  . %[10]s

Ctrl-C stops everything.

`
