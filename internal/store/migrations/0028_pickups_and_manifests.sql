-- +goose Up

-- Pickups that carriers were asked for. A row is written before the carrier is asked;
-- a pending or uncertain one is settled by a job. Of a place and a day there is one that
-- is neither cancelled nor failed.
CREATE TABLE pickups (
  account_id uuid NOT NULL,
  livemode boolean NOT NULL,
  id uuid NOT NULL,
  carrier text NOT NULL,
  connection_id uuid, -- null for a simulated carrier
  place_hash bytea NOT NULL, -- of the address, without the contact
  day date NOT NULL, -- at the place
  state text NOT NULL DEFAULT 'pending'
    CHECK (state IN ('pending', 'uncertain', 'succeeded', 'failed', 'needs_review', 'cancelling', 'cancelled')),
  attempt smallint NOT NULL DEFAULT 1,
  attempt_started_at timestamptz NOT NULL DEFAULT now(),
  missed_at timestamptz, -- when a look-up did not find it, since the attempt
  request json NOT NULL,
  shipment_ids uuid[] NOT NULL DEFAULT '{}',
  booking json, -- what the carrier confirmed
  error_code text,
  error_message text,
  cancelled_at timestamptz,
  PRIMARY KEY (account_id, livemode, id)
);
CREATE UNIQUE INDEX pickups_one_for_a_place ON pickups (account_id, livemode, carrier, connection_id, place_hash, day)
  NULLS NOT DISTINCT WHERE state NOT IN ('failed', 'cancelled');
CREATE INDEX pickups_open ON pickups (id) WHERE state IN ('pending', 'uncertain', 'cancelling');
SELECT secure_table('pickups', 'tenant', 'SELECT, INSERT, UPDATE', 'SELECT, INSERT, UPDATE, DELETE');

-- Manifests: labels that are handed over to a carrier together. The scope is that of the
-- carrier: the labels that are listed, all labels of a day, or a sheet of our own for a
-- carrier that needs no manifest. Two manifests of one day are not closed at the same
-- time: the carrier could not say which of them a label is on.
CREATE TABLE manifests (
  account_id uuid NOT NULL,
  livemode boolean NOT NULL,
  id uuid NOT NULL,
  carrier text NOT NULL,
  connection_id uuid, -- null for a simulated carrier
  scope text NOT NULL CHECK (scope IN ('labels', 'day', 'sheet')),
  ship_date date NOT NULL,
  state text NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'uncertain', 'succeeded', 'failed', 'needs_review')),
  attempt smallint NOT NULL DEFAULT 1,
  attempt_started_at timestamptz NOT NULL DEFAULT now(),
  missed_at timestamptz, -- when a look-up did not find it, since the attempt
  request json NOT NULL,
  excluded json NOT NULL DEFAULT '[]',
  shipment_count integer NOT NULL,
  number text, -- the carrier's
  idempotency_key text,
  error_code text,
  error_message text,
  closed_at timestamptz,
  PRIMARY KEY (account_id, livemode, id)
);
CREATE UNIQUE INDEX manifests_one_of_a_day ON manifests (account_id, livemode, carrier, connection_id, ship_date)
  NULLS NOT DISTINCT WHERE scope = 'day' AND state IN ('pending', 'uncertain');
CREATE INDEX manifests_open ON manifests (id) WHERE state IN ('pending', 'uncertain');
CREATE INDEX manifests_by_key ON manifests (account_id, livemode, idempotency_key) WHERE idempotency_key IS NOT NULL;
SELECT secure_table('manifests', 'tenant', 'SELECT, INSERT, UPDATE', 'SELECT, INSERT, UPDATE, DELETE');

-- Which manifest a shipment is on. The key holds each shipment to one; the rows of a
-- manifest that failed, and of labels that the carrier left out, are deleted.
CREATE TABLE manifest_shipments (
  account_id uuid NOT NULL,
  livemode boolean NOT NULL,
  shipment_id uuid NOT NULL,
  manifest_id uuid NOT NULL,
  PRIMARY KEY (account_id, livemode, shipment_id)
);
CREATE INDEX manifest_shipments_by_manifest ON manifest_shipments (account_id, livemode, manifest_id);
SELECT secure_table('manifest_shipments', 'tenant', 'SELECT, INSERT, DELETE', 'SELECT, INSERT, UPDATE, DELETE');

-- The carriers' forms.
CREATE TABLE manifest_documents (
  account_id uuid NOT NULL,
  livemode boolean NOT NULL,
  manifest_id uuid NOT NULL,
  position smallint NOT NULL, -- from 0
  type text NOT NULL,
  format text NOT NULL,
  data bytea NOT NULL,
  PRIMARY KEY (account_id, livemode, manifest_id, position)
);
SELECT secure_table('manifest_documents', 'tenant', 'SELECT, INSERT', 'SELECT, INSERT, UPDATE, DELETE');
