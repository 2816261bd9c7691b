//go:build chaos

package cells_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/test/proving"
)

// A costing is how long and how often costs are measured.
type costing struct {
	rounds    int
	lasts     time.Duration // of each measurement
	perSecond int           // creations in each cell
	down      time.Duration // for how long a server is stopped
}

// TestProveCells measures what a creation costs with 1, 2 and 4 cells under the same
// load each, what the router adds, and what the accounts of other cells notice of a
// server that is stopped.
func TestProveCells(t *testing.T) {
	size := proving.Pick(t,
		costing{rounds: 1, lasts: 4 * time.Second, perSecond: 20, down: 5 * time.Second},
		costing{rounds: 3, lasts: 12 * time.Second, perSecond: 120, down: time.Minute})
	isFull := os.Getenv("PROVE") == "full"

	// Without checkpoints, pages are not written to the WAL as a whole again.
	c := newCity(t, 4, "-c checkpoint_timeout=1d -c max_wal_size=8GB")
	meters := make([]*meter, 4)
	shops := make([]*shop, 4)
	for i := range shops {
		shops[i] = c.newShop(fmt.Sprint("shop", i))
		if i > 0 {
			c.waybill(0, "shard", "move", strconv.Itoa(shops[i].shard), nameOf(i), "--keep", "0s")
		}
		meters[i] = c.newMeter(i)
	}
	c.purge()
	c.load(shops, size, size.lasts, c.routed) // what is done once for a page, a connection or a plan

	costs := c.measureCosts(shops, meters, size)
	spread := map[string]float64{"cpu": spreadOf(costs, cost.cpu), "wal": spreadOf(costs, func(one cost) float64 { return one.WAL })}
	if isFull && (spread["cpu"] > 1.1 || spread["wal"] > 1.1) {
		c.violate("cost", "a creation costs differently with 1, 2 and 4 cells: %v", spread)
	}
	router := c.measureRouter(shops[0], size)
	dead := c.stopServers(shops, size)
	for name, outage := range dead {
		if outage.OtherErrors > 0 {
			c.violate("other cells", "%d requests of other cells failed while that of %s was stopped", outage.OtherErrors, name)
		}
		if isFull && outage.OtherP99Ratio > 1.2 {
			c.violate("other cells", "while the server of %s was stopped, requests of other cells took %.2f times as long at p99", name, outage.OtherP99Ratio)
		}
	}

	proving.Report(t, "cells.json", nil, map[string]any{
		"perSecondInEachCell": size.perSecond,
		"costOfACreation":     costs,
		"costSpread":          spread,
		"router":              router,
		"serverStopped":       dead,
		"violations":          c.violated(),
	})
}

// routed is the address of the router.
func (c *city) routed(int) string { return c.router.Addr }

// straight is the address of the copy of a cell.
func (c *city) straight(cell int) string { return c.copies[cell].Addr }

// A loaded is what clients saw of the shops, one each.
type loaded struct {
	times  [][]time.Duration // of requests that were answered as they should
	errors []int64
}

// others returns the times and errors of all shops but one.
func (l loaded) others(but int) (times []time.Duration, failed int64) {
	for i := range l.times {
		if i != but {
			times = append(times, l.times[i]...)
			failed += l.errors[i]
		}
	}
	return times, failed
}

func (l loaded) all() []time.Duration {
	times, _ := l.others(-1)
	return times
}

var orders atomic.Int64

// load creates shipments of the shops at a steady rate each, whatever the answers.
func (c *city) load(shops []*shop, size costing, lasts time.Duration, address func(cell int) string) loaded {
	const workers = 8
	out := loaded{times: make([][]time.Duration, len(shops)), errors: make([]int64, len(shops))}
	every := workers * time.Second / time.Duration(size.perSecond)
	start := time.Now()
	var mu sync.Mutex
	var working sync.WaitGroup
	for i, s := range shops {
		for worker := range workers {
			working.Go(func() {
				var took []time.Duration
				var failed int64
				for next := start.Add(every * time.Duration(worker) / workers); next.Before(start.Add(lasts)); next = next.Add(every) {
					time.Sleep(time.Until(next))
					began := time.Now()
					status, _, err := c.once(context.Background(), address(i), s.creation(fmt.Sprint("cost-", orders.Add(1))))
					if err != nil || status != http.StatusCreated {
						failed++
						continue
					}
					took = append(took, time.Since(began))
				}
				mu.Lock()
				defer mu.Unlock()
				out.times[i] = append(out.times[i], took...)
				out.errors[i] += failed
			})
		}
	}
	working.Wait()
	return out
}

