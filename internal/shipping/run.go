package shipping

import (
	"context"
	"maps"
	"net/http/httptrace"
	"sync"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/failpoint"
	"github.com/waybillhq/waybill/internal/purchase"
	"github.com/waybillhq/waybill/internal/restore"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// run carries out the acts of one purchase: the hands of the machine in
// package purchase, which decides. Whatever writes money down or spends it is
// an act, so every such step has a point on both sides where a test can kill
// the process.
type run struct {
	*Service
	ctx      context.Context
	b        *buying
	foundBy  string
	attempts map[int]*attempt // by number

	found map[ship.ConnectionID]bool // connections whose control was found

	sending   chan struct{} // closed when a carrier is first asked to sell
	firstSend sync.Once

	refused  error         // the last no
	earlier  *Bought       // what the key or the order was used for before
	present  ship.Shipment // as it was last read or written
	earlyErr error

	releaseRoom func() // of the sale in the spool; nil without a reservation
}

// An attempt is one try to buy the label, at one carrier account: as it is
// recorded, and what the carrier sold under it.
type attempt struct {
	store.Attempt      // StartedAt is on this process's clock if it was made here
	isRecorded    bool // false for one that the database lost in a restore
	sold          sold // the zero value until a sale is known
}

// sold is a sale with the purchase that it fulfils. The names in JSON are those
// of files that are already spooled.
type sold struct {
	Sale     ship.Sale     `json:"purchase"`
	Purchase ship.Purchase `json:"deal"`
}

func (s *Service) newRun(ctx context.Context, b *buying, foundBy string) *run {
	return &run{
		Service:  s,
		ctx:      ctx,
		b:        b,
		foundBy:  foundBy,
		attempts: map[int]*attempt{},
		found:    map[ship.ConnectionID]bool{},
		sending:  make(chan struct{}),
	}
}

// resume is a run of a purchase that is written down.
func (s *Service) resume(ctx context.Context, sh ship.Shipment, attempts []store.Attempt, foundBy string) *run {
	r := s.newRun(context.WithoutCancel(ctx), &buying{in: BuyInput{Tenant: sh.Tenant}, shipment: sh, attempt: len(attempts)}, foundBy)
	r.present = sh

	d := sh.Purchase
	r.b.offers = []ship.Rate{{
		Carrier:     d.Carrier,
		Connection:  d.Connection,
		Service:     d.Service,
		ServiceName: d.ServiceName,
		Price:       d.Price,
		Selection:   d.Selection,
	}}

	r.remember(attempts)
	return r
}

// attempt is the attempt of the number, which need not be recorded.
func (r *run) attempt(number int) *attempt {
	known := r.attempts[number]
	if known == nil {
		known = &attempt{Attempt: store.Attempt{Number: number}}
		r.attempts[number] = known
	}
	return known
}

// remember keeps attempts that are recorded.
func (r *run) remember(recorded []store.Attempt) {
	for _, a := range recorded {
		r.attempts[a.Number] = &attempt{Attempt: a, isRecorded: true}
	}
}

func (r *run) machine() purchase.Machine {
	return purchase.Machine{
		Do:  r.do,
		Now: time.Now,
		Waits: purchase.Waits{
			Settle: r.settleAfter(),
			Look:   r.waits.Look,
			Rebuy:  r.waits.Rebuy,
			Review: r.waits.Review,
			Tries:  r.waits.Answer / 2,
		},
		Loss: r.loss(),
	}
}

// do carries out an act.
func (r *run) do(a purchase.Act) purchase.Report {
	if failpoint.Enabled() {
		failpoint.Hit("before " + string(a.Kind))
		defer failpoint.Hit("after " + string(a.Kind))
	}

	report := r.act(a.Kind)(a)
	r.outcomes(a, report.Result)
	return report
}

// act is how each kind is carried out: all that a machine can ask for.
func (r *run) act(k purchase.Kind) func(purchase.Act) purchase.Report {
	switch k {
	case purchase.Intend:
		return r.intend
	case purchase.Begin:
		return r.begin
	case purchase.Send:
		return r.send
	case purchase.Spool:
		return r.keepOnDisk
	case purchase.Unspool:
		return r.dropFromDisk
	case purchase.VoidOverLimit:
		return r.voidOverLimit
	case purchase.Record:
		return r.record
	case purchase.End:
		return r.end
	case purchase.NextAttempt:
		return r.nextAttempt
	case purchase.MarkUncertain:
		return r.markUncertain
	case purchase.Fail:
		return r.fail
	case purchase.Review:
		return r.review
	case purchase.Read:
		return r.read
	case purchase.Look:
		return r.look
	case purchase.Control:
		return r.control
	case purchase.Resend:
		return r.resend
	case purchase.Repeat:
		return r.repeat
	case purchase.Orphan:
		return r.orphan
	case purchase.VoidOrphan:
		return r.voidOrphan
	}
	panic("shipping: unknown action " + string(k))
}

// reported turns an error of our own side into a report.
func reported(err error) purchase.Report {
	switch {
	case err == nil:
		return purchase.Report{Result: purchase.Done}
	case ship.KindOf(err) == ship.Conflict && ship.CodeOf(err) == "":
		return purchase.Report{Result: purchase.Conflict}
	}
	return purchase.Report{Result: purchase.Broken, Err: err}
}

// intend writes the purchase and its first attempt down. After a crash FindOpen
// finds them.
func (r *run) intend(purchase.Act) purchase.Report {
	first := r.newAttempt()

	// What a key with a daily limit may spend is reserved in the same
	// transaction, and so is an approval. Without either there is one statement,
	// which needs none.
	write := r.write
	if r.b.in.limited() || r.b.needsApproval {
		write = r.writeInTx
	}
	r.earlier, r.earlyErr = write(r.ctx, r.b, func(st *store.Store) error {
		found, err := st.Intend(r.ctx, r.b.shipment, first, r.nameOf(r.b.in))
		if err != nil {
			return err
		}
		r.b.shipment.DuplicateOf = r.b.duplicateOf(found)
		if err := recordReturn(r.ctx, st, r.b.shipment); err != nil {
			return err
		}
		if err := r.reserve(st); err != nil {
			return err
		}
		return r.askApproval(st)
	})
	if r.earlier != nil {
		return purchase.Report{Result: purchase.Conflict}
	}
	if r.earlyErr != nil {
		return purchase.Report{Result: purchase.Broken, Err: r.earlyErr}
	}

	// From here on the client may disconnect: the purchase is made and settled
	// whether or not anybody waits for it.
	r.remember([]store.Attempt{first})
	r.ctx = context.WithoutCancel(r.ctx)
	if r.b.needsApproval {
		r.eventsRecorded()
	}
	return reported(nil)
}

// newAttempt is the present attempt, which begins now and is to be recorded.
func (r *run) newAttempt() store.Attempt {
	d := r.b.shipment.Purchase
	return store.Attempt{
		Number:     r.b.attempt,
		Reference:  r.reference(r.b, r.b.attempt),
		Carrier:    d.Carrier,
		Connection: d.Connection,
		Service:    d.Service,
		StartedAt:  time.Now(),
	}
}

// nextAttempt records the next attempt, for the next offer if the carrier refused
// the last one.
func (r *run) nextAttempt(a purchase.Act) purchase.Report {
	// Nobody waits for a purchase that is made again in the background: it can wait
	// for the disk, and would otherwise fail.
	if r.foundBy != "response" {
		if err := r.checkDisk(r.b.in.Tenant, r.b.shipment.Purchase.Simulated); err != nil {
			return reported(err)
		}
	}

	if r.refused != nil && len(r.b.offers) > 1 {
		r.b.rememberSelection(a.Attempt)
		r.b.next(r.refused)
	}

	r.b.attempt = a.Attempt + 1
	next := r.newAttempt()
	settleAfter := r.settleAfter()

	isRepeat := r.b.shipment.State == ship.StateFailed // of the whole purchase, by its client

	err := r.store.InTx(r.ctx, r.b.in.Tenant, func(tx *store.Store) error {
		// While a return has failed, another one of the shipment may have been
		// bought.
		if r.b.isReturn() && isRepeat {
			if err := claimReturn(r.ctx, tx, r.b); err != nil {
				return err
			}
		}
		if err := tx.Again(r.ctx, r.b.shipment, next); err != nil {
			return err
		}

		// What was reserved for the purchase was free while it had failed, others
		// may have spent it, and the price may be another.
		if isRepeat {
			if err := r.reserve(tx); err != nil {
				return err
			}
		}
		if err := recordReturn(r.ctx, tx, r.b.shipment); err != nil {
			return err
		}
		if r.b.needsApproval {
			return r.askApproval(tx)
		}
		return tx.Enqueue(r.ctx, settleJob(r.b.shipment.Tenant, r.b.shipment.ID), settleAfter)
	})

	if err == nil {
		r.eventsRecorded()
		r.b.shipment.State = ship.StatePurchasing
		r.remember([]store.Attempt{next})
	}
	if ship.KindOf(err) == ship.Conflict && ship.CodeOf(err) == "" {
		sh := r.b.shipment
		if isHeld, heldErr := r.store.IsHeld(r.ctx, sh.Tenant, sh.ID, ""); heldErr != nil || isHeld {
			return purchase.Report{Result: purchase.Broken, Err: store.RestorePending(latestRestoreRetry)}
		}
	}
	return reported(err)
}

// send asks the carrier once. A process that slept since it wrote the attempt
// down does not: the settle job may be looking already.
func (r *run) send(a purchase.Act) purchase.Report {
	c, err := r.accounts.Seller(r.ctx, r.b.in.Tenant, r.b.shipment.Purchase)
	if err == nil && time.Since(r.attempt(a.Attempt).StartedAt) > r.waits.Settle/3 {
		err = ship.Errorf(ship.Unavailable, "the purchase was not sent in time")
	}
	if err == nil {
		err = r.verify()
	}
	if err != nil {
		r.refuse(err)
		return purchase.Report{Result: purchase.NotSent}
	}
	r.firstSend.Do(func() { close(r.sending) })
	return r.ask(c, a.Attempt)
}

// ask asks the carrier to sell the present attempt.
func (r *run) ask(c *carrier.Carrier, number int) purchase.Report {
	ctx, cancel := context.WithTimeout(r.ctx, r.buyTime(c))
	defer cancel()

	if failpoint.Enabled() {
		ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
			GotConn:              func(httptrace.GotConnInfo) { failpoint.Hit("send connected") },
			WroteHeaders:         func() { failpoint.Hit("send headed") },
			WroteRequest:         func(httptrace.WroteRequestInfo) { failpoint.Hit("send written") },
			GotFirstResponseByte: func() { failpoint.Hit("send answering") },
		})
	}

	// What is about to be bought is on this machine's disk before the carrier
	// is asked: a restore of the database to an earlier moment loses the row.
	if err := r.secure(); err != nil {
		r.refuse(err)
		return purchase.Report{Result: purchase.NotSent, Stop: true}
	}
	p, err := c.Buy(r.overheard(ctx, r.b.in.Tenant, r.b.shipment.ID, r.b.shipment.Purchase), r.order(r.b))
	// The room of a sale is given back once it is written.
	if err != nil {
		r.freeRoom()
	}

	switch ship.KindOf(err) {
	case "":
		return purchase.Report{Result: purchase.Sold, Sale: r.take(number, p, r.b.shipment.Purchase)}

	case ship.Uncertain, ship.Internal:
		r.log.WarnContext(ctx, "purchase outcome unknown", "shipment", r.b.shipment.ID, "carrier", r.b.shipment.Purchase.Carrier, "error", err)
		return purchase.Report{Result: purchase.Lost}

	case ship.Invalid, ship.Unsupported:
		_ = r.logAttempt(restore.NotSold, number)
		r.refuse(err)
		return purchase.Report{Result: purchase.Refused}
	}

	_ = r.logAttempt(restore.NotSold, number)
	r.refuse(err)
	return purchase.Report{Result: purchase.NotSent}
}

