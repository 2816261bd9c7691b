-- A creation, as pgbench runs it: the tenant and one statement, in one round
-- trip. The ids are made by the statement, because pgbench knows only numbers.
\set s random(0, 65535)
\set lo random(0, 4611686018427387903)
\startpipeline
SELECT set_config('waybill.account', :account, true), set_config('waybill.livemode', 'false', true);
WITH v AS MATERIALIZED (
  SELECT (h || l)::uuid AS id, (h || '0' || substr(l, 2))::uuid AS e1, (h || '1' || substr(l, 2))::uuid AS e2,
    'bench-' || l AS key, 'order-' || l AS name, l AS number, ARRAY[l] AS numbers, now() + interval '30 seconds' AS due
  FROM (
    SELECT lpad(to_hex(((extract(epoch FROM clock_timestamp()) * 1000)::bigint << 16) | :s::bigint), 16, '0') AS h,
      lpad(to_hex(:lo::bigint), 16, '0') AS l
  ) x
), reserved_key AS (
  INSERT INTO idempotency_keys (account_id, livemode, key, fingerprint, shipment_id, response_status)
  SELECT :account::uuid, false, (SELECT key FROM v), :fingerprint::bytea, (SELECT id FROM v), 201 WHERE (SELECT key FROM v)::text IS NOT NULL
  ON CONFLICT DO NOTHING RETURNING 1
), permitted AS (
  SELECT FROM reserved_key UNION ALL SELECT WHERE (SELECT key FROM v)::text IS NULL
), new_shipment AS (
  INSERT INTO shipments (id, account_id, livemode, response_version, carrier, duplicate_of_id, request, purchase)
  SELECT (SELECT id FROM v), :account::uuid, false, 1, :carrier::text, (
    SELECT subject_id FROM lookup_keys
    WHERE account_id = :account::uuid AND livemode = false AND kind = 'o' AND value = (SELECT name FROM v)
    ORDER BY subject_id DESC LIMIT 1
  ), :request::json, :purchase::json FROM permitted
  RETURNING duplicate_of_id
), new_state AS (
  INSERT INTO shipment_states (id, account_id, livemode, state, status, sequence, piece_count, purchased_at, last_event_at,
    estimated_delivery_at, estimate_source, carrier, tracking_number)
  SELECT (SELECT id FROM v), :account::uuid, false, 'purchased', 'label_generated', 2, 1, now(), now(),
    now() + interval '5 days', 'carrier', :carrier::text, (SELECT number FROM v) FROM permitted
), new_label AS (
  INSERT INTO labels (shipment_id, account_id, livemode, format, data)
  SELECT (SELECT id FROM v), :account::uuid, false, :format::text, :label::bytea FROM permitted
), new_lookup_keys AS (
  INSERT INTO lookup_keys (account_id, livemode, kind, value, subject_id)
  SELECT :account::uuid, false, 'o', (SELECT name FROM v), (SELECT id FROM v) FROM permitted
  UNION ALL SELECT :account::uuid, false, 't', unnest((SELECT numbers FROM v)::text[]), (SELECT id FROM v) FROM permitted
), first_poll AS (
  INSERT INTO sandbox_polls (subject_id, account_id, livemode, due_at)
  SELECT (SELECT id FROM v), :account::uuid, false, (SELECT due FROM v) FROM permitted WHERE (SELECT due FROM v)::timestamptz IS NOT NULL
), new_events AS (
  INSERT INTO events (id, account_id, livemode, subject_id, kind, sequence, body_version, snapshot)
  SELECT (SELECT e1 FROM v)::uuid, :account::uuid, false, (SELECT id FROM v), 'shipment.created'::event_kind, 1, 1::smallint, :first::json FROM permitted
  UNION ALL SELECT (SELECT e2 FROM v), :account::uuid, false, (SELECT id FROM v), 'label.generated', 2, 1, :second::json FROM permitted
)
SELECT duplicate_of_id FROM new_shipment;
\endpipeline
