package store

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/job"
	"github.com/waybillhq/waybill/internal/ship"
)

// Files that clients add to a shipment.

// firstUpload is the position of the first uploaded document of a shipment. The
// documents of its carrier are before.
const firstUpload = 100

// sqlAddUpload adds the type to the state of the shipment, whose lock orders
// uploads and keeps an erased shipment as it is, and stores the file at the
// position that follows from it. No row is added if the shipment is erased or has
// as many files as it may.
const sqlAddUpload = `
WITH listed AS (
  UPDATE shipment_states SET uploads = coalesce(uploads, '{}') || @type::text
  WHERE account_id = @account AND livemode = @livemode AND id = @id
    AND erased_at IS NULL AND coalesce(cardinality(uploads), 0) < @most::int
  RETURNING cardinality(uploads) AS uploaded
), stored AS (
  INSERT INTO documents (shipment_id, account_id, livemode, position, type, format, data)
  SELECT @id, @account, @livemode, @first::int + uploaded - 1, @type::text, @format::text, @data::bytea FROM listed
  RETURNING position
)
SELECT position - @first::int FROM stored`

// AddUpload stores a file of a shipment, and returns how many it had before;
// ship.NotFound if it may have no more. One that goes to a carrier is queued with
// its job; submission is nil for one that is only kept. It is ship.Limited if the
// tenant has stored too much today.
func (s *Store) AddUpload(ctx context.Context, t ship.Tenant, id ship.ShipmentID, file ship.Document, submission *DocumentSubmission) (before int, err error) {
	err = s.InTx(ctx, t, func(tx *Store) error {
		err := tx.queryRow(ctx, t, func(r pgx.Row) error { return r.Scan(&before) }, sqlAddUpload, tenantArgs(t, id, pgx.NamedArgs{
			"type":   file.Type,
			"format": file.Format,
			"data":   file.Data,
			"first":  firstUpload,
			"most":   ship.MaxUploads,
		}))
		if err != nil {
			return err
		}
		if err := tx.expireUpload(ctx, t, id, firstUpload+before); err != nil {
			return err
		}
		if submission == nil {
			return tx.CountStored(ctx, t, len(file.Data))
		}

		queued := *submission
		queued.Tenant = t
		queued.Shipment = id
		queued.Position = before
		queued.Type = file.Type
		if err := tx.addSubmission(ctx, queued); err != nil {
			return err
		}
		if err := tx.Enqueue(ctx, job.SendDocuments{Account: t.Account, Livemode: t.Livemode, Shipment: id}, 0); err != nil {
			return err
		}
		return tx.CountStored(ctx, t, len(file.Data))
	})
	return before, err
}

// Upload returns an uploaded file of a shipment, counted from zero.
func (s *Store) Upload(ctx context.Context, t ship.Tenant, id ship.ShipmentID, position int) (ship.Document, error) {
	return s.Document(ctx, t, id, firstUpload+position)
}
