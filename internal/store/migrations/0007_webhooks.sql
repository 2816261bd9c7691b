-- +goose Up

-- Webhook endpoints: the settings of the client, which version counts, and the state
-- of the dispatcher.
--
-- An endpoint reads the log together with the others of its slot, from the slot's
-- cursor. While it catches up, is parked or is disabled it has a cursor of its own,
-- where its backlog begins. Behind the first cursor there can be events that were
-- committed before the endpoint was created; created_snapshot tells which.
CREATE TABLE webhook_endpoints (
  id uuid NOT NULL,
  account_id uuid NOT NULL,
  livemode boolean NOT NULL,
  slot smallint NOT NULL,
  version integer NOT NULL DEFAULT 1,
  url text NOT NULL,
  event_kinds text[] NOT NULL DEFAULT '{}', -- empty means all
  description text NOT NULL DEFAULT '',
  signature_scheme text NOT NULL CHECK (signature_scheme IN ('v1', 'v1a', 'both')),
  encrypted_headers bytea,
  encrypted_secret bytea NOT NULL,
  encrypted_previous_secret bytea,
  previous_secret_until timestamptz,
  enabled boolean NOT NULL DEFAULT true,
  disabled_reason text,
  verified boolean NOT NULL DEFAULT false, -- has answered 2xx at its present URL
  failures integer NOT NULL DEFAULT 0, -- in a row
  failing_since timestamptz,
  last_success_at timestamptz,
  parked boolean NOT NULL DEFAULT false, -- fails; gets probes instead of deliveries
  catching_up boolean NOT NULL DEFAULT true,
  cursor_txid xid8,
  cursor_id uuid,
  cursor_at timestamptz,
  probes integer NOT NULL DEFAULT 0, -- failed ones in a row
  created_snapshot pg_snapshot NOT NULL DEFAULT pg_current_snapshot(),
  recover_since timestamptz, -- what was delivered since then is not sent again while it catches up
  changed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  notified_at timestamptz, -- when the account's owners got an e-mail that it was disabled
  PRIMARY KEY (account_id, livemode, id)
) WITH (fillfactor = 80);
CREATE INDEX webhook_endpoints_by_slot ON webhook_endpoints (slot, changed_at);
CREATE INDEX webhook_endpoints_parked_or_disabled ON webhook_endpoints (id) WHERE parked OR NOT enabled;
SELECT secure_table('webhook_endpoints', 'tenant', 'SELECT, INSERT, UPDATE, DELETE', 'SELECT, INSERT, UPDATE, DELETE');

-- Deliveries that failed and are retried. The index holds the whole row, so looking
-- for what is due reads nothing else.
CREATE TABLE webhook_retries (
  account_id uuid NOT NULL,
  livemode boolean NOT NULL,
  endpoint_id uuid NOT NULL,
  event_id uuid NOT NULL,
  event_txid xid8 NOT NULL,
  slot smallint NOT NULL,
  attempts smallint NOT NULL, -- so far
  next_attempt_at timestamptz NOT NULL, -- infinity while the endpoint is parked or disabled
  PRIMARY KEY (account_id, livemode, endpoint_id, event_id)
);
CREATE INDEX webhook_retries_due ON webhook_retries (slot, next_attempt_at) INCLUDE (account_id, livemode, endpoint_id, event_id, event_txid, attempts);
SELECT secure_table('webhook_retries', 'tenant', 'SELECT, INSERT, UPDATE, DELETE', 'SELECT, INSERT, UPDATE, DELETE');

-- The delivery log: every attempt and the response of the endpoint.
CREATE TABLE webhook_attempts (
  id uuid NOT NULL,
  account_id uuid NOT NULL,
  livemode boolean NOT NULL,
  endpoint_id uuid NOT NULL,
  event_id uuid NOT NULL,
  attempt integer NOT NULL,
  trigger text NOT NULL,
  outcome text NOT NULL,
  response_status smallint,
  error text,
  dns_ms integer,
  connect_ms integer,
  tls_ms integer,
  first_byte_ms integer,
  total_ms integer NOT NULL,
  remote_address inet,
  response_headers text,
  response_body text,
  PRIMARY KEY (account_id, livemode, endpoint_id, id)
) PARTITION BY RANGE (id);
SELECT secure_table('webhook_attempts', 'tenant', 'SELECT', 'SELECT, INSERT, UPDATE, DELETE');

-- The endpoints of a cell are divided into 16 slots, each served by one worker at a
-- time. Every event before the cursor is delivered, or is in webhook_retries. The token
-- changes with the worker, so a worker that lost its lease cannot write.
CREATE TABLE webhook_slots (
  slot smallint PRIMARY KEY,
  worker text,
  lease_until timestamptz,
  fencing_token bigint NOT NULL DEFAULT 0,
  cursor_txid xid8 NOT NULL,
  cursor_id uuid NOT NULL,
  cursor_at timestamptz NOT NULL
);
INSERT INTO webhook_slots (slot, cursor_txid, cursor_id, cursor_at)
SELECT slot, (pg_snapshot_xmin(pg_current_snapshot())::text::bigint - 1)::text::xid8, 'ffffffff-ffff-ffff-ffff-ffffffffffff', now() FROM generate_series(0, 15) AS slot;
GRANT SELECT ON webhook_slots TO waybill_app;
GRANT SELECT, UPDATE ON webhook_slots TO waybill_sys;

-- The workers that are alive; they divide the slots evenly.
CREATE TABLE webhook_workers (
  worker text PRIMARY KEY,
  alive_until timestamptz NOT NULL
);
GRANT SELECT, INSERT, UPDATE, DELETE ON webhook_workers TO waybill_sys;
