package ship

import "slices"

// A State is where the purchase of a shipment stands. The status follows the
// parcel, the state follows the money.
type State string

// The states of a purchase.
const (
	// StateAwaitingApproval is that of a purchase that is recorded and that a
	// person must approve before a carrier is asked to sell.
	StateAwaitingApproval State = "awaiting_approval"

	StatePurchasing    State = "purchasing"     // recorded; the carrier may not have answered yet
	StateUncertain     State = "uncertain"      // the carrier may have sold; being looked up
	StateNeedsReview   State = "needs_review"   // the carrier can neither confirm nor deny; a person decides
	StatePurchased     State = "purchased"      // bought, label stored
	StateVoiding       State = "voiding"        // a void is under way
	StateRefundPending State = "refund_pending" // void accepted, money not back yet
	StateVoided        State = "voided"         // void confirmed
	StateFailed        State = "failed"         // nothing was bought
)

// next lists the states that may follow each state of a purchase. A state with no
// successor is final.
var next = map[State][]State{
	StateAwaitingApproval: {StatePurchasing, StateFailed},
	StatePurchasing:       {StatePurchased, StateFailed, StateUncertain, StatePurchasing, StateNeedsReview},
	StateUncertain:        {StatePurchased, StateFailed, StatePurchasing, StateNeedsReview, StateVoiding},
	StateNeedsReview:      {StatePurchased, StateFailed, StateVoiding},
	StatePurchased:        {StateVoiding},
	StateVoiding:          {StateVoided, StateRefundPending, StatePurchased}, // a refused void goes back
	StateRefundPending:    {StateVoided, StatePurchased},
	StateFailed:           {StatePurchasing, StateAwaitingApproval}, // only by a retry with the same key after "unavailable"
	StateVoided:           {},
}

// CanBecome reports whether a purchase in state s may move to t.
func (s State) CanBecome(t State) bool { return slices.Contains(next[s], t) }

// Bought reports whether there is, or was, a label.
func (s State) Bought() bool {
	switch s {
	case StatePurchased, StateVoiding, StateRefundPending, StateVoided:
		return true
	}
	return false
}

// StatesOf returns the states that clients see as one of the label statuses.
func StatesOf(labelStatuses []string) []State {
	var states []State
	for state := range next {
		if slices.Contains(labelStatuses, state.LabelStatus()) {
			states = append(states, state)
		}
	}
	slices.Sort(states)
	return states
}

// LabelStatus returns the label's status as clients see it.
func (s State) LabelStatus() string {
	switch s {
	case StatePurchased:
		return "ready"
	case StateAwaitingApproval, StatePurchasing, StateUncertain:
		return "pending"
	}
	return string(s) // failed, needs_review, voiding, refund_pending, voided
}
