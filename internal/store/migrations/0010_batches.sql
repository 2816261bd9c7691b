-- +goose Up

-- Files of orders that are purchased together. The mapping assigns the columns of the
-- file to fields, in the format of package batch. The label format is the one in which
-- the batch is going to be printed.
CREATE TABLE batches (
  account_id uuid NOT NULL,
  livemode boolean NOT NULL,
  id uuid NOT NULL,
  name text NOT NULL,
  created_by text NOT NULL,
  state text NOT NULL CHECK (state IN ('mapping', 'rating', 'ready', 'purchasing', 'done')),
  header jsonb NOT NULL,
  mapping jsonb NOT NULL,
  label_format text NOT NULL DEFAULT 'pdf' CHECK (label_format IN ('pdf', 'zpl')),
  PRIMARY KEY (account_id, livemode, id)
);
CREATE INDEX batches_by_age ON batches (id);
SELECT secure_table('batches', 'tenant', 'SELECT, INSERT, UPDATE, DELETE', 'SELECT, INSERT, UPDATE, DELETE');

-- The rows of the files. A row is purchased under an idempotency key made of the batch,
-- the row number and the revision. It can be changed only while it is known that
-- nothing was purchased under the last one. A pending row waits until the outcome of
-- its purchase is known.
CREATE TABLE batch_rows (
  account_id uuid NOT NULL,
  livemode boolean NOT NULL,
  batch_id uuid NOT NULL,
  row_number integer NOT NULL,
  state text NOT NULL CHECK (state IN ('uploaded', 'invalid', 'valid', 'rated', 'skipped', 'purchasing', 'pending', 'purchased', 'failed')),
  revision integer NOT NULL DEFAULT 0,
  attempts smallint NOT NULL DEFAULT 0,
  cells jsonb NOT NULL,
  errors jsonb,
  rate jsonb,
  amount_minor bigint, -- of the rate, or what was paid
  currency text,
  shipment_id uuid,
  PRIMARY KEY (account_id, livemode, batch_id, row_number),
  FOREIGN KEY (account_id, livemode, batch_id) REFERENCES batches ON DELETE CASCADE
) WITH (fillfactor = 70);
CREATE INDEX batch_rows_by_state ON batch_rows (account_id, livemode, batch_id, state, row_number) INCLUDE (amount_minor, currency);
SELECT secure_table('batch_rows', 'tenant', 'SELECT, INSERT, UPDATE, DELETE', 'SELECT, INSERT, UPDATE, DELETE');

-- The boxes that an account packs in.
CREATE TABLE boxes (
  account_id uuid NOT NULL,
  livemode boolean NOT NULL,
  id uuid NOT NULL,
  name text NOT NULL,
  length double precision NOT NULL,
  width double precision NOT NULL,
  height double precision NOT NULL,
  unit text NOT NULL CHECK (unit IN ('in', 'cm', 'mm')),
  PRIMARY KEY (account_id, livemode, id)
);
SELECT secure_table('boxes', 'tenant', 'SELECT, INSERT, UPDATE, DELETE', 'SELECT, INSERT, UPDATE, DELETE');
