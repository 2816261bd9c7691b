-- +goose Up

-- What lists and counts need of every shipment that a client was told of. It follows
-- the log a moment behind, outside the purchase, and can be made again at any time.
-- Status and state are text: row-level security keeps comparisons of enums out of
-- index conditions.
CREATE TABLE shipment_facts (
  account_id uuid NOT NULL,
  livemode boolean NOT NULL,
  id uuid NOT NULL,
  day date NOT NULL,
  carrier text NOT NULL,
  service text NOT NULL,
  status text NOT NULL,
  state text NOT NULL,
  currency text NOT NULL,
  minor bigint NOT NULL,
  promised boolean NOT NULL,
  on_time boolean NOT NULL,
  due_at timestamptz NOT NULL,
  recipient text NOT NULL DEFAULT '',
  PRIMARY KEY (account_id, livemode, id)
) WITH (fillfactor = 90);
CREATE INDEX shipment_facts_by_status ON shipment_facts (account_id, livemode, status, id);
CREATE INDEX shipment_facts_by_carrier ON shipment_facts (account_id, livemode, carrier, status, id);
CREATE INDEX shipment_facts_by_due ON shipment_facts (account_id, livemode, status, due_at, id);
CREATE INDEX shipment_facts_unknown ON shipment_facts (account_id, livemode, id) WHERE state IN ('uncertain', 'needs_review');
CREATE INDEX shipment_facts_exception ON shipment_facts (account_id, livemode, id) WHERE status = 'exception' AND state = 'purchased';

-- The same, counted: by the day on which a shipment was made.
CREATE TABLE shipment_days (
  account_id uuid NOT NULL,
  livemode boolean NOT NULL,
  day date NOT NULL,
  carrier text NOT NULL,
  service text NOT NULL,
  status text NOT NULL,
  state text NOT NULL,
  currency text NOT NULL,
  shipments bigint NOT NULL,
  minor bigint NOT NULL,
  promised bigint NOT NULL,
  on_time bigint NOT NULL,
  PRIMARY KEY (account_id, livemode, day, carrier, service, status, state, currency)
);
CREATE INDEX shipment_days_empty ON shipment_days (day) WHERE shipments = 0;

-- The words of recipients' names and companies, in small letters without accents.
CREATE TABLE recipient_words (
  account_id uuid NOT NULL,
  livemode boolean NOT NULL,
  word text COLLATE "C" NOT NULL,
  id uuid NOT NULL,
  PRIMARY KEY (account_id, livemode, word, id)
);

-- Shipments that changed without an event: there are few, and each row is gone when it
-- is counted.
CREATE TABLE shipment_changes (
  account_id uuid NOT NULL,
  livemode boolean NOT NULL,
  id uuid NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);

-- How far the log is counted; no event behind the cursor has an id before tail_from.
-- Until it is ready, what was there before is still being read, from one shipment to
-- the next.
CREATE TABLE roll_up (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  ready boolean NOT NULL DEFAULT false,
  cursor_tx xid8 NOT NULL DEFAULT '0',
  cursor_id uuid NOT NULL DEFAULT '00000000-0000-0000-0000-000000000000',
  tail_from uuid NOT NULL DEFAULT '00000000-0000-0000-0000-000000000000',
  past_account uuid,
  past_livemode boolean,
  past_id uuid
);
INSERT INTO roll_up DEFAULT VALUES;

-- What the mapping does not know of an account's parcels.
CREATE INDEX tracking_events_unmapped_of ON tracking_events (account_id, livemode, id) WHERE reason = 'unmapped';
CREATE INDEX stranded_labels_waiting ON stranded_labels (account_id, livemode, found_at) WHERE state IN ('found', 'refused');

-- +goose StatementBegin
DO $$
DECLARE t text;
BEGIN
  FOREACH t IN ARRAY ARRAY['shipment_facts', 'shipment_days', 'recipient_words', 'shipment_changes'] LOOP
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', t);
    EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', t);
    EXECUTE format($p$CREATE POLICY tenant ON %I TO waybill_app
      USING (account_id = (SELECT nullif(current_setting('waybill.account', true), '')::uuid)
         AND livemode = (SELECT nullif(current_setting('waybill.livemode', true), '')::boolean))$p$, t);
    EXECUTE format('CREATE POLICY system ON %I TO waybill_sys USING (true)', t);
    EXECUTE format('GRANT SELECT ON %I TO waybill_app', t);
    EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %I TO waybill_sys', t);
  END LOOP;
END $$;
-- +goose StatementEnd
GRANT INSERT ON shipment_changes TO waybill_app;
GRANT SELECT ON roll_up TO waybill_app;
GRANT SELECT, UPDATE ON roll_up TO waybill_sys;
