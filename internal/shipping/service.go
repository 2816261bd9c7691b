package shipping

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/maypok86/otter/v2"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/label"
	"github.com/waybillhq/waybill/internal/purchase"
	"github.com/waybillhq/waybill/internal/routing"
	"github.com/waybillhq/waybill/internal/seal"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// Waits are how long the service waits for what. Tests shorten them.
type Waits struct {
	SoftQuote  time.Duration // rates are answered with what is there
	Answer     time.Duration // a purchase is answered, at the latest: as pending if the carrier is not done
	Buy        time.Duration // a carrier may take to sell, whatever its own deadline; zero means Answer
	Settle     time.Duration // from the intent to the first look by the job, longer where Buy can take longer
	Look       time.Duration // between two looks for an uncertain purchase
	Lag        time.Duration // at most so long a purchase may be missing from a look-up, whatever its carrier says
	Rebuy      time.Duration // from the creation: after it, nothing is bought again
	Review     time.Duration // from the creation: after it, a person decides
	FirstLook  time.Duration // from the label to the first question where the parcel is
	SandboxAge time.Duration // from the label to the first simulated scan; 0: only on demand
}

// DefaultWaits are those of the contract.
var DefaultWaits = Waits{
	SoftQuote:  4 * time.Second,
	Answer:     20 * time.Second,
	Buy:        120 * time.Second,
	Settle:     60 * time.Second,
	Look:       60 * time.Second,
	Lag:        15 * time.Minute,
	Rebuy:      10 * time.Minute,
	Review:     24 * time.Hour,
	FirstLook:  30 * time.Minute,
	SandboxAge: 30 * time.Second,
}

// Service quotes, buys, settles and voids.
type Service struct {
	store          *store.Store
	simulated      []*carrier.Carrier
	labels         *label.Renderer
	rendered       *otter.Cache[renderKey, LabelFile]
	key            []byte // signs tokens, makes references
	baseURL        string
	waits          Waits
	eventsRecorded func()
	log            *slog.Logger
	spool          *seal.Spool       // nil keeps nothing
	recoveryLog    *seal.RecoveryLog // nil keeps nothing
	quotes         quoteCache
	outcomes       func(purchase.Act, purchase.Result)
	decided        func(strategy string)

	policy     func(context.Context, ship.Tenant) (Policy, error)
	connected  func(context.Context, ship.Tenant) ([]*carrier.Carrier, error)
	connection func(context.Context, ship.Tenant, ship.ConnectionID) (*carrier.Carrier, error)
	exchanged  func(ship.Tenant, ship.ShipmentID, ship.ConnectionID, carrier.Exchange) // nil keeps nothing
	restoredAt atomic.Int64                                                            // in nanoseconds; 0 for never
	lost       lostOnes
	purchases  sync.WaitGroup // those that are under way, answered or not
}

// Drain waits until the purchases that are under way have ended, or ctx has.
// What a carrier has not answered then is settled by a job, as after a crash.
func (s *Service) Drain(ctx context.Context) {
	ended := make(chan struct{})
	go func() {
		s.purchases.Wait()
		close(ended)
	}()

	select {
	case <-ended:
	case <-ctx.Done():
	}
}

// Config is what a Service needs.
type Config struct {
	Store          *store.Store
	Simulated      []*carrier.Carrier
	Labels         *label.Renderer
	SigningKey     []byte
	BaseURL        string
	Waits          Waits
	EventsRecorded func() // called after events are recorded; nil tells nobody
	Log            *slog.Logger
	Spool          *seal.Spool       // holds what was bought until it is recorded; nil for simulated carriers alone
	RecoveryLog    *seal.RecoveryLog // tells what carriers were asked to sell, whatever happens to the database; nil likewise

	// QuoteLife is for how long a quote answers the same question again; zero
	// asks the carrier every time.
	QuoteLife time.Duration
	// QuoteLifeToBuy lets purchases be decided by such quotes too.
	QuoteLifeToBuy bool

	// Connected lists the tenant's own carrier accounts, opened; nil means
	// that there are none.
	Connected func(context.Context, ship.Tenant) ([]*carrier.Carrier, error)
	// Connection opens one of them, also if it was removed since.
	Connection func(context.Context, ship.Tenant, ship.ConnectionID) (*carrier.Carrier, error)
	// Policy is what the tenant decided about its routing; nil for no tenant
	// to have decided anything.
	Policy func(context.Context, ship.Tenant) (Policy, error)
	// Decided is told what chose for a purchase: the strategy; nil tells
	// nobody.
	Decided func(strategy string)
	// Observe is told of every step of a purchase; nil tells nobody.
	Observe func(purchase.Act, purchase.Result)
	// Exchanged is told what was said to a carrier to buy, look up or void a
	// label, without secrets. It may not wait. Nil tells nobody.
	Exchanged func(ship.Tenant, ship.ShipmentID, ship.ConnectionID, carrier.Exchange)
}

