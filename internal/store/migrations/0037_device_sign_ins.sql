-- +goose Up

-- Sign-ins of terminals that wait for a person to approve them in the dashboard
-- (RFC 8628). They belong to no account before that. Both codes are stored as hashes.
CREATE TABLE device_sign_ins (
  device_hash bytea PRIMARY KEY, -- of the secret that the terminal asks with
  user_code_hash bytea NOT NULL UNIQUE, -- of the code that a person compares or types
  client_name text NOT NULL, -- what the terminal says about itself
  remote_address inet,
  wants_live boolean NOT NULL,
  created_at timestamptz NOT NULL,
  expires_at timestamptz NOT NULL,
  polled_at timestamptz,
  state text NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'approved', 'denied', 'used')),
  decided_by_person_id uuid REFERENCES people (id) ON DELETE CASCADE,
  approved_account_id uuid REFERENCES accounts (id),
  approved_live boolean,
  approved_key jsonb, -- what the key may do; the key itself is made when the terminal asks for it
  CHECK (state NOT IN ('approved', 'used') OR (decided_by_person_id, approved_account_id, approved_live, approved_key) IS NOT NULL)
);
CREATE INDEX device_sign_ins_by_expiry ON device_sign_ins (expires_at);
GRANT SELECT, INSERT, UPDATE, DELETE ON device_sign_ins TO waybill_sys;

-- The person whose terminal has the key; null for keys of programs. Such a key ends with
-- the person's membership.
ALTER TABLE api_keys ADD COLUMN person_id uuid;
CREATE INDEX api_keys_by_person ON api_keys (account_id, person_id) WHERE person_id IS NOT NULL;
