// Package effect is how something is done once at a carrier, such as booking a
// pickup or closing a manifest, as a machine: it says what to do next and receives
// what came of it. It does no I/O and keeps no clock. Its rules:
//
//   - the effect is written down before the carrier is asked;
//   - the carrier is asked once, and a lost answer is an outcome of its own;
//   - it is asked again only after a look-up has shown twice that nothing was
//     done, or where asking again cannot do it a second time;
//   - what can be neither looked up nor repeated, or is not answered for long, is
//     left to a person.
//
// Package handover carries the acts out. The tests of this package carry them
// out in a world of dying processes and carriers that lose answers. Purchases
// have a machine of their own, package purchase: they can be taken back.
package effect

import "time"

// An Act is one step. The Report on it says how it ended.
type Act struct {
	Kind    Kind
	Attempt int // for Record any, for Again, Refuse, MarkUncertain, Miss and Review the one that must still be the last
}

// A Kind of act.
type Kind string

// The acts, with the results that a report on each can have besides Broken.
const (
	Intend        Kind = "intend"         // write the effect and attempt 1 down: Done, Conflict if there is the same one
	Send          Kind = "send"           // ask the carrier: Confirmed, Existed, Refused, NotSent, Lost
	Again         Kind = "again"          // write the attempt after this one down: Done, Conflict
	Record        Kind = "record"         // store what the carrier confirmed: Done, Conflict
	Refuse        Kind = "refuse"         // it was not done: Done, Conflict
	MarkUncertain Kind = "mark_uncertain" // the outcome is unknown: Done, Conflict
	Look          Kind = "look"           // look it up: Found, Absent, Cannot, Unsure
	Miss          Kind = "miss"           // write down that a look-up did not find it: Done, Conflict
	Review        Kind = "review"         // a person must decide: Done, Conflict
)

// A Report is the result of an act.
type Report struct {
	Result Result
	Err    error // of Broken
}

// A Result is how an act ended.
type Result string

// The results.
const (
	Done      Result = "done"
	Conflict  Result = "conflict"  // somebody else has moved the effect on
	Confirmed Result = "confirmed" // the carrier did it
	Existed   Result = "existed"   // the carrier had it already, and did not do it again
	Refused   Result = "refused"
	NotSent   Result = "not_sent"
	Lost      Result = "lost" // the carrier may have done it
	Found     Result = "found"
	Absent    Result = "absent"
	Cannot    Result = "cannot" // the carrier does not show this one, now or later
	Unsure    Result = "unsure"
	Broken    Result = "broken" // our own side failed, and may have done it
)

// A Certainty is how the outcome can be found out after an answer was lost.
type Certainty struct {
	CanLook   bool // a look-up shows whether it was done
	CanRepeat bool // asking again never does it twice
	// CanRepeatAbsent says that asking again does not do it twice once look-ups
	// have not found it.
	CanRepeatAbsent bool
}

func (c Certainty) isNone() bool { return !c.CanLook && !c.CanRepeat }

// A State is how far an effect is.
type State string

// The states. The first two are open.
const (
	Pending     State = "pending"   // written down, and perhaps sent
	Uncertain   State = "uncertain" // sent, and not answered
	Succeeded   State = "succeeded"
	Failed      State = "failed"
	NeedsReview State = "needs_review"
)

// Transitions says which state can follow which. A second attempt is pending
// again. What needs review is resolved by a person, or by a late answer.
var Transitions = map[State][]State{
	Pending:     {Pending, Uncertain, Succeeded, Failed, NeedsReview},
	Uncertain:   {Pending, Uncertain, Succeeded, Failed, NeedsReview},
	NeedsReview: {Succeeded, Failed},
}

// IsOpen reports whether the outcome is to be found out.
func (s State) IsOpen() bool { return s == Pending || s == Uncertain }

// An Open effect is one whose outcome is to be found out, as written down.
type Open struct {
	State     State
	Attempt   int // the last one
	CreatedAt time.Time
	StartedAt time.Time // of the last attempt
	MissedAt  time.Time // of the first look-up that did not find it, since then; zero if there was none
}

// Waits are the machine's delays and deadlines.
type Waits struct {
	Settle time.Duration // from an attempt to the first look at it: longer than any call takes
	Look   time.Duration // between two looks
	Review time.Duration // from the creation: after it, a person decides
}

// A Verdict is how a run of the machine ended.
type Verdict struct {
	Kind  VerdictKind
	Again time.Duration // look again after this; zero means that there is nothing to look for
	Err   error         // of Broke
}

// A VerdictKind says where the effect stands.
type VerdictKind string

// The verdicts.
const (
	Did       VerdictKind = "did"
	Rejected  VerdictKind = "rejected"  // it was not done
	Waiting   VerdictKind = "waiting"   // not known yet
	InReview  VerdictKind = "in_review" // a person decides
	Taken     VerdictKind = "taken"     // there is the same one already; nothing was done
	Overtaken VerdictKind = "overtaken" // somebody else moved it on meanwhile
	Settled   VerdictKind = "settled"   // there is nothing to do
	Broke     VerdictKind = "broke"     // our own side failed; a later run goes on
)

// A Machine runs an effect.
type Machine struct {
	Do        func(Act) Report
	Now       func() time.Time
	Waits     Waits
	Certainty Certainty
}

