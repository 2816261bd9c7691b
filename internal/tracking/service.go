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
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// Service follows parcels.
type Service struct {
	store       *store.Store
	baseURL     string
	sandboxStep time.Duration
	notify      func() // called after events are recorded
	log         *slog.Logger

	keys       [][]byte // of push addresses; the first is used for new ones
	pages      pageSeals
	pagesFor   time.Duration // how long addresses of pages work after the delivery; 0 for good
	clock      func() time.Time
	pushBase   string // address that carriers reach the service at; empty if they cannot
	connection func(context.Context, ship.Tenant, ship.ConnectionID) (*carrier.Carrier, error)
	connected  func(context.Context, ship.Tenant) ([]*carrier.Carrier, error)
	tenantOf   func(context.Context, ship.ConnectionID) (ship.Tenant, error)
	unmapped   func(code string)
	own        []carrier.Spec // of the carriers that parcels can be followed at
	plugins    func() []carrier.Spec

	intake    intake
	owners    sync.Map     // the tenants of connections
	secrets   sync.Map     // the push secrets of connections
	recording sync.Mutex   // of pushes
	lastClaim atomic.Int64 // when pushes were last claimed, in Unix milliseconds

	pollBatch int
	pollClaim time.Duration

	mu     sync.Mutex
	pauses map[ship.ConnectionID]time.Time
}

// Config is what a Service needs.
type Config struct {
	Store          *store.Store
	BaseURL        string
	SandboxStep    time.Duration // between two steps of a simulated life; 0: only on demand
	EventsRecorded func()        // called after events are recorded; may be nil
	Log            *slog.Logger

	Key     []byte   // of push addresses and tracking pages
	OldKeys [][]byte // addresses that were made with them still work
	// PagesFor is how long the address of a tracking page works after the
	// delivery; 0 sets no end.
	PagesFor time.Duration
	Clock    func() time.Time // of the ends of tracking pages; time.Now if nil
	PushBase string           // address that carriers reach the service at; empty if they cannot
	// Connection opens one of the tenant's own carrier accounts, also one that
	// was removed; Connected lists those that it has now.
	Connection func(context.Context, ship.Tenant, ship.ConnectionID) (*carrier.Carrier, error)
	Connected  func(context.Context, ship.Tenant) ([]*carrier.Carrier, error)
	// TenantOf returns the tenant of a connection.
	TenantOf func(context.Context, ship.ConnectionID) (ship.Tenant, error)
	// Unmapped is called with every code that no status table knows; may be nil.
	Unmapped func(code string)
	// Specs are the carriers that parcels can be followed at.
	Specs []carrier.Spec
	// Plugins are further ones, which operators registered and which may
	// change; may be nil.
	Plugins func() []carrier.Spec

	PollBatch int           // parcels that Poll claims at once; 0 means 500
	PollClaim time.Duration // after which others take over what a copy claimed and did not finish; 0 means 5 minutes
}

// New returns a service.
func New(c Config) *Service {
	if c.EventsRecorded == nil {
		c.EventsRecorded = func() {}
	}
	if c.Clock == nil {
		c.Clock = time.Now
	}
	if c.Unmapped == nil {
		c.Unmapped = func(string) {}
	}
	if c.Connected == nil {
		c.Connected = func(context.Context, ship.Tenant) ([]*carrier.Carrier, error) { return nil, nil }
	}

	return &Service{
		store:       c.Store,
		baseURL:     c.BaseURL,
		sandboxStep: c.SandboxStep,
		notify:      c.EventsRecorded,
		log:         c.Log,
		keys:        append([][]byte{c.Key}, c.OldKeys...),
		pages:       newPageSeals(append([][]byte{c.Key}, c.OldKeys...)),
		pagesFor:    c.PagesFor,
		clock:       c.Clock,
		pushBase:    c.PushBase,
		connection:  c.Connection,
		connected:   c.Connected,
		tenantOf:    c.TenantOf,
		unmapped:    c.Unmapped,
		own:         c.Specs,
		plugins:     c.Plugins,
		intake:      intake{store: c.Store},
		pollBatch:   cmp.Or(c.PollBatch, pollBatch),
		pollClaim:   cmp.Or(c.PollClaim, pollClaim),
		pauses:      map[ship.ConnectionID]time.Time{},
	}
}

