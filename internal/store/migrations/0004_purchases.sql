-- +goose Up

ALTER TABLE purchase_attempts ADD COLUMN connection uuid;

-- The attempts that may yet turn out to have bought something.
CREATE INDEX purchase_attempts_in_doubt ON purchase_attempts (id) WHERE outcome IN ('unknown', 'absent');

-- Labels that a carrier sold and nobody may use: each is taken back.
CREATE TABLE stranded_labels (
  account_id uuid NOT NULL,
  livemode boolean NOT NULL,
  carrier text NOT NULL,
  number text NOT NULL,
  shipment_id uuid NOT NULL,
  attempt smallint NOT NULL,
  found_by text NOT NULL,
  state text NOT NULL DEFAULT 'found',
  deal json NOT NULL,
  message text,
  found_at timestamptz NOT NULL DEFAULT now(),
  ended_at timestamptz,
  PRIMARY KEY (account_id, livemode, carrier, number)
);
CREATE INDEX stranded_labels_open ON stranded_labels (found_at) WHERE state = 'found';

-- What carriers charged and gave back, a line each. Lines are never changed.
CREATE TABLE charges (
  id uuid NOT NULL,
  account_id uuid NOT NULL,
  livemode boolean NOT NULL,
  number text NOT NULL,
  kind text NOT NULL,
  attempt smallint NOT NULL,
  carrier text NOT NULL,
  connection uuid,
  minor bigint NOT NULL,
  currency text NOT NULL,
  at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (account_id, livemode, id, number, kind)
) PARTITION BY RANGE (id);

-- Further papers of a purchase, such as customs forms.
CREATE TABLE documents (
  id uuid NOT NULL,
  account_id uuid NOT NULL,
  livemode boolean NOT NULL,
  place smallint NOT NULL,
  type text NOT NULL,
  format text NOT NULL,
  data bytea NOT NULL,
  PRIMARY KEY (account_id, livemode, id, place)
) PARTITION BY RANGE (id);

-- When the database was last put back to an earlier moment.
ALTER TABLE instance ADD COLUMN restored_at timestamptz;
GRANT UPDATE ON instance TO waybill_sys;

-- +goose StatementBegin
DO $$
DECLARE t text;
BEGIN
  FOREACH t IN ARRAY ARRAY['stranded_labels', 'charges', 'documents'] LOOP
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', t);
    EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', t);
    EXECUTE format($p$CREATE POLICY tenant ON %I TO waybill_app
      USING (account_id = (SELECT nullif(current_setting('waybill.account', true), '')::uuid)
         AND livemode = (SELECT nullif(current_setting('waybill.livemode', true), '')::boolean))$p$, t);
    EXECUTE format('CREATE POLICY system ON %I TO waybill_sys USING (true)', t);
    EXECUTE format('GRANT SELECT, INSERT ON %I TO waybill_sys, waybill_app', t);
  END LOOP;
END $$;
-- +goose StatementEnd
GRANT UPDATE ON stranded_labels TO waybill_sys, waybill_app;
