package shipping

import (
	"context"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/failpoint"
	"github.com/waybillhq/waybill/internal/purchase"
	"github.com/waybillhq/waybill/internal/restore"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// What a database that was put back to an earlier moment lost: which purchases wait
// for it, and what the recovery log keeps for it.

// RecoveryLogRetention is for how long the recovery log keeps what carriers were asked
// for and what they sold.
const RecoveryLogRetention = 72 * time.Hour

// logAttempt adds what became of the present attempt to this machine's recovery log, for a
// database that is put back to an earlier moment. Whether a purchase fails for an error is
// for its caller to say: the database has it too.
func (r *run) logAttempt(kind restore.EntryKind, number int) error {
	if r.recoveryLog == nil || r.b.shipment.Purchase.Simulated {
		return nil
	}

	entry := r.entryOf(number)
	entry.Kind = kind
	switch kind {
	case restore.Sold:
		known := r.attempt(number).sold
		entry.Purchase = known.Purchase
		entry.Sale = &known.Sale
	default:
		entry.At = r.attempt(number).StartedAt
		entry.Purchase.Routing = ship.Routing{Raised: entry.Purchase.Routing.Raised} // most attempts are followed by a sale
	}
	return r.addToLog(entry)
}

// entryOf is what is known of an attempt, and what the repeat of its request is answered
// with.
func (r *run) entryOf(number int) restore.Entry {
	sh := r.b.shipment
	attempt := r.attempt(number)
	entry := restore.Entry{
		At:          time.Now(),
		Tenant:      sh.Tenant,
		Shipment:    sh.ID,
		Attempt:     number,
		Reference:   attempt.Reference,
		Order:       sh.Order,
		Purchase:    sh.Purchase,
		Version:     sh.Version,
		DuplicateOf: sh.DuplicateOf,
	}

	// A job that goes on with a purchase has only what is recorded of its request.
	name := r.nameOf(r.b.in)
	if name.Fingerprint == [32]byte{} && sh.Purchase.Key != "" {
		if known, err := r.store.IdempotencyRecord(r.ctx, sh.Tenant, sh.Purchase.Key); err == nil {
			name.Fingerprint = known.Fingerprint
			name.Offer = known.Offer
		}
	}
	entry.SetName(name)
	return entry
}

func (s *Service) addToLog(entry restore.Entry) error {
	err := failpoint.Around("recovery_log", func() error { return s.recoveryLog.Append(entry) })
	if err != nil {
		s.log.Error("purchase not written to the recovery log; a database restore would lose it", "shipment", entry.Shipment, "error", err)
	}
	return err
}

// logVoid adds that a label was voided: after a restore it is not missing.
func (s *Service) logVoid(t ship.Tenant, id ship.ShipmentID, attempt int, bought ship.Purchase) {
	if s.recoveryLog == nil || bought.Simulated {
		return
	}
	_ = s.addToLog(restore.Entry{ // an error is logged there
		Kind:     restore.Voided,
		At:       time.Now(),
		Tenant:   t,
		Shipment: id,
		Attempt:  attempt,
		Purchase: bought.WithoutPersonalData(),
	})
}

// lastRestore is what was known of the last restore a moment ago.
func (s *Service) lastRestore() store.RestoreState {
	if s.restores == nil {
		return store.RestoreState{}
	}
	return s.restores.State()
}

// NoticeRestore compares the database with what this machine's disk knows of it. It is
// called at the start and every few seconds.
func (s *Service) NoticeRestore(ctx context.Context) error {
	if s.restores == nil {
		return nil
	}
	return s.restores.Look(ctx)
}

// LeaveRestores records that this copy stops in order.
func (s *Service) LeaveRestores(ctx context.Context) error {
	if s.restores == nil {
		return nil
	}
	return s.restores.End(ctx)
}

// restoreReach is how many attempts of a lost purchase are looked for.
const restoreReach = 3

// loss is what a restore may have lost of the purchase, beyond what the logs have: one
// that has a name, or was there before the restore.
func (r *run) loss() purchase.Loss {
	sh := r.b.shipment
	last := r.lastRestore()
	isNew := sh.Purchase.Key == "" && sh.CreatedAt().After(last.NoticedAt)
	if !last.AsksCarriers || !sh.Tenant.Livemode || isNew {
		return purchase.Loss{}
	}

	loss := purchase.Loss{Reach: restoreReach, Voided: map[int]bool{}}
	for number, attempt := range r.attempts {
		if attempt.isRecorded {
			loss.Voided[number] = purchase.Outcome(attempt.Outcome) == purchase.WasOrphaned
		}
	}
	return loss
}

// How soon a client is asked to repeat a purchase that waits for a restore.
const (
	soonestRestoreRetry = time.Second
	latestRestoreRetry  = time.Minute
)

// awaitLookups refuses a purchase under a key while it may have been made in the time that
// a restore lost, and the carriers cannot tell yet. One that is recorded, or that a log
// has, is answered.
func (s *Service) awaitLookups(ctx context.Context, b *buying) (*Bought, error) {
	last := s.lastRestore()
	if !last.AsksCarriers || !b.in.Tenant.Livemode || b.isInstant || b.shipment.Purchase.Key == "" {
		return nil, nil
	}
	if earlier, err := s.recall(ctx, b.in); ship.KindOf(err) != ship.NotFound {
		return &earlier, err
	}

	all, err := s.accounts.List(ctx, b.in.Tenant)
	if err != nil {
		return nil, err
	}
	wait := time.Duration(0)
	for _, c := range all {
		if c.Simulated() {
			continue
		}
		if !canFind(c) {
			return nil, store.RestorePending(latestRestoreRetry)
		}
		trust, err := s.trustIn(ctx, b.in.Tenant, c)
		if err != nil {
			return nil, err
		}
		wait = max(wait, time.Until(last.NoticedAt.Add(trust.delay)))
	}
	if wait > 0 {
		return nil, store.RestorePending(min(max(wait, soonestRestoreRetry), latestRestoreRetry))
	}
	return nil, nil
}

func canFind(c *carrier.Carrier) bool {
	for _, ability := range c.Abilities() {
		if ability == "find" {
			return true
		}
	}
	return false
}

// verify makes sure that the database which the purchase was recorded in is compared with
// this machine's disk before a carrier is asked. It costs nothing unless the database is
// another one than before.
func (r *run) verify() error {
	sh := r.b.shipment
	if r.restores == nil || !sh.Tenant.Livemode || sh.Purchase.Simulated || r.restores.IsVerified() {
		return nil
	}

	if err := r.restores.Verify(r.ctx); err != nil {
		r.log.ErrorContext(r.ctx, "purchase not sent: the database could not be compared with the recovery log", "shipment", sh.ID, "error", err)
		return store.RestorePending(soonestRestoreRetry)
	}
	isHeld, err := r.store.IsHeld(r.ctx, sh.Tenant, sh.ID, sh.Purchase.Key)
	if err != nil || isHeld || r.lastRestore().AsksCarriers && sh.Purchase.Key != "" {
		return store.RestorePending(soonestRestoreRetry)
	}
	return nil
}

// replayLost keeps a spooled purchase of which the database knows nothing any more for a
// person to decide about.
func (s *Service) replayLost(ctx context.Context, name string, x spooled) error {
	if s.restores == nil {
		return nil
	}

	err := s.restores.AddSale(ctx, restore.Entry{
		At:       x.Purchase.BoughtAt,
		Tenant:   x.Tenant,
		Shipment: x.Shipment,
		Attempt:  x.Attempt,
		Purchase: x.Purchase,
		Sale:     &x.Sale,
	})
	if err != nil {
		return err
	}
	return failpoint.Around("lost_unspool", func() error { return s.spool.Remove(name) })
}
