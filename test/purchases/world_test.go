//go:build chaos

// Package purchases proves what the service promises about money: one live
// label a purchase, whatever dies when. Copies of the real binary run beside
// each other on a cluster of their own, against stand-in carriers that are
// processes of their own and whose ledgers are the judge.
package purchases

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/waybillhq/waybill/internal/emulator"
	"github.com/waybillhq/waybill/test/proving"
)

// world is a cluster, two copies of the binary, four carriers or a plug-in, and an
// account that is connected to all of them.
type world struct {
	t        *testing.T
	dir      string           // logs, ledgers, spools
	postgres *proving.Cluster // nil if the database is a cell's
	database string           // address
	settings []string
	slow     float64       // how much slower than a quiet machine this one is
	pool     *pgxpool.Pool // of the owner, past row-level security

	// lookupScale compresses the times after which look-ups find new sales, for the
	// carriers and the service alike.
	lookupScale float64

	// lostAnswers is the share of sales that the carriers do not answer for, and
	// standsStill how long a copy of the service is frozen at most, where either is so.
	lostAnswers float64
	standsStill time.Duration

	account  string
	key      string
	copies   []*proving.Process
	carriers []*stand
	http     *http.Client
	watch    *watch // for secrets in answers

	kills, stops atomic.Int64

	// handedOver lists the labels that the carriers void no more, because they are on
	// a manifest; nil if nothing is handed over.
	handedOver func() []string
}

// fast are the waits of the service, ten to a hundred times shorter than the
// defaults, so that minutes show what days would. On a slow machine they are longer, as
// proving.Slowness says. Nothing else differs from production: it is the same binary.
var fast = []string{
	"PURCHASE_TIMEOUT=2s",           // 20s
	"BUY_TIMEOUT=3s",                // 120s
	"SETTLE_AFTER=4s",               // 60s
	"LOOK_EVERY=600ms",              // 60s
	"REBUY_FOR=60s",                 // 10m
	"SWEEP_EVERY=2s",                // 60s
	"LATE_SWEEP_EVERY=5s",           // 1h
	"QUOTE_TIMEOUT=2s",              // 4s
	"JOB_RESCUE_AFTER=15s",          // 1m
	"JOB_RETRY_AFTER=1s",            // 30s
	"RATE_LIMIT=0",                  // one key stands for many clients
	"CARRIER_QUOTAS=usps=0,fedex=0", // USPS allows 60 calls an hour
	"DATABASE_CONNECTIONS=16",
}

// quietScale is the factor by which visibility delays are compressed on a quiet machine:
// an hour, as at UPS and DHL Express, passes in three seconds, a day in 72.
const quietScale = 1.0 / 1200

// compressed is a time at a carrier as it passes here.
func (w *world) compressed(d time.Duration) time.Duration { return proving.Times(d, w.lookupScale) }

func newWorld(t *testing.T, settings ...string) *world {
	t.Helper()
	postgres := proving.NewCluster(t, "WAYBILL_PG_SHARED_BUFFERS=128MB")
	return newWorldOn(t, postgres, postgres.URL, settings...)
}

func newWorldOn(t *testing.T, postgres *proving.Cluster, database string, settings ...string) *world {
	t.Helper()
	return openWorld(t, postgres, database, (*world).openStands, settings...)
}

// openWorld opens a world with the carriers that openCarriers starts.
func openWorld(t *testing.T, postgres *proving.Cluster, database string, openCarriers func(*world), settings ...string) *world {
	t.Helper()
	w := &world{t: t, dir: t.TempDir(), postgres: postgres, database: database, slow: proving.Slowness(t), watch: newWatch()}
	w.lookupScale = quietScale * min(4, w.slow)
	w.settings = append(proving.Slowed(fast, w.slow), fmt.Sprintf("LOOKUP_SCALE=%g", w.lookupScale), "REVIEW_AFTER="+w.compressed(24*time.Hour).String())
	w.settings = append(w.settings, settings...)
	w.http = &http.Client{Timeout: proving.Times(6*time.Second, w.slow), Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	t.Cleanup(w.end)
	w.settings = w.known(w.settings)
	openCarriers(w)
	w.turnAll(emulator.Faults{})
	w.waybill("migrate")
	w.account = strings.Fields(w.waybill("account", "create", "--name", "purchases"))[0]
	w.connect(w.account)
	w.key = strings.TrimSpace(w.waybill("key", "create", "--live", "--account", w.account, "--name", "purchases"))
	w.watch.add("API key", w.key)
	pool, err := pgxpool.New(t.Context(), w.database+"&pool_max_conns=8&target_session_attrs=primary")
	if err != nil {
		t.Fatal(err)
	}
	w.pool = pool
	t.Cleanup(w.pool.Close)
	w.openCopies(2)
	return w
}

// known are the settings that the binary has: a proof names no others.
func (w *world) known(settings []string) (list []string) {
	help := "\n" + w.waybill("settings")
	for _, s := range settings {
		name, _, _ := strings.Cut(s, "=")
		if strings.Contains(help, "\n"+name+"=") || strings.Contains(help, "\n"+name+"\n") {
			list = append(list, s)
		}
	}
	return list
}

// connect gives an account the credentials of all carriers.
func (w *world) connect(account string) {
	for _, s := range w.carriers {
		if s.isPlugin() {
			w.waybill("carrier", "add", s.Name, "--url", "http://"+s.Addr, "--secret", s.secret)
		}
		args := []string{"connection", "add", "--account", account, "--live", "--carrier", s.Name, "--name", "Main"}
		for field, value := range s.accepts {
			args = append(args, "--set", field+"="+value)
		}
		w.waybill(args...)
	}
}

// openCopies starts copies of the service, each with a disk of its own.
func (w *world) openCopies(n int) {
	for i := range n {
		p := proving.NewCopy(w.t, fmt.Sprintf("copy%d", i+1), w.dir, w.env)
		w.copies = append(w.copies, p)
		p.Start(w.t)
	}
	proving.Ready(w.t, w.copies)
}

func (w *world) end() {
	for _, p := range w.processes() {
		p.End(w.t)
	}
}

func (w *world) processes() (all []*proving.Process) {
	all = append(all, w.copies...)
	for _, s := range w.carriers {
		all = append(all, &s.Process)
	}
	return all
}

func (w *world) env() []string {
	var urls []string
	env := []string{"DATABASE_URL=" + w.database, "BASE_URL=https://ship.test", "SECRET_KEY=" + secretKey}
	for _, s := range w.carriers {
		if s.isPlugin() {
			env = append(env, "CARRIER_PLUGIN_NETWORKS=127.0.0.0/8")
			continue
		}
		urls = append(urls, s.Name+"=http://"+s.Addr)
	}
	if len(urls) > 0 {
		env = append(env, "CARRIER_URLS="+strings.Join(urls, ","))
	}
	return append(env, w.settings...)
}

// secretKey seals what is secret; the database alone opens nothing.
const secretKey = "cHVyY2hhc2VzLXB1cmNoYXNlcy1wdXJjaGFzZXMtMTIzNDU2Nzg="

func (w *world) waybill(args ...string) string {
	cmd := exec.Command(proving.Binary(), args...)
	cmd.Env = append(os.Environ(), w.env()...)
	return proving.Output(w.t, cmd)
}

// count returns one number from the database.
func (w *world) count(sql string, args ...any) (n int) {
	w.t.Helper()
	if err := w.pool.QueryRow(context.Background(), sql, args...).Scan(&n); err != nil {
		w.t.Fatal(err)
	}
	return n
}
