package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/ship"
)

// The carriers that did not quote the lines of a batch, and the lines that wait
// to be quoted again.

// A QuoteGap is how many lines of a batch a carrier did not quote for a reason.
type QuoteGap struct {
	ship.NotQuoted     // RetryAt is the latest of the lines
	Lines          int // that it did not quote
	Quoted         int // of the batch, that carriers were asked about
	Waiting        int // of the batch, that wait to be quoted again
}

const sqlQuoteGaps = `
WITH quoted AS MATERIALIZED (
  SELECT not_quoted, requote FROM batch_rows
  WHERE account_id = @account AND livemode = @livemode AND batch_id = @id
    AND not_quoted IS NOT NULL AND state <> 'skipped')
SELECT
  missed.carrier,
  coalesce(missed.connection, ''),
  missed.reason,
  coalesce(missed.fields, '[]'),
  max(missed."retryAt"),
  count(*),
  (SELECT count(*) FROM quoted),
  (SELECT count(*) FROM quoted WHERE requote)
FROM quoted, jsonb_to_recordset(not_quoted)
  AS missed (carrier text, connection text, reason text, fields jsonb, "retryAt" timestamptz)
GROUP BY 1, 2, 3, 4
ORDER BY 6 DESC, 1, 2, 3, 4`

// QuoteGaps lists the carriers that did not quote lines of a batch, by reason,
// those with the most lines first.
func (s *Store) QuoteGaps(ctx context.Context, t ship.Tenant, id ship.BatchID) ([]QuoteGap, error) {
	return queryList(ctx, s, t, scanQuoteGap, sqlQuoteGaps, tenantArgs(t, id, nil))
}

func scanQuoteGap(r pgx.CollectableRow) (QuoteGap, error) {
	var gap QuoteGap
	var fields []byte
	var retryAt *time.Time
	err := r.Scan(&gap.Carrier, &gap.Connection, &gap.Reason, &fields, &retryAt, &gap.Lines, &gap.Quoted, &gap.Waiting)
	if err != nil {
		return gap, err
	}

	gap.RetryAt = value(retryAt)
	if err := json.Unmarshal(fields, &gap.Fields); err != nil {
		return gap, fmt.Errorf("read the missing fields of a batch: %w", err)
	}
	return gap, nil
}

const sqlRequoteBatchRows = `
UPDATE batch_rows SET requote = true, attempts = 0
WHERE account_id = @account AND livemode = @livemode AND batch_id = @id AND state IN ('rated', 'invalid')
  AND EXISTS (
    SELECT FROM jsonb_to_recordset(not_quoted) AS missed (reason text)
    WHERE missed.reason = ANY (@reasons::text[]))`

// RequoteBatchRows marks the lines that a carrier did not quote for one of the
// reasons to be quoted again, and reports how many those are.
func (s *Store) RequoteBatchRows(ctx context.Context, t ship.Tenant, id ship.BatchID, reasons []ship.NotQuotedReason) (int, error) {
	n, err := s.exec(ctx, t, sqlRequoteBatchRows, tenantArgs(t, id, pgx.NamedArgs{"reasons": reasons}))
	return int(n), err
}

const sqlKeepBatchRates = `
UPDATE batch_rows SET requote = false
WHERE account_id = $1 AND livemode = $2 AND batch_id = $3 AND requote`

// KeepBatchRates ends the waiting of all lines: they keep the rates that they
// have.
func (s *Store) KeepBatchRates(ctx context.Context, t ship.Tenant, id ship.BatchID) error {
	_, err := s.exec(ctx, t, sqlKeepBatchRates, t.Account, t.Livemode, id)
	return err
}

const sqlWaitingBatchRows = `
SELECT ` + batchRowColumns + ` FROM batch_rows
WHERE account_id = $1 AND livemode = $2 AND batch_id = $3 AND requote AND state IN ('rated', 'invalid')
ORDER BY row_number LIMIT $4`

// WaitingBatchRows lists the first lines that wait to be quoted again.
func (s *Store) WaitingBatchRows(ctx context.Context, t ship.Tenant, id ship.BatchID, limit int) ([]BatchRow, error) {
	return queryList(ctx, s, t, scanBatchRow, sqlWaitingBatchRows, t.Account, t.Livemode, id, limit)
}
