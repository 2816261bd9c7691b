package privacy

import (
	"context"
	"errors"
	"math/rand/v2"
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
// installation: labels, order files, and the personal data of shipments; and the
// personal data that the installation keeps no longer. What it does not get to
// follows in the next run.
func (s *Service) EraseExpired(ctx context.Context) error {
	deadline := s.now().Add(expireTime)
	accounts, err := s.Store.AccountRetentions(ctx)
	if err != nil {
		return err
	}

	// What accounts chose comes first: it is shorter. Their order changes from run to
	// run, so that those at the end get their turn too, and one that fails does not
	// keep the others waiting.
	var failed error
	rand.Shuffle(len(accounts), func(i, j int) { accounts[i], accounts[j] = accounts[j], accounts[i] })
	for _, chosen := range accounts {
		for _, livemode := range []bool{true, false} {
			tenant := ship.Tenant{Account: chosen.Account, Livemode: livemode}
			failed = errors.Join(failed, s.expire(ctx, tenant, chosen, deadline))
		}
	}
	return errors.Join(failed, s.eraseOld(ctx, deadline))
}

// eraseOld erases the personal data of shipments that the installation keeps no
// longer. Their rows go later, by whole years.
func (s *Service) eraseOld(ctx context.Context, deadline time.Time) error {
	if s.Keep == 0 {
		return nil
	}
	before := s.now().Add(-s.Keep)
	tenants, err := s.Store.TenantsToErase(ctx, before)
	if err != nil {
		return err
	}

	var failed error
	rand.Shuffle(len(tenants), func(i, j int) { tenants[i], tenants[j] = tenants[j], tenants[i] })
	for _, tenant := range tenants {
		failed = errors.Join(failed, s.eraseShipments(ctx, tenant, before, deadline))
	}
	return failed
}

// ExpireShipments drops the oldest year of shipments if the installation keeps none
// of them any longer, and what other tables have about them. A year with open work
// is left until that is done. What one run does not get to follows in the next.
func (s *Service) ExpireShipments(ctx context.Context) error {
	if s.Keep == 0 {
		return nil
	}
	deadline := s.now().Add(expireTime)
	for s.now().Before(deadline) {
		year, err := s.Store.ExpiredYear(ctx, s.Keep)
		if ship.KindOf(err) == ship.NotFound {
			return nil
		}
		if err != nil {
			return err
		}
		if done, err := s.dropYear(ctx, year, deadline); err != nil || !done {
			return err
		}
	}
	return nil
}

// dropYear drops a year of shipments. It reports false if that has to wait.
func (s *Service) dropYear(ctx context.Context, year store.ExpiredYear, deadline time.Time) (bool, error) {
	work, err := s.Store.OpenWorkBefore(ctx, year.End, s.now())
	if err != nil {
		return false, err
	}
	if work.Any() {
		s.Log.WarnContext(ctx, "shipments are kept because of open work", "year", year.Year, "purchases", work.Purchases,
			"orphaned_labels", work.Orphans, "moving", work.Moving, "example", work.Example)
		return false, nil
	}

	if kept, err := s.isYearKept(ctx, year); err != nil || !kept {
		return false, err
	}

	// Rows of other tables go first: the year is the reason to look for them.
	rows := 0
	for {
		if !s.now().Before(deadline) {
			return false, nil
		}
		n, finished, err := s.Store.SweepShipments(ctx, year.End)
		if err != nil {
			return false, err
		}
		if finished {
			break
		}
		rows += n
	}

	if err := s.Store.DropShipments(ctx, year, s.Keep); err != nil {
		return false, err
	}
	s.Log.InfoContext(ctx, "shipments dropped", "year", year.Year, "other_rows", rows)
	return true, nil
}

// isYearKept reports whether the year may be dropped: it is in the archive, or there
// is none.
func (s *Service) isYearKept(ctx context.Context, year store.ExpiredYear) (bool, error) {
	if s.IsKept == nil {
		return true, nil
	}
	partitions, err := s.Store.YearPartitions(ctx, year)
	if err != nil {
		return false, err
	}
	for _, partition := range partitions {
		if !s.IsKept(partition) {
			return false, nil
		}
	}
	return true, nil
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
	return s.eraseShipments(ctx, t, daysAgo(chosen.Personal), deadline)
}

// eraseShipments erases the personal data of the tenant's shipments, missing purchases and
// trackers from before the time, until the deadline.
func (s *Service) eraseShipments(ctx context.Context, t ship.Tenant, before, deadline time.Time) error {
	for more := true; more && s.now().Before(deadline); {
		open, again, err := s.Store.EraseOlder(ctx, t, before)
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

	if err := s.Store.EraseOlderMissing(ctx, t, before, s.tools()); err != nil {
		return err
	}
	for s.now().Before(deadline) {
		more, err := s.Store.EraseOlderTrackers(ctx, t, before)
		if err != nil || !more {
			return err
		}
	}
	return nil
}
