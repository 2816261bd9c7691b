package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/effect"
	"github.com/waybillhq/waybill/internal/ship"
)

// The states of a pickup besides those of every effect.
const (
	PickupCancelling effect.State = "cancelling" // the carrier is asked
	PickupCancelled  effect.State = "cancelled"
)

// A Pickup is one that a carrier was asked for.
type Pickup struct {
	ID         ship.PickupID
	Tenant     ship.Tenant
	Carrier    string
	Connection ship.ConnectionID // empty for a simulated carrier
	PlaceHash  []byte
	Order      ship.PickupOrder
	Shipments  []ship.ShipmentID
	Booking    ship.PickupBooking // zero until it is confirmed
	EffectState
	CancelledAt time.Time
}

const sqlAddPickup = `
INSERT INTO pickups (account_id, livemode, id, carrier, connection_id, place_hash, day, request, shipment_ids)
VALUES (@account, @livemode, @id, @carrier, @connection, @place, @day, @request, @shipments)
ON CONFLICT DO NOTHING`

// AddPickup stores a pickup before the carrier is asked; ship.Conflict if there
// is one of the place and the day.
func (s *Store) AddPickup(ctx context.Context, p Pickup) error {
	request, err := json.Marshal(p.Order)
	if err != nil {
		return fmt.Errorf("encode pickup %s: %w", p.ID, err)
	}
	return s.guarded(ctx, p.Tenant, sqlAddPickup, tenantArgs(p.Tenant, p.ID, pgx.NamedArgs{
		"carrier":    p.Carrier,
		"connection": null(p.Connection),
		"place":      p.PlaceHash,
		"day":        p.Order.Window.Date().Time(),
		"request":    request,
		"shipments":  rawIDs(p.Shipments),
	}))
}

const pickupColumns = `id, carrier, connection_id, place_hash, request, shipment_ids, coalesce(booking, '{}'::json), cancelled_at, ` + effectColumns

const sqlPickup = `
SELECT ` + pickupColumns + ` FROM pickups
WHERE account_id = $1 AND livemode = $2 AND id = $3`

// Pickup returns a pickup; ship.NotFound if there is none.
func (s *Store) Pickup(ctx context.Context, t ship.Tenant, id ship.PickupID) (Pickup, error) {
	return queryOne(ctx, s, t, pickupScanner(t), sqlPickup, t.Account, t.Livemode, id)
}

const sqlPickups = `
SELECT ` + pickupColumns + ` FROM pickups
WHERE account_id = $1 AND livemode = $2 AND id < $3
ORDER BY id DESC LIMIT $4`

// Pickups lists the tenant's pickups, newest first.
func (s *Store) Pickups(ctx context.Context, t ship.Tenant, p ship.Page) ([]Pickup, error) {
	_, before := idBounds(time.Time{}, time.Time{}, p.Before)
	return queryList(ctx, s, t, pickupScanner(t), sqlPickups, t.Account, t.Livemode, before, p.Limit)
}

const sqlPickupAt = `
SELECT ` + pickupColumns + ` FROM pickups
WHERE account_id = @account AND livemode = @livemode AND carrier = @carrier
  AND connection_id IS NOT DISTINCT FROM @connection::uuid AND place_hash = @place AND day = @day
  AND state NOT IN ('failed', 'cancelled')`

// PickupAt returns the pickup of the same carrier account, place and day that is
// neither cancelled nor failed; ship.NotFound if there is none.
func (s *Store) PickupAt(ctx context.Context, p Pickup) (Pickup, error) {
	return queryOne(ctx, s, p.Tenant, pickupScanner(p.Tenant), sqlPickupAt, tenantArgs(p.Tenant, nil, pgx.NamedArgs{
		"carrier":    p.Carrier,
		"connection": null(p.Connection),
		"place":      p.PlaceHash,
		"day":        p.Order.Window.Date().Time(),
	}))
}

