package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/ship"
)

// A BulkAction is an action on many shipments. What its kinds and states mean is
// for package bulk to know.
type BulkAction struct {
	ID     ship.BulkActionID
	Tenant ship.Tenant
	Kind   string
	State  string
	Key    string        // of the form that started it
	Person ship.PersonID // who started it
	MadeBy string        // their name
}

// A BulkRow is one shipment of a bulk action.
type BulkRow struct {
	Position int
	Shipment ship.ShipmentID
	State    string
	Key      string // idempotency key of what is done
	Tries    int
	Return   ship.ShipmentID // that was bought for it
	Manifest ship.ManifestID // that it is on
	Code     string          // why it failed or was skipped
	Message  string
}

// A BulkTally is how many rows of a bulk action are in a state.
type BulkTally struct {
	Action ship.BulkActionID
	State  string
	Rows   int
}

// sqlAddBulkAction waits for a transaction with the same key, and adds nothing if
// that one commits.
const sqlAddBulkAction = `
INSERT INTO bulk_actions (account_id, livemode, id, kind, form_key, person_id, created_by)
VALUES (@account, @livemode, @id, @kind, @key, @person, @created_by)
ON CONFLICT (account_id, livemode, form_key) DO NOTHING`

const sqlAddBulkRows = `
INSERT INTO bulk_action_rows (account_id, livemode, action_id, position, shipment_id, state, idempotency_key, error_code, error_message)
SELECT @account, @livemode, @id, v.position, v.shipment_id, v.state, v.idempotency_key, v.error_code, v.error_message
FROM unnest(@positions::int[], @shipments::uuid[], @states::text[], @keys::text[], @codes::text[], @messages::text[])
  AS v (position, shipment_id, state, idempotency_key, error_code, error_message)`

// AddBulkAction stores an action with its rows, in the transaction that enqueues
// its job. It reports false, and stores nothing, if the key was used before.
func (s *Store) AddBulkAction(ctx context.Context, action BulkAction, rows []BulkRow) (bool, error) {
	n, err := s.exec(ctx, action.Tenant, sqlAddBulkAction, tenantArgs(action.Tenant, action.ID, pgx.NamedArgs{
		"kind":       action.Kind,
		"key":        action.Key,
		"person":     action.Person,
		"created_by": action.MadeBy,
	}))
	if err != nil || n == 0 {
		return false, err
	}

	list := columns{}
	for _, row := range rows {
		list.add("positions", row.Position)
		list.add("shipments", row.Shipment)
		list.add("states", row.State)
		list.add("keys", row.Key)
		list.add("codes", null(row.Code))
		list.add("messages", null(row.Message))
	}
	_, err = s.exec(ctx, action.Tenant, sqlAddBulkRows, tenantArgs(action.Tenant, action.ID, list.args()))
	return err == nil, err
}

const bulkActionColumns = `id, kind, state, form_key, person_id, created_by`

const sqlBulkAction = `
SELECT ` + bulkActionColumns + ` FROM bulk_actions
WHERE account_id = $1 AND livemode = $2 AND id = $3`

// BulkAction returns an action; ship.NotFound if it does not exist.
func (s *Store) BulkAction(ctx context.Context, t ship.Tenant, id ship.BulkActionID) (BulkAction, error) {
	return queryOne(ctx, s, t, bulkActionScanner(t), sqlBulkAction, t.Account, t.Livemode, id)
}

const sqlBulkActionOfKey = `
SELECT ` + bulkActionColumns + ` FROM bulk_actions
WHERE account_id = $1 AND livemode = $2 AND form_key = $3`

// BulkActionOfKey returns the action that was started under a key.
func (s *Store) BulkActionOfKey(ctx context.Context, t ship.Tenant, key string) (BulkAction, error) {
	return queryOne(ctx, s, t, bulkActionScanner(t), sqlBulkActionOfKey, t.Account, t.Livemode, key)
}

const sqlBulkActions = `
SELECT ` + bulkActionColumns + ` FROM bulk_actions
WHERE account_id = $1 AND livemode = $2 AND id < $3
ORDER BY id DESC LIMIT $4`

// BulkActions lists actions, newest first.
func (s *Store) BulkActions(ctx context.Context, t ship.Tenant, page ship.Page) ([]BulkAction, error) {
	_, before := idBounds(time.Time{}, time.Time{}, page.Before)
	return queryList(ctx, s, t, bulkActionScanner(t), sqlBulkActions, t.Account, t.Livemode, before, page.Limit)
}

func bulkActionScanner(t ship.Tenant) pgx.RowToFunc[BulkAction] {
	return func(r pgx.CollectableRow) (BulkAction, error) {
		action := BulkAction{Tenant: t}
		err := r.Scan(&action.ID, &action.Kind, &action.State, &action.Key, &action.Person, &action.MadeBy)
		return action, err
	}
}

