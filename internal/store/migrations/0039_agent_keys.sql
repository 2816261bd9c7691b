-- +goose Up

-- What an API key may buy, beside its daily limit. The amounts are in one currency, that of
-- the account when the key was created.
ALTER TABLE api_keys
  ADD COLUMN max_per_purchase_minor bigint CHECK (max_per_purchase_minor > 0),
  ADD COLUMN approval_above_minor bigint CHECK (approval_above_minor >= 0), -- zero: every purchase needs an approval
  ADD COLUMN limits_currency text,
  ADD COLUMN allowed_countries text[] NOT NULL DEFAULT '{}', -- none means all
  ADD CONSTRAINT api_keys_limits_have_a_currency
    CHECK ((limits_currency IS NULL) = (max_per_purchase_minor IS NULL AND approval_above_minor IS NULL));

-- A purchase that waits for a person. Its shipment is written, and no carrier was asked to
-- sell. Old copies of the program leave shipments in a state that they do not know alone.
ALTER TYPE purchase_state ADD VALUE 'awaiting_approval' BEFORE 'purchasing';

-- Purchases above the amount that their API key may spend without a person, one of a
-- shipment. A row is written with the shipment, before anything is bought. It is closed once
-- the shipment has left the state awaiting_approval.
CREATE TABLE approvals (
  account_id uuid NOT NULL,
  livemode boolean NOT NULL,
  id uuid NOT NULL,
  shipment_id uuid NOT NULL,
  api_key_id uuid NOT NULL,
  status text NOT NULL DEFAULT 'waiting' CHECK (status IN ('waiting', 'approved', 'denied', 'expired')),
  price_minor bigint NOT NULL, -- what the label may cost at most
  price_currency text NOT NULL,
  expires_at timestamptz NOT NULL,
  decided_at timestamptz,
  decided_by_person_id uuid, -- null if it expired
  decided_by text, -- their name at the time
  closed_at timestamptz,
  PRIMARY KEY (account_id, livemode, id),
  CHECK ((status = 'waiting') = (decided_at IS NULL))
);
CREATE UNIQUE INDEX approvals_one_of_a_shipment ON approvals (account_id, livemode, shipment_id);
CREATE INDEX approvals_open ON approvals (expires_at) WHERE closed_at IS NULL;
CREATE INDEX approvals_waiting ON approvals (account_id, livemode, id) WHERE status = 'waiting';
SELECT secure_table('approvals', 'tenant', 'SELECT, INSERT, UPDATE', 'SELECT, INSERT, UPDATE, DELETE');
