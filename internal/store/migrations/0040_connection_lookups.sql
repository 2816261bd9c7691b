-- +goose Up

-- How far the look-up of a connection can be trusted: how late it shows a purchase, and
-- whether it lately found one that is known to exist. A connection without a row has
-- the defaults of its carrier.
CREATE TABLE connection_lookups (
  account_id uuid NOT NULL,
  livemode boolean NOT NULL,
  connection_id uuid NOT NULL,
  raised_ms bigint, -- the visibility delay since a purchase was found later than expected
  raised_at timestamptz,
  raised_by uuid, -- the shipment that was found late
  measured_ms bigint[] NOT NULL DEFAULT '{}', -- of live purchases since then, newest last
  measured_at timestamptz,
  control_at timestamptz,
  control_shipment_id uuid,
  control_found boolean,
  failing_since timestamptz, -- the first control in a row that was not found
  PRIMARY KEY (account_id, livemode, connection_id)
);
CREATE INDEX connection_lookups_failing ON connection_lookups (failing_since) WHERE failing_since IS NOT NULL;
SELECT secure_table('connection_lookups', 'tenant', 'SELECT, INSERT, UPDATE', 'SELECT');

-- An attempt that the carrier guarantees to be one purchase may be sent again.
ALTER TABLE purchase_attempts ADD COLUMN resent_at timestamptz;
