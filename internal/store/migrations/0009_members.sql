-- +goose Up

-- The people who sign in to the dashboard. Their accounts are in members. E-mail
-- addresses are in lower case. The TOTP seed is encrypted with a key outside the
-- database; totp_last_step is the time step of the last accepted code, which is never
-- accepted again.
CREATE TABLE people (
  id uuid PRIMARY KEY,
  email text NOT NULL UNIQUE CHECK (email = lower(email)),
  name text NOT NULL,
  password_hash text,
  encrypted_totp_seed bytea,
  totp_last_step bigint NOT NULL DEFAULT 0,
  created_at timestamptz NOT NULL
);
GRANT SELECT, INSERT, UPDATE, DELETE ON people TO waybill_sys;

-- The role of a person in an account.
CREATE TABLE members (
  account_id uuid NOT NULL REFERENCES accounts (id),
  person_id uuid NOT NULL REFERENCES people (id),
  role text NOT NULL CHECK (role IN ('owner', 'developer', 'shipper', 'viewer')),
  joined_at timestamptz NOT NULL,
  PRIMARY KEY (account_id, person_id)
);
CREATE INDEX members_by_person ON members (person_id);
SELECT secure_table('members', 'account', 'SELECT', 'SELECT, INSERT, UPDATE, DELETE');

-- An account's statements see its own members, and none of their secrets.
ALTER TABLE people ENABLE ROW LEVEL SECURITY;
ALTER TABLE people FORCE ROW LEVEL SECURITY;
CREATE POLICY colleagues ON people FOR SELECT TO waybill_app USING (EXISTS (SELECT FROM members m WHERE m.person_id = people.id));
CREATE POLICY system ON people TO waybill_sys USING (true);
GRANT SELECT (id, email, name, created_at) ON people TO waybill_app;

-- Invitations to an account. Each can be accepted once. Only the hash of its token is
-- stored.
CREATE TABLE invitations (
  account_id uuid NOT NULL REFERENCES accounts (id),
  id uuid NOT NULL,
  token_hash bytea NOT NULL UNIQUE,
  email text NOT NULL CHECK (email = lower(email)),
  role text NOT NULL CHECK (role IN ('owner', 'developer', 'shipper', 'viewer')),
  invited_by text NOT NULL,
  created_at timestamptz NOT NULL,
  expires_at timestamptz NOT NULL,
  used_at timestamptz,
  revoked_at timestamptz,
  PRIMARY KEY (account_id, id)
);
CREATE INDEX invitations_by_email ON invitations (email) WHERE used_at IS NULL AND revoked_at IS NULL;
SELECT secure_table('invitations', 'account', 'SELECT', 'SELECT, INSERT, UPDATE, DELETE');

-- The audit log: who did what in an account, and from where. The actor is a person or
-- an API key, or the operator if both are null. Rows are never changed, and have names
-- as they were.
CREATE TABLE audit_log (
  account_id uuid NOT NULL REFERENCES accounts (id),
  id uuid NOT NULL,
  person_id uuid,
  api_key_id uuid,
  actor text NOT NULL,
  action text NOT NULL,
  target text NOT NULL,
  mode text NOT NULL CHECK (mode IN ('', 'test', 'live')),
  details jsonb NOT NULL,
  remote_address inet,
  user_agent text NOT NULL,
  PRIMARY KEY (account_id, id)
);
CREATE INDEX audit_log_by_person ON audit_log (account_id, person_id, id);
CREATE INDEX audit_log_by_api_key ON audit_log (account_id, api_key_id, id) WHERE api_key_id IS NOT NULL;
CREATE INDEX audit_log_by_action ON audit_log (account_id, action text_pattern_ops, id);
CREATE INDEX audit_log_by_target ON audit_log (account_id, target, id);

