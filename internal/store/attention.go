package store

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/ship"
)

// What needs attention: the counts, and the lists behind them.

// AttentionLimit is up to how many of a kind are counted.
const AttentionLimit = 100

// An Attention counts what needs somebody's attention, each kind up to
// AttentionLimit.
type Attention struct {
	Unknown        int // purchases whose outcome is not known
	Failed         int // purchases that bought nothing, of orders without another label
	Exceptions     int // parcels that a carrier cannot deliver as they are
	OrphanedLabels int // labels that were sold and nobody may use
	Endpoints      int // webhooks that fail, are parked, or were switched off for it
	Connections    int // carrier accounts whose last check failed
	Codes          int // codes of carriers that no status table knows

	Missing int // purchases that a restore lost and that need a person

	// IsHeld says that no live purchase is made before somebody has decided about
	// missing ones.
	IsHeld bool

	// Approvals are purchases that wait for a person. They have a page of their
	// own, so Total leaves them out.
	Approvals int

	// RefusedVoids are labels that a carrier refused to void. The audit log
	// knows them, so the service counts them.
	RefusedVoids int
}

// Total is the sum of all kinds.
func (a Attention) Total() int {
	return a.Missing + a.Unknown + a.Failed + a.Exceptions + a.OrphanedLabels + a.RefusedVoids + a.Endpoints + a.Connections + a.Codes
}

// What needs attention, as conditions that the counts and the lists share.
const (
	unknownFacts   = `f.account_id = $1 AND f.livemode = $2 AND f.state IN ('uncertain', 'needs_review')`
	exceptionFacts = `f.account_id = $1 AND f.livemode = $2 AND f.status = 'exception' AND f.state = 'purchased' AND f.shipment_id >= $3`
	failedFacts    = `f.account_id = $1 AND f.livemode = $2 AND f.state <> 'purchased' AND f.state = 'failed' AND f.shipment_id >= $3` + notShippedSince + notDenied
	openOrphans    = `x.account_id = $1 AND x.livemode = $2 AND x.state IN ('pending', 'void_declined')`
	unmappedScans  = `t.account_id = $1 AND t.livemode = $2 AND t.reason = 'unmapped' AND t.subject_id >= $3`
)

// notShippedSince leaves out a failed purchase whose order has another
// shipment by now: somebody has dealt with it. A live shipment holds the order's
// number in the directory as kind 'o'. A return is dealt with by a later return of
// the same shipment: its order is held by the shipment that it is a return of.
const notShippedSince = `
  AND NOT EXISTS (
    SELECT FROM shipments s
    JOIN lookup_keys l ON l.account_id = $1 AND l.livemode = $2 AND l.kind = 'o' AND l.value = s.request ->> 'orderId'
    WHERE s.account_id = $1 AND s.livemode = $2 AND s.id = f.shipment_id AND s.request ->> 'returnOf' IS NULL)
  AND NOT EXISTS (
    SELECT FROM shipments s
    JOIN lookup_keys l ON l.account_id = $1 AND l.livemode = $2 AND l.kind = 'r' AND l.value = s.request ->> 'returnOf'
    WHERE s.account_id = $1 AND s.livemode = $2 AND s.id = f.shipment_id AND l.subject_id > s.id)`

// notDenied leaves out a purchase that a person has denied: nothing is left to do
// about it. One that nobody decided about in time stays.
const notDenied = `
  AND NOT EXISTS (
    SELECT FROM approvals a
    WHERE a.account_id = $1 AND a.livemode = $2 AND a.shipment_id = f.shipment_id AND a.status = 'denied')`

// sqlAttention reads indexes that hold nothing but what needs attention, and of
// each no more than it counts.
const sqlAttention = `
SELECT
  (SELECT count(*) FROM (SELECT FROM shipment_facts f WHERE ` + unknownFacts + ` LIMIT 100) x),
  (SELECT count(*) FROM (SELECT FROM shipment_facts f WHERE ` + failedFacts + ` LIMIT 100) x),
  (SELECT count(*) FROM (SELECT FROM shipment_facts f WHERE ` + exceptionFacts + ` LIMIT 100) x),
  (SELECT count(*) FROM (SELECT FROM orphaned_labels x WHERE ` + openOrphans + ` LIMIT 100) x),
  (SELECT count(*) FROM webhook_endpoints e
    WHERE e.account_id = $1 AND e.livemode = $2
    AND (e.failures > 0 OR e.parked OR NOT e.enabled AND e.disabled_reason IS DISTINCT FROM 'client')),
  (SELECT count(*) FROM connections c
    WHERE c.account_id = $1 AND c.livemode = $2 AND c.removed_at IS NULL AND c.enabled
    AND c.check_result @? '$[*] ? (@.level == "fail")'),
  (SELECT count(*) FROM (
    SELECT DISTINCT st.carrier, u.code
    FROM (
      SELECT t.account_id, t.livemode, t.subject_id AS id, t.code
      FROM tracking_events t WHERE ` + unmappedScans + `
      ORDER BY t.subject_id DESC LIMIT 1000
    ) u
    JOIN shipment_states st USING (account_id, livemode, id) LIMIT 100) x),
  (SELECT count(*) FROM (
    SELECT FROM approvals a WHERE a.account_id = $1 AND a.livemode = $2 AND a.status = 'waiting' LIMIT 100) x),
  (SELECT count(*) FROM (
    SELECT FROM missing_purchases m WHERE m.account_id = $1 AND m.livemode = $2 AND ` + missingNeed + ` LIMIT 100) x),
  EXISTS (SELECT FROM missing_purchases m WHERE m.account_id = $1 AND m.livemode = $2 AND m.state = 'missing')`

