-- +goose Up

-- Which parcel of a live carrier is to be asked about when, over which connection.
-- One row an open parcel.
CREATE TABLE watches (
  account_id uuid NOT NULL,
  livemode boolean NOT NULL,
  id uuid NOT NULL,
  connection uuid NOT NULL,
  due_at timestamptz NOT NULL,
  pushed_until timestamptz,
  PRIMARY KEY (account_id, livemode, id)
) WITH (fillfactor = 80);
CREATE INDEX watches_due ON watches (due_at, connection, account_id, livemode, id);

-- What carriers pushed, as it came; each body once a day.
CREATE TABLE pushes (
  id uuid NOT NULL,
  account_id uuid NOT NULL,
  livemode boolean NOT NULL,
  connection uuid NOT NULL,
  header json NOT NULL,
  body bytea NOT NULL,
  PRIMARY KEY (account_id, livemode, id)
) PARTITION BY RANGE (id);

-- The pushes that are not taken in yet. Rows are narrow and gone soon.
CREATE TABLE unheard (
  account_id uuid NOT NULL,
  livemode boolean NOT NULL,
  id uuid NOT NULL,
  due_at timestamptz NOT NULL,
  bytes integer NOT NULL,
  looks smallint NOT NULL DEFAULT 0,
  PRIMARY KEY (account_id, livemode, id)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000);
CREATE INDEX unheard_due ON unheard (due_at);

-- Until when a carrier pushes what becomes of an account's parcels.
CREATE TABLE subscriptions (
  account_id uuid NOT NULL,
  livemode boolean NOT NULL,
  connection uuid NOT NULL,
  until timestamptz,
  PRIMARY KEY (account_id, livemode, connection)
);

-- The time of the event is the place's own: the carrier named no zone.
ALTER TABLE tracking_events ADD COLUMN zone_unknown boolean NOT NULL DEFAULT false;

-- What the mapping does not know, for those who look after it.
CREATE INDEX tracking_events_unmapped ON tracking_events (code) WHERE reason = 'unmapped';

-- +goose StatementBegin
DO $$
DECLARE t text;
BEGIN
  FOREACH t IN ARRAY ARRAY['watches', 'pushes', 'unheard', 'subscriptions'] LOOP
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
