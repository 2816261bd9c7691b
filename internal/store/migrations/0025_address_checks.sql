-- +goose Up

-- What carriers answered about addresses, for thirty days. The hash and the key of the
-- encryption follow from the address itself, so a row says nothing to whoever does not
-- know the address.
CREATE TABLE address_checks (
  account_id uuid NOT NULL,
  livemode boolean NOT NULL,
  address_hash bytea NOT NULL,
  carrier text NOT NULL,
  encrypted_check bytea NOT NULL,
  checked_at timestamptz NOT NULL,
  PRIMARY KEY (account_id, livemode, address_hash, carrier)
);
CREATE INDEX address_checks_by_age ON address_checks (checked_at);
SELECT secure_table('address_checks', 'tenant', 'SELECT, INSERT, UPDATE', 'SELECT, DELETE');
