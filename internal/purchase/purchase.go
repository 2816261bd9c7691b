// Package purchase is how one label is bought, as a machine: it says what to do
// next and is told what came of it. It does no I/O, keeps no clock, and holds
// every rule about money:
//
//   - an attempt is written down before the carrier is asked;
//   - an answer that was lost is a third outcome, and no way leads from it to
//     another purchase but through a confirmed absence of every attempt ever
//     made, or a repetition that the carrier guarantees to be the same purchase;
//   - what the carrier sold is on this machine's disk before it is recorded,
//     and what cannot be recorded is orphaned: written down and voided.
//
// Package shipping carries the acts out. The tests of this package carry them
// out in a world of dying processes and lying carriers.
package purchase

import (
	"time"

	"github.com/waybillhq/waybill/internal/ship"
)

// An Act is one step of a purchase. The Report on it says how it ended.
type Act struct {
	Kind    Kind
	Attempt int  // that it is about; for Record, Fail, MarkUncertain and NextAttempt the one that must still be the last
	Sale    Sale // for Spool, VoidOverLimit, Record, Unspool, Orphan and VoidOrphan
	Outcome Outcome

	// IfUnrecorded makes End a Conflict if the attempt has an outcome: it was
	// looked up or repeated meanwhile, and what this process knows of it is old.
	IfUnrecorded bool
}

// A Kind of act.
type Kind string

// The acts, with the results that a report on each can have besides Broken.
const (
	Intend        Kind = "intend"          // write the purchase and attempt 1 down: Done, Conflict
	Begin         Kind = "begin"           // start an attempt that waited for an approval, unless somebody has: Done, Conflict
	Send          Kind = "send"            // ask the carrier to sell: Sold, Refused, NotSent, Lost
	Spool         Kind = "spool"           // write a sale to this machine's disk: Done
	Unspool       Kind = "unspool"         // and delete it there: Done
	VoidOverLimit Kind = "void_over_limit" // void what is over the limit: Done, Unsure (kept, with a warning), Conflict (too late)
	Record        Kind = "record"          // store the sale as what was bought, unless it is orphaned: Done, Conflict
	End           Kind = "end"             // write down what became of an attempt: Done, Conflict (see IfUnrecorded)
	NextAttempt   Kind = "next_attempt"    // write the attempt after this one down, if this one is known not to have bought: Done, Conflict
	MarkUncertain Kind = "mark_uncertain"  // tell the client that the outcome is unknown: Done
	Fail          Kind = "fail"            // nothing was bought, unless a later attempt is under way: Done, Conflict
	Review        Kind = "review"          // a person must decide: Done
	Read          Kind = "read"            // what is recorded now: Done, with the sale's number if there is one
	Look          Kind = "look"            // look an attempt up: Found, Absent, Unsure
	Control       Kind = "control"         // search for a purchase that is known to exist, as the attempt was searched for: Found, Absent, Unsure if there is none
	Resend        Kind = "resend"          // write down that the attempt is sent again, if it is the last and nothing is known of it: Done, Conflict
	Repeat        Kind = "repeat"          // send it again, where the carrier guarantees one purchase: Sold, Lost
	Orphan        Kind = "orphan"          // write down a sale that is not to be used, and a job that voids it, unless it is recorded: Done, Conflict
	VoidOrphan    Kind = "void_orphan"     // void an orphaned sale now: Done, Unsure; Cannot if the carrier never voids
)

// A Report is the result of an act.
type Report struct {
	Result Result
	Sale   Sale
	Search Search // of Look
	Stop   bool   // of Send that was NotSent: the reason is ours, so no other carrier is asked
	Err    error  // of Broken
}

// A Search says what the look-up of an attempt is worth: when an absence counts,
// and whether the attempt may be sent again instead.
type Search struct {
	SellsFor time.Duration // from when the attempt was last to be sent: after it, the carrier no longer sells
	Delay    time.Duration // from the sale: so long it may be missing from the look-up
	Repeat   RepeatRule
}

// A RepeatRule says when an attempt may be sent again as the same purchase.
type RepeatRule int

