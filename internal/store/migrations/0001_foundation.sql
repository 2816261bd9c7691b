-- +goose Up

CREATE TYPE parcel_status AS ENUM ('created', 'label_generated', 'picked_up', 'in_transit', 'out_for_delivery', 'delivered', 'exception');
CREATE TYPE purchase_state AS ENUM ('purchasing', 'uncertain', 'needs_review', 'purchased', 'voiding', 'refund_pending', 'voided', 'failed');
CREATE TYPE event_kind AS ENUM ('shipment.created', 'label.generated', 'shipment.picked_up', 'shipment.in_transit', 'shipment.delivered', 'shipment.exception');

-- What this installation is: its signing key, and the cell it serves as.
CREATE TABLE instance (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  cell text NOT NULL DEFAULT 'local',
  signing_key bytea NOT NULL
);

-- Which cell holds which shard. A new installation is one cell and holds all.
CREATE TABLE shards (
  shard smallint PRIMARY KEY,
  cell text NOT NULL DEFAULT 'local'
);
INSERT INTO shards (shard) SELECT generate_series(0, 4095);

CREATE TABLE accounts (
  id uuid PRIMARY KEY,
  name text NOT NULL,
  origin json,
  weight_unit text NOT NULL,
  length_unit text NOT NULL,
  currency text NOT NULL
);

CREATE TABLE api_keys (
  id uuid NOT NULL,
  account_id uuid NOT NULL REFERENCES accounts (id),
  livemode boolean NOT NULL,
  hash bytea NOT NULL UNIQUE,
  hint text NOT NULL,
  name text NOT NULL,
  scopes text[] NOT NULL,
  networks cidr[] NOT NULL DEFAULT '{}',
  expires_at timestamptz,
  last_used_at timestamptz,
  revoked_at timestamptz,
  PRIMARY KEY (account_id, livemode, id)
);

-- The answers that an Idempotency-Key repeats. A purchase's row points at its
-- shipment, from which the answer is rendered; other answers are kept as bytes.
CREATE TABLE idempotency_keys (
  account_id uuid NOT NULL,
  livemode boolean NOT NULL,
  key text NOT NULL,
  fingerprint bytea NOT NULL,
  shipment_id uuid,
  status smallint,
  body bytea,
  locked_until timestamptz,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (account_id, livemode, key)
);
CREATE INDEX idempotency_answers_by_age ON idempotency_keys (created_at) WHERE shipment_id IS NULL;
CREATE INDEX idempotency_keys_by_age ON idempotency_keys USING brin (created_at);

-- The names under which a parcel can be found: its order ('o' while the purchase
-- counts as one of the order, 'p' once it is past), its tracking numbers ('t'), and
-- the list of followed parcels ('f'), and the key that began to follow one ('k').
CREATE TABLE names (
  account_id uuid NOT NULL,
  livemode boolean NOT NULL,
  kind "char" NOT NULL,
  name text NOT NULL,
  id uuid NOT NULL,
  PRIMARY KEY (account_id, livemode, kind, name, id)
);

-- The order and the deal of a shipment: written once, the deal when it settles.
CREATE TABLE shipments (
  id uuid NOT NULL,
  account_id uuid NOT NULL,
  livemode boolean NOT NULL,
  version smallint NOT NULL,
  carrier text,
  duplicate_of uuid,
  ordered json NOT NULL,
  deal json NOT NULL,
  PRIMARY KEY (account_id, livemode, id)
) PARTITION BY RANGE (id);

-- What changes in a parcel's life, and nothing else: updates stay in the page.
CREATE TABLE journeys (
  id uuid NOT NULL,
  account_id uuid NOT NULL,
  livemode boolean NOT NULL,
  followed boolean NOT NULL DEFAULT false,
  state purchase_state,
  status parcel_status NOT NULL,
  sequence integer NOT NULL,
  attempt smallint NOT NULL DEFAULT 1,
  pieces smallint NOT NULL DEFAULT 1,
  bought_at timestamptz,
  newest_at timestamptz,
  checked_at timestamptz,
  estimate_at timestamptz,
  estimate_source text,
  carrier text,
  number text,
  reason text,
  piece_statuses parcel_status[],
  PRIMARY KEY (account_id, livemode, id)
) PARTITION BY RANGE (id);

