-- +goose Up

-- What lists, counts and searches need of every shipment that clients know. It is
-- derived from shipments and shipment_states, follows the log by a moment, and can be
-- rebuilt at any time. Status and state are text, because row-level security keeps
-- comparisons of enums out of index conditions.
CREATE TABLE shipment_facts (
  account_id uuid NOT NULL,
  livemode boolean NOT NULL,
  shipment_id uuid NOT NULL,
  day date NOT NULL, -- on which it was created
  carrier text NOT NULL,
  service text NOT NULL,
  status text NOT NULL,
  state text NOT NULL,
  currency text NOT NULL,
  amount_minor bigint NOT NULL,
  had_estimate boolean NOT NULL, -- delivered, and a day was estimated when it was purchased
  on_time boolean NOT NULL, -- delivered by that day
  estimated_delivery_at timestamptz NOT NULL, -- infinity without an estimate
  search_numbers text NOT NULL DEFAULT '', -- order and tracking numbers in capitals, without punctuation
  reference text NOT NULL DEFAULT '', -- of the client
  PRIMARY KEY (account_id, livemode, shipment_id)
) WITH (fillfactor = 90);
CREATE INDEX shipment_facts_by_status ON shipment_facts (account_id, livemode, status, shipment_id);
CREATE INDEX shipment_facts_by_carrier ON shipment_facts (account_id, livemode, carrier, status, shipment_id);
CREATE INDEX shipment_facts_by_estimate ON shipment_facts (account_id, livemode, status, estimated_delivery_at, shipment_id);
CREATE INDEX shipment_facts_by_reference ON shipment_facts (account_id, livemode, reference, shipment_id) WHERE reference <> '';
CREATE INDEX shipment_facts_uncertain ON shipment_facts (account_id, livemode, shipment_id) WHERE state IN ('uncertain', 'needs_review');
CREATE INDEX shipment_facts_exception ON shipment_facts (account_id, livemode, shipment_id) WHERE status = 'exception' AND state = 'purchased';

-- Shipments without a live label. They are few, and lists by state read nothing else.
CREATE INDEX shipment_facts_not_purchased ON shipment_facts (account_id, livemode, state, shipment_id) WHERE state <> 'purchased';
SELECT secure_table('shipment_facts', 'tenant', 'SELECT', 'SELECT, INSERT, UPDATE, DELETE');

-- The same, counted by the day on which shipments were created.
CREATE TABLE daily_shipment_counts (
  account_id uuid NOT NULL,
  livemode boolean NOT NULL,
  day date NOT NULL,
  carrier text NOT NULL,
  service text NOT NULL,
  status text NOT NULL,
  state text NOT NULL,
  currency text NOT NULL,
  shipments bigint NOT NULL,
  amount_minor bigint NOT NULL,
  had_estimate bigint NOT NULL,
  on_time bigint NOT NULL,
  PRIMARY KEY (account_id, livemode, day, carrier, service, status, state, currency)
);
CREATE INDEX daily_shipment_counts_empty ON daily_shipment_counts (day) WHERE shipments = 0;
SELECT secure_table('daily_shipment_counts', 'tenant', 'SELECT', 'SELECT, INSERT, UPDATE, DELETE');

-- Shipments that changed without an event. There are few; a row is deleted when the
-- facts have the change.
CREATE TABLE shipment_changes (
  account_id uuid NOT NULL,
  livemode boolean NOT NULL,
  shipment_id uuid NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
SELECT secure_table('shipment_changes', 'tenant', 'SELECT, INSERT', 'SELECT, INSERT, UPDATE, DELETE');

-- How far the facts have followed the log: one row. No event after the cursor has an
-- id below tail_from_id. Until it is ready, the backfill goes through the shipments
-- that were there before; the backfill columns name the last one it has done.
CREATE TABLE facts_progress (
  singleton boolean PRIMARY KEY DEFAULT true CHECK (singleton),
  ready boolean NOT NULL DEFAULT false,
  cursor_txid xid8 NOT NULL DEFAULT '0',
  cursor_id uuid NOT NULL DEFAULT '00000000-0000-0000-0000-000000000000',
  tail_from_id uuid NOT NULL DEFAULT '00000000-0000-0000-0000-000000000000',
  backfill_account_id uuid,
  backfill_livemode boolean,
  backfill_shipment_id uuid
);
INSERT INTO facts_progress DEFAULT VALUES;
GRANT SELECT ON facts_progress TO waybill_app;
GRANT SELECT, UPDATE ON facts_progress TO waybill_sys;