// A meter reads what the processes of a cell have used.
type meter struct {
	*city
	cell       int
	conn       *pgx.Conn
	postmaster int
}

func (c *city) newMeter(cell int) *meter {
	c.t.Helper()
	postmaster, err := c.clusters[cell].Postmaster()
	if err != nil {
		c.t.Fatal(err)
	}
	return &meter{city: c, cell: cell, conn: c.conn(cell), postmaster: postmaster}
}

func (m *meter) wal() (bytes int64) {
	m.t.Helper()
	if err := m.conn.QueryRow(m.t.Context(), "SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint").Scan(&bytes); err != nil {
		m.t.Fatal(err)
	}
	return bytes
}

// A cost is what a creation took: microseconds of CPU, and bytes of WAL.
type cost struct {
	Postgres float64 `json:"postgresMicros"`
	Service  float64 `json:"serviceMicros"`
	Router   float64 `json:"routerMicros"`
	WAL      float64 `json:"walBytes"`
	P50      float64 `json:"p50Millis"`
	P99      float64 `json:"p99Millis"`
}

func (one cost) cpu() float64 { return one.Postgres + one.Service + one.Router }

// measureCosts loads the first 1, 2 and 4 cells in turns.
func (c *city) measureCosts(shops []*shop, meters []*meter, size costing) map[string]cost {
	c.t.Helper()
	rounds := map[string][]cost{}
	for range size.rounds {
		for _, cells := range []int{1, 2, 4} {
			one := c.measureCost(shops[:cells], meters[:cells], size)
			c.t.Logf("%d cells: %+v", cells, one)
			name := strconv.Itoa(cells)
			rounds[name] = append(rounds[name], one)
		}
	}

	costs := map[string]cost{}
	for name, list := range rounds {
		median := func(of func(cost) float64) float64 {
			values := make([]float64, len(list))
			for i, one := range list {
				values[i] = of(one)
			}
			slices.Sort(values)
			return proving.Round(values[len(values)/2])
		}
		costs[name] = cost{
			Postgres: median(func(one cost) float64 { return one.Postgres }),
			Service:  median(func(one cost) float64 { return one.Service }),
			Router:   median(func(one cost) float64 { return one.Router }),
			WAL:      median(func(one cost) float64 { return one.WAL }),
			P50:      median(func(one cost) float64 { return one.P50 }),
			P99:      median(func(one cost) float64 { return one.P99 }),
		}
	}
	return costs
}

func (c *city) measureCost(shops []*shop, meters []*meter, size costing) cost {
	c.t.Helper()
	read := func() (postgres, service, router time.Duration, wal int64) {
		for _, m := range meters {
			postgres += proving.TreeCPU(m.postmaster)
			service += proving.ProcessCPU(c.copies[m.cell].PID())
			wal += m.wal()
		}
		return postgres, service, proving.ProcessCPU(c.router.PID()), wal
	}

	postgres, service, router, wal := read()
	seen := c.load(shops, size, size.lasts, c.routed)
	postgresAfter, serviceAfter, routerAfter, walAfter := read()
	times := seen.all()
	if _, failed := seen.others(-1); failed > 0 || len(times) == 0 {
		c.violate("error", "%d of %d creations failed", failed, len(times)+int(failed))
	}
	each := func(used time.Duration) float64 { return float64(used.Microseconds()) / float64(max(1, len(times))) }
	return cost{
		Postgres: each(postgresAfter - postgres),
		Service:  each(serviceAfter - service),
		Router:   each(routerAfter - router),
		WAL:      float64(walAfter-wal) / float64(max(1, len(times))),
		P50:      proving.Quantile(times, 0.5),
		P99:      proving.Quantile(times, 0.99),
	}
}

// spreadOf is the largest cost by the smallest.
func spreadOf(costs map[string]cost, of func(cost) float64) float64 {
	var list []float64
	for _, one := range costs {
		list = append(list, of(one))
	}
	return float64(int(100*slices.Max(list)/max(1, slices.Min(list)))) / 100
}

