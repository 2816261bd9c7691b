package store

import (
	"context"
	"math"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/ship"
)

// The ids of a list of shipments, found by their facts.

// sqlTail finds the tenant's shipments whose facts may be behind: those that the
// log and shipment_changes name since the roll-up's cursor. Lists and counts read
// these from their own rows, and are exact. The number is bounded, in case the
// roll-up does not run.
const sqlTail = `
SELECT t.subject_id FROM (
  SELECT e.subject_id FROM events e
  WHERE e.account_id = $1 AND e.livemode = $2 AND e.id >= (SELECT tail_from_id FROM facts_progress)
    AND (e.txid, e.id) > ((SELECT cursor_txid FROM facts_progress), (SELECT cursor_id FROM facts_progress)) AND NOT e.is_tracker
  ORDER BY e.txid DESC, e.id DESC LIMIT 20000
) t
UNION SELECT c.shipment_id FROM shipment_changes c WHERE c.account_id = $1 AND c.livemode = $2`

// sqlTailPlan has the tail read by an index of the log's order, from the cursor
// on. Its end is not known when the statement is planned, and the planner would
// rather read all events of the last hour by the time in their ids.
const sqlTailPlan = `
SELECT set_config('plan_cache_mode', 'force_generic_plan', true),
  set_config('enable_bitmapscan', 'off', true),
  set_config('enable_seqscan', 'off', true),
  set_config('max_parallel_workers_per_gather', '0', true)`

const sqlRolledUp = `SELECT ready FROM facts_progress`

// tail returns the shipments whose facts may be behind, and whether all older
// shipments have facts.
func (s *Store) tail(ctx context.Context, t ship.Tenant) (ids idArray, ready bool, err error) {
	ids = idArray{}
	batch := s.newBatch(t)
	batch.Queue(sqlTailPlan)
	batch.Queue(sqlRolledUp).QueryRow(func(r pgx.Row) error { return r.Scan(&ready) })
	batch.Queue(sqlTail, t.Account, t.Livemode).Query(collectIDs(&ids))
	err = s.send(ctx, batch)
	return ids, ready, err
}

// collectIDs returns a function that appends the ids of all rows, for a
// statement of a batch.
func collectIDs(ids *idArray) func(pgx.Rows) error {
	return collectInto(ids, pgx.RowTo[ship.RawID])
}

// The statements that list ids by facts, without those in the tail. Each reads in
// the order of an index, one status or one state at a time.
const (
	listedFacts = `
SELECT f.shipment_id FROM shipment_facts f
WHERE f.account_id = @account AND f.livemode = @livemode AND f.shipment_id <> ALL (@tail::uuid[])
  AND (@states::text[] IS NULL OR f.state = ANY (@states))`
	betweenFacts = listedFacts + ` AND f.shipment_id >= @from AND f.shipment_id < @before`

	sqlFactIDs            = betweenFacts + ` ORDER BY f.shipment_id DESC LIMIT @limit`
	sqlFactIDsUp          = betweenFacts + ` ORDER BY f.shipment_id LIMIT @limit`
	sqlFactIDsOfStatus    = betweenFacts + ` AND f.status = @status ORDER BY f.shipment_id DESC LIMIT @limit`
	sqlFactIDsOfStatusUp  = betweenFacts + ` AND f.status = @status ORDER BY f.shipment_id LIMIT @limit`
	sqlFactIDsOfCarrier   = betweenFacts + ` AND f.status = @status AND f.carrier = @carrier ORDER BY f.shipment_id DESC LIMIT @limit`
	sqlFactIDsOfCarrierUp = betweenFacts + ` AND f.status = @status AND f.carrier = @carrier ORDER BY f.shipment_id LIMIT @limit`

	sqlFactIDsByDue = listedFacts + `
  AND (f.estimated_delivery_at, f.shipment_id) < (@due, @last) AND f.status = @status
ORDER BY f.estimated_delivery_at DESC, f.shipment_id DESC LIMIT @limit`
	sqlFactIDsByDueUp = listedFacts + `
  AND (f.estimated_delivery_at, f.shipment_id) > (@due, @last) AND f.status = @status
ORDER BY f.estimated_delivery_at, f.shipment_id LIMIT @limit`

	optionalFilters = `
  AND (@status::text IS NULL OR f.status = @status) AND (@carrier::text IS NULL OR f.carrier = @carrier)`

	sqlFactIDsOfReference = betweenFacts + ` AND f.reference = @reference AND f.reference <> ''` + optionalFilters + `
ORDER BY f.shipment_id DESC LIMIT @limit`

	unsettledFacts      = betweenFacts + ` AND f.state <> 'purchased' AND f.state = @state` + optionalFilters
	sqlFactIDsOfState   = unsettledFacts + ` ORDER BY f.shipment_id DESC LIMIT @limit`
	sqlFactIDsOfStateUp = unsettledFacts + ` ORDER BY f.shipment_id LIMIT @limit`
)

