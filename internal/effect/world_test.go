package effect

import (
	"container/heap"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// A world is one effect with all that can happen to it: processes that sleep and
// die at any step, a database that fails and sometimes has done it all the same,
// and a carrier that loses answers and, unless it is honest, acts late and shows
// late what it did. Its time is virtual.
type world struct {
	rng    *rand.Rand
	now    time.Duration // since the effect began
	agenda agenda
	calm   bool // nothing goes wrong any more

	kind      string // of the carrier
	certainty Certainty
	onePerDay bool // the carrier never has two
	honest    bool // it acts at once, and shows at once what it did
	foreign   bool // somebody else's is there already

	// What is written down.
	written   bool
	state     State
	attempt   int
	startedAt time.Duration
	wroteAt   map[int]time.Duration // when an attempt was written down
	missedAt  time.Duration         // zero for never

	ledger []entry // of the carrier
	sent   int
	wrong  []string
	trace  []string
}

// entry is one that the carrier did.
type entry struct {
	at      time.Duration // when it shows in look-ups
	foreign bool
}

var waits = Waits{Settle: 3 * time.Minute, Look: time.Minute, Review: 24 * time.Hour}

const (
	deadline = time.Minute // of a call
	days     = 40 * time.Hour
)

var epoch = time.Date(2026, 5, 20, 12, 0, 0, 0, time.UTC)

var errOurs = errors.New("our own side failed")

func newWorld(seed uint64) *world {
	w := &world{rng: rand.New(rand.NewPCG(seed, 1)), wroteAt: map[int]time.Duration{}}
	w.honest = w.rng.IntN(2) == 0

	switch w.rng.IntN(5) {
	case 0:
		w.kind = "finds and repeats" // a pickup of UPS
		w.certainty = Certainty{CanLook: true, CanRepeat: true}
		w.onePerDay = true
	case 1:
		w.kind = "repeats" // a pickup or a manifest of USPS
		w.certainty = Certainty{CanRepeat: true}
		w.onePerDay = true
	case 2:
		w.kind = "finds, repeats what is absent" // a manifest of FedEx
		w.certainty = Certainty{CanLook: true, CanRepeatAbsent: true}
	case 3:
		w.kind = "finds"
		w.certainty = Certainty{CanLook: true}
	case 4:
		w.kind = "neither" // a pickup of FedEx or DHL Express
	}

	if w.onePerDay && w.rng.IntN(20) == 0 {
		w.foreign = true
		w.ledger = append(w.ledger, entry{foreign: true})
	}
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

func (w *world) upTo(d time.Duration) time.Duration { return time.Duration(w.rng.Int64N(int64(d) + 1)) }

// live runs the world to its end.
func (w *world) live() {
	w.after(0, func() { w.start(Machine.Run) })
	for range 3 { // a second run beside the sweep's
		w.after(w.upTo(30*time.Minute), w.settle)
	}
	w.after(time.Minute, w.sweep)
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

// sweep settles what is open, again and again. What is not written down after an
// hour never will be.
func (w *world) sweep() {
	if w.written && !w.state.IsOpen() || !w.written && w.now > time.Hour {
		return
	}
	w.settle()
	w.after(time.Minute+w.upTo(10*time.Minute), w.sweep)
}

func (w *world) settle() {
	if !w.written {
		return
	}
	open := Open{State: w.state, Attempt: w.attempt, CreatedAt: epoch, StartedAt: epoch.Add(w.startedAt)}
	if w.missedAt > 0 {
		open.MissedAt = epoch.Add(w.missedAt)
	}
	w.start(func(m Machine) Verdict { return m.Settle(open) })
}

// process is a run of the machine.
type process struct {
	next   func() (Act, bool)
	stop   func()
	report Report
}

// start begins a run.
func (w *world) start(run func(Machine) Verdict) {
	type death struct{}
	p := &process{}
	var seq iter.Seq[Act] = func(yield func(Act) bool) {
		defer func() {
			if r := recover(); r != nil && r != (death{}) {
				panic(r)
			}
		}()
		run(Machine{Waits: waits, Now: w.clock, Certainty: w.certainty, Do: func(a Act) Report {
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
	act, ok := p.next()
	if !ok {
		return
	}
	if w.chance(25) {
		p.stop()
		return
	}

	delay := w.upTo(20 * time.Millisecond)
	if w.chance(20) {
		delay = w.upTo(15 * time.Minute) // stopped, swapped out, a suspended laptop
	}
	w.after(delay, func() {
		took, report := w.carryOut(act)
		w.trace = append(w.trace, fmt.Sprintf("%12s %s %d -> %s", w.now.Round(time.Millisecond), act.Kind, act.Attempt, report.Result))
		w.after(took, func() {
			p.report = report
			if w.chance(25) {
				p.stop()
				return
			}
			w.step(p)
		})
	})
}

// carryOut does an act. It says how long until the process knows, and what.
func (w *world) carryOut(a Act) (time.Duration, Report) {
	switch a.Kind {
	case Send:
		return w.send(a.Attempt)
	case Look:
		return w.upTo(time.Second), w.look()
	}

	isBroken := w.chance(10)
	if isBroken && w.rng.IntN(2) == 0 {
		return w.upTo(time.Second), Report{Result: Broken, Err: errOurs}
	}
	report := w.write(a)
	if isBroken {
		report = Report{Result: Broken, Err: errOurs} // it was done, and nobody knows
	}
	return w.upTo(5 * time.Millisecond), report
}

// send asks the carrier. A process that slept since the attempt was written down
// does not.
func (w *world) send(n int) (time.Duration, Report) {
	if w.now-w.wroteAt[n] > waits.Settle/3 || w.chance(30) {
		return w.upTo(time.Second), Report{Result: NotSent}
	}
	if w.chance(40) {
		return w.upTo(time.Second), Report{Result: Refused}
	}

	w.sent++
	isLost := w.chance(300)
	if isLost && w.rng.IntN(3) == 0 {
		return deadline, Report{Result: Lost} // and never arrived
	}
	if !w.honest && w.chance(20) {
		w.after(w.upTo(30*time.Minute), func() { w.act() }) // the carrier queued it
		return deadline, Report{Result: Lost}
	}

	existed := w.act()
	switch {
	case isLost:
		return deadline, Report{Result: Lost}
	case existed && !w.certainty.CanLook:
		return w.upTo(2 * time.Second), Report{Result: Existed} // USPS says so, and gives no number
	}
	return w.upTo(2 * time.Second), Report{Result: Confirmed} // UPS returns the same number
}

// act is the carrier doing it. It reports whether it had it already.
func (w *world) act() (existed bool) {
	if w.onePerDay && len(w.ledger) > 0 {
		return true
	}

	shows := w.now
	if !w.honest && w.chance(100) {
		shows += w.upTo(10 * time.Minute)
	}
	w.ledger = append(w.ledger, entry{at: shows})
	if len(w.ledger) > 1 && (w.honest || w.certainty.isNone()) {
		w.complain("the carrier did it %d times", len(w.ledger))
	}
	return false
}

func (w *world) look() Report {
	switch {
	case w.chance(100):
		return Report{Result: Unsure}
	case w.certainty.CanRepeat && w.chance(50):
		return Report{Result: Cannot}
	}
	for _, e := range w.ledger {
		if e.at <= w.now {
			return Report{Result: Found}
		}
	}
	return Report{Result: Absent}
}

// write changes what is written down, and holds it to the table of states.
func (w *world) write(a Act) Report {
	before := w.state
	report := w.guardedWrite(a)
	if a.Kind != Intend && report.Result == Done && !slices.Contains(Transitions[before], w.state) {
		w.complain("from %s it became %s", before, w.state)
	}
	return report
}

// guardedWrite writes under the guards of the database.
func (w *world) guardedWrite(a Act) Report {
	isLast := w.state.IsOpen() && w.attempt == a.Attempt
	switch a.Kind {
	case Intend:
		w.written = true
		w.begin()
		return Report{Result: Done}

	case Record:
		if !w.state.IsOpen() && w.state != NeedsReview {
			return Report{Result: Conflict}
		}
		if len(w.ledger) == 0 {
			w.complain("recorded, and the carrier has nothing")
		}
		w.state = Succeeded
		return Report{Result: Done}
	}

	if !isLast {
		return Report{Result: Conflict}
	}
	switch a.Kind {
	case Again:
		w.begin()
	case Refuse:
		w.state = Failed
	case MarkUncertain:
		w.state = Uncertain
	case Miss:
		w.missedAt = w.now
		w.state = Uncertain
	case Review:
		w.state = NeedsReview
	default:
		panic("unknown act " + string(a.Kind))
	}
	return Report{Result: Done}
}

// begin writes an attempt down.
func (w *world) begin() {
	w.attempt++
	w.state = Pending
	w.startedAt = w.now
	w.missedAt = 0
	w.wroteAt[w.attempt] = w.now
}

// conclude holds the end of the world against what users rely on.
func (w *world) conclude() {
	ours := 0
	for _, e := range w.ledger {
		if !e.foreign {
			ours++
		}
	}

	switch {
	case !w.written:
		if len(w.ledger) > 0 && !w.foreign {
			w.complain("nothing is written down, and the carrier did it")
		}
	case w.state.IsOpen():
		w.complain("after %v it is still %s", days, w.state)
	case w.state == Failed && w.honest && ours > 0:
		w.complain("it failed, and the carrier did it")
	case w.state == Succeeded && len(w.ledger) == 0:
		w.complain("it succeeded, and the carrier has nothing")
	}

	if w.certainty.isNone() && w.sent > 1 {
		w.complain("sent %d times to a carrier that does it each time", w.sent)
	}
}

// story is all that happened.
func (w *world) story() string { return w.kind + "\n" + strings.Join(w.trace, "\n") }
