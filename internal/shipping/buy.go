package shipping

import (
	"cmp"
	"context"
	"encoding/hex"
	"slices"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/failpoint"
	"github.com/waybillhq/waybill/internal/purchase"
	"github.com/waybillhq/waybill/internal/quoting"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// buying is a purchase on its way: the order, the offers in the order in which
// they are tried, and the shipment as it will be stored.
type buying struct {
	in       BuyInput
	offers   []ship.Rate // best first; the first is being tried
	shipment ship.Shipment
	quoted   quoting.Offers                  // what the carriers offered; offers are those that are left
	usual    map[store.Lane]ship.TransitDays // how long the account's parcels took on the way, if an offer does not say
	attempt  int                             // the number of the present one, from 1
	failed   []carrier.Failure               // carriers that did not quote or sell

	// needsApproval says that the purchase waits for a person before a carrier is
	// asked to sell.
	needsApproval bool

	// isInstant says that whatever offer is bought, its carrier answers at
	// once: no money is spent and no answer can be lost.
	isInstant bool
}

// Buy purchases a label.
//
// A purchase that costs money is written down before the carrier is asked, and
// a settle job with it: if we die in between, the job finds out what happened.
// A plain sandbox purchase costs nothing and needs no network, so it is
// written once, when it is done.
func (s *Service) Buy(ctx context.Context, in BuyInput) (Bought, error) {
	in.rememberUnnamed()
	s.rememberOffer(ctx, &in)
	if err := s.settleName(ctx, &in); err != nil {
		return Bought{}, err
	}
	bought, err := s.buy(ctx, in)
	if err != nil {
		return bought, err
	}
	bought.Shipment, err = s.withApproval(context.WithoutCancel(ctx), bought.Shipment)
	return bought, err
}

func (s *Service) buy(ctx context.Context, in BuyInput) (Bought, error) {
	b, err := s.prepare(ctx, in)
	if err != nil {
		return s.recallOr(ctx, in, err)
	}
	if b.isInstant {
		return s.buyAtOnce(ctx, b)
	}
	if earlier, err := s.awaitLookups(ctx, b); earlier != nil || err != nil {
		return value(earlier), err
	}

	r := s.newRun(ctx, b, "response")
	return r.answerInTime(func() purchase.Verdict {
		if b.needsApproval {
			return r.machine().Ask(0)
		}
		return r.machine().Buy(b.tries())
	})
}

// rememberUnnamed gives a live purchase without an idempotency key one of its
// own: the same body under the same API key is its retry until the answer was
// seen to arrive.
func (in *BuyInput) rememberUnnamed() {
	if in.IdempotencyKey == "" && in.Tenant.Livemode {
		in.IdempotencyKey = ship.ServiceKey(ship.KeyOfUnnamedPurchase, string(in.Key)+hex.EncodeToString(in.Fingerprint[:]))
	}
}

// formerNameHeld is for how long a former name stays reserved: longer than copies
// of two releases run side by side while one replaces the other.
const formerNameHeld = 24 * time.Hour

// settleName decides under which of its names a purchase is made, where copies of
// the release before this one know it by another. Whichever copy comes first takes
// the former name: an old one for its purchase, a new one to keep the old ones from
// it. So the purchase is made once, and under one name.
func (s *Service) settleName(ctx context.Context, in *BuyInput) error {
	former := in.FormerName
	if former.Key == "" {
		return nil
	}

	isReserved, err := s.store.TakeKey(ctx, in.Tenant, former.Key, former.Fingerprint, formerNameHeld)
	if err != nil || isReserved {
		return err
	}

	// A client may have used the former name for a purchase of its own. That one
	// has another fingerprint and is no concern of this one.
	bought, err := s.store.PurchaseUnder(ctx, in.Tenant, former)
	if err == nil && bought != "" {
		in.IdempotencyKey = former.Key
		in.Fingerprint = former.Fingerprint
	}
	return err
}

// nameOf returns the idempotency key of a purchase with its fingerprints.
func (s *Service) nameOf(in BuyInput) ship.KeyName {
	return ship.KeyName{Key: in.IdempotencyKey, Fingerprint: in.Fingerprint, Offer: in.offer}
}

// rememberOffer notes which offer the rate id stands for. It is read once: later steps
// are in transactions, and the carrier account may be removed meanwhile.
func (s *Service) rememberOffer(ctx context.Context, in *BuyInput) {
	if in.RateID == "" || in.WithoutRate == [32]byte{} {
		return
	}
	if rate, isKnown := s.quoting.QuotedRate(ctx, in.Tenant, in.RateID); isKnown {
		in.offer = ship.OfferFingerprint(in.WithoutRate, rate)
	}
}

// named reports whether the client gave the purchase a name.
func (in *BuyInput) named() bool {
	return in.IdempotencyKey != "" && !ship.IsUnnamed(in.IdempotencyKey)
}

// Answered notes that the answer to a purchase arrived: without a key of its
// own, the same body is a new purchase from now on.
func (s *Service) Answered(ctx context.Context, in BuyInput) {
	in.rememberUnnamed()
	if in.IdempotencyKey == "" || in.named() {
		return
	}

	err := failpoint.Around("release_key", func() error { return s.store.ReleaseKey(ctx, in.Tenant, in.IdempotencyKey) })
	if err != nil {
		s.log.WarnContext(ctx, "purchase answered but left open for its retry", "error", err)
	}
}

// recallOr answers from the idempotency key's memory, if it has one, instead
// of with err: a price, a carrier or a ship date that was valid then must not
// change the answer of a purchase that was made.
func (s *Service) recallOr(ctx context.Context, in BuyInput, err error) (Bought, error) {
	if in.IdempotencyKey == "" {
		return Bought{}, err
	}

	b, recalled := s.recall(ctx, in)
	isUnused := ship.KindOf(recalled) == ship.NotFound
	isOther := ship.CodeOf(recalled) == "idempotency_key_reused"
	if isUnused || isOther && ship.CodeOf(err) == "validation_failed" {
		return Bought{}, err
	}
	return b, recalled
}

// prepare checks the order and ranks the offers for it.
func (s *Service) prepare(ctx context.Context, in BuyInput) (*buying, error) {
	if err := s.checkReturn(ctx, &in); err != nil {
		return nil, err
	}

	if err := s.quoting.Locate(ctx, in.Tenant, &in.Order); err != nil {
		return nil, err
	}

	now := time.Now().UTC().Truncate(time.Millisecond)
	order, err := in.Order.Normalize(ship.Normalizing{Tenant: in.Tenant, Account: in.Account, OneParcel: in.OneParcel, Now: now})
	if err != nil {
		return nil, err
	}

	if err := in.checkCountry(order.Destination); err != nil {
		return nil, err
	}

	checking, err := s.checkDestination(ctx, &in, &order)
	if err != nil {
		return nil, err
	}

	b := &buying{
		in:      in,
		attempt: 1,
		shipment: ship.Shipment{
			ID:      ship.NewShipmentID(in.Tenant.Shard(), now),
			Tenant:  in.Tenant,
			Order:   order,
			State:   ship.StatePurchasing,
			Version: ship.AnswerVersion,
		},
	}
	b.quoted, err = s.quoting.Offers(ctx, checking.quoted(order, quoting.Request{
		Tenant:     in.Tenant,
		Account:    in.Account,
		OneParcel:  in.OneParcel,
		Carrier:    in.Carrier,
		Service:    in.Service,
		Connection: in.Connection,
		RateID:     in.RateID,
		MaxAmount:  in.MaxAmount,
		MaxIsShown: in.MaxIsShown,
		Now:        now,
	}))
	if err != nil {
		return nil, err
	}
	b.offers = b.quoted.Rates
	b.failed = b.quoted.Failed
	b.shipment.Order = b.quoted.Order
	b.shipment.Order.Destination = order.Destination
	b.shipment.Purchase.Warnings = slices.Concat(checking.finish(ctx, s), customsWarnings(b.shipment.Order))
	b.shipment.Purchase.Limit = b.quoted.Limit
	b.shipment.Purchase.LimitShown = in.MaxIsShown
	b.shipment.Purchase.Asked.AddressValidation = string(in.AddressValidation)
	b.shipment.Purchase.Asked.OnDuplicate = in.OnDuplicate
	b.shipment.Purchase.Routing = b.quoted.Routing

	if err := s.checkPrintable(b); err != nil {
		return nil, err
	}
	if err := s.afford(ctx, b); err != nil {
		return nil, err
	}
	b.checkApproval()

	s.decided(b.shipment.Purchase.Routing.Strategy)
	s.recollect(ctx, b)
	b.take(b.offers[0])
	b.isInstant = s.accounts.AreInstant(b.offers, b.shipment.Order)
	if in.named() && !b.isInstant {
		if b.shipment.Purchase.Key, err = s.carrierName(ctx, in); err != nil {
			return nil, err
		}
	}
	if !b.needsApproval {
		err = s.checkDisk(in.Tenant, b.shipment.Purchase.Simulated)
	}
	return b, err
}

// carrierName is the name that a purchase is known by at carriers: its key, unless a purchase of
// the key was lost in a restore and voided. A carrier that repeats what it sold under a
// name would sell that one again.
func (s *Service) carrierName(ctx context.Context, in BuyInput) (string, error) {
	if !s.lastRestore().HasMissing || !in.Tenant.Livemode {
		return in.IdempotencyKey, nil
	}

	missing, err := s.store.MissingUnder(ctx, in.Tenant, in.IdempotencyKey)
	switch {
	case ship.KindOf(err) == ship.NotFound:
		return in.IdempotencyKey, nil
	case err == nil && missing.State == store.PurchaseVoided:
		return "", nil
	}
	return in.IdempotencyKey, err
}

// take makes the offer the purchase that is being tried.
func (b *buying) take(r ship.Rate) {
	d := &b.shipment.Purchase
	d.Carrier = r.Carrier
	d.Connection = r.Connection
	d.Service = r.Service
	d.ServiceName = r.ServiceName
	d.Price = r.Price
	d.Selection = r.Selection
	d.Simulated = r.Connection == ""
	d.Sheet = b.quoted.Sheet(r)

	shipDate := b.shipment.Order.ShipDate.Time()
	d.EstimateAt = time.Time{}
	d.EstimateSource = ""
	switch {
	case !r.DeliveryAt.IsZero():
		d.EstimateAt = r.DeliveryAt
		d.EstimateSource = "carrier"
	case r.TransitDays > 0:
		d.EstimateAt = shipDate.AddDate(0, 0, r.TransitDays)
		d.EstimateSource = "service"
	default:
		if days, ok := b.usual[laneOf(b.shipment, r)].Within(0.5); ok {
			d.EstimateAt = shipDate.AddDate(0, 0, days)
			d.EstimateSource = "history"
		}
	}
}

// order is what the carrier is asked to sell.
func (s *Service) order(b *buying) carrier.BuyOrder {
	return carrier.BuyOrder{
		Order:     b.shipment.Order,
		Service:   b.shipment.Purchase.Service,
		Selection: b.shipment.Purchase.Selection,
		Reference: s.reference(b, b.attempt),
		Shipment:  b.shipment.ID,
	}
}

// reference is the name of an attempt at the carrier.
func (s *Service) reference(b *buying, attempt int) string {
	name := b.shipment.Purchase.Key
	if name == "" {
		name = string(b.shipment.ID)
	}
	return ship.Reference(s.key, b.in.Tenant, name, attempt)
}

// buyAtOnce buys where no money is spent, and writes it down once.
func (s *Service) buyAtOnce(ctx context.Context, b *buying) (Bought, error) {
	for {
		c, err := s.accounts.Seller(ctx, b.in.Tenant, b.shipment.Purchase)
		if err != nil {
			return Bought{}, err
		}

		p, err := c.Buy(ctx, s.order(b))
		if err == nil {
			return s.create(ctx, b, p)
		}

		b.failed = append(b.failed, carrier.Failure{Carrier: b.shipment.Purchase.Carrier, Err: err})
		if !b.next(err) {
			return s.recallOr(ctx, b.in, s.accounts.Refusal(b.failed, carrier.OneParcel(b.in.OneParcel)))
		}
	}
}

// create stores a shipment that is bought.
func (s *Service) create(ctx context.Context, b *buying, p ship.Sale) (Bought, error) {
	c := s.creation(b.shipment, p, s.nameOf(b.in))
	earlier, err := s.write(ctx, b, func(st *store.Store) error {
		found, err := st.Create(ctx, c)
		if err != nil {
			return err
		}
		c.Shipment.DuplicateOf = b.duplicateOf(found)
		return recordReturn(ctx, st, c.Shipment)
	})
	if earlier != nil || err != nil {
		return value(earlier), err
	}

	s.eventsRecorded()
	return Bought{Shipment: c.Shipment.AsCreated()}, nil
}

// write writes a purchase for the first time, in one statement if its order may
// have other shipments. If its idempotency key or, where the client wants that,
// its order was used before, it returns the answer that follows.
func (s *Service) write(ctx context.Context, b *buying, write func(*store.Store) error) (*Bought, error) {
	if b.allowsDuplicates() {
		return s.earlierIfTaken(ctx, b.in, write(s.store))
	}
	return s.writeUnlessDuplicate(ctx, b, write)
}

// writeInTx is write in a transaction.
func (s *Service) writeInTx(ctx context.Context, b *buying, write func(*store.Store) error) (*Bought, error) {
	if b.allowsDuplicates() {
		return s.earlierIfTaken(ctx, b.in, s.store.InTx(ctx, b.in.Tenant, write))
	}
	return s.writeUnlessDuplicate(ctx, b, write)
}

// writeUnlessDuplicate writes a purchase unless its order has a shipment, or its
// shipment a return. That is decided under a lock: two requests for the order wait
// for each other.
func (s *Service) writeUnlessDuplicate(ctx context.Context, b *buying, write func(*store.Store) error) (*Bought, error) {
	if b.isReturn() {
		return s.writeReturn(ctx, b, write)
	}
	if b.in.IdempotencyKey != "" {
		// A repeat of the request itself is not a duplicate of its order.
		if earlier, err := s.recall(ctx, b.in); ship.KindOf(err) != ship.NotFound {
			return &earlier, err
		}
	}

	var existing ship.ShipmentID
	err := s.store.InTx(ctx, b.in.Tenant, func(tx *store.Store) error {
		found, err := tx.LockOrder(ctx, b.in.Tenant, b.shipment.Order.OrderID)
		switch {
		case err != nil:
			return err
		case found == "", found == b.in.AcceptDuplicate:
			return write(tx)
		case b.in.OnDuplicate == "reject":
			e := ship.Coded(ship.Conflict, "duplicate_order", "the order already has a shipment")
			e.Details = map[string]any{"possibleDuplicateOf": string(found)}
			return e
		}
		existing = found
		return nil
	})
	if err != nil || existing == "" {
		return s.earlierIfTaken(ctx, b.in, err)
	}

	sh, err := s.store.Shipment(ctx, b.in.Tenant, existing)
	return &Bought{Shipment: sh, Existing: true, Pending: !sh.State.Bought()}, err
}

// earlierIfTaken answers a write that failed because its idempotency key was
// used before. Any other error stays as it is.
func (s *Service) earlierIfTaken(ctx context.Context, in BuyInput, err error) (*Bought, error) {
	if ship.KindOf(err) != ship.Conflict || ship.CodeOf(err) != "" {
		return nil, err
	}
	earlier, err := s.recall(ctx, in)
	if ship.KindOf(err) != ship.NotFound {
		return &earlier, err
	}

	// The key is that of a purchase which a restore lost, as another copy has just
	// found out.
	if err = s.recallMissing(ctx, in); err == nil {
		earlier, err = s.recall(ctx, in)
	}
	if ship.KindOf(err) == ship.NotFound {
		err = store.RestorePending(soonestRestoreRetry)
	}
	return &earlier, err
}

// allowsDuplicates reports whether the order may have several shipments. Whether
// a shipment may have several returns is always decided under a lock.
func (b *buying) allowsDuplicates() bool {
	return !b.isReturn() && b.in.OnDuplicate != "return" && b.in.OnDuplicate != "reject"
}

func value(b *Bought) Bought {
	if b == nil {
		return Bought{}
	}
	return *b
}

// creation is the purchase as stored: the purchase, its label, and the two events
// that tell of it.
func (s *Service) creation(sh ship.Shipment, p ship.Sale, name ship.KeyName) store.Creation {
	now := time.Now().UTC().Truncate(time.Millisecond)
	fillPurchase(&sh.Purchase, p, cmp.Or(sh.Purchase.BoughtAt, now))
	sh.State = ship.StatePurchased
	sh.Sequence = 2
	sh.Progress = ship.Progress{
		Status:         ship.LabelGenerated,
		EstimateAt:     sh.Purchase.EstimateAt,
		EstimateSource: sh.Purchase.EstimateSource,
	}
	c := store.Creation{
		Shipment:       sh,
		Label:          p.Label,
		IdempotencyKey: name.Key,
		Fingerprint:    name.Fingerprint,
		Offer:          name.Offer,
	}

	ids := ship.NewEventIDs(sh.Tenant.Shard(), now, 2)
	snapshot := ship.Snapshot{
		Status:         ship.Created,
		State:          ship.StatePurchased,
		BaseURL:        s.baseURL,
		EstimateAt:     sh.Purchase.EstimateAt,
		EstimateSource: sh.Purchase.EstimateSource,
	}
	c.Events[0] = ship.Event{
		ID:       ids[0],
		Kind:     ship.ShipmentCreated,
		Sequence: 1,
		Snapshot: snapshot,
	}

	snapshot.Status = ship.LabelGenerated
	snapshot.PreviousStatus = ship.Created
	c.Events[1] = ship.Event{
		ID:       ids[1],
		Kind:     ship.ShipmentLabelGenerated,
		Sequence: 2,
		Snapshot: snapshot,
	}

	switch {
	case !sh.Purchase.Simulated:
		c.PollAt = now.Add(s.waits.FirstLook)
	case s.waits.SandboxAge > 0:
		c.PollAt = now.Add(s.waits.SandboxAge)
	}
	return c
}

// fillPurchase records what was bought in the purchase. Doing it again changes nothing.
func fillPurchase(bought *ship.Purchase, sale ship.Sale, now time.Time) {
	bought.CarrierRef = sale.CarrierRef
	bought.TrackingNumber = sale.TrackingNumber
	bought.BoughtAt = now

	// A look-up may not say the price; then it is the one that was quoted.
	if !sale.Price.IsZero() && bought.Sheet == "" {
		bought.Price = sale.Price
	}

	bought.Documents = nil
	for _, doc := range sale.Documents {
		bought.Documents = append(bought.Documents, doc.Type)
	}
	if len(sale.Pieces) > 1 {
		bought.Pieces = sale.Pieces
	}

	for _, w := range sale.Warnings {
		if !slices.Contains(bought.Warnings, w) {
			bought.Warnings = append(slices.Clip(bought.Warnings), w)
		}
	}

	if !sale.DeliveryAt.IsZero() {
		bought.EstimateAt = sale.DeliveryAt
		bought.EstimateSource = "carrier"
	}
}
