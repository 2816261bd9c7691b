//go:build chaos

package tracking

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/ship"
)

// judge holds what the service recorded against the model.
type judge struct {
	distinct, mapped int
	violations       map[string][]string
}

func (j *judge) add(kind, format string, args ...any) {
	j.violations[kind] = append(j.violations[kind], fmt.Sprintf(format, args...))
}

func (j *judge) total() (n int) {
	for _, list := range j.violations {
		n += len(list)
	}
	return n
}

func (j *judge) counts() map[string]int {
	counts := map[string]int{}
	for kind, list := range j.violations {
		counts[kind] = len(list)
	}
	return counts
}

// tell fails the test with a few examples of each kind of violation.
func (j *judge) tell(t *testing.T) {
	t.Helper()
	for _, kind := range slices.Sorted(maps.Keys(j.violations)) {
		list := j.violations[kind]
		t.Errorf("%s, %d times, such as\n  %s", kind, len(list), strings.Join(list[:min(5, len(list))], "\n  "))
	}
}

// found is what the database holds of one parcel.
type found struct {
	status   string
	sequence int
	scans    map[string]string // status by key
	events   map[string]int    // how often, by kind and key
	numbers  map[int]int       // how often, by sequence
}

// judge reads everything back, some parcels at a time.
func (w *world) judge(m model, parcels int) *judge {
	w.t.Helper()
	j := &judge{violations: map[string][]string{}}
	const some = 2000
	for from := 0; from < parcels; from += some {
		to := min(from+some, parcels)
		all := w.recorded(from, to)
		for n := from; n < to; n++ {
			p := m.parcel(n)
			j.distinct += len(p.scans)
			j.mapped += p.mapped()
			if f := all[p.number]; f == nil {
				j.add("lost parcels", "%s", p.number)
			} else {
				j.compare(p, f)
			}
		}
	}
	w.compareAPI(j, m, parcels)
	return j
}

// recorded reads the parcels from to below to.
func (w *world) recorded(from, to int) map[string]*found {
	numbers := make([]string, 0, to-from)
	for n := from; n < to; n++ {
		numbers = append(numbers, numberOf(n))
	}
	all := map[string]*found{}
	const (
		named  = ` WHERE l.kind = 't' AND l.value = ANY ($1)`
		states = ` JOIN lookup_keys l ON l.account_id = st.account_id AND l.livemode = st.livemode AND l.subject_id = st.id` + named
		scans  = ` JOIN lookup_keys l USING (account_id, livemode, subject_id)` + named
	)
	var number, status, code, kind string
	var at time.Time
	var sequence int
	w.each(`SELECT l.value, st.status::text, st.sequence FROM shipment_states st`+states, numbers, []any{&number, &status, &sequence}, func() {
		all[number] = &found{status: status, sequence: sequence, scans: map[string]string{}, events: map[string]int{}, numbers: map[int]int{}}
	})
	w.each(`SELECT l.value, t.code, t.occurred_at, coalesce(t.status::text, '') FROM tracking_events t`+scans, numbers, []any{&number, &code, &at, &status}, func() {
		all[number].scans[scan{sign: sign{code: code}, at: at}.key()] = status
	})
	w.each(`SELECT l.value, e.kind::text, e.sequence, coalesce(e.snapshot->'x'->>'c', ''), coalesce((e.snapshot->'x'->>'t')::timestamptz, 'epoch')
		FROM events e JOIN lookup_keys l ON l.account_id = e.account_id AND l.livemode = e.livemode AND l.subject_id = e.subject_id WHERE l.kind = 't' AND l.value = ANY ($1)`,
		numbers, []any{&number, &kind, &sequence, &code, &at}, func() {
			all[number].numbers[sequence]++
			if code != "" {
				all[number].events[kind+" "+scan{sign: sign{code: code}, at: at}.key()]++
			}
		})
	return all
}

func (w *world) each(sql string, numbers []string, into []any, fn func()) {
	w.t.Helper()
	rows, err := w.pool.Query(context.Background(), sql, numbers)
	if err == nil {
		_, err = pgx.ForEachRow(rows, into, func() error { fn(); return nil })
	}
	if err != nil {
		w.t.Fatalf("%.60s: %v", sql, err)
	}
}

// compare holds one parcel against the model.
func (j *judge) compare(p parcel, f *found) {
	if f.status != string(p.status()) {
		j.add("wrong status", "%s is %s, want %s", p.number, f.status, p.status())
	}
	for _, s := range p.scans {
		status, there := f.scans[s.key()]
		switch {
		case !there:
			j.add("lost scans", "%s: %s", p.number, s.key())
		case status != string(s.status):
			j.add("wrong meaning", "%s: %s is %q, want %q", p.number, s.key(), status, s.status)
		}
		if n := f.events[kinds[s.status]+" "+s.key()]; s.status != "" && n != 1 {
			j.add("not told once", "%s: %s is in the log %d times", p.number, s.key(), n)
		}
	}
	if len(f.scans) != len(p.scans) {
		j.add("invented scans", "%s has %d scans, want %d", p.number, len(f.scans), len(p.scans))
	}
	if len(f.events) != p.mapped() {
		j.add("invented events", "%s has %d events of scans, want %d", p.number, len(f.events), p.mapped())
	}
	want := p.mapped() + 2 // creation and label
	if f.sequence != want || len(f.numbers) != want {
		j.add("gaps in sequences", "%s is at %d with %d events, want %d", p.number, f.sequence, len(f.numbers), want)
	}
	for n := range want {
		if f.numbers[n+1] != 1 {
			j.add("gaps in sequences", "%s has %d events with the number %d", p.number, f.numbers[n+1], n+1)
		}
	}
}

// compareAPI asks the API for some of the parcels: what clients see is what is
// recorded.
func (w *world) compareAPI(j *judge, m model, parcels int) {
	for n := 0; n < parcels; n += max(1, parcels/100) {
		p := m.parcel(n)
		var got struct {
			Status string
			Events []struct{ Status, Timestamp string }
		}
		w.must("GET", "/v1/tracking/"+url.PathEscape(p.number)+"?carrier="+p.carrier(), nil, &got)
		if got.Status != string(p.status()) || len(got.Events) != len(p.scans)+2 {
			j.add("the API tells otherwise", "%s is %s with %d events, want %s with %d", p.number, got.Status, len(got.Events), p.status(), len(p.scans)+2)
			continue
		}
		count := map[string]int{}
		for _, e := range got.Events {
			count[e.Status]++
		}
		for _, s := range p.scans {
			count[string(s.status)]--
		}
		if count[string(ship.Delivered)] != 0 {
			j.add("the API tells otherwise", "%s: %d deliveries too many", p.number, count[string(ship.Delivered)])
		}
	}
}
