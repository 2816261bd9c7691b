//go:build chaos

package load

import (
	"bytes"
	"context"
	"io"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/waybillhq/waybill/test/proving"
)

// What a run may show. The limits hold for runs of half an hour and more; in
// shorter ones chance decides.
const (
	share        = 0.7 // of the capacity
	maxSlower    = 1.2 // p99 of the last sixth of the run over that of the first
	maxMemory    = 1.1 // the same of the memory: a collector's heap is not steadier
	maxGrowth    = 1.1 // bytes per new shipment in the last third over the middle third
	judgedFrom   = 30 * time.Minute
	warmUp       = time.Minute
	measured     = time.Minute // of the capacity
	saturating   = 32          // clients that measure the capacity
	pacedClients = 64
)

// TestProveLoad measures what the machine can do, and then works at 70 % of it.
func TestProveLoad(t *testing.T) {
	minutes := proving.Pick(t, 3, 60)
	if given, err := strconv.Atoi(os.Getenv("LOAD_MINUTES")); err == nil {
		minutes = given
	}
	lasts := time.Duration(minutes) * time.Minute

	w := newWorld(t)
	g := newGenerator(w)
	pid := w.service.PID()

	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	var running sync.WaitGroup
	received := g.receive()
	read := g.follow(ctx, &running)
	used := &memory{}
	running.Go(func() { g.carry(ctx) })
	running.Go(func() { g.watch(ctx, used) })

	// The dashboard shows parcels, so it begins after the first.
	g.saturate(ctx, saturating, warmUp/2)
	browsing, close := context.WithCancel(ctx)
	running.Go(func() { g.browse(browsing) })
	g.saturate(ctx, saturating, warmUp/2)
	capacity := g.capacity(ctx, received)
	rate := share * capacity
	t.Logf("capacity: %.1f shipments a second, so %.1f in the run", capacity, rate)

	w.seedExpiring(int64(rate*lasts.Seconds()), lasts)
	g.deliver(ctx, pacedClients)
	g.settle(received)

	begin, all := g.measure(ctx, used, rate, lasts)

	// The parcels that are on their way arrive, and everybody catches up.
	close()
	g.deliver(ctx, pacedClients)
	g.settle(received)
	proving.Await(t, "the reader of the log catches up", time.Minute, func() bool {
		got, _ := read.read()
		return got >= w.count("SELECT count(*) FROM events")
	})
	stop()
	running.Wait()

	if w.service.PID() != pid {
		t.Error("the service ended and was started again")
	}
	g.report(all, begin, used, capacity, lasts, received, read)
}

// capacity returns how many shipments a second the machine can bring from their
// creation to their end: no more than were created, and no more than all their
// webhooks were delivered for.
func (g *generator) capacity(ctx context.Context, received *tally) float64 {
	createdBefore, _ := g.meter.counts()
	deliveredBefore, _ := received.read()
	start := time.Now()
	g.saturate(ctx, saturating, measured)

	took := time.Since(start).Seconds()
	created, _ := g.meter.counts()
	delivered, _ := received.read()
	creations := float64(created-createdBefore) / took
	finished := float64(delivered-deliveredBefore) / eventsOfShipment / took
	g.Logf("saturated: %.1f creations and %.1f deliveries a second", creations, finished*eventsOfShipment)
	return min(creations, finished)
}

// settle waits until the service has nothing more to do.
func (g *generator) settle(received *tally) {
	g.Helper()
	proving.Await(g.T, "the service catches up", 10*time.Minute, func() bool {
		time.Sleep(time.Second)
		delivered, _ := received.read()
		return g.backlog() == 0 &&
			g.count("SELECT count(*) FROM sandbox_polls") == 0 &&
			g.count("SELECT count(*) FROM pending_pushes") == 0 &&
			delivered >= g.count("SELECT count(*) FROM events")
	})
}

// begin is the state before the first minute.
func (g *generator) begin(used *memory) *minute {
	m := &minute{}
	g.observe(m)
	used.cut(m)
	g.meter.cut()
	return m
}

