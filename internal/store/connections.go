package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/waybillhq/waybill/internal/ship"
)

// A Connection is a carrier account of a tenant as stored. What is secret in
// it is sealed.
type Connection struct {
	ID          ship.ConnectionID
	Tenant      ship.Tenant
	Carrier     string
	Name        string
	WrappedKey  []byte            // the data key, sealed
	Credentials []byte            // sealed with the data key
	Hint        map[string]string // the fields that are not secret
	Enabled     bool
	CreatedAt   time.Time
	RemovedAt   time.Time
	CheckedAt   time.Time
	CheckResult []byte   // JSON; nil before the first check
	Version     int      // counts the changes of what it is opened with
	Confirmed   []string // its abilities that have worked, of those without a source
}

const connectionColumns = `c.id, c.account_id, c.livemode, c.carrier, c.name, c.wrapped_key, c.encrypted_credentials, c.public_fields,
  c.enabled, c.created_at, c.removed_at, c.checked_at, c.check_result, c.version, c.confirmed`

func scanConnection(r pgx.CollectableRow) (Connection, error) {
	var (
		connection           Connection
		removedAt, checkedAt *time.Time
	)
	err := r.Scan(
		&connection.ID,
		&connection.Tenant.Account,
		&connection.Tenant.Livemode,
		&connection.Carrier,
		&connection.Name,
		&connection.WrappedKey,
		&connection.Credentials,
		&connection.Hint,
		&connection.Enabled,
		&connection.CreatedAt,
		&removedAt,
		&checkedAt,
		&connection.CheckResult,
		&connection.Version,
		&connection.Confirmed,
	)

	connection.CreatedAt = connection.CreatedAt.UTC()
	connection.RemovedAt = timeOrZero(removedAt)
	connection.CheckedAt = timeOrZero(checkedAt)
	return connection, err
}

const sqlAddConnection = `
INSERT INTO connections (id, account_id, livemode, carrier, name, wrapped_key, encrypted_credentials, public_fields)
VALUES (@id, @account, @livemode, @carrier, @name, @key, @credentials, @public_fields)`

// AddConnection stores a new connection. It is ship.Conflict if the tenant has
// one of the carrier under that name.
func (s *Store) AddConnection(ctx context.Context, c Connection) error {
	entry := EntryOf(c.Tenant, "connection.made", string(c.ID))
	entry.Details = map[string]string{"carrier": c.Carrier, "name": c.Name}
	_, err := s.change(ctx, c.Tenant, entry, sqlAddConnection, connectionArgs(c))
	return explainTakenName(err)
}

func connectionArgs(c Connection) pgx.NamedArgs {
	hint := c.Hint
	if hint == nil {
		hint = map[string]string{}
	}

	return tenantArgs(c.Tenant, c.ID, pgx.NamedArgs{
		"carrier":       c.Carrier,
		"name":          c.Name,
		"key":           c.WrappedKey,
		"credentials":   c.Credentials,
		"public_fields": hint,
		"version":       c.Version,
	})
}

// explainTakenName returns err, or the conflict that it means. The statement's
// error could show the row with its credentials, so none of it is kept.
func explainTakenName(err error) error {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok && pg.ConstraintName == "connections_by_name" {
		return ship.Coded(ship.Conflict, "connection_exists", "the account already has a connection to this carrier with that name")
	}
	return err
}

const sqlConnections = `
SELECT ` + connectionColumns + ` FROM connections c
WHERE c.account_id = $1 AND c.livemode = $2 AND c.removed_at IS NULL
ORDER BY c.id`

// Connections lists the tenant's connections that are not removed, oldest
// first.
func (s *Store) Connections(ctx context.Context, t ship.Tenant) ([]Connection, error) {
	return queryList(ctx, s, t, scanConnection, sqlConnections, t.Account, t.Livemode)
}

const sqlConnection = `SELECT ` + connectionColumns + ` FROM connections c WHERE c.account_id = $1 AND c.livemode = $2 AND c.id = $3`

// Connection returns a connection of the tenant, also one that is removed;
// ship.NotFound if there is none.
func (s *Store) Connection(ctx context.Context, t ship.Tenant, id ship.ConnectionID) (Connection, error) {
	connection, err := queryOne(ctx, s, t, scanConnection, sqlConnection, t.Account, t.Livemode, id)
	return connection, explainMissing(err)
}

// explainMissing returns err, or the error of a connection that does not exist.
func explainMissing(err error) error {
	if ship.KindOf(err) == ship.NotFound {
		return ship.Errorf(ship.NotFound, "no such connection")
	}
	return err
}

