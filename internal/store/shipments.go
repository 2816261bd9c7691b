package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/ship"
)

const shipmentColumns = `s.id, s.duplicate_of_id, s.response_version, s.request, s.purchase, st.voided_at, ` + trackingStateColumns

const trackingStateColumns = `st.state::text, st.status::text, st.reason, st.sequence, st.piece_statuses::text[],
  st.estimated_delivery_at, st.estimate_source, st.checked_at`

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
	targets := []any{&shipment.ID, &shipment.DuplicateOf, &shipment.Version, &request, &purchase, &voidedAt}
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

// trackingStateRow is what trackingStateColumns select.
type trackingStateRow struct {
	state          *string
	status         string
	reason         *string
	sequence       int
	pieces         []string
	estimateAt     *time.Time
	estimateSource *string
	checkedAt      *time.Time
}

func (r *trackingStateRow) targets() []any {
	return []any{
		&r.state,
		&r.status,
		&r.reason,
		&r.sequence,
		&r.pieces,
		&r.estimateAt,
		&r.estimateSource,
		&r.checkedAt,
	}
}

func (r *trackingStateRow) progress() ship.Progress {
	return ship.Progress{
		Status:         ship.Status(r.status),
		Reason:         value(r.reason),
		Pieces:         fromStrings[ship.Status](r.pieces),
		EstimateAt:     timeOrZero(r.estimateAt),
		EstimateSource: value(r.estimateSource),
		CheckedAt:      timeOrZero(r.checkedAt),
	}
}

// shipmentList reads shipments by a statement that selects shipmentColumns.
func (s *Store) shipmentList(ctx context.Context, t ship.Tenant, sql string, args ...any) ([]ship.Shipment, error) {
	return queryList(ctx, s, t, shipmentScanner(t), sql, args...)
}

// idBounds turns times and the last id of the page before into a range of ids: at
// or above the first, below the second. Ids begin with their time.
func idBounds(from, before time.Time, last ship.RawID) (lowest, below ship.RawID) {
	if !from.IsZero() {
		lowest = ship.RawIDAt(from)
	}

	for i := range below {
		below[i] = 0xff
	}
	if !before.IsZero() {
		below = ship.RawIDAt(before)
	}
	if !last.IsZero() && string(last[:]) < string(below[:]) {
		below = last
	}
	return lowest, below
}

const sqlLabel = `SELECT format, data FROM labels WHERE account_id = $1 AND livemode = $2 AND shipment_id = $3`

// Label returns the label as it came from the carrier.
func (s *Store) Label(ctx context.Context, t ship.Tenant, id ship.ShipmentID) (ship.Label, error) {
	var label ship.Label
	err := s.queryRow(ctx, t, func(r pgx.Row) error { return r.Scan(&label.Format, &label.Data) },
		sqlLabel, t.Account, t.Livemode, id)
	return label, err
}