// measure runs the paced load. It returns the state before the first minute, and
// the minutes.
func (g *generator) measure(ctx context.Context, used *memory, rate float64, lasts time.Duration) (*minute, []*minute) {
	work := make(chan struct{})
	go func() {
		defer close(work)
		g.pace(ctx, pacedClients, rate*float64(len(mix))/creationsInMix, warmUp+lasts)
	}()

	// In the first minute the parcels have fewer scans than later.
	time.Sleep(warmUp)
	begin := g.begin(used)

	start := time.Now()
	var all []*minute
	rounds := 0
	for len(all) < int(lasts.Minutes()) {
		// Each sixth of the run has a round of retention in its middle, so that
		// the first and the last can be compared.
		round := start.Add(lasts/12 + time.Duration(rounds)*lasts/6)
		next := start.Add(time.Duration(len(all)+1) * time.Minute)
		if round.Before(next) {
			time.Sleep(time.Until(round))
			g.retain(rounds)
			rounds++
			continue
		}

		time.Sleep(time.Until(next))
		m := &minute{Minute: len(all) + 1}
		m.times = g.meter.cut()
		m.Times = m.times.figures()
		used.cut(m)
		g.observe(m)
		all = append(all, m)
		g.show(m)
	}
	<-work
	return begin, all
}

func (g *generator) show(m *minute) {
	g.Logf("minute %d: %d shipments, %d errors, backlog %d, %.0f MB resident, %.0f MB heap, %.0f bytes a shipment, "+
		"%d dead rows, roll-up %.0f ms behind, %d scans overdue, %d pushes pending, load %.1f; p99 in ms: creation live %.1f, sandbox %.1f, "+
		"push %.1f, look-up %.1f, list %.1f, search %.1f, poll %.1f, page %.1f, webhook %.1f",
		m.Minute, m.Shipments, m.Errors, m.Backlog, m.ResidentMB, m.HeapMB, m.PerShipment,
		m.DeadRows, m.RollUpLagMS, m.OverdueScans, m.PendingPushes, m.Load,
		m.times[createLive].quantile(0.99), m.times[createSandbox].quantile(0.99),
		m.times[push].quantile(0.99), m.times[lookup].quantile(0.99), m.times[list].quantile(0.99),
		m.times[search].quantile(0.99), m.times[poll].quantile(0.99), m.times[page].quantile(0.99), m.times[webhook].quantile(0.99))
}

// report judges a run and writes its figures.
func (g *generator) report(all []*minute, begin *minute, used *memory, capacity float64, lasts time.Duration, received, read *tally) {
	g.Helper()
	isJudged := lasts >= judgedFrom
	exceeds := func(what string, ratio, limit float64) {
		if ratio > limit {
			g.Logf("%s: %.2f, where at most %.1f is wanted", what, ratio, limit)
			if isJudged {
				g.Errorf("%s: %.2f, where at most %.1f is wanted", what, ratio, limit)
			}
		}
	}

	// Losses.
	created, failed := g.meter.counts()
	for _, example := range g.meter.examples {
		g.Log(example)
	}
	shipments := g.count("SELECT count(*) FROM shipments")
	events := g.count("SELECT count(*) FROM events")
	delivered, deliveredSum := received.read()
	readCount, readSum := read.read()
	sold := g.sold()
	live := g.count("SELECT count(*) FROM shipments WHERE livemode")
	unfinished := g.count("SELECT count(*) FROM shipment_states WHERE NOT livemode AND status <> 'delivered'")
	lost := max(0, events-readCount) + max(0, events-delivered) + abs(created-shipments) + abs(sold-live) + unfinished
	if failed > 0 || lost > 0 || delivered != events || readCount != events || deliveredSum != readSum {
		g.Errorf("%d errors; %d events, of which %d were delivered and %d read; %d created, %d stored; %d live, %d sold; %d simulated parcels not delivered",
			failed, events, delivered, readCount, created, shipments, live, sold, unfinished)
	}

	// Response times and memory, of the first and the last sixth.
	window := max(1, len(all)/6)
	first := &times{}
	last := &times{}
	var firstMB, lastMB float64
	for i := range window {
		first.merge(all[i].times)
		firstMB += all[i].ResidentMB / float64(window)
		last.merge(all[len(all)-1-i].times)
		lastMB += all[len(all)-1-i].ResidentMB / float64(window)
	}
	slower := map[string]float64{}
	for k := range kinds {
		slower[kindNames[k]] = ratio(last[k].quantile(0.99), first[k].quantile(0.99))
		exceeds("p99 of "+kindNames[k], slower[kindNames[k]], maxSlower)
	}
	memoryRatio := ratio(lastMB, firstMB)
	exceeds("memory", memoryRatio, maxMemory)

	// Disk, of the middle and the last third.
	series := append([]*minute{begin}, all...)
	third := len(all) / 3
	middle := growthBetween(series[third], series[2*third])
	end := growthBetween(series[2*third], series[len(all)])
	growthRatio := map[string]float64{
		"tables":  ratio(end["total"].table, middle["total"].table),
		"indexes": ratio(end["total"].indexes, middle["total"].indexes),
	}
	exceeds("growth of tables per shipment", growthRatio["tables"], maxGrowth)
	exceeds("growth of indexes per shipment", growthRatio["indexes"], maxGrowth)

	// Retention: what ended a quarter of the run ago is gone.
	daysLeft := g.count(sqlOldPartitions)
	labelsLeft := g.count(sqlDueLabels, lasts/4)
	keysLeft := g.count(sqlDueKeys, lasts/4)
	if daysLeft > 0 || isJudged && labelsLeft+keysLeft > 0 {
		g.Errorf("%d days, %d labels and %d keys are kept past their time", daysLeft, labelsLeft, keysLeft)
	}

	proving.Report(g.T, "load.json", func(p *proving.Proof) {
		violations := int(failed + lost)
		p.N = int(shipments)
		p.Violations = violations
		p.Bound95 = proving.Upper95(violations) / float64(max(1, shipments))
		p.Seconds = lasts.Seconds()
		p.PerSecond = proving.Round(share * capacity)
		p.Settings = append(slices.Clone(settings), "Postgres: "+postgresSettings)
	}, map[string]any{
		"minutes":            lasts.Minutes(),
		"capacity":           proving.Round(capacity), // shipments a second
		"shipments":          shipments,
		"events":             events,
		"delivered":          delivered,
		"read":               readCount,
		"sold":               sold,
		"errors":             failed,
		"lost":               lost,
		"first":              first.figures(),
		"last":               last.figures(),
		"p99Ratio":           slower,
		"slowestRatio":       slices.Max(slices.Collect(maps.Values(slower))),
		"firstResidentMB":    proving.Round(firstMB),
		"lastResidentMB":     proving.Round(lastMB),
		"highestResidentMB":  proving.Round(used.highestSeen),
		"memoryRatio":        memoryRatio,
		"bytesPerShipment":   proving.Round(end["total"].table + end["total"].indexes),
		"growthRatio":        growthRatio,
		"growsFaster":        growsFaster(middle, end),
		"growth":             shown(end),
		"walPerShipment":     proving.Round(float64(series[len(all)].WALBytes-begin.WALBytes) / float64(max(1, series[len(all)].Shipments-begin.Shipments))),
		"expiredDaysLeft":    daysLeft,
		"expiredLabelsLeft":  labelsLeft,
		"expiredKeysLeft":    keysLeft,
		"labelsAndKeysEnded": int64(share * capacity * lasts.Seconds()),
		"perMinute":          all,
	})
}

