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
	CheckResult []byte // JSON; nil before the first check
	Version     int    // counts the changes of what it is opened with
}

const connectionColumns = `c.id, c.account_id, c.livemode, c.carrier, c.name, c.wrapped_key, c.encrypted_credentials, c.public_fields, c.enabled, c.created_at, c.removed_at, c.checked_at, c.check_result, c.version`

func scanConnection(r pgx.Row) (Connection, error) {
	var (
		c                Connection
		id, account      [16]byte
		removed, checked *time.Time
	)
	err := r.Scan(&id, &account, &c.Tenant.Livemode, &c.Carrier, &c.Name, &c.WrappedKey, &c.Credentials, &c.Hint, &c.Enabled, &c.CreatedAt, &removed, &checked, &c.CheckResult, &c.Version)
	c.ID, c.Tenant.Account = ship.ConnectionIDOf(id), ship.AccountIDOf(account)
	c.CreatedAt, c.RemovedAt, c.CheckedAt = c.CreatedAt.UTC(), timeOrZero(removed), timeOrZero(checked)
	return c, err
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
	return nameTaken(err)
}

func connectionArgs(c Connection) pgx.NamedArgs {
	hint := c.Hint
	if hint == nil {
		hint = map[string]string{}
	}
	return tenantArgs(c.Tenant, c.ID.Raw(), pgx.NamedArgs{
		"carrier":       c.Carrier,
		"name":          c.Name,
		"key":           c.WrappedKey,
		"credentials":   c.Credentials,
		"public_fields": hint,
		"version":       c.Version,
	})
}

// nameTaken is err, or the conflict that it means. The statement's error could
// show the row, so none of it is kept.
func nameTaken(err error) error {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok && pg.ConstraintName == "connections_by_name" {
		return ship.Coded(ship.Conflict, "connection_exists", "the account has a connection of this carrier with that name")
	}
	return err
}

const sqlConnections = `
SELECT ` + connectionColumns + ` FROM connections c
WHERE c.account_id = $1 AND c.livemode = $2 AND c.removed_at IS NULL ORDER BY c.id`

// Connections lists the tenant's connections that are not removed, oldest
// first.
func (s *Store) Connections(ctx context.Context, t ship.Tenant) ([]Connection, error) {
	var list []Connection
	err := s.queryRows(ctx, t, func(r pgx.Rows) error {
		c, err := scanConnection(r)
		list = append(list, c)
		return err
	}, sqlConnections, [16]byte(t.Account.Raw()), t.Livemode)
	return list, err
}

const sqlConnection = `SELECT ` + connectionColumns + ` FROM connections c WHERE c.account_id = $1 AND c.livemode = $2 AND c.id = $3`

// Connection returns a connection of the tenant, also one that is removed;
// ship.NotFound if there is none.
func (s *Store) Connection(ctx context.Context, t ship.Tenant, id ship.ConnectionID) (Connection, error) {
	var c Connection
	err := s.queryRow(ctx, t, func(r pgx.Row) (err error) {
		c, err = scanConnection(r)
		return err
	}, sqlConnection, [16]byte(t.Account.Raw()), t.Livemode, [16]byte(id.Raw()))
	return c, noConnection(err)
}

func noConnection(err error) error {
	if ship.KindOf(err) == ship.NotFound {
		return ship.Errorf(ship.NotFound, "no such connection")
	}
	return err
}

const sqlLiveConnectionKeys = `SELECT c.wrapped_key FROM connections c WHERE c.livemode AND c.removed_at IS NULL`

// LiveConnectionKeys returns the wrapped data keys of all live connections that
// are in use, of all accounts.
func (s *Store) LiveConnectionKeys(ctx context.Context) ([][]byte, error) {
	rows, err := s.sys.Query(ctx, sqlLiveConnectionKeys)
	if err != nil {
		return nil, explain(err)
	}
	keys, err := pgx.CollectRows(rows, pgx.RowTo[[]byte])
	return keys, explain(err)
}

const sqlFindConnection = `SELECT ` + connectionColumns + ` FROM connections c WHERE c.id = $1`

// FindConnection returns a connection of any tenant, for operators and for
// what carriers push; ship.NotFound if there is none.
func (s *Store) FindConnection(ctx context.Context, id ship.ConnectionID) (Connection, error) {
	c, err := scanConnection(s.sys.QueryRow(ctx, sqlFindConnection, [16]byte(id.Raw())))
	return c, noConnection(explain(err))
}