// Attention counts what needs attention: of shipments, those made since.
func (s *Store) Attention(ctx context.Context, t ship.Tenant, since time.Time) (a Attention, err error) {
	batch := s.newBatch(t)
	batch.Queue(sqlPlanOnce)
	batch.Queue(sqlAttention, t.Account, t.Livemode, ship.RawIDAt(since)).QueryRow(func(r pgx.Row) error {
		return r.Scan(&a.Unknown, &a.Failed, &a.Exceptions, &a.OrphanedLabels, &a.Endpoints, &a.Connections, &a.Codes, &a.Approvals, &a.Missing, &a.IsHeld)
	})
	err = s.send(ctx, batch)
	return a, err
}

const (
	sqlUnknownIDs = `
SELECT f.shipment_id FROM shipment_facts f
WHERE ` + unknownFacts + ` AND f.shipment_id >= $3 AND f.shipment_id < $4
ORDER BY f.shipment_id DESC LIMIT $5`

	sqlFailedIDs = `
SELECT f.shipment_id FROM shipment_facts f
WHERE ` + failedFacts + ` AND f.shipment_id < $4
ORDER BY f.shipment_id DESC LIMIT $5`

	sqlExceptionIDs = `
SELECT f.shipment_id FROM shipment_facts f
WHERE ` + exceptionFacts + ` AND f.shipment_id < $4
ORDER BY f.shipment_id DESC LIMIT $5`
)

// Unknown lists the purchases whose outcome is not known, newest first.
func (s *Store) Unknown(ctx context.Context, t ship.Tenant, p ship.Page) ([]ship.Shipment, error) {
	return s.listByFacts(ctx, t, sqlUnknownIDs, time.Time{}, p, func(shipment ship.Shipment) bool {
		return shipment.State == ship.StateUncertain || shipment.State == ship.StateNeedsReview
	})
}

// FailedPurchases lists purchases made since that bought nothing, newest first,
// without those whose order has another shipment.
func (s *Store) FailedPurchases(ctx context.Context, t ship.Tenant, since time.Time, p ship.Page) ([]ship.Shipment, error) {
	return s.listByFacts(ctx, t, sqlFailedIDs, since, p, func(shipment ship.Shipment) bool {
		return shipment.State == ship.StateFailed
	})
}

// Exceptions lists parcels made since that a carrier cannot deliver as they
// are, newest first.
func (s *Store) Exceptions(ctx context.Context, t ship.Tenant, since time.Time, p ship.Page) ([]ship.Shipment, error) {
	return s.listByFacts(ctx, t, sqlExceptionIDs, since, p, func(shipment ship.Shipment) bool {
		return shipment.Progress.Status == ship.Exception && shipment.State == ship.StatePurchased
	})
}

// listByFacts lists the shipments that a statement finds by their facts, newest
// first.
func (s *Store) listByFacts(ctx context.Context, t ship.Tenant, sql string, since time.Time, p ship.Page, applies func(ship.Shipment) bool) ([]ship.Shipment, error) {
	from, before := idBounds(since, time.Time{}, p.Before)
	ids := idArray{}
	batch := s.newBatch(t)
	batch.Queue(sqlPlanAnew)
	batch.Queue(sql, t.Account, t.Livemode, from, before, p.Limit).Query(collectIDs(&ids))
	if err := s.send(ctx, batch); err != nil {
		return nil, err
	}

	// Facts may be behind, so the shipments themselves are checked again.
	list, err := s.shipmentsByID(ctx, t, ids)
	list = slices.DeleteFunc(list, func(shipment ship.Shipment) bool { return !applies(shipment) })
	slices.SortFunc(list, func(a, b ship.Shipment) int { return strings.Compare(string(b.ID), string(a.ID)) })
	return list, err
}
