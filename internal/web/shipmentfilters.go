package web

import (
	"slices"

	"github.com/waybillhq/waybill/internal/ship"
)

// A statusFilter selects shipments in the list by what became of them. A
// shipment with a live label is listed by the status of its parcel, any other
// by the state of its label. So every shipment is in exactly one filter,
// besides "active".
type statusFilter struct {
	Value  string // in the address
	Title  string
	Status ship.Status  // of the parcel; empty matches all
	States []ship.State // of the purchase, any of them
}

// activeFilter is the value of the filter to shipments with a live label.
const activeFilter = "active"

var (
	liveStates    = []ship.State{ship.StatePurchased}
	pendingStates = []ship.State{ship.StatePurchasing, ship.StateUncertain, ship.StateNeedsReview}
	voidedStates  = []ship.State{ship.StateVoiding, ship.StateRefundPending, ship.StateVoided}
)

// statusFilters are the filters in the order of the page.
var statusFilters = func() []statusFilter {
	list := []statusFilter{{Value: activeFilter, Title: "Active", States: liveStates}}
	for _, status := range ship.Statuses {
		if status != ship.Created { // a live label is past it
			list = append(list, statusFilter{
				Value:  string(status),
				Title:  statusWord(status),
				Status: status,
				States: liveStates,
			})
		}
	}

	return append(list,
		statusFilter{Value: "pending", Title: "Label pending", States: pendingStates},
		statusFilter{Value: "voided", Title: "Voided", States: voidedStates},
		statusFilter{Value: "failed", Title: "Not bought", States: []ship.State{ship.StateFailed}},
	)
}()

// statusFilterOf returns the filter with the value; ok is false if there is
// none.
func statusFilterOf(value string) (found statusFilter, ok bool) {
	// "created" was a value before shipments were told apart by their labels,
	// and old links still have it.
	if value == string(ship.Created) {
		value = "pending"
	}

	i := slices.IndexFunc(statusFilters, func(f statusFilter) bool { return f.Value == value })
	if i < 0 {
		return statusFilter{}, false
	}
	return statusFilters[i], true
}

// filterValueOf returns the value of the one filter, besides "active", that
// lists shipments of the status and state.
func filterValueOf(status ship.Status, state ship.State) string {
	for _, filter := range statusFilters {
		if filter.Value != activeFilter && slices.Contains(filter.States, state) && (filter.Status == "" || filter.Status == status) {
			return filter.Value
		}
	}
	return ""
}