// A LiveConnectionKey is the wrapped data key of a live connection.
type LiveConnectionKey struct {
	Wrapped []byte
	Removed bool // the connection is; its credentials are kept
}

const sqlLiveConnectionKeys = `SELECT c.wrapped_key, c.removed_at IS NOT NULL FROM connections c WHERE c.livemode`

// LiveConnectionKeys returns the wrapped data keys of all live connections, of
// all accounts.
func (s *Store) LiveConnectionKeys(ctx context.Context) ([]LiveConnectionKey, error) {
	return selectList(ctx, s.sys, pgx.RowToStructByPos[LiveConnectionKey], sqlLiveConnectionKeys)
}

const sqlLiveCarriers = `SELECT DISTINCT c.carrier FROM connections c WHERE c.livemode AND c.removed_at IS NULL ORDER BY c.carrier`

// LiveCarriers lists the carriers that live connections of any account lead to.
func (s *Store) LiveCarriers(ctx context.Context) ([]string, error) {
	return selectList(ctx, s.sys, pgx.RowTo[string], sqlLiveCarriers)
}

const sqlFindConnection = `SELECT ` + connectionColumns + ` FROM connections c WHERE c.id = $1`

// FindConnection returns a connection of any tenant, for operators and for
// what carriers push; ship.NotFound if there is none.
func (s *Store) FindConnection(ctx context.Context, id ship.ConnectionID) (Connection, error) {
	connection, err := selectOne(ctx, s.sys, scanConnection, sqlFindConnection, id)
	if ship.KindOf(err) == ship.NotFound {
		if elsewhere := s.Elsewhere(ctx, id.Raw().Shard()); elsewhere != nil {
			return connection, elsewhere
		}
	}
	return connection, explainMissing(err)
}

const sqlConnectionPage = `SELECT ` + connectionColumns + ` FROM connections c WHERE c.id > $1 ORDER BY c.id LIMIT $2`

// ConnectionPage lists connections of all tenants in the order of their ids,
// removed ones too, those after the given one.
func (s *Store) ConnectionPage(ctx context.Context, after ship.ConnectionID, limit int) ([]Connection, error) {
	list, err := selectList(ctx, s.sys, scanConnection, sqlConnectionPage, after, limit)
	if err != nil {
		return nil, fmt.Errorf("connections: %w", err)
	}
	return list, nil
}

const sqlHasOpenPurchases = `
SELECT EXISTS (
  SELECT FROM shipment_states st
  JOIN purchase_attempts a ON a.account_id = st.account_id AND a.livemode = st.livemode AND a.shipment_id = st.id
  WHERE st.account_id = $1 AND st.livemode = $2 AND st.state IN ('purchasing', 'uncertain') AND a.connection_id = $3)`

// HasOpenPurchases reports whether the outcome of a purchase that was tried with the
// connection is not known.
func (s *Store) HasOpenPurchases(ctx context.Context, t ship.Tenant, id ship.ConnectionID) (has bool, err error) {
	err = s.queryRow(ctx, t, func(r pgx.Row) error { return r.Scan(&has) }, sqlHasOpenPurchases, t.Account, t.Livemode, id)
	return has, err
}

// sqlChangeConnection changes nothing if the version is not the one that was
// read: somebody else has changed the connection since.
const sqlChangeConnection = `
UPDATE connections SET
  name = @name,
  wrapped_key = @key,
  encrypted_credentials = @credentials,
  public_fields = @public_fields,
  version = version + 1
WHERE account_id = @account AND livemode = @livemode AND id = @id AND version = @version`

// ChangeConnection writes the name and the credentials of a connection that
// was read as c. It is ship.Conflict if somebody changed it meanwhile.
func (s *Store) ChangeConnection(ctx context.Context, c Connection) error {
	entry := EntryOf(c.Tenant, "connection.changed", string(c.ID))
	n, err := s.change(ctx, c.Tenant, entry, sqlChangeConnection, connectionArgs(c))
	if err == nil && n == 0 {
		err = ship.Errorf(ship.Conflict, "the connection was changed in the meantime; load it again and retry")
	}
	return explainTakenName(err)
}

const sqlRemoveConnection = `
UPDATE connections SET removed_at = now(), version = version + 1
WHERE account_id = $1 AND livemode = $2 AND id = $3 AND removed_at IS NULL`