-- The entries of one kind of actor, newest first, whatever the number of the others.
CREATE INDEX audit_log_of_people ON audit_log (account_id, id) WHERE person_id IS NOT NULL;
CREATE INDEX audit_log_of_api_keys ON audit_log (account_id, id) WHERE api_key_id IS NOT NULL;
CREATE INDEX audit_log_of_operators ON audit_log (account_id, id) WHERE person_id IS NULL AND api_key_id IS NULL;
SELECT secure_table('audit_log', 'account', 'SELECT, INSERT', 'SELECT, INSERT');

-- The browsers that are signed in. Only the hash of a token is stored; the token
-- changes when the person authenticates again.
CREATE TABLE sessions (
  id uuid PRIMARY KEY,
  token_hash bytea NOT NULL UNIQUE,
  person_id uuid NOT NULL REFERENCES people (id),
  current_account_id uuid NOT NULL REFERENCES accounts (id), -- whose pages are shown
  method text NOT NULL,
  remote_address inet,
  user_agent text NOT NULL,
  created_at timestamptz NOT NULL,
  authenticated_at timestamptz NOT NULL,
  last_seen_at timestamptz NOT NULL,
  expires_at timestamptz NOT NULL
) WITH (fillfactor = 80);
CREATE INDEX sessions_by_person ON sessions (person_id);
CREATE INDEX sessions_by_expiry ON sessions (expires_at);
GRANT SELECT, INSERT, UPDATE, DELETE ON sessions TO waybill_sys;

-- Passkeys: the public key, as the WebAuthn library encodes it.
CREATE TABLE passkeys (
  id bytea PRIMARY KEY,
  person_id uuid NOT NULL REFERENCES people (id),
  name text NOT NULL,
  credential jsonb NOT NULL,
  created_at timestamptz NOT NULL,
  last_used_at timestamptz
);
CREATE INDEX passkeys_by_person ON passkeys (person_id);
GRANT SELECT, INSERT, UPDATE, DELETE ON passkeys TO waybill_sys;

-- The codes for a person who has lost the authenticator. Each can be used once.
CREATE TABLE recovery_codes (
  person_id uuid NOT NULL REFERENCES people (id),
  code_hash bytea NOT NULL,
  used_at timestamptz,
  PRIMARY KEY (person_id, code_hash)
);
GRANT SELECT, INSERT, UPDATE, DELETE ON recovery_codes TO waybill_sys;

-- The persons that OpenID Connect providers know.
CREATE TABLE identities (
  issuer text NOT NULL,
  subject text NOT NULL,
  person_id uuid NOT NULL REFERENCES people (id),
  created_at timestamptz NOT NULL,
  PRIMARY KEY (issuer, subject)
);
CREATE INDEX identities_by_person ON identities (person_id);
GRANT SELECT, INSERT, UPDATE, DELETE ON identities TO waybill_sys;

-- Authentication flows that have begun and can be completed once: a sign-in that waits
-- for its code, an exchange with a passkey or an identity provider, a link to set a
-- password, the link that claims the installation.
CREATE TABLE auth_flows (
  token_hash bytea PRIMARY KEY,
  kind text NOT NULL,
  person_id uuid REFERENCES people (id),
  data bytea NOT NULL,
  attempts smallint NOT NULL DEFAULT 0,
  expires_at timestamptz NOT NULL
);
CREATE INDEX auth_flows_by_expiry ON auth_flows (expires_at);
CREATE INDEX auth_flows_by_person ON auth_flows (person_id);
GRANT SELECT, INSERT, UPDATE, DELETE ON auth_flows TO waybill_sys;

-- Failed sign-ins by person and by address. The subject is hashed, so the address of
-- somebody who has no account looks like any other.
CREATE TABLE sign_in_throttles (
  subject_hash bytea PRIMARY KEY,
  failures integer NOT NULL,
  last_attempt_at timestamptz NOT NULL,
  blocked_until timestamptz NOT NULL
) WITH (fillfactor = 80);
CREATE INDEX sign_in_throttles_by_age ON sign_in_throttles (last_attempt_at);
GRANT SELECT, INSERT, UPDATE, DELETE ON sign_in_throttles TO waybill_sys;
