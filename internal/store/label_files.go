package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/ship"
)

// A LabelFormat is what a label is rendered for.
type LabelFormat struct {
	Format string
	Size   string
	DPI    int
}

func (f LabelFormat) args() pgx.NamedArgs {
	return pgx.NamedArgs{"format": f.Format, "size": f.Size, "dpi": f.DPI}
}

// A LabelRendering is a label in a format, or why it is not available in it.
type LabelRendering struct {
	Shipment ship.ShipmentID
	Data     []byte
	Code     string // of the refusal; empty if there is data
	Message  string
}

// A LabelFile is a file of labels that is prepared in the background.
type LabelFile struct {
	ID          ship.LabelFileID
	Tenant      ship.Tenant
	Key         string            // follows from the shipments and the format
	Shipments   []ship.ShipmentID // in the order of the file
	Format      LabelFormat
	Conversions int // labels that need to be rendered
	IsReady     bool
}

const labelFileColumns = `id, content_key, shipments, format, size, dpi, conversions, state = 'ready'`

func labelFileScanner(t ship.Tenant) pgx.RowToFunc[LabelFile] {
	return func(r pgx.CollectableRow) (LabelFile, error) {
		file := LabelFile{Tenant: t}
		err := r.Scan(&file.ID, &file.Key, &file.Shipments, &file.Format.Format, &file.Format.Size, &file.Format.DPI, &file.Conversions, &file.IsReady)
		return file, err
	}
}

const sqlLabelFile = `
SELECT ` + labelFileColumns + ` FROM label_files
WHERE account_id = $1 AND livemode = $2 AND id = $3`

// LabelFile returns a file of labels; ship.NotFound if it does not exist.
func (s *Store) LabelFile(ctx context.Context, t ship.Tenant, id ship.LabelFileID) (LabelFile, error) {
	return queryOne(ctx, s, t, labelFileScanner(t), sqlLabelFile, t.Account, t.Livemode, id)
}

const sqlLabelFileOfKey = `
SELECT ` + labelFileColumns + ` FROM label_files
WHERE account_id = $1 AND livemode = $2 AND content_key = $3`

// LabelFileOfKey returns the file of labels with a key; ship.NotFound if nobody
// asked for it.
func (s *Store) LabelFileOfKey(ctx context.Context, t ship.Tenant, key string) (LabelFile, error) {
	return queryOne(ctx, s, t, labelFileScanner(t), sqlLabelFileOfKey, t.Account, t.Livemode, key)
}

// sqlPrepareLabelFile starts the work on a file again if it was done before: its
// renderings may have expired since. It changes nothing while the work goes on.
const sqlPrepareLabelFile = `
INSERT INTO label_files AS f (account_id, livemode, id, content_key, shipments, format, size, dpi, conversions)
VALUES (@account, @livemode, @id, @key, @shipments::uuid[], @format, @size, @dpi, @conversions)
ON CONFLICT (account_id, livemode, content_key) DO UPDATE SET state = 'preparing', conversions = excluded.conversions
WHERE f.state = 'ready'`

// PrepareLabelFile stores a file that is to be prepared, in the transaction that
// enqueues its job. It reports false if the work on it goes on already.
func (s *Store) PrepareLabelFile(ctx context.Context, file LabelFile) (bool, error) {
	args := tenantArgs(file.Tenant, file.ID, file.Format.args())
	args["key"] = file.Key
	args["shipments"] = rawIDs(file.Shipments)
	args["conversions"] = file.Conversions
	n, err := s.exec(ctx, file.Tenant, sqlPrepareLabelFile, args)
	if err != nil {
		return false, fmt.Errorf("prepare a file of labels: %w", err)
	}
	return n > 0, nil
}

const sqlFinishLabelFile = `
UPDATE label_files SET state = 'ready'
WHERE account_id = $1 AND livemode = $2 AND id = $3`

// FinishLabelFile records that all labels of a file are rendered.
func (s *Store) FinishLabelFile(ctx context.Context, t ship.Tenant, id ship.LabelFileID) error {
	_, err := s.exec(ctx, t, sqlFinishLabelFile, t.Account, t.Livemode, id)
	return err
}

