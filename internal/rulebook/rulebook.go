// Package rulebook keeps what accounts decided about their routing: rules with
// a draft and a history, and rate sheets. It tries rules on the past. What
// rules mean is for package routing; what sheets cost, for package sheet. It
// asks no carrier and buys nothing.
package rulebook

import (
	"context"
	"sync"
	"time"

	"github.com/maypok86/otter/v2"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/routing"
	"github.com/waybillhq/waybill/internal/sheet"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// fresh is how long a policy is used before the database is asked whether it
// is still the same: so late, at most, another copy of the binary sees a
// change.
const fresh = 2 * time.Second

// remembered is how many tenants' policies are kept compiled.
const remembered = 10_000

// Config is what a Service needs.
type Config struct {
	Store *store.Store
	// Carriers are those that there are in a mode, connected or not.
	Carriers func(livemode bool) []carrier.Spec
	// Connected lists the tenant's own carrier accounts, opened.
	Connected func(context.Context, ship.Tenant) ([]*carrier.Carrier, error)
	// Requote asks the simulated carriers again, for a test order whose offers
	// were not stored.
	Requote func(context.Context, ship.Order) []ship.Rate
}

// Service keeps rules and rate sheets.
type Service struct {
	Config
	known  *otter.Cache[ship.Tenant, known]
	parsed *otter.Cache[string, *parsedSheet]
	told   *otter.Cache[string, *Told]
	plain  *routing.Compiled // without rules
	busy   sync.Map          // accounts whose simulation runs
}

// New returns a service.
func New(c Config) (*Service, error) {
	plain, err := routing.Compile(routing.Book{})
	if err != nil {
		return nil, err
	}
	cache, err := otter.New(&otter.Options[ship.Tenant, known]{MaximumSize: remembered})
	if err != nil {
		return nil, err
	}
	parsed, err := newParsed()
	if err != nil {
		return nil, err
	}
	told, err := newTold()
	if err != nil {
		return nil, err
	}
	return &Service{Config: c, known: cache, parsed: parsed, told: told, plain: plain}, nil
}

// A Policy is a tenant's routing as it counts now.
type Policy struct {
	Version int
	Book    *routing.Compiled
	// Sheet is the rate sheet that prices a carrier account, and its name; nil
	// if there is none.
	Sheet func(carrier string, connection ship.ConnectionID) (*sheet.Sheet, string)
}

// known is a policy, and when it was last seen to be the newest.
type known struct {
	Policy
	revision int64
	seen     time.Time
}

// Policy returns the tenant's routing. It is right to within two seconds, and
// at once after a change through this service.
func (s *Service) Policy(ctx context.Context, t ship.Tenant) (Policy, error) {
	now := time.Now()
	k, ok := s.known.GetIfPresent(t)
	if ok && now.Sub(k.seen) < fresh {
		return k.Policy, nil
	}
	revision, err := s.Store.RoutingRevision(ctx, t)
	if err != nil {
		return Policy{}, err
	}
	if !ok || k.revision != revision {
		if k.Policy, err = s.load(ctx, t, revision); err != nil {
			return Policy{}, err
		}
	}
	k.revision, k.seen = revision, now
	s.known.Set(t, k)
	return k.Policy, nil
}

// load reads and compiles the newest policy. What was checked when it was
// published compiles.
func (s *Service) load(ctx context.Context, t ship.Tenant, revision int64) (Policy, error) {
	p := Policy{Book: s.plain}
	if revision == 0 {
		return p, nil
	}
	row, err := s.Store.RuleBook(ctx, t, 0)
	switch {
	case ship.KindOf(err) == ship.NotFound:
	case err != nil:
		return p, err
	default:
		book, err := routing.ReadBook(row.Book)
		if err != nil {
			return p, err
		}
		if p.Book, err = routing.Compile(book); err != nil {
			return p, err
		}
		p.Version = row.Version
	}
	p.Sheet, err = s.loadSheets(ctx, t)
	return p, err
}

// forget makes the next Policy look.
func (s *Service) forget(t ship.Tenant) { s.known.Invalidate(t) }
