package shipping

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/failpoint"
	"github.com/waybillhq/waybill/internal/job"
	"github.com/waybillhq/waybill/internal/purchase"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

func settleJob(t ship.Tenant, id ship.ShipmentID) job.SettlePurchase {
	return job.SettlePurchase{Account: t.Account, Livemode: t.Livemode, Shipment: id}
}

func settleVoidJob(t ship.Tenant, id ship.ShipmentID) job.SettleVoid {
	return job.SettleVoid{Account: t.Account, Livemode: t.Livemode, Shipment: id}
}

// record stores a sale as what was bought.
func (r *run) record(a purchase.Act) purchase.Report {
	sale := r.attempt(a.Sale.Attempt).sold
	sh := r.b.shipment
	sh.Purchase = sale.Purchase
	c := r.creation(sh, sale.Sale, r.nameOf(r.b.in))

	// Only what a restore lost is recorded without its label.
	if len(sale.Sale.Label.Data) == 0 {
		err := failpoint.Around("record_unlabelled", func() error {
			return r.store.InTx(r.ctx, sh.Tenant, func(tx *store.Store) error {
				return r.recordSale(tx, a.Attempt, a.Sale.Attempt, r.nameOf(r.b.in), sale)
			})
		})
		if err == nil {
			r.eventsRecorded()
		}
		return reported(err)
	}

	var sequence int
	write := func(st *store.Store) (err error) {
		sequence, err = st.Settle(r.ctx, store.Settlement{
			Creation:  c,
			Attempt:   a.Attempt,
			BoughtBy:  a.Sale.Attempt,
			Documents: sale.Sale.Documents,
		})
		if err != nil || c.Shipment.Purchase.OverLimitVoid == "" {
			return err
		}
		return r.followReturn(st, c.Shipment)
	}

	// A label whose void has begun is recorded in one transaction with the job
	// that finishes it, or the void would be forgotten after a crash.
	var err error
	if c.Shipment.Purchase.OverLimitVoid == "" {
		err = write(r.store)
	} else {
		err = r.store.InTx(r.ctx, sh.Tenant, write)
	}
	if err != nil {
		return reported(err)
	}

	r.present = c.Shipment
	r.present.Sequence = sequence
	r.eventsRecorded()
	return reported(nil)
}

// followReturn goes on with the void of a label that was over the limit: the carrier
// has not confirmed it yet.
func (r *run) followReturn(tx *store.Store, sh ship.Shipment) error {
	if err := tx.Move(r.ctx, sh, ship.StateVoiding); err != nil {
		return err
	}
	sh.State = ship.StateVoiding

	if sh.Purchase.OverLimitVoid == ship.StateRefundPending {
		if err := tx.Move(r.ctx, sh, ship.StateRefundPending); err != nil {
			return err
		}
		if err := tx.Credit(r.ctx, sh); err != nil {
			return err
		}
		return tx.PastOrder(r.ctx, sh)
	}

	return tx.Enqueue(r.ctx, settleVoidJob(sh.Tenant, sh.ID), r.waits.Look)
}

// voidOverLimit voids a label that is over the limit. If that is not confirmed at once,
// the label is kept, with a warning and as much of the void as there is. It
// does nothing that could go on when the settle job looks: a look-up does not
// tell the price, and the job would record a label that is being voided.
func (r *run) voidOverLimit(a purchase.Act) purchase.Report {
	ctx, cancel := context.WithTimeout(r.ctx, r.waits.Answer)
	defer cancel()

	attempt := r.attempt(a.Sale.Attempt)
	bought := &attempt.sold.Purchase
	limit := bought.Limit

	c, err := r.accounts.Seller(ctx, r.b.in.Tenant, *bought)
	if err == nil {
		// The settle job may be looking already.
		isLate := time.Since(attempt.StartedAt) > r.voidWindow(c)
		if isLate && slices.Contains(c.Abilities(), "void") {
			return purchase.Report{Result: purchase.Conflict}
		}

		v, voidErr := c.Void(r.overheard(ctx, r.b.in.Tenant, r.b.shipment.ID, *bought), *bought)
		err = voidErr
		if err == nil && v.State == ship.StateVoided {
			r.logVoid(r.b.in.Tenant, r.b.shipment.ID, a.Sale.Attempt, *bought)
			r.refused = priceChanged(*bought)
			return reported(nil)
		}

		switch kind := ship.KindOf(err); {
		case err == nil:
			bought.OverLimitVoid = v.State
		case kind != ship.Invalid && kind != ship.Unsupported:
			bought.OverLimitVoid = ship.StateVoiding
		}
	}

	bought.Warnings = append(bought.Warnings, "the label costs "+bought.Price.String()+", more than the limit of "+limit.String()+
		", and could not be voided immediately; void it if you do not want it")
	return purchase.Report{Result: purchase.Unsure}
}

