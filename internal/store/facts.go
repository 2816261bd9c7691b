package store

import (
	"context"
	"slices"
	"strings"
	"unicode"

	"github.com/jackc/pgx/v5"
	"golang.org/x/text/unicode/norm"

	"github.com/waybillhq/waybill/internal/ship"
)

// dayOf is the day that an id was made on.
const dayOf = `(to_timestamp(('x' || translate(left(s.id::text, 13), '-', ''))::bit(48)::bigint / 1000.0) AT TIME ZONE 'UTC')::date`

// factColumns are the facts of a shipment, from its own rows and ofDeal.
const factColumns = `
  ` + dayOf + ` AS day, coalesce(s.carrier, '') AS carrier, coalesce(d.service, '') AS service, j.status::text AS status, coalesce(j.state::text, 'purchasing') AS state,
  coalesce(d.price ->> 'Currency', '') AS currency, coalesce((d.price ->> 'Minor')::bigint, 0) AS minor,
  j.status = 'delivered' AND d."estimateAt" IS NOT NULL AS promised,
  coalesce(j.status = 'delivered' AND (j.newest_at AT TIME ZONE 'UTC')::date <= left(d."estimateAt", 10)::date, false) AS on_time,
  coalesce(j.estimate_at, 'infinity') AS due_at`

// ofDeal reads the deal once for all columns.
const ofDeal = `CROSS JOIN LATERAL json_to_record(s.deal) AS d (service text, price json, "estimateAt" text)`

// sqlNewRecipients are the names on those of the shipments that have no facts
// yet.
const sqlNewRecipients = `
SELECT k.account_id, k.livemode, k.id, concat(d.name, ' ', d.company)
FROM ` + journeyKeys + ` JOIN shipments s USING (account_id, livemode, id)
CROSS JOIN LATERAL json_to_record(s.ordered -> 'destination') AS d (name text, company text)
WHERE NOT EXISTS (SELECT FROM shipment_facts f WHERE f.account_id = k.account_id AND f.livemode = k.livemode AND f.id = k.id)`

const sqlAddWords = `
INSERT INTO recipient_words (account_id, livemode, word, id)
SELECT * FROM unnest(@accounts::uuid[], @livemodes::boolean[], @words::text[], @ids::uuid[]) ON CONFLICT DO NOTHING`

// sqlNoteFacts brings the facts of shipments up to date, and the counts by
// what changed: a shipment leaves the line it was counted in and joins another.
const sqlNoteFacts = `
WITH keys AS MATERIALIZED (
  SELECT account_id, livemode, id, recipient
  FROM unnest(@accounts::uuid[], @livemodes::boolean[], @ids::uuid[], @recipients::text[]) AS k (account_id, livemode, id, recipient)
), fresh AS MATERIALIZED (
  SELECT k.account_id, k.livemode, k.id, k.recipient, ` + factColumns + `
  FROM keys k
  JOIN shipments s ON s.account_id = k.account_id AND s.livemode = k.livemode AND s.id = k.id
  JOIN journeys j ON j.account_id = k.account_id AND j.livemode = k.livemode AND j.id = k.id
  ` + ofDeal + `
  WHERE j.sequence > 0
), old AS MATERIALIZED (
  SELECT f.account_id, f.livemode, f.day, f.carrier, f.service, f.status, f.state, f.currency, f.minor, f.promised, f.on_time
  FROM keys k JOIN shipment_facts f USING (account_id, livemode, id)
), put AS (
  INSERT INTO shipment_facts AS f (account_id, livemode, id, day, carrier, service, status, state, currency, minor, promised, on_time, due_at, recipient)
  SELECT account_id, livemode, id, day, carrier, service, status, state, currency, minor, promised, on_time, due_at, recipient FROM fresh
  ON CONFLICT (account_id, livemode, id) DO UPDATE SET carrier = excluded.carrier, service = excluded.service, status = excluded.status, state = excluded.state,
    currency = excluded.currency, minor = excluded.minor, promised = excluded.promised, on_time = excluded.on_time, due_at = excluded.due_at
  WHERE (f.carrier, f.service, f.status, f.state, f.currency, f.minor, f.promised, f.on_time, f.due_at) IS DISTINCT FROM
    (excluded.carrier, excluded.service, excluded.status, excluded.state, excluded.currency, excluded.minor, excluded.promised, excluded.on_time, excluded.due_at)
)
INSERT INTO shipment_days AS d (account_id, livemode, day, carrier, service, status, state, currency, shipments, minor, promised, on_time)
SELECT account_id, livemode, day, carrier, service, status, state, currency, sum(n), sum(n * minor), sum(n * promised::int), sum(n * on_time::int)
FROM (
  SELECT 1 AS n, account_id, livemode, day, carrier, service, status, state, currency, minor, promised, on_time FROM fresh
  UNION ALL SELECT -1, account_id, livemode, day, carrier, service, status, state, currency, minor, promised, on_time FROM old
) x
GROUP BY account_id, livemode, day, carrier, service, status, state, currency
HAVING sum(n) <> 0 OR sum(n * minor) <> 0 OR sum(n * promised::int) <> 0 OR sum(n * on_time::int) <> 0
ON CONFLICT (account_id, livemode, day, carrier, service, status, state, currency) DO UPDATE SET
  shipments = d.shipments + excluded.shipments, minor = d.minor + excluded.minor, promised = d.promised + excluded.promised, on_time = d.on_time + excluded.on_time`

