package purchase

import (
	"slices"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
)

// Settle finds out what became of a purchase that was left open: recorded if
// it was bought, bought again only when it is known not to exist, given to a
// person when the carrier can neither confirm nor deny.
func (m Machine) Settle(p Open) Verdict {
	if p.State != ship.StatePurchasing && p.State != ship.StateUncertain || len(p.Attempts) == 0 {
		return Verdict{Kind: Settled}
	}

	// The request that made the last attempt may still be running.
	last := p.Attempts[len(p.Attempts)-1]
	wait := m.Waits.Settle - m.Now().Sub(last.StartedAt)
	if p.State == ship.StatePurchasing && wait > 0 {
		return Verdict{Kind: Pending, Again: wait}
	}

	// A sale that was found counts more than an attempt that could not be
	// looked up: it is recorded or voided first.
	looked := m.lookAll(p.Attempts)
	if i := slices.IndexFunc(looked.found, func(s Sale) bool { return s.Labelled }); i >= 0 {
		return m.adopt(last, looked.found, i)
	}
	if len(looked.found) > 0 {
		return m.takeBack(p, last, looked.found)
	}

	if looked.mayRepeat() && isOpen(last) && m.mayBuyAgain(p) {
		return m.repeat(p, last)
	}
	if looked.unsure {
		return m.stillUnknown(p)
	}

	switch last.Outcome {
	case WasRefused, WasNotSent, WasOrphaned:
		// The process that wrote this down died before the next step.
		return m.goOn(p, last)
	}
	return m.absent(p, last, looked.last)
}

// isOpen reports whether it is not known what became of the attempt.
func isOpen(a Attempt) bool { return a.Outcome == "" || a.Outcome == IsUnknown }

// looks are the results of looking up all attempts of a purchase.
type looks struct {
	found  []Sale
	unsure bool   // one of them could not be looked up
	last   Search // of the last attempt
}

// mayRepeat reports whether the carrier lets the last attempt be sent again.
func (l looks) mayRepeat() bool {
	return l.last.Repeat == RepeatAnyTime || l.last.Repeat == RepeatIfAbsent && !l.unsure
}

// lookAll looks up every attempt ever made but those that are known not to have
// bought: a late answer to an early one is a label too. The newest comes first.
func (m Machine) lookAll(attempts []Attempt) looks {
	var out looks
	for i, a := range slices.Backward(attempts) {
		if a.Outcome == WasRefused || a.Outcome == WasNotSent || a.Outcome == WasOrphaned {
			continue
		}

		r := m.Do(Act{Kind: Look, Attempt: a.Number})
		if i == len(attempts)-1 {
			out.last = r.Search
		}
		switch r.Result {
		case Found:
			r.Sale.Attempt = a.Number
			out.found = append(out.found, r.Sale)
		case Absent:
		default:
			out.unsure = true
		}
	}
	return out
}

// repeat sends the last attempt once more. Whatever the carrier answers, it is
// one purchase; an answer other than a sale says nothing about the first.
func (m Machine) repeat(p Open, last Attempt) Verdict {
	// Another process may have moved the purchase on, or the one that made the
	// attempt may still be there, asleep since before it was sent. From here on
	// neither may record that nothing was sent.
	switch r := m.Do(Act{Kind: Resend, Attempt: last.Number}); r.Result {
	case Done:
	case Conflict:
		return Verdict{Kind: Overtaken}
	default:
		return failed(r)
	}

	sent := m.Do(Act{Kind: Repeat, Attempt: last.Number})
	if sent.Result == Sold {
		sent.Sale.Attempt = last.Number
		return m.keep(last.Number, sent.Sale)
	}
	return m.stillUnknown(p)
}

// adopt records one of the sales, and takes the others back.
func (m Machine) adopt(last Attempt, found []Sale, i int) Verdict {
	for k, s := range found {
		if k == i {
			continue
		}
		switch r := m.Do(Act{Kind: Orphan, Attempt: s.Attempt, Sale: s}); r.Result {
		case Done:
		case Conflict:
			return Verdict{Kind: Overtaken}
		default:
			return failed(r)
		}
	}
	return m.keep(last.Number, found[i])
}

// takeBack voids sales whose labels are lost. Only then may it be bought again.
func (m Machine) takeBack(p Open, last Attempt, found []Sale) Verdict {
	for _, s := range found {
		switch r := m.Do(Act{Kind: Orphan, Attempt: s.Attempt, Sale: s}); r.Result {
		case Done:
		case Conflict:
			return Verdict{Kind: Overtaken} // its label was not lost after all
		default:
			return failed(r)
		}

		switch r := m.Do(Act{Kind: VoidOrphan, Attempt: s.Attempt, Sale: s}); r.Result {
		case Done, Cannot:
		case Unsure:
			return m.stillUnknown(p)
		default:
			return failed(r)
		}

		if r := m.Do(Act{Kind: End, Attempt: s.Attempt, Outcome: WasOrphaned}); r.Result != Done {
			return failed(r)
		}
	}
	return m.goOn(p, last)
}

