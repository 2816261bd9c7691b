//go:build chaos

package crash

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/test/proving"
)

// A kill is one case: a scenario, the point at which the copy that is asked
// dies, and how it goes on.
type kill struct {
	scenario
	point    string // "before send#2"; "?file" only lists the points
	recovery string
	bare     bool // nothing was bought before
}

// name is the point without the number of its hit.
func (k kill) name() string {
	name, _, _ := strings.Cut(k.point, "#")
	return name
}

func (k kill) String() string { return fmt.Sprintf("%s / %s / %s", k.scenario, k.point, k.recovery) }

// The ways to go on: the copy is started again, with its disk; another copy
// with a disk of its own goes on, and the dead one comes back later; or the
// copy did not die at all, and goes on where it was when another has settled
// everything.
const (
	same   = "same"
	other  = "other"
	paused = "paused"
)

var recoveries = []string{same, other, paused}

// The copies by their disks.
const (
	first  = "first"
	second = "second"
)

// bench is what one case needs: a database, a carrier, a client and copies of
// the program.
type bench struct {
	*world
	kill
	name     string
	dir      string
	database string
	urls     string
	conn     *pgx.Conn
	carrier  *stand   // that is asked
	stands   []*stand // all that the account is connected to
	client   *client
	running  []*process
	wrong    []string
	hit      bool
	late     bool   // it died after all was settled, while it was judged: the case shows nothing
	trace    string // points that were passed

	settledAfter time.Duration // from the death
	left         bool          // to a person
}

// patience is how long a purchase may take to settle.
var patience = proving.Patiently(time.Minute)

// run plays a case and judges it.
func (w *world) run(k kill) *bench {
	b := w.openBench(k)
	if len(b.wrong) > 0 {
		return b
	}
	b.play()
	b.readTrace()
	b.judge()
	b.late = !b.hit && b.running[0].gone()
	b.close()
	return b
}

// openBench prepares the database and the carriers of a case.
func (w *world) openBench(k kill) *bench {
	b := &bench{world: w, kill: k, name: w.take(context.Background()), client: newClient(w, k.scenario)}
	b.database, b.dir = w.database(b.name), filepath.Join(w.dir, b.name)
	conn, err := pgx.Connect(context.Background(), b.database)
	if err == nil {
		err = os.Mkdir(b.dir, 0o700)
	}
	if err != nil {
		b.complain("%v", err)
		return b
	}
	b.conn = conn
	if !k.hasControl() {
		b.sql(sqlEmpty)
	}
	b.openStands()
	return b
}

// readTrace reads the points that were passed, if the case lists them.
func (b *bench) readTrace() {
	file, ok := strings.CutPrefix(b.point, "?")
	if !ok {
		return
	}
	text, err := os.ReadFile(file)
	if err != nil {
		b.complain("no point is passed: %v", err)
	}
	b.trace = string(text)
}

func (b *bench) complain(format string, args ...any) {
	b.wrong = append(b.wrong, fmt.Sprintf(format, args...))
}

// openStands starts all carriers. The others are healthy.
func (b *bench) openStands() {
	var urls []string
	for _, m := range makers {
		s := scenario{carrier: m.name, outcome: "answered"}
		if m.name == b.scenario.carrier {
			s = b.scenario
		}
		c := newStand(b, s)
		b.stands = append(b.stands, c)
		urls = append(urls, m.name+"="+c.address())
		if m.name == b.scenario.carrier {
			b.carrier = c
		}
	}
	b.urls = strings.Join(urls, ",")
}

// putBack restores the database to before the purchase.
func (b *bench) putBack() {
	b.sql(sqlEmpty)
	if b.hasControl() {
		b.sql(sqlRestoreControls)
	}
}

func (b *bench) close() {
	for _, p := range b.running {
		p.kill()
	}
	for _, c := range b.stands {
		c.close()
	}
	b.sql(sqlEmpty)
	b.sql(sqlRestoreControls)
	_ = b.conn.Close(context.Background())
	if err := os.RemoveAll(b.dir); err != nil {
		b.complain("%v", err)
	}
	b.spare <- b.name
}

