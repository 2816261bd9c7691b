package shipping

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/waybillhq/waybill/internal/purchase"
	"github.com/waybillhq/waybill/internal/restore"
	"github.com/waybillhq/waybill/internal/ship"
)

// spooled is a sale on its way from the carrier to the database.
type spooled struct {
	Tenant   ship.Tenant     `json:"tenant"`
	Shipment ship.ShipmentID `json:"shipment"`
	Attempt  int             `json:"attempt"` // that bought it
	sold
}

func spoolName(id ship.ShipmentID, attempt int) string { return fmt.Sprintf("%s.%d", id, attempt) }

// keepOnDisk writes a sale to this machine's disk. A simulated one has cost
// nothing.
func (r *run) keepOnDisk(a purchase.Act) purchase.Report {
	defer r.freeRoom()
	x := r.attempt(a.Sale.Attempt).sold
	if r.spool == nil || x.Purchase.Simulated {
		return reported(nil)
	}

	data, err := json.Marshal(spooled{
		Tenant:   r.b.in.Tenant,
		Shipment: r.b.shipment.ID,
		Attempt:  a.Sale.Attempt,
		sold:     x,
	})
	if err == nil {
		err = r.spool.Put(spoolName(r.b.shipment.ID, a.Sale.Attempt), data)
	}
	_ = r.logAttempt(restore.Sold, a.Sale.Attempt)
	if err != nil {
		r.log.ErrorContext(r.ctx, "purchase not written to the local spool before recording", "shipment", r.b.shipment.ID, "error", err)
	}
	return reported(err)
}

func (r *run) dropFromDisk(a purchase.Act) purchase.Report {
	if r.spool == nil {
		return reported(nil)
	}

	err := r.spool.Remove(spoolName(r.b.shipment.ID, a.Sale.Attempt))
	if err != nil {
		r.log.WarnContext(r.ctx, "recorded purchase not removed from the local spool", "shipment", r.b.shipment.ID, "error", err)
	}
	return reported(err)
}

// Replay records the purchases that this machine's disk holds and the database
// may lack. It is called at the start and now and then.
func (s *Service) Replay(ctx context.Context) (int, error) {
	if s.spool == nil {
		return 0, nil
	}
	names, err := s.spool.Names()
	if err != nil {
		return 0, err
	}

	for _, name := range names {
		one := s.replay(ctx, name)
		if errors.Is(one, os.ErrNotExist) {
			continue // somebody else was quicker
		}
		err = errors.Join(err, one)
	}
	return 0, err // what a lost restore leaves must not be looked at without a pause
}

func (s *Service) replay(ctx context.Context, name string) error {
	data, err := s.spool.Get(name)
	if err != nil {
		return err
	}

	var x spooled
	if err := json.Unmarshal(data, &x); err != nil || !strings.HasPrefix(name, string(x.Shipment)) {
		return fmt.Errorf("spool: entry %s is not a purchase: %w", name, err)
	}

	sh, err := s.store.Shipment(ctx, x.Tenant, x.Shipment)
	if ship.KindOf(err) == ship.NotFound {
		return s.replayLost(ctx, name, x)
	}
	if err != nil {
		return err
	}

	attempts, err := s.store.Attempts(ctx, x.Tenant, x.Shipment)
	if err != nil {
		return err
	}
	r := s.resume(ctx, sh, attempts, "spool")
	sale := r.take(x.Attempt, x.Sale, x.Purchase)
	return r.machine().Replay(x.Attempt, sale).Err
}
