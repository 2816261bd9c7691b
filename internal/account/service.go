package account

import (
	"context"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/maypok86/otter/v2"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/seal"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// Service knows accounts, keys and connections.
type Service struct {
	store *store.Store
	known *otter.Cache[[32]byte, *signedIn]
	connections

	mu   sync.Mutex
	used map[ship.KeyID]time.Time
}

// signedIn is a key as it was when last looked up. The cache holds pointers, here
// and elsewhere: caches with keys of one type then share the code that the compiler
// makes of it, 0.3 MB each.
type signedIn struct {
	key       store.KeyRow
	principal Principal
}

const (
	// keyLife is for how long a key is cached: a key that is revoked works no
	// longer than that.
	keyLife  = 5 * time.Second
	keysKept = 100_000
)

// Config is what a Service is made of. All but Store is for connections: a
// service without it knows none.
type Config struct {
	Store   *store.Store
	Wrapper seal.Wrapper // of the keys of credentials
	// KeyInDatabase says that the wrapper's key is in the database, next to
	// what it encrypts. Live connections are refused then.
	KeyInDatabase bool
	Specs         []carrier.Spec                                          // the carriers that can be connected
	Plugins       func() []carrier.Spec                                   // carriers that operators registered, which may change; may be nil
	Via           func(spec carrier.Spec, connection string) carrier.Doer // the way to a carrier
	URLs          map[string]string                                       // of carriers by name, instead of their own
	// LocalCarriers refuses live connections to carriers that are not on this
	// machine.
	LocalCarriers bool
	Observe       Observe // is called after every call to a carrier; may be nil
	Log           *slog.Logger
	// PushSecret returns the secret that a carrier's pushes over a connection
	// are verified with; may be nil.
	PushSecret func(ship.ConnectionID) string
	// OldPushSecrets returns those that it had before; may be nil.
	OldPushSecrets func(ship.ConnectionID) []string
}

// Observe returns the function that is called after every call over a tenant's
// connection to the carrier.
type Observe func(carrier string, t ship.Tenant, id ship.ConnectionID) func(carrier.Operation, time.Duration, error)

// New returns a service that knows no connections.
func New(st *store.Store) *Service { return NewWith(Config{Store: st}) }

// NewWith returns a service.
func NewWith(c Config) *Service {
	return &Service{
		store: c.Store,
		used:  map[ship.KeyID]time.Time{},
		known: otter.Must(&otter.Options[[32]byte, *signedIn]{
			MaximumSize:      keysKept,
			ExpiryCalculator: otter.ExpiryWriting[[32]byte, *signedIn](keyLife),
		}),
		connections: newConnections(c),
	}
}

// Authenticate returns who holds the key, when called from the address. A key
// that is known and may not be used is an error with the caller as it would be,
// without a scope: the account's own request log shows it.
func (s *Service) Authenticate(ctx context.Context, key string, from netip.Addr) (Principal, error) {
	hash := sha256.Sum256([]byte(key))
	in, ok := s.known.GetIfPresent(hash)
	if !ok {
		// A key has a checksum: one that is mistyped does not cost a query.
		if _, ok := ship.ParseKey(key); !ok {
			return Principal{}, errInvalidKey()
		}

		row, account, err := s.store.KeyByHash(ctx, hash)
		if ship.KindOf(err) == ship.NotFound {
			return Principal{}, errInvalidKey()
		}
		if err != nil {
			return Principal{}, err
		}

		in = &signedIn{key: row, principal: Principal{
			Tenant:  row.Tenant,
			Account: account,
			Key:     row.ID,
			KeyName: row.Name,
			KeyHint: row.Hint,
			Scopes:  row.Scopes,
			Limits:  row.Limits,
		}}
		s.known.Set(hash, in)
		s.markUsed(row.ID)
	}

	// Expiry and network are checked at every call, also of a cached key.
	if err := in.refusal(from); err != nil {
		principal := in.principal
		principal.Scopes = nil
		return principal, err
	}
	return in.principal, nil
}

// refusal returns why the key may not be used from the address now; nil if it
// may. Whoever sends it has the whole key, and may know what became of it.
func (in *signedIn) refusal(from netip.Addr) error {
	if err := ended(in.key); err != nil {
		return err
	}
	if !allowed(in.key.Networks, from) {
		return ship.Coded(ship.Forbidden, "ip_not_allowed", "this key may not be used from the IP address %s", from)
	}
	return nil
}

// ended returns why the key may no longer be used; nil if it may.
func ended(key store.KeyRow) error {
	switch {
	case !key.RevokedAt.IsZero():
		return ship.Coded(ship.Forbidden, "invalid_api_key", "the API key was revoked at %s", key.RevokedAt.UTC().Format(time.RFC3339))
	case !key.ExpiresAt.IsZero() && time.Now().After(key.ExpiresAt):
		return ship.Coded(ship.Forbidden, "invalid_api_key", "the API key expired at %s", key.ExpiresAt.UTC().Format(time.RFC3339))
	}
	return nil
}

// LimitsOfKey returns what the key may buy, for a purchase that goes
// on in the background after the key was used. A key that has ended since, or
// that may not buy, is an error as it is for a request.
func (s *Service) LimitsOfKey(ctx context.Context, account ship.AccountID, id ship.KeyID) (ship.SpendingLimits, error) {
	key, err := s.store.Key(ctx, account, id)
	if ship.KindOf(err) == ship.NotFound {
		return ship.SpendingLimits{}, ship.Coded(ship.Forbidden, "invalid_api_key", "the API key no longer exists")
	}
	if err != nil {
		return ship.SpendingLimits{}, err
	}

	if err := ended(key); err != nil {
		return ship.SpendingLimits{}, err
	}
	if !(Principal{Scopes: key.Scopes}).Can("shipments:write") {
		return ship.SpendingLimits{}, ship.Coded(ship.Forbidden, "insufficient_scope", "the key lacks the scope shipments:write")
	}
	return key.Limits, nil
}

func errInvalidKey() error {
	return ship.Coded(ship.Forbidden, "invalid_api_key", "the API key is missing or not valid")
}

func allowed(networks []netip.Prefix, from netip.Addr) bool {
	from = from.Unmap()
	return len(networks) == 0 || slices.ContainsFunc(networks, func(n netip.Prefix) bool { return n.Contains(from) })
}

func (s *Service) markUsed(id ship.KeyID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used[id] = time.Now()
}

// RecordUse stores when keys were last used.
func (s *Service) RecordUse(ctx context.Context) error {
	// The map is replaced under the lock and written outside of it: requests
	// must not wait for the database here.
	s.mu.Lock()
	used := s.used
	s.used = map[ship.KeyID]time.Time{}
	s.mu.Unlock()

	if len(used) == 0 {
		return nil
	}
	return s.store.TouchKeys(ctx, used)
}

// hold is for how long a request owns its idempotency key; it is longer than
// any request may take.
const hold = 60 * time.Second

// OnceByKey runs do once for the key, however often it is called with it: the first
// answer that succeeds is repeated byte for byte.
func (s *Service) OnceByKey(ctx context.Context, t ship.Tenant, key string, fingerprint [32]byte, do func(context.Context) ship.Answer) (ship.Answer, bool, error) {
	taken, err := s.store.TakeKey(ctx, t, key, fingerprint, hold)
	if err != nil {
		return ship.Answer{}, false, err
	}
	if !taken {
		answer, err := s.storedAnswer(ctx, t, key, fingerprint)
		return answer, true, err
	}

	answer := do(ctx)

	// The client may have disconnected; the key must not stay taken.
	ctx = context.WithoutCancel(ctx)

	switch {
	case answer.Status == 202:
		// It is not repeated: a retry must see how far the work has come since.
		err = s.store.UnlockKey(ctx, t, key)
	case answer.Status >= 200 && answer.Status < 300:
		err = s.store.KeepAnswer(ctx, t, key, fingerprint, answer)
	default:
		err = s.store.FreeKey(ctx, t, key)
	}
	return answer, false, err
}

// StoredAnswer returns the answer of a request that keeps its idempotency key
// itself, if the key was used before.
func (s *Service) StoredAnswer(ctx context.Context, t ship.Tenant, key string, fingerprint [32]byte) (ship.Answer, error) {
	return s.storedAnswer(ctx, t, key, fingerprint)
}

// storedAnswer returns the answer that the key repeats.
func (s *Service) storedAnswer(ctx context.Context, t ship.Tenant, key string, fingerprint [32]byte) (ship.Answer, error) {
	stored, err := s.store.IdempotencyRecord(ctx, t, key)
	switch {
	case ship.KindOf(err) == ship.NotFound: // freed meanwhile
		return ship.Answer{}, errInProgress()
	case err != nil:
		return ship.Answer{}, err
	case stored.Fingerprint != fingerprint:
		return ship.Answer{}, ship.Coded(ship.Invalid, "idempotency_key_reused", "the idempotency key was used for another request")
	case stored.Answer.Status == 0 || stored.Shipment != "":
		return ship.Answer{}, errInProgress()
	}
	return stored.Answer, nil
}

// AnswerBinding is what the seal of an answer is bound to, if the answer holds a
// secret: moved to the row of another key it does not open.
func AnswerBinding(t ship.Tenant, key string) []string {
	return []string{string(t.Account), strconv.FormatBool(t.Livemode), "idempotency", key}
}

// ResealAnswers brings the stored answers that hold a secret under the box's
// present key, and calls report for each that needs it.
func ResealAnswers(ctx context.Context, st *store.Store, box *seal.Box, report func(error)) error {
	return st.ResealRows(ctx, store.SealedAnswers, box.KeyHeaders()[0], func(row store.SealedRow) [][]byte {
		resealed, err := box.ResealEach(row.Secrets, func(int) []string { return AnswerBinding(row.Tenant, row.Key) })
		if err != nil {
			err = fmt.Errorf("answer of an idempotency key of %s: %w", row.Tenant.Account, err)
		}
		report(err)
		return resealed
	})
}

func errInProgress() error {
	err := ship.Coded(ship.Conflict, "idempotency_in_progress", "a request with this idempotency key is still running")
	err.RetryAfter = time.Second
	return err
}

// RecordRefusal makes the key of a purchase repeat a definite refusal.
func (s *Service) RecordRefusal(ctx context.Context, t ship.Tenant, key string, fingerprint [32]byte, a ship.Answer) error {
	return s.store.KeepAnswer(ctx, t, key, fingerprint, a)
}
