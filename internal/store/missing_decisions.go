package store

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/ship"
)

// What people decide about missing purchases, and what they see of them before.

// A MissingChoice chooses missing purchases of a tenant: the named ones, or all of a state.
type MissingChoice struct {
	Tenant    ship.Tenant
	Shipments []ship.ShipmentID
	State     string // of all; empty where shipments are named
}

func (c MissingChoice) args(more pgx.NamedArgs) pgx.NamedArgs {
	ids := make(idArray, len(c.Shipments))
	for i, id := range c.Shipments {
		ids[i] = id.Raw()
	}
	more["ids"] = ids
	more["chosen_state"] = null(c.State)
	return tenantArgs(c.Tenant, nil, more)
}

const chosenMissing = `account_id = @account AND livemode = @livemode AND state IN ('missing', 'held', 'adopting', 'voiding')
  AND (shipment_id = ANY(@ids::uuid[]) OR state = @chosen_state::text)`

// A MissingDecision is what somebody decided about missing purchases.
type MissingDecision struct {
	MissingChoice
	To string // PurchaseAdopting, PurchaseHeld or PurchaseVoiding
	By string // who decided

	// Seen is how many purchases whoever decided was shown; 0 does not compare.
	Seen int
}

// decisionActions are what the audit log calls the decisions.
var decisionActions = map[string]string{
	PurchaseAdopting: "missing_purchase.adopted",
	PurchaseHeld:     "missing_purchase.held",
	PurchaseVoiding:  "missing_purchase.voided",
}

const sqlDecideMissing = `
UPDATE missing_purchases SET state = @to, decided_by = @by, decided_at = now(), message = NULL
WHERE ` + chosenMissing + ` AND state <> @to
RETURNING shipment_id`

// DecideMissing records a decision about missing purchases with its entry of the audit log,
// and returns how many it changes. The service carries it out. It is ship.Conflict, and
// changes nothing, if they are not as many as were seen.
func (s *Store) DecideMissing(ctx context.Context, d MissingDecision) (n int, err error) {
	err = s.InTx(ctx, d.Tenant, func(tx *Store) error {
		decided, err := queryList(ctx, tx, d.Tenant, pgx.RowTo[ship.ShipmentID], sqlDecideMissing, d.args(pgx.NamedArgs{"to": d.To, "by": d.By}))
		if err != nil {
			return fmt.Errorf("decide about missing purchases: %w", err)
		}
		n = len(decided)
		switch {
		case d.Seen > 0 && n != d.Seen:
			return ship.Errorf(ship.Conflict, "the missing purchases have changed since they were shown")
		case n == 0:
			return nil
		}

		entry := EntryOf(d.Tenant, decisionActions[d.To], string(decided[0]))
		if n > 1 {
			entry.Target = strconv.Itoa(n) + " purchases"
			entry.Details = map[string]string{"first": string(slices.Min(decided)), "last": string(slices.Max(decided))}
		}
		return tx.AuditChange(ctx, entry)
	})
	if err != nil {
		return 0, err
	}
	return n, nil
}

// A MissingCount is how many missing purchases have a state and a currency.
type MissingCount struct {
	State string
	Price ship.Money // of those whose charge is known; zero where it is not
	Count int
}

const sqlCountMissing = `
SELECT state, coalesce(sum(amount_minor), 0)::bigint, CASE WHEN amount_minor IS NULL THEN '' ELSE currency END AS known, count(*)::int
FROM missing_purchases
WHERE ` + chosenMissing + `
GROUP BY state, known ORDER BY state, known`

// CountMissing counts missing purchases by state and currency.
func (s *Store) CountMissing(ctx context.Context, choice MissingChoice) ([]MissingCount, error) {
	return queryList(ctx, s, choice.Tenant, func(r pgx.CollectableRow) (MissingCount, error) {
		var count MissingCount
		err := r.Scan(&count.State, &count.Price.Minor, &count.Price.Currency, &count.Count)
		return count, err
	}, sqlCountMissing, choice.args(pgx.NamedArgs{}))
}

// sqlMissingPage lists what waits for a decision first, then what is not ended, then the rest.
const sqlMissingPage = `
SELECT ` + missingColumns + `, encrypted_entry
FROM missing_purchases
WHERE account_id = @account AND livemode = @livemode
  AND (@chosen_state::text IS NULL AND cardinality(@ids::uuid[]) = 0 OR shipment_id = ANY(@ids::uuid[]) OR state = @chosen_state)
ORDER BY state <> 'missing', state NOT IN ('held', 'adopting', 'voiding'), requested_at, shipment_id
LIMIT @limit OFFSET @skip`

// MissingPage lists missing purchases of a tenant with their entries, those first that wait
// for a decision: all of them, if nothing is chosen.
func (s *Store) MissingPage(ctx context.Context, choice MissingChoice, limit, skip int) ([]MissingPurchase, error) {
	return queryList(ctx, s, choice.Tenant, scanMissingEntry, sqlMissingPage, choice.args(pgx.NamedArgs{"limit": limit, "skip": skip}))
}

const sqlMissingNeeds = `
SELECT ` + missingColumns + `
FROM missing_purchases m
WHERE account_id = $1 AND livemode = $2 AND ` + missingNeed + `
ORDER BY requested_at, shipment_id LIMIT $3 OFFSET $4`

// missingNeed says that a missing purchase needs a person: nobody has decided, or the
// decision cannot be carried out.
const missingNeed = `(m.state = 'missing' OR m.state IN ('adopting', 'voiding') AND m.message IS NOT NULL)`

// MissingNeeds lists missing purchases that need a person, the oldest first.
func (s *Store) MissingNeeds(ctx context.Context, t ship.Tenant, limit, skip int) ([]MissingPurchase, error) {
	return queryList(ctx, s, t, scanMissing, sqlMissingNeeds, t.Account, t.Livemode, limit, skip)
}

// missingRemembered is for how long what was decided about a missing purchase is kept: as
// long as the key that it was bought under.
const missingRemembered = purchaseMemory

const sqlForgetMissing = `
DELETE FROM missing_purchases WHERE ctid = ANY (ARRAY(
  SELECT ctid FROM missing_purchases
  WHERE state IN ('held', 'adopted', 'voided', 'not_sold') AND coalesce(decided_at, noticed_at) < @before
  LIMIT 1000))`

// DeleteOldMissingPurchases deletes missing purchases that were decided about long ago, and
// reports how many.
func (s *Store) DeleteOldMissingPurchases(ctx context.Context, now time.Time) (int64, error) {
	tag, err := s.sys.Exec(ctx, sqlForgetMissing, pgx.NamedArgs{"before": now.Add(-missingRemembered)})
	if err != nil {
		return 0, fmt.Errorf("delete old missing purchases: %w", explain(err))
	}
	return tag.RowsAffected(), nil
}
