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
	Findings  []Finding         // of the last check
	Problem   string            // why it cannot be used at all; empty if it can
	Off       []carrier.Ability // abilities that are off until they are confirmed; in lists alone
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
// against the carrier's fields only; CheckConnection finds out whether the
// carrier accepts them.
func (s *Service) AddConnection(ctx context.Context, in AddConnectionInput) (Connection, error) {
	row, err := s.newRow(ctx, in)
	if err != nil {
		return Connection{}, err
	}
	return s.add(ctx, row)
}

// CanConnect returns why credentials of the mode cannot be stored; nil if they
// can. Live ones need a key from outside the database: with a key beside them,
// whoever reads a backup could buy labels.
func (s *Service) CanConnect(live bool) error {
	if live && s.keyInDatabase {
		return ship.Coded(ship.Conflict, "secret_key_required", "live carrier credentials need an encryption key that is not in the database: %s", config.HowToSetOutsideKey)
	}
	return nil
}

// newRow returns a connection that is not stored yet.
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
	if spec.Retired {
		return store.Connection{}, ship.InvalidFields([]ship.FieldError{{Pointer: "/carrier", Code: "invalid", Detail: "is no longer offered by this installation"}})
	}

	row := store.Connection{
		ID:        ship.NewConnectionID(in.Tenant.Shard(), time.Now()),
		Tenant:    in.Tenant,
		Carrier:   spec.Name,
		Name:      strings.TrimSpace(in.Name),
		Enabled:   true,
		CreatedAt: time.Now().UTC(),
	}
	if row.Name == "" {
		row.Name = spec.Title
	}
	err = s.fill(ctx, &row, spec, trimCredentials(in.Credentials))
	return row, err
}

func (s *Service) add(ctx context.Context, row store.Connection) (Connection, error) {
	if err := s.store.AddConnection(ctx, row); err != nil {
		return Connection{}, err
	}
	s.lists.Invalidate(row.Tenant)
	return newConnection(row), nil
}

// UpdateConnectionInput is what changes of a connection.
type UpdateConnectionInput struct {
	Tenant      ship.Tenant
	ID          ship.ConnectionID
	Name        string              // empty leaves it
	Credentials carrier.Credentials // those that are given; the others stay. An empty one is removed
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

// changedRow returns the connection as it would be after the update.
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

	// Credentials that cannot be decrypted are replaced as a whole. If the key
	// service just does not answer, the update fails: it would drop the fields
	// that are not given.
	credentials, err := s.unseal(ctx, row)
	if err != nil && ship.KindOf(err) != ship.Conflict {
		return row, err
	}
	if credentials == nil {
		credentials = carrier.Credentials{}
	}
	maps.Copy(credentials, in.Credentials)

	if name := strings.TrimSpace(in.Name); name != "" {
		row.Name = name
	}
	was := row.Hint
	if err := s.fill(ctx, &row, spec, trimCredentials(credentials)); err != nil {
		return row, err
	}
	if maps.Equal(was, row.Hint) {
		return row, nil
	}
	return row, s.requireSettled(ctx, row)
}

// requireSettled returns an error while the outcome of a purchase with the connection
// is not known. The carrier would be asked for it as another account, deny it, and
// the label would be lost.
func (s *Service) requireSettled(ctx context.Context, row store.Connection) error {
	isOpen, err := s.store.HasOpenPurchases(ctx, row.Tenant, row.ID)
	if err == nil && isOpen {
		return ship.Errorf(ship.Conflict, "purchases with this connection are not settled yet, and the carrier is asked for them with its present account; "+
			"change the secrets alone, wait until they are settled, or add another connection")
	}
	return err
}

func (s *Service) change(ctx context.Context, row store.Connection) (Connection, error) {
	if err := s.store.ChangeConnection(ctx, row); err != nil {
		return Connection{}, err
	}
	s.lists.Invalidate(row.Tenant)
	return newConnection(row), nil
}

