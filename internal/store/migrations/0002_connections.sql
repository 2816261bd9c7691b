-- +goose Up

-- The carrier accounts that clients have connected. The credentials are encrypted with
-- a data key of their own, and that key with one outside the database; both decrypt
-- only in their own row. A removed connection is kept, because labels that were
-- purchased through it may still have to be settled or voided.
CREATE TABLE connections (
  account_id uuid NOT NULL,
  livemode boolean NOT NULL,
  id uuid NOT NULL,
  carrier text NOT NULL,
  name text NOT NULL,
  wrapped_key bytea NOT NULL, -- the data key, encrypted
  encrypted_credentials bytea NOT NULL,
  public_fields jsonb NOT NULL DEFAULT '{}', -- the credentials that are not secret
  enabled boolean NOT NULL DEFAULT true,
  created_at timestamptz NOT NULL DEFAULT now(),
  removed_at timestamptz,
  checked_at timestamptz,
  check_result jsonb,
  version integer NOT NULL DEFAULT 1, -- counts the changes of name and credentials
  PRIMARY KEY (account_id, livemode, id)
);
CREATE INDEX connections_by_id ON connections (id);
CREATE UNIQUE INDEX connections_by_name ON connections (account_id, livemode, carrier, name) WHERE removed_at IS NULL;
SELECT secure_table('connections', 'tenant', 'SELECT, INSERT, UPDATE', 'SELECT, UPDATE');
