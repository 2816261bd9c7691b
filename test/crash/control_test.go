//go:build chaos

package crash

import (
	"context"
	"encoding/json"
	"hash/fnv"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// controls are the purchases that each connection has made before a case: a look-up that
// finds one of them is believed when it does not find the purchase of the case.
type controls struct {
	shipments []string          // ids, as Postgres writes them
	numbers   map[string]bool   // tracking numbers
	ledgers   map[string]string // files, by carrier
}

// buyControls buys a label of each carrier in the database that all others are copies
// of, and keeps the rows in a schema beside it.
func (w *world) buyControls() {
	w.t.Helper()
	ctx := context.Background()
	w.controls = controls{numbers: map[string]bool{}, ledgers: map[string]string{}}
	b := &bench{world: w, kill: kill{scenario: scenario{outcome: "answered"}}, name: template, dir: filepath.Join(w.dir, "controls"), database: w.database(template)}
	conn, err := pgx.Connect(ctx, b.database)
	if err == nil {
		err = os.Mkdir(b.dir, 0o700)
	}
	if err != nil {
		w.t.Fatal(err)
	}
	b.conn = conn
	b.openStands()
	p := b.start("controls", "")
	for _, s := range b.stands {
		buyer := newClient(w, scenario{carrier: s.name, outcome: "answered"})
		buyer.key = "control-" + s.name
		for until := time.Now().Add(patience); !buyer.done(); time.Sleep(100 * time.Millisecond) {
			buyer.ask(p.addr)
			if time.Now().After(until) {
				w.t.Fatalf("%s sold no control: %s", s.name, p.said())
			}
		}
	}
	p.kill()
	for _, s := range b.stands {
		w.keepLedger(b.dir, s)
		s.close()
	}
	b.sql("DELETE FROM river_job; DELETE FROM river_leader; DELETE FROM river_queue")
	w.controls.shipments = b.list("SELECT id::text FROM shipment_states")
	b.sql(sqlKeepControls)
	_ = conn.Close(ctx)
	for _, what := range b.wrong {
		w.t.Fatal(what)
	}
	time.Sleep(w.compressed(time.Hour))
}

// keepLedger writes the sales of a carrier to a file, with which it begins each case.
func (w *world) keepLedger(dir string, s *stand) {
	w.t.Helper()
	var text strings.Builder
	lines := json.NewEncoder(&text)
	for _, entry := range s.Ledger.Entries() {
		if entry.Kind == "sold" {
			w.controls.numbers[entry.Number] = true
		}
		if err := lines.Encode(entry); err != nil {
			w.t.Fatal(err)
		}
	}
	file := filepath.Join(dir, s.name+".jsonl")
	if err := os.WriteFile(file, []byte(text.String()), 0o600); err != nil {
		w.t.Fatal(err)
	}
	w.controls.ledgers[s.name] = file
}

// sqlKeepControls copies the rows of the controls to a schema of their own.
const sqlKeepControls = `
CREATE SCHEMA controls;
DO $$ DECLARE t text; found boolean; BEGIN
  FOR t IN ` + sqlEmptied + ` AND relname NOT LIKE 'river%'
  LOOP
    EXECUTE format('SELECT EXISTS (SELECT FROM public.%I)', t) INTO found;
    IF found THEN EXECUTE format('CREATE TABLE controls.%I AS TABLE public.%I', t, t); END IF;
  END LOOP;
END $$`

// sqlRestoreControls puts the rows of the controls back. Triggers and foreign keys do not
// matter: the rows are what they made.
const sqlRestoreControls = `
DO $$ DECLARE t text; columns text; BEGIN
  PERFORM set_config('session_replication_role', 'replica', true);
  FOR t IN SELECT relname FROM pg_class WHERE relnamespace = 'controls'::regnamespace AND relkind = 'r'
  LOOP
    SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum) INTO columns FROM pg_attribute
    WHERE attrelid = ('public.' || quote_ident(t))::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = '';
    EXECUTE format('INSERT INTO public.%I (%s) OVERRIDING SYSTEM VALUE SELECT %s FROM controls.%I', t, columns, columns, t);
  END LOOP;
END $$`

// hasControl reports whether the connections of a case have made purchases before: nine
// in ten have, always the same ones. Cases that list their points have, and those
// of package handover have not, because a manifest would take the controls in.
func (k kill) hasControl() bool {
	if k.bare || strings.HasPrefix(k.point, "?") {
		return !k.bare
	}
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(k.String()))
	return sum.Sum32()%10 != 0
}

// mayReview reports whether a purchase of the case may be left to a person: no absence is
// believed without a control, nor at FedEx before a day has passed.
func (k kill) mayReview() bool {
	return k.review || !k.hasControl() || k.carrier == "fedex"
}