// sold counts the sales in the carrier's own ledger.
func (g *generator) sold() int64 {
	response, err := g.http.Get("http://" + g.carrier.Addr + "/_emulator/ledger")
	g.must(err)
	defer response.Body.Close()
	ledger, err := io.ReadAll(response.Body)
	g.must(err)
	return int64(bytes.Count(ledger, []byte(`"kind":"sold"`)))
}

// A bytesEach is how many bytes a shipment adds.
type bytesEach struct{ table, indexes float64 }

// growthBetween returns what a new shipment added between two moments, by table,
// and in total.
func growthBetween(from, to *minute) map[string]bytesEach {
	each := float64(max(1, to.Shipments-from.Shipments))
	all := map[string]bytesEach{}
	var total bytesEach
	for name, after := range to.tables {
		before := from.tables[name]
		grown := bytesEach{
			table:   float64(after.table-before.table) / each,
			indexes: float64(after.indexes-before.indexes) / each,
		}
		all[name] = grown
		total.table += grown.table
		total.indexes += grown.indexes
	}
	all["total"] = total
	return all
}

// growsFaster lists the tables that grow faster than the shipments, and how much
// faster, if they matter: those with more than one percent of the growth.
func growsFaster(middle, last map[string]bytesEach) map[string]float64 {
	faster := map[string]float64{}
	least := (last["total"].table + last["total"].indexes) / 100
	for name, after := range last {
		now := after.table + after.indexes
		times := ratio(now, middle[name].table+middle[name].indexes)
		if name != "total" && now > least && times > maxGrowth {
			faster[name] = times
		}
	}
	return faster
}

// shown are the tables that grow, in bytes per shipment.
func shown(growth map[string]bytesEach) map[string]map[string]float64 {
	all := map[string]map[string]float64{}
	for name, each := range growth {
		if math.Abs(each.table)+math.Abs(each.indexes) >= 1 {
			all[name] = map[string]float64{"table": proving.Round(each.table), "indexes": proving.Round(each.indexes)}
		}
	}
	return all
}

// ratio rounds to two decimals. What was nothing before has none.
func ratio(after, before float64) float64 {
	if before <= 0 {
		return 0
	}
	return math.Round(after/before*100) / 100
}

func abs(n int64) int64 { return max(n, -n) }
