-- +goose Up

-- Files of orders that are bought together. What a file's columns mean is in
-- mapping, as package batch writes it.
CREATE TABLE batches (
  account_id uuid NOT NULL,
  livemode boolean NOT NULL,
  id uuid NOT NULL,
  name text NOT NULL,
  made_by text NOT NULL,
  state text NOT NULL CHECK (state IN ('mapping', 'rating', 'ready', 'buying', 'done')),
  header jsonb NOT NULL,
  mapping jsonb NOT NULL,
  PRIMARY KEY (account_id, livemode, id)
);

-- The lines of the files. A line is bought under a name made of the batch, the
-- number and the revision: it can be changed only while it is known that
-- nothing was bought under the last one.
CREATE TABLE batch_rows (
  account_id uuid NOT NULL,
  livemode boolean NOT NULL,
  batch_id uuid NOT NULL,
  number integer NOT NULL,
  state text NOT NULL CHECK (state IN ('unread', 'bad', 'good', 'rated', 'skipped', 'buying', 'bought', 'failed')),
  revision integer NOT NULL DEFAULT 0,
  tries smallint NOT NULL DEFAULT 0,
  cells jsonb NOT NULL,
  wrong jsonb,
  rate jsonb,
  minor bigint, -- of the rate, or of what was paid
  currency text,
  shipment_id uuid,
  PRIMARY KEY (account_id, livemode, batch_id, number),
  FOREIGN KEY (account_id, livemode, batch_id) REFERENCES batches ON DELETE CASCADE
) WITH (fillfactor = 70);
CREATE INDEX batch_rows_by_state ON batch_rows (account_id, livemode, batch_id, state, number) INCLUDE (minor, currency);

-- The boxes that a tenant packs in.
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

-- +goose StatementBegin
DO $$
DECLARE t text;
BEGIN
  FOREACH t IN ARRAY ARRAY['batches', 'batch_rows', 'boxes'] LOOP
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', t);
    EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', t);
    EXECUTE format($p$CREATE POLICY tenant ON %I TO waybill_app
      USING (account_id = (SELECT nullif(current_setting('waybill.account', true), '')::uuid)
         AND livemode = (SELECT nullif(current_setting('waybill.livemode', true), '')::boolean))$p$, t);
    EXECUTE format('CREATE POLICY system ON %I TO waybill_sys USING (true)', t);
    EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %I TO waybill_sys, waybill_app', t);
  END LOOP;
END $$;
-- +goose StatementEnd