// pickupScanner returns a function that reads pickups of the tenant.
func pickupScanner(t ship.Tenant) pgx.RowToFunc[Pickup] {
	return func(r pgx.CollectableRow) (Pickup, error) {
		pickup := Pickup{Tenant: t}
		var request, booking []byte
		var shipments []ship.RawID
		var cancelled *time.Time
		common, complete := pickup.targets()
		err := r.Scan(append([]any{
			&pickup.ID, &pickup.Carrier, &pickup.Connection, &pickup.PlaceHash, &request, &shipments, &booking, &cancelled,
		}, common...)...)
		if err != nil {
			return pickup, err
		}

		complete()
		pickup.CancelledAt = timeOrZero(cancelled)
		for _, id := range shipments {
			pickup.Shipments = append(pickup.Shipments, ship.ShipmentIDOf(id))
		}
		if err := json.Unmarshal(request, &pickup.Order); err != nil {
			return pickup, fmt.Errorf("read the request of %s: %w", pickup.ID, err)
		}
		if err := json.Unmarshal(booking, &pickup.Booking); err != nil {
			return pickup, fmt.Errorf("read the booking of %s: %w", pickup.ID, err)
		}
		return pickup, nil
	}
}

const sqlTurnPickup = `UPDATE pickups` + turned

// TurnPickup moves an open pickup on.
func (s *Store) TurnPickup(ctx context.Context, t ship.Tenant, id ship.PickupID, turn Turn) error {
	return s.guarded(ctx, t, sqlTurnPickup, turn.args(t, id))
}

const sqlTryPickupAgain = `UPDATE pickups` + attemptedAgain

// TryPickupAgain writes the attempt after this one down.
func (s *Store) TryPickupAgain(ctx context.Context, t ship.Tenant, id ship.PickupID, attempt int) error {
	return s.guarded(ctx, t, sqlTryPickupAgain, tenantArgs(t, id, pgx.NamedArgs{"attempt": attempt}))
}

const sqlRecordPickup = `
UPDATE pickups SET
  state = 'succeeded',
  booking = @booking,
  error_code = NULL,
  error_message = NULL
WHERE account_id = @account AND livemode = @livemode AND id = @id AND state IN ('pending', 'uncertain', 'needs_review')`

// RecordPickup stores what the carrier confirmed.
func (s *Store) RecordPickup(ctx context.Context, t ship.Tenant, id ship.PickupID, booking ship.PickupBooking) error {
	data, err := json.Marshal(booking)
	if err != nil {
		return fmt.Errorf("encode the booking of %s: %w", id, err)
	}
	return s.guarded(ctx, t, sqlRecordPickup, tenantArgs(t, id, pgx.NamedArgs{"booking": data}))
}

const sqlMovePickup = `
UPDATE pickups SET
  state = @to,
  error_code = @code,
  error_message = @message,
  attempt_started_at = now(),
  cancelled_at = CASE WHEN @to = 'cancelled' THEN now() END
WHERE account_id = @account AND livemode = @livemode AND id = @id AND state = @from`

// MovePickup moves a pickup that is not open, for its cancellation.
func (s *Store) MovePickup(ctx context.Context, t ship.Tenant, id ship.PickupID, from effect.State, turn Turn) error {
	return s.guarded(ctx, t, sqlMovePickup, tenantArgs(t, id, pgx.NamedArgs{
		"from":    string(from),
		"to":      string(turn.To),
		"code":    null(turn.Code),
		"message": null(turn.Message),
	}))
}

const sqlResolvePickup = `
UPDATE pickups SET
  state = @to,
  booking = CASE WHEN @to = 'succeeded' THEN json_strip_nulls(json_build_object('confirmation', @number::text)) END,
  error_code = @code,
  error_message = @message
WHERE account_id = @account AND livemode = @livemode AND id = @id AND state = 'needs_review'`

// ResolvePickup ends the review of a pickup; ship.Conflict if it is not in review.
func (s *Store) ResolvePickup(ctx context.Context, t ship.Tenant, id ship.PickupID, resolution Resolution) error {
	return s.InTx(ctx, t, func(tx *Store) error {
		if err := tx.guarded(ctx, t, sqlResolvePickup, resolution.args(t, id)); err != nil {
			return err
		}
		return tx.AuditChange(ctx, resolution.entry(t, "pickup.resolved", string(id)))
	})
}

const sqlOpenPickups = `
SELECT account_id, livemode, id FROM pickups
WHERE state IN ('pending', 'uncertain', 'cancelling') AND attempt_started_at < $1
ORDER BY id`

// OpenPickups lists the pickups and cancellations that wait for an outcome since
// before the moment.
func (s *Store) OpenPickups(ctx context.Context, before time.Time) ([]OpenEffect[ship.PickupID], error) {
	return openEffects[ship.PickupID](ctx, s, sqlOpenPickups, before)
}

