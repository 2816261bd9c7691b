package purchase

import (
	"cmp"
	"container/heap"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
)

// A world is one purchase with all that can happen to it: two machines with
// their disks, processes that sleep and die at any step, a database that fails
// and sometimes has done it all the same, and a carrier that loses answers,
// sells late, shows sales late and forgets to show them. Its time is virtual.
type world struct {
	rng    *rand.Rand
	now    time.Duration // since the purchase began
	agenda agenda
	calm   bool // nothing goes wrong any more

	finds, keepsLabels, voids bool // what the carrier can do
	repeats                   RepeatRule
	honest                    bool // it sells at once, and shows what it sold within its visibility delay
	billed                    bool // it charges for labels that nobody uses

	search     search
	delay      time.Duration // the visibility delay, as it is believed
	hasControl bool          // the connection has a purchase that is known to exist
	unruled    bool          // an absence needs neither the delay nor a control

	asks      bool          // a person must approve the purchase
	approves  bool          // and does
	decidedAt time.Duration // zero until then

	// What is written down.
	written   bool
	state     ship.State
	notified  bool
	attempt   int
	attempts  []Attempt
	wroteAt   []time.Duration // when the process that wrote an attempt began to
	recorded  string
	returning string          // the void of a label that was over the limit goes on after it is recorded
	orphaned  map[string]bool // number, whether it is dealt with

	spools [2]map[string]Sale
	sales  []*sale
	wrong  []string
	trace  []line
}

// A search is what is wrong with the look-up of a carrier.
type search string

const (
	showsAtOnce    search = "shows at once"
	showsLate      search = "shows late, within the delay"
	knowsNoForward search = "does not know forward labels"
	otherAccount   search = "is scoped to another account"
	refusesWindow  search = "refuses its window"
)

var searches = []search{showsAtOnce, showsLate, knowsNoForward, otherAccount, refusesWindow}

// delays are those of the carriers.
var delays = []time.Duration{0, time.Minute, 5 * time.Minute, time.Hour, 24 * time.Hour}

// line is an act and its report, for when something is wrong.
type line struct {
	at  time.Duration
	act Act
	got Result
}

func (l line) String() string {
	return fmt.Sprintf("%12s %s %d %s %s -> %s", l.at.Round(time.Millisecond), l.act.Kind, l.act.Attempt, l.act.Sale.Number, l.act.Outcome, l.got)
}

// sale is a line of the carrier's ledger.
type sale struct {
	Sale
	at    time.Duration // when it shows in look-ups
	live  bool
	given bool // the carrier was told to take it back and never can
}

var waits = Waits{Settle: time.Minute, Look: time.Minute, Rebuy: 10 * time.Minute, Review: 24 * time.Hour, Tries: 10 * time.Second}

const (
	answer = 20 * time.Second
	days   = 80 * time.Hour
)

var epoch = time.Date(2026, 5, 20, 12, 0, 0, 0, time.UTC)

var errOurs = errors.New("our own side failed")

func newWorld(seed uint64) *world {
	w := &world{rng: rand.New(rand.NewPCG(seed, 1)), orphaned: map[string]bool{}}
	for i := range w.spools {
		w.spools[i] = map[string]Sale{}
	}
	w.honest = w.rng.IntN(2) == 0
	switch w.rng.IntN(4) {
	case 0: // UPS, USPS
		w.finds, w.keepsLabels, w.voids = true, true, true
	case 1: // FedEx
		w.finds, w.voids = true, true
	case 2: // DHL Express
		w.finds = true
	case 3: // a carrier that can do nothing
	}
	w.billed = w.rng.IntN(8) == 0
	if w.honest && w.finds && w.keepsLabels && w.rng.IntN(2) == 0 {
		w.repeats = RepeatIfAbsent
	}
	if !w.finds && w.rng.IntN(2) == 0 {
		w.repeats = RepeatAnyTime
	}
	w.search = searches[w.rng.IntN(len(searches))]
	w.delay = delays[w.rng.IntN(len(delays))]
	w.hasControl = w.rng.IntN(10) > 0
	w.asks = w.rng.IntN(4) == 0
	w.approves = w.rng.IntN(4) > 0
	return w
}

// chance is true in so many of a thousand times, and never in calm.
func (w *world) chance(thousandth int) bool { return !w.calm && w.rng.IntN(1000) < thousandth }

func (w *world) clock() time.Time { return epoch.Add(w.now) }

func (w *world) complain(format string, args ...any) {
	w.wrong = append(w.wrong, fmt.Sprintf(format, args...))
}