// priceChanged is the answer when a label was over the limit and is voided.
func priceChanged(d ship.Purchase) error {
	e := ship.Coded(ship.Invalid, "price_changed", "the carrier charged more than was quoted or allowed, so the label was voided")
	e.Carrier = d.Carrier
	e.Details = map[string]any{
		"quoted":  amountOf(d.Limit),
		"charged": amountOf(d.Price),
	}
	return e
}

// end writes down what became of an attempt.
func (r *run) end(a purchase.Act) purchase.Report {
	end := store.Attempt{Number: a.Attempt, Outcome: string(a.Outcome)}
	switch a.Outcome {
	case purchase.WasRefused, purchase.WasNotSent:
		if r.refused == nil {
			break
		}
		e := ship.ErrorOf(r.refused)
		end.Code = e.Refusal.Code
		end.Message = e.Message
		switch {
		case e.Code == "price_changed":
			end.Code = e.Code
			end.Message = "the label was voided: its price is above the limit"
		case a.Outcome == purchase.WasRefused:
			end.Message = e.Refusal.Message
		}

	case purchase.IsUnknown:
		end.Message = "not found at the carrier when first checked"
	}

	// Why it was not approved is what a repeat of the request is answered with,
	// whatever the outcome.
	if failure := approvalFailure(ship.CodeOf(r.refused)); failure != nil {
		end.Code = ship.CodeOf(failure)
		end.Message = failure.Error()
	}
	return reported(r.store.EndAttempt(r.ctx, r.b.in.Tenant, r.b.shipment.ID, end, a.IfUnrecorded))
}

// markUncertain tells the client that the carrier may have sold.
func (r *run) markUncertain(a purchase.Act) purchase.Report {
	return r.change(a.Attempt, func(sh *ship.Shipment) (bool, []ship.Scan) {
		if sh.State == ship.StatePurchasing {
			sh.State = ship.StateUncertain
		}
		return true, nil
	})
}

// review gives the purchase to a person.
func (r *run) review(purchase.Act) purchase.Report { return r.change(0, needReview) }

// needReview is the change of a purchase that a person decides about.
func needReview(sh *ship.Shipment) (notified bool, scans []ship.Scan) {
	sh.State = ship.StateNeedsReview
	return true, []ship.Scan{ship.FailedScan(time.Now().UTC(), ship.ReasonPurchaseUnconfirmed)}
}

// fail ends a purchase that bought nothing. A client who was told of the
// shipment is told of this too; one who was not gets the cause as the answer,
// and the shipment stays unseen.
//
// A process that slept may hear of a refusal when a later attempt has long
// bought: then nothing has failed.
func (r *run) fail(a purchase.Act) purchase.Report {
	report := r.change(a.Attempt, func(sh *ship.Shipment) (bool, []ship.Scan) {
		sh.State = ship.StateFailed
		if sh.Sequence == 0 {
			return false, nil
		}
		return true, []ship.Scan{ship.FailedScan(time.Now().UTC(), ship.ReasonPurchaseFailed)}
	})
	if report.Result == purchase.Done && r.present.State != ship.StateFailed {
		report.Result = purchase.Conflict
	}
	return report
}

// change edits an open purchase in one transaction. It does nothing to one
// that was settled meanwhile, whose last attempt is another, or that cannot
// become what the edit makes of it.
func (r *run) change(attempt int, edit edit) purchase.Report {
	err := r.store.InTx(r.ctx, r.b.in.Tenant, func(tx *store.Store) error { return r.changeIn(tx, attempt, edit) })
	if err == nil {
		r.eventsRecorded()
	}
	return reported(err)
}

// An edit changes a purchase. It returns whether the client is notified, and which
// scans it adds.
type edit func(*ship.Shipment) (notified bool, scans []ship.Scan)

// changeIn is change in a transaction that does more.
func (r *run) changeIn(tx *store.Store, attempt int, edit edit) error {
	t := r.b.in.Tenant
	id := r.b.shipment.ID

	// The lock comes first: the shipment is read as nobody else can change it
	// any more.
	trackingStates, err := tx.LockTrackingStates(r.ctx, []ship.Subject{{Tenant: t, ID: id.Raw()}})
	if err != nil {
		return err
	}
	sh, err := tx.Shipment(r.ctx, t, id)
	if err != nil {
		return err
	}
	r.present = sh

	j := &trackingStates[0]
	isEnded := sh.State.Bought() || sh.State == ship.StateFailed
	isOther := attempt != 0 && j.Attempt != attempt
	if isEnded || isOther {
		return nil
	}

	known, err := tx.Scans(r.ctx, trackingStates)
	if err != nil {
		return err
	}

	notified, scans := edit(&sh)
	if j.State != sh.State && !j.State.CanBecome(sh.State) {
		return nil
	}
	j.State = sh.State

	c := store.Change{}
	if notified {
		delivery := ship.EventContext{
			Now:      time.Now().UTC().Truncate(time.Millisecond),
			BaseURL:  r.baseURL,
			Purchase: &sh.Purchase,
		}
		c.Events = j.Announce(delivery)
		fresh, events := j.Apply(append(known[j.Subject], j.OwnScans()...), scans, delivery)
		for _, f := range fresh {
			c.Scans = append(c.Scans, store.NewScan{Scan: f})
		}
		c.Events = append(c.Events, events...)
	}
	c.State = *j

	sh.Progress = j.Progress
	sh.Sequence = j.Sequence
	r.present = sh
	if sh.State == ship.StateFailed {
		if err := r.giveUp(tx, sh); err != nil {
			return err
		}
	}
	return tx.Apply(r.ctx, []store.Change{c})
}