// specs returns the carriers that parcels can be followed at.
func (s *Service) specs() []carrier.Spec {
	if s.plugins == nil {
		return s.own
	}
	return slices.Concat(s.own, s.plugins())
}

// maxNewPerDay is how many new parcels can be followed with a key in a day.
const maxNewPerDay = 1000

// Track looks a parcel up by its number, shipment id or tracker id. It answers
// from the store at once and never waits for a carrier.
func (s *Service) Track(ctx context.Context, t ship.Tenant, number, carrier string) (Tracked, error) {
	var (
		trackingState ship.TrackingState
		scans         []ship.Scan
		err           error
	)
	if id, ok := ship.ParseShipmentID(number); ok {
		trackingState, scans, err = s.store.TrackingState(ctx, t, id.Raw())
	} else if id, ok := ship.ParseTrackerID(number); ok {
		trackingState, scans, err = s.store.TrackingState(ctx, t, id.Raw())
	} else {
		trackingState, scans, err = s.store.Find(ctx, t, ship.NormalizeTrackingNumber(number), carrier)
	}

	// A shipment without a log event has not been announced to the client yet.
	isUnknown := err == nil && !trackingState.Followed && trackingState.Sequence == 0
	if ship.KindOf(err) == ship.NotFound || isUnknown {
		return Tracked{}, ship.Coded(ship.NotFound, "tracking_not_found", "this account has no parcel with this tracking number")
	}
	return trackedOf(trackingState, scans), err
}

func trackedOf(trackingState ship.TrackingState, scans []ship.Scan) Tracked {
	tracked := Tracked{
		TrackingNumber: trackingState.Number,
		Carrier:        trackingState.Carrier,
		Progress:       trackingState.Progress,
		Scans:          ship.Timeline(scans),
		CheckedAt:      trackingState.Progress.CheckedAt,
	}
	if trackingState.Followed {
		tracked.Tracker = ship.TrackerIDOf(trackingState.ID)
	} else {
		tracked.Shipment = ship.ShipmentIDOf(trackingState.ID)
	}
	return tracked
}

// Follow begins to follow a parcel that was not bought here, and reports
// whether it is new. Without a carrier the number must be of one carrier only.
func (s *Service) Follow(ctx context.Context, t ship.Tenant, key ship.KeyID, number, carrier string) (Tracked, bool, error) {
	number = ship.NormalizeTrackingNumber(number)
	carrier, err := s.carrierFor(number, carrier)
	if err != nil {
		return Tracked{}, false, err
	}

	// The limit is for new numbers: one that is already followed is answered in
	// any case.
	n, err := s.store.FollowedSince(ctx, t, key, time.Now().Add(-24*time.Hour))
	if err != nil {
		return Tracked{}, false, err
	}
	if n >= maxNewPerDay {
		if trackingState, scans, err := s.store.Find(ctx, t, number, carrier); err == nil && trackingState.Followed {
			return trackedOf(trackingState, scans), false, nil
		}
		limited := ship.Coded(ship.Limited, "tracker_limit", "at most %d new tracking numbers can be added per day", maxNewPerDay)
		limited.RetryAfter = time.Hour
		return Tracked{}, false, limited
	}

	connection, err := s.connectionFor(ctx, t, carrier)
	if err != nil {
		return Tracked{}, false, err
	}
	id, isNew, err := s.store.Follow(ctx, t, key, ship.NewTrackerID(t.Shard(), time.Now()), number, carrier)
	if err != nil {
		return Tracked{}, false, err
	}

	// A tracker whose first request was cut off here, or that is older than the
	// carrier account, is polled from now on.
	trackingState, scans, err := s.store.TrackingState(ctx, t, id.Raw())
	if err != nil {
		return Tracked{}, false, err
	}
	if connection != "" && trackingState.Progress.Status != ship.Delivered {
		if err := s.store.Watch(ctx, ship.Subject{Tenant: t, ID: id.Raw()}, connection, time.Now()); err != nil {
			return Tracked{}, false, err
		}
	}
	return trackedOf(trackingState, scans), isNew, nil
}

