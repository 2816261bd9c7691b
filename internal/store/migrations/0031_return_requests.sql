-- +goose Up

-- What an account allows recipients who want to send a parcel back. Without a row,
-- recipients cannot ask. The saver is who pays for automatic approvals: their daily limit
-- applies to the labels.
CREATE TABLE return_rules (
  account_id uuid NOT NULL,
  livemode boolean NOT NULL,
  enabled boolean NOT NULL,
  days smallint NOT NULL CHECK (days BETWEEN 1 AND 365), -- after the delivery
  reasons text[] NOT NULL,
  paid_by text NOT NULL CHECK (paid_by IN ('account', 'recipient')),
  approval text NOT NULL CHECK (approval IN ('automatic', 'manual')),
  max_amount_minor bigint, -- of a label; null for no limit
  max_amount_currency text,
  carrier text, -- null to let the routing rules choose
  service text,
  saved_by_person_id uuid, -- or
  saved_by_key_id uuid,
  saved_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (account_id, livemode)
);
SELECT secure_table('return_rules', 'tenant', 'SELECT, INSERT, UPDATE', 'SELECT, INSERT, UPDATE, DELETE');

-- Returns that recipients asked for, one of a shipment. A row is written before anything is
-- bought; its id and the number of its approval are the purchase's idempotency key.
CREATE TABLE return_requests (
  account_id uuid NOT NULL,
  livemode boolean NOT NULL,
  id uuid NOT NULL,
  shipment_id uuid NOT NULL, -- that is to come back
  state text NOT NULL DEFAULT 'requested'
    CHECK (state IN ('requested', 'approved', 'denied', 'label_sent', 'failed')),
  reason text NOT NULL, -- one of the rule's
  items text, -- the recipient's words; null after an erasure, like the next two
  comment text,
  email text, -- where the label goes
  language text NOT NULL, -- of the mail
  paid_by text NOT NULL CHECK (paid_by IN ('account', 'recipient')),
  approvals smallint NOT NULL DEFAULT 0, -- how often it was approved
  approval text CHECK (approval IN ('automatic', 'manual')), -- how, the last time
  spender_person_id uuid, -- whose daily limit applies, or
  spender_key_id uuid,
  decided_at timestamptz,
  denial text, -- why it was denied, for the recipient
  return_id uuid, -- the shipment that was bought
  bought_at timestamptz,
  mailed_at timestamptz,
  error_code text,
  error_message text,
  PRIMARY KEY (account_id, livemode, id)
);
CREATE UNIQUE INDEX return_requests_one_of_a_shipment ON return_requests (account_id, livemode, shipment_id);
CREATE INDEX return_requests_by_state ON return_requests (account_id, livemode, state, id);
SELECT secure_table('return_requests', 'tenant', 'SELECT, INSERT, UPDATE', 'SELECT, INSERT, UPDATE, DELETE');