// refuse remembers why the carrier of the present attempt did not sell.
func (r *run) refuse(err error) {
	r.refused = err
	r.b.failed = append(r.b.failed, carrier.Failure{Carrier: r.b.shipment.Purchase.Carrier, Err: err})
}

// take remembers what a carrier sold.
func (r *run) take(attempt int, p ship.Sale, d ship.Purchase) purchase.Sale {
	fillPurchase(&d, p, time.Now().UTC().Truncate(time.Millisecond))
	r.attempt(attempt).sold = sold{Sale: p, Purchase: d}

	// A price from a rate sheet is the account's own: what the carrier says of
	// it does not count.
	isPriced := !p.Price.IsZero() && d.Sheet == ""
	return purchase.Sale{
		Attempt:   attempt,
		Number:    p.TrackingNumber,
		Labelled:  len(p.Label.Data) > 0,
		OverLimit: !d.Limit.IsZero() && isPriced && p.Price.Exceeds(d.Limit, 1),
	}
}

// look looks an attempt up at its carrier.
func (r *run) look(a purchase.Act) purchase.Report {
	report := r.lookUp(a)
	if report.Result != purchase.Absent {
		return report
	}

	// What was found once exists until it is voided, even if the carrier does not
	// find it now.
	isLive, err := r.store.HasLiveOrphan(r.ctx, r.b.in.Tenant, r.b.shipment.ID, a.Attempt)
	if err != nil || isLive {
		report.Result = purchase.Unsure
	}
	return report
}

