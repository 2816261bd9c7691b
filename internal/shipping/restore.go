package shipping

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/waybillhq/waybill/internal/failpoint"
	"github.com/waybillhq/waybill/internal/purchase"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// What a database that was put back to an earlier moment forgot, and this
// machine's disk did not.

// replayLost records a spooled purchase of which the database knows nothing any
// more, because it was restored to an earlier moment. A named one waits for its
// client to ask again; any other is voided.
func (s *Service) replayLost(ctx context.Context, name string, x spooled) error {
	if x.Purchase.Key != "" && time.Since(x.Purchase.BoughtAt) < restoreWatch {
		return nil
	}

	err := failpoint.Around("forgotten_orphan", func() error {
		return s.store.RecordOrphan(ctx, store.OrphanedLabel{
			Tenant:   x.Tenant,
			Shipment: x.Shipment,
			Attempt:  x.Attempt,
			FoundBy:  "restore",
			Purchase: x.Purchase,
		})
	})
	if err != nil && ship.KindOf(err) != ship.Conflict {
		return err
	}
	return failpoint.Around("lost_unspool", func() error { return s.spool.Remove(name) })
}

// asked is a purchase that a carrier is about to be asked for, as it stands on
// this machine's disk for some days.
type asked struct {
	At        time.Time       `json:"at"`
	Tenant    ship.Tenant     `json:"tenant"`
	Shipment  ship.ShipmentID `json:"shipment"`
	Attempt   int             `json:"attempt"`
	Reference string          `json:"reference"`
	Order     ship.Order      `json:"order"`
	Purchase  ship.Purchase   `json:"deal"`
}

// appendToRecoveryLog records on this machine's disk what the carrier is about
// to sell.
func (r *run) appendToRecoveryLog() error {
	sh := r.b.shipment
	if r.recoveryLog == nil || sh.Purchase.Simulated {
		return nil
	}

	sh.Purchase.Routing = ship.Routing{} // nobody asks a lost purchase why
	present := r.attempt(r.b.attempt)
	data, err := json.Marshal(asked{
		At:        present.StartedAt,
		Tenant:    sh.Tenant,
		Shipment:  sh.ID,
		Attempt:   present.Number,
		Reference: present.Reference,
		Order:     sh.Order,
		Purchase:  sh.Purchase,
	})
	if err == nil {
		err = failpoint.Around("recovery_log", func() error { return r.recoveryLog.Append(present.StartedAt, data) })
	}
	if err != nil {
		r.log.ErrorContext(r.ctx, "purchase not written to the recovery log; a database restore would lose it", "shipment", sh.ID, "error", err)
	}
	return err
}

// RecoveryLogRetention is for how long the recovery log must tell of a purchase: until the
// clients have had their time to ask again for what a restore lost, and a day.
const RecoveryLogRetention = restoreWatch + 24*time.Hour

// lostLooks is how often a lost purchase is looked for: one look may come
// before the carrier shows it.
const lostLooks = 2

// forgottenPurchases counts how often each lost purchase was looked for, by its
// reference.
type forgottenPurchases struct {
	mu    sync.Mutex
	looks map[string]int
}

// VoidForgotten looks for what this machine had carriers sell before the
// database was put back to an earlier moment and which it forgot. It is taken
// back; what a client has a name for, only when it had time to ask again.
func (s *Service) VoidForgotten(ctx context.Context) error {
	if s.recoveryLog == nil || !s.restoredWithin(RecoveryLogRetention) {
		return nil
	}

	s.lost.mu.Lock()
	defer s.lost.mu.Unlock()
	if s.lost.looks == nil {
		s.lost.looks = map[string]int{}
	}

	restored := time.Unix(0, s.restoredAt.Load())
	var batch []asked
	err := s.recoveryLog.Each(ctx, func(data []byte) error {
		var x asked
		if err := json.Unmarshal(data, &x); err != nil {
			return fmt.Errorf("recovery log: %w", err)
		}

		isSought := s.lost.looks[x.Reference] >= lostLooks
		isAwaited := x.Purchase.Key != "" && s.restoredLately() // its client may still ask again
		if x.At.After(restored) || isSought || isAwaited {
			return nil
		}

		batch = append(batch, x)
		if len(batch) < 500 {
			return nil
		}
		err := s.takeBackUnknown(ctx, batch)
		batch = batch[:0]
		return err
	})

	// An entry that cannot be read must not keep back those that were.
	return errors.Join(err, s.takeBackUnknown(ctx, batch))
}

// takeBackUnknown voids those of which the database knows nothing.
func (s *Service) takeBackUnknown(ctx context.Context, list []asked) error {
	if len(list) == 0 {
		return nil
	}

	ids := make([]ship.Subject, len(list))
	for i, x := range list {
		ids[i] = ship.Subject{Tenant: x.Tenant, ID: x.Shipment.Raw()}
	}
	known, err := s.store.Known(ctx, ids)
	if err != nil {
		return err
	}

	for i, x := range list {
		if known[ids[i]] {
			continue
		}

		forgotten := ship.Shipment{
			ID:       x.Shipment,
			Tenant:   x.Tenant,
			Order:    x.Order,
			Purchase: x.Purchase,
		}
		attempt := store.Attempt{
			Number:     x.Attempt,
			Reference:  x.Reference,
			Carrier:    x.Purchase.Carrier,
			Connection: x.Purchase.Connection,
			Service:    x.Purchase.Service,
			StartedAt:  x.At,
		}
		r := s.resume(ctx, forgotten, []store.Attempt{attempt}, "restore")
		r.sure = true

		switch v := r.machine().Forgotten(x.Attempt); {
		case v.Kind == purchase.Settled:
			s.lost.looks[x.Reference]++
		case v.Err != nil:
			s.log.WarnContext(ctx, "label lost by a database restore cannot be voided yet", "shipment", x.Shipment, "carrier", x.Purchase.Carrier, "error", v.Err)
		}
	}
	return ctx.Err()
}
