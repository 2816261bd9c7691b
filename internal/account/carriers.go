package account

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"net/url"
	"slices"
	"strings"
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
	plugins       func() []carrier.Spec
	via           func(carrier.Spec, string) carrier.Doer
	urls          map[string]string
	localCarriers bool
	observe       Observe
	log           *slog.Logger

	pushSecret func(ship.ConnectionID) string
	oldSecrets func(ship.ConnectionID) []string // of pushes

	lists  *otter.Cache[ship.Tenant, *carrierList]
	opened *otter.Cache[openedKey, *carrier.Carrier]
}

// carrierList is what is cached of a tenant.
type carrierList struct{ carriers []*carrier.Carrier }

// openedKey is a connection in one state of its credentials and of its carrier.
type openedKey struct {
	id       ship.ConnectionID
	version  int
	revision int       // of the plug-in
	checked  time.Time // a check lets refused credentials be sent again, in every process
}

const (
	// listLife is for how long a tenant's list is cached: a change by another
	// process shows after that.
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
		plugins:       c.Plugins,
		via:           c.Via,
		urls:          c.URLs,
		localCarriers: c.LocalCarriers,
		observe:       c.Observe,
		pushSecret:    c.PushSecret,
		oldSecrets:    c.OldPushSecrets,
		log:           cmp.Or(c.Log, slog.New(slog.DiscardHandler)),

		lists: otter.Must(&otter.Options[ship.Tenant, *carrierList]{
			MaximumSize:      listsKept,
			ExpiryCalculator: otter.ExpiryWriting[ship.Tenant, *carrierList](listLife),
		}),
		opened: otter.Must(&otter.Options[openedKey, *carrier.Carrier]{
			MaximumSize:      openedKept,
			ExpiryCalculator: otter.ExpiryAccessing[openedKey, *carrier.Carrier](openedLife),
		}),
	}
}

// Specs returns the carriers that can be connected.
func (s *Service) Specs() []carrier.Spec {
	return slices.DeleteFunc(s.allSpecs(), func(spec carrier.Spec) bool { return spec.Retired })
}

// allSpecs returns the carriers that have or had connections.
func (s *Service) allSpecs() []carrier.Spec {
	specs := slices.Clone(s.specs)
	if s.plugins != nil {
		specs = append(specs, s.plugins()...)
	}
	return specs
}

// Carriers returns the tenant's own connections, opened, oldest first. One that
// cannot be opened is left out, and logged: it does not stop the others. The
// list is shared: it must not be changed.
func (s *Service) Carriers(ctx context.Context, t ship.Tenant) ([]*carrier.Carrier, error) {
	if len(s.specs) == 0 && s.plugins == nil {
		return nil, nil
	}
	list, err := s.lists.Get(ctx, t, otter.LoaderFunc[ship.Tenant, *carrierList](s.loadCarriers))
	if err != nil {
		return nil, err
	}
	return list.carriers, nil
}

func (s *Service) loadCarriers(ctx context.Context, t ship.Tenant) (*carrierList, error) {
	// Other callers wait for the same list, so the first one's cancellation
	// must not fail them.
	ctx = context.WithoutCancel(ctx)

	rows, err := s.store.Connections(ctx, t)
	if err != nil {
		return nil, err
	}

	list := make([]*carrier.Carrier, 0, len(rows))
	for _, row := range rows {
		if !row.Enabled {
			continue
		}
		opened, err := s.open(ctx, row)
		if err != nil {
			s.log.WarnContext(ctx, "connection skipped", "connection", row.ID, "carrier", row.Carrier, "kind", ship.KindOf(err), "error", err)
			continue
		}
		list = append(list, opened)
	}
	return &carrierList{list}, nil
}