// sqlPickupTexts reads pickups with the texts that can name a person: an account may
// have parcels collected at anybody's place.
const sqlPickupTexts = `
SELECT ` + pickupColumns + `,
  state IN ('pending', 'uncertain', 'cancelling') OR state = 'succeeded' AND day >= @today::date,
  ARRAY[convert_to(request::text, 'UTF8'), convert_to(coalesce(booking::text, ''), 'UTF8'), convert_to(coalesce(error_message, ''), 'UTF8')]
FROM pickups
WHERE account_id = @account AND livemode = @livemode
  AND id > coalesce((@after::text[])[1], '00000000-0000-0000-0000-000000000000')::uuid
ORDER BY id LIMIT @limit`

const sqlErasePickups = `
UPDATE pickups p SET request = v.request::json, booking = CASE WHEN p.booking IS NULL THEN NULL ELSE v.booking::json END, error_message = NULL
FROM unnest(@ids::uuid[], @requests::text[], @bookings::text[]) AS v (id, request, booking)
WHERE p.account_id = @account AND p.livemode = @livemode AND p.id = v.id`

// A pickupWithTexts is a pickup and the texts that can name a person.
type pickupWithTexts struct {
	Pickup
	isOpen bool // the carrier may still be asked about it
	texts  [][]byte
}

// pickupsWithTexts returns the next pickups of the tenant after an id.
func pickupsWithTexts(ctx context.Context, db statements, t ship.Tenant, args pgx.NamedArgs) ([]pickupWithTexts, error) {
	scanPickup := pickupScanner(t)
	scan := func(r pgx.CollectableRow) (found pickupWithTexts, err error) {
		found.Pickup, err = scanPickup(rowWithMore{r, []any{&found.isOpen, &found.texts}})
		return found, err
	}
	return selectList(ctx, db, scan, sqlPickupTexts, args)
}

// rowWithMore is a row with further columns behind those that a scanner reads.
type rowWithMore struct {
	pgx.CollectableRow
	more []any
}

func (r rowWithMore) Scan(targets ...any) error {
	return r.CollectableRow.Scan(append(targets, r.more...)...)
}

// erasePickups takes people out of pickups that are over. Others need the address: they
// are counted as open.
func erasePickups(ctx context.Context, w *erasureWork) (finished bool, err error) {
	page, err := pickupsWithTexts(ctx, w.tx.tx, w.Tenant, w.args(pgx.NamedArgs{
		"after": w.cursor,
		"limit": textWindow,
		"today": w.now.UTC(),
	}))
	if err != nil {
		return false, err
	}

	terms := w.terms()
	changed := columns{}
	for _, pickup := range page {
		w.cursor = []string{uuidText(pickup.ID.Raw())}
		if !mentionsPerson(pickup.texts, terms, w.subject.Person.Phone) {
			continue
		}
		if pickup.isOpen {
			w.Counts[CountOpen]++
			continue
		}

		order, err := json.Marshal(pickup.Order.WithoutPersonalData())
		if err != nil {
			return false, fmt.Errorf("write the request of %s: %w", pickup.ID, err)
		}
		pickup.Booking.Details = "" // it is too late to cancel
		booking, err := json.Marshal(pickup.Booking)
		if err != nil {
			return false, fmt.Errorf("write the booking of %s: %w", pickup.ID, err)
		}
		changed.add("ids", pickup.ID.Raw())
		changed.add("requests", string(order))
		changed.add("bookings", string(booking))
	}

	if len(changed) > 0 {
		n, err := w.tx.run(ctx, sqlErasePickups, w.args(changed.args()))
		if err != nil {
			return false, err
		}
		w.count("pickups", n)
	}
	return len(page) < textWindow, nil
}

// PickupsMentioning returns the pickups that mention one of the terms or the phone
// number, at most limit of them.
func (s *Store) PickupsMentioning(ctx context.Context, t ship.Tenant, terms []string, phone string, limit int) ([]Pickup, error) {
	folded := foldTerms(terms)
	var found []Pickup
	var after []string
	for {
		page, err := pickupsWithTexts(ctx, s.system(), t, tenantArgs(t, nil, pgx.NamedArgs{"after": after, "limit": textWindow, "today": time.Now().UTC()}))
		if err != nil {
			return nil, fmt.Errorf("pickups of a person: %w", err)
		}
		for _, pickup := range page {
			after = []string{uuidText(pickup.ID.Raw())}
			if mentionsPerson(pickup.texts, folded, phone) && len(found) < limit {
				found = append(found, pickup.Pickup)
			}
		}
		if len(page) < textWindow || len(found) == limit {
			return found, nil
		}
	}
}
