package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/ship"
)

// How long accounts keep personal data and labels, where they choose less than
// the installation keeps them.

// An AccountRetention is for how many days an account keeps personal data and
// labels; zero keeps them as long as the installation does.
type AccountRetention struct {
	Account  ship.AccountID
	Personal int
	Labels   int
}

const sqlAccountRetention = `
SELECT id, coalesce(personal_data_days, 0), coalesce(label_days, 0) FROM accounts WHERE id = $1`

// AccountRetention returns what the account chose.
func (s *Store) AccountRetention(ctx context.Context, account ship.AccountID) (AccountRetention, error) {
	return selectOne(ctx, s.system(), scanAccountRetention, sqlAccountRetention, account)
}

const sqlAccountRetentions = `
SELECT id, coalesce(personal_data_days, 0), coalesce(label_days, 0) FROM accounts
WHERE personal_data_days IS NOT NULL OR label_days IS NOT NULL ORDER BY id`

// AccountRetentions returns what the accounts chose that chose anything.
func (s *Store) AccountRetentions(ctx context.Context) ([]AccountRetention, error) {
	return selectList(ctx, s.system(), scanAccountRetention, sqlAccountRetentions)
}

func scanAccountRetention(r pgx.CollectableRow) (chosen AccountRetention, err error) {
	err = r.Scan(&chosen.Account, &chosen.Personal, &chosen.Labels)
	return chosen, err
}

const sqlSetAccountRetention = `
UPDATE accounts SET personal_data_days = @personal, label_days = @labels WHERE id = @id`

// SetAccountRetention changes what the account chose.
func (s *Store) SetAccountRetention(ctx context.Context, chosen AccountRetention) error {
	entry := accountEntry(chosen.Account, "settings.retention_changed")
	entry.Details = map[string]string{
		"personalDataDays": fmt.Sprint(chosen.Personal),
		"labelDays":        fmt.Sprint(chosen.Labels),
	}
	_, err := s.changeSystem(ctx, entry, sqlSetAccountRetention, pgx.NamedArgs{
		"id":       chosen.Account,
		"personal": null(chosen.Personal),
		"labels":   null(chosen.Labels),
	})
	return err
}

// expiredAtOnce is how many labels one statement deletes.
const expiredAtOnce = 500

const (
	sqlExpireLabels = `
DELETE FROM labels WHERE account_id = @account AND livemode = @livemode AND shipment_id IN (
  SELECT shipment_id FROM labels
  WHERE account_id = @account AND livemode = @livemode AND shipment_id < @before
  ORDER BY shipment_id LIMIT @limit)`

	sqlExpireRenderings = `
DELETE FROM label_renderings WHERE account_id = @account AND livemode = @livemode AND shipment_id < @before`

	sqlExpireDocuments = `
DELETE FROM documents WHERE account_id = @account AND livemode = @livemode AND shipment_id IN (
  SELECT shipment_id FROM documents
  WHERE account_id = @account AND livemode = @livemode AND shipment_id < @before
  ORDER BY shipment_id LIMIT @limit)`
)

// ExpireLabels deletes some labels and documents of shipments from before the
// time, and reports how many.
func (s *Store) ExpireLabels(ctx context.Context, t ship.Tenant, before time.Time) (int, error) {
	args := tenantArgs(t, nil, pgx.NamedArgs{"before": ship.RawIDAt(before), "limit": expiredAtOnce})
	labels, err := s.run(ctx, sqlExpireLabels, args)
	if err != nil {
		return 0, fmt.Errorf("delete labels: %w", err)
	}
	if _, err := s.run(ctx, sqlExpireRenderings, args); err != nil {
		return 0, fmt.Errorf("delete rendered labels: %w", err)
	}
	documents, err := s.run(ctx, sqlExpireDocuments, args)
	if err != nil {
		return 0, fmt.Errorf("delete documents: %w", err)
	}
	return labels + documents, nil
}

const sqlExpireBatches = `
DELETE FROM batches WHERE (account_id, livemode, id) IN (
  SELECT b.account_id, b.livemode, b.id FROM batches b
  WHERE b.account_id = @account AND b.livemode = @livemode AND b.id < @before AND b.state IN ('mapping', 'ready', 'done')
    AND NOT EXISTS (
      SELECT FROM batch_rows r
      WHERE r.account_id = b.account_id AND r.livemode = b.livemode AND r.batch_id = b.id AND r.state IN ('purchasing', 'pending'))
  ORDER BY b.id LIMIT 10)`

// ExpireBatches deletes some order files of the tenant from before the time, and
// reports how many.
func (s *Store) ExpireBatches(ctx context.Context, t ship.Tenant, before time.Time) (int, error) {
	return s.run(ctx, sqlExpireBatches, tenantArgs(t, nil, pgx.NamedArgs{"before": ship.RawIDAt(before)}))
}

// sqlLockRetention takes the progress of a tenant, and creates it.
const sqlLockRetention = `
INSERT INTO retention_progress (account_id, livemode, erased_through)
VALUES (@account, @livemode, '00000000-0000-0000-0000-000000000000')
ON CONFLICT (account_id, livemode) DO UPDATE SET erased_through = retention_progress.erased_through
RETURNING erased_through`

const sqlExpiredShipments = `
SELECT id FROM shipments
WHERE account_id = @account AND livemode = @livemode AND id > @after AND id < @before
ORDER BY id LIMIT @limit`

const sqlSaveRetention = `
UPDATE retention_progress SET erased_through = @through WHERE account_id = @account AND livemode = @livemode`

// EraseOlder erases the personal data of the next shipments from before the
// time. It returns those that have to wait because their purchase is open, and
// whether there are more to look at.
func (s *Store) EraseOlder(ctx context.Context, t ship.Tenant, before time.Time) (open []ship.ShipmentID, more bool, err error) {
	hash, err := s.wordHash(ctx)
	if err != nil {
		return nil, false, err
	}

	err = s.InSystemTx(ctx, func(tx *Store) error {
		through, err := selectOne(ctx, tx.tx, pgx.RowTo[ship.RawID], sqlLockRetention, tenantArgs(t, nil, nil))
		if err != nil {
			return err
		}
		ids, err := selectList(ctx, tx.tx, pgx.RowTo[ship.ShipmentID], sqlExpiredShipments, tenantArgs(t, nil, pgx.NamedArgs{
			"after":  through,
			"before": ship.RawIDAt(before),
			"limit":  erasureShipments,
		}))
		if err != nil || len(ids) == 0 {
			return err
		}
		more = len(ids) == erasureShipments

		_, open, err = tx.eraseShipmentRows(ctx, t, ids, hash, func(string, int) {}, func(ship.Order) {})
		if err != nil {
			return err
		}
		_, err = tx.run(ctx, sqlSaveRetention, tenantArgs(t, nil, pgx.NamedArgs{"through": ids[len(ids)-1]}))
		return err
	})
	if err != nil {
		return nil, false, fmt.Errorf("erase old shipments: %w", err)
	}
	return open, more, nil
}
