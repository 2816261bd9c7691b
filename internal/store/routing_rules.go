package store

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/ship"
)

// A RuleBook is an account's routing rules as stored. Package routing reads what
// is in it.
type RuleBook struct {
	Version   int
	Book      json.RawMessage
	Note      string
	Restored  int       // the version that was published again; 0 for none
	WrittenAt time.Time // when it was published, or saved as a draft
}

const sqlRoutingRevision = `SELECT revision FROM routing_revisions WHERE account_id = $1 AND livemode = $2`

// RoutingRevision counts the changes of the tenant's rules and rate sheets; it
// is 0 for a tenant that has none.
func (s *Store) RoutingRevision(ctx context.Context, t ship.Tenant) (revision int64, err error) {
	revision, err = queryOne(ctx, s, t, pgx.RowTo[int64], sqlRoutingRevision, t.Account, t.Livemode)
	if ship.KindOf(err) == ship.NotFound {
		return 0, nil
	}
	return revision, err
}

const sqlChangeRouting = `
INSERT INTO routing_revisions (account_id, livemode, revision) VALUES ($1, $2, 1)
ON CONFLICT (account_id, livemode) DO UPDATE SET revision = routing_revisions.revision + 1`

// changeRouting counts a change. The row that it changes is locked until the
// transaction ends, so one transaction at a time changes the tenant's routing.
func (s *Store) changeRouting(ctx context.Context, t ship.Tenant) error {
	_, err := s.exec(ctx, t, sqlChangeRouting, t.Account, t.Livemode)
	return err
}

const ruleBookColumns = `version, book, note, restored_version, published_at`

const sqlRuleBook = `
SELECT ` + ruleBookColumns + ` FROM rule_books
WHERE account_id = $1 AND livemode = $2 AND ($3 = 0 OR version = $3)
ORDER BY version DESC LIMIT 1`

// RuleBook returns a published version, the newest for 0.
func (s *Store) RuleBook(ctx context.Context, t ship.Tenant, version int) (RuleBook, error) {
	return queryOne(ctx, s, t, scanRuleBook, sqlRuleBook, t.Account, t.Livemode, version)
}

func scanRuleBook(r pgx.CollectableRow) (RuleBook, error) {
	var book RuleBook
	var restored *int
	err := r.Scan(&book.Version, &book.Book, &book.Note, &restored, &book.WrittenAt)
	book.Restored = value(restored)
	return book, err
}

const sqlRuleBookHeads = `
SELECT version, 'null'::json, note, restored_version, published_at FROM rule_books
WHERE account_id = $1 AND livemode = $2 AND ($3 = 0 OR version < $3)
ORDER BY version DESC LIMIT $4`

// RuleBookHeads lists published versions without their rules, as RuleBooks
// does.
func (s *Store) RuleBookHeads(ctx context.Context, t ship.Tenant, before, limit int) ([]RuleBook, error) {
	return queryList(ctx, s, t, scanRuleBook, sqlRuleBookHeads, t.Account, t.Livemode, before, limit)
}

const sqlRuleBooks = `
SELECT ` + ruleBookColumns + ` FROM rule_books
WHERE account_id = $1 AND livemode = $2 AND ($3 = 0 OR version < $3)
ORDER BY version DESC LIMIT $4`

// RuleBooks lists published versions, the newest first, those before a version
// unless it is 0.
func (s *Store) RuleBooks(ctx context.Context, t ship.Tenant, before, limit int) ([]RuleBook, error) {
	return queryList(ctx, s, t, scanRuleBook, sqlRuleBooks, t.Account, t.Livemode, before, limit)
}

// sqlPublishRules writes nothing if the version is not the one after the newest.
const sqlPublishRules = `
INSERT INTO rule_books (account_id, livemode, version, book, note, restored_version)
SELECT $1, $2, $3, $4, $5, $6
WHERE (SELECT coalesce(max(version), 0) FROM rule_books WHERE account_id = $1 AND livemode = $2) = $3 - 1
RETURNING published_at`

