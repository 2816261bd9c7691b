package account

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/url"
	"slices"
	"time"

	"github.com/maypok86/otter/v2"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/seal"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// connections are the parts of a Service that open carriers.
type connections struct {
	wrapper       seal.Wrapper
	keyInDatabase bool
	specs         []carrier.Spec
	via           func(carrier.Spec, string) carrier.Doer
	urls          map[string]string
	observe       Observe
	log           *slog.Logger

	pushSecret func(ship.ConnectionID) string

	lists  *otter.Cache[ship.Tenant, []*carrier.Carrier]
	opened *otter.Cache[openedKey, *carrier.Carrier]
}

// openedKey is a connection in one state of its credentials.
type openedKey struct {
	id      ship.ConnectionID
	version int
}

const (
	// listLife is for how long a tenant's list is believed without a look at
	// the database: a change by another process shows after that.
	listLife  = 10 * time.Second
	listsKept = 100_000
	// openedLife is for how long an opened connection outlives its last use.
	// It keeps its token, and the key service is not asked again.
	openedLife = time.Hour
	openedKept = 100_000
)

func newConnections(c Config) connections {
	return connections{
		wrapper:       c.Wrapper,
		keyInDatabase: c.KeyInDatabase,
		specs:         c.Specs,
		via:           c.Via,
		urls:          c.URLs,
		observe:       c.Observe,
		pushSecret:    c.PushSecret,
		log:           cmp.Or(c.Log, slog.New(slog.DiscardHandler)),
		lists: otter.Must(&otter.Options[ship.Tenant, []*carrier.Carrier]{
			MaximumSize:      listsKept,
			ExpiryCalculator: otter.ExpiryWriting[ship.Tenant, []*carrier.Carrier](listLife),
		}),
		opened: otter.Must(&otter.Options[openedKey, *carrier.Carrier]{
			MaximumSize:      openedKept,
			ExpiryCalculator: otter.ExpiryAccessing[openedKey, *carrier.Carrier](openedLife),
		}),
	}
}

// Specs are the carriers that can be connected.
func (s *Service) Specs() []carrier.Spec { return s.specs }

// Carriers are the tenant's own connections, opened, oldest first. One that
// cannot be opened is left out, and logged: it does not stop the others. The
// list is shared: it must not be changed.
func (s *Service) Carriers(ctx context.Context, t ship.Tenant) ([]*carrier.Carrier, error) {
	if len(s.specs) == 0 {
		return nil, nil
	}
	return s.lists.Get(ctx, t, otter.LoaderFunc[ship.Tenant, []*carrier.Carrier](s.loadCarriers))
}

func (s *Service) loadCarriers(ctx context.Context, t ship.Tenant) ([]*carrier.Carrier, error) {
	ctx = context.WithoutCancel(ctx) // others wait for the same list
	rows, err := s.store.Connections(ctx, t)
	if err != nil {
		return nil, err
	}
	list := make([]*carrier.Carrier, 0, len(rows))
	for _, row := range rows {
		if !row.Enabled {
			continue
		}
		c, err := s.open(ctx, row)
		if err != nil {
			s.log.WarnContext(ctx, "connection left out", "connection", row.ID, "carrier", row.Carrier, "kind", ship.KindOf(err), "error", err)
			continue
		}
		list = append(list, c)
	}
	return list, nil
}

// Carrier is one connection of the tenant, opened, also one that was removed
// or disabled: what was bought through it may have to be settled or voided. It
// is ship.NotFound if the tenant has none.
func (s *Service) Carrier(ctx context.Context, t ship.Tenant, id ship.ConnectionID) (*carrier.Carrier, error) {
	list, err := s.Carriers(ctx, t)
	if err != nil {
		return nil, err
	}
	if i := slices.IndexFunc(list, func(c *carrier.Carrier) bool { return c.Connection == id }); i >= 0 {
		return list[i], nil
	}
	row, err := s.store.Connection(ctx, t, id)
	if err != nil {
		return nil, err
	}
	return s.open(ctx, row)
}

// open returns the connection's carrier. One that is open already is used
// again as long as its credentials do not change.
func (s *Service) open(ctx context.Context, row store.Connection) (*carrier.Carrier, error) {
	key := openedKey{row.ID, row.Version}
	return s.opened.Get(ctx, key, otter.LoaderFunc[openedKey, *carrier.Carrier](func(ctx context.Context, _ openedKey) (*carrier.Carrier, error) {
		ctx = context.WithoutCancel(ctx) // others wait for the same connection
		given, err := s.unseal(ctx, row)
		if err != nil {
			return nil, err
		}
		c, err := s.openWith(row.Tenant, row.ID, row.Carrier, given)
		if err != nil {
			return nil, err
		}
		c.Label = row.Name
		return c, nil
	}))
}

// openWith opens a carrier with credentials in clear.
func (s *Service) openWith(t ship.Tenant, id ship.ConnectionID, name string, given carrier.Credentials) (*carrier.Carrier, error) {
	spec, err := s.spec(name)
	if err != nil {
		return nil, err
	}
	base, err := s.baseURL(spec, t.Livemode)
	if err != nil {
		return nil, err
	}
	o := carrier.Opening{Credentials: given, BaseURL: base, Live: t.Livemode}
	if s.pushSecret != nil {
		o.PushSecret = s.pushSecret(id)
	}
	return s.openAt(t, spec, o, id)
}

