// Package addresscheck finds out whether addresses exist: from an earlier answer,
// from the tenant's carriers, and where none of them can, by rules of its own.
package addresscheck

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// Service checks addresses.
type Service struct {
	accounts carrier.Accounts
	wait     func(ship.ConnectionID) time.Duration
	cache    cache
	log      *slog.Logger
}

// Config is what a Service needs.
type Config struct {
	Store *store.Store
	// Accounts are the carriers that are asked.
	Accounts carrier.Accounts
	// Key protects the answers that are kept: they are found, and read, only by
	// those who know both the key and the address.
	Key []byte
	// Wait returns how long the next check of a connection would wait for the
	// carrier's quota; nil if it never does.
	Wait func(ship.ConnectionID) time.Duration
	Log  *slog.Logger
}

// New returns a service.
func New(c Config) *Service {
	if c.Wait == nil {
		c.Wait = func(ship.ConnectionID) time.Duration { return 0 }
	}
	return &Service{
		accounts: c.Accounts,
		wait:     c.Wait,
		cache:    newCache(c.Store, c.Key),
		log:      c.Log,
	}
}

// A Request is an address to check.
type Request struct {
	Tenant  ship.Tenant
	Address ship.Address // normalized; a name is not needed
	Carrier string       // that alone is asked; empty for the best
	// Spare leaves a carrier alone whose quota has no room: purchases need it
	// more.
	Spare bool
}

// Check returns what is known about an address. If no carrier knows it, the rules
// answer. err says, as ship.Unavailable, why a carrier that was asked did not answer.
func (s *Service) Check(ctx context.Context, r Request) (ship.AddressCheck, error) {
	checkers, err := s.checkers(ctx, r)
	if err != nil {
		return ship.AddressCheck{}, err
	}
	check, _, err := s.askEach(ctx, checkers, r)
	return check, err
}

// askEach asks one carrier after the other until one knows the address. If none
// does, the rules answer; reasons are what carriers say about not knowing it.
func (s *Service) askEach(ctx context.Context, checkers []*carrier.Carrier, r Request) (check ship.AddressCheck, reasons []string, err error) {
	var failed []error
	for _, c := range checkers {
		check, err := s.ask(ctx, c, r)
		switch {
		case err != nil:
			failed = append(failed, err)
		case check.Verdict == ship.AddressUnknown:
			reasons = append(reasons, check.Messages...)
		default:
			return check, nil, nil
		}
	}

	check = checkByRules(r.Address)
	if len(failed) == 0 {
		return check, reasons, nil
	}
	return check, reasons, &ship.Error{
		Kind:    ship.Unavailable,
		Code:    "carrier_unavailable",
		Message: "no carrier could check the address: " + ship.ErrorOf(failed[0]).Message,
		Err:     errors.Join(failed...),
	}
}

// ask returns what the carrier says of the address, or said in the last weeks.
func (s *Service) ask(ctx context.Context, c *carrier.Carrier, r Request) (ship.AddressCheck, error) {
	if c.Simulated() {
		return c.CheckAddress(ctx, r.Address) // it computes its answers
	}

	if check, ok := s.cache.find(ctx, c, r); ok {
		return check, nil
	}
	if r.Spare && s.wait(c.Connection) > 0 {
		return ship.AddressCheck{}, ship.Errorf(ship.Limited, "%s has no room for checks of addresses now", c.Spec().Title)
	}

	check, err := c.CheckAddress(ctx, r.Address)
	if err != nil {
		return ship.AddressCheck{}, err
	}
	if err := s.cache.keep(ctx, c, r, check); err != nil {
		s.log.WarnContext(ctx, "cannot keep the check of an address", "error", err)
	}
	return check, nil
}

// checkers returns the carriers that can check the address, the most precise first.
func (s *Service) checkers(ctx context.Context, r Request) ([]*carrier.Carrier, error) {
	all, err := s.accounts.List(ctx, r.Tenant)
	if err != nil {
		return nil, err
	}

	var able []*carrier.Carrier
	isConnected := false
	for _, c := range all {
		isNamed := r.Carrier == "" || c.Spec().Name == r.Carrier
		isConnected = isConnected || isNamed
		if isNamed && c.AddressDepth(r.Address.Country) > carrier.NotChecked {
			able = append(able, c)
		}
	}

	if r.Carrier != "" && !isConnected {
		return nil, ship.Coded(ship.Invalid, "unknown_carrier", "this carrier is not connected")
	}
	slices.SortStableFunc(able, func(a, b *carrier.Carrier) int {
		return int(b.AddressDepth(r.Address.Country) - a.AddressDepth(r.Address.Country))
	})
	return able, nil
}

// Expire deletes answers that are too old to be used.
func (s *Service) Expire(ctx context.Context) error { return s.cache.expire(ctx) }
