package store

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/waybillhq/waybill/internal/ship"
)

// Locations: the places that a tenant ships from.

const locationColumns = `l.id, l.name, l.address, l.contact, l.cutoff_times, l.connection_ids, l.is_default`

// joinDefaultLocation joins the default location of an account in a mode, which
// locationColumns then are of.
const joinDefaultLocation = `LEFT JOIN locations l ON l.is_default AND l.account_id = a.id AND l.livemode = `

// locationRow is what locationColumns select. In a join without a location all of
// it is NULL.
type locationRow struct {
	id          ship.LocationID
	name        *string
	address     *ship.Address
	contact     *ship.Contact
	cutoffTimes []ship.CutoffTime
	connections []ship.ConnectionID
	isDefault   *bool
}

func (r *locationRow) targets() []any {
	return []any{
		&r.id,
		&r.name,
		&r.address,
		&r.contact,
		&r.cutoffTimes,
		&r.connections,
		&r.isDefault,
	}
}

// read returns the location; nil if there is none.
func (r *locationRow) read() *ship.Location {
	if r.id == "" {
		return nil
	}
	return &ship.Location{
		ID:          r.id,
		Name:        *r.name,
		Address:     *r.address,
		Contact:     *r.contact,
		CutoffTimes: r.cutoffTimes,
		Connections: r.connections,
		IsDefault:   *r.isDefault,
	}
}

func scanLocation(r pgx.CollectableRow) (ship.Location, error) {
	var row locationRow
	if err := r.Scan(row.targets()...); err != nil {
		return ship.Location{}, err
	}
	return *row.read(), nil
}

const sqlLocations = `
SELECT ` + locationColumns + ` FROM locations l
WHERE l.account_id = $1 AND l.livemode = $2
ORDER BY lower(l.name), l.id LIMIT $3`

// Locations lists the tenant's locations by name.
func (s *Store) Locations(ctx context.Context, t ship.Tenant) ([]ship.Location, error) {
	return queryList(ctx, s, t, scanLocation, sqlLocations, t.Account, t.Livemode, ship.MaxLocations)
}

const sqlLocation = `
SELECT ` + locationColumns + ` FROM locations l
WHERE l.account_id = $1 AND l.livemode = $2 AND l.id = $3`

// Location returns a location of the tenant; ship.NotFound if there is none.
func (s *Store) Location(ctx context.Context, t ship.Tenant, id ship.LocationID) (ship.Location, error) {
	location, err := queryOne(ctx, s, t, scanLocation, sqlLocation, t.Account, t.Livemode, id)
	return location, explainNoLocation(err)
}

// explainNoLocation returns err, or the error of a location that does not exist.
func explainNoLocation(err error) error {
	if ship.KindOf(err) == ship.NotFound {
		return ship.Coded(ship.NotFound, "location_not_found", "no such location")
	}
	return err
}

const (
	sqlLockLocations  = `SELECT pg_advisory_xact_lock(hashtextextended($1, 5))`
	sqlCountLocations = `SELECT count(*) FROM locations WHERE account_id = $1 AND livemode = $2`

	// sqlClearDefault leaves the default to the location that is written next.
	sqlClearDefault = `UPDATE locations SET is_default = false WHERE account_id = $1 AND livemode = $2 AND is_default AND id <> $3`

	sqlAddLocation = `
INSERT INTO locations (account_id, livemode, id, name, address, contact, cutoff_times, connection_ids, is_default)
VALUES (@account, @livemode, @id, @name, @address, @contact, @cutoff_times, @connections, @is_default)`
)

