-- +goose Up

CREATE TYPE tracking_status AS ENUM ('created', 'label_generated', 'picked_up', 'in_transit', 'out_for_delivery', 'delivered', 'exception');
CREATE TYPE purchase_state AS ENUM ('purchasing', 'uncertain', 'needs_review', 'purchased', 'voiding', 'refund_pending', 'voided', 'failed');

-- A shipment as it was requested and purchased. The request is written once; the
-- purchase again when it settles. Ids begin with the time, so partitions are ranges of
-- ids.
CREATE TABLE shipments (
  id uuid NOT NULL,
  account_id uuid NOT NULL,
  livemode boolean NOT NULL,
  response_version smallint NOT NULL, -- the format in which an idempotent retry is answered
  carrier text,
  duplicate_of_id uuid, -- the newest earlier shipment of the same order
  request json NOT NULL,
  purchase json NOT NULL,
  PRIMARY KEY (account_id, livemode, id)
) PARTITION BY RANGE (id);
SELECT secure_table('shipments', 'tenant', 'SELECT, INSERT, UPDATE, DELETE', 'SELECT, INSERT, UPDATE, DELETE');

-- What changes of a shipment, or of a tracker: rows are narrow, and updates stay in
-- their page. The id is that of the shipment or tracker; a tracker has no row in
-- shipments and no purchase state.
CREATE TABLE shipment_states (
  id uuid NOT NULL,
  account_id uuid NOT NULL,
  livemode boolean NOT NULL,
  is_tracker boolean NOT NULL DEFAULT false,
  state purchase_state,
  status tracking_status NOT NULL,
  sequence integer NOT NULL, -- of the newest event in the log; 0 means that clients do not know the shipment
  attempt smallint NOT NULL DEFAULT 1, -- the current purchase attempt
  piece_count smallint NOT NULL DEFAULT 1,
  purchased_at timestamptz,
  last_event_at timestamptz, -- the time of the newest tracking event
  checked_at timestamptz, -- when the carrier was last asked
  estimated_delivery_at timestamptz,
  estimate_source text,
  carrier text,
  tracking_number text,
  reason text, -- of the status
  piece_statuses tracking_status[],
  voided_at timestamptz,
  PRIMARY KEY (account_id, livemode, id)
) PARTITION BY RANGE (id);
CREATE INDEX shipment_states_unresolved ON shipment_states (id) WHERE state IN ('purchasing', 'uncertain', 'needs_review', 'voiding');
SELECT secure_table('shipment_states', 'tenant', 'SELECT, INSERT, UPDATE, DELETE', 'SELECT, INSERT, UPDATE, DELETE');

-- Where shipments and trackers are looked up. Kinds:
--   o  order number of a shipment that is not failed or voided
--   p  order number of a shipment that is failed or voided (past)
--   t  tracking number of a shipment or tracker
--   f  all trackers of the tenant; the value is empty
--   k  API key that created the tracker
CREATE TABLE lookup_keys (
  account_id uuid NOT NULL,
  livemode boolean NOT NULL,
  kind "char" NOT NULL,
  value text NOT NULL,
  subject_id uuid NOT NULL, -- of the shipment or tracker
  PRIMARY KEY (account_id, livemode, kind, value, subject_id)
);
SELECT secure_table('lookup_keys', 'tenant', 'SELECT, INSERT, UPDATE, DELETE', 'SELECT, INSERT, UPDATE, DELETE');

-- Labels in the format in which the carrier issued them.
CREATE TABLE labels (
  shipment_id uuid NOT NULL,
  account_id uuid NOT NULL,
  livemode boolean NOT NULL,
  format text NOT NULL,
  data bytea NOT NULL,
  PRIMARY KEY (account_id, livemode, shipment_id)
) PARTITION BY RANGE (shipment_id);
SELECT secure_table('labels', 'tenant', 'SELECT, INSERT, UPDATE, DELETE', 'SELECT, INSERT, UPDATE, DELETE');

-- Further documents of a shipment, such as commercial invoices.
CREATE TABLE documents (
  shipment_id uuid NOT NULL,
  account_id uuid NOT NULL,
  livemode boolean NOT NULL,
  position smallint NOT NULL, -- from 0
  type text NOT NULL,
  format text NOT NULL,
  data bytea NOT NULL,
  PRIMARY KEY (account_id, livemode, shipment_id, position)
) PARTITION BY RANGE (shipment_id);
SELECT secure_table('documents', 'tenant', 'SELECT, INSERT', 'SELECT, INSERT');
