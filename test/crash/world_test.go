//go:build chaos

// Package crash kills the program at every step of a purchase that lasts, with
// every outcome of the carrier, and looks whether what comes after puts it
// right. The judge is the carrier's own ledger.
package crash

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/test/proving"
)

// world is a cluster with a database that all others are copies of: migrated,
// with one account that is connected to every carrier.
type world struct {
	t      *testing.T
	root   string
	dir    string
	server string  // address of the cluster's first database
	key    string  // of the API
	agent  string  // likewise, and its purchases need an approval
	slow   float64 // how much slower than a quiet machine this one is
	// lookupScale compresses the times after which look-ups find new sales, for the
	// carriers and the service alike.
	lookupScale float64
	controls    controls
	made        atomic.Int64
	spare       chan string // databases that nobody uses
}

const template = "crash_template"

// fast are the waits of the service, up to two hundred times shorter than the
// defaults. On a slow machine they are longer, as proving.Slowness says. It is the same
// binary otherwise.
var fast = []string{
	"PURCHASE_TIMEOUT=1s", "BUY_TIMEOUT=2s", "SETTLE_AFTER=3s", "LOOK_EVERY=300ms", "REBUY_FOR=60s", "SWEEP_EVERY=1s", "LATE_SWEEP_EVERY=2s",
	"CARRIER_QUOTAS=usps=0",
}

// quietScale is the factor by which visibility delays are compressed on a quiet machine:
// an hour, as at UPS and DHL Express, passes in a second, a day in 24.
const quietScale = 1.0 / 3600

// compressed is a time at a carrier as it passes here.
func (w *world) compressed(d time.Duration) time.Duration { return proving.Times(d, w.lookupScale) }

// settings are those of every copy.
func (w *world) settings() []string {
	return append(proving.Slowed(fast, w.slow), fmt.Sprintf("LOOKUP_SCALE=%g", w.lookupScale))
}

func newWorld(t *testing.T) *world {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	// The cluster dies with the test: nothing here is about its own crashes, so it
	// need not wait for the disk.
	server := proving.NewCluster(t, "WAYBILL_PG_OPTIONS=-c max_connections=800 -c fsync=off -c synchronous_commit=off -c full_page_writes=off -c autovacuum=off")
	w := &world{t: t, root: root, slow: proving.Slowness(t), dir: t.TempDir(), server: server.URL, spare: make(chan string, 100)}
	w.lookupScale = quietScale * w.slow
	w.exec(context.Background(), "CREATE DATABASE "+template)
	w.waybill("migrate")
	account := strings.Fields(w.waybill("account", "create", "--name", "crash"))[0]
	for _, m := range makers {
		args := []string{"connection", "add", "--account", account, "--live", "--carrier", m.name}
		for field, value := range m.given {
			args = append(args, "--set", field+"="+value)
		}
		w.waybill(args...)
	}
	w.key = strings.TrimSpace(w.waybill("key", "create", "--live", "--account", account))
	w.agent = strings.TrimSpace(w.waybill("key", "create", "--live", "--account", account, "--approval-above", "0"))
	w.buyControls()
	return w
}

// secretKey encrypts the credentials of the live connections.
const secretKey = "Y3Jhc2gtY3Jhc2gtY3Jhc2gtY3Jhc2gtY3Jhc2gtMTIzNDU2Nzg="

func (w *world) waybill(args ...string) string {
	cmd := exec.Command(proving.Binary(), args...)
	cmd.Env = append(os.Environ(), "DATABASE_URL="+w.database(template), "SECRET_KEY="+secretKey)
	return proving.Output(w.t, cmd)
}

// database is the address of a database of the cluster.
func (w *world) database(name string) string {
	u, err := url.Parse(w.server)
	if err != nil {
		w.t.Fatal(err)
	}
	u.Path = "/" + name
	return u.String()
}

// exec runs a statement in the cluster's first database.
func (w *world) exec(ctx context.Context, sql string) {
	w.t.Helper()
	conn, err := pgx.Connect(ctx, w.server)
	if err == nil {
		_, err = conn.Exec(ctx, sql)
		_ = conn.Close(ctx)
	}
	if err != nil {
		w.t.Errorf("%s: %v", sql, err)
	}
}

// take returns a database that is a copy of the first.
func (w *world) take(ctx context.Context) string {
	select {
	case name := <-w.spare:
		return name
	default:
	}
	name := fmt.Sprintf("crash_%d", w.made.Add(1))
	w.exec(ctx, "CREATE DATABASE "+name+" TEMPLATE "+template)
	return name
}

// sqlEmptied lists the tables that are emptied after a case.
const sqlEmptied = `SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition
    AND relname NOT IN ('goose_db_version', 'river_migration', 'instance', 'accounts', 'api_keys', 'shards', 'connections', 'webhook_slots', 'partition_rules', 'facts_progress', 'restore_state')`

// sqlEmpty empties all tables but those that the first database fills.
const sqlEmpty = `
DO $$ DECLARE t text; BEGIN
  FOR t IN ` + sqlEmptied + `
  LOOP EXECUTE 'DELETE FROM ' || quote_ident(t); END LOOP;
  UPDATE restore_state SET number = 0, noticed_at = NULL, noticed_by = NULL, restored_to = NULL, may_have_lost = false, awaited = '{}', continued_at = NULL;
END $$`
