package store

import (
	"context"
	"strconv"

	"github.com/waybillhq/waybill/internal/ship"
)

// The log read backwards, for people, and single events of it.

// LogEnd returns the position of the tenant's newest event that readers of the
// log may see; the beginning if there is none.
func (s *Store) LogEnd(ctx context.Context, t ship.Tenant) (Position, error) {
	var end Position
	batch := s.newBatch(t)
	batch.Queue(sqlLogEnd, t.Account, t.Livemode, "0", ship.RawID{}).Query(end.readFrom)
	err := s.send(ctx, batch)
	return end, err
}

// sqlRecent reads the log backwards, for people. What is not yet complete is
// left out as in sqlLog.
const sqlRecent = `
SELECT ` + logColumns + `
FROM events e
LEFT JOIN shipments s ON NOT e.is_tracker AND s.account_id = e.account_id AND s.livemode = e.livemode AND s.id = e.subject_id
WHERE e.account_id = $1 AND e.livemode = $2
  AND ($3::text IS NULL OR (e.txid, e.id) < ($3::text::xid8, $4)) AND e.txid < ` + horizon + `
  AND ($5::text[] IS NULL OR e.kind::text = ANY ($5)) AND ` + isKept + `
ORDER BY e.txid DESC, e.id DESC LIMIT $6`

// Recent lists the tenant's events before a position, or the newest, newest
// first.
func (s *Store) Recent(ctx context.Context, t ship.Tenant, before Position, kinds []ship.EventKind, limit int) ([]LogEvent, error) {
	return queryList(ctx, s, t, scanLogEvent, sqlRecent,
		t.Account, t.Livemode, before.txText(), before.ID, toStrings(kinds), limit)
}

// txText returns the transaction's number as the driver takes it; nil for the
// zero position, from which the newest events are listed.
func (p Position) txText() *string {
	if p.Tx == 0 {
		return nil
	}
	return new(strconv.FormatUint(p.Tx, 10))
}

// recentReach is how far back the log is looked through for a kind at once: a
// kind that never came must not cost the whole log.
const recentReach = 20_000

// sqlRecentReach finds the last event of that part.
const sqlRecentReach = `
SELECT x.txid::text, x.id FROM (
  SELECT e.txid, e.id FROM events e
  WHERE e.account_id = $1 AND e.livemode = $2
    AND ($3::text IS NULL OR (e.txid, e.id) < ($3::text::xid8, $4)) AND e.txid < ` + horizon + `
  ORDER BY e.txid DESC, e.id DESC OFFSET $5 LIMIT 1
) x`

// sqlRecentOf is sqlRecent over the newest part of the log alone.
const sqlRecentOf = `
SELECT ` + logColumns + `
FROM (
  SELECT * FROM events e
  WHERE e.account_id = $1 AND e.livemode = $2
    AND ($3::text IS NULL OR (e.txid, e.id) < ($3::text::xid8, $4)) AND e.txid < ` + horizon + `
  ORDER BY e.txid DESC, e.id DESC LIMIT $7
) e
LEFT JOIN shipments s ON NOT e.is_tracker AND s.account_id = e.account_id AND s.livemode = e.livemode AND s.id = e.subject_id
WHERE e.kind::text = ANY ($5::text[]) AND ` + isKept + `
ORDER BY e.txid DESC, e.id DESC LIMIT $6`

// RecentOf is Recent for some kinds. It looks through a part of the log; if it
// found too few there and the log goes on, it says where.
func (s *Store) RecentOf(ctx context.Context, t ship.Tenant, before Position, kinds []ship.EventKind, limit int) (list []LogEvent, further Position, err error) {
	account := t.Account
	tx := before.txText()
	list, err = queryList(ctx, s, t, scanLogEvent, sqlRecentOf,
		account, t.Livemode, tx, before.ID, toStrings(kinds), limit, recentReach)
	if err != nil || len(list) == limit {
		return list, further, err
	}

	batch := s.newBatch(t)
	batch.Queue(sqlRecentReach, account, t.Livemode, tx, before.ID, recentReach-1).Query(further.readFrom)
	err = s.send(ctx, batch)
	return list, further, err
}

// sqlEvent finds one event. Its id tells the partition; inside, ids are nearly
// in the order of the rows.
const sqlEvent = `
SELECT ` + logColumns + `
FROM events e
LEFT JOIN shipments s ON NOT e.is_tracker AND s.account_id = e.account_id AND s.livemode = e.livemode AND s.id = e.subject_id
WHERE e.account_id = $1 AND e.livemode = $2 AND e.id = $3 AND ` + isKept

// LogEvent returns one event of the tenant; ship.NotFound if there is none.
func (s *Store) LogEvent(ctx context.Context, t ship.Tenant, id ship.EventID) (LogEvent, error) {
	return queryOne(ctx, s, t, scanLogEvent, sqlEvent, t.Account, t.Livemode, id)
}
