package webhook

import (
	"context"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// End returns the cursor after the tenant's newest event: whatever Events reads
// from there is new.
func (s *Service) End(ctx context.Context, t ship.Tenant) (string, error) {
	position, err := s.store.LogEnd(ctx, t)
	return cursorOf(position), err
}

// Recent lists events newest first, and the cursor of the next page, "" if
// there is none. It is for people: the log for programs is Events. When kinds
// are given, a page can have few events, or none, although there are more
// behind it.
func (s *Service) Recent(ctx context.Context, t ship.Tenant, before string, kinds []ship.EventKind, limit int) (list []Entry, next string, err error) {
	var from store.Position
	if before != "" {
		var ok bool
		if from, ok = parseCursor(before); !ok {
			return nil, "", ship.Coded(ship.Invalid, "invalid_cursor", "the cursor is not valid for this log; start again without one")
		}
	}

	// One row more than a page says whether there is a next one.
	rows, further, err := s.readRecent(ctx, t, from, kinds, limit+1)
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

	for _, row := range rows {
		list = append(list, entryOf(row))
	}
	return list, next, nil
}

// readRecent reads rows of some or all kinds. further is where a search by kind
// has stopped before it was full.
func (s *Service) readRecent(ctx context.Context, t ship.Tenant, from store.Position, kinds []ship.EventKind, limit int) (rows []store.LogEvent, further store.Position, err error) {
	if len(kinds) > 0 {
		return s.store.RecentOf(ctx, t, from, kinds, limit)
	}
	rows, err = s.store.Recent(ctx, t, from, nil, limit)
	return rows, further, err
}

// Before returns the cursor from which Recent lists what is older than an event.
func (s *Service) Before(ctx context.Context, t ship.Tenant, id ship.EventID) (string, error) {
	row, err := s.store.LogEvent(ctx, t, id)
	if ship.KindOf(err) == ship.NotFound {
		return "", ship.Coded(ship.NotFound, "event_not_found", "no such event")
	}
	return cursorOf(row.Position), err
}

// Event returns one event of the log.
func (s *Service) Event(ctx context.Context, t ship.Tenant, id ship.EventID) (Entry, error) {
	row, err := s.store.LogEvent(ctx, t, id)
	if ship.KindOf(err) == ship.NotFound {
		return Entry{}, ship.Coded(ship.NotFound, "event_not_found", "no such event")
	}
	if err != nil {
		return Entry{}, err
	}
	return entryOf(row), nil
}
