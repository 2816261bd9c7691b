package tracking

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/sandbox"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// Service follows parcels.
type Service struct {
	store   *store.Store
	baseURL string
	step    time.Duration
	told    func()
	log     *slog.Logger

	key        []byte // of push addresses
	pages      pageSeal
	pushBase   string // address that carriers reach the service at; empty if they cannot
	connection func(context.Context, ship.Tenant, ship.ConnectionID) (*carrier.Carrier, error)
	connected  func(context.Context, ship.Tenant) ([]*carrier.Carrier, error)
	tenantOf   func(context.Context, ship.ConnectionID) (ship.Tenant, error)
	unmapped   func(code string)

	intake    intake
	owners    sync.Map     // the tenants of connections
	recording sync.Mutex   // of pushes
	claims    atomic.Int64 // when the last was made, in Unix milliseconds

	pollBatch int
	pollClaim time.Duration

	mu     sync.Mutex
	pauses map[ship.ConnectionID]time.Time
}

// Config is what a Service needs.
type Config struct {
	Store       *store.Store
	BaseURL     string
	SandboxStep time.Duration // between two steps of a simulated life; 0: only on demand
	Told        func()        // called after events are recorded; nil tells nobody
	Log         *slog.Logger

	Key      []byte // of push addresses and tracking pages
	PushBase string // address that carriers reach the service at; empty if they cannot
	// Connection opens one of the tenant's own carrier accounts, also one that
	// was removed; Connected lists those that it has now.
	Connection func(context.Context, ship.Tenant, ship.ConnectionID) (*carrier.Carrier, error)
	Connected  func(context.Context, ship.Tenant) ([]*carrier.Carrier, error)
	// TenantOf says whose a connection is.
	TenantOf func(context.Context, ship.ConnectionID) (ship.Tenant, error)
	// Unmapped is told of every code that no status table knows; nil tells
	// nobody.
	Unmapped func(code string)

	PollBatch int           // parcels that Poll claims at once; 0 means 500
	PollClaim time.Duration // after which others take over what a copy claimed and did not finish; 0 means 5 minutes
}

// New returns a service.
func New(c Config) *Service {
	if c.Told == nil {
		c.Told = func() {}
	}
	if c.Unmapped == nil {
		c.Unmapped = func(string) {}
	}
	if c.Connected == nil {
		c.Connected = func(context.Context, ship.Tenant) ([]*carrier.Carrier, error) { return nil, nil }
	}
	return &Service{
		store: c.Store, baseURL: c.BaseURL, step: c.SandboxStep, told: c.Told, log: c.Log, key: c.Key, pages: newPageSeal(c.Key), pushBase: c.PushBase, connection: c.Connection, connected: c.Connected,
		tenantOf: c.TenantOf, unmapped: c.Unmapped, intake: intake{store: c.Store}, pauses: map[ship.ConnectionID]time.Time{},
		pollBatch: cmp.Or(c.PollBatch, pollBatch), pollClaim: cmp.Or(c.PollClaim, pollClaim),
	}
}

// newPerDay is how many parcels may be begun to be followed with a key in a
// day.
const newPerDay = 1000

// Track looks a parcel up by its number, shipment id or tracker id. It answers
// from the store at once and never waits for a carrier.
func (s *Service) Track(ctx context.Context, t ship.Tenant, number, carrier string) (Tracked, error) {
	var (
		j     ship.Journey
		scans []ship.Scan
		err   error
	)
	if id, ok := ship.ParseShipmentID(number); ok {
		j, scans, err = s.store.Journey(ctx, t, id.Raw())
	} else if id, ok := ship.ParseTrackerID(number); ok {
		j, scans, err = s.store.Journey(ctx, t, id.Raw())
	} else {
		j, scans, err = s.store.Find(ctx, t, ship.NormalizeTrackingNumber(number), carrier)
	}
	if ship.KindOf(err) == ship.NotFound || err == nil && !j.Followed && j.Sequence == 0 {
		return Tracked{}, ship.Coded(ship.NotFound, "tracking_not_found", "no parcel with this number is known to this account")
	}
	return trackedOf(j, scans), err
}

func trackedOf(j ship.Journey, scans []ship.Scan) Tracked {
	tr := Tracked{TrackingNumber: j.Number, Carrier: j.Carrier, Progress: j.Progress, Scans: ship.Timeline(scans), CheckedAt: j.Progress.CheckedAt}
	if j.Followed {
		tr.Tracker = ship.TrackerIDOf(j.ID)
	} else {
		tr.Shipment = ship.ShipmentIDOf(j.ID)
	}
	return tr
}