// The rules. A carrier repeats a purchase only if it guarantees that the same
// key or number is the same purchase.
const (
	NeverRepeat    RepeatRule = iota
	RepeatIfAbsent            // after a look-up that did not find it
	RepeatAnyTime             // no look-up is needed
)

// A Result is how an act ended.
type Result string

// The results.
const (
	Done     Result = "done"
	Conflict Result = "conflict" // somebody else has moved the purchase on
	Sold     Result = "sold"
	Refused  Result = "refused"
	NotSent  Result = "not_sent"
	Lost     Result = "lost" // the carrier may have sold
	Found    Result = "found"
	Absent   Result = "absent"
	Unsure   Result = "unsure"
	Cannot   Result = "cannot"
	Broken   Result = "broken" // our own side failed, and may have done it
)

// A Sale is a label that a carrier sold under an attempt's reference.
type Sale struct {
	Attempt   int
	Number    string // tracking number
	Labelled  bool   // it came with its label
	OverLimit bool   // above the client's limit
}

// An Outcome is what became of an attempt.
type Outcome string

// The outcomes. An attempt without one is open.
const (
	WasBought   Outcome = "purchased"
	WasRefused  Outcome = "declined"
	WasNotSent  Outcome = "not_sent"
	IsUnknown   Outcome = "uncertain" // not found once, when it would have been visible
	WasAbsent   Outcome = "not_found" // its absence is confirmed
	WasOrphaned Outcome = "orphaned"
)

// An Attempt is one time that a carrier was asked, as written down.
type Attempt struct {
	Number    int
	Outcome   Outcome
	StartedAt time.Time
	ResentAt  time.Time // when it was last sent again; zero if it never was
	EndedAt   time.Time // when the outcome was written down
}

// An Open purchase is one whose outcome is to be found out, as written down.
type Open struct {
	State     ship.State
	Notified  bool // the client knows of it
	CreatedAt time.Time
	Attempts  []Attempt // first to last

	// DuplicateIsBilled says that the carrier of the last attempt charges for a
	// label that nobody uses, and that it cannot be voided by API.
	DuplicateIsBilled bool
}

// Waits are the machine's delays and deadlines.
type Waits struct {
	Settle time.Duration // from an attempt to the first look at it
	Look   time.Duration // between two looks
	Rebuy  time.Duration // from the creation: after it, nothing is bought again
	Review time.Duration // from the creation: after it, a person decides
	Tries  time.Duration // from the first call: after it, no further carrier is asked; zero sets no end
}

// A Verdict is how a run of the machine ended.
type Verdict struct {
	Kind  VerdictKind
	Again time.Duration // look again after this; zero means that it is settled
	Err   error         // of Failed
}

// A VerdictKind says where the purchase stands.
type VerdictKind string

// The verdicts.
const (
	Bought    VerdictKind = "bought"
	Rejected  VerdictKind = "rejected"  // every carrier that was asked refused; nothing was bought
	Pending   VerdictKind = "pending"   // not known yet
	Taken     VerdictKind = "taken"     // the key or the order was used before; nothing was done
	Overtaken VerdictKind = "overtaken" // somebody else moved it on while the carrier answered here
	Settled   VerdictKind = "settled"   // there is nothing to do
	Failed    VerdictKind = "failed"    // our own side failed; a later run goes on
)

// A Machine runs a purchase.
type Machine struct {
	Do    func(Act) Report
	Now   func() time.Time
	Waits Waits
	Loss  Loss
}

// Buy buys for the first time, with so many offers to try one after the other.
func (m Machine) Buy(offers int) Verdict {
	switch r := m.Do(Act{Kind: Intend, Attempt: 1}); r.Result {
	case Done:
		return m.sell(1, offers)
	case Conflict:
		return Verdict{Kind: Taken}
	default:
		return failed(r)
	}
}