// Carrier returns one connection of the tenant, opened, also one that was
// removed or disabled: what was bought through it may have to be settled or
// voided. It is ship.NotFound if the tenant has none.
func (s *Service) Carrier(ctx context.Context, t ship.Tenant, id ship.ConnectionID) (*carrier.Carrier, error) {
	list, err := s.Carriers(ctx, t)
	if err != nil {
		return nil, err
	}
	if i := slices.IndexFunc(list, func(c *carrier.Carrier) bool { return c.Connection == id }); i >= 0 {
		return list[i], nil
	}

	// The list has only enabled connections; the row may be a removed one.
	row, err := s.store.Connection(ctx, t, id)
	if err != nil {
		return nil, err
	}
	return s.open(ctx, row)
}

// open returns the connection's carrier. One that is open already is used
// again as long as its credentials do not change.
func (s *Service) open(ctx context.Context, row store.Connection) (*carrier.Carrier, error) {
	load := func(ctx context.Context, _ openedKey) (*carrier.Carrier, error) {
		// Other callers wait for the same connection.
		ctx = context.WithoutCancel(ctx)

		credentials, err := s.unseal(ctx, row)
		if err != nil {
			return nil, err
		}
		opened, err := s.openWith(row.Tenant, row.ID, row.Carrier, credentials)
		if err != nil {
			return nil, err
		}
		opened.Label = row.Name
		return opened, s.limit(ctx, opened, row)
	}

	// An unknown carrier is an error of openWith.
	spec, _ := s.spec(row.Carrier)
	key := openedKey{row.ID, row.Version, spec.Revision, row.CheckedAt.UTC()}
	opened, err := s.opened.Get(ctx, key, otter.LoaderFunc[openedKey, *carrier.Carrier](load))
	if err != nil {
		return nil, err
	}

	// Another process may have confirmed what is off in this one.
	for _, ability := range row.Confirmed {
		opened.TurnOn(carrier.Ability(ability))
	}
	return opened, nil
}

// limit turns off what is not confirmed on a live connection, until it has worked. What
// the connection did before its carrier's facts were listed counts.
func (s *Service) limit(ctx context.Context, opened *carrier.Carrier, row store.Connection) error {
	unconfirmed := slices.DeleteFunc(slices.Clone(opened.Spec().Unconfirmed), func(ability carrier.Ability) bool {
		return slices.Contains(row.Confirmed, string(ability))
	})
	if !row.Tenant.Livemode || len(unconfirmed) == 0 {
		return nil
	}

	used, err := s.store.UsedAbilities(ctx, row.Tenant, row.ID)
	if err != nil {
		return err
	}
	opened.Confirmed = func(ability carrier.Ability) { s.confirm(row, ability) }
	for _, ability := range unconfirmed {
		if hasUsed(used, ability) {
			s.recordConfirmed(ctx, row, ability)
		} else {
			opened.TurnOff(ability)
		}
	}
	return nil
}

// hasUsed reports whether a connection used an ability.
func hasUsed(used store.UsedAbilities, ability carrier.Ability) bool {
	switch ability {
	case carrier.AbilityBuy:
		return used.Buy
	case carrier.AbilityFind:
		return used.Find
	case carrier.AbilityVoid:
		return used.Void
	case carrier.AbilityTrack:
		return used.Track
	}
	return false
}

// confirmTime is how long it may take to record that an ability has worked.
const confirmTime = 5 * time.Second

// confirm records that an ability of a connection has worked. It is not limited by the
// call that showed it, which may be at its end.
func (s *Service) confirm(row store.Connection, ability carrier.Ability) {
	ctx, cancel := context.WithTimeout(context.Background(), confirmTime)
	defer cancel()
	s.recordConfirmed(ctx, row, ability)
	s.lists.Invalidate(row.Tenant)
}

