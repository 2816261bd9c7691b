package shipping

import (
	"context"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/failpoint"
	"github.com/waybillhq/waybill/internal/purchase"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// What it takes to believe a carrier that it sold nothing, and when the same
// purchase is sent again instead. The rule is purchase.Machine's; here is what it
// is decided from.

// One control serves all looks of a connection for controlLife. It is a purchase of
// the last controlAge, where the search itself reaches back further.
const (
	controlLife = 5 * time.Minute
	controlAge  = 30 * 24 * time.Hour
)

// lookupTrust is how far the look-up of a connection can be trusted.
type lookupTrust struct {
	store.ConnectionLookup
	delay time.Duration // how long a sale may be missing from it
}

// trustIn returns how far the look-up of a carrier account can be trusted.
func (s *Service) trustIn(ctx context.Context, t ship.Tenant, c *carrier.Carrier) (lookupTrust, error) {
	if c.Simulated() { // there is no look-up that could be wrong
		return lookupTrust{}, nil
	}

	known, err := s.store.ConnectionLookup(ctx, t, c.Connection)
	if err != nil {
		return lookupTrust{}, err
	}
	spec := c.Spec()
	delay, _ := VisibilityOf(&spec, known, s.waits.LookupLag).Delay()
	return lookupTrust{ConnectionLookup: known, delay: s.compressed(delay)}, nil
}

// VisibilityOf returns what is known of how late a connection shows its purchases.
// Measurements in a carrier's test environment say nothing about production, and are
// not used there either, so that a test connection behaves like a live one.
func VisibilityOf(spec *carrier.Spec, known store.ConnectionLookup, least time.Duration) purchase.Visibility {
	visibility := purchase.Visibility{
		Default: spec.Delay(),
		Raised:  known.Raised,
		Least:   least,
	}
	if known.Tenant.Livemode {
		visibility.Measured = known.Measured
	}
	return visibility
}

// Lookups returns what is known of the look-ups of the tenant's connections. One
// that is missing was never looked at.
func (s *Service) Lookups(ctx context.Context, t ship.Tenant) (map[ship.ConnectionID]store.ConnectionLookup, error) {
	return s.store.ConnectionLookups(ctx, t)
}

// VisibilityDelay returns how long a purchase of a connection may be missing from
// its look-up, and where that comes from.
func (s *Service) VisibilityDelay(spec *carrier.Spec, known store.ConnectionLookup) (time.Duration, purchase.DelaySource) {
	return VisibilityOf(spec, known, s.waits.LookupLag).Delay()
}

// compressed is a time at a carrier as it passes here.
func (s *Service) compressed(d time.Duration) time.Duration {
	return time.Duration(float64(d) * s.waits.LookupScale)
}

// learnDelay raises the visibility delay of a connection if a look at the attempt,
// when it should have been visible, did not find it.
func (r *run) learnDelay(c *carrier.Carrier, attempt store.Attempt) {
	wasMissed := purchase.Outcome(attempt.Outcome) == purchase.IsUnknown || purchase.Outcome(attempt.Outcome) == purchase.WasAbsent
	if !wasMissed || c.Simulated() || !attempt.ResentAt.IsZero() || r.waits.LookupScale == 0 {
		return
	}

	age := time.Since(attempt.StartedAt)
	raised := purchase.RaisedDelay(time.Duration(float64(age) / r.waits.LookupScale))
	if err := r.store.RaiseDelay(r.ctx, r.b.in.Tenant, c.Connection, raised, r.b.shipment.ID); err != nil {
		r.log.ErrorContext(r.ctx, "visibility delay not raised", "connection", c.Connection, "delay", raised, "error", err)
		return
	}
	r.log.WarnContext(r.ctx, "purchase was visible later than expected", "shipment", r.b.shipment.ID, "connection", c.Connection, "carrier", attempt.Carrier, "age", age.String(), "delay", raised.String())
}

// control searches for a purchase that is known to exist, as the attempt was
// searched for. An absence that comes with it is one of the purchase; without it,
// the search may look in the wrong place.
func (r *run) control(a purchase.Act) purchase.Report {
	attempt := r.attempt(a.Attempt)
	c, err := r.accounts.Seller(r.ctx, r.b.in.Tenant, r.purchaseOf(attempt.Attempt))
	if err != nil {
		return purchase.Report{Result: purchase.Unsure}
	}
	if c.Simulated() {
		return purchase.Report{Result: purchase.Found}
	}

	trust, err := r.trustIn(r.ctx, r.b.in.Tenant, c)
	if err != nil {
		return purchase.Report{Result: purchase.Unsure}
	}
	return r.controlOf(c, trust)
}

// controlOf is the last control of a connection, or a new one.
func (r *run) controlOf(c *carrier.Carrier, trust lookupTrust) purchase.Report {
	if time.Since(trust.ControlAt) < r.compressed(controlLife) {
		return controlReport(trust.ControlFound)
	}
	return r.searchControl(c, trust)
}

// isControlled reports whether an absence of the connection's look-up counts: the same
// search finds a purchase that is known to exist. One control serves all looks of the run,
// because USPS prints a label again only a few times.
func (r *run) isControlled(c *carrier.Carrier) bool {
	if c.Simulated() || r.found[c.Connection] {
		return true
	}
	trust, err := r.trustIn(r.ctx, r.b.in.Tenant, c)
	if err != nil {
		return false
	}

	var report purchase.Report
	_ = failpoint.Around("restore_control", func() error {
		report = r.controlOf(c, trust)
		return nil
	})
	r.found[c.Connection] = report.Result == purchase.Found
	return r.found[c.Connection]
}

// confirmLookup tries a look-up that is not confirmed on a purchase that is known to
// exist. If it is found, the absence of another one can be believed.
func (r *run) confirmLookup(c *carrier.Carrier) {
	if !c.IsOff(carrier.AbilityFind) {
		return
	}
	trust, err := r.trustIn(r.ctx, r.b.in.Tenant, c)
	if err == nil {
		r.controlOf(c, trust)
	}
}

func controlReport(found bool) purchase.Report {
	if found {
		return purchase.Report{Result: purchase.Found}
	}
	return purchase.Report{Result: purchase.Absent}
}

// searchControl looks for the newest purchase of the connection that must be
// visible, with the window of the search for the present one.
func (r *run) searchControl(c *carrier.Carrier, trust lookupTrust) purchase.Report {
	t := r.b.in.Tenant
	spec := c.Spec()
	from := time.Now().Add(-controlAge)
	if spec.LookupWindow > 0 {
		from = r.b.shipment.CreatedAt().Add(-spec.LookupWindow)
	}
	id, number, err := r.store.ControlPurchase(r.ctx, t, c.Connection, from, time.Now().Add(-trust.delay))
	if err != nil {
		return purchase.Report{Result: purchase.Unsure} // none, as a rule
	}

	known, err := r.store.Shipment(r.ctx, t, id)
	if err != nil {
		return purchase.Report{Result: purchase.Unsure}
	}
	attempts, err := r.store.Attempts(r.ctx, t, id)
	if err != nil || len(attempts) < number {
		return purchase.Report{Result: purchase.Unsure}
	}
	bought := attempts[number-1]

	request := carrier.BuyOrder{
		Order:     known.Order,
		Service:   bought.Service,
		Selection: known.Purchase.Selection,
		Reference: bought.Reference,
		Shipment:  r.b.shipment.ID, // the window is that of the present search
	}
	request.Order.ShipDate = r.b.shipment.Order.ShipDate
	_, err = c.Find(carrier.Unrestricted(r.overheard(r.ctx, t, r.b.shipment.ID, known.Purchase)), request)

	kind := ship.KindOf(err)
	if kind != "" && kind != ship.NotFound {
		r.log.WarnContext(r.ctx, "control of a look-up failed", "connection", c.Connection, "carrier", spec.Name, "error", err)
		return purchase.Report{Result: purchase.Unsure}
	}

	isFound := kind == ""
	if !isFound {
		r.log.ErrorContext(r.ctx, "look-up does not find a purchase that exists", "connection", c.Connection, "carrier", spec.Name, "shipment", id)
	}
	err = failpoint.Around("record_control", func() error {
		return r.store.RecordControl(r.ctx, t, c.Connection, id, isFound)
	})
	if err != nil {
		return purchase.Report{Result: purchase.Broken, Err: err}
	}
	r.controlled(spec.Name, isFound)
	return controlReport(isFound)
}

// repeatRule says whether an attempt may be sent again as the same purchase.
func (r *run) repeatRule(c *carrier.Carrier, attempt store.Attempt) purchase.RepeatRule {
	bought := r.purchaseOf(attempt)
	switch c.Repeats(carrier.BuyOrder{
		Order:     r.b.shipment.Order,
		Service:   bought.Service,
		Selection: bought.Selection,
		Reference: attempt.Reference,
		Shipment:  r.b.shipment.ID,
	}) {
	case carrier.RepeatsIfAbsent:
		return purchase.RepeatIfAbsent
	case carrier.RepeatsAnyTime:
		return purchase.RepeatAnyTime
	}
	return purchase.NeverRepeat
}

// resend records that the attempt is sent again.
func (r *run) resend(a purchase.Act) purchase.Report {
	err := r.store.Resend(r.ctx, r.b.in.Tenant, r.b.shipment.ID, a.Attempt)
	if err == nil {
		r.attempt(a.Attempt).ResentAt = time.Now()
	}
	return reported(err)
}

// repeat sends an attempt again, under the same reference. An answer other than a
// sale says nothing about the purchase.
func (r *run) repeat(a purchase.Act) purchase.Report {
	lost := purchase.Report{Result: purchase.Lost}
	attempt := r.attempt(a.Attempt)
	c, err := r.accounts.Seller(r.ctx, r.b.in.Tenant, r.b.shipment.Purchase)
	isLate := time.Since(attempt.ResentAt) > r.waits.Settle/3
	if err != nil || isLate || attempt.Connection != c.Connection {
		return lost
	}

	report := r.ask(c, a.Attempt)
	if report.Result != purchase.Sold {
		r.refused = nil
		return lost
	}
	return report
}

// duplicateIsBilled reports whether a second label would be charged for, by the
// carrier of the last attempt. If that is not known, it would.
func (s *Service) duplicateIsBilled(ctx context.Context, sh ship.Shipment, attempts []store.Attempt) bool {
	if len(attempts) == 0 {
		return false
	}

	last := attempts[len(attempts)-1]
	bought := ship.Purchase{Carrier: last.Carrier, Connection: last.Connection}
	c, err := s.accounts.Seller(ctx, sh.Tenant, bought)
	return err != nil || c.Spec().DuplicateIsBilled
}