-- The few purchases and voids that wait for an outcome.
CREATE INDEX journeys_open ON journeys (id) WHERE state IN ('purchasing', 'uncertain', 'needs_review', 'voiding');

-- The label as it came from the carrier.
CREATE TABLE labels (
  id uuid NOT NULL,
  account_id uuid NOT NULL,
  livemode boolean NOT NULL,
  format text NOT NULL,
  data bytea NOT NULL,
  PRIMARY KEY (account_id, livemode, id)
) PARTITION BY RANGE (id);

-- Every time a carrier was asked to sell, written before it is asked.
CREATE TABLE purchase_attempts (
  id uuid NOT NULL,
  account_id uuid NOT NULL,
  livemode boolean NOT NULL,
  attempt smallint NOT NULL,
  reference text NOT NULL,
  carrier text NOT NULL,
  service text NOT NULL,
  started_at timestamptz NOT NULL DEFAULT now(),
  ended_at timestamptz,
  outcome text,
  code text,
  message text,
  PRIMARY KEY (account_id, livemode, id, attempt)
) PARTITION BY RANGE (id);

-- What carriers told, each scan once.
CREATE TABLE tracking_events (
  id uuid NOT NULL,
  account_id uuid NOT NULL,
  livemode boolean NOT NULL,
  piece smallint NOT NULL,
  code text NOT NULL,
  at timestamptz NOT NULL,
  status parcel_status,
  reason text,
  description text NOT NULL,
  location text,
  raw json,
  PRIMARY KEY (account_id, livemode, id, piece, code, at)
) PARTITION BY RANGE (id);

-- The log of what clients are told, read in the order of transactions: a
-- transaction that commits late has a number above the reader's horizon, so no
-- cursor passes it.
CREATE TABLE events (
  txid xid8 NOT NULL DEFAULT pg_current_xact_id(),
  id uuid NOT NULL,
  account_id uuid NOT NULL,
  livemode boolean NOT NULL,
  subject uuid NOT NULL,
  kind event_kind NOT NULL,
  sequence integer NOT NULL,
  version smallint NOT NULL,
  late boolean NOT NULL DEFAULT false,
  followed boolean NOT NULL DEFAULT false,
  snapshot json NOT NULL,
  PRIMARY KEY (txid, id)
) PARTITION BY RANGE (id);
CREATE INDEX events_by_account ON events (account_id, livemode, txid, id);
CREATE INDEX events_by_id ON events USING brin (id) WITH (pages_per_range = 16);

-- Which parcel is to be asked about when. One row an open parcel.
CREATE TABLE polls (
  id uuid NOT NULL,
  account_id uuid NOT NULL,
  livemode boolean NOT NULL,
  due_at timestamptz NOT NULL,
  PRIMARY KEY (account_id, livemode, id)
);
CREATE INDEX polls_due ON polls (due_at, account_id, livemode, id);

-- Row-level security, forced, on everything that belongs to a tenant. Without the
-- settings nothing is visible.
-- +goose StatementBegin
DO $$
DECLARE t text;
BEGIN
  FOREACH t IN ARRAY ARRAY['api_keys', 'idempotency_keys', 'names', 'shipments', 'journeys', 'labels', 'purchase_attempts', 'tracking_events', 'events', 'polls'] LOOP
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', t);
    EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', t);
    EXECUTE format($p$CREATE POLICY tenant ON %I TO waybill_app
      USING (account_id = (SELECT nullif(current_setting('waybill.account', true), '')::uuid)
         AND livemode = (SELECT nullif(current_setting('waybill.livemode', true), '')::boolean))$p$, t);
    EXECUTE format('CREATE POLICY system ON %I TO waybill_sys USING (true)', t);
    EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %I TO waybill_sys', t);
  END LOOP;
  FOREACH t IN ARRAY ARRAY['idempotency_keys', 'names', 'shipments', 'journeys', 'labels', 'purchase_attempts', 'tracking_events', 'polls'] LOOP
    EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %I TO waybill_app', t);
  END LOOP;
END $$;
-- +goose StatementEnd
GRANT SELECT, INSERT ON events TO waybill_app;
GRANT SELECT, INSERT, UPDATE ON accounts TO waybill_sys;
GRANT SELECT ON instance, shards TO waybill_sys;
