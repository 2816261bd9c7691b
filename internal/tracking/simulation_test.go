package tracking

import (
	"container/heap"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/all"
	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

const (
	simulated = 30 * day
	inTime    = 30 * time.Minute
	firstLook = 30 * time.Minute // after the purchase
	tick      = time.Minute      // the services look for what is due far more often
)

var simulationStart = time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)

// A life is everything that happens to a simulated parcel, whether or not
// anybody polls.
type life struct {
	outlook
	bought  time.Time
	promise time.Time // at the purchase; zero for none
	steps   []step
}

// A step is a change that the carrier reports when it is polled.
type step struct {
	at      time.Time
	status  ship.Status
	promise time.Time // a new one; zero for none
}

// fate makes lives.
type fate struct{ *rand.Rand }

func (f fate) between(a, b time.Duration) time.Duration {
	return a + time.Duration(f.Int64N(int64(b-a)))
}

// when returns a time in a range at which the local time of the place is within
// the given hours.
func (f fate) when(c clock, from, to time.Time, first, last int) time.Time {
	for {
		t := from.Add(f.between(0, to.Sub(from)))
		if h := t.In(c.zone).Hour(); h >= first && h < last {
			return t
		}
	}
}

// midnight returns the start of the day at the place.
func midnight(c clock, t time.Time) time.Time {
	return c.date(t).Time().Add(-offset(c, t))
}

// offset returns how far the clock of the place is ahead of UTC.
func offset(c clock, t time.Time) time.Duration {
	if c.zone == nil {
		return 0
	}
	_, seconds := t.In(c.zone).Zone()
	return time.Duration(seconds) * time.Second
}

// promised returns the delivery date that a carrier announces. It announces one
// for seven parcels in ten, and three in ten of those are wrong by a day or
// two.
func (f fate) promised(on time.Time) time.Time {
	if f.Float64() < 0.3 {
		return time.Time{}
	}
	wrong := []int{0, 0, 0, 0, 0, 0, 0, 1, -1, -2}[f.IntN(10)]
	return midnight(clock{}, on.Add(day/2)).AddDate(0, 0, wrong)
}

// life returns a parcel within the United States: collected by day 2 to 48
// hours after its purchase, 1 to 8 days on its way, with 4 to 12 scans.
func (f fate) life() life {
	places := []int{-5, -5, -5, -6, -6, -7, -8, -8}
	ahead := func() clock { return clock{time.FixedZone("", places[f.IntN(8)]*60*60)} }
	l := life{outlook: outlook{from: ahead(), to: ahead()}}
	l.bought = f.when(l.from, simulationStart, simulationStart.Add(simulated), 6, 23)
	picked := f.when(l.from, l.bought.Add(2*time.Hour), l.bought.Add(48*time.Hour), 8, 20)
	days := 1 + f.IntN(8)
	l.promise = f.promised(l.bought.AddDate(0, 0, days))
	if f.Float64() < 0.03 {
		return l // never collected
	}
	today := midnight(l.to, picked).AddDate(0, 0, days)
	if today.Before(picked.Add(4 * time.Hour)) {
		today = today.AddDate(0, 0, 1)
	}
	out := today.Add(f.between(5*time.Hour+30*time.Minute, 9*time.Hour+30*time.Minute))
	l.steps = append([]step{{picked, ship.PickedUp, f.promised(today)}}, f.hubs(picked, out, 2+f.IntN(9))...)
	switch p := f.Float64(); {
	case p < 0.01:
		l.steps = l.steps[:1+f.IntN(len(l.steps))] // lost
		return l
	case p < 0.06:
		next := today.AddDate(0, 0, 1+f.IntN(3))
		l.steps = append(l.steps, step{at: out, status: ship.OutForDelivery},
			step{f.when(l.to, out.Add(time.Hour), out.Add(14*time.Hour), 8, 21), ship.Exception, f.promised(next)})
		out = next.Add(f.between(5*time.Hour+30*time.Minute, 9*time.Hour+30*time.Minute))
	}
	l.steps = append(l.steps, step{at: out, status: ship.OutForDelivery},
		step{at: f.when(l.to, out.Add(time.Hour), out.Add(12*time.Hour), 8, 21), status: ship.Delivered})
	return l
}

// hubs returns scans at places along the way, by day and by night: an arrival
// and, within hours, a departure.
func (f fate) hubs(from, to time.Time, scans int) (list []step) {
	for len(list) < scans {
		at := from.Add(f.between(0, to.Sub(from)))
		list = append(list, step{at: at, status: ship.InTransit})
		if gone := at.Add(f.between(30*time.Minute, 9*time.Hour)); gone.Before(to) && len(list) < scans {
			list = append(list, step{at: gone, status: ship.InTransit})
		}
	}
	slices.SortFunc(list, func(a, b step) int { return a.at.Compare(b.at) })
	return list
}

func lives(n int) []life {
	f := fate{rand.New(rand.NewPCG(1, 2))}
	list := make([]life, n)
	for i := range list {
		list[i] = f.life()
	}
	return list
}

// A followed parcel is what the service knows of a life.
type followed struct {
	life
	ship.TrackingState
	seen int // steps
	due  time.Time
}

// queue holds the parcels that are due, the longest due first.
type queue []*followed

