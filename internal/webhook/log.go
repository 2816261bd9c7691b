package webhook

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// Events reads the tenant's log after a cursor, or from its beginning. A
// reader that follows the cursors sees each event once, even if transactions
// commit late.
func (s *Service) Events(ctx context.Context, t ship.Tenant, after string, kinds []ship.EventKind, limit int) (Events, error) {
	var from store.Position
	if after != "" {
		var ok bool
		if from, ok = parseCursor(after); !ok {
			return Events{}, ship.Coded(ship.Invalid, "invalid_cursor", "the cursor is not valid for this log; start again without one")
		}
	}

	rows, next, err := s.store.Log(ctx, t, from, kinds, limit)
	if err != nil {
		return Events{}, err
	}

	page := Events{Next: cursorOf(next)}
	for _, row := range rows {
		page.Entries = append(page.Entries, entryOf(row))
	}
	return page, nil
}

func entryOf(row store.LogEvent) Entry {
	entry := Entry{Event: row.Event, Shipment: row.Shipment}
	if row.Event.Tracker != "" {
		purchase := row.Event.Snapshot.Purchase
		entry.Tracker = ship.Tracker{
			ID:             row.Event.Tracker,
			Tenant:         row.Event.Tenant,
			Carrier:        purchase.Carrier,
			TrackingNumber: purchase.TrackingNumber,
		}
	}
	return entry
}

// cursorOf writes a position as clients carry it.
func cursorOf(p store.Position) string {
	b := binary.BigEndian.AppendUint64(nil, p.Tx)
	b = append(b, p.ID[:]...)
	b = binary.BigEndian.AppendUint64(b, uint64(p.At.UnixMilli()))
	return base64.RawURLEncoding.EncodeToString(b)
}

func parseCursor(s string) (store.Position, bool) {
	b, err := base64.RawURLEncoding.Strict().DecodeString(s)
	if err != nil || len(b) != 32 {
		return store.Position{}, false
	}
	return store.Position{
		Tx: binary.BigEndian.Uint64(b),
		ID: ship.RawID(b[8:24]),
		At: time.UnixMilli(int64(binary.BigEndian.Uint64(b[24:]))),
	}, true
}
