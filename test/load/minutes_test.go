//go:build chaos

package load

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/test/proving"
)

// A minute is what was measured at its end.
type minute struct {
	times *times

	Minute    int            `json:"minute"`
	Times     map[string]any `json:"times"` // in milliseconds, by kind
	Shipments int64          `json:"shipments"`
	Errors    int64          `json:"errors"`  // so far
	Backlog   int            `json:"backlog"` // operations that are due and not begun

	ResidentMB float64 `json:"residentMB"` // of the service, on average
	HeapMB     float64 `json:"heapMB"`     // in use, on average
	Goroutines float64 `json:"goroutines"`

	TableBytes    int64   `json:"tableBytes"`
	IndexBytes    int64   `json:"indexBytes"`
	PerShipment   float64 `json:"bytesPerShipment"`
	DeadRows      int64   `json:"deadRows"`
	WALBytes      int64   `json:"walBytes"` // since the start of the cluster
	PendingPushes int64   `json:"pendingPushes"`
	OverdueScans  int64   `json:"overdueScans"` // of simulated parcels, by more than a second
	WaitingJobs   int64   `json:"waitingJobs"`
	RollUpLagMS   float64 `json:"rollUpLagMs"`
	Load          float64 `json:"load"` // of the machine

	tables map[string]size // by table, partitions with their parent
}

// A size is what a table takes on disk.
type size struct{ table, indexes int64 }

const sqlSizes = `
SELECT coalesce(p.relname, c.relname)::text,
  coalesce(sum(pg_table_size(c.oid)), 0)::bigint, coalesce(sum(pg_indexes_size(c.oid)), 0)::bigint
FROM pg_class c
LEFT JOIN pg_inherits i ON i.inhrelid = c.oid
LEFT JOIN pg_class p ON p.oid = i.inhparent
WHERE c.relkind = 'r' AND c.relnamespace = 'public'::regnamespace
GROUP BY 1`

// sqlLags reads what waits to be done. The id of an event has its time in
// milliseconds in its first 48 bits.
const sqlLags = `
SELECT (SELECT sum(n_dead_tup)::bigint FROM pg_stat_user_tables),
  (pg_current_wal_insert_lsn() - '0/0')::bigint,
  (SELECT count(*) FROM pending_pushes),
  (SELECT count(*) FROM sandbox_polls WHERE due_at < now() - interval '1 second'),
  (SELECT count(*) FROM river_job WHERE state = 'available'),
  (SELECT extract(epoch FROM clock_timestamp()) * 1000
    - ('x' || substr(replace(cursor_id::text, '-', ''), 1, 12))::bit(48)::bigint FROM facts_progress)::float8`

// observe completes a minute with what the database and the service show.
func (g *generator) observe(m *minute) {
	m.tables = map[string]size{}
	rows, _ := g.pool.Query(g.Context(), sqlSizes) // its error is returned by the rows
	var name string
	var one size
	_, err := pgx.ForEachRow(rows, []any{&name, &one.table, &one.indexes}, func() error {
		m.tables[name] = one
		m.TableBytes += one.table
		m.IndexBytes += one.indexes
		return nil
	})
	g.must(err)

	g.must(g.pool.QueryRow(g.Context(), sqlLags).Scan(
		&m.DeadRows, &m.WALBytes, &m.PendingPushes, &m.OverdueScans, &m.WaitingJobs, &m.RollUpLagMS))
	m.RollUpLagMS = proving.Round(m.RollUpLagMS)

	m.Shipments, m.Errors = g.meter.counts()
	m.Backlog = g.backlog()
	m.PerShipment = proving.Round(float64(m.TableBytes+m.IndexBytes) / float64(max(1, m.Shipments)))
	m.Load = load()
}

// load is how many processes wanted to run in the last minute.
func load() float64 {
	text, _ := os.ReadFile("/proc/loadavg")
	first, _, _ := strings.Cut(string(text), " ")
	n, _ := strconv.ParseFloat(first, 64)
	return n
}

// A memory is the service's, averaged since the last cut.
type memory struct {
	mu                       sync.Mutex
	resident, heap, routines float64
	residentTimes, scrapes   int
	highestSeen              float64
}

// watch reads the service's memory every five seconds, and its metrics every
// fifteen, as Prometheus does by default, until ctx ends.
func (g *generator) watch(ctx context.Context, used *memory) {
	n := 0
	for range ticks(ctx, 5*time.Second) {
		resident := residentMB(g.service.PID())
		used.mu.Lock()
		used.resident += resident
		used.residentTimes++
		used.highestSeen = max(used.highestSeen, resident)
		used.mu.Unlock()

		if n++; n%3 == 0 {
			heap, routines, err := g.scrape()
			if err != nil {
				g.Errorf("read the metrics: %v", err)
				continue
			}
			used.mu.Lock()
			used.heap += heap
			used.routines += routines
			used.scrapes++
			used.mu.Unlock()
		}
	}
}

// cut writes the averages since the last cut to a minute.
func (used *memory) cut(m *minute) {
	used.mu.Lock()
	defer used.mu.Unlock()
	if used.residentTimes > 0 {
		m.ResidentMB = proving.Round(used.resident / float64(used.residentTimes))
	}
	if used.scrapes > 0 {
		m.HeapMB = proving.Round(used.heap / float64(used.scrapes))
		m.Goroutines = proving.Round(used.routines / float64(used.scrapes))
	}
	used.resident, used.heap, used.routines = 0, 0, 0
	used.residentTimes, used.scrapes = 0, 0
}

// residentMB returns the resident memory of a process.
func residentMB(pid int) float64 {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	_, rest, _ := strings.Cut(string(text), "VmRSS:")
	var kilobytes float64
	_, _ = fmt.Sscan(rest, &kilobytes)
	return kilobytes / 1024
}

// scrape reads the heap in use and the number of goroutines.
func (g *generator) scrape() (heapMB, routines float64, err error) {
	response, err := g.http.Get("http://" + g.service.Metrics + "/metrics")
	if err != nil {
		return 0, 0, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return 0, 0, fmt.Errorf("answered %s", response.Status)
	}

	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), " ")
		number, _ := strconv.ParseFloat(value, 64)
		switch name {
		case "go_memstats_heap_inuse_bytes":
			heapMB = number / (1 << 20)
		case "go_goroutines":
			routines = number
		}
	}
	return heapMB, routines, lines.Err()
}
