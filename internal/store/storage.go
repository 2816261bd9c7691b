package store

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/ship"
)

// What tenants store in the database: a disk that one of them fills stops all.

// A StorageQuota is how many bytes a tenant can store in a day; zero for any number.
type StorageQuota struct {
	Live int64
	Test int64

	// KeepTestUploads is how long files of test shipments are kept; zero for as
	// long as their shipment.
	KeepTestUploads time.Duration
}

// of returns the quota of a mode.
func (q StorageQuota) of(livemode bool) int64 {
	if livemode {
		return q.Live
	}
	return q.Test
}

// A storageCount counts what was stored and refused by this process in a mode.
type storageCount struct {
	bytes   atomic.Int64
	refused atomic.Int64
}

// StorageCounts returns how many bytes this process has stored for tenants of a mode,
// and how many requests it has refused because of their quota.
func (s *Store) StorageCounts(livemode bool) (bytes, refused int64) {
	count := s.storageCount(livemode)
	return count.bytes.Load(), count.refused.Load()
}

func (s *Store) storageCount(livemode bool) *storageCount {
	if livemode {
		return &s.stored[0]
	}
	return &s.stored[1]
}

// sqlCountStored adds to the day of a tenant, unless that would be more than it may
// store. The row is locked until the end of the transaction, so it comes last.
const sqlCountStored = `
INSERT INTO storage_days AS d (account_id, livemode, day, bytes)
VALUES (@account, @livemode, (now() AT TIME ZONE 'UTC')::date, @bytes)
ON CONFLICT (account_id, livemode, day) DO UPDATE SET bytes = d.bytes + excluded.bytes
WHERE @quota::bigint = 0 OR d.bytes + excluded.bytes <= @quota::bigint`

// CountStored counts bytes that the transaction stores for the tenant. It is
// ship.Limited if they are more than the tenant can store today.
func (s *Store) CountStored(ctx context.Context, t ship.Tenant, bytes int) error {
	quota := s.quota.of(t.Livemode)
	touched := int64(0)
	if quota == 0 || int64(bytes) <= quota {
		var err error
		touched, err = s.exec(ctx, t, sqlCountStored, tenantArgs(t, nil, pgx.NamedArgs{"bytes": bytes, "quota": quota}))
		if err != nil {
			return fmt.Errorf("count what is stored: %w", err)
		}
	}

	count := s.storageCount(t.Livemode)
	if touched == 0 {
		count.refused.Add(1)
		return quotaReached(t.Livemode, quota)
	}
	count.bytes.Add(int64(bytes))
	return nil
}

func quotaReached(livemode bool, quota int64) error {
	mode := "test"
	if livemode {
		mode = "live"
	}
	err := ship.Coded(ship.Limited, "storage_quota_reached",
		"the account can store %d MB in %s mode in a day (UTC), and this would be more; wait until the day is over, or ask the operator of the service for a larger quota", quota/1_000_000, mode)
	now := time.Now().UTC()
	err.RetryAfter = now.Truncate(24 * time.Hour).Add(24 * time.Hour).Sub(now).Round(time.Second)
	return err
}

// StorageUse is what an account has stored today in a mode.
type StorageUse struct {
	Livemode bool
	Bytes    int64
	Quota    int64 // zero for none
}

const sqlStoredToday = `
SELECT coalesce(sum(bytes), 0)::bigint FROM storage_days
WHERE account_id = $1 AND livemode = $2 AND day = (now() AT TIME ZONE 'UTC')::date`

// StorageToday returns what an account has stored today, live and test.
func (s *Store) StorageToday(ctx context.Context, account ship.AccountID) ([]StorageUse, error) {
	var list []StorageUse
	for _, livemode := range []bool{true, false} {
		tenant := ship.Tenant{Account: account, Livemode: livemode}
		use := StorageUse{Livemode: livemode, Quota: s.quota.of(livemode)}
		scan := func(r pgx.Row) error { return r.Scan(&use.Bytes) }
		if err := s.queryRow(ctx, tenant, scan, sqlStoredToday, account, livemode); err != nil {
			return nil, err
		}
		list = append(list, use)
	}
	return list, nil
}

// sqlExpireUpload notes when a file of a test shipment is deleted.
const sqlExpireUpload = `
INSERT INTO upload_expiries (account_id, livemode, shipment_id, position, expires_at)
VALUES (@account, @livemode, @id, @position, @expires)
ON CONFLICT DO NOTHING`

// expireUpload has a file of a test shipment deleted after a while.
func (s *Store) expireUpload(ctx context.Context, t ship.Tenant, id ship.ShipmentID, position int) error {
	if t.Livemode || s.quota.KeepTestUploads == 0 {
		return nil
	}
	_, err := s.exec(ctx, t, sqlExpireUpload, tenantArgs(t, id, pgx.NamedArgs{
		"position": position,
		"expires":  time.Now().Add(s.quota.KeepTestUploads),
	}))
	return err
}

// expiredUploads is how many files one statement deletes at most.
const expiredUploads = 200

const sqlDeleteExpiredUploads = `
WITH due AS (
  DELETE FROM upload_expiries WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM upload_expiries WHERE expires_at < @now LIMIT @limit))
  RETURNING account_id, livemode, shipment_id, position
), deleted AS (
  DELETE FROM documents d USING due
  WHERE d.account_id = due.account_id AND d.livemode = due.livemode
    AND d.shipment_id = due.shipment_id AND d.position = due.position
)
SELECT count(*) FROM due`

const sqlDeleteStorageDays = `DELETE FROM storage_days WHERE day < @before::date`

// storageDaysFor is how long it is known what was stored on a day.
const storageDaysFor = 40 * 24 * time.Hour

// ExpireStorage deletes the files of test shipments of all tenants that are past
// their time, and counts of days long ago.
func (s *Store) ExpireStorage(ctx context.Context, now time.Time) error {
	for {
		var deleted int
		err := s.sys.QueryRow(ctx, sqlDeleteExpiredUploads, pgx.NamedArgs{"now": now, "limit": expiredUploads}).Scan(&deleted)
		if err != nil {
			return fmt.Errorf("delete files of test shipments: %w", explain(err))
		}
		if deleted < expiredUploads {
			break
		}
	}
	if _, err := s.sys.Exec(ctx, sqlDeleteStorageDays, pgx.NamedArgs{"before": now.Add(-storageDaysFor)}); err != nil {
		return fmt.Errorf("delete counts of what was stored: %w", explain(err))
	}
	return nil
}
