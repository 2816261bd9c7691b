//go:build chaos

package tracking

import (
	"context"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/test/proving"
)

// pushesAtOnce are as many as are best.
const pushesAtOnce = 96

// A race is how many parcels have how many scans taken in, how often.
type race struct{ rounds, parcels, scans int }

// TestProveSpeed has the service take in pushes of one scan each, beside the
// bare engine that is given the same rows, in turns.
func TestProveSpeed(t *testing.T) {
	r := proving.Pick(t, race{1, 400, 5}, race{5, 8000, 5})
	r.parcels = sized(r.parcels)
	m := model{seed: proving.Seed(t), began: time.Now().UTC().Truncate(time.Second), scans: 8}
	w := newWorld(t, 1)
	w.seed(0, 2*r.rounds*r.parcels+200)
	st, err := store.Open(t.Context(), store.Options{URL: w.postgres.URL, Connections: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(st.Close)
	meter := w.newMeter()
	e := &engine{world: w, store: st}
	warm := 2 * r.rounds * r.parcels
	w.push(w.writeAll(m, m.singly(warm, warm+200, r.scans)))
	var engine, service figures
	for n := range r.rounds {
		from := 2 * n * r.parcels
		work := e.prepare(m, m.singly(from, from+r.parcels, r.scans), from, from+r.parcels)
		engine.add(meter.measure(func() int { return e.run(work) }))
		list := w.writeAll(m, m.singly(from+r.parcels, from+2*r.parcels, r.scans))
		profile := w.profile()
		service.add(meter.measure(func() int { return w.push(list) }))
		profile()
	}
	for n := range 2 * r.rounds * r.parcels {
		p := m.parcel(n)
		if n%97 == 0 && w.count(`SELECT count(*) FROM tracking_events t JOIN lookup_keys l USING (account_id, livemode, subject_id) WHERE l.kind = 't' AND l.value = $1`, p.number) != r.scans {
			t.Errorf("%s has not all its scans", p.number)
		}
	}
	ratio := service.perSecond() / engine.perSecond()
	cpu, engineCPU := service.micros(service.service+service.postgres), engine.micros(engine.client+engine.postgres)
	report(t, func(out *proving.Proof) {
		out.PerSecond, out.Engine, out.Ratio = proving.Round(service.perSecond()), proving.Round(engine.perSecond()), math.Round(ratio*100)/100
		out.Micros, out.EngineMicros = cpu, engineCPU
	}, map[string]any{
		"cpuRatio": math.Round(100*engineCPU/cpu) / 100, "atOnce": pushesAtOnce, "engineClients": engineClients, "engineBatch": engineBatch,
		"events": service.events, "perSecond": proving.Round(service.perSecond()), "enginePerSecond": proving.Round(engine.perSecond()), "ratio": math.Round(ratio*100) / 100,
		"serviceMicros": service.micros(service.service), "postgresMicros": service.micros(service.postgres), "enginePostgresMicros": engine.micros(engine.postgres),
		"engineClientMicros": engine.micros(engine.client), "senderMicros": service.micros(service.client),
	})
	// The gate shares its machine with whatever else runs there, which takes more
	// from one than from the other: it holds the CPU time, and that roughly.
	if got, least := proving.Pick(t, engineCPU/cpu, ratio), proving.Pick(t, 0.2, 0.5); got < least {
		t.Errorf("the service takes in %.2f of what the engine does, want %.2f", got, least)
	}
}

// figures are what some measurements add up to.
type figures struct {
	events                    int
	took                      time.Duration
	service, postgres, client time.Duration // CPU
}

func (f *figures) add(g figures) {
	f.events, f.took = f.events+g.events, f.took+g.took
	f.service, f.postgres, f.client = f.service+g.service, f.postgres+g.postgres, f.client+g.client
}

func (f figures) perSecond() float64 { return float64(f.events) / f.took.Seconds() }

func (f figures) micros(d time.Duration) float64 {
	return proving.Round(float64(d.Microseconds()) / float64(f.events))
}

// singly are the first scans of parcels, each told alone and once, in any order.
func (m model) singly(from, to, scans int) (list []delivery) {
	for n := from; n < to; n++ {
		for i := range scans {
			list = append(list, delivery{parcel: int32(n), scans: 1 << i})
		}
	}
	rng := rand.New(rand.NewPCG(m.seed, 1<<42))
	rng.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list
}

// writeAll makes the pushes.
func (w *world) writeAll(m model, list []delivery) (texts [][]byte) {
	for _, one := range list {
		texts = append(texts, w.write(m, one).text())
	}
	return texts
}

// push sends pushes and waits until they are taken in.
func (w *world) push(list [][]byte) int {
	s := &sender{world: w, other: map[int]int{}}
	order := make([]delivery, len(list))
	for i := range order {
		order[i].parcel = int32(i)
	}
	s.source(1, pushesAtOnce, order, func(one delivery) []byte { return list[one.parcel] })
	w.awaitHeard()
	return len(list)
}

// awaitHeard waits until nothing is left to be taken in.
func (w *world) awaitHeard() {
	for start := time.Now(); w.count("SELECT count(*) FROM (SELECT FROM pending_pushes LIMIT 1) u") > 0; time.Sleep(10 * time.Millisecond) {
		if time.Since(start) > 10*time.Minute {
			w.t.Fatal("not everything is taken in")
		}
	}
}

// profile takes a profile of the service if PROFILE names a file.
func (w *world) profile() (wait func()) {
	file := os.Getenv("PROFILE")
	if file == "" {
		return func() {}
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		resp, err := http.Get("http://" + w.copies[0].Metrics + "/debug/pprof/profile?seconds=5")
		if err != nil {
			w.t.Error(err)
			return
		}
		defer resp.Body.Close()
		data, _ := io.ReadAll(resp.Body)
		_ = os.WriteFile(file, data, 0o644)
	}()
	return func() { <-done }
}

// meter reads what the processes of a world use.
type meter struct {
	*world
	postmaster int
}

func (w *world) newMeter() meter {
	var backend int
	if err := w.pool.QueryRow(context.Background(), "SELECT pg_backend_pid()").Scan(&backend); err != nil {
		w.t.Fatal(err)
	}
	parent, _, _ := proving.ReadStat(backend)
	return meter{w, parent}
}

// measure does something to so many events and reports what it cost.
func (m meter) measure(do func() int) figures {
	if _, err := m.pool.Exec(context.Background(), "CHECKPOINT"); err != nil {
		m.t.Fatal(err)
	}
	service, postgres, client := m.serviceCPU(), proving.TreeCPU(m.postmaster), proving.ProcessCPU(os.Getpid())
	start := time.Now()
	f := figures{events: do()}
	f.took = time.Since(start)
	f.service, f.postgres, f.client = m.serviceCPU()-service, proving.TreeCPU(m.postmaster)-postgres, proving.ProcessCPU(os.Getpid())-client
	return f
}

func (m meter) serviceCPU() (sum time.Duration) {
	for _, p := range m.copies {
		sum += proving.ProcessCPU(p.PID())
	}
	return sum
}