// RemoveConnection takes a connection out of use; ship.NotFound if there is
// none. It is kept for what was bought through it.
func (s *Store) RemoveConnection(ctx context.Context, t ship.Tenant, id ship.ConnectionID) error {
	entry := EntryOf(t, "connection.removed", string(id))
	n, err := s.change(ctx, t, entry, sqlRemoveConnection, t.Account, t.Livemode, id)
	if err == nil && n == 0 {
		err = ship.Errorf(ship.NotFound, "no such connection")
	}
	return err
}

const sqlSetChecked = `
UPDATE connections SET checked_at = $4, check_result = $5
WHERE account_id = $1 AND livemode = $2 AND id = $3`

// SetChecked records what a check found, as JSON.
func (s *Store) SetChecked(ctx context.Context, t ship.Tenant, id ship.ConnectionID, at time.Time, result []byte) error {
	_, err := s.exec(ctx, t, sqlSetChecked, t.Account, t.Livemode, id, at, result)
	return err
}

const sqlConfirmAbility = `
UPDATE connections SET confirmed = array_append(confirmed, $4)
WHERE account_id = $1 AND livemode = $2 AND id = $3 AND NOT $4 = ANY (confirmed)`

// ConfirmAbility records that an ability of a connection has worked.
func (s *Store) ConfirmAbility(ctx context.Context, t ship.Tenant, id ship.ConnectionID, ability string) error {
	_, err := s.exec(ctx, t, sqlConfirmAbility, t.Account, t.Livemode, id, ability)
	return err
}

// sqlUsedAbilities looks at the newest attempts of the tenant only, as sqlControlPurchase
// does. A void that is open may still be refused.
const sqlUsedAbilities = `
SELECT
  count(*) > 0,
  coalesce(bool_or(s.state IN ('voided', 'refund_pending')), false),
  coalesce(bool_or(s.status NOT IN ('created', 'label_generated')), false),
  EXISTS (
    SELECT FROM connection_lookups l
    WHERE l.account_id = @account AND l.livemode = @livemode AND l.connection_id = @connection
      AND (l.control_found OR l.raised_ms IS NOT NULL OR cardinality(l.measured_ms) > 0)
  )
FROM (
  SELECT account_id, livemode, shipment_id, connection_id, outcome
  FROM purchase_attempts
  WHERE account_id = @account AND livemode = @livemode
  ORDER BY shipment_id DESC LIMIT 50000
) a
JOIN shipment_states s ON s.account_id = a.account_id AND s.livemode = a.livemode AND s.id = a.shipment_id
WHERE a.connection_id = @connection AND a.outcome = 'purchased'`

// UsedAbilities says what a connection has done before, as far as it shows.
type UsedAbilities struct {
	Buy   bool
	Void  bool
	Track bool
	Find  bool // a look-up found a purchase
}

// UsedAbilities returns what a connection has done before.
func (s *Store) UsedAbilities(ctx context.Context, t ship.Tenant, id ship.ConnectionID) (UsedAbilities, error) {
	return queryOne(ctx, s, t, pgx.RowToStructByPos[UsedAbilities], sqlUsedAbilities, pgx.NamedArgs{
		"account":    t.Account,
		"livemode":   t.Livemode,
		"connection": id,
	})
}

// sqlRewrapConnection does not count as a change: what the connection is
// opened with stays the same.
const sqlRewrapConnection = `
UPDATE connections SET wrapped_key = @to
WHERE id = @id AND version = @version AND wrapped_key = @from`

// rewrapPage is how many connections are read at once.
const rewrapPage = 200

// RewrapConnections gives every connection to rewrap, and stores the wrapped
// key that it returns; nil leaves a connection as it is. No transaction is
// open meanwhile. A connection that somebody else changes in between is left
// to them. It reports how many were stored.
func (s *Store) RewrapConnections(ctx context.Context, rewrap func(context.Context, Connection) []byte) (stored int, err error) {
	var after ship.ConnectionID
	for {
		page, err := s.ConnectionPage(ctx, after, rewrapPage)
		if err != nil || len(page) == 0 {
			return stored, err
		}

		for _, connection := range page {
			key := rewrap(ctx, connection)
			if key == nil {
				continue
			}

			// It stores nothing if somebody changed the connection meanwhile: then
			// it is theirs to wrap the key.
			entry := EntryOf(connection.Tenant, "connection.key_rotated", string(connection.ID))
			n, err := s.changeSystem(ctx, entry, sqlRewrapConnection, pgx.NamedArgs{
				"id":      connection.ID,
				"version": connection.Version,
				"from":    connection.WrappedKey,
				"to":      key,
			})
			if err != nil {
				return stored, fmt.Errorf("rewrap %s: %w", connection.ID, err)
			}
			stored += n
		}
		after = page[len(page)-1].ID
	}
}
