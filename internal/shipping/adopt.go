package shipping

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/waybillhq/waybill/internal/failpoint"
	"github.com/waybillhq/waybill/internal/purchase"
	"github.com/waybillhq/waybill/internal/restore"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// What a person decided about purchases that a restore lost: they are recorded again, or
// recorded as orphaned and voided. A client that repeats its request decides too: it gets
// what it bought.

// decidedAtOnce is how many decisions one call carries out.
const decidedAtOnce = 50

// CarryOutDecisions adopts and voids missing purchases as people have decided. It returns
// how many it ended.
func (s *Service) CarryOutDecisions(ctx context.Context) (int, error) {
	list, err := s.store.DecidedPurchases(ctx, decidedAtOnce)
	if err != nil {
		return 0, err
	}

	ended := 0
	var failed error
	for _, missing := range list {
		isEnded, err := s.carryOut(ctx, missing)
		failed = errors.Join(failed, err)
		if isEnded {
			ended++
		}
	}
	return ended, failed
}

// carryOut reports whether the purchase is ended.
func (s *Service) carryOut(ctx context.Context, missing store.MissingPurchase) (bool, error) {
	entry, err := s.restores.Open(missing)
	if err != nil {
		return false, errors.Join(err, s.deferDecision(ctx, missing, "what the log says of it cannot be decrypted"))
	}

	found, err := s.saleOf(ctx, entry)
	if err != nil {
		return false, s.deferDecision(ctx, missing, err.Error())
	}
	if found == nil {
		return true, s.closeMissing(ctx, missing, store.PurchaseNotSold)
	}
	if missing.State == store.PurchaseVoiding {
		return s.voidMissing(ctx, missing, entry, *found)
	}
	return s.adopt(ctx, missing, entry, *found)
}

// saleOf is what the carrier sold: as the log has it, or else as its look-up shows it; nil
// if it is certain that it sold nothing.
func (s *Service) saleOf(ctx context.Context, entry restore.Entry) (*sold, error) {
	switch {
	case entry.Sale != nil:
		return &sold{Sale: *entry.Sale, Purchase: entry.Purchase}, nil
	case entry.Erased && entry.Purchase.TrackingNumber != "":
		return &sold{Purchase: entry.Purchase}, nil // its label went with the people
	}

	r := s.runOf(ctx, entry)
	c, err := s.accounts.Seller(r.ctx, entry.Tenant, entry.Purchase)
	if err != nil {
		return nil, errors.New("its connection does not exist any more; hold it, or void it with the carrier")
	}
	if !canFind(c) {
		return nil, fmt.Errorf("%s cannot look up purchases; hold it, or void it with the carrier", c.Spec().Title)
	}

	var report purchase.Report
	_ = failpoint.Around("missing_look", func() error {
		report = r.lookAt(c, entry.Attempt, entry.Reference, entry.Purchase)
		return nil
	})
	switch report.Result {
	case purchase.Found:
		return &r.attempt(entry.Attempt).sold, nil
	case purchase.Absent:
		trust, err := s.trustIn(r.ctx, entry.Tenant, c)
		if err != nil {
			return nil, err
		}
		isVisible := time.Since(entry.At) > r.saleWindow(c)+trust.delay
		if isVisible && r.isControlled(c) {
			return nil, nil
		}
		return nil, fmt.Errorf("%s does not show it, and may not show it yet", c.Spec().Title)
	}
	return nil, fmt.Errorf("%s could not be asked", c.Spec().Title)
}

// runOf is a run of the purchase as the log has it.
func (s *Service) runOf(ctx context.Context, entry restore.Entry) *run {
	return s.newRun(context.WithoutCancel(ctx), &buying{
		in: BuyInput{
			Tenant:         entry.Tenant,
			IdempotencyKey: entry.Purchase.Key,
			Fingerprint:    entry.Name().Fingerprint,
		},
		shipment: ship.Shipment{
			ID:          entry.Shipment,
			Tenant:      entry.Tenant,
			Order:       entry.Order,
			Purchase:    entry.Purchase,
			DuplicateOf: entry.DuplicateOf,
			State:       ship.StatePurchasing,
			Version:     max(entry.Version, 1),
		},
		attempt: entry.Attempt,
	}, "restore")
}

