package parts

import (
	"slices"

	"github.com/waybillhq/waybill/internal/ship"
)

// A StatusFilter selects shipments in the list by what became of them. A
// shipment with a live label is listed by the status of its parcel, any other
// by the state of its label. So every shipment is in exactly one filter,
// besides "active".
type StatusFilter struct {
	Value  string // in the address
	Title  string
	Status ship.Status  // of the parcel; empty matches all
	States []ship.State // of the purchase, any of them
}

// ActiveFilter is the value of the filter to shipments with a live label.
const ActiveFilter = "active"

var (
	liveStates    = []ship.State{ship.StatePurchased}
	pendingStates = []ship.State{ship.StateAwaitingApproval, ship.StatePurchasing, ship.StateUncertain, ship.StateNeedsReview}
	voidedStates  = []ship.State{ship.StateVoiding, ship.StateRefundPending, ship.StateVoided}
)

// StatusFilters are the filters in the order of the page.
var StatusFilters = func() []StatusFilter {
	list := []StatusFilter{{Value: ActiveFilter, Title: "Active", States: liveStates}}
	for _, status := range ship.Statuses {
		if status != ship.Created { // a live label is past it
			list = append(list, StatusFilter{
				Value:  string(status),
				Title:  StatusWord(status),
				Status: status,
				States: liveStates,
			})
		}
	}

	return append(list,
		StatusFilter{Value: "pending", Title: "Label pending", States: pendingStates},
		StatusFilter{Value: "voided", Title: "Voided", States: voidedStates},
		StatusFilter{Value: "failed", Title: "Not bought", States: []ship.State{ship.StateFailed}},
	)
}()

// StatusFilterOf returns the filter with the value; ok is false if there is
// none.
func StatusFilterOf(value string) (found StatusFilter, ok bool) {
	// "created" was a value before shipments were distinguished by the state of
	// their labels, and old links still have it.
	if value == string(ship.Created) {
		value = "pending"
	}

	i := slices.IndexFunc(StatusFilters, func(f StatusFilter) bool { return f.Value == value })
	if i < 0 {
		return StatusFilter{}, false
	}
	return StatusFilters[i], true
}

// FilterValueOf returns the value of the one filter, besides "active", that
// lists shipments of the status and state.
func FilterValueOf(status ship.Status, state ship.State) string {
	for _, filter := range StatusFilters {
		if filter.Value != ActiveFilter && slices.Contains(filter.States, state) && (filter.Status == "" || filter.Status == status) {
			return filter.Value
		}
	}
	return ""
}
