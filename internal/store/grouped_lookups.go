package store

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/coalesce"
	"github.com/waybillhq/waybill/internal/ship"
)

// Grouped look-ups: under load, those of many requests and tenants are made in
// one statement, by a role that sees the tenants of the group.

// A lookup is a tracking number of a tenant, and what is found under it.
type lookup struct {
	tenant ship.Tenant
	number string

	found []ship.TrackingState // newest first
	scans []ship.Scan          // of the first that is found

	// hasOlder tells of followed parcels that were found: the number has parcels
	// that were not looked at.
	hasOlder bool
}

// best returns the position of the parcel that the number stands for: the newest
// shipment of the carrier, else the newest followed parcel. It is -1 if there is
// none. An empty carrier is any.
func (l *lookup) best(carrier string) int {
	best := -1
	for i, trackingState := range l.found {
		if carrier != "" && trackingState.Carrier != carrier {
			continue
		}
		if best < 0 || l.found[best].Followed && !trackingState.Followed {
			best = i
		}
	}
	return best
}

// How look-ups are grouped.
const (
	lookupLanes = 2
	maxLookups  = 64
)

// lookupDays is how old parcels are that look-ups try first. Nearly all parcels
// that anybody asks for are younger, and a statement that is limited to them opens
// one or two partitions of each table instead of all that are kept.
const lookupDays = 120

// recentIDs returns the range of the ids that look-ups try first. It ends in the
// future, because the clocks of other copies may be ahead.
func recentIDs() (lowest, below ship.RawID) {
	now := time.Now()
	return idBounds(now.AddDate(0, 0, -lookupDays), now.AddDate(0, 0, 1), ship.RawID{})
}

// newLookupGroup returns what groups look-ups.
func (s *Store) newLookupGroup() *coalesce.Group[*lookup] {
	return &coalesce.Group[*lookup]{
		Crowd:    s.crowd,
		Lanes:    lookupLanes,
		Limit:    maxLookups,
		Timeout:  groupTimeout,
		Alone:    s.lookUpAlone,
		Together: s.lookUpTogether,
		Owner:    func(l *lookup) string { return string(l.tenant.Account) },
	}
}

// lookUpAlone looks for a recent parcel.
func (s *Store) lookUpAlone(ctx context.Context, l *lookup) error {
	lowest, below := recentIDs()
	return s.lookUpRange(ctx, l, lowest, below)
}

// lookUpAll looks for a parcel of any age.
func (s *Store) lookUpAll(ctx context.Context, l *lookup) error {
	lowest, below := idBounds(time.Time{}, time.Time{}, ship.RawID{})
	return s.lookUpRange(ctx, l, lowest, below)
}

func (s *Store) lookUpRange(ctx context.Context, l *lookup, lowest, below ship.RawID) error {
	l.found = nil
	l.scans = nil
	l.hasOlder = false

	var parcel trackingStateReader
	var hasOlder bool
	batch := s.newHotBatch(l.tenant)
	batch.Queue(sqlFind, l.tenant.Account, l.tenant.Livemode, l.number, lowest, below).Query(func(rows pgx.Rows) error {
		_, err := pgx.ForEachRow(rows, parcel.targets(&hasOlder), func() error {
			l.found = append(l.found, parcel.value())
			l.hasOlder = l.hasOlder || hasOlder
			return nil
		})
		return err
	})
	batch.Queue(sqlFindScans, l.tenant.Account, l.tenant.Livemode, l.number, lowest, below).Query(collectInto(&l.scans, scanScan))
	return s.send(ctx, batch)
}

const sqlSetTenants = `SELECT set_config('waybill.live_accounts', $1, true), set_config('waybill.test_accounts', $2, true)`

// sqlEnterTenants is sqlSetTenants in a cell among others.
const sqlEnterTenants = sqlSetTenants + `, enter_shards($3)`

// lookupNumbers are the numbers of a group, in its order.
const lookupNumbers = `unnest($1::uuid[], $2::boolean[], $3::text[]) WITH ORDINALITY AS k (account_id, livemode, number, position)`