// Follow begins to follow a parcel that was not bought here, and reports
// whether it is new. Without a carrier the number must tell which it is.
func (s *Service) Follow(ctx context.Context, t ship.Tenant, key ship.KeyID, number, carrier string) (Tracked, bool, error) {
	number = ship.NormalizeTrackingNumber(number)
	carrier, err := carrierFor(number, carrier)
	if err != nil {
		return Tracked{}, false, err
	}
	n, err := s.store.FollowedSince(ctx, t, key, time.Now().Add(-24*time.Hour))
	if err != nil {
		return Tracked{}, false, err
	}
	if n >= newPerDay {
		if j, scans, err := s.store.Find(ctx, t, number, carrier); err == nil && j.Followed {
			return trackedOf(j, scans), false, nil // it is not new
		}
		e := ship.Coded(ship.Limited, "tracker_limit", "at most %d new numbers a day can be followed", newPerDay)
		e.RetryAfter = time.Hour
		return Tracked{}, false, e
	}
	own, err := s.connectionFor(ctx, t, carrier)
	if err != nil {
		return Tracked{}, false, err
	}
	id, fresh, err := s.store.Follow(ctx, t, key, ship.NewTrackerID(t.Shard(), time.Now()), number, carrier)
	if err != nil {
		return Tracked{}, false, err
	}
	if fresh && own != "" {
		if err := s.store.Watch(ctx, ship.Subject{Tenant: t, ID: id.Raw()}, own, time.Now()); err != nil {
			return Tracked{}, false, err
		}
	}
	j, scans, err := s.store.Journey(ctx, t, id.Raw())
	return trackedOf(j, scans), fresh, err
}

// connectionFor is the tenant's account over which a carrier can be asked;
// empty if it has none.
func (s *Service) connectionFor(ctx context.Context, t ship.Tenant, name string) (ship.ConnectionID, error) {
	list, err := s.connected(ctx, t)
	for _, c := range list {
		if c.Spec().Name == name && slices.Contains(c.Abilities(), "track") {
			return c.Connection, nil
		}
	}
	return "", err
}

// carrierFor is the carrier of a number: the given one, or the only one that
// the number fits.
func carrierFor(number, carrier string) (string, error) {
	if number == "" || len(number) > 50 {
		return "", ship.InvalidFields([]ship.FieldError{{Pointer: "/trackingNumber", Code: "invalid", Detail: "is not a tracking number"}})
	}
	if carrier != "" {
		if !slices.Contains(sandbox.Names, carrier) {
			return "", ship.InvalidFields([]ship.FieldError{{
				Pointer: "/carrier", Code: "unknown_carrier", Detail: "is not a carrier of this account", Suggestion: ship.Nearest(carrier, sandbox.Names),
			}})
		}
		return carrier, nil
	}
	switch candidates := ship.DetectCarriers(number); len(candidates) {
	case 0:
		return "", ship.InvalidFields([]ship.FieldError{{Pointer: "/carrier", Code: "required", Detail: "is required: the number fits no carrier that is known here"}})
	case 1:
		return candidates[0], nil
	default:
		e := ship.Coded(ship.Invalid, "carrier_ambiguous", "the number fits several carriers; name one")
		e.Details = map[string]any{"candidates": candidates}
		return "", e
	}
}

// Trackers lists the followed parcels, newest first, without their timelines,
// and reports whether there are more.
func (s *Service) Trackers(ctx context.Context, t ship.Tenant, p ship.Page) (list []Tracked, more bool, err error) {
	journeys, err := s.store.Followed(ctx, t, ship.Page{Limit: p.Limit + 1, Before: p.Before})
	if len(journeys) > p.Limit {
		journeys, more = journeys[:p.Limit], true
	}
	for _, j := range journeys {
		list = append(list, trackedOf(j, nil))
	}
	return list, more, err
}

// Unfollow forgets a followed parcel.
func (s *Service) Unfollow(ctx context.Context, t ship.Tenant, id ship.TrackerID) error {
	err := s.store.Unfollow(ctx, t, id)
	if ship.KindOf(err) == ship.NotFound {
		return ship.Coded(ship.NotFound, "tracker_not_found", "no such tracker")
	}
	return err
}
