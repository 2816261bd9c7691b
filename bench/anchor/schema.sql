-- The tables of a creation and of a look-up, as they were when this yardstick
-- was made. They do not follow the product's schema: figures of different
-- commits stay comparable only if what they are compared with stays the same.

CREATE TYPE tracking_status AS ENUM ('created', 'label_generated', 'picked_up', 'in_transit', 'out_for_delivery', 'delivered', 'exception');
CREATE TYPE purchase_state AS ENUM ('purchasing', 'uncertain', 'needs_review', 'purchased', 'voiding', 'refund_pending', 'voided', 'failed');
CREATE TYPE event_kind AS ENUM ('shipment.created', 'label.generated', 'shipment.picked_up', 'shipment.in_transit', 'shipment.delivered', 'shipment.exception');

CREATE TABLE idempotency_keys (
  account_id uuid NOT NULL,
  livemode boolean NOT NULL,
  key text NOT NULL,
  fingerprint bytea NOT NULL,
  shipment_id uuid,
  response_status smallint,
  response_body bytea,
  locked_until timestamptz,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (account_id, livemode, key)
);
CREATE INDEX ON idempotency_keys (created_at) WHERE shipment_id IS NULL;
CREATE INDEX ON idempotency_keys USING brin (created_at);

CREATE TABLE shipments (
  id uuid NOT NULL,
  account_id uuid NOT NULL,
  livemode boolean NOT NULL,
  response_version smallint NOT NULL,
  carrier text,
  duplicate_of_id uuid,
  request json NOT NULL,
  purchase json NOT NULL,
  PRIMARY KEY (account_id, livemode, id)
) PARTITION BY RANGE (id);

CREATE TABLE shipment_states (
  id uuid NOT NULL,
  account_id uuid NOT NULL,
  livemode boolean NOT NULL,
  is_tracker boolean NOT NULL DEFAULT false,
  state purchase_state,
  status tracking_status NOT NULL,
  sequence integer NOT NULL,
  attempt smallint NOT NULL DEFAULT 1,
  piece_count smallint NOT NULL DEFAULT 1,
  purchased_at timestamptz,
  last_event_at timestamptz,
  checked_at timestamptz,
  estimated_delivery_at timestamptz,
  estimate_source text,
  carrier text,
  tracking_number text,
  reason text,
  piece_statuses tracking_status[],
  voided_at timestamptz,
  PRIMARY KEY (account_id, livemode, id)
) PARTITION BY RANGE (id);
CREATE INDEX ON shipment_states (id) WHERE state IN ('purchasing', 'uncertain', 'needs_review', 'voiding');

CREATE TABLE lookup_keys (
  account_id uuid NOT NULL,
  livemode boolean NOT NULL,
  kind "char" NOT NULL,
  value text NOT NULL,
  subject_id uuid NOT NULL,
  PRIMARY KEY (account_id, livemode, kind, value, subject_id)
);

CREATE TABLE labels (
  shipment_id uuid NOT NULL,
  account_id uuid NOT NULL,
  livemode boolean NOT NULL,
  format text NOT NULL,
  data bytea NOT NULL,
  PRIMARY KEY (account_id, livemode, shipment_id)
) PARTITION BY RANGE (shipment_id);

CREATE TABLE sandbox_polls (
  subject_id uuid NOT NULL,
  account_id uuid NOT NULL,
  livemode boolean NOT NULL,
  due_at timestamptz NOT NULL,
  PRIMARY KEY (account_id, livemode, subject_id)
);
CREATE INDEX ON sandbox_polls (due_at, account_id, livemode, subject_id);

CREATE TABLE tracking_events (
  subject_id uuid NOT NULL,
  account_id uuid NOT NULL,
  livemode boolean NOT NULL,
  piece smallint NOT NULL,
  code text NOT NULL,
  occurred_at timestamptz NOT NULL,
  status tracking_status,
  reason text,
  description text NOT NULL,
  location text,
  raw json,
  timezone_unknown boolean NOT NULL DEFAULT false,
  notified boolean NOT NULL DEFAULT false,
  PRIMARY KEY (account_id, livemode, subject_id, piece, code, occurred_at)
) PARTITION BY RANGE (subject_id);
CREATE INDEX ON tracking_events (code) WHERE reason = 'unmapped';
CREATE INDEX ON tracking_events (account_id, livemode, subject_id) WHERE reason = 'unmapped';

CREATE TABLE events (
  txid xid8 NOT NULL DEFAULT pg_current_xact_id(),
  id uuid NOT NULL,
  account_id uuid NOT NULL,
  livemode boolean NOT NULL,
  subject_id uuid NOT NULL,
  kind event_kind NOT NULL,
  sequence integer NOT NULL,
  body_version smallint NOT NULL,
  late boolean NOT NULL DEFAULT false,
  is_tracker boolean NOT NULL DEFAULT false,
  snapshot json NOT NULL,
  PRIMARY KEY (txid, id)
) PARTITION BY RANGE (id);
CREATE INDEX ON events (account_id, livemode, txid, id);
CREATE INDEX ON events USING brin (id) WITH (pages_per_range = 16);

-- Partitions of three months, and of five days for the events. Ids begin with
-- the milliseconds since 1970.
DO $$
DECLARE
  partitioned text;
  options text;
  first timestamptz;
BEGIN
  FOREACH partitioned IN ARRAY ARRAY['shipments', 'shipment_states', 'labels', 'tracking_events', 'events'] LOOP
    options := CASE partitioned WHEN 'shipment_states' THEN 'WITH (fillfactor = 80)' ELSE '' END;
    FOR i IN -1..CASE partitioned WHEN 'events' THEN 3 ELSE 1 END LOOP
      first := CASE partitioned
        WHEN 'events' THEN date_trunc('day', now()) + i * interval '1 day'
        ELSE date_trunc('month', now()) + i * interval '1 month' END;
      EXECUTE format('CREATE TABLE %I PARTITION OF %I FOR VALUES FROM (%L) TO (%L) %s',
        partitioned || to_char(first, '_YYYYMMDD'), partitioned,
        rpad(lpad(to_hex((extract(epoch FROM first) * 1000)::bigint), 12, '0'), 32, '0'),
        rpad(lpad(to_hex((extract(epoch FROM first + CASE partitioned WHEN 'events' THEN interval '1 day' ELSE interval '1 month' END) * 1000)::bigint), 12, '0'), 32, '0'),
        options);
    END LOOP;
  END LOOP;
END $$;

-- Row-level security, as every statement of a tenant meets it.
DO $$
DECLARE
  secured text;
BEGIN
  FOR secured IN SELECT relname FROM pg_class WHERE relkind IN ('r', 'p') AND relnamespace = 'public'::regnamespace LOOP
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', secured);
    EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', secured);
    EXECUTE format('CREATE POLICY tenant ON %I TO waybill_app USING (
      account_id = (SELECT nullif(current_setting(''waybill.account'', true), '''')::uuid)
      AND livemode = (SELECT nullif(current_setting(''waybill.livemode'', true), '''')::boolean))', secured);
    EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %I TO waybill_app', secured);
  END LOOP;
END $$;