// sqlLabelRenderings reads renderings of labels that are kept: one whose label is
// gone must not be printed.
const sqlLabelRenderings = `
SELECT r.shipment_id, CASE WHEN @with_data THEN r.data END, coalesce(r.error_code, ''), coalesce(r.error_message, '')
FROM label_renderings r
WHERE r.account_id = @account AND r.livemode = @livemode AND r.shipment_id = ANY (@shipments::uuid[])
  AND r.format = @format AND r.size = @size AND r.dpi = @dpi
  AND EXISTS (
    SELECT FROM labels l
    WHERE l.account_id = @account AND l.livemode = @livemode AND l.shipment_id = r.shipment_id)`

// LabelRenderings returns the renderings of labels in a format, by shipment; without
// their bytes if only the outcome is wanted.
func (s *Store) LabelRenderings(ctx context.Context, t ship.Tenant, list []ship.ShipmentID, format LabelFormat, withData bool) (map[ship.ShipmentID]LabelRendering, error) {
	found := make(map[ship.ShipmentID]LabelRendering, len(list))
	args := tenantArgs(t, nil, format.args())
	args["shipments"] = rawIDs(list)
	args["with_data"] = withData

	var rendering LabelRendering
	err := s.queryEach(ctx, t, []any{&rendering.Shipment, &rendering.Data, &rendering.Code, &rendering.Message}, func() error {
		found[rendering.Shipment] = rendering
		rendering.Data = nil
		return nil
	}, sqlLabelRenderings, args)
	return found, err
}

// sqlSaveLabelRenderings keeps nothing of a label that is gone, or of a shipment
// whose personal data was erased. The state is locked: an erasure waits for this
// transaction, and deletes the rendering with the label.
const sqlSaveLabelRenderings = `
WITH kept AS (
  SELECT st.id
  FROM shipment_states st
  JOIN labels l ON l.account_id = @account AND l.livemode = @livemode AND l.shipment_id = st.id
  WHERE st.account_id = @account AND st.livemode = @livemode AND st.id = ANY (@shipments::uuid[]) AND st.erased_at IS NULL
  ORDER BY st.id
  FOR SHARE OF st
)
INSERT INTO label_renderings AS r (account_id, livemode, shipment_id, format, size, dpi, data, error_code, error_message)
SELECT @account, @livemode, v.shipment_id, @format, @size, @dpi, v.data, v.error_code, v.error_message
FROM unnest(@shipments::uuid[], @data::bytea[], @codes::text[], @messages::text[]) AS v (shipment_id, data, error_code, error_message)
JOIN kept ON kept.id = v.shipment_id
ORDER BY v.shipment_id
ON CONFLICT (account_id, livemode, shipment_id, format, size, dpi) DO NOTHING`

// SaveLabelRenderings keeps renderings for the files that follow.
func (s *Store) SaveLabelRenderings(ctx context.Context, t ship.Tenant, format LabelFormat, list []LabelRendering) error {
	if len(list) == 0 {
		return nil
	}

	rows := columns{}
	for _, rendering := range list {
		rows.add("shipments", rendering.Shipment)
		rows.add("data", rendering.Data)
		rows.add("codes", null(rendering.Code))
		rows.add("messages", null(rendering.Message))
	}
	args := tenantArgs(t, nil, rows.args())
	for name, value := range format.args() {
		args[name] = value
	}
	if _, err := s.exec(ctx, t, sqlSaveLabelRenderings, args); err != nil {
		return fmt.Errorf("save rendered labels: %w", err)
	}
	return nil
}

const (
	sqlDeleteOldLabelRenderings = `
DELETE FROM label_renderings WHERE (account_id, livemode, shipment_id, format, size, dpi) IN (
  SELECT account_id, livemode, shipment_id, format, size, dpi FROM label_renderings
  WHERE created_at < $1 ORDER BY created_at LIMIT 500)`

	sqlDeleteOldLabelFiles = `
DELETE FROM label_files WHERE (account_id, livemode, id) IN (
  SELECT account_id, livemode, id FROM label_files
  WHERE id < $1 ORDER BY id LIMIT 500)`
)

// DeleteOldLabelFiles deletes some rendered labels of all tenants, and files of them,
// that are older than the time, and returns how many.
func (s *Store) DeleteOldLabelFiles(ctx context.Context, before time.Time) (int64, error) {
	renderings, err := s.sys.Exec(ctx, sqlDeleteOldLabelRenderings, before)
	if err != nil {
		return 0, explain(err)
	}
	files, err := s.sys.Exec(ctx, sqlDeleteOldLabelFiles, ship.RawIDAt(before))
	return renderings.RowsAffected() + files.RowsAffected(), explain(err)
}