// lookUp asks the carrier for an attempt, and says what its answer is worth.
func (r *run) lookUp(a purchase.Act) purchase.Report {
	attempt := r.attempt(a.Attempt)
	if !attempt.isRecorded || r.loss().Reach > 0 {
		return r.lookEverywhere(a.Attempt)
	}

	bought := r.purchaseOf(attempt.Attempt)
	c, err := r.accounts.Seller(r.ctx, r.b.in.Tenant, bought)
	if err != nil {
		r.log.WarnContext(r.ctx, "purchase cannot be looked up at the carrier", "shipment", r.b.shipment.ID, "carrier", attempt.Carrier, "error", err)
		return purchase.Report{Result: purchase.Unsure}
	}
	trust, err := r.trustIn(r.ctx, r.b.in.Tenant, c)
	if err != nil {
		return purchase.Report{Result: purchase.Unsure}
	}

	r.confirmLookup(c)
	report := r.lookAt(c, a.Attempt, attempt.Reference, bought)
	// A simulated carrier sells and shows in this process, so nothing is late.
	if !c.Simulated() {
		report.Search = purchase.Search{
			SellsFor: r.saleWindow(c),
			Delay:    trust.delay,
			Repeat:   r.repeatRule(c, attempt.Attempt),
		}
	}
	if report.Result == purchase.Found {
		r.learnDelay(c, attempt.Attempt)
	}
	return report
}

