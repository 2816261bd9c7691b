//go:build chaos

package load

import (
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/waybillhq/waybill/test/proving"
)

// A kind of work whose times are measured.
type kind int

const (
	createLive    kind = iota // a purchase from the emulated UPS
	createSandbox             // a purchase in the sandbox
	push                      // a scan that the carrier pushes
	lookup                    // a shipment by its id, or a parcel by its number
	list                      // a page of the list of shipments
	search                    // shipments by order number or recipient
	poll                      // a page of the event log
	page                      // a page of the dashboard
	webhook                   // from the recording of an event to its arrival
	kinds
)

var kindNames = [kinds]string{
	"createLive", "createSandbox", "push", "lookup", "list", "search", "poll", "page", "webhook",
}

// A histogram counts times in buckets, each 2 % wider than the one before, so
// its size does not depend on how many there are.
type histogram [900]uint32

// growth is the ratio of two buckets' bounds. The first ends at 10 µs.
const growth = 1.02

func (h *histogram) add(took time.Duration) {
	bucket := int(math.Log(float64(took.Microseconds())/10)/math.Log(growth)) + 1
	h[max(0, min(bucket, len(h)-1))]++
}

func (h *histogram) merge(other *histogram) {
	for i, n := range other {
		h[i] += n
	}
}

func (h *histogram) count() (n int) {
	for _, one := range h {
		n += int(one)
	}
	return n
}

// quantile returns the upper bound of a quantile, in milliseconds.
func (h *histogram) quantile(q float64) float64 {
	rank := int(q * float64(h.count()))
	for i, n := range h {
		rank -= int(n)
		if rank < 0 {
			return math.Round(math.Pow(growth, float64(i))) / 100
		}
	}
	return 0
}

// times are those of one stretch of work, by kind.
type times [kinds]histogram

func (t *times) merge(other *times) {
	for k := range t {
		t[k].merge(&other[k])
	}
}

// A meter counts what was done, and how long it took.
type meter struct {
	mu       sync.Mutex
	now      *times // since the last cut
	created  int64
	errors   int64
	examples []string
}

func newMeter() *meter { return &meter{now: &times{}} }

func (m *meter) done(k kind, took time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now[k].add(took)
	if k == createLive || k == createSandbox {
		m.created++
	}
}

// fail counts an error, and keeps the first ones for the report.
func (m *meter) fail(k kind, format string, args ...any) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.errors++
	if len(m.examples) < 20 {
		m.examples = append(m.examples, kindNames[k]+": "+fmt.Sprintf(format, args...))
	}
}

// cut returns the times since the last cut.
func (m *meter) cut() *times {
	m.mu.Lock()
	defer m.mu.Unlock()
	last := m.now
	m.now = &times{}
	return last
}

func (m *meter) counts() (created, errors int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.created, m.errors
}

// figures are the counts and quantiles of the kinds.
func (t *times) figures() map[string]any {
	all := map[string]any{}
	for k := range t {
		all[kindNames[k]] = map[string]any{
			"n":   t[k].count(),
			"p50": proving.Round(t[k].quantile(0.5)),
			"p99": proving.Round(t[k].quantile(0.99)),
		}
	}
	return all
}
