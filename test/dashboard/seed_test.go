package dashboard

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// seedID is an id of a moment, for a row of a number: as the service makes
// them, without its chance.
const seedID = `
CREATE FUNCTION pg_temp.seed_id(at timestamptz, kind text, n bigint) RETURNS uuid LANGUAGE sql IMMUTABLE AS $$
  SELECT (lpad(to_hex((extract(epoch FROM at) * 1000)::bigint), 12, '0') || '{shard}' || substr(md5(kind || n), 1, 17))::uuid
$$`

// seedShipments makes the shipments of numbers {from} to {to}, spread evenly
// over the year, with their tracking states and names.
const seedShipments = `
WITH base AS MATERIALIZED (
  SELECT n, at, pg_temp.seed_id(at, 's', n) AS id, age,
    (ARRAY['ups', 'usps', 'fedex', 'dhl_express'])[(1 + n % 7 % 4)::int] AS carrier, (ARRAY['ground', 'express', 'saver'])[(1 + n % 11 % 3)::int] AS service,
    (ARRAY['Ada', 'Grace', 'Hedy', 'Mary', 'Annie', 'Katherine', 'Alan', 'Edsger', 'Barbara', 'Donald', 'Frances', 'Jean', 'John', 'Joan', 'Johanna', 'Radia', 'Shafi', 'Tim', 'Vint', 'Jürgen'])[(1 + n / 3 * 7919 % 20)::int]
      || ' ' || (ARRAY['Lovelace', 'Hopper', 'Lamarr', 'Jackson', 'Easley', 'Johnson', 'Turing', 'Dijkstra', 'Liskov', 'Knuth', 'Allen', 'Bartik', 'Backus', 'Clarke', 'Perlman', 'Müller', 'Smith', 'Smythe', 'Okafor', 'Nguyen'])[(1 + n / 7 * 104729 % 20)::int]
      || ' ' || (n % 5000) AS name,
    CASE WHEN n % 5 = 0 THEN 'Works ' || (n % 300) || ' GmbH' ELSE '' END AS company,
    CASE
      WHEN n % 50 = 7 THEN 'exception' WHEN n % 61 = 3 THEN 'label_generated' WHEN age > interval '9 days' THEN 'delivered'
      WHEN age < interval '1 day' THEN 'label_generated' WHEN n % 3 = 0 THEN 'out_for_delivery' WHEN n % 3 = 1 THEN 'in_transit' ELSE 'picked_up' END AS status,
    CASE WHEN n % 61 = 3 THEN 'voided' WHEN n % 9973 = 11 THEN 'needs_review' ELSE 'purchased' END AS state
  FROM (SELECT n, '{now}'::timestamptz - interval '1 minute' - (({rows} - n) * interval '365 days' / {rows}) AS at, ({rows} - n) * interval '365 days' / {rows} AS age FROM generate_series({from}::bigint, {to}) n) x
), s AS (
  INSERT INTO shipments (id, account_id, livemode, response_version, carrier, request, purchase)
  SELECT id, '{account}'::uuid, false, 1, carrier,
    json_build_object('orderId', 'S' || n, 'origin', json_build_object('name', 'Northwind', 'address1', '1201 S Figueroa St', 'city', 'Los Angeles', 'state', 'CA', 'zip', '90015', 'country', 'US'),
      'destination', json_build_object('name', name, 'company', company, 'address1', (n % 900) || ' Main St', 'city', 'Austin', 'state', 'TX', 'zip', '78701', 'country', 'US'),
      'parcels', json_build_array(json_build_object('weight', 1.5, 'weightUnit', 'lb', 'grams', 680))),
    json_build_object('carrier', carrier, 'service', service, 'serviceName', initcap(service), 'carrierRef', 'ref-' || n, 'trackingNumber', '1Z' || lpad(n::text, 12, '0'),
      'price', json_build_object('Minor', 500 + n % 4000, 'Currency', 'USD'), 'boughtAt', to_char(at, 'YYYY-MM-DD"T"HH24:MI:SS"Z"'),
      'estimateAt', to_char(at + interval '3 days', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), 'estimateSource', 'carrier', 'simulated', true)
  FROM base
), j AS (
  INSERT INTO shipment_states (id, account_id, livemode, state, status, sequence, purchased_at, last_event_at, estimated_delivery_at, estimate_source, carrier, tracking_number, reason)
  SELECT id, '{account}'::uuid, false, state::purchase_state, status::tracking_status, 4, at, least(at + (n % 5) * interval '1 day', '{now}'::timestamptz), at + interval '3 days', 'carrier', carrier,
    '1Z' || lpad(n::text, 12, '0'), CASE status WHEN 'exception' THEN 'address_not_found' END FROM base
), t AS (
  INSERT INTO tracking_events (subject_id, account_id, livemode, piece, code, occurred_at, status, reason, description, location)
  SELECT b.id, '{account}'::uuid, false, 0, code, date_trunc('second', b.at + k * interval '6 hours'), st::tracking_status, CASE WHEN st IS NULL THEN 'unmapped' END, 'Scan ' || code, 'Austin, TX, US'
  FROM base b, (VALUES (1, 'OR', 'picked_up'), (2, 'AR', 'in_transit'), (3, 'OF', 'out_for_delivery'), (4, 'ZZ9', NULL)) v (k, code, st)
  WHERE b.age < interval '60 days' AND (st IS NOT NULL OR b.n % 997 = 0)
)
INSERT INTO lookup_keys (account_id, livemode, kind, value, subject_id)
SELECT '{account}'::uuid, false, 'o'::"char", 'S' || n, id FROM base UNION ALL SELECT '{account}'::uuid, false, 't', '1Z' || lpad(n::text, 12, '0'), id FROM base`

