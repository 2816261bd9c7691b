// Package budget bounds the memory of heavy work: parsing rate sheets and files
// of orders, back-tests, and the conversion of logos and labels. Each piece of
// work reserves what it may take before it begins. What does not fit waits in a
// short queue, and is turned away when the queue is full or the wait too long.
//
// The limits of each parser bound one piece of work; the budget bounds how many
// of them run at once. It measures nothing by itself.
package budget

import (
	"cmp"
	"context"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/waybillhq/waybill/internal/ship"
)

// What the kinds of work may take, in bytes: several times the largest input,
// for the copies of it and the garbage that parsing leaves.
const (
	Sheet     = 64 << 20  // a rate sheet of the largest size
	Orders    = 64 << 20  // a file of orders
	Upload    = 64 << 20  // a document of a shipment, as text and as bytes
	BackTest  = 48 << 20  // a page of past shipments
	Picture   = 48 << 20  // a logo, or a label that is a picture
	DrawPages = 192 << 20 // a PDF file in the renderer, with the renderer itself
)

// Minimum is the smallest budget in bytes with which all work can be done.
const Minimum = DrawPages

// Options are the settings of a budget.
type Options struct {
	Name    string        // of the work, in the metrics; "files" if it is empty
	Bytes   int64         // of all work at once
	Waiting int           // how many pieces of work may wait
	Wait    time.Duration // how long each may wait

	// Busy is called with true before the first piece of work begins and with
	// false after the last has ended. Calls do not overlap. Nil is not called.
	Busy func(bool)
}

// Budget is shared by all heavy work of a process, and divided among accounts by
// Shares. It is safe for concurrent use. A nil budget allows everything.
type Budget struct {
	options Options
	shares  *Shares
	busy    busyCounter
	refused atomic.Int64
}

// New returns a budget, of at least Minimum bytes.
func New(options Options) *Budget {
	options.Bytes = max(options.Bytes, Minimum)
	options.Name = cmp.Or(options.Name, "files")
	return &Budget{
		options: options,
		shares:  NewShares(options.Bytes, options.Waiting),
		busy:    busyCounter{notify: options.Busy},
	}
}

// Reserve waits until the bytes are free for work of the account. The caller must
// call release when the work is done. The error is ship.Unavailable if there is no
// room in time; it says when to try again.
//
// What the work needs must be there before: a reservation during which a client is
// waited for keeps others from theirs. A caller that holds a reservation must not
// ask for another: each would wait for the other.
func (b *Budget) Reserve(ctx context.Context, owner ship.AccountID, bytes int64) (release func(), err error) {
	if b == nil || bytes == 0 {
		return func() {}, nil
	}
	bytes = min(bytes, b.options.Bytes)

	if err := b.acquire(ctx, owner, bytes); err != nil {
		b.refused.Add(1)
		return nil, err
	}
	b.busy.begin()

	var done atomic.Bool
	return func() {
		if done.Swap(true) {
			return
		}
		b.busy.end()
		b.shares.Release(owner, bytes)
	}, nil
}

// acquire takes the bytes, and waits for them if the queue has a place.
func (b *Budget) acquire(ctx context.Context, owner ship.AccountID, bytes int64) error {
	waiting, cancel := context.WithTimeout(ctx, b.options.Wait)
	defer cancel()
	err := b.shares.Acquire(waiting, owner, bytes)
	if err != nil && ctx.Err() != nil {
		return ctx.Err() // the client has left, or its time is over
	}
	if err != nil {
		return b.full()
	}
	return nil
}

// full is the error of work that there is no room for.
func (b *Budget) full() error {
	return &ship.Error{
		Kind:       ship.Unavailable,
		Code:       "service_unavailable",
		Message:    "the service is busy with other files, back-tests or labels; wait for the number of seconds in Retry-After and send the same request again",
		RetryAfter: max(b.options.Wait, time.Second),
	}
}

// The metrics of a budget.
var (
	labels         = []string{"work"}
	limitMetric    = prometheus.NewDesc("waybill_heavy_work_limit_bytes", "Memory that heavy work may reserve: HEAVY_WORK_BYTES, and LABEL_WORK_BYTES for labels.", labels, nil)
	reservedMetric = prometheus.NewDesc("waybill_heavy_work_reserved_bytes", "Memory that heavy work has reserved now.", labels, nil)
	waitingMetric  = prometheus.NewDesc("waybill_heavy_work_waiting", "Requests that wait for memory for heavy work.", labels, nil)
	refusedMetric  = prometheus.NewDesc("waybill_heavy_work_refused_total", "Requests that were refused because heavy work had no memory left.", labels, nil)
)

// A Set is the budgets of a process, for their metrics.
type Set []*Budget

// Describe is prometheus.Collector.
func (set Set) Describe(out chan<- *prometheus.Desc) {
	for _, metric := range []*prometheus.Desc{limitMetric, reservedMetric, waitingMetric, refusedMetric} {
		out <- metric
	}
}

// Collect is prometheus.Collector.
func (set Set) Collect(out chan<- prometheus.Metric) {
	for _, b := range set {
		used, waiting := b.shares.InUse()
		name := b.options.Name
		out <- prometheus.MustNewConstMetric(limitMetric, prometheus.GaugeValue, float64(b.options.Bytes), name)
		out <- prometheus.MustNewConstMetric(reservedMetric, prometheus.GaugeValue, float64(used), name)
		out <- prometheus.MustNewConstMetric(waitingMetric, prometheus.GaugeValue, float64(waiting), name)
		out <- prometheus.MustNewConstMetric(refusedMetric, prometheus.CounterValue, float64(b.refused.Load()), name)
	}
}