// play is the case itself.
func (b *bench) play() {
	if b.earlier != "" && !b.playEarlier() {
		return
	}
	point := b.point
	if b.recovery == paused {
		point += "!stop"
		b.client.http.Timeout = proving.Times(3*time.Second, b.slow) // it asks another copy then
	}
	p := b.start(first, point)
	b.goOn(p, first, second)
	if b.hit = p.gone(); !b.hit {
		return
	}
	died := time.Now()
	defer func() { b.settledAfter = time.Since(died) }()
	b.buried()
	if b.recovery != same {
		b.settle(b.start(second, ""), second)
	}
	if b.recovery == paused {
		p.wake()
		time.Sleep(proving.Times(lateSweeps, b.slow))
		b.settle(p, first, second)
		return
	}
	b.settle(b.start(first, ""), first, second)
}

// lateSweeps is how long it takes until a label that is sold late is noticed.
const lateSweeps = 5 * time.Second

// playEarlier plays what happened before the copy comes back.
func (b *bench) playEarlier() bool {
	p := b.start(first, "after spool")
	b.client.ask(p.addr)
	if !p.goesWithin(patience) {
		b.complain("the first copy did not die with a sale on its disk")
		return false
	}
	b.buried()
	switch b.earlier {
	case "settled":
		p := b.start(second, "")
		b.settle(p, second)
		p.kill()
		b.buried()
	case "lost":
		b.putBack()
		b.client.refused = "it gave up"
		b.client.shipment = ""
	case "restored":
		b.putBack()
		b.client.shipment = "" // nobody knows it any more
	}
	return true
}

// settle goes on until nothing is open any more.
func (b *bench) settle(p *process, disks ...string) {
	b.goOn(p, disks...)
	if p.gone() {
		b.complain("%s died by itself", p.name)
	}
}

// goOn has the client ask a copy until it has what it wants and nothing is
// open any more, or the copy dies.
func (b *bench) goOn(p *process, disks ...string) {
	for deadline := time.Now().Add(patience); !p.gone(); time.Sleep(100 * time.Millisecond) {
		b.client.ask(p.addr)
		if b.approval == "approved" {
			b.sql("UPDATE approvals SET status = 'approved', decided_at = now() WHERE status = 'waiting'")
		}
		if b.earlier == "lost" { // a person voids what a restore lost
			b.sql("UPDATE missing_purchases SET state = 'voiding', decided_at = now() WHERE state = 'missing'")
		}
		if b.client.done() && b.settled(disks) {
			p.goesWithin(250 * time.Millisecond) // a job may still pass its last point
			return
		}
		if time.Now().After(deadline) {
			b.complain("not settled within %v: %s", patience, b.unsettled())
			return
		}
	}
}

// settled reports whether nothing waits for an outcome.
func (b *bench) settled(disks []string) bool {
	for _, name := range disks {
		if n := b.spooled(name); n > 0 && b.earlier != "restored" { // there the entry is kept for days
			return false
		}
	}
	return b.unsettled() == ""
}

// unsettled is what waits for an outcome.
func (b *bench) unsettled() (list string) {
	err := b.conn.QueryRow(context.Background(), `
		SELECT coalesce(string_agg(what, ', '), '') FROM (
		  SELECT 'a purchase is ' || state FROM shipment_states WHERE state IN ('awaiting_approval', 'purchasing', 'uncertain', 'voiding')
		  UNION ALL SELECT 'stranded is ' || tracking_number FROM orphaned_labels WHERE state = 'pending'
		  UNION ALL SELECT 'missing is ' || shipment_id FROM missing_purchases WHERE state IN ('missing', 'held', 'adopting', 'voiding')) AS x (what)`).Scan(&list)
	if err != nil {
		b.complain("%v", err)
	}
	return list
}

func (b *bench) sql(statement string) {
	if _, err := b.conn.Exec(context.Background(), statement); err != nil {
		b.complain("%s: %v", statement, err)
	}
}

// buried has the queue notice at once that a copy is dead, and the carrier be
// healthy from now on. The queue would take a minute to give the dead copy's
// jobs to another, and fifteen seconds to choose another leader.
func (b *bench) buried() {
	b.carrier.heal()
	b.sql("DELETE FROM river_leader")
	b.sql("UPDATE river_job SET state = 'available', scheduled_at = now() WHERE state IN ('running', 'scheduled', 'retryable')")
}