// adopt records a lost purchase again: the shipment, its label, its charge, its key and its
// events.
func (s *Service) adopt(ctx context.Context, missing store.MissingPurchase, entry restore.Entry, found sold) (bool, error) {
	switch {
	case entry.Erased:
		return false, s.deferDecision(ctx, missing, "the personal data of its recipient were erased; hold or void it")
	case len(entry.Order.Parcels) == 0:
		return false, s.deferDecision(ctx, missing, "the log does not have its request; hold or void it")
	}

	r := s.runOf(ctx, entry)
	err := failpoint.Around("adopt", func() error { return r.adoptSale(entry.Name(), found) })
	if ship.KindOf(err) == ship.Conflict {
		return s.afterConflict(ctx, missing, found)
	}
	if err != nil {
		return false, err
	}
	s.eventsRecorded()
	return true, nil
}

// afterConflict ends a purchase that was recorded meanwhile, or says why it cannot be.
func (s *Service) afterConflict(ctx context.Context, missing store.MissingPurchase, found sold) (bool, error) {
	sh, err := s.store.Shipment(ctx, missing.Tenant, missing.Shipment)
	if err != nil && ship.KindOf(err) != ship.NotFound {
		return false, err
	}
	if sh.Purchase.TrackingNumber == found.Purchase.TrackingNumber {
		return true, s.closeMissing(ctx, missing, store.PurchaseAdopted)
	}
	return false, s.deferDecision(ctx, missing, "its label is orphaned, or its shipment has another one")
}

// adoptSale records the purchase and what became of it in one transaction. A repeat of its
// request is recognized by the name.
func (r *run) adoptSale(name ship.KeyName, found sold) error {
	sh := r.b.shipment
	number := r.b.attempt
	attempt := store.Attempt{
		Number:     number,
		Carrier:    found.Purchase.Carrier,
		Connection: found.Purchase.Connection,
		Service:    found.Purchase.Service,
		StartedAt:  sh.CreatedAt(),
	}
	references := make([]string, number)
	for i := range references {
		references[i] = r.reference(r.b, i+1)
	}

	return r.store.InTx(r.ctx, sh.Tenant, func(tx *store.Store) error {
		err := tx.Revive(r.ctx, store.Adoption{
			Shipment:   sh,
			Attempt:    attempt,
			References: references,
			Name:       name,
		})
		if err != nil {
			return err
		}

		// The client may have bought again under its key since.
		if name.Key != "" {
			record, err := tx.IdempotencyRecord(r.ctx, sh.Tenant, name.Key)
			if err != nil {
				return err
			}
			if record.Shipment != sh.ID {
				name = ship.KeyName{}
			}
		}

		if err := r.recordSale(tx, number, number, name, found); err != nil {
			return err
		}
		return tx.CloseMissing(r.ctx, sh.Tenant, sh.ID, store.PurchaseAdopted, "")
	})
}

// recordSale records what an open purchase bought, in a transaction that does more. Without
// its label, a person reviews it.
func (r *run) recordSale(tx *store.Store, attempt, boughtBy int, name ship.KeyName, found sold) error {
	sh := r.b.shipment
	sh.Purchase = found.Purchase
	if len(found.Sale.Label.Data) == 0 {
		if err := tx.RecordUnlabelled(r.ctx, sh, attempt, boughtBy); err != nil {
			return err
		}
		return r.changeIn(tx, attempt, needReview)
	}

	_, err := tx.Settle(r.ctx, store.Settlement{
		Creation:  r.creation(sh, found.Sale, name),
		Attempt:   attempt,
		BoughtBy:  boughtBy,
		Documents: found.Sale.Documents,
	})
	return err
}

