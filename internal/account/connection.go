package account

import (
	"context"
	"encoding/json"
	"maps"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/config"
	"github.com/waybillhq/waybill/internal/seal"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// A Connection is a carrier account that a client has connected, without its
// secrets: they are written and never given back.
type Connection struct {
	ID        ship.ConnectionID
	Tenant    ship.Tenant
	Carrier   string
	Name      string
	Fields    map[string]string // those that are not secret
	Enabled   bool
	CreatedAt time.Time
	RemovedAt time.Time
	CheckedAt time.Time
	Findings  []Finding // of the last check
	Problem   string    // why it cannot be used at all; empty if it can
}

// AddConnectionInput is a carrier account to connect.
type AddConnectionInput struct {
	Tenant      ship.Tenant
	Carrier     string
	Name        string // the carrier's own if empty
	Credentials carrier.Credentials
}

const (
	maxConnectionName = 100
	maxCredential     = 8192 // a private key fits
)

// AddConnection connects a carrier account. The credentials are checked
// against the carrier's fields; whether the carrier accepts them is told by
// CheckConnection.
func (s *Service) AddConnection(ctx context.Context, in AddConnectionInput) (Connection, error) {
	row, err := s.newRow(ctx, in)
	if err != nil {
		return Connection{}, err
	}
	return s.add(ctx, row)
}

// CanConnect says why credentials of the mode cannot be stored; nil if they
// can. Live ones need a key from outside the database: with a key beside them,
// whoever reads a backup could buy labels.
func (s *Service) CanConnect(live bool) error {
	if live && s.keyInDatabase {
		return ship.Coded(ship.Conflict, "secret_key_required", "live carrier credentials need an encryption key that is not in the database: %s", config.HowToSetOutsideKey)
	}
	return nil
}

// newRow is a connection that is not stored yet.
func (s *Service) newRow(ctx context.Context, in AddConnectionInput) (store.Connection, error) {
	if err := s.CanConnect(in.Tenant.Livemode); err != nil {
		return store.Connection{}, err
	}
	if _, err := s.store.Account(ctx, in.Tenant.Account); err != nil {
		return store.Connection{}, err
	}
	spec, err := s.spec(in.Carrier)
	if err != nil {
		return store.Connection{}, err
	}
	row := store.Connection{
		ID: ship.NewConnectionID(in.Tenant.Shard(), time.Now()), Tenant: in.Tenant, Carrier: spec.Name, Name: strings.TrimSpace(in.Name),
		Enabled: true, CreatedAt: time.Now().UTC(),
	}
	if row.Name == "" {
		row.Name = spec.Title
	}
	err = s.fill(ctx, &row, spec, tidy(in.Credentials))
	return row, err
}

func (s *Service) add(ctx context.Context, row store.Connection) (Connection, error) {
	if err := s.store.AddConnection(ctx, row); err != nil {
		return Connection{}, err
	}
	s.lists.Invalidate(row.Tenant)
	return connectionOf(row), nil
}

// UpdateConnectionInput is what changes of a connection.
type UpdateConnectionInput struct {
	Tenant      ship.Tenant
	ID          ship.ConnectionID
	Name        string              // empty leaves it
	Credentials carrier.Credentials // those that are given; the others stay. An empty one is taken away
}

// UpdateConnection changes the credentials of a connection: shipments keep it.
// Credentials that can no longer be decrypted are replaced as a whole.
func (s *Service) UpdateConnection(ctx context.Context, in UpdateConnectionInput) (Connection, error) {
	row, err := s.changedRow(ctx, in)
	if err != nil {
		return Connection{}, err
	}
	return s.change(ctx, row)
}

// changedRow is the connection as it would be.
func (s *Service) changedRow(ctx context.Context, in UpdateConnectionInput) (store.Connection, error) {
	if err := s.CanConnect(in.Tenant.Livemode); err != nil {
		return store.Connection{}, err
	}
	row, err := s.store.Connection(ctx, in.Tenant, in.ID)
	if err != nil {
		return row, err
	}
	spec, err := s.spec(row.Carrier)
	if err != nil {
		return row, err
	}
	present, err := s.unseal(ctx, row)
	if err != nil && ship.KindOf(err) != ship.Conflict {
		return row, err
	}
	if present == nil {
		present = carrier.Credentials{}
	}
	maps.Copy(present, in.Credentials)
	if name := strings.TrimSpace(in.Name); name != "" {
		row.Name = name
	}
	err = s.fill(ctx, &row, spec, tidy(present))
	return row, err
}

func (s *Service) change(ctx context.Context, row store.Connection) (Connection, error) {
	if err := s.store.ChangeConnection(ctx, row); err != nil {
		return Connection{}, err
	}
	s.lists.Invalidate(row.Tenant)
	return connectionOf(row), nil
}

// fill checks the name and the credentials, and encrypts them into the row.
func (s *Service) fill(ctx context.Context, row *store.Connection, spec carrier.Spec, given carrier.Credentials) error {
	var wrong []ship.FieldError
	if utf8.RuneCountInString(row.Name) > maxConnectionName || strings.ContainsFunc(row.Name, unicode.IsControl) {
		wrong = append(wrong, ship.FieldError{Pointer: "/name", Code: "invalid", Detail: "is too long or has characters that cannot be printed"})
	}
	for name, value := range given {
		if len(value) > maxCredential || !utf8.ValidString(value) {
			wrong = append(wrong, ship.FieldError{Pointer: "/" + name, Code: "invalid", Detail: "is too long or is not text"})
		}
	}
	if err := ship.InvalidFields(wrong); err != nil {
		return err
	}
	if _, err := s.openWith(row.Tenant, row.ID, row.Carrier, given); err != nil {
		return err
	}
	row.Hint = map[string]string{}
	for _, f := range spec.Fields {
		if v := given[f.Name]; v != "" && !f.Secret {
			row.Hint[f.Name] = v
		}
	}
	return s.seal(ctx, row, given)
}

// tidy drops what is empty and the white space that copying brings along.
func tidy(given carrier.Credentials) carrier.Credentials {
	clean := carrier.Credentials{}
	for name, value := range given {
		if value = strings.TrimSpace(value); value != "" {
			clean[name] = value
		}
	}
	return clean
}

// Connections lists the tenant's connections, oldest first. One that cannot be
// opened has a Problem.
func (s *Service) Connections(ctx context.Context, t ship.Tenant) ([]Connection, error) {
	rows, err := s.store.Connections(ctx, t)
	if err != nil {
		return nil, err
	}
	list := make([]Connection, len(rows))
	for i, row := range rows {
		list[i] = connectionOf(row)
		if _, err := s.open(ctx, row); err != nil {
			list[i].Problem = problemOf(err)
		}
	}
	return list, nil
}

// FindConnection is a connection of any tenant, for operators.
func (s *Service) FindConnection(ctx context.Context, id ship.ConnectionID) (Connection, error) {
	row, err := s.store.FindConnection(ctx, id)
	return connectionOf(row), err
}

// RemoveConnection takes a connection out of use. It is kept: what was bought
// through it can still be settled and voided.
func (s *Service) RemoveConnection(ctx context.Context, t ship.Tenant, id ship.ConnectionID) error {
	err := s.store.RemoveConnection(ctx, t, id)
	s.lists.Invalidate(t)
	return err
}

func connectionOf(row store.Connection) Connection {
	c := Connection{
		ID: row.ID, Tenant: row.Tenant, Carrier: row.Carrier, Name: row.Name, Fields: row.Hint, Enabled: row.Enabled,
		CreatedAt: row.CreatedAt, RemovedAt: row.RemovedAt, CheckedAt: row.CheckedAt,
	}
	if json.Unmarshal(row.CheckResult, &c.Findings) != nil {
		c.Findings = nil // written by another version
	}
	return c
}

// A Rotation is what became of the wrapped keys of all connections.
type Rotation struct {
	Rewrapped int                 // are under the present key since now
	Current   int                 // were already
	Failed    []ship.ConnectionID // cannot be decrypted, or not now
}

// rotatePasses bounds how often what others write meanwhile is gone over.
const rotatePasses = 3

// RotateConnections brings the data keys of all connections, removed ones too,
// under the present key. Connections are used, added and changed meanwhile.
// With all, those under the present key are wrapped again too, for a key
// service that makes new versions of its key. The old key is needed until this
// has ended without failures.
func (s *Service) RotateConnections(ctx context.Context, all bool) (Rotation, error) {
	var done Rotation
	if s.wrapper == nil {
		return done, ship.Errorf(ship.Unavailable, "there is no key to encrypt credentials with")
	}
	for pass := range rotatePasses {
		seen, tried := Rotation{}, 0
		n, err := s.store.RewrapConnections(ctx, func(ctx context.Context, row store.Connection) []byte {
			if !s.wrapper.Old(row.WrappedKey) && (!all || pass > 0) {
				seen.Current++
				return nil
			}
			e, err := seal.Envelope{Key: row.WrappedKey, Secret: row.Credentials}.Rewrap(ctx, s.wrapper, place(row.Tenant, row.ID, row.Carrier)...)
			if err != nil {
				s.log.WarnContext(ctx, "connection not rewrapped", "connection", row.ID, "carrier", row.Carrier, "error", errSealed(err))
				seen.Failed = append(seen.Failed, row.ID)
				return nil
			}
			tried++
			return e.Key
		})
		done.Rewrapped, done.Failed = done.Rewrapped+n, seen.Failed
		if pass == 0 {
			done.Current = seen.Current
		}
		if err != nil || tried == 0 {
			return done, err
		}
	}
	return done, nil
}
