-- +goose Up

-- When the personal data of a shipment was erased. Whoever writes about the
-- shipment later reads it under the lock of the row, and leaves people out.
ALTER TABLE shipment_states ADD COLUMN erased_at timestamptz;

GRANT UPDATE, DELETE ON documents TO waybill_sys;

-- An erasure removes the personal data of somebody. Who that is, and the texts
-- that are looked for, are encrypted and only kept until it is done.
CREATE TABLE erasures (
  account_id uuid NOT NULL,
  livemode boolean NOT NULL,
  id uuid NOT NULL,
  subject_kind text NOT NULL CHECK (subject_kind IN ('email', 'phone', 'shipment')),
  subject_hash bytea, -- keyed; null for a shipment
  shipment_id uuid, -- of an erasure of one shipment
  state text NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'running', 'waiting', 'done')),
  encrypted_subject bytea,
  step text NOT NULL DEFAULT '', -- that is worked on
  step_cursor jsonb,
  step_since timestamptz,
  counts jsonb NOT NULL DEFAULT '{}',
  finished_at timestamptz,
  PRIMARY KEY (account_id, livemode, id)
);
SELECT secure_table('erasures', 'tenant', 'SELECT, INSERT', 'SELECT, INSERT, UPDATE, DELETE');

-- The shipments whose rows an erasure has changed: what else speaks of them is
-- looked for by their ids, also on the disks of every copy of the program. They
-- are kept for some days.
CREATE TABLE erasure_shipments (
  account_id uuid NOT NULL,
  livemode boolean NOT NULL,
  erasure_id uuid NOT NULL,
  shipment_id uuid NOT NULL,
  erased_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (account_id, livemode, erasure_id, shipment_id)
);
CREATE INDEX erasure_shipments_by_time ON erasure_shipments (erased_at);
SELECT secure_table('erasure_shipments', 'tenant', 'SELECT', 'SELECT, INSERT, UPDATE, DELETE');