// purchaseOf is the purchase that an attempt was to buy.
func (r *run) purchaseOf(a store.Attempt) ship.Purchase {
	d := r.b.shipment.Purchase
	if d.Carrier != a.Carrier || d.Connection != a.Connection || d.Service != a.Service {
		d.Carrier = a.Carrier
		d.Connection = a.Connection
		d.Service = a.Service
		d.ServiceName = ""
		d.Simulated = a.Connection == ""
		d.Selection = d.EarlierSelections[a.Number]
	}
	return d
}

// rememberSelection keeps the selection of an attempt before another offer is
// tried: a later look-up must see the request as it was sent.
func (b *buying) rememberSelection(attempt int) {
	d := &b.shipment.Purchase
	if d.Selection == "" {
		return
	}

	earlier := maps.Clone(d.EarlierSelections)
	if earlier == nil {
		earlier = map[int]string{}
	}
	earlier[attempt] = d.Selection
	d.EarlierSelections = earlier
}

func (r *run) lookAt(c *carrier.Carrier, attempt int, reference string, d ship.Purchase) purchase.Report {
	p, err := c.Find(r.overheard(r.ctx, r.b.in.Tenant, r.b.shipment.ID, d), carrier.BuyOrder{
		Order:     r.b.shipment.Order,
		Service:   d.Service,
		Selection: d.Selection,
		Reference: reference,
		Shipment:  r.b.shipment.ID,
	})

	switch ship.KindOf(err) {
	case "":
		d.Service = p.Service
		d.ServiceName = p.ServiceName
		return purchase.Report{Result: purchase.Found, Sale: r.take(attempt, p, d)}
	case ship.NotFound:
		return purchase.Report{Result: purchase.Absent}
	}

	r.log.WarnContext(r.ctx, "purchase lookup failed", "shipment", r.b.shipment.ID, "carrier", d.Carrier, "error", err)
	return purchase.Report{Result: purchase.Unsure}
}

// lookEverywhere looks for an attempt of which the database knows nothing any
// more: any of the tenant's accounts may have sold it.
func (r *run) lookEverywhere(attempt int) purchase.Report {
	all, err := r.accounts.List(r.ctx, r.b.in.Tenant)
	if err != nil {
		return purchase.Report{Result: purchase.Unsure}
	}

	unsure := false
	for _, c := range all {
		d := r.b.shipment.Purchase
		if d.Carrier != c.Spec().Name || d.Connection != c.Connection {
			d.Carrier = c.Spec().Name
			d.Connection = c.Connection
			d.Simulated = c.Simulated()
			d.Selection = ""
		}

		r.confirmLookup(c)
		switch report := r.lookAt(c, attempt, r.reference(r.b, attempt), d); report.Result {
		case purchase.Found:
			return report
		case purchase.Unsure:
			unsure = true
		case purchase.Absent:
			unsure = unsure || !r.isControlled(c)
		}
	}

	if unsure {
		r.refused = store.RestorePending(latestRestoreRetry)
		return purchase.Report{Result: purchase.Unsure}
	}
	return purchase.Report{Result: purchase.Absent}
}
