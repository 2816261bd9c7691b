package web

import (
	"slices"

	"github.com/waybillhq/waybill/internal/ship"
)

// A statusFilter is a choice of the list of shipments by what became of them.
// A shipment with a live label is where its parcel is; any other one is what
// became of its label. So every shipment is in one filter, besides "active".
type statusFilter struct {
	Value  string // in the address
	Title  string
	Status ship.Status  // of the parcel; empty does not narrow
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

// statusFilterOf is the filter with the value; ok is false if there is none.
// "created" was a value before shipments were told apart by their labels.
func statusFilterOf(value string) (found statusFilter, ok bool) {
	if value == string(ship.Created) {
		value = "pending"
	}
	i := slices.IndexFunc(statusFilters, func(f statusFilter) bool { return f.Value == value })
	if i < 0 {
		return statusFilter{}, false
	}
	return statusFilters[i], true
}

// filterValueOf is the value of the one filter, besides "active", that lists
// shipments of the status and state.
func filterValueOf(status ship.Status, state ship.State) string {
	for _, f := range statusFilters {
		if f.Value != activeFilter && slices.Contains(f.States, state) && (f.Status == "" || f.Status == status) {
			return f.Value
		}
	}
	return ""
}