func (q queue) Len() int           { return len(q) }
func (q queue) Less(i, j int) bool { return q[i].due.Before(q[j].due) }
func (q queue) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }
func (q *queue) Push(x any)        { *q = append(*q, x.(*followed)) }
func (q *queue) Pop() any {
	last := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return last
}

// A season is the result of a simulation.
type season struct {
	changes, timely, questions int
	asked                      []int // calls in each tick
	calls                      []int // of each tick
}

func (s season) share() float64 { return 100 * float64(s.timely) / float64(s.changes) }

// simulate polls the lives by the schedule, with a limit of numbers per call
// and of calls per tick. Unused calls are saved up to burst.
func simulate(list []life, batch int, calls, burst float64) (s season) {
	end := simulationStart.Add(simulated)
	var q queue
	for _, l := range list {
		p := &followed{life: l, TrackingState: ship.TrackingState{BoughtAt: l.bought, Progress: ship.Progress{Status: ship.LabelGenerated, EstimateAt: l.promise}}}
		p.due = alignToMark(p.Tenant, l.bought.Add(firstLook))
		q = append(q, p)
		for _, x := range l.steps {
			if x.at.Before(end.Add(-inTime)) {
				s.changes++
			}
		}
	}
	heap.Init(&q)
	saved := burst
	for now := simulationStart; now.Before(end); now = now.Add(tick) {
		saved = min(saved+calls, max(burst, calls))
		asked, called := 0, 0
		for ; saved >= 1 && len(q) > 0 && !q[0].due.After(now); saved-- {
			called++
			for n := 0; n < batch && len(q) > 0 && !q[0].due.After(now); n++ {
				asked++
				if !s.ask(q[0], now, end) {
					heap.Pop(&q)
					continue
				}
				heap.Fix(&q, 0)
			}
		}
		s.questions += asked
		s.asked, s.calls = append(s.asked, asked), append(s.calls, called)
	}
	return s
}

// ask polls a parcel, and reports whether it will be polled again.
func (s *season) ask(p *followed, now, end time.Time) (more bool) {
	for ; p.seen < len(p.steps) && !p.steps[p.seen].at.After(now); p.seen++ {
		x := p.steps[p.seen]
		if now.Sub(x.at) <= inTime && x.at.Before(end.Add(-inTime)) {
			s.timely++
		}
		p.Progress.Status, p.NewestAt = x.status, x.at
		if !x.promise.IsZero() {
			p.Progress.EstimateAt = x.promise
		}
	}
	p.due, more = nextPoll(p.TrackingState, p.outlook, now)
	return more
}

// most returns the largest number of calls in any period.
func (s season) most(per time.Duration) (most int) {
	ticks, sum := max(int(per/tick), 1), 0
	for i, n := range s.calls {
		if sum += n; i >= ticks {
			sum -= s.calls[i-ticks]
		}
		most = max(most, sum)
	}
	return most
}

func TestTheScheduleSeesChangesInTime(t *testing.T) {
	t.Parallel()
	const parcels = 10_000
	list := lives(parcels)
	s := simulate(list, 1, math.Inf(1), math.Inf(1))
	figures := map[string]any{"days": 30, "parcels": parcels, "changes": s.changes, "percentIn30Minutes": percent(s.share()), "questionsPerParcel": s.questions / parcels}
	if s.share() < 95 {
		t.Errorf("%.2f %% of the changes are seen in time", s.share())
	}
	if perParcel := float64(s.questions) / parcels; perParcel > 220 {
		t.Errorf("a parcel is asked about %.1f times", perParcel)
	}
	for _, spec := range all.Specs {
		if spec.MeaningOf == nil {
			continue // it is not tracked
		}
		figures[spec.Name] = simulateCarrier(t, list, s, spec)
	}
	text, err := json.Marshal(figures)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("figures: %s", text)
}

func percent(x float64) float64 { return math.Round(x*10) / 10 }

// simulateCarrier does the same within a carrier's quota for one account. free
// is the result without a limit.
func simulateCarrier(t *testing.T, list []life, free season, spec carrier.Spec) map[string]any {
	t.Helper()
	batch := max(spec.TrackBatch, 1)
	if spec.Name == "ups" {
		batch = 1 // it takes one number a call, and several calls at once
	}
	wanted, total := season{}, 0
	for _, n := range free.asked {
		wanted.calls = append(wanted.calls, (n+batch-1)/batch)
		total += wanted.calls[len(wanted.calls)-1]
	}
	per := max(spec.Quota.Per, tick)
	quota := spec.Quota.Calls * int(per/max(spec.Quota.Per, 1))
	figures := map[string]any{"numbersPerCall": batch, "callsPerDay": total / 30, "mostCalls": wanted.most(per), "per": per.String(), "quota": quota}
	keep := carrierkit.DefaultTrafficOptions()
	share := 1 - keep.KeepForLabels - keep.KeepForRates
	if quota == 0 || float64(wanted.most(per)) < share*float64(quota) {
		return figures
	}
	for _, of := range []int{len(list), len(list) / 4} {
		s := simulate(list[:of], batch, share*float64(quota)*float64(tick)/float64(per), share*float64(spec.Quota.Burst))
		figures[fmt.Sprintf("percentIn30MinutesOf%d", of)] = percent(s.share())
		if s.most(per) > quota {
			t.Errorf("%s is called %d times in %s", spec.Title, s.most(per), per)
		}
	}
	return figures
}
