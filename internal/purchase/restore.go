package purchase

import "maps"

// A Loss is what may be missing of a purchase because the database was put back
// to an earlier moment: attempts that it does not know were made, and one of
// them may have bought. Its zero value is none.
type Loss struct {
	Reach  int          // how many attempts ahead are looked for before one is sent
	Voided map[int]bool // attempts whose sale is dealt with, however live it looks
}

// reclaim finds what was bought under the references of a purchase in the time
// that a restore lost, from an attempt on. A lost purchase is recorded, or taken
// back if its label is lost; what cannot be looked for is not bought. Unless it is
// over, attempt next is written down and may be sent.
func (m Machine) reclaim(n, from int) (v Verdict, next int, over bool) {
	done := maps.Clone(m.Loss.Voided)
	if done == nil {
		done = map[int]bool{}
	}

	for {
		s, sure := m.lookFor(from, n-1+m.Loss.Reach, done)
		switch {
		case !sure:
			// One of them may have bought, so nothing is sent. The client asks
			// again later.
			if r := m.Do(Act{Kind: End, Attempt: n, Outcome: WasNotSent}); r.Result != Done {
				return failed(r), n, true
			}
			return m.fail(n), n, true

		case s.Attempt == 0:
			return v, n, false

		case s.Attempt <= n && s.Labelled:
			return m.keep(n, s), n, true

		case s.Attempt <= n:
			if v, over := m.takeBackLost(s); over {
				return v, n, true
			}
			done[s.Attempt] = true
			if s.Attempt < n {
				continue
			}

		default:
			// The sale is that of a later attempt. The attempts up to it are
			// written down first, so that it has a row to be recorded under.
			if r := m.Do(Act{Kind: End, Attempt: n, Outcome: WasAbsent}); r.Result != Done {
				return failed(r), n, true
			}
		}

		switch r := m.Do(Act{Kind: NextAttempt, Attempt: n}); r.Result {
		case Done:
			n++
		case Conflict:
			return Verdict{Kind: Overtaken}, n, true
		default:
			return failed(r), n, true
		}
	}
}

// lookFor finds the first of the attempts that bought something; attempt 0 is
// none.
func (m Machine) lookFor(from, to int, but map[int]bool) (s Sale, sure bool) {
	for i := from; i <= to; i++ {
		if but[i] {
			continue
		}
		switch r := m.Do(Act{Kind: Look, Attempt: i}); r.Result {
		case Found:
			r.Sale.Attempt = i
			return r.Sale, true
		case Absent:
		default:
			return s, false
		}
	}
	return s, true
}

// takeBackLost voids a sale whose label is lost.
func (m Machine) takeBackLost(s Sale) (v Verdict, over bool) {
	if r := m.Do(Act{Kind: Orphan, Attempt: s.Attempt, Sale: s}); r.Result != Done {
		return failed(r), true
	}

	switch r := m.Do(Act{Kind: VoidOrphan, Attempt: s.Attempt, Sale: s}); r.Result {
	case Done, Cannot:
	case Unsure:
		return Verdict{Kind: Pending, Again: m.Waits.Settle}, true // the settle job goes on
	default:
		return failed(r), true
	}

	if r := m.Do(Act{Kind: End, Attempt: s.Attempt, Outcome: WasOrphaned}); r.Result != Done {
		return failed(r), true
	}
	return v, false
}

// Forgotten deals with an attempt that the database no longer knows: a label
// that it bought belongs to no shipment, and is voided.
func (m Machine) Forgotten(attempt int) Verdict {
	r := m.Do(Act{Kind: Look, Attempt: attempt})
	switch r.Result {
	case Found:
	case Absent:
		return Verdict{Kind: Settled}
	default:
		return Verdict{Kind: Pending, Again: m.Waits.Look}
	}
	r.Sale.Attempt = attempt
	switch r := m.Do(Act{Kind: Orphan, Attempt: attempt, Sale: r.Sale}); r.Result {
	case Done, Conflict: // or it counts under another name
		return Verdict{Kind: Settled}
	default:
		return failed(r)
	}
}