// AddLocation stores a new location. If it is the default, no other is from then
// on. It is ship.Conflict if the name is taken, or if the tenant has as many
// locations as it may have.
func (s *Store) AddLocation(ctx context.Context, t ship.Tenant, location ship.Location) error {
	return s.changeLocations(ctx, t, func(tx *Store) error {
		var count int
		if err := tx.tx.QueryRow(ctx, sqlCountLocations, t.Account, t.Livemode).Scan(&count); err != nil {
			return err
		}
		if count >= ship.MaxLocations {
			return ship.Coded(ship.Conflict, "location_limit", "the account has %d locations already; delete one first", ship.MaxLocations)
		}
		return tx.writeLocation(ctx, t, location, "location.added", sqlAddLocation)
	})
}

const (
	sqlChangedLocation = sqlLocation + ` FOR UPDATE`

	sqlChangeLocation = `
UPDATE locations SET
  name = @name,
  address = @address,
  contact = @contact,
  cutoff_times = @cutoff_times,
  connection_ids = @connections,
  is_default = @is_default
WHERE account_id = @account AND livemode = @livemode AND id = @id`
)

// ChangeLocation changes a location, and returns it as it is then; ship.NotFound
// if there is none. If it becomes the default, no other is from then on.
func (s *Store) ChangeLocation(ctx context.Context, t ship.Tenant, id ship.LocationID, change func(*ship.Location) error) (ship.Location, error) {
	var location ship.Location
	err := s.changeLocations(ctx, t, func(tx *Store) (err error) {
		location, err = selectOne(ctx, tx.tx, scanLocation, sqlChangedLocation, t.Account, t.Livemode, id)
		if err != nil {
			return explainNoLocation(err)
		}
		if err := change(&location); err != nil {
			return err
		}
		return tx.writeLocation(ctx, t, location, "location.changed", sqlChangeLocation)
	})
	return location, err
}

// changeLocations runs fn in a transaction. Changes of a tenant's locations wait
// for each other, so there is one default and one location of a name.
func (s *Store) changeLocations(ctx context.Context, t ship.Tenant, fn func(tx *Store) error) error {
	return s.InTx(ctx, t, func(tx *Store) error {
		if _, err := tx.tx.Exec(ctx, sqlLockLocations, uuidText(t.Account.Raw())+boolText(t.Livemode)); err != nil {
			return err
		}
		return fn(tx)
	})
}

// writeLocation stores a location in the transaction, with its audit entry.
func (s *Store) writeLocation(ctx context.Context, t ship.Tenant, location ship.Location, action, sql string) error {
	if location.IsDefault {
		if _, err := s.tx.Exec(ctx, sqlClearDefault, t.Account, t.Livemode, location.ID); err != nil {
			return err
		}
	}

	cutoffTimes := location.CutoffTimes
	if cutoffTimes == nil {
		cutoffTimes = []ship.CutoffTime{}
	}
	_, err := s.tx.Exec(ctx, sql, tenantArgs(t, location.ID, pgx.NamedArgs{
		"name":         location.Name,
		"address":      location.Address,
		"contact":      location.Contact,
		"cutoff_times": cutoffTimes,
		"connections":  rawIDs(location.Connections),
		"is_default":   location.IsDefault,
	}))
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok && pg.ConstraintName == "locations_by_name" {
		return ship.Coded(ship.Conflict, "location_exists", "the account already has a location with this name")
	}
	if err != nil {
		return err
	}

	entry := EntryOf(t, action, string(location.ID))
	entry.Details = map[string]string{"name": location.Name}
	return s.AuditChange(ctx, entry)
}

const sqlDeleteLocation = `DELETE FROM locations WHERE account_id = $1 AND livemode = $2 AND id = $3`

// DeleteLocation deletes a location; ship.NotFound if there is none. What was sent
// from it keeps its address and its name.
func (s *Store) DeleteLocation(ctx context.Context, t ship.Tenant, id ship.LocationID) error {
	n, err := s.change(ctx, t, EntryOf(t, "location.removed", string(id)), sqlDeleteLocation, t.Account, t.Livemode, id)
	if err == nil && n == 0 {
		return ship.Coded(ship.NotFound, "location_not_found", "no such location")
	}
	return err
}