// fill validates the name and the credentials, and encrypts them into the row.
func (s *Service) fill(ctx context.Context, row *store.Connection, spec carrier.Spec, credentials carrier.Credentials) error {
	var invalid []ship.FieldError
	if utf8.RuneCountInString(row.Name) > maxConnectionName || strings.ContainsFunc(row.Name, unicode.IsControl) {
		invalid = append(invalid, ship.FieldError{Pointer: "/name", Code: "invalid", Detail: "is too long or has non-printable characters"})
	}
	for name, value := range credentials {
		if len(value) > maxCredential || !utf8.ValidString(value) {
			invalid = append(invalid, ship.FieldError{Pointer: "/" + name, Code: "invalid", Detail: "is too long or is not text"})
		}
	}
	if err := ship.InvalidFields(invalid); err != nil {
		return err
	}

	// Opening the carrier validates the credentials against its fields.
	if _, err := s.openWith(row.Tenant, row.ID, row.Carrier, credentials); err != nil {
		return err
	}

	row.Hint = map[string]string{}
	for _, field := range spec.Fields {
		if value := credentials[field.Name]; value != "" && !field.Secret {
			row.Hint[field.Name] = value
		}
	}
	return s.seal(ctx, row, credentials)
}

// trimCredentials drops empty values, and the white space that copying brings
// along.
func trimCredentials(credentials carrier.Credentials) carrier.Credentials {
	trimmed := carrier.Credentials{}
	for name, value := range credentials {
		if value = strings.TrimSpace(value); value != "" {
			trimmed[name] = value
		}
	}
	return trimmed
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
		list[i] = newConnection(row)
		opened, err := s.open(ctx, row)
		if err != nil {
			list[i].Problem = openingProblem(err)
			continue
		}
		list[i].Off = opened.Off()
	}
	return list, nil
}

// FindConnection returns a connection of any tenant, for operators.
func (s *Service) FindConnection(ctx context.Context, id ship.ConnectionID) (Connection, error) {
	row, err := s.store.FindConnection(ctx, id)
	return newConnection(row), err
}

// RemoveConnection takes a connection out of use. It is kept: what was bought
// through it can still be settled and voided.
func (s *Service) RemoveConnection(ctx context.Context, t ship.Tenant, id ship.ConnectionID) error {
	err := s.store.RemoveConnection(ctx, t, id)
	s.lists.Invalidate(t)
	return err
}

func newConnection(row store.Connection) Connection {
	connection := Connection{
		ID:        row.ID,
		Tenant:    row.Tenant,
		Carrier:   row.Carrier,
		Name:      row.Name,
		Fields:    row.Hint,
		Enabled:   row.Enabled,
		CreatedAt: row.CreatedAt,
		RemovedAt: row.RemovedAt,
		CheckedAt: row.CheckedAt,
	}

	// A result that cannot be read was written by another version.
	if json.Unmarshal(row.CheckResult, &connection.Findings) != nil {
		connection.Findings = nil
	}
	return connection
}

// A Rotation is what became of the wrapped keys of all connections.
type Rotation struct {
	Rewrapped int                 // are under the present key since now
	Current   int                 // were already
	Failed    []ship.ConnectionID // cannot be decrypted, or not now
}

// rotatePasses bounds how often the connections are gone over for what others
// have written meanwhile.
const rotatePasses = 3

// RotateConnections brings the data keys of all connections, removed ones too,
// under the present key. Connections are used, added and changed meanwhile.
// With all, those under the present key are wrapped again too, for a key
// service that makes new versions of its key. The old key is needed until this
// has ended without failures.
func (s *Service) RotateConnections(ctx context.Context, all bool) (Rotation, error) {
	var done Rotation
	if s.wrapper == nil {
		return done, ship.Errorf(ship.Unavailable, "no key is configured to encrypt credentials: set SECRET_KEY, SECRET_KEY_FILE or SECRET_KMS")
	}

	// Other processes may add or change a connection under the old key while a
	// pass runs, so passes are repeated until one has nothing to rewrap.
	for pass := range rotatePasses {
		var current, rewrapped int
		var failed []ship.ConnectionID
		stored, err := s.store.RewrapConnections(ctx, func(ctx context.Context, row store.Connection) []byte {
			if !s.wrapper.Old(row.WrappedKey) && (!all || pass > 0) {
				current++
				return nil
			}

			envelope := seal.Envelope{Key: row.WrappedKey, Secret: row.Credentials}
			envelope, err := envelope.Rewrap(ctx, s.wrapper, bindingOf(row)...)
			if err != nil {
				s.log.WarnContext(ctx, "connection not re-encrypted with the current key", "connection", row.ID, "carrier", row.Carrier, "error", unsealError(err))
				failed = append(failed, row.ID)
				return nil
			}
			rewrapped++
			return envelope.Key
		})

		// Later passes see what the first one rewrapped as current, and try
		// its failures again.
		done.Rewrapped += stored
		done.Failed = failed
		if pass == 0 {
			done.Current = current
		}
		if err != nil || rewrapped == 0 {
			return done, err
		}
	}
	return done, nil
}