// absent is reached when the carrier knows nothing of any attempt. That counts
// only as a confirmed absence:
//
//   - the sale, if there was one, is older than the carrier's visibility delay;
//   - the same search finds a purchase that is known to exist: a search with the
//     wrong scope, window or type finds nothing either;
//   - both hold twice, at least one visibility delay apart.
func (m Machine) absent(p Open, last Attempt, search Search) Verdict {
	now := m.Now()
	sentAt := last.StartedAt
	if last.ResentAt.After(sentAt) {
		sentAt = last.ResentAt
	}
	visibleAt := sentAt.Add(search.SellsFor + search.Delay)
	if now.Before(visibleAt) {
		return m.stillUnknownUntil(p, visibleAt)
	}
	if last.Outcome == WasAbsent {
		return m.goOn(p, last)
	}

	if r := m.Do(Act{Kind: Control, Attempt: last.Number}); r.Result != Found {
		return m.stillUnknown(p)
	}

	// The first look counts from here. One that was made before the delay was
	// known to be longer is made again.
	apart := max(search.Delay, m.Waits.Look)
	if last.Outcome == "" || last.EndedAt.Before(visibleAt) {
		if r := m.Do(Act{Kind: End, Attempt: last.Number, Outcome: IsUnknown}); r.Result != Done {
			return failed(r)
		}
		return m.waitForSecondLook(p, search, now.Add(apart))
	}

	// A sweep may run beside the job. Two looks at the same moment are one.
	if secondAt := last.EndedAt.Add(apart); now.Before(secondAt) {
		return m.waitForSecondLook(p, search, secondAt)
	}

	if r := m.Do(Act{Kind: End, Attempt: last.Number, Outcome: WasAbsent}); r.Result != Done {
		return failed(r)
	}
	last.Outcome = WasAbsent
	return m.goOn(p, last)
}

// waitForSecondLook waits until the absence can be confirmed. Where a carrier shows
// its sales late, a person may have to decide before.
func (m Machine) waitForSecondLook(p Open, search Search, at time.Time) Verdict {
	if search.Delay == 0 {
		return Verdict{Kind: Pending, Again: max(at.Sub(m.Now()), m.Waits.Look)}
	}
	return m.wait(p, at)
}

// goOn continues when it is known that nothing was bought. It buys again if that
// is still allowed and the carrier did not refuse it; otherwise the purchase
// fails.
func (m Machine) goOn(p Open, last Attempt) Verdict {
	isSecond := last.Outcome != WasNotSent
	if !m.mayBuyAgain(p) || last.Outcome == WasRefused || p.DuplicateIsBilled && isSecond {
		return m.fail(last.Number)
	}
	return m.Retry(last.Number, 1)
}

// mayBuyAgain reports whether the client knows of the purchase, which is younger
// than Waits.Rebuy: a label that arrives later is of no use to it.
func (m Machine) mayBuyAgain(p Open) bool {
	return p.Notified && m.Now().Sub(p.CreatedAt) <= m.Waits.Rebuy
}

// stillUnknown tells the client that the outcome is unknown and waits on, until a
// person must decide.
func (m Machine) stillUnknown(p Open) Verdict { return m.stillUnknownUntil(p, time.Time{}) }

// stillUnknownUntil is stillUnknown where a look at a certain time is worth more
// than one before.
func (m Machine) stillUnknownUntil(p Open, worthAt time.Time) Verdict {
	if !m.needsReview(p) {
		if r := m.Do(Act{Kind: MarkUncertain, Attempt: p.Attempts[len(p.Attempts)-1].Number}); r.Result != Done {
			return failed(r)
		}
	}
	return m.wait(p, worthAt)
}

// wait waits for the next look: soon at first, and then more and more rarely, but
// no longer than until the time at which one is worth more. In the end a person
// decides.
func (m Machine) wait(p Open, worthAt time.Time) Verdict {
	if m.needsReview(p) {
		if r := m.Do(Act{Kind: Review}); r.Result != Done {
			return failed(r)
		}
		return Verdict{Kind: Pending}
	}

	now := m.Now()
	again := min(max(now.Sub(p.CreatedAt)/4, m.Waits.Look), 60*m.Waits.Look)
	if until := worthAt.Sub(now); until > 0 {
		again = min(again, until)
	}
	return Verdict{Kind: Pending, Again: again}
}

func (m Machine) needsReview(p Open) bool { return m.Now().Sub(p.CreatedAt) > m.Waits.Review }

// Sweep looks once more at attempts that bought nothing as far as is known.
// recorded is the number of the purchase's label, if it has one. What turns up
// is voided.
func (m Machine) Sweep(recorded string, attempts []Attempt) Verdict {
	looked := m.lookAll(attempts)
	for _, s := range looked.found {
		if s.Number == recorded {
			continue
		}

		switch r := m.Do(Act{Kind: Orphan, Attempt: s.Attempt, Sale: s}); r.Result {
		case Done:
		case Conflict:
			continue // it is what was recorded meanwhile
		default:
			return failed(r)
		}

		if r := m.Do(Act{Kind: End, Attempt: s.Attempt, Outcome: WasOrphaned}); r.Result != Done {
			return failed(r)
		}
	}

	if looked.unsure {
		return Verdict{Kind: Pending, Again: m.Waits.Look}
	}
	return Verdict{Kind: Settled}
}