// recordConfirmed stores that an ability has worked. If that fails, it is on in this
// process alone.
func (s *Service) recordConfirmed(ctx context.Context, row store.Connection, ability carrier.Ability) {
	log := s.log.With("connection", row.ID, "carrier", row.Carrier, "ability", string(ability))
	if err := s.store.ConfirmAbility(ctx, row.Tenant, row.ID, string(ability)); err != nil {
		log.ErrorContext(ctx, "confirmed ability not recorded", "error", err)
		return
	}
	log.InfoContext(ctx, "ability confirmed")
}

// openWith opens a carrier with credentials in clear.
func (s *Service) openWith(t ship.Tenant, id ship.ConnectionID, name string, credentials carrier.Credentials) (*carrier.Carrier, error) {
	spec, err := s.spec(name)
	if err != nil {
		return nil, err
	}
	base, err := s.baseURL(spec, t.Livemode)
	if err != nil {
		return nil, err
	}
	if t.Livemode && s.localCarriers && !isLocal(base) {
		return nil, notLocal(spec)
	}

	opening := carrier.Opening{Credentials: credentials, BaseURL: base, Live: t.Livemode}
	if s.pushSecret != nil {
		opening.PushSecret = s.pushSecret(id)
	}
	if s.oldSecrets != nil {
		opening.OldPushSecrets = s.oldSecrets(id)
	}
	return s.openAt(t, spec, opening, id)
}

func (s *Service) openAt(t ship.Tenant, spec carrier.Spec, opening carrier.Opening, id ship.ConnectionID) (*carrier.Carrier, error) {
	if s.via != nil {
		opening.Via = s.viaOf(spec, t, id)
	}

	opened, err := carrier.Open(spec, opening)
	if err != nil {
		return nil, err
	}

	opened.Connection = id
	if s.observe != nil {
		opened.Observe = s.observe(spec.Name, t, id)
	}
	return opened, nil
}

// RequireLocalCarriers refuses to go on if live connections lead to carriers that
// are not on this machine, and LocalCarriers is set.
func (s *Service) RequireLocalCarriers(ctx context.Context) error {
	if !s.localCarriers {
		return nil
	}

	names, err := s.store.LiveCarriers(ctx)
	if err != nil {
		return err
	}
	for _, name := range names {
		spec, err := s.spec(name)
		if err != nil {
			continue // it cannot be opened at all
		}
		if base, err := s.baseURL(spec, true); err == nil && !isLocal(base) {
			return notLocal(spec)
		}
	}
	return nil
}

func isLocal(address string) bool {
	parsed, err := url.Parse(address)
	if err != nil {
		return false
	}
	ip := net.ParseIP(parsed.Hostname())
	return parsed.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}

func notLocal(spec carrier.Spec) error {
	return ship.Errorf(ship.Unavailable, "LOOKUP_SCALE is for emulated carriers, and %s is not on this machine; remove the setting", spec.Title)
}

// viaOf returns the way of a connection to its carrier. The connections of an
// account share what it may have of the requests for tokens.
func (s *Service) viaOf(spec carrier.Spec, t ship.Tenant, id ship.ConnectionID) carrier.Doer {
	via := s.via(spec, string(id))
	if shared, ok := via.(interface {
		OfAccount(account string) carrier.Doer
	}); ok {
		return shared.OfAccount(string(t.Account))
	}
	return via
}

// spec returns the description of the carrier; ship.Invalid if there is none.
func (s *Service) spec(name string) (carrier.Spec, error) {
	var names []string
	for _, spec := range s.allSpecs() {
		if spec.Name == name {
			return spec, nil
		}
		names = append(names, spec.Name)
	}

	return carrier.Spec{}, ship.InvalidFields([]ship.FieldError{{
		Pointer:    "/carrier",
		Code:       "invalid",
		Detail:     "is not a supported carrier",
		Suggestion: ship.Nearest(name, names),
	}})
}

