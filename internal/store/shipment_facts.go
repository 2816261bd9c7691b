package store

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/ship"
)

// The facts of a shipment: one row with what lists, counts and the search need.

// dayOf is the day that an id was made on, in UTC: the first 48 bits of an id
// are its time in milliseconds.
const dayOf = `(to_timestamp(('x' || translate(left(s.id::text, 13), '-', ''))::bit(48)::bigint / 1000.0) AT TIME ZONE 'UTC')::date`

// The facts that scans change, from the tracking state.
const (
	statusFact   = `st.status::text`
	stateFact    = `coalesce(st.state::text, 'purchasing')`
	estimateFact = `coalesce(st.estimated_delivery_at, 'infinity')`
)

// factColumns are the facts of a shipment, from its own rows and
// purchaseColumns.
const factColumns = `
  ` + dayOf + ` AS day,
  coalesce(s.carrier, '') AS carrier,
  coalesce(d.service, '') AS service,
  ` + statusFact + ` AS status,
  ` + stateFact + ` AS state,
  coalesce(d.price ->> 'Currency', '') AS currency,
  coalesce((d.price ->> 'Minor')::bigint, 0) AS amount_minor,
  st.status = 'delivered' AND d."estimateAt" IS NOT NULL AS had_estimate,
  coalesce(st.status = 'delivered' AND (st.last_event_at AT TIME ZONE 'UTC')::date <= left(d."estimateAt", 10)::date, false) AS on_time,
  ` + estimateFact + ` AS estimated_delivery_at,
  ` + numbersColumn + ` AS numbers,
  coalesce(s.request ->> 'reference', '') AS reference`

// purchaseColumns reads the purchase once for all columns.
const purchaseColumns = `CROSS JOIN LATERAL json_to_record(s.purchase) AS d (service text, price json, "estimateAt" text, "trackingNumber" text, pieces json)`

// sqlNewRecipients are the recipients of those of the shipments that have no
// facts yet. OFFSET 0 has each key looked up by itself: a join would be planned
// for the size that the table of facts once had.
const sqlNewRecipients = `
SELECT k.account_id, k.livemode, k.id,
  coalesce(d.name, ''), coalesce(d.company, ''), coalesce(d.city, ''), coalesce(d.email, '')
FROM ` + subjectKeys + `
JOIN shipments s USING (account_id, livemode, id)
CROSS JOIN LATERAL json_to_record(s.request -> 'destination') AS d (name text, company text, city text, email text)
WHERE NOT EXISTS (
  SELECT FROM shipment_facts f
  WHERE f.account_id = k.account_id AND f.livemode = k.livemode AND f.shipment_id = k.id OFFSET 0)`

const sqlAddWords = `
INSERT INTO search_words (account_id, livemode, word_hash, shipment_id)
SELECT * FROM unnest(@accounts::uuid[], @livemodes::boolean[], @words::bytea[], @ids::uuid[])
ON CONFLICT DO NOTHING`

