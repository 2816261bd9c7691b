-- +goose Up

-- The roles whose members must prove a second factor before they reach the account.
ALTER TABLE accounts ADD COLUMN two_factor_roles text[] NOT NULL DEFAULT '{}'
  CHECK (two_factor_roles <@ ARRAY['owner', 'developer', 'shipper', 'viewer']);

-- Whether the person has proved a second factor in this session: a code, a passkey, or
-- what the identity provider asks for.
ALTER TABLE sessions ADD COLUMN second_factor boolean NOT NULL DEFAULT false;
UPDATE sessions SET second_factor = true WHERE method IN ('totp', 'recovery_code', 'passkey', 'oidc');
