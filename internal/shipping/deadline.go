package shipping

import (
	"cmp"
	"context"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/failpoint"
	"github.com/waybillhq/waybill/internal/purchase"
	"github.com/waybillhq/waybill/internal/ship"
)

// How long a purchase may take, and when the settle job may look at it, follow
// from each other. From the moment at which an attempt is written down:
//
//	Settle/3                    the request is sent by now, or not at all
//	+ the carrier's deadline    the carrier has answered by now, or never will
//	+ Answer                    a label above the limit is given back by now
//	                            the settle job may look
//
// The job looks no earlier, so it never meets a purchase that is still running
// here; after a crash it looks at the same time.

// buyTime is how long the carrier may take to sell the order.
func (r *run) buyTime(c *carrier.Carrier) time.Duration {
	return min(c.BuyTime(len(r.b.shipment.Order.Parcels)), cmp.Or(r.waits.Buy, r.waits.Answer))
}

// saleWindow is how long after an attempt was written down its carrier may
// still sell.
func (r *run) saleWindow(c *carrier.Carrier) time.Duration {
	if r.waits.Buy == 0 {
		return r.waits.Answer
	}
	return r.waits.Settle/3 + r.buyTime(c)
}

// voidWindow is how long after an attempt was written down the void of a
// label above the limit may begin, so that it ends before the settle job looks.
func (r *run) voidWindow(c *carrier.Carrier) time.Duration {
	if r.waits.Buy == 0 {
		return r.waits.Settle / 3
	}
	return r.saleWindow(c)
}

// settleAfter is how long after the present attempt was written down the settle
// job may look at it.
func (r *run) settleAfter() time.Duration {
	if r.waits.Buy == 0 {
		return r.waits.Settle
	}
	bought := r.b.shipment.Purchase
	if present := r.attempt(r.b.attempt); present.isRecorded {
		bought = r.purchaseOf(present.Attempt)
	}

	window := r.waits.Settle/3 + r.waits.Buy // of a carrier that cannot be opened any more
	if c, err := r.accounts.Seller(r.ctx, r.b.in.Tenant, bought); err == nil {
		window = r.saleWindow(c)
	}
	margin := r.waits.Settle / 12
	return max(r.waits.Settle, window+r.waits.Answer+margin)
}

// answerInTime makes a purchase and answers with its outcome or, if the carrier
// takes longer than a client waits, with the shipment as pending. The purchase
// goes on in the background then: ending it would leave a label that nobody
// knows of.
func (r *run) answerInTime(buy func() purchase.Verdict) (Bought, error) {
	tenant, id := r.b.in.Tenant, r.b.shipment.ID
	ctx := context.WithoutCancel(r.ctx)
	ended := make(chan purchase.Verdict, 1)
	r.purchases.Go(func() { ended <- r.safely(buy) })
	if r.waits.Buy <= r.waits.Answer {
		return r.answer(<-ended)
	}

	timer := time.NewTimer(r.waits.Answer)
	defer timer.Stop()
	select {
	case verdict := <-ended:
		return r.answer(verdict)
	case <-timer.C:
	}

	// A purchase that was announced as pending and fails is over. One that no
	// carrier was asked for yet, because what a restore lost is looked for
	// first, may still fail without a reason to give up: the same key tries it
	// again. So it is announced once it is sent.
	select {
	case verdict := <-ended:
		return r.answer(verdict)
	case <-r.sending:
	}
	if pending, ok := r.announcePending(ctx, tenant, id); ok {
		return pending, nil
	}
	return r.answer(<-ended) // it ended just now, or is not written down yet
}

// announcePending publishes a shipment whose purchase is still running: it can
// be read from now on, and shipment.created is sent. It reports false if the
// purchase is no longer running. It shares nothing with the run, which goes on
// at the same time.
func (s *Service) announcePending(ctx context.Context, tenant ship.Tenant, id ship.ShipmentID) (Bought, bool) {
	r := s.newRun(ctx, &buying{in: BuyInput{Tenant: tenant}, shipment: ship.Shipment{ID: id}}, "response")
	var report purchase.Report
	_ = failpoint.Around("announce", func() error {
		report = r.change(0, announce)
		return nil
	})
	state := r.present.State
	if report.Result != purchase.Done || state != ship.StatePurchasing && state != ship.StateUncertain {
		return Bought{}, false
	}
	return Bought{Shipment: r.present, Pending: true}, true
}

// announce is the change of a shipment that stays as it is and is made known.
func announce(*ship.Shipment) (notified bool, scans []ship.Scan) { return true, nil }

// safely makes a panic a failure of the purchase: its goroutine is not one of
// the HTTP server's, and must not end the process. The settle job goes on from
// what is written down.
func (r *run) safely(buy func() purchase.Verdict) (verdict purchase.Verdict) {
	defer func() {
		if cause := recover(); cause != nil {
			r.log.ErrorContext(r.ctx, "panic in a purchase", "shipment", r.b.shipment.ID, "cause", cause, "stack", string(debug.Stack()))
			verdict = purchase.Verdict{Kind: purchase.Failed, Err: fmt.Errorf("panic: %v", cause)}
		}
	}()
	return buy()
}
