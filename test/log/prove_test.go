// Package log_test proves the log's promise: a reader that follows the cursors
// sees each committed event once, whatever transactions commit late. It runs
// on a cluster of its own, by "make prove WHAT=log SIZE=full".
package log_test

import (
	"context"
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/internal/store/storetest"
	"github.com/waybillhq/waybill/internal/webhook"
	"github.com/waybillhq/waybill/test/proving"
)

const (
	writers  = 32
	serving  = 8 // of them write the way the service does
	tenants  = 8
	parcels  = 16 // of each tenant
	filtered = 2  // tenants whose log is read a second time, by kind
)

// A size is how much is proved.
type size struct {
	events int64
	hold   time.Duration // longest that a transaction is held open
	batch  int           // events of a statement, at most
}

var sizes = map[string]size{
	"short": {100_000, 200 * time.Millisecond, 12},
	"full":  {1_000_000, 2 * time.Second, 60},
}

// A proof is what a run showed.
type proof struct {
	N          int64   `json:"n"`
	Seed       uint64  `json:"seed"`
	Violations int     `json:"violations"`
	Bound95    float64 `json:"bound95"` // violations an event, at most, with 95 % confidence
	Seconds    float64 `json:"seconds"`
	Writers    int     `json:"writers"`
	Holds      int64   `json:"holds"`   // times that a transaction was held open
	Aborted    int64   `json:"aborted"` // events that were rolled back
	Pages      int     `json:"pages"`   // that were read
	Swaps      int     `json:"swaps"`   // times that two events of a shipment came the other way round
}

func TestProve(t *testing.T) {
	s, ok := sizes[os.Getenv("PROVE")]
	if !ok {
		t.Skip("PROVE is not set: make prove lists the proofs")
	}
	seed := rand.Uint64()
	if given, err := strconv.ParseUint(os.Getenv("PROVE_SEED"), 10, 64); err == nil {
		seed = given
	}
	st, owner := open(t, newCluster(t).URL)
	p := run(t, st, owner, s, seed)
	text, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s", text)
	if os.Getenv("PROVE") == "full" {
		if err := save(append(text, '\n')); err != nil {
			t.Fatal(err)
		}
	}
}

func save(text []byte) error {
	file := filepath.Join("..", "..", "proof", "log.json")
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, text, 0o644)
}

func run(t *testing.T, st *store.Store, owner *pgxpool.Pool, s size, seed uint64) proof {
	t.Helper()
	began := time.Now()
	l := &ledger{committed: make(map[ship.RawID]fact, s.events), unknown: draft{}}
	list, shipments := prepare(t, st, l)
	random := func(n int) *rand.Rand { return rand.New(rand.NewPCG(seed, uint64(n))) }

	done := make(chan struct{})
	readers := make([]*reader, 0, tenants+filtered)
	var reading, writing sync.WaitGroup
	for n := range tenants + filtered {
		r := &reader{
			rng: random(1000 + n), ledger: l, log: webhook.New(webhook.Config{Store: st}), tenant: list[n%tenants], number: n % tenants,
			seen: map[ship.RawID]int{}, numbers: map[ship.ShipmentID][]int{},
		}
		if n >= tenants {
			r.kinds = []ship.EventKind{ship.ShipmentInTransit}
		}
		readers = append(readers, r)
		reading.Go(func() {
			if err := r.follow(context.Background(), done); err != nil {
				t.Error(err)
			}
		})
	}
	for n := range writers {
		w := &writer{rng: random(n), ledger: l, tenants: list, hold: s.hold, batch: s.batch}
		writing.Go(func() {
			for l.count.Load() < s.events && !t.Failed() {
				var err error
				if n < serving {
					err = w.serve(context.Background(), st, shipments)
				} else {
					err = w.direct(context.Background(), owner)
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	writing.Wait()
	if err := l.resolve(t.Context(), owner); err != nil {
		t.Fatal(err)
	}
	close(done)
	reading.Wait()
	return conclude(t, l, readers, seed, time.Since(began))
}

// prepare makes the tenants and the shipments that are fought over.
func prepare(t *testing.T, st *store.Store, l *ledger) ([]ship.Tenant, [][]ship.Shipment) {
	t.Helper()
	list, shipments := make([]ship.Tenant, tenants), make([][]ship.Shipment, tenants)
	for n := range list {
		list[n] = storetest.Tenant()
		list[n].Livemode = n%2 == 1
		if n%4 == 1 {
			list[n].Account = list[n-1].Account // the other mode of an account
		}
		for range parcels {
			sh := storetest.Shipment(list[n], "o")
			c := storetest.Bought(sh, "1Z"+string(sh.ID))
			if _, err := st.Create(t.Context(), c); err != nil {
				t.Fatal(err)
			}
			shipments[n] = append(shipments[n], c.Shipment)
			l.commit(draft{c.Events[0].ID.Raw(): {n, ship.ShipmentCreated}, c.Events[1].ID.Raw(): {n, ship.ShipmentLabelGenerated}})
		}
	}
	return list, shipments
}

// conclude counts the violations and shows the first few.
func conclude(t *testing.T, l *ledger, readers []*reader, seed uint64, took time.Duration) proof {
	t.Helper()
	p := proof{N: l.count.Load(), Seed: seed, Seconds: math.Round(took.Seconds()*10) / 10, Writers: writers, Holds: l.holds.Load(), Aborted: l.aborted.Load()}
	for _, r := range readers {
		r.check(l)
		p.Swaps += r.checkNumbers()
		p.Pages += r.pages
		p.Violations += len(r.wrong)
		for _, w := range r.wrong[:min(3, len(r.wrong))] {
			t.Errorf("tenant %d, kinds %v: %s", r.number, r.kinds, w)
		}
	}
	p.Bound95 = proving.Upper95(p.Violations) / float64(p.N)
	return p
}
