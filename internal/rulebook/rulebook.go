// Package rulebook stores the routing settings of accounts: rules with a draft
// and a history, and rate sheets. It also back-tests rules on past shipments.
// Package routing evaluates rules, and package sheet computes prices. This
// package calls no carrier and buys nothing.
package rulebook

import (
	"context"
	"sync"
	"time"

	"github.com/maypok86/otter/v2"

	"github.com/waybillhq/waybill/internal/budget"
	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/routing"
	"github.com/waybillhq/waybill/internal/sheet"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// policyMaxAge is how long a policy is used before the database is asked whether
// it has changed. Another process sees a change after this time at the latest.
const policyMaxAge = 2 * time.Second

// maxPolicies is how many tenants' compiled policies are cached.
const maxPolicies = 10_000

// Config is what a Service needs.
type Config struct {
	Store *store.Store
	// Carriers lists the carriers that exist in a mode, connected or not.
	Carriers func(livemode bool) []carrier.Spec
	// Connected lists the tenant's own carrier accounts, opened.
	Connected func(context.Context, ship.Tenant) ([]*carrier.Carrier, error)
	Heavy     *budget.Budget // memory for back-tests; nil sets no limit
	// Requote asks the simulated carriers again, for a test order whose offers
	// were not stored.
	Requote func(context.Context, ship.Order) []ship.Rate
}

// Service stores rules and rate sheets.
type Service struct {
	Config
	policies   *otter.Cache[ship.Tenant, *cachedPolicy]
	parsed     *otter.Cache[string, *parsedSheet]
	summaries  *otter.Cache[string, *Summary]
	emptyBook  *routing.Compiled // the book of a tenant without rules
	simulating sync.Map          // accounts with a running simulation
	parsing    sync.Mutex        // held while a stored sheet is parsed
}

// New returns a service.
func New(c Config) (*Service, error) {
	emptyBook, err := routing.Compile(routing.Book{})
	if err != nil {
		return nil, err
	}

	policies, err := otter.New(&otter.Options[ship.Tenant, *cachedPolicy]{MaximumSize: maxPolicies})
	if err != nil {
		return nil, err
	}
	parsed, err := newSheetCache()
	if err != nil {
		return nil, err
	}
	summaries, err := newSummaryCache()
	if err != nil {
		return nil, err
	}

	return &Service{
		Config:    c,
		policies:  policies,
		parsed:    parsed,
		summaries: summaries,
		emptyBook: emptyBook,
	}, nil
}

// A Policy is a tenant's routing that is in effect.
type Policy struct {
	Version int
	Book    *routing.Compiled
	// Sheet returns the rate sheet that prices a carrier account, and its name;
	// the sheet is nil if there is none. Sheet itself is nil if the tenant has
	// no sheets.
	Sheet func(carrier string, connection ship.ConnectionID) (*sheet.Sheet, string)
}

// cachedPolicy is a policy, and when it was last known to be the newest.
type cachedPolicy struct {
	Policy
	revision  int64
	checkedAt time.Time
}

// Policy returns the tenant's routing. A change through this service is seen at
// once, and one through another process within two seconds.
func (s *Service) Policy(ctx context.Context, t ship.Tenant) (Policy, error) {
	now := time.Now()
	cached, ok := s.policies.GetIfPresent(t)
	if ok && now.Sub(cached.checkedAt) < policyMaxAge {
		return cached.Policy, nil
	}

	// The revision is read before the policy. If the policy changes in between,
	// the older revision makes a later call load it again.
	revision, err := s.Store.RoutingRevision(ctx, t)
	if err != nil {
		return Policy{}, err
	}
	newest := &cachedPolicy{revision: revision, checkedAt: now}
	if ok && cached.revision == revision {
		newest.Policy = cached.Policy
	} else if newest.Policy, err = s.load(ctx, t, revision); err != nil {
		return Policy{}, err
	}
	s.policies.Set(t, newest)
	return newest.Policy, nil
}

// load reads and compiles the newest policy. Rules are checked when they are
// published, so they compile.
func (s *Service) load(ctx context.Context, t ship.Tenant, revision int64) (Policy, error) {
	policy := Policy{Book: s.emptyBook}
	if revision == 0 {
		return policy, nil // nothing was ever published or imported
	}

	row, err := s.Store.RuleBook(ctx, t, 0)
	switch {
	case ship.KindOf(err) == ship.NotFound:
	case err != nil:
		return policy, err
	default:
		book, err := routing.ReadBook(row.Book)
		if err != nil {
			return policy, err
		}
		if policy.Book, err = routing.Compile(book); err != nil {
			return policy, err
		}
		policy.Version = row.Version
	}

	policy.Sheet, err = s.loadSheets(ctx, t)
	return policy, err
}

// forget drops the cached policy, so that the next call of Policy reads it.
func (s *Service) forget(t ship.Tenant) { s.policies.Invalidate(t) }