// agenda is what will happen, soonest first.
type agenda []plan

type plan struct {
	at time.Duration
	do func()
}

func (a agenda) Len() int           { return len(a) }
func (a agenda) Less(i, j int) bool { return a[i].at < a[j].at }
func (a agenda) Swap(i, j int)      { a[i], a[j] = a[j], a[i] }
func (a *agenda) Push(x any)        { *a = append(*a, x.(plan)) }
func (a *agenda) Pop() any {
	old := *a
	last := old[len(old)-1]
	*a = old[:len(old)-1]
	return last
}

func (w *world) after(d time.Duration, do func()) { heap.Push(&w.agenda, plan{w.now + d, do}) }

// live runs the world to its end.
func (w *world) live() {
	w.after(0, func() {
		buy := func(m Machine) Verdict { return m.Buy(1 + w.rng.IntN(2)) }
		if w.asks {
			buy = func(m Machine) Verdict { return m.Ask(0) }
			w.after(w.upTo(20*time.Hour), w.decide)
		}
		w.start(0, buy, func(Verdict) { w.replaySoon() }, nil)
	})
	for range 3 { // sweeps beside the job, on either machine
		w.after(w.upTo(20*time.Minute), func() { w.settle(w.rng.IntN(2), nil) })
	}
	for n := range 12 {
		w.after(time.Duration(n+1)*6*time.Hour, w.sweep)
	}
	w.after(25*time.Hour, func() { w.calm = true })
	for len(w.agenda) > 0 {
		next := heap.Pop(&w.agenda).(plan)
		if next.at > days {
			break
		}
		w.now = next.at
		next.do()
	}
}

func (w *world) upTo(d time.Duration) time.Duration { return time.Duration(w.rng.Int64N(int64(d) + 1)) }

// process is a run of the machine.
type process struct {
	node   int
	next   func() (Act, bool)
	stop   func()
	report Report
	end    Verdict
	done   func(Verdict)
	died   func()
}

// start begins a run on a machine.
func (w *world) start(node int, run func(Machine) Verdict, done func(Verdict), died func()) {
	p := &process{node: node, done: done, died: died}
	type death struct{}
	var seq iter.Seq[Act] = func(yield func(Act) bool) {
		defer func() {
			if r := recover(); r != nil && r != (death{}) {
				panic(r)
			}
		}()
		p.end = run(Machine{Waits: waits, Now: w.clock, Do: func(a Act) Report {
			if !yield(a) {
				panic(death{})
			}
			return p.report
		}})
	}
	p.next, p.stop = iter.Pull(seq)
	w.step(p)
}

// step carries out the next act of a process, after a while; or the process
// dies before it, or after it and before it knows.
func (w *world) step(p *process) {
	a, ok := p.next()
	if !ok {
		p.done(p.end)
		return
	}
	if w.chance(25) {
		w.die(p)
		return
	}
	delay := w.upTo(20 * time.Millisecond)
	if w.chance(15) {
		delay = w.upTo(15 * time.Minute) // stopped, swapped out, a suspended laptop
	}
	w.after(delay, func() {
		if w.chance(2) {
			w.die(p)
			return
		}
		took, finish := w.carryOut(p.node, a)
		w.after(took, func() {
			p.report = finish()
			if w.chance(25) {
				w.die(p)
				return
			}
			w.step(p)
		})
	})
}

// die ends a process where it stands. Its machine starts again and replays
// what its disk holds.
func (w *world) die(p *process) {
	p.stop()
	w.replaySoon()
	if p.died != nil {
		p.died()
	}
}

func (w *world) replaySoon() {
	node := w.rng.IntN(2)
	w.after(w.upTo(10*time.Minute), func() { w.replay(node) })
}

func (w *world) replay(node int) {
	for _, s := range w.spools[node] {
		w.start(node, func(m Machine) Verdict { return m.Replay(s.Attempt, s) }, func(v Verdict) {
			if v.Kind == Failed {
				w.after(w.upTo(10*time.Minute), func() { w.replay(node) })
			}
		}, nil)
	}
}

// decide is what a person does about a purchase that waits, with the job that goes
// on.
func (w *world) decide() {
	if !w.written {
		w.after(time.Hour, w.decide)
		return
	}
	w.decidedAt = w.now
	w.job(0)
}