// noteFacts takes shipments as they are now into the facts, the counts and the
// recipients' words. It runs in the transaction that holds the roll-up's row.
func noteFacts(ctx context.Context, tx pgx.Tx, keys []ship.Subject) error {
	keys = distinct(keys)
	if len(keys) == 0 {
		return nil
	}
	names, err := newRecipients(ctx, tx, keys)
	if err != nil {
		return err
	}
	words, args := columns{}, parcelArgs(keys)
	recipients := make([]string, len(keys))
	for i, p := range keys {
		for _, w := range names[p] {
			words.parcel(p)
			words.add("ids", [16]byte(p.ID))
			words.add("words", w)
			recipients[i] += " " + w
		}
	}
	args["recipients"] = recipients
	b := &pgx.Batch{}
	if len(words) > 0 {
		b.Queue(sqlAddWords, words.args())
	}
	b.Queue(sqlNoteFacts, args)
	return tx.SendBatch(ctx, b).Close()
}

// distinct are the keys in their order, each once.
func distinct(keys []ship.Subject) []ship.Subject {
	slices.SortFunc(keys, func(a, b ship.Subject) int {
		if c := strings.Compare(string(a.Tenant.Account), string(b.Tenant.Account)); c != 0 {
			return c
		}
		return strings.Compare(string(a.ID[:]), string(b.ID[:]))
	})
	return slices.Compact(keys)
}

// newRecipients are the words of the shipments that have no facts yet.
func newRecipients(ctx context.Context, tx pgx.Tx, keys []ship.Subject) (map[ship.Subject][]string, error) {
	rows, err := tx.Query(ctx, sqlNewRecipients, parcelArgs(keys))
	if err != nil {
		return nil, err
	}
	names := map[ship.Subject][]string{}
	var subject subjectReader
	var text string
	targets := append(subject.targets(), &text)
	err = each(rows, func(row pgx.Rows) error {
		err := row.Scan(targets...)
		names[subject.read()] = Words(text)
		return err
	})
	return names, err
}

// Bounds of what is kept of a name.
const (
	maxWords = 8
	maxWord  = 40
)

// Words are the words of a name as they are looked for: in small letters,
// without accents, each once.
func Words(text string) []string {
	var b strings.Builder
	for _, r := range norm.NFKD.String(text) {
		if !unicode.Is(unicode.Mn, r) {
			b.WriteRune(unicode.ToLower(r))
		}
	}
	var list []string
	for w := range strings.FieldsFuncSeq(b.String(), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		if len(w) > maxWord {
			w = strings.ToValidUTF8(w[:maxWord], "")
		}
		if len(list) < maxWords && !slices.Contains(list, w) {
			list = append(list, w)
		}
	}
	return list
}
