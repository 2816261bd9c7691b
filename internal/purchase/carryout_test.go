package purchase

import (
	"slices"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
)

// known are the outcomes of attempts that bought nothing that counts.
var known = []Outcome{WasRefused, WasNotSent, WasAbsent, WasOrphaned}

// carryOut does an act. It says how long until the process knows, and then
// what it knows.
func (w *world) carryOut(node int, a Act) (time.Duration, func() Report) {
	took, r := w.do(node, a)
	return took, func() Report {
		if r.Result == Sold {
			r = w.soldNumber(r)
		}
		w.note(a, r)
		return r
	}
}

func (w *world) do(node int, a Act) (time.Duration, Report) {
	switch a.Kind {
	case Send:
		return w.send(a.Attempt)
	case Look:
		return w.upTo(time.Second), w.look(a.Attempt)
	case Control:
		return w.upTo(time.Second), w.control()
	case Repeat:
		return w.repeat(a.Attempt)
	case VoidOrphan:
		r := w.takeBack(a.Sale)
		if r != Unsure {
			w.orphaned[a.Sale.Number] = true
		}
		return w.upTo(time.Second), Report{Result: r}
	case VoidOverLimit:
		if w.voids && w.now-w.wroteAt[a.Attempt-1] > waits.Settle/3 {
			return 0, Report{Result: Conflict} // the settle job may have found it
		}
		if w.voids && w.takeBack(a.Sale) == Done {
			return w.upTo(time.Second), Report{Result: Done}
		}
		w.returning = a.Sale.Number
		return w.upTo(time.Second), Report{Result: Unsure}
	case Spool:
		if !w.chance(5) { // the disk is full
			w.spools[node][a.Sale.Number] = a.Sale
		}
		return 0, Report{Result: Done}
	case Unspool:
		delete(w.spools[node], a.Sale.Number)
		return 0, Report{Result: Done}
	}
	broken := w.chance(10)
	if broken && w.rng.IntN(2) == 0 {
		return w.upTo(time.Second), Report{Result: Broken, Err: errOurs}
	}
	r := w.write(a)
	if broken {
		r = Report{Result: Broken, Err: errOurs} // it was done, and nobody knows
	}
	return w.upTo(5 * time.Millisecond), r
}

// send asks the carrier. A process that slept since the attempt was written
// down does not.
func (w *world) send(n int) (time.Duration, Report) {
	if w.now-w.wroteAt[n-1] > waits.Settle/3 || w.chance(30) {
		return w.upTo(time.Second), Report{Result: NotSent, Stop: w.chance(250)}
	}
	if w.asks && (w.decidedAt == 0 || !w.approves) {
		w.complain("attempt %d is sent without an approval", n)
	}
	for _, earlier := range w.attempts[:n-1] {
		if !slices.Contains(known, earlier.Outcome) {
			w.complain("attempt %d is sent while attempt %d is %q", n, earlier.Number, earlier.Outcome)
		}
	}
	if w.chance(40) {
		return w.upTo(time.Second), Report{Result: Refused}
	}
	late := w.upTo(2 * time.Second)
	lost := w.chance(200)
	switch {
	case lost && w.rng.IntN(4) == 0:
		return answer, Report{Result: Lost} // and never sold
	case !w.honest && w.chance(15):
		late, lost = w.upTo(30*time.Minute), true // the carrier queued it
	}
	s := &sale{Sale: Sale{Attempt: n, Labelled: true, OverLimit: w.chance(50)}}
	w.after(late, func() {
		isRepeated := slices.ContainsFunc(w.sales, func(other *sale) bool { return other.Attempt == n })
		if w.repeats != NeverRepeat && isRepeated {
			return // one key is one purchase
		}
		s.Number, s.live, s.at = w.number(), true, w.now
		if w.honest {
			w.checkAlone(s)
			if w.search == showsLate {
				s.at = w.now + w.upTo(w.delay)
			}
		} else if w.chance(100) {
			s.at = w.now + w.upTo(10*time.Minute)
		}
		w.sales = append(w.sales, s)
	})
	if lost {
		return answer, Report{Result: Lost}
	}
	// The number is known once the sale is: the report is made then.
	return late, Report{Result: Sold, Sale: Sale{Attempt: n, Labelled: true, OverLimit: s.OverLimit}}
}

// checkAlone holds at the moment of a sale: at a carrier that hides nothing, no
// earlier sale of the purchase is alive.
func (w *world) checkAlone(s *sale) {
	for _, other := range w.sales {
		if other.live && !other.given {
			w.complain("%s is sold while %s is alive", s.Number, other.Number)
		}
	}
}

// soldNumber fills in the number of a sale that was made while the process
// waited for the answer.
func (w *world) soldNumber(r Report) Report {
	for _, s := range slices.Backward(w.sales) {
		if s.Attempt == r.Sale.Attempt {
			r.Sale.Number = s.Number
			return r
		}
	}
	return Report{Result: Lost}
}

