package batch

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// shippedProblem is the problem with a line whose order has a live shipment.
func shippedProblem(existing ship.ShipmentID) Problem {
	return Problem{
		Field:    "order",
		Detail:   "this order has already been shipped",
		Shipment: existing,
		Reason:   "duplicate_order",
	}
}

// ShippedBefore returns the live shipments that orders of the batch have
// already, by the number of the line, as far as the columns are named.
func (s *Service) ShippedBefore(ctx context.Context, batch Batch) (map[int]ship.ShipmentID, error) {
	if !batch.ColumnMapping.has("order") {
		return nil, nil
	}
	rows, err := s.Store.BatchRows(ctx, batch.Tenant, batch.ID, 0, MaxRows)
	if err != nil {
		return nil, err
	}
	live, err := s.liveOrders(ctx, batch.Tenant, batch.ColumnMapping, rows)
	if err != nil {
		return nil, err
	}

	found := map[int]ship.ShipmentID{}
	for _, row := range rows {
		if id, ok := live[orderNumber(batch.ColumnMapping, row)]; ok {
			found[row.Number] = id
		}
	}
	return found, nil
}

// skipShipped skips lines whose order has a live shipment, unless a person
// accepted that very one. It only spares people a surprise: whether an order is
// bought twice is decided under a lock when it is bought.
func (s *Service) skipShipped(ctx context.Context, t ship.Tenant, meaning ColumnMapping, changed []store.ChangedRow) error {
	rows := make([]store.BatchRow, len(changed))
	for i := range changed {
		rows[i] = changed[i].BatchRow
	}
	live, err := s.liveOrders(ctx, t, meaning, rows)
	if err != nil {
		return err
	}

	for i := range changed {
		row := &changed[i].BatchRow
		existing, ok := live[orderNumber(meaning, *row)]
		if !ok || existing == acceptedDuplicate(row.Problems) {
			continue
		}
		row.State = RowSkipped
		row.Problems = encodeProblems([]Problem{shippedProblem(existing)})
	}
	return nil
}

// liveOrders finds the live shipments of the lines' orders, by order number.
func (s *Service) liveOrders(ctx context.Context, t ship.Tenant, meaning ColumnMapping, rows []store.BatchRow) (map[string]ship.ShipmentID, error) {
	var orders []string
	for _, row := range rows {
		if order := orderNumber(meaning, row); order != "" {
			orders = append(orders, order)
		}
	}
	if len(orders) == 0 {
		return nil, nil
	}
	return s.Store.LiveOrders(ctx, t, orders)
}

// repeatedReason marks a line that repeats the order of a line above it.
const repeatedReason = "duplicate_line"

// skipRepeated skips lines whose order number a line above them has: they would
// be refused when the first one is bought, and their prices are no part of the
// total. To buy both, save the line once more.
func skipRepeated(meaning ColumnMapping, rows []store.BatchRow, changed []store.ChangedRow) {
	first := map[string]int{}
	for _, row := range rows {
		order := orderNumber(meaning, row)
		if row.State == RowSkipped && !wasSkippedAsDuplicate(row) {
			continue // a person left it out
		}
		if _, known := first[order]; order != "" && !known {
			first[order] = row.Number
		}
	}

	for i := range changed {
		row := &changed[i].BatchRow
		line, known := first[orderNumber(meaning, *row)]
		if !known || line == row.Number || acceptedDuplicate(row.Problems) != "" {
			continue
		}
		row.State = RowSkipped
		row.Problems = encodeProblems([]Problem{{
			Field:  "order",
			Detail: "line " + strconv.Itoa(line) + " has the same order number: change it, or edit and save this line to ship both",
			Reason: repeatedReason,
		}})
	}
}

// orderNumber is the order number of a line.
func orderNumber(meaning ColumnMapping, row store.BatchRow) string {
	return strings.TrimSpace(meaning.Values(row.Cells)["order"])
}

// wasSkippedAsDuplicate reports whether a line was skipped because its order has a
// shipment, or stands in a line above: it is read again when its columns mean
// something else.
func wasSkippedAsDuplicate(row store.BatchRow) bool {
	return row.State == RowSkipped && slices.ContainsFunc(decodeProblems(row.Problems), func(w Problem) bool {
		return w.Shipment != "" || w.Reason == repeatedReason
	})
}

// acceptedDuplicate is the shipment that a person accepted to ship beside; ""
// for none.
func acceptedDuplicate(stored json.RawMessage) ship.ShipmentID {
	for _, problem := range decodeProblems(stored) {
		if problem.Accepted {
			return problem.Shipment
		}
	}
	return ""
}

// replaceProblems replaces the problems of a line and keeps what a person
// accepted. It is nil if there is nothing of either.
func replaceProblems(stored json.RawMessage, problems []Problem) json.RawMessage {
	if id := acceptedDuplicate(stored); id != "" {
		problems = append(slices.Clip(problems), Problem{Field: "order", Shipment: id, Accepted: true})
	}
	if len(problems) == 0 {
		return nil
	}
	return encodeProblems(problems)
}

// decodeProblems reads what encodeProblems wrote; what cannot be read is no
// problem.
func decodeProblems(data json.RawMessage) []Problem {
	var list []Problem
	if data != nil && json.Unmarshal(data, &list) != nil {
		return nil
	}
	return list
}
