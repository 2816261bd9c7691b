package shipping

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/maypok86/otter/v2"

	"github.com/waybillhq/waybill/internal/addresscheck"
	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/label"
	"github.com/waybillhq/waybill/internal/purchase"
	"github.com/waybillhq/waybill/internal/quoting"
	"github.com/waybillhq/waybill/internal/restore"
	"github.com/waybillhq/waybill/internal/seal"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// Waits are how long the service waits for what. Tests shorten them.
type Waits struct {
	Answer     time.Duration // a purchase is answered, at the latest: as pending if the carrier is not done
	Buy        time.Duration // a carrier may take to sell, whatever its own deadline; zero means Answer
	Settle     time.Duration // from the intent to the first look by the job, longer where Buy can take longer
	Look       time.Duration // between two looks for an uncertain purchase
	LookupLag  time.Duration // the least visibility delay of a connection, whatever its carrier says
	Rebuy      time.Duration // from the creation: after it, nothing is bought again
	Review     time.Duration // from the creation: after it, a person decides
	Approval   time.Duration // from the request: after it, a purchase that nobody approved fails
	FirstLook  time.Duration // from the label to the first question where the parcel is
	SandboxAge time.Duration // from the label to the first simulated scan; 0: only on demand
	Labels     time.Duration // a file of labels may take within a request; what takes longer is prepared by a job

	// LookupScale compresses visibility delays, for tests with emulated carriers.
	// It is 1 in use; with 0, what was sold is expected to be visible at once.
	LookupScale float64
}

// DefaultWaits are those of the contract.
var DefaultWaits = Waits{
	Answer:     20 * time.Second,
	Buy:        120 * time.Second,
	Settle:     60 * time.Second,
	Look:       60 * time.Second,
	Rebuy:      10 * time.Minute,
	Review:     24 * time.Hour,
	Approval:   24 * time.Hour,
	FirstLook:  30 * time.Minute,
	SandboxAge: 30 * time.Second,
	Labels:     5 * time.Second,

	LookupScale: 1,
}

// Service buys, settles and voids.
type Service struct {
	store          *store.Store
	accounts       carrier.Accounts
	quoting        *quoting.Service
	addresses      *addresscheck.Service // nil checks nothing
	labels         *label.Renderer
	rendered       *otter.Cache[renderKey, LabelFile]
	key            []byte      // makes references
	links          seal.Signer // of label links
	baseURL        string
	waits          Waits
	eventsRecorded func()
	log            *slog.Logger
	spool          *seal.Spool    // nil keeps nothing
	recoveryLog    *restore.Log   // nil keeps nothing
	restores       *restore.Watch // nil notices none
	spoolRequired  bool
	outcomes       func(purchase.Act, purchase.Result)
	decided        func(strategy string)
	controlled     func(carrier string, found bool)

	exchanged      func(ship.Tenant, ship.ShipmentID, ship.ConnectionID, carrier.Exchange) // nil keeps nothing
	forgottenUntil atomic.Int64                                                            // in nanoseconds; what was erased before is not in the recovery log
	purchases      sync.WaitGroup                                                          // those that are under way, answered or not
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
	Accounts       carrier.Accounts
	Quoting        *quoting.Service      // with the same accounts
	Addresses      *addresscheck.Service // likewise; nil checks no address
	Labels         *label.Renderer
	SigningKey     []byte
	OldSigningKeys [][]byte // what they signed is still valid
	BaseURL        string
	Waits          Waits
	EventsRecorded func() // if not nil, called after events are recorded
	Log            *slog.Logger
	Spool          *seal.Spool    // holds what was bought until it is recorded; nil for simulated carriers alone
	RecoveryLog    *restore.Log   // tells what carriers were asked for and sold, whatever happens to the database; nil likewise
	Restores       *restore.Watch // with the same log; nil notices no restore
	SpoolRequired  bool           // refuses live purchases while either cannot be written to

	// Decided, if not nil, is called with the strategy that chose for a purchase.
	Decided func(strategy string)
	// Observe, if not nil, is called after every step of a purchase.
	Observe func(purchase.Act, purchase.Result)
	// Controlled, if not nil, is called after a look-up was checked with a purchase
	// that is known to exist.
	Controlled func(carrier string, found bool)
	// Exchanged is told what was said to a carrier to buy, look up or void a
	// label, without secrets. It may not wait. Nil tells nobody.
	Exchanged func(ship.Tenant, ship.ShipmentID, ship.ConnectionID, carrier.Exchange)
}

// referenceKey returns the key that references are made with: the oldest that is
// configured. The reference of an attempt must stay the same while a new key is
// introduced, because the carrier is asked for it again.
func referenceKey(c Config) []byte {
	if len(c.OldSigningKeys) > 0 {
		return c.OldSigningKeys[len(c.OldSigningKeys)-1]
	}
	return c.SigningKey
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
	if c.Controlled == nil {
		c.Controlled = func(string, bool) {}
	}

	return &Service{
		store:          c.Store,
		accounts:       c.Accounts,
		quoting:        c.Quoting,
		addresses:      c.Addresses,
		labels:         c.Labels,
		key:            referenceKey(c),
		links:          seal.NewSigner(c.SigningKey, c.OldSigningKeys...),
		baseURL:        c.BaseURL,
		waits:          c.Waits,
		eventsRecorded: c.EventsRecorded,
		log:            c.Log,
		spool:          c.Spool,
		recoveryLog:    c.RecoveryLog,
		spoolRequired:  c.SpoolRequired,
		restores:       c.Restores,
		outcomes:       c.Observe,
		decided:        c.Decided,
		controlled:     c.Controlled,
		exchanged:      c.Exchanged,
		rendered: otter.Must(&otter.Options[renderKey, LabelFile]{
			MaximumWeight: renderedBytes,
			Weigher:       func(_ renderKey, f LabelFile) uint32 { return uint32(len(f.Data) + 256) },
		}),
	}
}
