package addresscheck

import (
	"context"
	"slices"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/ship"
)

// A Pending check is under way.
type Pending struct {
	result chan outcome
}

type outcome struct {
	check ship.AddressCheck
	err   error
}

// Start begins a check. It ends by the deadlines of the carriers even if nobody
// waits for it any more, so that its answer is known the next time.
func (s *Service) Start(ctx context.Context, r Request) *Pending {
	p := &Pending{result: make(chan outcome, 1)}
	checkers, err := s.checkers(ctx, r)
	if err != nil {
		p.result <- outcome{err: err}
		return p
	}

	run := func(ctx context.Context) {
		check, _, err := s.askEach(ctx, checkers, r)
		p.result <- outcome{check, err}
	}
	if areInstant(checkers, r) {
		run(ctx)
		return p
	}
	go run(context.WithoutCancel(ctx))
	return p
}

// areInstant reports whether a check needs neither a network nor the database.
func areInstant(checkers []*carrier.Carrier, r Request) bool {
	order := ship.Order{Destination: r.Address}
	return !slices.ContainsFunc(checkers, func(c *carrier.Carrier) bool { return !c.Instant(order) })
}

// Within waits for the result, at most until the deadline. Without one it returns an
// error of kind ship.Unavailable. It is called once.
func (p *Pending) Within(ctx context.Context, deadline time.Time) (ship.AddressCheck, error) {
	select {
	case done := <-p.result: // no timer if it is there already
		return done.check, done.err
	default:
	}

	timer := time.NewTimer(time.Until(deadline))
	defer timer.Stop()
	select {
	case done := <-p.result:
		return done.check, done.err
	case <-timer.C:
		return ship.AddressCheck{Verdict: ship.AddressUnknown}, ship.Errorf(ship.Unavailable, "no carrier has checked the address in time")
	case <-ctx.Done():
		return ship.AddressCheck{Verdict: ship.AddressUnknown}, ctx.Err()
	}
}