// baseURL returns where the carrier is called: at its own address for the mode,
// or where the operator says.
func (s *Service) baseURL(spec carrier.Spec, live bool) (string, error) {
	own := spec.TestURL
	if live {
		own = spec.LiveURL
	}

	instead, moved := s.urls[spec.Name]
	switch {
	case moved:
		return replaceHost(own, instead), nil
	case own == "" && live:
		return "", ship.Errorf(ship.Unsupported, "%s has no URL for live connections", spec.Title)
	case own == "":
		return "", ship.Errorf(ship.Unsupported, "%s has no test environment: add the connection as live", spec.Title)
	}
	return own, nil
}

// replaceHost returns the address own on the host of instead. If instead has a
// path, even "/" alone, it replaces the carrier's own.
func replaceHost(own, instead string) string {
	to, toErr := url.Parse(instead)
	from, fromErr := url.Parse(own)
	if toErr != nil || fromErr != nil {
		return instead
	}

	path := from.Path
	if to.Path != "" {
		path = to.Path
	}
	return to.Scheme + "://" + to.Host + strings.TrimRight(path, "/")
}

// bindingOf returns what a connection's credentials are bound to: they can be
// decrypted in no other account, mode or row, and for no other carrier.
func bindingOf(row store.Connection) []string {
	mode := "test"
	if row.Tenant.Livemode {
		mode = "live"
	}
	return []string{string(row.Tenant.Account), mode, string(row.ID), row.Carrier}
}

// unsealError returns the error of credentials that cannot be decrypted. Those
// whose key service does not answer are not lost, so the two have codes of
// their own.
func unsealError(err error) error {
	if errors.Is(err, seal.ErrOpen) {
		return ship.Coded(ship.Conflict, "credentials_unreadable", "the credentials cannot be decrypted: %w", err)
	}
	return ship.Coded(ship.Unavailable, "key_unavailable", "the encryption key of the credentials is not available right now: %w", err)
}

// unseal decrypts the credentials of a connection.
func (s *Service) unseal(ctx context.Context, row store.Connection) (carrier.Credentials, error) {
	if s.wrapper == nil {
		return nil, unsealError(seal.ErrNoKey)
	}

	envelope := seal.Envelope{Key: row.WrappedKey, Secret: row.Credentials}
	text, err := envelope.Open(ctx, s.wrapper, bindingOf(row)...)
	if err != nil {
		return nil, unsealError(err)
	}

	// The error of json.Unmarshal is dropped: it can quote the credentials.
	var credentials carrier.Credentials
	if json.Unmarshal(text, &credentials) != nil {
		return nil, unsealError(seal.ErrOpen)
	}
	return credentials, nil
}

// seal encrypts the credentials of a connection into its row.
func (s *Service) seal(ctx context.Context, row *store.Connection, credentials carrier.Credentials) error {
	if s.wrapper == nil {
		return ship.Errorf(ship.Unavailable, "no key is configured to encrypt credentials: set SECRET_KEY, SECRET_KEY_FILE or SECRET_KMS")
	}

	text, err := json.Marshal(credentials)
	if err != nil {
		return ship.Errorf(ship.Internal, "the credentials could not be stored")
	}
	envelope, err := seal.SealEnvelope(ctx, s.wrapper, text, bindingOf(*row)...)
	if err != nil {
		return unsealError(err)
	}

	row.WrappedKey = envelope.Key
	row.Credentials = envelope.Secret
	return nil
}

// Probe makes a harmless call over a connection: the carrier's answer shows
// whether it works again.
func (s *Service) Probe(ctx context.Context, id ship.ConnectionID) {
	row, err := s.store.FindConnection(ctx, id)
	if err != nil {
		return
	}

	// The result is not needed here: the breaker sees every call.
	if opened, err := s.Carrier(ctx, row.Tenant, id); err == nil {
		_ = opened.Check(ctx)
	}
}

// TenantOf returns the tenant that owns a connection.
func (s *Service) TenantOf(ctx context.Context, id ship.ConnectionID) (ship.Tenant, error) {
	row, err := s.store.FindConnection(ctx, id)
	return row.Tenant, err
}