// giveUp ends what a purchase that has failed holds: its order, and the wait for a
// person.
func (r *run) giveUp(tx *store.Store, sh ship.Shipment) error {
	if sh.Purchase.Approval != "" {
		if err := tx.CloseApproval(r.ctx, sh.Tenant, sh.ID); err != nil {
			return err
		}
	}
	return tx.PastOrder(r.ctx, sh)
}

// read is what is recorded now.
func (r *run) read(purchase.Act) purchase.Report {
	sh, err := r.store.Shipment(r.ctx, r.b.in.Tenant, r.b.shipment.ID)
	if err != nil {
		return purchase.Report{Result: purchase.Broken, Err: err}
	}
	r.present = sh

	out := purchase.Report{Result: purchase.Done}
	if sh.State.Bought() {
		out.Sale.Number = sh.Purchase.TrackingNumber
	}
	return out
}

// answer returns the response for a verdict.
func (r *run) answer(v purchase.Verdict) (Bought, error) {
	bought, err := r.answerTo(v)
	return bought, r.unsettled(err)
}

// unsettled is the error of a purchase that is written down, and whose outcome our
// own side could not record: somebody goes on with it later. "Unavailable" or
// "internal error" would say that nothing was done.
func (r *run) unsettled(err error) error {
	isWritten := false
	for _, attempt := range r.attempts {
		isWritten = isWritten || attempt.isRecorded
	}
	if err == nil || !isWritten {
		return err
	}

	message := "the database does not respond"
	failure := ship.ErrorOf(err)
	switch {
	case failure.Kind == ship.Internal:
		message = "its outcome could not be recorded"
		r.log.ErrorContext(r.ctx, "purchase left open", "shipment", r.b.shipment.ID, "error", err)
	case failure.Kind != ship.Unavailable || failure.Code != "":
		return err
	}
	return &ship.Error{
		Kind:       ship.Uncertain,
		Message:    "the purchase is written down, but " + message + "; send the same request again with the same Idempotency-Key",
		RetryAfter: failure.RetryAfter,
		Err:        err,
	}
}

func (r *run) answerTo(v purchase.Verdict) (Bought, error) {
	switch v.Kind {
	case purchase.Bought:
		// The label of what a restore lost may be lost.
		if r.present.State == ship.StateNeedsReview {
			return Bought{Shipment: r.present, Pending: true}, nil
		}
		return Bought{Shipment: r.present.AsCreated()}, nil
	case purchase.Rejected:
		return Bought{}, r.rejection()
	case purchase.Taken:
		return *r.earlier, r.earlyErr
	case purchase.Pending:
		return r.standing()
	case purchase.Overtaken: // by the settle job, while the carrier answered here too
		if report := r.read(purchase.Act{}); report.Result != purchase.Done {
			return Bought{}, report.Err
		}
		return r.standing()
	}
	return Bought{}, v.Err
}

// standing answers with where the purchase stands. A client may only be told of
// a shipment that it can see; of any other it hears when it asks again.
func (r *run) standing() (Bought, error) {
	if r.present.ID == "" {
		if report := r.read(purchase.Act{}); report.Result != purchase.Done {
			return Bought{}, report.Err
		}
	}

	switch {
	case r.present.State.Bought():
		return Bought{Shipment: r.present.AsCreated()}, nil
	case r.present.State == ship.StateFailed:
		return Bought{}, r.rejection()
	case r.present.Sequence == 0:
		return Bought{}, inProgress()
	}
	return Bought{Shipment: r.present, Pending: true}, nil
}

// rejection is the answer when nothing was bought.
func (r *run) rejection() error {
	switch {
	case r.refused == nil:
		return &ship.Error{
			Kind:       ship.Unavailable,
			Code:       "carrier_unavailable",
			Message:    "the carrier could not be reached",
			Carrier:    r.b.shipment.Purchase.Carrier,
			RetryAfter: 5 * time.Second,
		}
	case ship.CodeOf(r.refused) == "price_changed", ship.CodeOf(r.refused) == "restore_pending", errors.Is(r.refused, errNoDisk):
		return r.refused
	}

	if len(r.b.failed) == 0 {
		r.b.failed = []carrier.Failure{{Carrier: r.b.shipment.Purchase.Carrier, Err: r.refused}}
	}
	return r.accounts.Refusal(r.b.failed, carrier.OneParcel(r.b.in.OneParcel))
}