// connectionFor returns the tenant's account over which a carrier can be asked;
// empty if it has none.
func (s *Service) connectionFor(ctx context.Context, t ship.Tenant, name string) (ship.ConnectionID, error) {
	connections, err := s.connected(ctx, t)
	for _, connection := range connections {
		if connection.Spec().Name == name && hasAbility(connection, "track") {
			return connection.Connection, nil
		}
	}
	return "", err
}

// maxNumber is how long a tracking number may be, normalized. The longest known
// format has 41 characters.
const maxNumber = 50

// Recognize returns the carriers that a tracking number may belong to, the
// likeliest first; none if no carrier has such numbers.
func (s *Service) Recognize(number string) ([]carrier.Candidate, error) {
	if number = ship.NormalizeTrackingNumber(number); number == "" || len(number) > maxNumber {
		return nil, ship.InvalidFields([]ship.FieldError{{Pointer: "/number", Code: "invalid", Detail: "must be a tracking number of 1 to 50 characters, such as 1Z999AA10123456784"}})
	}
	return carrier.Recognize(s.specs(), number), nil
}

// carrierFor returns the carrier of a number: the given one, or the only one
// that the number fits.
func (s *Service) carrierFor(number, name string) (string, error) {
	if number == "" || len(number) > maxNumber {
		return "", ship.InvalidFields([]ship.FieldError{{Pointer: "/trackingNumber", Code: "invalid", Detail: "must be a valid tracking number"}})
	}

	if name != "" {
		var known []string
		for _, spec := range s.specs() {
			known = append(known, spec.Name)
		}
		if !slices.Contains(known, name) {
			return "", ship.InvalidFields([]ship.FieldError{{
				Pointer:    "/carrier",
				Code:       "unknown_carrier",
				Detail:     "is not a carrier connected to this account",
				Suggestion: ship.Nearest(name, known),
			}})
		}
		return name, nil
	}

	switch candidates := carrier.Detect(s.specs(), number); len(candidates) {
	case 0:
		return "", ship.InvalidFields([]ship.FieldError{{Pointer: "/carrier", Code: "required", Detail: "is required: the number does not match any known carrier"}})
	case 1:
		return candidates[0], nil
	default:
		ambiguous := ship.Coded(ship.Invalid, "carrier_ambiguous", "the number matches several carriers; set carrier")
		ambiguous.Details = map[string]any{"candidates": candidates}
		return "", ambiguous
	}
}

// Trackers lists the followed parcels, newest first, without their timelines,
// and reports whether there are more.
func (s *Service) Trackers(ctx context.Context, t ship.Tenant, page ship.Page) (list []Tracked, more bool, err error) {
	// One row more than a page says whether there are more.
	trackingStates, err := s.store.Followed(ctx, t, ship.Page{Limit: page.Limit + 1, Before: page.Before})
	if len(trackingStates) > page.Limit {
		trackingStates = trackingStates[:page.Limit]
		more = true
	}

	for _, trackingState := range trackingStates {
		list = append(list, trackedOf(trackingState, nil))
	}
	return list, more, err
}

// Unfollow removes a followed parcel.
func (s *Service) Unfollow(ctx context.Context, t ship.Tenant, id ship.TrackerID) error {
	err := s.store.Unfollow(ctx, t, id)
	if ship.KindOf(err) == ship.NotFound {
		return ship.Coded(ship.NotFound, "tracker_not_found", "no such tracker")
	}
	return err
}