// goOn is how the job goes on with the purchase; nil if there is nothing to do.
func (w *world) goOn() func(Machine) Verdict {
	attempt := w.attempt
	switch {
	case !w.written, w.state == ship.StateAwaitingApproval && w.decidedAt == 0:
		return nil
	case w.state == ship.StateAwaitingApproval && w.approves:
		return func(m Machine) Verdict { return m.Approved(attempt) }
	case w.state == ship.StateAwaitingApproval:
		return func(m Machine) Verdict { return m.Declined(attempt) }
	}
	p := Open{
		State:             w.state,
		Notified:          w.notified,
		CreatedAt:         epoch.Add(w.decidedAt),
		Attempts:          slices.Clone(w.attempts),
		DuplicateIsBilled: w.billed,
	}
	return func(m Machine) Verdict { return m.Settle(p) }
}

// settle runs the job; a job that dies is rescued.
func (w *world) settle(node int, again func(time.Duration)) {
	run := w.goOn()
	if run == nil {
		return
	}
	w.start(node, run, func(v Verdict) {
		switch {
		case again == nil:
		case v.Kind == Failed:
			again(waits.Look)
		case v.Again > 0:
			again(v.Again)
		}
	}, func() {
		if again != nil {
			again(waits.Look + time.Minute)
		}
	})
}

// job is the settle job: it runs until there is nothing to look for.
func (w *world) job(d time.Duration) {
	w.after(d, func() { w.settle(w.rng.IntN(2), w.job) })
}

// sweep looks for late sales, and asks back what is orphaned.
func (w *world) sweep() {
	for node := range w.spools {
		w.replay(node)
	}
	if !w.written || w.state == ship.StateAwaitingApproval || w.state == ship.StatePurchasing || w.state == ship.StateUncertain {
		w.settle(w.rng.IntN(2), nil)
		return
	}
	recorded, attempts := w.recorded, slices.DeleteFunc(slices.Clone(w.attempts), func(a Attempt) bool { return a.Outcome == WasBought })
	w.start(w.rng.IntN(2), func(m Machine) Verdict { return m.Sweep(recorded, attempts) }, func(Verdict) {}, nil)
}

// voidOrphaned is the job of an orphaned sale.
func (w *world) voidOrphaned(s Sale) {
	w.after(w.upTo(time.Minute), func() {
		if w.orphaned[s.Number] || w.takeBack(s) != Unsure {
			w.orphaned[s.Number] = true
			return
		}
		w.voidOrphaned(s)
	})
}

func (w *world) saleOf(number string) *sale {
	i := slices.IndexFunc(w.sales, func(s *sale) bool { return s.Number == number })
	return w.sales[i]
}

func (w *world) takeBack(s Sale) Result {
	at := w.saleOf(s.Number)
	switch {
	case !w.voids:
		at.given = true
		return Cannot
	case w.chance(200):
		at.live = at.live && w.rng.IntN(2) == 0
		return Unsure
	}
	at.live = false
	return Done
}

// conclude holds the end of the world against what users rely on.
func (w *world) conclude() {
	var alive []string
	for _, s := range w.sales {
		if s.live && !s.given {
			alive = append(alive, s.Number)
		}
		if s.Attempt > len(w.attempts) {
			w.complain("sale %s belongs to attempt %d of %d", s.Number, s.Attempt, len(w.attempts))
		}
	}
	if w.asks && !w.approves && len(w.sales) > 0 {
		w.complain("nobody approved it, and %d were sold", len(w.sales))
	}
	switch w.state {
	case ship.StatePurchased:
		if !slices.Equal(alive, []string{w.recorded}) && !(len(alive) == 0 && w.recorded == w.returning) {
			w.complain("purchased as %s, and alive are %v", w.recorded, alive)
		}
	case ship.StateFailed, "":
		if len(alive) > 0 {
			w.complain("it is %s, and alive are %v", cmp.Or(string(w.state), "not there"), alive)
		}
	case ship.StateNeedsReview:
		if w.finds && len(alive) > 0 && w.notified {
			return // a person decides; the carrier had been silent for a day
		}
		if len(alive) > 1 {
			w.complain("in review, and alive are %v", alive)
		}
	default:
		w.complain("after %v it is still %s", days, w.state)
	}
}

func (w *world) note(a Act, r Report) {
	w.trace = append(w.trace, line{w.now, a, r.Result})
}

// number names a sale.
func (w *world) number() string { return "N" + strconv.Itoa(len(w.sales)+1) }

// story is all that happened.
func (w *world) story() string {
	var b strings.Builder
	for _, l := range w.trace {
		fmt.Fprintln(&b, l)
	}
	return b.String()
}
