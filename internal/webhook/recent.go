package webhook

import (
	"context"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// End is the cursor behind the tenant's newest event: what Events reads from
// there is new.
func (s *Service) End(ctx context.Context, t ship.Tenant) (string, error) {
	p, err := s.store.LogEnd(ctx, t)
	return cursorOf(p), err
}

// Recent lists events newest first, and the cursor of the page behind it, ""
// if there is none. It is for people: the log of programs is Events. Of some
// kinds a page can have few lines, or none, and the log go on behind it.
func (s *Service) Recent(ctx context.Context, t ship.Tenant, before string, kinds []ship.EventKind, limit int) (list []Entry, next string, err error) {
	var from store.Position
	if before != "" {
		var ok bool
		if from, ok = parseCursor(before); !ok {
			return nil, "", ship.Coded(ship.Invalid, "invalid_cursor", "the cursor is not one of this log")
		}
	}
	rows, further, err := s.recent(ctx, t, from, kinds, limit+1)
	if err != nil {
		return nil, "", err
	}
	if further.Tx != 0 {
		next = cursorOf(further)
	}
	if len(rows) > limit {
		rows = rows[:limit]
		next = cursorOf(rows[limit-1].Position)
	}
	for _, e := range rows {
		list = append(list, entryOf(e))
	}
	return list, next, nil
}

func (s *Service) recent(ctx context.Context, t ship.Tenant, from store.Position, kinds []ship.EventKind, limit int) (rows []store.LogEvent, further store.Position, err error) {
	if len(kinds) > 0 {
		return s.store.RecentOf(ctx, t, from, kinds, limit)
	}
	rows, err = s.store.Recent(ctx, t, from, nil, limit)
	return rows, further, err
}

// Event returns one event of the log.
func (s *Service) Event(ctx context.Context, t ship.Tenant, id ship.EventID) (Entry, error) {
	e, err := s.store.LogEvent(ctx, t, id)
	if ship.KindOf(err) == ship.NotFound {
		return Entry{}, ship.Coded(ship.NotFound, "event_not_found", "no such event")
	}
	if err != nil {
		return Entry{}, err
	}
	return entryOf(e), nil
}