// sqlFindMany is sqlFind for many numbers.
const sqlFindMany = `
SELECT k.position, st.is_tracker AND EXISTS (
    SELECT FROM lookup_keys l
    WHERE l.account_id = k.account_id AND l.livemode = k.livemode AND l.kind = 't' AND l.value = k.number AND l.subject_id < $4
  ), ` + trackColumns + `
FROM ` + lookupNumbers + `
CROSS JOIN LATERAL (
  SELECT subject_id FROM lookup_keys l
  WHERE l.account_id = k.account_id AND l.livemode = k.livemode AND l.kind = 't' AND l.value = k.number
  ORDER BY subject_id DESC LIMIT 8
) l
JOIN shipment_states st ON st.account_id = k.account_id AND st.livemode = k.livemode AND st.id = l.subject_id
  AND st.id >= $4 AND st.id < $5
ORDER BY k.position, st.id DESC`

// sqlFindManyScans is sqlFindScans for many numbers.
const sqlFindManyScans = `
SELECT k.position, ` + scanColumns + `
FROM ` + lookupNumbers + `
CROSS JOIN LATERAL (
  SELECT subject_id FROM lookup_keys l
  WHERE l.account_id = k.account_id AND l.livemode = k.livemode AND l.kind = 't' AND l.value = k.number
  ORDER BY subject_id DESC LIMIT 1
) l
JOIN tracking_events t ON t.account_id = k.account_id AND t.livemode = k.livemode AND t.subject_id = l.subject_id
  AND t.subject_id >= $4 AND t.subject_id < $5`

// lookUpTogether looks for recent parcels of many numbers in one round trip. If it fails, each is
// made by itself: reading can be repeated.
func (s *Store) lookUpTogether(ctx context.Context, list []*lookup) []error {
	n := len(list)
	accounts := make(idArray, n)
	livemodes := make([]bool, n)
	numbers := make([]string, n)
	for i, l := range list {
		accounts[i] = l.tenant.Account.Raw()
		livemodes[i] = l.tenant.Livemode
		numbers[i] = l.number
	}

	lowest, below := recentIDs()
	var position int // from 1
	var hasOlder bool
	var parcel trackingStateReader
	var scan scanRow
	batch := &pgx.Batch{}
	if s.cell == "" {
		batch.Queue(sqlSetTenants, accountsOf(list, true), accountsOf(list, false))
	} else {
		batch.Queue(sqlEnterTenants, accountsOf(list, true), accountsOf(list, false), shardsOf(list))
	}
	batch.Queue(sqlFindMany, accounts, livemodes, numbers, lowest, below).Query(func(rows pgx.Rows) error {
		_, err := pgx.ForEachRow(rows, parcel.targets(&position, &hasOlder), func() error {
			l := list[position-1]
			l.hasOlder = l.hasOlder || hasOlder
			l.found = append(l.found, parcel.value())
			return nil
		})
		return err
	})
	batch.Queue(sqlFindManyScans, accounts, livemodes, numbers, lowest, below).Query(func(rows pgx.Rows) error {
		_, err := pgx.ForEachRow(rows, append([]any{&position}, scan.targets()...), func() error {
			l := list[position-1]
			l.scans = append(l.scans, scan.read())
			return nil
		})
		return err
	})

	if err := s.group.SendBatch(ctx, batch).Close(); err != nil {
		return slices.Repeat([]error{coalesce.ErrAlone}, n)
	}
	return make([]error, n)
}

// shardsOf returns the shards of the look-ups.
func shardsOf(list []*lookup) []int32 {
	shards := make([]int32, len(list))
	for i, l := range list {
		shards[i] = int32(l.tenant.Shard())
	}
	slices.Sort(shards)
	return slices.Compact(shards)
}

// accountsOf returns the accounts of the look-ups in one mode, as the policy of
// the group's role reads them.
func accountsOf(list []*lookup, livemode bool) string {
	var accounts []string
	for _, l := range list {
		if l.tenant.Livemode == livemode {
			accounts = append(accounts, uuidText(l.tenant.Account.Raw()))
		}
	}
	slices.Sort(accounts)
	return strings.Join(slices.Compact(accounts), ",")
}
