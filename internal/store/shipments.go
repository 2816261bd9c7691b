package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/ship"
)

// Shipments with their labels and documents, read by id.

const shipmentColumns = `s.id, s.duplicate_of_id, s.response_version, s.request, s.purchase, st.voided_at, st.erased_at IS NOT NULL, st.uploads, st.metadata, ` + trackingStateColumns

const sqlShipment = `
SELECT ` + shipmentColumns + `
FROM shipments s
JOIN shipment_states st ON st.account_id = s.account_id AND st.livemode = s.livemode AND st.id = s.id
WHERE s.account_id = $1 AND s.livemode = $2 AND s.id = $3`

// Shipment returns a shipment, whether any client knows of it or not.
func (s *Store) Shipment(ctx context.Context, t ship.Tenant, id ship.ShipmentID) (ship.Shipment, error) {
	return queryOne(ctx, s, t, shipmentScanner(t), sqlShipment, t.Account, t.Livemode, id)
}

// shipmentScanner returns a function that reads shipments of the tenant.
func shipmentScanner(t ship.Tenant) pgx.RowToFunc[ship.Shipment] {
	return func(r pgx.CollectableRow) (ship.Shipment, error) { return scanShipment(r, t) }
}

func scanShipment(r pgx.CollectableRow, t ship.Tenant) (ship.Shipment, error) {
	var (
		shipment          = ship.Shipment{Tenant: t}
		request, purchase []byte
		voidedAt          *time.Time
		trackingState     trackingStateRow
	)
	targets := []any{&shipment.ID, &shipment.DuplicateOf, &shipment.Version, &request, &purchase, &voidedAt, &shipment.IsErased, &shipment.Uploads, &shipment.Metadata}
	if err := r.Scan(append(targets, trackingState.targets()...)...); err != nil {
		return shipment, err
	}

	shipment.VoidedAt = timeOrZero(voidedAt)
	shipment.State = ship.State(value(trackingState.state))
	shipment.Progress = trackingState.progress()
	shipment.Sequence = trackingState.sequence

	if err := json.Unmarshal(request, &shipment.Order); err != nil {
		return shipment, fmt.Errorf("read the order of %s: %w", shipment.ID, err)
	}
	if err := json.Unmarshal(purchase, &shipment.Purchase); err != nil {
		return shipment, fmt.Errorf("read the purchase of %s: %w", shipment.ID, err)
	}
	return shipment, nil
}

// shipmentList reads shipments by a statement that selects shipmentColumns.
func (s *Store) shipmentList(ctx context.Context, t ship.Tenant, sql string, args ...any) ([]ship.Shipment, error) {
	return queryList(ctx, s, t, shipmentScanner(t), sql, args...)
}

const sqlChangeMetadata = `
UPDATE shipment_states SET metadata = @metadata::jsonb
WHERE account_id = @account AND livemode = @livemode AND id = @id AND sequence > 0 AND erased_at IS NULL`

// ChangeMetadata keeps other metadata beside the order of a shipment, with the entry of
// the audit log. It is ship.Conflict for a shipment whose personal data was erased.
func (s *Store) ChangeMetadata(ctx context.Context, t ship.Tenant, id ship.ShipmentID, metadata map[string]string) error {
	if metadata == nil {
		metadata = map[string]string{} // removed, which is not the same as unchanged
	}
	return s.InTx(ctx, t, func(tx *Store) error {
		n, err := tx.exec(ctx, t, sqlChangeMetadata, tenantArgs(t, id, pgx.NamedArgs{"metadata": metadata}))
		if err != nil {
			return fmt.Errorf("change metadata: %w", err)
		}
		if n == 0 {
			return ship.Errorf(ship.Conflict, "the personal data of the shipment was erased, so its metadata cannot be changed")
		}
		return tx.AuditChange(ctx, EntryOf(t, "shipment.metadata_changed", string(id)))
	})
}

const sqlLabel = `SELECT format, data FROM labels WHERE account_id = $1 AND livemode = $2 AND shipment_id = $3`

// Label returns the label as it came from the carrier.
func (s *Store) Label(ctx context.Context, t ship.Tenant, id ship.ShipmentID) (ship.Label, error) {
	var label ship.Label
	err := s.queryRow(ctx, t, func(r pgx.Row) error { return r.Scan(&label.Format, &label.Data) },
		sqlLabel, t.Account, t.Livemode, id)
	return label, err
}

// sqlShipmentsByID reads shipments by their ids. A bound on the ids would only
// tempt the planner to read everything between them.
const sqlShipmentsByID = `
SELECT ` + shipmentColumns + `
FROM unnest($3::uuid[]) AS k (id)
JOIN shipments s ON s.account_id = $1 AND s.livemode = $2 AND s.id = k.id
JOIN shipment_states st ON st.account_id = $1 AND st.livemode = $2 AND st.id = k.id`

// shipmentsByID returns the shipments, in no order.
func (s *Store) shipmentsByID(ctx context.Context, t ship.Tenant, ids idArray) ([]ship.Shipment, error) {
	if len(ids) == 0 {
		return nil, nil
	}

	var list []ship.Shipment
	batch := s.newBatch(t)
	batch.Queue(sqlPlanOnce)
	batch.Queue(sqlShipmentsByID, t.Account, t.Livemode, ids).Query(collectInto(&list, shipmentScanner(t)))
	err := s.send(ctx, batch)
	return list, err
}

// ShipmentsByID returns the shipments of the ids that are there, in no order.
func (s *Store) ShipmentsByID(ctx context.Context, t ship.Tenant, list []ship.ShipmentID) ([]ship.Shipment, error) {
	return s.shipmentsByID(ctx, t, rawIDs(list))
}

const sqlLabels = `
SELECT shipment_id, format, data FROM labels
WHERE account_id = $1 AND livemode = $2 AND shipment_id = ANY ($3::uuid[])`

// Labels returns labels as they came from the carriers, by shipment.
func (s *Store) Labels(ctx context.Context, t ship.Tenant, list []ship.ShipmentID) (map[ship.ShipmentID]ship.Label, error) {
	found := make(map[ship.ShipmentID]ship.Label, len(list))
	var id ship.ShipmentID
	var label ship.Label
	err := s.queryEach(ctx, t, []any{&id, &label.Format, &label.Data}, func() error {
		found[id] = label
		return nil
	}, sqlLabels, t.Account, t.Livemode, rawIDs(list))
	return found, err
}

const sqlDocument = `
SELECT type, format, data FROM documents
WHERE account_id = $1 AND livemode = $2 AND shipment_id = $3 AND position = $4`

// Document returns one of a purchase's further papers, counted from zero.
func (s *Store) Document(ctx context.Context, t ship.Tenant, id ship.ShipmentID, position int) (d ship.Document, err error) {
	err = s.queryRow(ctx, t, func(r pgx.Row) error { return r.Scan(&d.Type, &d.Format, &d.Data) }, sqlDocument,
		t.Account, t.Livemode, id, position)
	return d, err
}