// voidMissing records the label as orphaned, with the job that voids it. A client that
// repeats its request buys a new one.
func (s *Service) voidMissing(ctx context.Context, missing store.MissingPurchase, entry restore.Entry, found sold) (bool, error) {
	err := failpoint.Around("missing_orphan", func() error {
		return s.store.RecordOrphan(ctx, store.OrphanedLabel{
			Tenant:   missing.Tenant,
			Shipment: missing.Shipment,
			Attempt:  entry.Attempt,
			FoundBy:  "restore",
			Purchase: found.Purchase,
		})
	})
	if ship.KindOf(err) == ship.Conflict {
		return false, s.deferDecision(ctx, missing, "its label belongs to a shipment; void that one")
	}
	if err != nil {
		return false, err
	}
	return true, s.closeMissing(ctx, missing, store.PurchaseVoided)
}

func (s *Service) closeMissing(ctx context.Context, missing store.MissingPurchase, state string) error {
	return failpoint.Around("close_missing", func() error {
		return s.store.CloseMissing(ctx, missing.Tenant, missing.Shipment, state, "")
	})
}

// deferDecision records why a decision could not be carried out. It is tried again.
func (s *Service) deferDecision(ctx context.Context, missing store.MissingPurchase, message string) error {
	return failpoint.Around("defer_missing", func() error {
		return s.store.CloseMissing(ctx, missing.Tenant, missing.Shipment, missing.State, message)
	})
}

// checkRepeat returns why the request is not answered with what a restore lost; nil if it is
// the one that the entry was made for. An entry of an older release may have no fingerprint:
// then what the request buys and where it goes is compared, and the entry gets those of the
// request. Where that cannot be compared, a person decides: to bind any request would answer
// one order with the label of another, and to buy it would sell the same parcel twice.
func (s *Service) checkRepeat(ctx context.Context, in BuyInput, missing store.MissingPurchase, entry *restore.Entry) error {
	if len(entry.Fingerprint) > 0 {
		known := entry.Name()
		record := store.IdempotencyRecord{Fingerprint: known.Fingerprint, Offer: known.Offer}
		if !record.Repeats(s.nameOf(in)) {
			return s.reusedMissing(ctx, in, *entry)
		}
		return nil
	}

	compared := comparison{isPartial: true}
	if len(entry.Order.Parcels) > 0 {
		compared = s.compare(ctx, in, shipmentOf(*entry))
	}
	switch {
	case len(compared.differing) > 0:
		return s.reusedMissing(ctx, in, *entry)
	case compared.isPartial:
		err := s.deferDecision(ctx, missing, "a request under its key cannot be compared with it; adopt or void it")
		return cmp.Or(err, store.RestorePending(latestRestoreRetry))
	}
	entry.SetName(s.nameOf(in))
	return nil
}

// recallMissing answers a purchase whose key remembers nothing, if a restore lost it: it is
// adopted. It is ship.NotFound if nothing is missing under the key.
func (s *Service) recallMissing(ctx context.Context, in BuyInput) error {
	notFound := ship.Errorf(ship.NotFound, "not found")
	if s.restores == nil || !in.named() || !in.Tenant.Livemode {
		return notFound
	}
	missing, err := s.store.MissingUnder(ctx, in.Tenant, in.IdempotencyKey)
	if err != nil {
		return err
	}
	switch missing.State {
	case store.PurchaseVoided:
		return notFound
	case store.PurchaseVoiding:
		return store.RestorePending(soonestRestoreRetry)
	}

	entry, err := s.restores.Open(missing)
	if err != nil {
		return err
	}
	if err := s.checkRepeat(ctx, in, missing, &entry); err != nil {
		return err
	}

	found, err := s.saleOf(ctx, entry)
	if err != nil {
		s.log.WarnContext(ctx, "purchase that a restore lost cannot be settled yet", "shipment", missing.Shipment, "error", err)
		return store.RestorePending(latestRestoreRetry)
	}
	if found == nil {
		if err := s.closeMissing(ctx, missing, store.PurchaseNotSold); err != nil {
			return err
		}
		return notFound
	}
	isAdopted, err := s.adopt(ctx, missing, entry, *found)
	if err == nil && !isAdopted {
		err = store.RestorePending(latestRestoreRetry)
	}
	return err
}