// A hop is what the router adds to a request.
type hop struct {
	CreationP50Added float64            `json:"creationP50AddedMillis"`
	CreationP99Added float64            `json:"creationP99AddedMillis"`
	ReadMicros       map[string]float64 `json:"readMicros"` // CPU of a small GET, by connections
}

// measureRouter compares creations through the router with those straight to the cell,
// in turns, and has as many small requests sent as one and sixteen connections take.
func (c *city) measureRouter(s *shop, size costing) hop {
	c.t.Helper()
	var p50, p99 []float64
	for range max(2, size.rounds) {
		straight := c.load([]*shop{s}, size, size.lasts, c.straight).all()
		routed := c.load([]*shop{s}, size, size.lasts, c.routed).all()
		p50 = append(p50, proving.Quantile(routed, 0.5)-proving.Quantile(straight, 0.5))
		p99 = append(p99, proving.Quantile(routed, 0.99)-proving.Quantile(straight, 0.99))
	}
	slices.Sort(p50)
	slices.Sort(p99)
	out := hop{CreationP50Added: proving.Round(p50[len(p50)/2]), CreationP99Added: proving.Round(p99[len(p99)/2]), ReadMicros: map[string]float64{}}

	for _, connections := range []int{1, 16} {
		var sent atomic.Int64
		before := proving.ProcessCPU(c.router.PID())
		until := time.Now().Add(size.lasts / 2)
		var sending sync.WaitGroup
		for range connections {
			sending.Go(func() {
				for time.Now().Before(until) {
					status, _, err := c.once(context.Background(), c.router.Addr, request{method: http.MethodGet, path: "/v1/carriers", key: s.keys[sandbox]})
					if err != nil || status != http.StatusOK {
						c.violate("error", "GET /v1/carriers: %d %v", status, err)
						return
					}
					sent.Add(1)
				}
			})
		}
		sending.Wait()
		used := proving.ProcessCPU(c.router.PID()) - before
		out.ReadMicros[strconv.Itoa(connections)] = proving.Round(float64(used.Microseconds()) / float64(max(1, sent.Load())))
	}
	return out
}

// An outage is what clients saw while a server was stopped.
type outage struct {
	OtherRequests int     `json:"otherRequests"`
	OtherErrors   int64   `json:"otherErrors"`
	OtherP99      float64 `json:"otherP99Millis"`
	OtherBaseP99  float64 `json:"otherBaseP99Millis"` // of the same cells before
	OtherP99Ratio float64 `json:"otherP99Ratio"`
	OwnErrors     int64   `json:"ownErrors"`
	BackSeconds   float64 `json:"backSeconds"` // until the cell serves again
}

// stopServers stops the server of the last cell, and then that of the first, which is
// the directory.
func (c *city) stopServers(shops []*shop, size costing) map[string]outage {
	c.t.Helper()
	outages := map[string]outage{}
	for _, cell := range []int{len(shops) - 1, 0} {
		base, _ := c.load(shops, size, size.down/2, c.routed).others(cell)
		c.clusters[cell].Do("stop")
		seen := c.load(shops, size, size.down, c.routed)
		times, failed := seen.others(cell)

		c.clusters[cell].Do("start")
		back := proving.Await(c.t, nameOf(cell)+" serves again", 2*time.Minute, func() bool {
			status, _, err := c.once(c.t.Context(), c.router.Addr, shops[cell].creation(fmt.Sprint("back-", orders.Add(1))))
			return err == nil && status == http.StatusCreated
		})
		one := outage{
			OtherRequests: len(times) + int(failed),
			OtherErrors:   failed,
			OtherP99:      proving.Quantile(times, 0.99),
			OtherBaseP99:  proving.Quantile(base, 0.99),
			OwnErrors:     seen.errors[cell],
			BackSeconds:   proving.Round(back.Seconds()),
		}
		one.OtherP99Ratio = float64(int(100*one.OtherP99/max(0.1, one.OtherBaseP99))) / 100
		outages[nameOf(cell)] = one
		if one.OwnErrors == 0 {
			c.violate("outage", "no request of %s failed while its server was stopped", nameOf(cell))
		}
	}
	return outages
}