// seedEvents makes the log of the days that are kept, four events a shipment.
const seedEvents = `
INSERT INTO events (id, account_id, livemode, subject_id, kind, sequence, body_version, snapshot)
SELECT pg_temp.seed_id(least(s.at + k * interval '1 minute', '{now}'::timestamptz), 'e' || k, s.n), '{account}'::uuid, false, pg_temp.seed_id(s.at, 's', s.n), kind::event_kind, k, 1,
  json_build_object('s', status, 'st', 'purchased')
FROM (SELECT n, '{now}'::timestamptz - interval '1 minute' - (({rows} - n) * interval '365 days' / {rows}) AS at FROM generate_series({from}::bigint, {to}) n) s,
  (VALUES (1, 'shipment.created', 'created'), (2, 'label.generated', 'label_generated'), (3, 'shipment.picked_up', 'picked_up'), (4, 'shipment.in_transit', 'in_transit')) v (k, kind, status)
WHERE s.at > '{now}'::timestamptz - interval '28 days'`

// seedAttempts makes deliveries to every endpoint.
const seedAttempts = `
INSERT INTO webhook_attempts (id, account_id, livemode, endpoint_id, event_id, attempt, trigger, outcome, response_status, total_ms, response_body)
SELECT pg_temp.seed_id('{now}'::timestamptz - n * interval '28 days' / {each}, 'a' || e.id, n), '{account}'::uuid, false, e.id, pg_temp.seed_id('{now}'::timestamptz - n * interval '28 days' / {each}, 'e1', n), 1, 'auto',
  CASE WHEN n % 40 = 0 THEN 'failed' ELSE 'delivered' END, CASE WHEN n % 40 = 0 THEN 500 ELSE 200 END, 20 + n % 900, 'ok'
FROM webhook_endpoints e, generate_series(1::bigint, {each}) n`