// sqlIDsOfNumber finds the shipments of a tracking number. There is hardly ever
// more than one, so the other filters are checked in the shipments.
const sqlIDsOfNumber = `
SELECT l.subject_id FROM lookup_keys l
WHERE l.account_id = @account AND l.livemode = @livemode AND l.kind = 't' AND l.value = @number
  AND l.subject_id <> ALL (@tail::uuid[]) AND l.subject_id >= @from AND l.subject_id < @before
ORDER BY l.subject_id DESC LIMIT @limit`

// factIDs returns the next shipments that the filter wants by their facts: the
// page is among them.
func (s *Store) factIDs(ctx context.Context, t ship.Tenant, f ShipmentFilter, p ship.Page, tail idArray) (idArray, error) {
	args := f.args(t, p)
	args["tail"] = tail
	if f.Number == "" && f.Reference == "" && f.Query != "" {
		return s.searchedIDs(ctx, t, f, p, args)
	}

	ids := idArray{}
	batch := s.newBatch(t)
	batch.Queue(sqlPlanAnew)
	list := func(sql string, args pgx.NamedArgs) { batch.Queue(sql, args).Query(collectIDs(&ids)) }

	switch {
	case f.Number != "":
		list(sqlIDsOfNumber, args)

	case f.Reference != "":
		list(sqlFactIDsOfReference, args)

	case f.isUnsettled():
		for _, state := range f.States {
			list(f.Order.pick(sqlFactIDsOfState, sqlFactIDsOfStateUp), withArg(args, "state", string(state)))
		}

	case f.Status == "" && f.Carrier == "" && !f.Order.Due:
		list(f.Order.pick(sqlFactIDs, sqlFactIDsUp), args)

	default:
		statuses := ship.Statuses
		if f.Status != "" {
			statuses = []ship.Status{f.Status}
		}
		for _, status := range statuses {
			list(f.statusStatement(), withArg(args, "status", string(status)))
		}
	}

	err := s.send(ctx, batch)
	return ids, err
}

// statusStatement returns the statement that lists one status.
func (f ShipmentFilter) statusStatement() string {
	switch {
	case f.Order.Due:
		return f.Order.pick(sqlFactIDsByDue, sqlFactIDsByDueUp)
	case f.Carrier != "":
		return f.Order.pick(sqlFactIDsOfCarrier, sqlFactIDsOfCarrierUp)
	}
	return f.Order.pick(sqlFactIDsOfStatus, sqlFactIDsOfStatusUp)
}

// dueAfter returns where a list by estimate goes on: after the last shipment of
// the page before, or at the end that the order begins with.
func (f ShipmentFilter) dueAfter(p ship.Page) (due any, last ship.RawID) {
	switch {
	case !p.Before.IsZero() && f.DueAt.IsZero():
		return "infinity", p.Before
	case !p.Before.IsZero():
		return f.DueAt, p.Before
	case f.Order.First:
		return "-infinity", ship.RawID{}
	}
	return "infinity", ship.RawID(slices.Repeat([]byte{math.MaxUint8}, 16))
}
