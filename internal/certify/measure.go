package certify

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/job"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// measure records how late the look-up shows a purchase: the first one of the walk,
// and only if its sale was answered. If the walk did not find it, the service goes
// on, because nobody waits for an hour.
func (w *Walk) measure(ctx context.Context, b *bought, err error) {
	isFirst := b == w.bought[0]
	if w.options.Measure == nil || !isFirst || b.wasLost {
		return
	}

	switch kind := ship.KindOf(err); {
	case err == nil:
		delay := uncompressed(time.Since(b.entry.RequestedAt), w.options.Scale)
		if failed := w.options.Measured(ctx, delay); failed != nil {
			w.add(Check{Name: "visibility delay", Result: Failed, Message: "the measurement could not be stored: " + failed.Error()})
			return
		}
		w.add(Check{Name: "visibility delay", Result: OK, Message: "found " + delay.Round(time.Second).String() + " after its sale"})

	case kind == ship.NotFound && w.notTestable(carrier.OpFind, b.purchase, err) == "" && slices.Contains(boughtLanes, b.lane):
		// The job voids the label, so this walk must not: a voided label is not
		// found at some carriers.
		failed := w.options.Measure(ctx, job.MeasureDelay{
			Account:        w.options.Tenant.Account,
			Livemode:       w.options.Tenant.Livemode,
			Connection:     w.options.Carrier.Connection,
			Shipment:       b.order.Shipment,
			Carrier:        w.spec.Name,
			Service:        b.order.Service,
			Selection:      b.order.Selection,
			Sample:         string(b.lane),
			Reference:      b.order.Reference,
			CarrierRef:     b.purchase.CarrierRef,
			TrackingNumber: b.purchase.TrackingNumber,
			Pieces:         b.purchase.Pieces,
			PreparedAt:     w.made,
			BoughtAt:       b.entry.RequestedAt,
		})
		if failed != nil {
			w.add(Check{Name: "visibility delay", Result: Failed, Message: "the look-ups could not be scheduled: " + failed.Error()})
			return
		}
		b.later = true
		b.entry.State = Measuring
		b.entry.Detail = "the service looks it up after 1, 5, 30 and 60 minutes, and voids it then"
	}
}

// uncompressed is a time that passed here as it passes at a carrier.
func uncompressed(d time.Duration, scale float64) time.Duration {
	if scale == 0 {
		return 0
	}
	return time.Duration(float64(d) / scale)
}

// looks are the ages of a purchase at which it is looked up.
var looks = []time.Duration{time.Minute, 5 * time.Minute, 30 * time.Minute, 60 * time.Minute}

// giveUp is the age at which a look-up that fails for other reasons is given up.
const giveUp = 2 * time.Hour

// Accounts are the carrier accounts that a Measurer uses.
type Accounts interface {
	Account(ctx context.Context, id ship.AccountID) (ship.Account, error)
	Carrier(ctx context.Context, t ship.Tenant, id ship.ConnectionID) (*carrier.Carrier, error)
}

// A Measurer looks up labels of certifications until their carriers show them, and
// stores how long that took.
type Measurer struct {
	Store    *store.Store
	Accounts Accounts
	Scale    float64 // compresses the times of looks
	Log      *slog.Logger
}

// Work looks once, and returns after how long to look again; zero ends the job. The
// outcome and the job of the void are stored together, so that a crash measures
// nothing twice and leaves no label.
func (m *Measurer) Work(ctx context.Context, j job.MeasureDelay) (again time.Duration, err error) {
	ctx = carrier.Unrestricted(ctx)
	t := ship.Tenant{Account: j.Account, Livemode: j.Livemode}
	c, err := m.Accounts.Carrier(ctx, t, j.Connection)
	if ship.KindOf(err) == ship.NotFound {
		m.Log.ErrorContext(ctx, "label of a certification is not voided: no such connection", "connection", j.Connection, "number", j.TrackingNumber)
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	if j.Measured {
		return 0, m.void(ctx, c, j)
	}

	age := uncompressed(time.Since(j.BoughtAt), m.Scale)
	if age < looks[0] { // the certification looked until now
		return m.compressed(looks[0] - age), nil
	}

	request, err := m.request(ctx, c, t, j)
	if err != nil {
		return 0, err
	}
	_, failure := c.Find(ctx, request)
	age = uncompressed(time.Since(j.BoughtAt), m.Scale)
	isFound := failure == nil
	isAbsent := ship.KindOf(failure) == ship.NotFound

	if next := nextLook(age); isAbsent && next > 0 {
		return m.compressed(next - age), nil
	}
	if !isFound && !isAbsent && age < giveUp {
		return m.compressed(time.Minute), failure
	}

	return 0, m.Store.InTx(ctx, t, func(tx *store.Store) error {
		spec := c.Spec()
		switch {
		case isFound:
			if err := tx.MeasureDelay(ctx, t, j.Connection, age); err != nil {
				return err
			}
			if err := tx.RecordControl(ctx, t, j.Connection, j.Shipment, true); err != nil {
				return err
			}
		case isAbsent && age > spec.Delay():
			// It exists and should be visible: this is a control that failed.
			if err := tx.RecordControl(ctx, t, j.Connection, j.Shipment, false); err != nil {
				return err
			}
		}
		j.Measured = true
		return tx.Enqueue(ctx, j, 0)
	})
}

// nextLook is the age of the next look; zero if there is none.
func nextLook(age time.Duration) time.Duration {
	for _, look := range looks {
		if look > age {
			return look
		}
	}
	return 0
}

// compressed is a time at a carrier as it passes here.
func (m *Measurer) compressed(d time.Duration) time.Duration {
	return max(time.Millisecond, time.Duration(float64(d)*m.Scale))
}

// request makes the purchase again as the certification made it.
func (m *Measurer) request(ctx context.Context, c *carrier.Carrier, t ship.Tenant, j job.MeasureDelay) (carrier.BuyOrder, error) {
	owner, err := m.Accounts.Account(ctx, j.Account)
	if err != nil {
		return carrier.BuyOrder{}, err
	}
	orders, err := newSampleOrders(t, owner, c.Spec().GoLive.DomesticOptional, j.PreparedAt)
	if err != nil {
		return carrier.BuyOrder{}, err
	}
	return carrier.BuyOrder{
		Order:     orders.order(lane(j.Sample)),
		Service:   j.Service,
		Selection: j.Selection,
		Reference: j.Reference,
		Shipment:  j.Shipment,
	}, nil
}

// void takes the label back, where the carrier can. A void may be repeated: voiding
// twice is the same as once.
func (m *Measurer) void(ctx context.Context, c *carrier.Carrier, j job.MeasureDelay) error {
	if !slices.Contains(c.Abilities(), "void") {
		return nil
	}
	_, err := c.Void(ctx, ship.Purchase{
		Carrier:        j.Carrier,
		Connection:     j.Connection,
		Service:        j.Service,
		CarrierRef:     j.CarrierRef,
		TrackingNumber: j.TrackingNumber,
		Pieces:         j.Pieces,
		BoughtAt:       j.BoughtAt,
		Selection:      j.Selection,
	})
	switch ship.KindOf(err) {
	case ship.Uncertain, ship.Unavailable, ship.Internal:
		return err
	}
	if err != nil {
		m.Log.ErrorContext(ctx, "label of a certification is not voided", "connection", j.Connection, "carrier", j.Carrier, "number", j.TrackingNumber, "error", err)
	}
	return nil
}