const sqlConnectionPage = `SELECT ` + connectionColumns + ` FROM connections c WHERE c.id > $1 ORDER BY c.id LIMIT $2`

// ConnectionPage lists connections of all tenants in the order of their ids,
// removed ones too, from behind the given one.
func (s *Store) ConnectionPage(ctx context.Context, after ship.ConnectionID, most int) ([]Connection, error) {
	rows, err := s.sys.Query(ctx, sqlConnectionPage, [16]byte(after.Raw()), most)
	if err != nil {
		return nil, fmt.Errorf("connections: %w", explain(err))
	}
	var list []Connection
	err = each(rows, func(r pgx.Rows) error {
		c, err := scanConnection(r)
		list = append(list, c)
		return err
	})
	return list, explain(err)
}

const sqlChangeConnection = `
UPDATE connections SET name = @name, wrapped_key = @key, encrypted_credentials = @credentials, public_fields = @public_fields, version = version + 1
WHERE account_id = @account AND livemode = @livemode AND id = @id AND version = @version`

// ChangeConnection writes the name and the credentials of a connection that
// was read as c. It is ship.Conflict if somebody changed it meanwhile.
func (s *Store) ChangeConnection(ctx context.Context, c Connection) error {
	n, err := s.change(ctx, c.Tenant, EntryOf(c.Tenant, "connection.changed", string(c.ID)), sqlChangeConnection, connectionArgs(c))
	if err == nil && n == 0 {
		err = ship.Errorf(ship.Conflict, "the connection was changed meanwhile")
	}
	return nameTaken(err)
}

const sqlRemoveConnection = `
UPDATE connections SET removed_at = now(), version = version + 1
WHERE account_id = $1 AND livemode = $2 AND id = $3 AND removed_at IS NULL`

// RemoveConnection takes a connection out of use; ship.NotFound if there is
// none. It is kept for what was bought through it.
func (s *Store) RemoveConnection(ctx context.Context, t ship.Tenant, id ship.ConnectionID) error {
	n, err := s.change(ctx, t, EntryOf(t, "connection.removed", string(id)), sqlRemoveConnection, [16]byte(t.Account.Raw()), t.Livemode, [16]byte(id.Raw()))
	if err == nil && n == 0 {
		err = ship.Errorf(ship.NotFound, "no such connection")
	}
	return err
}

const sqlSetChecked = `UPDATE connections SET checked_at = $4, check_result = $5 WHERE account_id = $1 AND livemode = $2 AND id = $3`

// SetChecked writes down what a check found, as JSON.
func (s *Store) SetChecked(ctx context.Context, t ship.Tenant, id ship.ConnectionID, at time.Time, result []byte) error {
	_, err := s.exec(ctx, t, sqlSetChecked, [16]byte(t.Account.Raw()), t.Livemode, [16]byte(id.Raw()), at, result)
	return err
}

// sqlRewrapConnection does not count as a change: what the connection is
// opened with stays the same.
const sqlRewrapConnection = `
UPDATE connections SET wrapped_key = @to WHERE id = @id AND version = @version AND wrapped_key = @from`

// rewrapPage is how many connections are read at once.
const rewrapPage = 200

// RewrapConnections gives every connection to rewrap, and stores the wrapped
// key that it returns; nil leaves a connection as it is. No transaction is
// open meanwhile. A connection that somebody else changes in between is left
// to them. It reports how many were stored.
func (s *Store) RewrapConnections(ctx context.Context, rewrap func(context.Context, Connection) []byte) (stored int, err error) {
	after := ship.ConnectionIDOf(ship.RawID{})
	for {
		page, err := s.ConnectionPage(ctx, after, rewrapPage)
		if err != nil || len(page) == 0 {
			return stored, err
		}
		for _, c := range page {
			key := rewrap(ctx, c)
			if key == nil {
				continue
			}
			n, err := s.changeSystem(ctx, EntryOf(c.Tenant, "connection.key_rotated", string(c.ID)), sqlRewrapConnection, pgx.NamedArgs{
				"id": [16]byte(c.ID.Raw()), "version": c.Version, "from": c.WrappedKey, "to": key,
			})
			if err != nil {
				return stored, fmt.Errorf("rewrap %s: %w", c.ID, err)
			}
			stored += n
		}
		after = page[len(page)-1].ID
	}
}
