package privacy

import (
	"context"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// The bounds of what an account can choose, in days. Logs with personal data are
// kept for 30 days, so less could not be kept.
const (
	MinPersonalDays = 30
	MinLabelDays    = 1
	MaxDays         = 3650
)

// Retention returns for how long the account keeps personal data and labels.
func (s *Service) Retention(ctx context.Context, account ship.AccountID) (store.AccountRetention, error) {
	return s.Store.AccountRetention(ctx, account)
}

// SetRetention changes it. Zero keeps them as long as the installation does.
func (s *Service) SetRetention(ctx context.Context, chosen store.AccountRetention) error {
	var invalid []ship.FieldError
	if chosen.Personal != 0 && (chosen.Personal < MinPersonalDays || chosen.Personal > MaxDays) {
		invalid = append(invalid, ship.FieldError{Pointer: "/personalDataDays", Code: "invalid", Detail: "must be from 30 to 3650 days, or empty"})
	}
	if chosen.Labels != 0 && (chosen.Labels < MinLabelDays || chosen.Labels > MaxDays) {
		invalid = append(invalid, ship.FieldError{Pointer: "/labelDays", Code: "invalid", Detail: "must be from 1 to 3650 days, or empty"})
	}
	if len(invalid) > 0 {
		return ship.InvalidFields(invalid)
	}
	return s.Store.SetAccountRetention(ctx, chosen)
}

// expireTime is how long one run of EraseExpired takes at most.
const expireTime = 20 * time.Second

// EraseExpired erases what accounts keep for a shorter time than the
// installation: labels, order files, and the personal data of shipments. What it
// does not get to follows in the next run.
func (s *Service) EraseExpired(ctx context.Context) error {
	deadline := s.now().Add(expireTime)
	accounts, err := s.Store.AccountRetentions(ctx)
	if err != nil {
		return err
	}
	for _, chosen := range accounts {
		for _, livemode := range []bool{true, false} {
			tenant := ship.Tenant{Account: chosen.Account, Livemode: livemode}
			if err := s.expire(ctx, tenant, chosen, deadline); err != nil {
				return err
			}
		}
	}
	return nil
}

// expire erases what the tenant keeps no longer, until the deadline.
func (s *Service) expire(ctx context.Context, t ship.Tenant, chosen store.AccountRetention, deadline time.Time) error {
	daysAgo := func(days int) time.Time { return s.now().AddDate(0, 0, -days) }

	for chosen.Labels > 0 && s.now().Before(deadline) {
		n, err := s.Store.ExpireLabels(ctx, t, daysAgo(chosen.Labels))
		if err != nil {
			return err
		}
		if n == 0 {
			break
		}
	}
	if chosen.Personal == 0 {
		return nil
	}

	for s.now().Before(deadline) {
		n, err := s.Store.ExpireBatches(ctx, t, daysAgo(chosen.Personal))
		if err != nil {
			return err
		}
		if n == 0 {
			break
		}
	}
	for more := true; more && s.now().Before(deadline); {
		open, again, err := s.Store.EraseOlder(ctx, t, daysAgo(chosen.Personal))
		if err != nil {
			return err
		}
		more = again

		// A purchase that is still open after so long waits for a person. Its
		// own erasure waits with it.
		for _, id := range open {
			if _, err := s.RequestErasure(ctx, t, ship.Person{Shipment: id}); err != nil && ship.KindOf(err) != ship.NotFound {
				return err
			}
		}
	}
	return nil
}
