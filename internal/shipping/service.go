package shipping

import (
	"log/slog"
	"time"

	"github.com/maypok86/otter/v2"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/label"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// Waits are how long the service waits for what. Tests shorten them.
type Waits struct {
	SoftQuote  time.Duration // rates are answered with what is there
	Answer     time.Duration // a purchase is answered, at the latest
	Settle     time.Duration // from the intent to the first look by the job
	Look       time.Duration // between two looks for an uncertain purchase
	Rebuy      time.Duration // from the creation: after it, nothing is bought again
	Review     time.Duration // from the creation: after it, a person decides
	SandboxAge time.Duration // from the label to the first simulated scan; 0: only on demand
}

// DefaultWaits are those of the contract.
var DefaultWaits = Waits{
	SoftQuote:  4 * time.Second,
	Answer:     20 * time.Second,
	Settle:     60 * time.Second,
	Look:       60 * time.Second,
	Rebuy:      10 * time.Minute,
	Review:     24 * time.Hour,
	SandboxAge: 30 * time.Second,
}

// Service quotes, buys, settles and voids.
type Service struct {
	store     *store.Store
	simulated []*carrier.Carrier
	labels    *label.Renderer
	rendered  *otter.Cache[renderKey, LabelFile]
	key       []byte // signs tokens, makes references
	baseURL   string
	waits     Waits
	told      func()
	log       *slog.Logger
}

// Config is what a Service needs.
type Config struct {
	Store      *store.Store
	Simulated  []*carrier.Carrier
	Labels     *label.Renderer
	SigningKey []byte
	BaseURL    string
	Waits      Waits
	Told       func() // called after events are recorded; nil tells nobody
	Log        *slog.Logger
}

// renderedBytes bounds the memory that rendered labels take.
const renderedBytes = 8 << 20

// New returns a service.
func New(c Config) *Service {
	if c.Told == nil {
		c.Told = func() {}
	}
	return &Service{
		store: c.Store, simulated: c.Simulated, labels: c.Labels, key: c.SigningKey, baseURL: c.BaseURL, waits: c.Waits, told: c.Told, log: c.Log,
		rendered: otter.Must(&otter.Options[renderKey, LabelFile]{
			MaximumWeight: renderedBytes,
			Weigher:       func(_ renderKey, f LabelFile) uint32 { return uint32(len(f.Data) + 256) },
		}),
	}
}

// carriers are those that the tenant can use.
func (s *Service) carriers(t ship.Tenant) []*carrier.Carrier {
	if t.Livemode {
		return nil
	}
	return s.simulated
}

// carrierOf is the tenant's carrier of the name.
func (s *Service) carrierOf(t ship.Tenant, name string) (*carrier.Carrier, error) {
	for _, c := range s.carriers(t) {
		if c.Spec().Name == name {
			return c, nil
		}
	}
	return nil, ship.Coded(ship.Invalid, "unknown_carrier", "no such carrier is connected")
}