// renderedBytes bounds the memory that rendered labels take.
const renderedBytes = 8 << 20

// New returns a service.
func New(c Config) *Service {
	if c.EventsRecorded == nil {
		c.EventsRecorded = func() {}
	}
	if c.Observe == nil {
		c.Observe = func(purchase.Act, purchase.Result) {}
	}
	if c.Decided == nil {
		c.Decided = func(string) {}
	}

	if c.Policy == nil {
		cheapest, err := routing.Compile(routing.Book{})
		if err != nil {
			panic(err) // a book without rules has no fault
		}
		c.Policy = func(context.Context, ship.Tenant) (Policy, error) { return Policy{Book: cheapest}, nil }
	}

	if c.Connected == nil {
		c.Connected = func(context.Context, ship.Tenant) ([]*carrier.Carrier, error) { return nil, nil }
		c.Connection = func(context.Context, ship.Tenant, ship.ConnectionID) (*carrier.Carrier, error) {
			return nil, ship.Errorf(ship.NotFound, "no such connection")
		}
	}

	var lifeToBuy time.Duration
	if c.QuoteLifeToBuy {
		lifeToBuy = c.QuoteLife
	}

	return &Service{
		store:          c.Store,
		simulated:      c.Simulated,
		labels:         c.Labels,
		key:            c.SigningKey,
		baseURL:        c.BaseURL,
		waits:          c.Waits,
		eventsRecorded: c.EventsRecorded,
		log:            c.Log,
		spool:          c.Spool,
		recoveryLog:    c.RecoveryLog,
		quotes:         newQuoteCache(c.QuoteLife, lifeToBuy),
		outcomes:       c.Observe,
		decided:        c.Decided,
		policy:         c.Policy,
		connected:      c.Connected,
		connection:     c.Connection,
		exchanged:      c.Exchanged,
		rendered: otter.Must(&otter.Options[renderKey, LabelFile]{
			MaximumWeight: renderedBytes,
			Weigher:       func(_ renderKey, f LabelFile) uint32 { return uint32(len(f.Data) + 256) },
		}),
	}
}

// restoreReach is how many attempts of a lost purchase are looked for.
const restoreReach = 3

// restoreWatch is for how long after a restore every named purchase is looked
// up before it is made.
const restoreWatch = 48 * time.Hour

// RecordRestore learns whether the database was put back to an earlier moment
// lately. It is called at the start and now and then.
func (s *Service) RecordRestore(ctx context.Context) error {
	at, err := s.store.RestoredAt(ctx)
	if err != nil {
		return err
	}
	if !at.IsZero() {
		s.restoredAt.Store(at.UnixNano())
	}
	return nil
}

func (s *Service) restoredLately() bool { return s.restoredWithin(restoreWatch) }

func (s *Service) restoredWithin(d time.Duration) bool {
	at := s.restoredAt.Load()
	return at != 0 && time.Since(time.Unix(0, at)) < d
}

// carriers are those that the tenant can use: its own connections and, in test
// mode, the simulated carriers that it has no connection of.
func (s *Service) carriers(ctx context.Context, t ship.Tenant) ([]*carrier.Carrier, error) {
	own, err := s.connected(ctx, t)
	if err != nil || t.Livemode {
		return own, err
	}
	if len(own) == 0 {
		return s.simulated, nil
	}
	list := slices.Clone(own)
	for _, c := range s.simulated {
		if !slices.ContainsFunc(own, func(o *carrier.Carrier) bool { return o.Spec().Name == c.Spec().Name }) {
			list = append(list, c)
		}
	}
	return list, nil
}

// carrierOf is the carrier account of a purchase, removed since or not.
func (s *Service) carrierOf(ctx context.Context, t ship.Tenant, d ship.Purchase) (*carrier.Carrier, error) {
	if d.Connection != "" {
		return s.connection(ctx, t, d.Connection)
	}
	for _, c := range s.simulated {
		if c.Spec().Name == d.Carrier && !t.Livemode {
			return c, nil
		}
	}
	return nil, ship.Coded(ship.Invalid, "unknown_carrier", "this carrier is not connected")
}
