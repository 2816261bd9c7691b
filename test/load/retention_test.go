//go:build chaos

package load

import (
	"fmt"
	"time"
)

// Retention is counted in days at least, and a run takes an hour. So the run
// begins with rows that reach their end while it lasts, as many as it adds, and
// old days are added while it runs. What deletes them is the service itself.

// seedID is an id of a time, with a part that is its own.
const seedID = `
CREATE FUNCTION load_id(at timestamptz) RETURNS uuid LANGUAGE sql VOLATILE AS $$
  SELECT (lpad(to_hex((extract(epoch FROM at) * 1000)::bigint), 12, '0') || substr(replace(gen_random_uuid()::text, '-', ''), 13))::uuid
$$`

// Labels are kept for a day, and keys of purchases for 400.
const (
	sqlChooseRetention = `UPDATE accounts SET label_days = 1, personal_data_days = 30`

	sqlSeedLabels = `
INSERT INTO labels (shipment_id, account_id, livemode, format, data)
SELECT load_id(now() - interval '1 day' + n * $1::interval / $2::bigint), sample.account_id, sample.livemode, sample.format, sample.data
FROM generate_series(1, $2::bigint) n
JOIN (SELECT *, row_number() OVER () AS k FROM (SELECT * FROM labels ORDER BY shipment_id DESC LIMIT 100) latest) sample ON sample.k = 1 + n % 100`

	sqlSeedKeys = `
INSERT INTO idempotency_keys (account_id, livemode, key, fingerprint, shipment_id, created_at)
SELECT sample.account_id, sample.livemode, 'old-' || n, sample.fingerprint, load_id(now() - interval '400 days'),
  now() - interval '400 days' + n * $1::interval / $2::bigint
FROM generate_series(1, $2::bigint) n
JOIN (SELECT *, row_number() OVER () AS k FROM (SELECT * FROM idempotency_keys ORDER BY created_at DESC LIMIT 100) latest) sample ON sample.k = 1 + n % 100`

	sqlDueLabels = `SELECT count(*) FROM labels WHERE shipment_id < (
  SELECT (lpad(to_hex((extract(epoch FROM now() - interval '1 day' - $1::interval) * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid)`
	sqlDueKeys = `SELECT count(*) FROM idempotency_keys WHERE created_at < now() - interval '400 days' - $1::interval`
)

// seedExpiring adds n labels and keys that reach their end during the run.
func (w *world) seedExpiring(n int64, lasts time.Duration) {
	w.Helper()
	for _, sql := range []string{seedID, sqlChooseRetention} {
		_, err := w.pool.Exec(w.Context(), sql)
		w.must(err)
	}
	for _, sql := range []string{sqlSeedLabels, sqlSeedKeys} {
		_, err := w.pool.Exec(w.Context(), sql, lasts, n)
		w.must(err)
	}
	_, err := w.pool.Exec(w.Context(), "VACUUM ANALYZE labels, idempotency_keys")
	w.must(err)
}

// oldRows is how many rows an old day gets in each of its tables.
const oldRows = 5000

// sqlOldRows copies rows of a table to an old day.
const sqlOldRows = `
INSERT INTO %[1]s
SELECT copy.* FROM (SELECT r FROM %[1]s r LIMIT %[2]d) given,
  LATERAL jsonb_populate_record(given.r, jsonb_build_object('id', load_id($1))) copy`

const sqlEnqueue = `
INSERT INTO river_job (args, kind, max_attempts, queue, state)
VALUES ('{}', $1, 25, 'default', 'available')`

// retain adds days that are past their time, with rows, and has the service do
// at once what it otherwise does every hour.
func (w *world) retain(round int) {
	w.Helper()
	at := time.Now().AddDate(0, 0, -45-5*round)
	_, err := w.pool.Exec(w.Context(), "SELECT make_partitions($1)", at)
	w.must(err)
	for _, table := range []string{"api_requests", "webhook_attempts", "pushes", "carrier_exchanges"} {
		_, err := w.pool.Exec(w.Context(), fmt.Sprintf(sqlOldRows, table, oldRows), at)
		w.must(err)
	}
	for _, kind := range []string{"maintain_partitions", "delete_idempotency_keys"} {
		_, err := w.pool.Exec(w.Context(), sqlEnqueue, kind)
		w.must(err)
	}
}

// sqlOldPartitions counts the days that should be gone.
const sqlOldPartitions = `
SELECT count(*) FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
WHERE c.relname ~ '_[0-9]{8}$' AND right(c.relname, 8) < to_char(now() - interval '32 days', 'YYYYMMDD')`
