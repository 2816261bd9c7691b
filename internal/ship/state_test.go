package ship

import (
	"slices"
	"testing"
)

var states = []State{
	StateAwaitingApproval, StatePurchasing, StateUncertain, StateNeedsReview, StatePurchased, StateVoiding, StateRefundPending, StateVoided, StateFailed,
}

// TestStatesFollowTheTable writes the life of a purchase down a second time:
// a change of it must be meant.
func TestStatesFollowTheTable(t *testing.T) {
	t.Parallel()
	allowed := map[State]string{
		StateAwaitingApproval: "purchasing failed",

		StatePurchasing:    "purchasing uncertain needs_review purchased failed",
		StateUncertain:     "purchasing needs_review purchased voiding failed",
		StateNeedsReview:   "purchased voiding failed",
		StatePurchased:     "voiding",
		StateVoiding:       "purchased refund_pending voided",
		StateRefundPending: "purchased voided",
		StateVoided:        "",
		StateFailed:        "awaiting_approval purchasing",
	}
	for _, from := range states {
		var can []string
		for _, to := range states {
			if from.CanBecome(to) {
				can = append(can, string(to))
			}
		}
		if got := join(can); got != allowed[from] {
			t.Errorf("%s can become %q, want %q", from, got, allowed[from])
		}
	}
	if State("").CanBecome(StatePurchased) || StatePurchased.CanBecome("") {
		t.Error("a purchase without a state moves")
	}
}

func join(list []string) (s string) {
	for i, w := range list {
		if i > 0 {
			s += " "
		}
		s += w
	}
	return s
}

func TestALabelIsNeverLostFromTheBoughtStates(t *testing.T) {
	t.Parallel()
	for from, list := range next {
		for _, to := range list {
			if from.Bought() && !to.Bought() {
				t.Errorf("%s can become %s: the label would be forgotten", from, to)
			}
		}
	}
}

func TestLabelStatusIsOneOfTheSevenWords(t *testing.T) {
	t.Parallel()
	words := []string{"pending", "ready", "failed", "needs_review", "voiding", "refund_pending", "voided"}
	for _, s := range states {
		if !slices.Contains(words, s.LabelStatus()) {
			t.Errorf("%s is shown as %s", s, s.LabelStatus())
		}
	}
	if StatePurchased.LabelStatus() != "ready" || StateUncertain.LabelStatus() != "pending" {
		t.Error("a bought label is ready and an uncertain one is pending")
	}
}

// TestEachStateIsListedUnderItsLabelStatus: a filter by all words lists all states.
func TestEachStateIsListedUnderItsLabelStatus(t *testing.T) {
	t.Parallel()
	if got := StatesOf([]string{"pending", "voided"}); !slices.Equal(got, []State{StateAwaitingApproval, StatePurchasing, StateUncertain, StateVoided}) {
		t.Errorf("pending and voided are %v", got)
	}
	if got := StatesOf(nil); got != nil {
		t.Errorf("without a word %v are listed", got)
	}
	if got := StatesOf([]string{"pending", "ready", "failed", "needs_review", "voiding", "refund_pending", "voided"}); len(got) != len(states) {
		t.Errorf("all words list %v, of %v", got, states)
	}
}

func TestEveryStatusHasAKindOfTheSix(t *testing.T) {
	t.Parallel()
	if len(EventKinds) != 6 || len(Statuses) != 7 {
		t.Fatalf("%d kinds and %d statuses", len(EventKinds), len(Statuses))
	}
	ranks := map[int]bool{}
	for _, s := range Statuses {
		if !s.Valid() || !slices.Contains(EventKinds, s.Kind()) || ranks[s.Rank()] {
			t.Errorf("%s: valid %t, kind %q, rank %d", s, s.Valid(), s.Kind(), s.Rank())
		}
		ranks[s.Rank()] = true
	}
	if OutForDelivery.Kind() != ShipmentInTransit {
		t.Errorf("out for delivery is told as %s", OutForDelivery.Kind())
	}
	if Status("").Valid() || Status("lost").Valid() || Status("lost").Kind() != "" {
		t.Error("an unknown status passes")
	}
}