// sqlUpdateFacts brings the facts of shipments up to date, and the counts by
// what changed: a shipment is taken off the line it was counted in and added to
// the one it belongs to now. A shipment that no client has seen has no new facts
// and is not counted.
//
// The column search_numbers is for copies of v0.1.0 that run beside this one; the
// next release does not write it (see migration 0026). It is not compared, so no
// row is written for its sake.
const sqlUpdateFacts = `
WITH keys AS MATERIALIZED (
  SELECT account_id, livemode, shipment_id
  FROM unnest(@accounts::uuid[], @livemodes::boolean[], @ids::uuid[]) AS k (account_id, livemode, shipment_id)
), new_facts AS MATERIALIZED (
  SELECT k.account_id, k.livemode, k.shipment_id, ` + factColumns + `
  FROM keys k
  JOIN shipments s ON s.account_id = k.account_id AND s.livemode = k.livemode AND s.id = k.shipment_id
  JOIN shipment_states st ON st.account_id = k.account_id AND st.livemode = k.livemode AND st.id = k.shipment_id
  ` + purchaseColumns + `
  WHERE st.sequence > 0
), old_facts AS MATERIALIZED (
  SELECT f.account_id, f.livemode, f.day, f.carrier, f.service, f.status, f.state, f.currency,
    f.amount_minor, f.had_estimate, f.on_time
  FROM keys k JOIN shipment_facts f USING (account_id, livemode, shipment_id)
), saved_facts AS (
  INSERT INTO shipment_facts AS f (account_id, livemode, shipment_id, day, carrier, service, status, state, currency, amount_minor,
    had_estimate, on_time, estimated_delivery_at, search_numbers, reference)
  SELECT account_id, livemode, shipment_id, day, carrier, service, status, state, currency, amount_minor,
    had_estimate, on_time, estimated_delivery_at, numbers, reference
  FROM new_facts
  ON CONFLICT (account_id, livemode, shipment_id) DO UPDATE SET
    carrier = excluded.carrier,
    service = excluded.service,
    status = excluded.status,
    state = excluded.state,
    currency = excluded.currency,
    amount_minor = excluded.amount_minor,
    had_estimate = excluded.had_estimate,
    on_time = excluded.on_time,
    estimated_delivery_at = excluded.estimated_delivery_at,
    search_numbers = excluded.search_numbers
  WHERE (f.carrier, f.service, f.status, f.state, f.currency, f.amount_minor, f.had_estimate, f.on_time, f.estimated_delivery_at)
    IS DISTINCT FROM (excluded.carrier, excluded.service, excluded.status, excluded.state, excluded.currency, excluded.amount_minor,
      excluded.had_estimate, excluded.on_time, excluded.estimated_delivery_at)
), saved_numbers AS (
  INSERT INTO search_numbers AS n (account_id, livemode, shipment_id, numbers)
  SELECT account_id, livemode, shipment_id, numbers FROM new_facts
  ON CONFLICT (account_id, livemode, shipment_id) DO UPDATE SET numbers = excluded.numbers
  WHERE n.numbers <> excluded.numbers
)
INSERT INTO daily_shipment_counts AS d (account_id, livemode, day, carrier, service, status, state, currency,
  shipments, amount_minor, had_estimate, on_time)
SELECT account_id, livemode, day, carrier, service, status, state, currency,
  sum(n), sum(n * amount_minor), sum(n * had_estimate::int), sum(n * on_time::int)
FROM (
  SELECT 1 AS n, account_id, livemode, day, carrier, service, status, state, currency, amount_minor, had_estimate, on_time
  FROM new_facts
  UNION ALL
  SELECT -1, account_id, livemode, day, carrier, service, status, state, currency, amount_minor, had_estimate, on_time
  FROM old_facts
) changes
GROUP BY account_id, livemode, day, carrier, service, status, state, currency
HAVING sum(n) <> 0 OR sum(n * amount_minor) <> 0 OR sum(n * had_estimate::int) <> 0 OR sum(n * on_time::int) <> 0
ON CONFLICT (account_id, livemode, day, carrier, service, status, state, currency) DO UPDATE SET
  shipments = d.shipments + excluded.shipments,
  amount_minor = d.amount_minor + excluded.amount_minor,
  had_estimate = d.had_estimate + excluded.had_estimate,
  on_time = d.on_time + excluded.on_time`

// updateFacts brings the facts, the counts and the words of the search up to
// date with the shipments as they are now. It runs in the transaction that holds
// the roll-up's row.
func updateFacts(ctx context.Context, tx pgx.Tx, hash wordHash, keys []ship.Subject) error {
	keys = distinct(keys)
	if len(keys) == 0 {
		return nil
	}

	// A recipient never changes, so only new shipments have new words.
	recipients, err := newRecipients(ctx, tx, keys)
	if err != nil {
		return err
	}
	words := columns{}
	for _, key := range keys {
		for _, word := range recipients[key].words() {
			words.addTenant(key.Tenant)
			words.add("ids", key.ID)
			words.add("words", hash(key.Tenant.Account, word))
		}
	}

	batch := &pgx.Batch{}
	if len(words) > 0 {
		batch.Queue(sqlAddWords, words.args())
	}
	batch.Queue(sqlUpdateFacts, subjectArgs(keys))
	return tx.SendBatch(ctx, batch).Close()
}

// newRecipients returns the recipients of the shipments that have no facts yet.
func newRecipients(ctx context.Context, tx pgx.Tx, keys []ship.Subject) (map[ship.Subject]recipient, error) {
	recipients := map[ship.Subject]recipient{}
	var subject subjectReader
	var to recipient
	targets := append(subject.targets(), &to.name, &to.company, &to.city, &to.email)
	err := selectEach(ctx, tx, targets, func() error {
		recipients[subject.read()] = to
		return nil
	}, sqlNewRecipients, subjectArgs(keys))
	return recipients, err
}
