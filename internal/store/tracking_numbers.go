package store

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/ship"
)

// The tracking numbers of parcels, and the parcels that have a number.

// sqlWatched reads a purchase only where a parcel has further numbers.
const sqlWatched = `
SELECT st.account_id, st.livemode, st.id, st.carrier, st.tracking_number, s.purchase->'pieces', st.status = 'delivered'
FROM ` + subjectKeys + `
JOIN shipment_states st USING (account_id, livemode, id)
LEFT JOIN shipments s ON st.piece_count > 1 AND NOT st.is_tracker
  AND s.account_id = st.account_id AND s.livemode = st.livemode AND s.id = st.id`

// Watched is what a carrier is polled for: the numbers of a parcel's pieces.
type Watched struct {
	Carrier     string
	Numbers     []string // by piece
	IsDelivered bool
}

// Numbers returns the numbers of the parcels at their carriers.
func (s *Store) Numbers(ctx context.Context, parcels []ship.Subject) (map[ship.Subject]Watched, error) {
	numbers := make(map[ship.Subject]Watched, len(parcels))
	var parcel ship.Subject
	var carrier, number *string
	var pieces []string
	var isDelivered bool
	err := selectEach(ctx, s.system(), append(subjectTargets(&parcel), &carrier, &number, &pieces, &isDelivered), func() error {
		watched := Watched{Numbers: pieces, IsDelivered: isDelivered}
		watched.Carrier = value(carrier)
		if len(watched.Numbers) == 0 && number != nil {
			watched.Numbers = []string{*number}
		}
		numbers[parcel] = watched
		return nil
	}, sqlWatched, subjectArgs(parcels))
	if err != nil {
		return nil, fmt.Errorf("numbers of parcels: %w", err)
	}
	return numbers, nil
}

const sqlHolders = `
SELECT l.account_id, l.livemode, l.value, l.subject_id
FROM unnest(@accounts::uuid[], @livemodes::boolean[], @numbers::text[]) AS k (account_id, livemode, number)
JOIN lookup_keys l ON l.account_id = k.account_id AND l.livemode = k.livemode AND l.kind = 't' AND l.value = k.number`

// A TrackingNumberOf is a tracking number of a tenant.
type TrackingNumberOf struct {
	Tenant ship.Tenant
	Number string
}

// Holders returns the tenants' parcels that have the numbers.
func (s *Store) Holders(ctx context.Context, numbers []TrackingNumberOf) (map[TrackingNumberOf][]ship.Subject, error) {
	holders := make(map[TrackingNumberOf][]ship.Subject, len(numbers))
	var named TrackingNumberOf
	var parcel ship.RawID
	targets := []any{&named.Tenant.Account, &named.Tenant.Livemode, &named.Number, &parcel}
	err := selectEach(ctx, s.sys, targets, func() error {
		holders[named] = append(holders[named], ship.Subject{Tenant: named.Tenant, ID: parcel})
		return nil
	}, sqlHolders, numberArgs(numbers))
	if err != nil {
		return nil, fmt.Errorf("holders of numbers: %w", err)
	}
	return holders, nil
}

func numberArgs(numbers []TrackingNumberOf) pgx.NamedArgs {
	texts := make([]string, len(numbers))
	for i, named := range numbers {
		texts[i] = named.Number
	}

	args := tenantsArgs(len(numbers), func(i int) ship.Tenant { return numbers[i].Tenant })
	args["numbers"] = texts
	return args
}

// sqlLockHolders locks in the same order as sqlLockTrackingStates. The lookup keys
// are found first and in their index alone: in one query with what is locked,
// their rows would be read too.
const sqlLockHolders = `
WITH holders AS MATERIALIZED (
  SELECT l.account_id, l.livemode, l.subject_id AS id, l.value
  FROM unnest(@accounts::uuid[], @livemodes::boolean[], @numbers::text[]) AS k (account_id, livemode, number)
  JOIN lookup_keys l ON l.account_id = k.account_id AND l.livemode = k.livemode AND l.kind = 't' AND l.value = k.number
)
SELECT holders.value, ` + trackColumns + `
FROM holders JOIN shipment_states st USING (account_id, livemode, id)
ORDER BY st.account_id, st.livemode, st.id FOR UPDATE OF st`

// LockHolders locks the tracking states of the parcels that have the numbers
// until the transaction ends, and returns which number is whose. Each number may
// be named once.
func (s *Store) LockHolders(ctx context.Context, numbers []TrackingNumberOf) ([]ship.TrackingState, map[TrackingNumberOf][]ship.Subject, error) {
	list := make([]ship.TrackingState, 0, len(numbers))
	holders := make(map[TrackingNumberOf][]ship.Subject, len(numbers))
	var reader trackingStateReader
	var number string
	err := selectEach(ctx, s.tx, reader.targets(&number), func() error {
		trackingState := reader.value()

		// A parcel with several of the numbers has a row for each.
		if last := len(list) - 1; last < 0 || list[last].Subject != trackingState.Subject {
			list = append(list, trackingState)
		}
		named := TrackingNumberOf{Tenant: trackingState.Tenant, Number: number}
		holders[named] = append(holders[named], trackingState.Subject)
		return nil
	}, sqlLockHolders, numberArgs(numbers))
	if err != nil {
		return nil, nil, fmt.Errorf("lock holders of numbers: %w", err)
	}
	return list, holders, nil
}