const seedAudit = `
INSERT INTO audit_log (account_id, id, person_id, api_key_id, actor, action, target, mode, details, user_agent)
SELECT '{account}'::uuid, pg_temp.seed_id('{now}'::timestamptz - n * interval '365 days' / {each}, 'l', n), CASE WHEN n % 10 = 0 THEN '{account}'::uuid END, CASE WHEN n % 10 = 1 THEN '{account}'::uuid END, 'dana@example.com', (ARRAY['shipment.bought', 'shipment.voided', 'key.made', 'webhook.made', 'session.begun'])[(1 + n % 5)::int], 'S' || n, 'test', '{}', 'Chrome'
FROM generate_series(1::bigint, {each}) n`

// seed gives the account a year of work.
func (s *stand) seed(rows int) {
	s.Helper()
	s.partitions()
	account := s.account.Raw()
	fill := strings.NewReplacer("{account}", fmt.Sprintf("%x", account[:]), "{rows}", fmt.Sprint(rows), "{shard}", fmt.Sprintf("%03x", account.Shard()), "{each}", fmt.Sprint(max(rows/20, 1000)),
		"{now}", time.Now().UTC().Format(time.RFC3339))
	s.exec(fill.Replace(seedID))
	const part = 50_000
	for from := 1; from <= rows; from += part {
		chunk := strings.NewReplacer("{from}", fmt.Sprint(from), "{to}", fmt.Sprint(min(from+part-1, rows)))
		s.exec(chunk.Replace(fill.Replace(seedShipments)))
		s.exec(chunk.Replace(fill.Replace(seedEvents)))
	}
	s.exec(fill.Replace(seedAttempts))
	s.exec(fill.Replace(seedAudit))
	s.exec("VACUUM ANALYZE")
}

// partitions makes those of the year that is over.
func (s *stand) partitions() {
	s.Helper()
	now := time.Now()
	for at := now.AddDate(-1, 0, -3); at.Before(now); at = at.AddDate(0, 0, 28) {
		s.must(store.MaintainPartitions(s.Context(), s.url, at, nil))
	}
	for at := now.AddDate(0, 0, -30); at.Before(now); at = at.AddDate(0, 0, 4) {
		s.must(store.MaintainPartitions(s.Context(), s.url, at, nil))
	}
}

func (s *stand) exec(sql string) {
	s.Helper()
	if _, err := s.owner.Exec(s.Context(), sql, pgx.QueryExecModeSimpleProtocol); err != nil {
		s.Fatalf("%v\n%s", err, sql)
	}
}

// counted has all be counted again, and reports how long that took.
func (s *stand) counted(rows int) time.Duration {
	s.Helper()
	start := time.Now()
	s.must(store.Recount(s.Context(), s.url))
	for ready := false; !ready; time.Sleep(50 * time.Millisecond) {
		s.must(s.owner.QueryRow(s.Context(), "SELECT ready FROM facts_progress").Scan(&ready))
	}
	took := time.Since(start)
	for behind := true; behind; time.Sleep(50 * time.Millisecond) { // other databases of the server hold the log's horizon up
		s.must(s.owner.QueryRow(s.Context(), `SELECT EXISTS (SELECT FROM events e, facts_progress r WHERE e.id >= r.tail_from_id AND (e.txid, e.id) > (r.cursor_txid, r.cursor_id))`).Scan(&behind))
	}
	var days, facts int
	s.must(s.owner.QueryRow(s.Context(), "SELECT coalesce(sum(shipments), 0), (SELECT count(*) FROM shipment_facts) FROM daily_shipment_counts").Scan(&days, &facts))
	if days < rows || facts != days {
		s.Errorf("%d shipments are counted and %d have facts, of %d", days, facts, rows)
	}
	s.exec("VACUUM ANALYZE shipment_facts, daily_shipment_counts, search_numbers, search_words")
	return took
}

// accountOf is the only account there is.
func accountOf(t *testing.T, owner *pgx.Conn) ship.AccountID {
	t.Helper()
	var id [16]byte
	if err := owner.QueryRow(t.Context(), "SELECT id FROM accounts").Scan(&id); err != nil {
		t.Fatal(err)
	}
	return ship.AccountIDOf(id)
}