const sqlBulkTallies = `
SELECT action_id, state, count(*) FROM bulk_action_rows
WHERE account_id = $1 AND livemode = $2 AND action_id = ANY ($3::uuid[])
GROUP BY 1, 2`

// BulkTallies counts the rows of actions by state.
func (s *Store) BulkTallies(ctx context.Context, t ship.Tenant, actions []ship.BulkActionID) ([]BulkTally, error) {
	return queryList(ctx, s, t, func(r pgx.CollectableRow) (tally BulkTally, err error) {
		err = r.Scan(&tally.Action, &tally.State, &tally.Rows)
		return tally, err
	}, sqlBulkTallies, t.Account, t.Livemode, rawIDs(actions))
}

const sqlBulkRows = `
SELECT position, shipment_id, state, idempotency_key, attempts, return_id, manifest_id, coalesce(error_code, ''), coalesce(error_message, '')
FROM bulk_action_rows
WHERE account_id = $1 AND livemode = $2 AND action_id = $3 AND position > $4 AND state = ANY ($5::text[])
ORDER BY position LIMIT $6`

// BulkRows lists rows of an action after a position that are in one of the states.
func (s *Store) BulkRows(ctx context.Context, t ship.Tenant, id ship.BulkActionID, after, limit int, states ...string) ([]BulkRow, error) {
	return queryList(ctx, s, t, func(r pgx.CollectableRow) (row BulkRow, err error) {
		err = r.Scan(&row.Position, &row.Shipment, &row.State, &row.Key, &row.Tries, &row.Return, &row.Manifest, &row.Code, &row.Message)
		return row, err
	}, sqlBulkRows, t.Account, t.Livemode, id, after, states, limit)
}

// sqlSaveBulkRows leaves out rows that are settled: another run of the job may have
// recorded them.
const sqlSaveBulkRows = `
UPDATE bulk_action_rows r SET
  state = v.state,
  attempts = v.attempts,
  return_id = v.return_id,
  manifest_id = v.manifest_id,
  error_code = v.error_code,
  error_message = v.error_message
FROM unnest(@positions::int[], @states::text[], @attempts::int[], @returns::uuid[], @manifests::uuid[], @codes::text[], @messages::text[])
  AS v (position, state, attempts, return_id, manifest_id, error_code, error_message)
WHERE r.account_id = @account AND r.livemode = @livemode AND r.action_id = @id AND r.position = v.position
  AND r.state IN ('waiting', 'pending')`

// SaveBulkRows records what became of rows that are not settled.
func (s *Store) SaveBulkRows(ctx context.Context, t ship.Tenant, id ship.BulkActionID, rows []BulkRow) error {
	if len(rows) == 0 {
		return nil
	}

	list := columns{}
	for _, row := range rows {
		list.add("positions", row.Position)
		list.add("states", row.State)
		list.add("attempts", row.Tries)
		list.add("returns", null(row.Return))
		list.add("manifests", null(row.Manifest))
		list.add("codes", null(row.Code))
		list.add("messages", null(row.Message))
	}
	_, err := s.exec(ctx, t, sqlSaveBulkRows, tenantArgs(t, id, list.args()))
	return err
}

// sqlFinishBulkAction changes nothing while a row is not settled.
const sqlFinishBulkAction = `
UPDATE bulk_actions SET state = 'done'
WHERE account_id = $1 AND livemode = $2 AND id = $3 AND state = 'running'
  AND NOT EXISTS (
    SELECT FROM bulk_action_rows r
    WHERE r.account_id = $1 AND r.livemode = $2 AND r.action_id = $3 AND r.state IN ('waiting', 'pending'))`

// FinishBulkAction marks an action as done if all its rows are settled.
func (s *Store) FinishBulkAction(ctx context.Context, t ship.Tenant, id ship.BulkActionID) error {
	_, err := s.exec(ctx, t, sqlFinishBulkAction, t.Account, t.Livemode, id)
	return err
}

// sqlDeleteOldBulkActions deletes a few at a time, because their rows go with them.
const sqlDeleteOldBulkActions = `
DELETE FROM bulk_actions WHERE (account_id, livemode, id) IN (
  SELECT account_id, livemode, id FROM bulk_actions
  WHERE id < $1 AND state = 'done'
  ORDER BY id LIMIT 10)`

// DeleteOldBulkActions deletes a few finished actions of all tenants that are older
// than the time, with their rows, and reports how many. What they did stays.
func (s *Store) DeleteOldBulkActions(ctx context.Context, before time.Time) (int64, error) {
	tag, err := s.sys.Exec(ctx, sqlDeleteOldBulkActions, ship.RawIDAt(before))
	if err != nil {
		return 0, fmt.Errorf("delete old bulk actions: %w", explain(err))
	}
	return tag.RowsAffected(), nil
}
