-- +goose Up

-- The carrier accounts that clients have connected. The credentials are encrypted with
-- a data key of their own, and that key by one outside the database: what is here opens
-- in its own row alone. hint holds the fields that are not secret. A removed connection
-- stays: what was bought through it may still have to be settled or voided.
CREATE TABLE connections (
  account_id uuid NOT NULL,
  livemode boolean NOT NULL,
  id uuid NOT NULL,
  carrier text NOT NULL,
  name text NOT NULL,
  wrapped_key bytea NOT NULL,
  credentials bytea NOT NULL,
  hint jsonb NOT NULL DEFAULT '{}',
  enabled boolean NOT NULL DEFAULT true,
  created_at timestamptz NOT NULL DEFAULT now(),
  removed_at timestamptz,
  checked_at timestamptz,
  check_result jsonb,
  version integer NOT NULL DEFAULT 1,
  PRIMARY KEY (account_id, livemode, id)
);
CREATE INDEX connections_by_id ON connections (id);
CREATE UNIQUE INDEX connections_by_name ON connections (account_id, livemode, carrier, name) WHERE removed_at IS NULL;

ALTER TABLE connections ENABLE ROW LEVEL SECURITY;
ALTER TABLE connections FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON connections TO waybill_app
  USING (account_id = (SELECT nullif(current_setting('waybill.account', true), '')::uuid)
     AND livemode = (SELECT nullif(current_setting('waybill.livemode', true), '')::boolean));
CREATE POLICY system ON connections TO waybill_sys USING (true);
GRANT SELECT, INSERT, UPDATE ON connections TO waybill_app;
GRANT SELECT, UPDATE ON connections TO waybill_sys;
