-- +goose Up

-- What clients of another shipping API create one by one and name by id later: addresses,
-- parcels, customs declarations, and shipments that are rated before they are bought. The
-- body is the object as the client sees it. A rated shipment that is bought names its
-- shipment; attempt counts the purchases that carriers declined, and is part of the
-- idempotency key of the next one.
CREATE TABLE compat_objects (
  account_id uuid NOT NULL,
  livemode boolean NOT NULL,
  id uuid NOT NULL,
  kind text NOT NULL,
  reference text, -- the client's own name of a rated shipment
  body jsonb NOT NULL,
  attempt integer NOT NULL DEFAULT 1,
  shipment_id uuid,
  expires_at timestamptz NOT NULL,
  PRIMARY KEY (account_id, livemode, id)
);
CREATE INDEX compat_objects_by_kind ON compat_objects (account_id, livemode, kind, id);
CREATE INDEX compat_objects_by_reference ON compat_objects (account_id, livemode, reference) WHERE reference IS NOT NULL;
CREATE INDEX compat_objects_by_expiry ON compat_objects (expires_at);
SELECT secure_table('compat_objects', 'tenant', 'SELECT, INSERT, UPDATE, DELETE', 'SELECT, DELETE');

-- Endpoints that get their events in the format of another API, under its name.
ALTER TABLE webhook_endpoints DROP CONSTRAINT webhook_endpoints_signature_scheme_check;
ALTER TABLE webhook_endpoints ADD CONSTRAINT webhook_endpoints_signature_scheme_check
  CHECK (signature_scheme IN ('v1', 'v1a', 'both', 'easypost'));