// PublishRules stores the next version. It is ship.Conflict if b.Version is not
// the one after the newest. It is called inside InTx.
func (s *Store) PublishRules(ctx context.Context, t ship.Tenant, b RuleBook) (time.Time, error) {
	// This locks the tenant's routing, so nobody else takes the same version.
	if err := s.changeRouting(ctx, t); err != nil {
		return time.Time{}, fmt.Errorf("record a change of the rules: %w", err)
	}

	publishedAt, err := changeOne(ctx, s, t, publishedEntry(t, b), pgx.RowTo[time.Time], sqlPublishRules,
		t.Account, t.Livemode, b.Version, b.Book, b.Note, null(b.Restored))
	if ship.KindOf(err) == ship.NotFound {
		return time.Time{}, ship.Errorf(ship.Conflict, "version %d of the rules is not the next version", b.Version)
	}
	return publishedAt, err
}

func publishedEntry(t ship.Tenant, b RuleBook) AuditEntry {
	entry := EntryOf(t, "routing.published", strconv.Itoa(b.Version))
	entry.Details = map[string]string{}
	if b.Restored != 0 {
		entry.Action = "routing.rolled_back"
		entry.Details["to"] = strconv.Itoa(b.Restored)
	}
	if b.Note != "" {
		entry.Details["note"] = b.Note
	}
	return entry
}

const sqlRuleDraft = `
SELECT based_on_version, book, '', NULL::integer, saved_at FROM rule_drafts
WHERE account_id = $1 AND livemode = $2`

// RuleDraft returns the draft; its Version is the one that it is based on.
func (s *Store) RuleDraft(ctx context.Context, t ship.Tenant) (RuleBook, error) {
	return queryOne(ctx, s, t, scanRuleBook, sqlRuleDraft, t.Account, t.Livemode)
}

const sqlSaveRuleDraft = `
INSERT INTO rule_drafts (account_id, livemode, book, based_on_version)
VALUES ($1, $2, $3, (SELECT coalesce(max(version), 0) FROM rule_books WHERE account_id = $1 AND livemode = $2))
ON CONFLICT (account_id, livemode) DO UPDATE SET
  book = excluded.book,
  based_on_version = excluded.based_on_version,
  saved_at = now()
RETURNING based_on_version, book, '', NULL::integer, saved_at`

// SaveRuleDraft stores the draft in place of the one before.
func (s *Store) SaveRuleDraft(ctx context.Context, t ship.Tenant, book json.RawMessage) (RuleBook, error) {
	entry := EntryOf(t, "routing.draft_saved", "")
	return changeOne(ctx, s, t, entry, scanRuleBook, sqlSaveRuleDraft, t.Account, t.Livemode, book)
}

const sqlBeginRuleDraft = `
INSERT INTO rule_drafts (account_id, livemode, book, based_on_version)
SELECT $1, $2, $3, $4
WHERE (SELECT coalesce(max(version), 0) FROM rule_books WHERE account_id = $1 AND livemode = $2) = $4
ON CONFLICT (account_id, livemode) DO NOTHING
RETURNING based_on_version, book, '', NULL::integer, saved_at`

// sqlChangeRuleDraft recognizes the draft that was seen by when it was saved, so
// each change gets a later time than the one before.
const sqlChangeRuleDraft = `
UPDATE rule_drafts SET book = $3, saved_at = greatest(now(), saved_at + interval '1 microsecond')
WHERE account_id = $1 AND livemode = $2 AND saved_at = $4
RETURNING based_on_version, book, '', NULL::integer, saved_at`

