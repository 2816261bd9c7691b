package purchase

import (
	"slices"

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
	found, unsure := m.lookAll(p.Attempts)
	if i := slices.IndexFunc(found, func(s Sale) bool { return s.Labelled }); i >= 0 {
		return m.adopt(last, found, i)
	}
	if len(found) > 0 {
		return m.takeBack(p, last, found)
	}
	if unsure {
		return m.stillUnknown(p)
	}

	switch last.Outcome {
	case WasRefused, WasNotSent, WasOrphaned:
		// The process that wrote this down died before the next step.
		return m.goOn(p, last)
	}
	return m.absent(p, last)
}

// lookAll looks up every attempt ever made but those that are known not to have
// bought: a late answer to an early one is a label too. The newest comes first.
func (m Machine) lookAll(attempts []Attempt) (found []Sale, unsure bool) {
	for _, a := range slices.Backward(attempts) {
		if a.Outcome == WasRefused || a.Outcome == WasNotSent || a.Outcome == WasOrphaned {
			continue
		}

		switch r := m.Do(Act{Kind: Look, Attempt: a.Number}); r.Result {
		case Found:
			r.Sale.Attempt = a.Number
			found = append(found, r.Sale)
		case Absent:
		default:
			unsure = true
		}
	}
	return found, unsure
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

// absent is reached when the carrier knows nothing of any attempt. One absence
// proves little, because a purchase may show late.
func (m Machine) absent(p Open, last Attempt) Verdict {
	if last.Outcome == "" {
		if r := m.Do(Act{Kind: End, Attempt: last.Number, Outcome: IsUnknown}); r.Result != Done {
			return failed(r)
		}
		return Verdict{Kind: Pending, Again: m.Waits.Look}
	}

	if last.Outcome == IsUnknown {
		// A sweep may run beside the job. Two looks at the same moment are one.
		if wait := m.Waits.Look - m.Now().Sub(last.EndedAt); wait > 0 {
			return Verdict{Kind: Pending, Again: wait}
		}
		if r := m.Do(Act{Kind: End, Attempt: last.Number, Outcome: WasAbsent}); r.Result != Done {
			return failed(r)
		}
	}
	return m.goOn(p, last)
}

// goOn continues when it is known that nothing was bought. It buys again if the
// client knows of the shipment, the purchase is younger than Waits.Rebuy and
// the carrier did not refuse it; otherwise the purchase fails.
func (m Machine) goOn(p Open, last Attempt) Verdict {
	if !p.Notified || m.Now().Sub(p.CreatedAt) > m.Waits.Rebuy || last.Outcome == WasRefused {
		return m.fail(last.Number)
	}
	return m.Retry(last.Number, 1)
}

// stillUnknown waits on, until a person must decide.
func (m Machine) stillUnknown(p Open) Verdict {
	if m.Now().Sub(p.CreatedAt) > m.Waits.Review {
		if r := m.Do(Act{Kind: Review}); r.Result != Done {
			return failed(r)
		}
		return Verdict{Kind: Pending}
	}

	if r := m.Do(Act{Kind: MarkUncertain, Attempt: p.Attempts[len(p.Attempts)-1].Number}); r.Result != Done {
		return failed(r)
	}

	// Soon at first, and then more and more rarely.
	age := m.Now().Sub(p.CreatedAt)
	return Verdict{Kind: Pending, Again: min(max(age/4, m.Waits.Look), 60*m.Waits.Look)}
}

// Sweep looks once more at attempts that bought nothing as far as is known.
// recorded is the number of the purchase's label, if it has one. What turns up
// is voided.
func (m Machine) Sweep(recorded string, attempts []Attempt) Verdict {
	found, unsure := m.lookAll(attempts)
	for _, s := range found {
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

	if unsure {
		return Verdict{Kind: Pending, Again: m.Waits.Look}
	}
	return Verdict{Kind: Settled}
}
