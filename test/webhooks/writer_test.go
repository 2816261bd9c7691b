//go:build chaos

package webhooks

import (
	"math/rand/v2"
	"sync"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
)

// writer writes events of an account straight into the log, as fast as wanted.
// They tell of real shipments, so their bodies are of the usual size.
type writer struct {
	w         *world
	account   ship.AccountID
	templates []template

	mu      sync.Mutex
	written map[string]time.Time // when the writing of each began
	n       int
}

// template is an event that others are copied from.
type template struct {
	subject  [16]byte
	kind     string
	version  int
	snapshot string
}

const sqlTemplates = `SELECT subject_id, kind::text, body_version, snapshot::text FROM events WHERE account_id = $1 ORDER BY txid, id`

func (w *world) newWriter(a account, shipments int) *writer {
	w.t.Helper()
	id, ok := ship.ParseAccountID(a.id)
	if !ok {
		w.t.Fatalf("%q is no account", a.id)
	}
	p := &writer{w: w, account: id, written: map[string]time.Time{}}
	was := w.account
	w.account = a
	rng := rand.New(rand.NewPCG(1, 2))
	for range shipments {
		w.create(rng)
	}
	w.account = was
	rows, err := w.pool.Query(w.t.Context(), sqlTemplates, [16]byte(id.Raw()))
	if err != nil {
		w.t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var t template
		if err := rows.Scan(&t.subject, &t.kind, &t.version, &t.snapshot); err != nil {
			w.t.Fatal(err)
		}
		p.templates = append(p.templates, t)
	}
	return p
}

const sqlWrite = `
INSERT INTO events (id, account_id, livemode, subject_id, kind, sequence, body_version, snapshot)
SELECT v.id, $2, false, v.subject_id, v.kind::event_kind, v.sequence, v.body_version, v.snapshot::json
FROM unnest($1::uuid[], $3::uuid[], $4::text[], $5::int[], $6::smallint[], $7::text[]) AS v (id, subject_id, kind, sequence, body_version, snapshot)`

// write commits n events in one transaction.
func (p *writer) write(n int) {
	start := time.Now()
	ids := ship.NewEventIDs(p.account.Raw().Shard(), start, n)
	raw, subjects := make([][16]byte, n), make([][16]byte, n)
	kinds, snapshots := make([]string, n), make([]string, n)
	sequences, versions := make([]int, n), make([]int, n)
	p.mu.Lock()
	for i, id := range ids {
		t := p.templates[p.n%len(p.templates)]
		p.n++
		p.written[string(id)] = start
		raw[i], subjects[i], kinds[i], versions[i], snapshots[i], sequences[i] = id.Raw(), t.subject, t.kind, t.version, t.snapshot, 100+p.n
	}
	p.mu.Unlock()
	if _, err := p.w.pool.Exec(p.w.t.Context(), sqlWrite, raw, [16]byte(p.account.Raw()), subjects, kinds, sequences, versions, snapshots); err != nil {
		p.w.t.Errorf("write events: %v", err)
	}
}

// steadily writes n events at a rate, each in a transaction of its own.
func (p *writer) steadily(n int, perSecond float64) {
	start := time.Now()
	for i := range n {
		time.Sleep(time.Until(start.Add(time.Duration(float64(i) / perSecond * float64(time.Second)))))
		p.write(1)
	}
}

// lags are how long after it was written each event arrived at the paths;
// what has not arrived is counted.
func (p *writer) lags(b *behaviours, paths []string, since time.Time) (list []time.Duration, missing int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	b.mu.Lock()
	defer b.mu.Unlock()
	for id, at := range p.written {
		if at.Before(since) {
			continue
		}
		for _, path := range paths {
			if got, ok := b.arrived[path][id]; ok {
				list = append(list, got.Sub(at))
			} else {
				missing++
			}
		}
	}
	return list, missing
}