// Run does it for the first time.
func (m Machine) Run() Verdict {
	switch r := m.Do(Act{Kind: Intend, Attempt: 1}); r.Result {
	case Done:
		return m.send(1, false)
	case Conflict:
		return Verdict{Kind: Taken}
	default:
		return broke(r)
	}
}

// send asks the carrier. Attempt n is written down. isAbsent says that look-ups
// have not found the attempts before it.
func (m Machine) send(n int, isAbsent bool) Verdict {
	sent := m.Do(Act{Kind: Send, Attempt: n})
	switch sent.Result {
	case Confirmed:
		return m.finish(Record, n, Did)

	case Existed:
		// What is there at the first attempt is somebody else's. Later it is
		// ours, and its answer was lost.
		if n == 1 {
			return m.finish(Refuse, n, Rejected)
		}
		return m.finish(Record, n, Did)

	case Refused:
		// A refusal says nothing about an earlier attempt: the window of a
		// pickup that was booked may have passed meanwhile.
		if n == 1 || isAbsent {
			return m.finish(Refuse, n, Rejected)
		}
		return m.finish(Review, n, InReview)

	case NotSent:
		if n == 1 {
			return m.finish(Refuse, n, Rejected)
		}
		return m.wait(n, m.Waits.Look)

	case Lost:
		if m.Certainty.isNone() {
			return m.finish(Review, n, InReview)
		}
		return m.wait(n, m.Waits.Look)

	default:
		return broke(sent)
	}
}

// Settle finds out what became of an effect that was left open.
func (m Machine) Settle(o Open) Verdict {
	if !o.State.IsOpen() {
		return Verdict{Kind: Settled}
	}

	// The process that made the last attempt may still be waiting for the
	// answer.
	wait := m.Waits.Settle - m.Now().Sub(o.StartedAt)
	if o.State == Pending && wait > 0 {
		return Verdict{Kind: Waiting, Again: wait}
	}

	isOld := m.Now().Sub(o.CreatedAt) > m.Waits.Review
	switch {
	case m.Certainty.isNone():
		return m.finish(Review, o.Attempt, InReview)

	case !m.Certainty.CanLook && isOld:
		return m.finish(Review, o.Attempt, InReview)

	case !m.Certainty.CanLook:
		return m.again(o, false)
	}

	switch looked := m.Do(Act{Kind: Look, Attempt: o.Attempt}); {
	case looked.Result == Found:
		return m.finish(Record, o.Attempt, Did)

	case isOld:
		return m.finish(Review, o.Attempt, InReview)

	case looked.Result == Absent:
		return m.absent(o)

	case looked.Result == Cannot && m.Certainty.CanRepeat:
		return m.again(o, false)

	case looked.Result == Cannot:
		return m.finish(Review, o.Attempt, InReview)
	}

	// Soon at first, and then more and more rarely.
	age := m.Now().Sub(o.CreatedAt)
	return m.wait(o.Attempt, min(max(age/4, m.Waits.Look), 60*m.Waits.Look))
}

// absent is reached when the carrier does not show it. One absence proves
// little, because it may show late.
func (m Machine) absent(o Open) Verdict {
	if o.MissedAt.IsZero() {
		switch r := m.Do(Act{Kind: Miss, Attempt: o.Attempt}); r.Result {
		case Done:
			return Verdict{Kind: Waiting, Again: m.Waits.Look}
		case Conflict:
			return Verdict{Kind: Overtaken}
		default:
			return broke(r)
		}
	}

	// A sweep may run beside the job. Two looks at the same moment are one.
	if wait := m.Waits.Look - m.Now().Sub(o.MissedAt); wait > 0 {
		return Verdict{Kind: Waiting, Again: wait}
	}

	if m.Certainty.CanRepeat || m.Certainty.CanRepeatAbsent {
		return m.again(o, true)
	}
	return m.finish(Refuse, o.Attempt, Rejected)
}

// maxAttempts is how often a carrier is asked at most. What it has not answered
// then, it does not answer in time either.
const maxAttempts = 5

// again makes another attempt, unless somebody else does.
func (m Machine) again(o Open, isAbsent bool) Verdict {
	if o.Attempt >= maxAttempts {
		return m.finish(Review, o.Attempt, InReview)
	}

	switch r := m.Do(Act{Kind: Again, Attempt: o.Attempt}); r.Result {
	case Done:
		return m.send(o.Attempt+1, isAbsent)
	case Conflict:
		return Verdict{Kind: Overtaken}
	default:
		return broke(r)
	}
}

// wait writes down that the outcome is unknown.
func (m Machine) wait(n int, again time.Duration) Verdict {
	v := m.finish(MarkUncertain, n, Waiting)
	if v.Kind == Waiting {
		v.Again = again
	}
	return v
}

// finish does an act that ends the run.
func (m Machine) finish(kind Kind, n int, verdict VerdictKind) Verdict {
	switch r := m.Do(Act{Kind: kind, Attempt: n}); r.Result {
	case Done:
		return Verdict{Kind: verdict}
	case Conflict:
		return Verdict{Kind: Overtaken}
	default:
		return broke(r)
	}
}

func broke(r Report) Verdict { return Verdict{Kind: Broke, Err: r.Err} }
