package purchase

// BuyAfterRestore buys when the database was put back to an earlier moment
// lately: a purchase under the same name may have been made since, and is
// looked for first, up to reach attempts far. A lost purchase is recorded, or
// taken back if its label is lost. What cannot be looked for is not bought.
func (m Machine) BuyAfterRestore(offers, reach int) Verdict {
	switch r := m.Do(Act{Kind: Intend, Attempt: 1}); r.Result {
	case Done:
	case Conflict:
		return Verdict{Kind: Taken}
	default:
		return failed(r)
	}
	for n := 1; ; n++ {
		at, s, sure := m.lookAhead(n, reach)
		switch {
		case !sure:
			if r := m.Do(Act{Kind: End, Attempt: n, Outcome: WasNotSent}); r.Result != Done {
				return failed(r)
			}
			return m.fail(n)
		case at == 0:
			return m.sell(n, offers)
		case at == n && s.Labelled:
			return m.keep(n, s)
		case at == n:
			if v, over := m.takeBackLost(s); over {
				return v
			}
		default: // it is that of a later attempt, which is not written down yet
			if r := m.Do(Act{Kind: End, Attempt: n, Outcome: WasAbsent}); r.Result != Done {
				return failed(r)
			}
		}
		switch r := m.Do(Act{Kind: Again, Attempt: n}); r.Result {
		case Done:
		case Conflict:
			return Verdict{Kind: Overtaken}
		default:
			return failed(r)
		}
	}
}

// lookAhead finds the first of the attempts from n on that bought something;
// attempt 0 is none.
func (m Machine) lookAhead(n, reach int) (at int, s Sale, sure bool) {
	for i := n; i < n+reach; i++ {
		switch r := m.Do(Act{Kind: Look, Attempt: i}); r.Result {
		case Found:
			r.Sale.Attempt = i
			return i, r.Sale, true
		case Absent:
		default:
			return 0, s, false
		}
	}
	return 0, s, true
}

// takeBackLost takes back a sale whose label is lost.
func (m Machine) takeBackLost(s Sale) (v Verdict, over bool) {
	if r := m.Do(Act{Kind: Strand, Attempt: s.Attempt, Sale: s}); r.Result != Done {
		return failed(r), true
	}
	switch r := m.Do(Act{Kind: TakeBack, Attempt: s.Attempt, Sale: s}); r.Result {
	case Done, Cannot:
	case Unsure:
		return Verdict{Kind: Pending, Again: m.Waits.Settle}, true // the settle job goes on
	default:
		return failed(r), true
	}
	if r := m.Do(Act{Kind: End, Attempt: s.Attempt, Outcome: WasStranded}); r.Result != Done {
		return failed(r), true
	}
	return v, false
}

// Forgotten deals with an attempt of which the database knows nothing any more:
// what it bought is nobody's, and is taken back.
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
	switch r := m.Do(Act{Kind: Strand, Attempt: attempt, Sale: r.Sale}); r.Result {
	case Done, Conflict: // or it counts under another name
		return Verdict{Kind: Settled}
	default:
		return failed(r)
	}
}
