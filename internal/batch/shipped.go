package batch

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// shippedBefore is what is wrong with a line whose order has a live shipment.
func shippedBefore(existing ship.ShipmentID) Wrong {
	return Wrong{Field: "order", Detail: "this order was shipped already", Shipment: existing}
}

// ShippedBefore returns the live shipments that orders of the batch have
// already, by the number of the line, as far as the columns are named.
func (s *Service) ShippedBefore(ctx context.Context, b Batch) (map[int]ship.ShipmentID, error) {
	if !b.Meaning.has("order") {
		return nil, nil
	}
	rows, err := s.Store.BatchRows(ctx, b.Tenant, b.ID, 0, MaxRows)
	if err != nil {
		return nil, err
	}
	live, err := s.liveOrders(ctx, b.Tenant, b.Meaning, rows)
	if err != nil {
		return nil, err
	}

	found := map[int]ship.ShipmentID{}
	for _, row := range rows {
		if id, ok := live[orderOf(b.Meaning, row)]; ok {
			found[row.Number] = id
		}
	}
	return found, nil
}

// recognize leaves lines out whose order has a live shipment, unless a person
// accepted that very one. It only spares people a surprise: whether an order is
// bought twice is decided under a lock when it is bought.
func (s *Service) recognize(ctx context.Context, t ship.Tenant, m Meaning, changed []store.ChangedRow) error {
	rows := make([]store.BatchRow, len(changed))
	for i, c := range changed {
		rows[i] = c.BatchRow
	}
	live, err := s.liveOrders(ctx, t, m, rows)
	if err != nil {
		return err
	}

	for i := range changed {
		row := &changed[i].BatchRow
		existing, ok := live[orderOf(m, *row)]
		if !ok || existing == acceptedDuplicate(row.Wrong) {
			continue
		}
		row.State = RowSkipped
		row.Wrong = encode([]Wrong{shippedBefore(existing)})
	}
	return nil
}

// liveOrders finds the live shipments of the lines' orders, by order number.
func (s *Service) liveOrders(ctx context.Context, t ship.Tenant, m Meaning, rows []store.BatchRow) (map[string]ship.ShipmentID, error) {
	var orders []string
	for _, row := range rows {
		if order := orderOf(m, row); order != "" {
			orders = append(orders, order)
		}
	}
	if len(orders) == 0 {
		return nil, nil
	}
	return s.Store.LiveOrders(ctx, t, orders)
}

// orderOf is the order number of a line.
func orderOf(m Meaning, row store.BatchRow) string {
	return strings.TrimSpace(m.Values(row.Cells)["order"])
}

// wasRecognized reports whether a line was left out because its order has a
// shipment: it is read again when its columns mean something else.
func wasRecognized(row store.BatchRow) bool {
	return row.State == RowSkipped && slices.ContainsFunc(decodeWrong(row.Wrong), func(w Wrong) bool { return w.Shipment != "" })
}

// acceptedDuplicate is the shipment that a person accepted to ship beside; ""
// for none.
func acceptedDuplicate(wrong json.RawMessage) ship.ShipmentID {
	for _, w := range decodeWrong(wrong) {
		if w.Accepted {
			return w.Shipment
		}
	}
	return ""
}

// rewrite replaces what is wrong with a line and keeps what a person accepted.
// It is nil if there is nothing of either.
func rewrite(was json.RawMessage, wrong []Wrong) json.RawMessage {
	if id := acceptedDuplicate(was); id != "" {
		wrong = append(slices.Clip(wrong), Wrong{Field: "order", Shipment: id, Accepted: true})
	}
	if len(wrong) == 0 {
		return nil
	}
	return encode(wrong)
}

// decodeWrong reads what encode wrote; what cannot be read is nothing.
func decodeWrong(data json.RawMessage) []Wrong {
	var list []Wrong
	if data != nil && json.Unmarshal(data, &list) != nil {
		return nil
	}
	return list
}
