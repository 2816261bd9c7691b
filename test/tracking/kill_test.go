//go:build chaos

package tracking

import (
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/waybillhq/waybill/test/proving"
)

// A killing is how much is killed while how much is pushed.
type killing struct {
	parcels, scans int // scans of a parcel, about
	atOnce         int // pushes of a source
	kills, crashes int
}

// TestProveKills pushes every scan five times, a million in all, in any order,
// from three sources at once, while carriers are asked about the same parcels
// and copies of the service and Postgres are killed.
func TestProveKills(t *testing.T) {
	p := proving.Pick(t,
		killing{parcels: 1150, scans: 10, atOnce: 8, kills: 6, crashes: 1},
		killing{parcels: 23_000, scans: 10, atOnce: 8, kills: 100, crashes: 3})
	proving.Beside(t)
	p.parcels = sized(p.parcels)
	m := model{seed: proving.Seed(t), began: time.Now().UTC().Truncate(time.Second), scans: p.scans}
	front := &answering{model: func(number string) (parcel, bool) {
		n, ok := placeOf(number)
		return m.parcel(n), ok && n < p.parcels
	}}
	w := newWorld(t, 2, front)
	w.seed(0, p.parcels)
	start := time.Now()
	s := &sender{world: w, other: map[int]int{}}
	sources := m.deliveries(p.parcels)
	total, notified := 0, 0
	for _, list := range sources {
		total += len(list)
		for _, one := range list {
			notified += bits(one.scans)
		}
	}
	var senders, killers sync.WaitGroup
	killers.Go(func() { w.killAt(s, m.seed, total, p) })
	for i, list := range sources {
		senders.Go(func() {
			s.source(m.seed+uint64(i), p.atOnce, list, func(one delivery) []byte { return w.write(m, one).text() })
		})
	}
	senders.Wait()
	pushing := time.Since(start)
	killers.Wait()
	proving.Ready(w.t, w.copies)
	tail := proving.Await(w.t, "everything is heard", 10*time.Minute, func() bool { return w.count("SELECT count(*) FROM pending_pushes") == 0 })
	took := time.Since(start)
	j := w.judge(m, p.parcels)
	report(t, func(out *proving.Proof) {
		out.N, out.Distinct, out.Parcels, out.Seed = notified, j.distinct, p.parcels, m.seed
		out.Kills, out.Crashes = w.kills.Load(), w.postgres.Crashes.Load()
		out.Violations, out.Bound95 = j.total(), proving.Upper95(j.total())/float64(j.distinct)
		out.Seconds = proving.Round(took.Seconds())
	}, map[string]any{
		"pushes": total, "tries": s.tries.Load(), "otherAnswers": s.other, "pushed": notified, "distinct": j.distinct, "mapped": j.mapped, "unmapped": j.distinct - j.mapped,
		"asked": front.asked.Load(), "pushesPerSecond": proving.Round(float64(total) / pushing.Seconds()), "heardAfterSeconds": proving.Round(tail.Seconds()), "answerP50": proving.Quantile(s.took, 0.5), "answerP99": proving.Quantile(s.took, 0.99),
		"kills": w.kills.Load(), "crashes": w.postgres.Crashes.Load(), "violations": j.counts(),
	})
	j.tell(t)
}

// deliveries are the pushes of three sources. Each scan is reported five times: the
// first source tells it alone and again with some others, so does the second
// with another stamp, and the third repeats the first's byte by byte.
func (m model) deliveries(parcels int) (sources [3][]delivery) {
	rng := rand.New(rand.NewPCG(m.seed, 1<<40))
	for n := range parcels {
		p := m.parcel(n)
		for i := range p.scans {
			one := delivery{parcel: int32(n), scans: 1 << i}
			sources[0] = append(sources[0], one)
			sources[2] = append(sources[2], one)
			one.version = 1
			sources[1] = append(sources[1], one)
		}
		for k := range 2 {
			for _, some := range p.groups(rng) {
				sources[k] = append(sources[k], delivery{parcel: int32(n), scans: some, version: uint8(2 + k)})
			}
		}
	}
	for _, list := range sources {
		rng.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	}
	return sources
}

// groups puts the scans of a parcel into pushes of up to four; UPS tells one at
// a time.
func (p parcel) groups(rng *rand.Rand) (list []uint32) {
	most := 4
	if p.carrier() == "ups" {
		most = 1
	}
	order := rng.Perm(len(p.scans))
	for len(order) > 0 {
		n := min(1+rng.IntN(most), len(order))
		var some uint32
		for _, i := range order[:n] {
			some |= 1 << i
		}
		list, order = append(list, some), order[n:]
	}
	return list
}

func bits(x uint32) (n int) {
	for ; x > 0; x &= x - 1 {
		n++
	}
	return n
}

// killAt kills copies and Postgres, and has carriers asked, evenly over the
// pushes.
func (w *world) killAt(s *sender, seed uint64, total int, p killing) {
	rng := rand.New(rand.NewPCG(seed, 1<<41))
	const asks = 8
	steps := p.kills * (p.crashes + 1) * asks
	for step := 1; step < steps && !w.t.Failed(); step++ {
		for s.sent.Load() < int64(total)*int64(step)/int64(steps) {
			if w.t.Failed() {
				return
			}
			time.Sleep(5 * time.Millisecond)
		}
		if step%(steps/asks) == 0 {
			w.askAbout(step/(steps/asks)-1, asks-1)
		}
		if step%(steps/(p.crashes+1)) == 0 {
			w.postgres.Crash()
		}
		if step%(steps/p.kills) == steps/p.kills/2 {
			w.copies[rng.IntN(len(w.copies))].Kill()
			w.kills.Add(1)
		}
	}
}