func (w *world) look(n int) Report {
	report := Report{Result: Unsure, Search: Search{SellsFor: waits.Settle/3 + answer, Delay: w.delay, Repeat: w.repeats}}
	if w.unruled {
		report.Search.Delay = 0
	}
	if !w.finds || w.search == refusesWindow || w.chance(50) {
		return report
	}

	report.Result = Absent
	if w.search == knowsNoForward || w.search == otherAccount {
		return report
	}
	for _, s := range w.sales {
		if s.Attempt == n && s.live && s.at <= w.now && (w.honest || !w.chance(20)) {
			report.Result = Found
			report.Sale = s.Sale
			report.Sale.Labelled = w.keepsLabels
			report.Sale.OverLimit = false // look-ups do not tell the price
			return report
		}
	}
	return report
}

// control searches for a purchase that is known to exist, in the same way.
func (w *world) control() Report {
	switch {
	case w.unruled:
		return Report{Result: Found}
	case !w.hasControl || w.search == refusesWindow || w.chance(50):
		return Report{Result: Unsure}
	case w.search == knowsNoForward || w.search == otherAccount:
		return Report{Result: Absent}
	}
	return Report{Result: Found}
}

// repeat sends an attempt again. The carrier sells it if it has not, and answers
// with the same label if it has.
func (w *world) repeat(n int) (time.Duration, Report) {
	isLate := w.clock().Sub(w.attempts[n-1].ResentAt) > waits.Settle/3
	if isLate || w.chance(100) {
		return answer, Report{Result: Lost}
	}
	for _, s := range w.sales {
		if s.Attempt == n {
			return w.upTo(time.Second), Report{Result: Sold, Sale: s.Sale}
		}
	}
	s := &sale{Sale: Sale{Attempt: n, Labelled: true, Number: w.number()}, live: true, at: w.now}
	w.checkAlone(s)
	w.sales = append(w.sales, s)
	return w.upTo(time.Second), Report{Result: Sold, Sale: s.Sale}
}

// write changes what is written down, under the guards of the database.
func (w *world) write(a Act) Report {
	open := w.state == ship.StatePurchasing || w.state == ship.StateUncertain
	switch a.Kind {
	case Intend:
		w.written, w.state = true, ship.StatePurchasing
		if w.asks {
			w.state, w.notified = ship.StateAwaitingApproval, true
		}
		w.begin()
	case Begin:
		if w.state != ship.StateAwaitingApproval || w.attempt != a.Attempt {
			return Report{Result: Conflict}
		}
		w.state = ship.StatePurchasing
		w.attempts[a.Attempt-1].StartedAt = w.clock()
		w.wroteAt[a.Attempt-1] = w.now
		w.job(waits.Settle)
	case NextAttempt:
		if !(open || w.state == ship.StateFailed) || w.attempt != a.Attempt || !slices.Contains(known, w.attempts[a.Attempt-1].Outcome) {
			return Report{Result: Conflict}
		}
		w.state = ship.StatePurchasing
		w.begin()
	case Record:
		if _, orphaned := w.orphaned[a.Sale.Number]; orphaned || !open && w.state != ship.StateNeedsReview || w.attempt != a.Attempt {
			return Report{Result: Conflict}
		}
		w.state, w.recorded, w.notified = ship.StatePurchased, a.Sale.Number, true
		w.attempts[a.Sale.Attempt-1].Outcome = WasBought
	case End:
		if a.IfUnrecorded && w.attempts[a.Attempt-1].Outcome != "" {
			return Report{Result: Conflict}
		}
		if at := &w.attempts[a.Attempt-1]; at.Outcome == "" || at.Outcome == IsUnknown || a.Outcome == WasOrphaned {
			at.Outcome, at.EndedAt = a.Outcome, w.clock()
		}
	case Resend:
		at := &w.attempts[a.Attempt-1]
		if !open || w.attempt != a.Attempt || at.Outcome != "" && at.Outcome != IsUnknown {
			return Report{Result: Conflict}
		}
		at.ResentAt = w.clock()
		if at.Outcome == "" {
			at.Outcome, at.EndedAt = IsUnknown, w.clock()
		}
	case MarkUncertain:
		if open && w.attempt == a.Attempt {
			w.state, w.notified = ship.StateUncertain, true
		}
	case Fail:
		if (open || w.state == ship.StateAwaitingApproval) && w.attempt == a.Attempt {
			w.state = ship.StateFailed
		}
		if w.state != ship.StateFailed {
			return Report{Result: Conflict}
		}
	case Review:
		if open {
			w.state, w.notified = ship.StateNeedsReview, true
		}
	case Read:
		return Report{Result: Done, Sale: Sale{Number: w.recorded}}
	case Orphan:
		if w.recorded == a.Sale.Number {
			return Report{Result: Conflict}
		}
		if _, known := w.orphaned[a.Sale.Number]; !known {
			w.orphaned[a.Sale.Number] = false
			w.voidOrphaned(a.Sale)
		}
	}
	return Report{Result: Done}
}

// begin writes the next attempt down, with its job.
func (w *world) begin() {
	w.attempt++
	w.attempts = append(w.attempts, Attempt{Number: w.attempt, StartedAt: w.clock()})
	w.wroteAt = append(w.wroteAt, w.now)
	w.job(waits.Settle)
}
