package purchase

// keep records a sale, if attempt last is still the last. First it goes to the
// disk: where nobody can look the sale up, that is its only memory until it is
// recorded. A disk that is full does not make the label less bought.
func (m Machine) keep(last int, s Sale) Verdict {
	m.Do(Act{Kind: Spool, Attempt: s.Attempt, Sale: s})
	return m.record(last, s)
}

// Replay records a sale that is on this machine's disk. One that was over the limit
// and is recorded all the same was kept: it is not given back behind the
// client's back.
func (m Machine) Replay(last int, s Sale) Verdict {
	if s.OverLimit {
		now := m.Do(Act{Kind: Read})
		if now.Result != Done {
			return failed(now)
		}
		if now.Sale.Number == s.Number {
			m.Do(Act{Kind: Unspool, Attempt: s.Attempt, Sale: s})
			return Verdict{Kind: Bought}
		}
	}
	return m.record(last, s)
}

// record stores a sale as what was bought, unless it is over the limit and can be
// given back.
func (m Machine) record(last int, s Sale) Verdict {
	if s.OverLimit {
		switch m.Do(Act{Kind: VoidOverLimit, Attempt: s.Attempt, Sale: s}).Result {
		case Done:
			return m.givenBack(last, s)
		case Conflict:
			return m.tooLate(s)
		}
	}

	switch r := m.Do(Act{Kind: Record, Attempt: last, Sale: s}); r.Result {
	case Done:
		m.Do(Act{Kind: Unspool, Attempt: s.Attempt, Sale: s})
		return Verdict{Kind: Bought}
	case Conflict:
		return m.orphan(s)
	default:
		return failed(r)
	}
}

// givenBack ends a purchase whose label was over the limit.
func (m Machine) givenBack(last int, s Sale) Verdict {
	if r := m.Do(Act{Kind: End, Attempt: s.Attempt, Outcome: WasRefused}); r.Result != Done {
		return failed(r)
	}

	// What is on the disk is all that is known of the sale until the failure is
	// recorded.
	v := m.fail(last)
	if v.Kind != Failed {
		m.Do(Act{Kind: Unspool, Attempt: s.Attempt, Sale: s})
	}
	return v
}

// tooLate voids what is over the limit when somebody else may have found it:
// whoever writes it down first decides, and the settle job goes on from there.
func (m Machine) tooLate(s Sale) Verdict {
	r := m.Do(Act{Kind: Orphan, Attempt: s.Attempt, Sale: s})
	if r.Result == Done {
		switch m.Do(Act{Kind: VoidOrphan, Attempt: s.Attempt, Sale: s}).Result {
		case Done, Cannot:
			r = m.Do(Act{Kind: End, Attempt: s.Attempt, Outcome: WasOrphaned})
		}
	}
	if r.Result == Broken {
		return failed(r)
	}

	m.Do(Act{Kind: Unspool, Attempt: s.Attempt, Sale: s})
	return Verdict{Kind: Overtaken}
}

// orphan deals with a sale that came too late to be used.
func (m Machine) orphan(s Sale) Verdict {
	now := m.Do(Act{Kind: Read})
	if now.Result != Done {
		return failed(now)
	}

	if now.Sale.Number != s.Number {
		if r := m.Do(Act{Kind: Orphan, Attempt: s.Attempt, Sale: s}); r.Result == Broken {
			return failed(r)
		}
	}

	m.Do(Act{Kind: Unspool, Attempt: s.Attempt, Sale: s})
	return Verdict{Kind: Overtaken}
}
