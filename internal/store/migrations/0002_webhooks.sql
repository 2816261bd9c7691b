-- +goose Up

-- Where clients want to be told of events. The settings change with version; the
-- rest is the dispatcher's. The cursor is where the endpoint's backlog begins while it
-- does not follow the log with the others: it joins, is parked, or is disabled. Behind
-- the first cursor can be events that had been committed: born tells which.
CREATE TABLE webhook_endpoints (
  id uuid NOT NULL,
  account_id uuid NOT NULL,
  livemode boolean NOT NULL,
  slot smallint NOT NULL,
  version integer NOT NULL DEFAULT 1,
  url text NOT NULL,
  kinds text[] NOT NULL DEFAULT '{}',
  description text NOT NULL DEFAULT '',
  signature text NOT NULL CHECK (signature IN ('v1', 'v1a', 'both')),
  headers_enc bytea,
  secret_enc bytea NOT NULL,
  previous_enc bytea,
  previous_until timestamptz,
  enabled boolean NOT NULL DEFAULT true,
  disabled_reason text,
  verified boolean NOT NULL DEFAULT false,
  failures integer NOT NULL DEFAULT 0,
  failing_since timestamptz,
  last_success_at timestamptz,
  parked boolean NOT NULL DEFAULT false,
  joining boolean NOT NULL DEFAULT true,
  cursor_tx xid8,
  cursor_id uuid,
  cursor_at timestamptz,
  probe integer NOT NULL DEFAULT 0,
  born pg_snapshot NOT NULL DEFAULT pg_current_snapshot(),
  recover_since timestamptz,
  changed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (account_id, livemode, id)
) WITH (fillfactor = 80);
CREATE INDEX webhook_endpoints_by_slot ON webhook_endpoints (slot, changed_at);

-- The deliveries of healthy endpoints that failed and are due again. The index holds
-- the whole row, so that looking for what is due reads nothing else.
CREATE TABLE webhook_retries (
  account_id uuid NOT NULL,
  livemode boolean NOT NULL,
  endpoint_id uuid NOT NULL,
  event_id uuid NOT NULL,
  event_tx xid8 NOT NULL,
  slot smallint NOT NULL,
  attempts smallint NOT NULL,
  next_at timestamptz NOT NULL,
  PRIMARY KEY (account_id, livemode, endpoint_id, event_id)
);
CREATE INDEX webhook_retries_due ON webhook_retries (slot, next_at) INCLUDE (account_id, livemode, endpoint_id, event_id, event_tx, attempts);

-- The delivery log: every attempt with what the endpoint answered.
CREATE TABLE webhook_attempts (
  id uuid NOT NULL,
  account_id uuid NOT NULL,
  livemode boolean NOT NULL,
  endpoint_id uuid NOT NULL,
  event_id uuid NOT NULL,
  attempt integer NOT NULL,
  trigger text NOT NULL,
  outcome text NOT NULL,
  status smallint,
  error text,
  dns_ms integer,
  connect_ms integer,
  tls_ms integer,
  first_byte_ms integer,
  total_ms integer NOT NULL,
  address inet,
  response_head text,
  response_body text,
  PRIMARY KEY (account_id, livemode, endpoint_id, id)
) PARTITION BY RANGE (id);

-- The endpoints of a cell in 16 parts, each served by one copy of the program at a
-- time: everything before the cursor is delivered, or kept to be. The log begins here.
CREATE TABLE webhook_slots (
  slot smallint PRIMARY KEY,
  owner text,
  lease_until timestamptz,
  token bigint NOT NULL DEFAULT 0,
  cursor_tx xid8 NOT NULL,
  cursor_id uuid NOT NULL,
  cursor_at timestamptz NOT NULL
);
INSERT INTO webhook_slots (slot, cursor_tx, cursor_id, cursor_at)
SELECT slot, (pg_snapshot_xmin(pg_current_snapshot())::text::bigint - 1)::text::xid8, 'ffffffff-ffff-ffff-ffff-ffffffffffff', now() FROM generate_series(0, 15) AS slot;

-- Which copies of the program serve slots, to share them out evenly.
CREATE TABLE webhook_copies (
  owner text PRIMARY KEY,
  seen_until timestamptz NOT NULL
);

-- +goose StatementBegin
DO $$
DECLARE t text;
BEGIN
  FOREACH t IN ARRAY ARRAY['webhook_endpoints', 'webhook_retries', 'webhook_attempts'] LOOP
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', t);
    EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', t);
    EXECUTE format($p$CREATE POLICY tenant ON %I TO waybill_app
      USING (account_id = (SELECT nullif(current_setting('waybill.account', true), '')::uuid)
         AND livemode = (SELECT nullif(current_setting('waybill.livemode', true), '')::boolean))$p$, t);
    EXECUTE format('CREATE POLICY system ON %I TO waybill_sys USING (true)', t);
    EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %I TO waybill_sys', t);
  END LOOP;
END $$;
-- +goose StatementEnd
GRANT SELECT, INSERT, UPDATE, DELETE ON webhook_endpoints, webhook_retries TO waybill_app;
GRANT SELECT ON webhook_attempts, webhook_slots TO waybill_app;
GRANT SELECT, UPDATE ON webhook_slots TO waybill_sys;
GRANT SELECT, INSERT, UPDATE, DELETE ON webhook_copies TO waybill_sys;
