package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/ship"
)

const shipmentColumns = `s.id, s.duplicate_of_id, s.response_version, s.request, s.purchase, st.voided_at, ` + journeyColumns

const journeyColumns = `st.state::text, st.status::text, st.reason, st.sequence, st.piece_statuses::text[], st.estimated_delivery_at, st.estimate_source, st.checked_at`

const sqlShipment = `
SELECT ` + shipmentColumns + `
FROM shipments s JOIN shipment_states st ON st.account_id = s.account_id AND st.livemode = s.livemode AND st.id = s.id
WHERE s.account_id = $1 AND s.livemode = $2 AND s.id = $3`

// Shipment returns a shipment, whether anybody was told of it or not.
func (s *Store) Shipment(ctx context.Context, t ship.Tenant, id ship.ShipmentID) (ship.Shipment, error) {
	var sh ship.Shipment
	err := s.queryRow(ctx, t, func(r pgx.Row) (err error) {
		sh, err = scanShipment(r, t)
		return err
	}, sqlShipment, [16]byte(t.Account.Raw()), t.Livemode, [16]byte(id.Raw()))
	return sh, err
}

func scanShipment(r pgx.Row, t ship.Tenant) (ship.Shipment, error) {
	var (
		id            [16]byte
		duplicate     *[16]byte
		ordered, deal []byte
		voidedAt      *time.Time
		j             journeyRow
		sh            = ship.Shipment{Tenant: t}
	)
	if err := r.Scan(append([]any{&id, &duplicate, &sh.Version, &ordered, &deal, &voidedAt}, j.targets()...)...); err != nil {
		return sh, err
	}
	sh.ID = ship.ShipmentIDOf(id)
	sh.VoidedAt = timeOrZero(voidedAt)
	if duplicate != nil {
		sh.DuplicateOf = ship.ShipmentIDOf(*duplicate)
	}
	if err := json.Unmarshal(ordered, &sh.Order); err != nil {
		return sh, fmt.Errorf("read the order of %s: %w", sh.ID, err)
	}
	if err := json.Unmarshal(deal, &sh.Deal); err != nil {
		return sh, fmt.Errorf("read the deal of %s: %w", sh.ID, err)
	}
	sh.State, sh.Progress, sh.Sequence = ship.State(value(j.state)), j.progress(), j.sequence
	return sh, nil
}

// journeyRow is what journeyColumns select.
type journeyRow struct {
	state      *string
	status     string
	reason     *string
	sequence   int
	pieces     []string
	estimateAt *time.Time
	estimate   *string
	checkedAt  *time.Time
}

func (j *journeyRow) targets() []any {
	return []any{&j.state, &j.status, &j.reason, &j.sequence, &j.pieces, &j.estimateAt, &j.estimate, &j.checkedAt}
}

func (j *journeyRow) progress() ship.Progress {
	return ship.Progress{
		Status: ship.Status(j.status), Reason: value(j.reason), Pieces: fromStrings[ship.Status](j.pieces),
		EstimateAt: timeOrZero(j.estimateAt), EstimateSource: value(j.estimate), CheckedAt: timeOrZero(j.checkedAt),
	}
}

// shipmentList reads shipments by a statement that selects shipmentColumns.
func (s *Store) shipmentList(ctx context.Context, t ship.Tenant, sql string, args ...any) ([]ship.Shipment, error) {
	var list []ship.Shipment
	err := s.queryRows(ctx, t, func(r pgx.Rows) error {
		sh, err := scanShipment(r, t)
		list = append(list, sh)
		return err
	}, sql, args...)
	return list, err
}

// idBounds turns times and the last id of the page before into a range of ids.
func idBounds(from, before time.Time, last ship.RawID) (lo, hi ship.RawID) {
	for i := range hi {
		hi[i] = 0xff
	}
	if !from.IsZero() {
		lo = ship.RawIDAt(from)
	}
	if !before.IsZero() {
		hi = ship.RawIDAt(before)
	}
	if !last.IsZero() && string(last[:]) < string(hi[:]) {
		hi = last
	}
	return lo, hi
}

const sqlLabel = `SELECT format, data FROM labels WHERE account_id = $1 AND livemode = $2 AND shipment_id = $3`

// Label returns the label as it came from the carrier.
func (s *Store) Label(ctx context.Context, t ship.Tenant, id ship.ShipmentID) (ship.Label, error) {
	var l ship.Label
	err := s.queryRow(ctx, t, func(r pgx.Row) error { return r.Scan(&l.Format, &l.Data) },
		sqlLabel, [16]byte(t.Account.Raw()), t.Livemode, [16]byte(id.Raw()))
	return l, err
}