// Ask writes a purchase down that a person must approve, and asks no carrier: as a
// new one, or after the last attempt, which is known to have bought nothing; zero if
// there is none.
func (m Machine) Ask(last int) Verdict {
	act := Act{Kind: Intend, Attempt: 1}
	taken := Taken
	if last > 0 {
		act = Act{Kind: NextAttempt, Attempt: last}
		taken = Overtaken
	}

	switch r := m.Do(act); r.Result {
	case Done:
		return Verdict{Kind: Pending}
	case Conflict:
		return Verdict{Kind: taken}
	default:
		return failed(r)
	}
}

// Approved goes on with a purchase that was approved, and whose attempt is written
// down. Only the run that begins the attempt may send it.
func (m Machine) Approved(attempt int) Verdict {
	switch r := m.Do(Act{Kind: Begin, Attempt: attempt}); r.Result {
	case Done:
		return m.sell(attempt, 1)
	case Conflict:
		return Verdict{Kind: Settled}
	default:
		return failed(r)
	}
}

// Declined ends a purchase that was not approved.
func (m Machine) Declined(attempt int) Verdict {
	// A restore may have lost that it was approved and bought. An attempt that
	// counts as not found is looked for again, and what turns up is voided.
	outcome := WasNotSent
	if m.Loss.Reach > 0 {
		outcome = WasAbsent
	}
	if r := m.Do(Act{Kind: End, Attempt: attempt, Outcome: outcome}); r.Result != Done {
		return failed(r)
	}
	return m.fail(attempt)
}

// Retry makes the attempt after the last, which is known to have bought
// nothing.
func (m Machine) Retry(last, offers int) Verdict {
	switch r := m.Do(Act{Kind: NextAttempt, Attempt: last}); r.Result {
	case Done:
		return m.sell(last+1, offers)
	case Conflict:
		return Verdict{Kind: Overtaken}
	default:
		return failed(r)
	}
}

// sell asks one carrier after the other until one sells, all have refused, one
// has not answered, or it is too late to ask another. Attempt n is written
// down.
func (m Machine) sell(n, offers int) Verdict {
	begun := m.Now()
	sought := 0 // the last attempt under whose reference a lost sale was looked for

	for {
		// After a restore, attempts that the database has forgotten may have
		// bought. They are looked up before anything is sent.
		if m.Loss.Reach > 0 && n > sought {
			v, next, over := m.reclaim(n, sought+1)
			if over {
				return v
			}
			n = next
			sought = next - 1 + m.Loss.Reach
		}

		sent := m.Do(Act{Kind: Send, Attempt: n})
		switch sent.Result {
		case Sold:
			sent.Sale.Attempt = n
			return m.keep(n, sent.Sale)

		case Lost:
			// The carrier may have sold: no other is asked until a look-up has
			// found out.
			if r := m.Do(Act{Kind: MarkUncertain, Attempt: n}); r.Result != Done {
				return failed(r)
			}
			return Verdict{Kind: Pending, Again: m.Waits.Settle}

		case Refused, NotSent:
			outcome := WasRefused
			if sent.Result == NotSent {
				outcome = WasNotSent
			}
			switch r := m.Do(Act{Kind: End, Attempt: n, Outcome: outcome, IfUnrecorded: true}); r.Result {
			case Done:
			case Conflict:
				return Verdict{Kind: Overtaken}
			default:
				return failed(r)
			}

		default:
			return failed(sent)
		}

		offers--
		isLate := m.Waits.Tries > 0 && m.Now().Sub(begun) >= m.Waits.Tries
		if offers <= 0 || isLate || sent.Stop {
			return m.fail(n)
		}

		switch r := m.Do(Act{Kind: NextAttempt, Attempt: n}); r.Result {
		case Done:
			n++
		case Conflict:
			return Verdict{Kind: Overtaken}
		default:
			return failed(r)
		}
	}
}

func (m Machine) fail(last int) Verdict {
	switch r := m.Do(Act{Kind: Fail, Attempt: last}); r.Result {
	case Done:
		return Verdict{Kind: Rejected}
	case Conflict:
		return Verdict{Kind: Overtaken}
	default:
		return failed(r)
	}
}

func failed(r Report) Verdict { return Verdict{Kind: Failed, Err: r.Err} }
