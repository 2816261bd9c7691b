package shipping

import (
	"errors"
	"time"

	"github.com/waybillhq/waybill/internal/restore"
	"github.com/waybillhq/waybill/internal/ship"
)

// What is bought is on this machine's disk before the carrier is asked, and again
// before the database has it. A disk that cannot take it would lose money with the
// next crash or restore, so nothing live is bought then.

// errNoDisk marks the error of a purchase that was not sent because of the disk.
var errNoDisk = errors.New("the local spool cannot be written to")

// withoutDisk is the answer to a purchase that was not sent because of the disk.
// Another copy may have a disk that works.
func withoutDisk(err error) error {
	return &ship.Error{
		Kind:       ship.Unavailable,
		Code:       "service_unavailable",
		Message:    "the purchase was not sent to a carrier, because the disk of the service cannot be written to; nothing was bought",
		RetryAfter: 5 * time.Second,
		Err:        errors.Join(errNoDisk, err),
	}
}

// checkDisk returns an error if a live purchase could not be sent now, because of
// this machine's disk. It is asked before anything is recorded.
func (s *Service) checkDisk(t ship.Tenant, isSimulated bool) error {
	if !s.spoolRequired || !t.Livemode || isSimulated {
		return nil
	}

	err := errors.Join(s.spool.HasRoom(), s.recoveryLog.Check())
	if err == nil {
		return nil
	}
	s.log.Error("live purchases are refused, because the local spool cannot be written to", "error", err)
	return withoutDisk(err)
}

// SpoolFailure returns why the local spool or the recovery log cannot be written
// to; nil if they can, or if there is none.
func (s *Service) SpoolFailure() error {
	if s.spool == nil || s.recoveryLog == nil {
		return nil
	}
	return errors.Join(s.spool.HasRoom(), s.recoveryLog.Check())
}

// secure has this machine's disk ready for what the carrier is about to sell: the
// request is in the recovery log, and there is room for the sale.
func (r *run) secure() error {
	err := r.reserveRoom()
	err = errors.Join(err, r.logAttempt(restore.Requested, r.b.attempt))
	if err == nil || !r.spoolRequired || !r.b.in.Tenant.Livemode {
		return nil
	}

	r.freeRoom()
	_ = r.logAttempt(restore.NotSold, r.b.attempt) // it is logged that the disk does not work
	r.log.ErrorContext(r.ctx, "purchase not sent, because the local spool cannot be written to", "shipment", r.b.shipment.ID, "error", err)
	return withoutDisk(err)
}

// reserveRoom counts the room that the present sale needs in the spool.
func (r *run) reserveRoom() error {
	if r.spool == nil || r.b.shipment.Purchase.Simulated {
		return nil
	}

	r.freeRoom()
	release, err := r.spool.TakeRoom()
	if err == nil {
		r.releaseRoom = release
	}
	return err
}

// freeRoom gives back the room of a sale that was written, or not made.
func (r *run) freeRoom() {
	if r.releaseRoom != nil {
		r.releaseRoom()
		r.releaseRoom = nil
	}
}
