package purchase

// A Loss is what may be missing of a purchase because the database was put back
// to an earlier moment: attempts that it does not know were made, and one of
// them may have bought. Its zero value is none.
type Loss struct {
	Reach  int          // how many attempts ahead are looked for before one is sent
	Voided map[int]bool // attempts whose sale is dealt with, however live it looks
}

// reclaim finds what was bought under the references of a purchase in the time
// that a restore lost, from an attempt on. A lost purchase is recorded, with or
// without its label and whatever it cost: only a person voids what a restore lost.
// What cannot be looked for is not bought. Unless it is over, attempt next is
// written down and may be sent.
func (m Machine) reclaim(n, from int) (v Verdict, next int, over bool) {
	for {
		s, sure := m.lookFor(from, n-1+m.Loss.Reach, m.Loss.Voided)
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

		case s.Attempt <= n:
			s.OverLimit = false
			return m.keep(n, s), n, true
		}

		// The sale is that of a later attempt. The attempts up to it are written
		// down first, so that it has a row to be recorded under.
		if r := m.Do(Act{Kind: End, Attempt: n, Outcome: WasAbsent}); r.Result != Done {
			return failed(r), n, true
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
