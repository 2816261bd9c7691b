//go:build chaos

package purchases

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/emulator"
	"github.com/waybillhq/waybill/test/proving"
)

// A killing is how much dies while how much is bought.
type killing struct {
	orders         int
	kills, crashes int
	stops          int
	stopFor        time.Duration // at most
	lasts          time.Duration
	settles        time.Duration // until everything must be settled
}

// TestProvePurchases buys while copies of the service, carriers and Postgres
// are killed and frozen, and carriers sell without answering.
func TestProvePurchases(t *testing.T) {
	p := proving.Pick(t,
		killing{orders: 1000, kills: 30, crashes: 2, stops: 2, stopFor: 8 * time.Second, lasts: 30 * time.Second, settles: 3 * time.Minute},
		killing{orders: 20_000, kills: 500, crashes: 20, stops: 20, stopFor: time.Minute, lasts: 16 * time.Minute, settles: 10 * time.Minute})
	proving.Beside(t)
	seed := proving.Seed(t)
	w := newWorld(t)
	start := time.Now()
	bad := badDay()
	w.standsStill = p.stopFor
	for _, share := range bad.Buy {
		w.lostAnswers += share
	}
	for _, s := range w.carriers {
		w.turn(s, bad)
	}
	c := w.newClients(128, 0.05)
	orders := newOrders(fmt.Sprintf("kill-%x", seed), p.orders, rand.New(rand.NewPCG(seed, 1)))
	var killers sync.WaitGroup
	killers.Go(func() { w.kill(seed, p.kills, p.lasts) })
	killers.Go(func() { w.crash(p.crashes, p.lasts) })
	killers.Go(func() { w.freeze(seed, p) })
	c.buyAll(orders, seed, p.lasts, p.settles)
	killers.Wait()
	t.Logf("all clients have their answer after %.1f s, %d have none", time.Since(start).Seconds(), len(open(orders)))
	w.turnAll(emulator.Faults{})
	tail, late := w.settle(p.settles)
	c.vanish = 0
	reopen(orders)
	c.buyAll(open(orders), seed+1, time.Second, time.Minute)
	t.Logf("settled after %.1f s", time.Since(start).Seconds())
	j := w.judge(orders)
	t.Logf("judged after %.1f s", time.Since(start).Seconds())
	j.add("not settled", late...)
	slowest := slices.MaxFunc(orders, func(a, b *order) int { return cmp.Compare(a.took, b.took) })
	t.Logf("the slowest took %.1f s and %d requests: %s", slowest.took.Seconds(), slowest.requests, j.story(slowest.key))
	report(t, func(out *proving.Proof) {
		out.N, out.Seed, out.Settings = p.orders, seed, w.settings
		out.Kills, out.Crashes, out.Stops = w.kills.Load(), w.postgres.Crashes.Load(), w.stops.Load()
		out.Violations, out.Bound95 = j.total(), proving.Upper95(j.total())/float64(p.orders)
		out.Seconds = proving.Round(time.Since(start).Seconds())
	}, j.figures(c, tail))
	t.Logf("%d purchases, %d kills, %d crashes of Postgres, %d freezes: %d violations; with 95 %% confidence at most %.2g a purchase",
		p.orders, w.kills.Load(), w.postgres.Crashes.Load(), w.stops.Load(), j.total(), proving.Upper95(j.total())/float64(p.orders))
	j.complain(t)
	w.guard(t)
}

// badDay is how a carrier misbehaves: 8 % of its sales are not answered for.
func badDay() emulator.Faults {
	return emulator.Faults{
		Latency: emulator.Duration(5 * time.Millisecond), Spread: emulator.Duration(30 * time.Millisecond), HangFor: emulator.Duration(10 * time.Second),
		Limit: 0.002, Down: 0.01, Expired: 0.01, Refuse: 0.02, LookupFlap: 0.05,
		Buy:  map[string]float64{"hang": 0.02, "reset": 0.015, "500": 0.015, "502": 0.01, "truncate": 0.01, "wrong_reference": 0.01},
		Void: map[string]float64{"refuse": 0.02, "lost": 0.05, "hang": 0.02},
	}
}

// open are the orders without a definite answer.
func open(orders []*order) (list []*order) {
	for _, o := range orders {
		if o.status == 0 {
			list = append(list, o)
		}
	}
	return list
}

// reopen has clients ask again about purchases that a person was to decide about: they
// may have been found since.
func reopen(orders []*order) {
	for _, o := range orders {
		if o.status == http.StatusAccepted {
			o.status = 0
		}
	}
}