func (s *Service) openAt(t ship.Tenant, spec carrier.Spec, o carrier.Opening, id ship.ConnectionID) (*carrier.Carrier, error) {
	if s.via != nil {
		o.Via = s.via(spec, string(id))
	}
	c, err := carrier.Open(spec, o)
	if err != nil {
		return nil, err
	}
	c.Connection = id
	if s.observe != nil {
		c.Observe = s.observe(spec.Name, t, id)
	}
	return c, nil
}

// spec is the description of the carrier; ship.Invalid if there is none.
func (s *Service) spec(name string) (carrier.Spec, error) {
	names := make([]string, len(s.specs))
	for i, spec := range s.specs {
		if names[i] = spec.Name; spec.Name == name {
			return spec, nil
		}
	}
	return carrier.Spec{}, ship.InvalidFields([]ship.FieldError{{
		Pointer: "/carrier", Code: "invalid", Detail: "is not a carrier that can be connected", Suggestion: ship.Nearest(name, names),
	}})
}

// baseURL is where the carrier is called: at its own address for the mode, or
// where the operator says.
func (s *Service) baseURL(spec carrier.Spec, live bool) (string, error) {
	own := spec.TestURL
	if live {
		own = spec.LiveURL
	}
	instead, moved := s.urls[spec.Name]
	switch {
	case moved:
		return move(own, instead), nil
	case own == "" && live:
		return "", ship.Errorf(ship.Unsupported, "%s has no address for live connections", spec.Title)
	case own == "":
		return "", ship.Errorf(ship.Unsupported, "%s has no sandbox: its connections are live", spec.Title)
	}
	return own, nil
}

// move is the address own on the host of instead. A path of instead, and be it
// only a slash, takes the place of the carrier's own.
func move(own, instead string) string {
	to, err := url.Parse(instead)
	from, wrong := url.Parse(own)
	if err != nil || wrong != nil {
		return instead
	}
	path := from.Path
	if to.Path != "" {
		path = to.Path
	}
	for len(path) > 0 && path[len(path)-1] == '/' {
		path = path[:len(path)-1]
	}
	return to.Scheme + "://" + to.Host + path
}

// place is what a connection's credentials are bound to: they open in no other
// account, mode or row, and for no other carrier.
func place(t ship.Tenant, id ship.ConnectionID, carrierName string) []string {
	mode := "test"
	if t.Livemode {
		mode = "live"
	}
	return []string{string(t.Account), mode, string(id), carrierName}
}

// errSealed are the errors of credentials that cannot be read.
func errSealed(err error) error {
	if errors.Is(err, seal.ErrOpen) {
		return ship.Coded(ship.Conflict, "credentials_unreadable", "the credentials cannot be decrypted: %w", err)
	}
	return ship.Coded(ship.Unavailable, "key_unavailable", "the key of the credentials cannot be used now: %w", err)
}

// unseal decrypts the credentials of a connection.
func (s *Service) unseal(ctx context.Context, row store.Connection) (carrier.Credentials, error) {
	if s.wrapper == nil {
		return nil, errSealed(seal.ErrNoKey)
	}
	text, err := seal.Envelope{Key: row.WrappedKey, Secret: row.Credentials}.Open(ctx, s.wrapper, place(row.Tenant, row.ID, row.Carrier)...)
	if err != nil {
		return nil, errSealed(err)
	}
	var given carrier.Credentials
	if json.Unmarshal(text, &given) != nil { // its error could show them
		return nil, errSealed(seal.ErrOpen)
	}
	return given, nil
}

// seal encrypts the credentials of a connection into its row.
func (s *Service) seal(ctx context.Context, row *store.Connection, given carrier.Credentials) error {
	if s.wrapper == nil {
		return ship.Errorf(ship.Unavailable, "there is no key to encrypt credentials with")
	}
	text, err := json.Marshal(given)
	if err != nil {
		return ship.Errorf(ship.Internal, "the credentials could not be written")
	}
	e, err := seal.SealEnvelope(ctx, s.wrapper, text, place(row.Tenant, row.ID, row.Carrier)...)
	if err != nil {
		return errSealed(err)
	}
	row.WrappedKey, row.Credentials = e.Key, e.Secret
	return nil
}

// Probe makes a harmless call over a connection: what the carrier answers tells
// whether it is well again.
func (s *Service) Probe(ctx context.Context, id ship.ConnectionID) {
	row, err := s.store.FindConnection(ctx, id)
	if err != nil {
		return
	}
	if c, err := s.Carrier(ctx, row.Tenant, id); err == nil {
		_ = c.Check(ctx) // the breaker hears of it
	}
}

// TenantOf says whose a connection is.
func (s *Service) TenantOf(ctx context.Context, id ship.ConnectionID) (ship.Tenant, error) {
	row, err := s.store.FindConnection(ctx, id)
	return row.Tenant, err
}