// ChangeRuleDraft stores the draft in place of the one that was seen, which
// keeps what it is based on. If none was seen, seen.WrittenAt is zero and
// seen.Version is the published version that it begins with. It is
// ship.Conflict if what was seen is not there any more.
func (s *Store) ChangeRuleDraft(ctx context.Context, t ship.Tenant, seen RuleBook, book json.RawMessage) (RuleBook, error) {
	sql := sqlChangeRuleDraft
	guard := any(seen.WrittenAt)
	if seen.WrittenAt.IsZero() {
		sql = sqlBeginRuleDraft
		guard = seen.Version
	}

	entry := EntryOf(t, "routing.draft_saved", "")
	draft, err := changeOne(ctx, s, t, entry, scanRuleBook, sql, t.Account, t.Livemode, book, guard)
	if ship.KindOf(err) == ship.NotFound {
		return draft, ship.Errorf(ship.Conflict, "the draft was changed since it was loaded")
	}
	return draft, err
}

const sqlEndRuleDraft = `
DELETE FROM rule_drafts
WHERE account_id = $1 AND livemode = $2 AND saved_at = $3
RETURNING based_on_version`

// EndRuleDraft deletes the draft that was saved at the moment. It is
// ship.Conflict if there is another or none.
func (s *Store) EndRuleDraft(ctx context.Context, t ship.Tenant, saved time.Time) error {
	var basedOn int
	err := s.queryRow(ctx, t, func(r pgx.Row) error { return r.Scan(&basedOn) }, sqlEndRuleDraft,
		t.Account, t.Livemode, saved)
	if ship.KindOf(err) == ship.NotFound {
		return ship.Errorf(ship.Conflict, "the draft was changed")
	}
	return err
}

const sqlDropRuleDraft = `DELETE FROM rule_drafts WHERE account_id = $1 AND livemode = $2`

// DropRuleDraft deletes the draft, if there is one.
func (s *Store) DropRuleDraft(ctx context.Context, t ship.Tenant) error {
	entry := EntryOf(t, "routing.draft_discarded", "")
	_, err := s.change(ctx, t, entry, sqlDropRuleDraft, t.Account, t.Livemode)
	return err
}

const sqlRouted = `
SELECT id, request, purchase FROM shipments
WHERE account_id = $1 AND livemode = $2 AND id < $3 AND id >= $4
ORDER BY id DESC LIMIT $5`

// Routed returns up to limit shipments before an id and made since a moment,
// the newest first, whether anything was bought or not: their orders and purchases
// alone.
func (s *Store) Routed(ctx context.Context, t ship.Tenant, before ship.ShipmentID, since time.Time, limit int) ([]RoutedRow, error) {
	return queryList(ctx, s, t, scanRoutedRow, sqlRouted,
		t.Account, t.Livemode, before, ship.RawIDAt(since), limit)
}

func scanRoutedRow(r pgx.CollectableRow) (RoutedRow, error) {
	var row RoutedRow
	err := r.Scan(&row.ID, &row.request, &row.purchase)
	return row, err
}

const sqlFileShipments = `
SELECT r.shipment_id FROM batch_rows r JOIN batches b
  ON b.account_id = r.account_id AND b.livemode = r.livemode AND b.id = r.batch_id
WHERE r.account_id = $1 AND r.livemode = $2 AND b.api_key_id IS NULL AND r.shipment_id >= $3
ORDER BY r.shipment_id DESC LIMIT $4`

// FileShipments returns up to limit shipments that were bought for lines of files
// and made since a moment, the newest first.
func (s *Store) FileShipments(ctx context.Context, t ship.Tenant, since time.Time, limit int) ([]ship.ShipmentID, error) {
	return queryList(ctx, s, t, pgx.RowTo[ship.ShipmentID], sqlFileShipments,
		t.Account, t.Livemode, ship.RawIDAt(since), limit)
}

// A RoutedRow is a shipment as stored, not decoded yet: a caller that wants many
// of them decodes them on several processors.
type RoutedRow struct {
	ID                ship.ShipmentID
	request, purchase []byte
}

// Read returns the order and the purchase.
func (r RoutedRow) Read() (o ship.Order, d ship.Purchase, err error) {
	if err = json.Unmarshal(r.request, &o); err == nil {
		err = json.Unmarshal(r.purchase, &d)
	}
	if err != nil {
		err = fmt.Errorf("read shipment %s: %w", r.ID, err)
	}
	return o, d, err
}