// buyAll buys orders, spread over a time. Each client insists until the answer is
// definite, or the time is over that this takes on a quiet machine, multiplied as
// proving.Patiently does.
func (c *clients) buyAll(orders []*order, seed uint64, lasts, onAQuietMachine time.Duration) {
	patience := proving.Patiently(onAQuietMachine)
	c.buyFor(orders, seed, lasts, patience)
}

// buyFor is buyAll with clients that give up after a fixed time.
func (c *clients) buyFor(orders []*order, seed uint64, lasts, patience time.Duration) {
	var all sync.WaitGroup
	began := time.Now()
	for i, o := range orders {
		time.Sleep(time.Until(began.Add(lasts * time.Duration(i) / time.Duration(len(orders)))))
		all.Go(func() {
			c.insist(o, rand.New(rand.NewPCG(seed, uint64(i)+2)), time.Now().Add(patience))
		})
	}
	all.Wait()
}

// kill ends random processes without warning; they are started again at once.
func (w *world) kill(seed uint64, n int, lasts time.Duration) {
	rng := rand.New(rand.NewPCG(seed, 1<<40))
	every := lasts / time.Duration(n)
	for range n {
		time.Sleep(every/2 + time.Duration(rng.Int64N(int64(every))))
		p := &w.carriers[rng.IntN(len(w.carriers))].Process
		if rng.IntN(10) < 6 {
			p = w.copies[rng.IntN(len(w.copies))]
		}
		for p.Frozen.Load() { // it is dead enough
			p = &w.carriers[rng.IntN(len(w.carriers))].Process
		}
		p.Kill()
		w.kills.Add(1)
	}
}

// crash kills Postgres now and then.
func (w *world) crash(n int, lasts time.Duration) {
	for range n {
		time.Sleep(lasts / time.Duration(n+1))
		w.postgres.Crash()
	}
}

// freeze stops a copy for a while and lets it go on: it does not know that
// time has passed.
func (w *world) freeze(seed uint64, p killing) {
	rng := rand.New(rand.NewPCG(seed, 1<<41))
	period := p.lasts / time.Duration(p.stops+1)
	for range p.stops {
		began := time.Now()
		lasts := min(time.Second+time.Duration(rng.Int64N(int64(p.stopFor))), p.stopFor)
		time.Sleep(max(period-lasts, period/10))
		c := w.copies[rng.IntN(len(w.copies))]
		c.Frozen.Store(true)
		c.Signal(syscall.SIGSTOP)
		time.Sleep(lasts)
		c.Signal(syscall.SIGCONT)
		c.Frozen.Store(false)
		w.stops.Add(1)
		time.Sleep(max(0, period-time.Since(began)))
	}
}

// settle waits until no purchase, void or orphaned label is open, no sale is
// on a disk alone, and the sweep has looked at everything since. What never
// settles is a violation, unless it waits for the void of a label that is on a
// manifest: a person decides about it. The limit is that of a quiet machine.
func (w *world) settle(limit time.Duration) (took time.Duration, violations []string) {
	w.t.Helper()
	limit = proving.Patiently(limit)
	proving.Ready(w.t, w.copies)
	began := time.Now()
	wait := func(what string, left func() int) {
		for left() > 0 {
			if time.Since(began) > limit {
				violations = append(violations, fmt.Sprintf("%d %s after %s", left(), what, limit))
				return
			}
			time.Sleep(200 * time.Millisecond)
		}
	}
	handedOver := func() []string {
		if w.handedOver == nil {
			return []string{}
		}
		return w.handedOver()
	}
	wait("purchases are open", func() int {
		return w.count(`SELECT count(*) FROM shipment_states s WHERE state IN ('purchasing', 'uncertain', 'voiding') AND NOT EXISTS (
			SELECT FROM orphaned_labels o WHERE o.shipment_id = s.id AND o.tracking_number = ANY ($1))`, handedOver())
	})
	wait("sales are on a disk alone", w.spooled)
	var settled time.Time
	if err := w.pool.QueryRow(w.t.Context(), `SELECT now()`).Scan(&settled); err != nil {
		w.t.Fatal(err)
	}
	wait("sweeps are missing", func() int {
		return 1 - min(1, w.count(`SELECT count(*) FROM river_job WHERE kind = 'sweep_attempts' AND state = 'completed' AND created_at > $1`, settled))
	})
	wait("stranded labels are not taken back", func() int {
		return w.count(`SELECT count(*) FROM orphaned_labels WHERE state = 'pending' AND tracking_number <> ALL ($1)`, handedOver())
	})
	return time.Since(began), violations
}

// spooled counts the sales that wait on the disks of the copies.
func (w *world) spooled() (n int) {
	for _, c := range w.copies {
		list, err := filepath.Glob(filepath.Join(c.Spool, "*.sealed"))
		if err != nil {
			w.t.Fatal(err)
		}
		n += len(list)
	}
	return n
}
