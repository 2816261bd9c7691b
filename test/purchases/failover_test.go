//go:build chaos

package purchases

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/emulator"
	"github.com/waybillhq/waybill/test/proving"
)

// A turning is how many creations there are while carriers take turns to fail.
type turning struct {
	orders  int
	lasts   time.Duration
	every   time.Duration // a carrier fails in another way
	settles time.Duration
}

// fault is a way for a carrier to fail as a whole.
type fault struct {
	name   string
	faults emulator.Faults
	dies   bool // it is frozen for a while, and then killed
}

// faults of carriers. Those before the last two are known to have sold nothing;
// in the last two nobody can know.
var faults = []fault{
	{name: "refuses", faults: emulator.Faults{Refuse: 1}},
	{name: "limits", faults: emulator.Faults{Limit: 1}},
	{name: "is down", faults: emulator.Faults{Down: 1}},
	{name: "dies", dies: true},
	{name: "hangs", faults: emulator.Faults{Stall: 1, HangFor: emulator.Duration(10 * time.Second)}},
	{name: "sells and hangs", faults: emulator.Faults{Buy: map[string]float64{"hang": 0.5, "reset": 0.5}, HangFor: emulator.Duration(10 * time.Second)}},
}

// TestRoutingFailsOver creates shipments that name no carrier while carriers
// refuse, hang and die in turn: each has one label or a clear refusal, and by
// the ledgers none has two.
func TestRoutingFailsOver(t *testing.T) {
	p := proving.Pick(t,
		turning{orders: 400, lasts: 10 * time.Second, every: 1200 * time.Millisecond, settles: 2 * time.Minute},
		turning{orders: 5000, lasts: 2 * time.Minute, every: 2 * time.Second, settles: 5 * time.Minute})
	proving.Beside(t)
	seed := proving.Seed(t)
	w := newWorld(t)
	start := time.Now()
	c := w.newClients(64, 0)

	// In half of the turns answers are lost, and the carrier that sells most has half of
	// the turns.
	w.lostAnswers = 0.25

	// An absence is believed only at a carrier that has sold before.
	var controls []*order
	for _, name := range carrierNames {
		controls = append(controls, newOrder(fmt.Sprintf("control-%x-%s", seed, name), name))
	}
	c.buyAll(controls, seed, time.Second, time.Minute)

	orders := make([]*order, p.orders)
	for i := range orders {
		orders[i] = newOrder(fmt.Sprintf("route-%x-%d", seed, i), "")
	}
	var turner sync.WaitGroup
	done := make(chan struct{})
	turns := map[string]int{}
	turner.Go(func() { w.takeTurns(seed, p.every, turns, done) })
	c.buyAll(orders, seed, p.lasts, p.settles)
	close(done)
	turner.Wait()
	w.turnAll(emulator.Faults{})
	_, late := w.settle(p.settles)
	reopen(orders)
	c.buyAll(open(orders), seed+1, time.Second, time.Minute)
	j := w.judge(append(controls, orders...))
	j.add("not settled", late...)
	elsewhere := w.count(`SELECT count(*) FROM shipments s WHERE json_array_length(s.purchase->'routing'->'failed') > 0 AND s.purchase->>'boughtAt' IS NOT NULL`)
	further := w.count(`SELECT count(*) FROM purchase_attempts WHERE attempt > 1`)
	after := w.count(`SELECT count(*) FROM purchase_attempts a JOIN purchase_attempts b ON b.shipment_id = a.shipment_id AND b.attempt = a.attempt + 1
		WHERE coalesce(a.outcome, 'open') NOT IN ('declined', 'not_sent', 'not_found', 'orphaned')`)
	if after > 0 {
		j.add("tried after an unknown outcome", fmt.Sprintf("%d attempts followed one whose outcome was not known", after))
	}
	if elsewhere == 0 || further == 0 {
		t.Errorf("%d shipments were bought after a carrier failed, in %d further attempts: nothing was shown", elsewhere, further)
	}
	proving.Report(t, "routing.json", func(out *proving.Proof) {
		out.N, out.Seed, out.Settings = p.orders, seed, w.settings
		out.Kills, out.Violations, out.Bound95 = w.kills.Load(), j.total(), proving.Upper95(j.total())/float64(p.orders)
		out.Seconds = proving.Round(time.Since(start).Seconds())
	}, map[string]any{
		"answers": c.answers, "ends": j.ends, "turns": turns, "boughtElsewhere": elsewhere, "furtherAttempts": further,
		"sold": len(j.sales), "stranded": j.orphaned, "slowestVoidSeconds": proving.Round(j.slowest.Seconds()),
	})
	j.complain(t)
	w.guard(t)
}

// takeTurns has one carrier after the other fail, in one way after the other.
// Every other turn, and each of every other round, is the turn of the carrier
// that sells most: one that nobody would have bought from shows nothing when it
// fails. So the first turn waits for sales.
func (w *world) takeTurns(seed uint64, every time.Duration, turns map[string]int, done <-chan struct{}) {
	rng := rand.New(rand.NewPCG(seed, 1<<42))
	proving.Await(w.t, "sales", time.Minute, func() bool { return w.count(sqlSales) >= 5 })
	for i := 0; ; i++ {
		s, f := w.carriers[rng.IntN(len(w.carriers))], faults[i%len(faults)]
		if i%2 == 0 || i/len(faults)%2 == 1 {
			s = w.bestSeller(s)
		}
		turns[f.name]++
		if f.dies {
			s.Signal(syscall.SIGSTOP)
		} else {
			w.turn(s, f.faults)
		}
		over := false
		select {
		case <-time.After(every/2 + time.Duration(rng.Int64N(int64(every)))):
		case <-done:
			over = true
		}
		if f.dies {
			s.Signal(syscall.SIGKILL)
			w.kills.Add(1)
		} else {
			w.turn(s, emulator.Faults{})
		}
		if over {
			return
		}
	}
}

const sqlSales = `SELECT count(*) FROM shipments WHERE purchase->>'boughtAt' IS NOT NULL`

// bestSeller is the carrier that sold most of the newest labels, or other if
// that cannot be told.
func (w *world) bestSeller(other *stand) *stand {
	var name string
	err := w.pool.QueryRow(context.Background(), `SELECT carrier FROM (
		SELECT purchase->>'carrier' AS carrier FROM shipments WHERE purchase->>'boughtAt' IS NOT NULL ORDER BY purchase->>'boughtAt' DESC LIMIT 20) x
		GROUP BY carrier ORDER BY count(*) DESC, carrier LIMIT 1`).Scan(&name)
	if err != nil {
		w.t.Error(err)
		return other
	}
	return w.stand(name)
}
