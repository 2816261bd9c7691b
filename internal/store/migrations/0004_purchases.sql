-- +goose Up

-- Every request to a carrier to sell a label, written before it is sent. The outcome
-- is null while the attempt runs. A key with a daily limit reserves what the attempt
-- may cost; when the label is purchased, the reservation becomes its price.
CREATE TABLE purchase_attempts (
  shipment_id uuid NOT NULL,
  account_id uuid NOT NULL,
  livemode boolean NOT NULL,
  attempt smallint NOT NULL,
  reference text NOT NULL, -- by which the carrier is asked for the label again
  carrier text NOT NULL,
  service text NOT NULL,
  started_at timestamptz NOT NULL DEFAULT now(),
  ended_at timestamptz,
  outcome text CHECK (outcome IN ('purchased', 'declined', 'not_sent', 'uncertain', 'not_found', 'orphaned')),
  error_code text,
  error_message text,
  connection_id uuid, -- null for a simulated carrier
  api_key_id uuid,
  reserved_minor bigint,
  PRIMARY KEY (account_id, livemode, shipment_id, attempt)
) PARTITION BY RANGE (shipment_id);

-- The attempts that may still turn out to have purchased a label.
CREATE INDEX purchase_attempts_uncertain ON purchase_attempts (shipment_id) WHERE outcome IN ('uncertain', 'not_found');
CREATE INDEX purchase_attempts_by_api_key ON purchase_attempts (account_id, livemode, api_key_id, shipment_id) WHERE api_key_id IS NOT NULL;
SELECT secure_table('purchase_attempts', 'tenant', 'SELECT, INSERT, UPDATE, DELETE', 'SELECT, INSERT, UPDATE, DELETE');

-- Labels that a carrier sold and that no shipment uses. Each is voided: it is pending
-- until the carrier has voided it, is going to refund it, or has declined to. A carrier
-- that bills only labels it has scanned needs no void.
CREATE TABLE orphaned_labels (
  account_id uuid NOT NULL,
  livemode boolean NOT NULL,
  carrier text NOT NULL,
  tracking_number text NOT NULL,
  shipment_id uuid NOT NULL,
  attempt smallint NOT NULL,
  found_by text NOT NULL,
  state text NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'voided', 'refund_pending', 'void_declined', 'void_not_needed')),
  purchase json NOT NULL,
  message text, -- of the carrier
  found_at timestamptz NOT NULL DEFAULT now(),
  resolved_at timestamptz,
  PRIMARY KEY (account_id, livemode, carrier, tracking_number)
);
CREATE INDEX orphaned_labels_pending ON orphaned_labels (found_at) WHERE state = 'pending';
CREATE INDEX orphaned_labels_not_voided ON orphaned_labels (account_id, livemode, found_at) WHERE state IN ('pending', 'void_declined');
SELECT secure_table('orphaned_labels', 'tenant', 'SELECT, INSERT, UPDATE', 'SELECT, INSERT, UPDATE');

-- The ledger of what carriers charged and credited. Rows are never changed.
CREATE TABLE charges (
  shipment_id uuid NOT NULL,
  account_id uuid NOT NULL,
  livemode boolean NOT NULL,
  tracking_number text NOT NULL,
  kind text NOT NULL CHECK (kind IN ('purchase', 'void')),
  attempt smallint NOT NULL,
  carrier text NOT NULL,
  connection_id uuid,
  amount_minor bigint NOT NULL, -- negative for a credit
  currency text NOT NULL,
  occurred_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (account_id, livemode, shipment_id, tracking_number, kind)
) PARTITION BY RANGE (shipment_id);
SELECT secure_table('charges', 'tenant', 'SELECT, INSERT', 'SELECT, INSERT');
