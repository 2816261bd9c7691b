-- +goose Up

-- The people who sign in to the dashboard. They belong to no account by themselves:
-- members say to which. An e-mail is kept in lower case. The seed of a person's codes
-- is sealed with a key that is not here; totp_step is the last code's, which is never
-- taken again.
CREATE TABLE people (
  id uuid PRIMARY KEY,
  email text NOT NULL UNIQUE CHECK (email = lower(email)),
  name text NOT NULL,
  password_hash text,
  totp_seed bytea,
  totp_step bigint NOT NULL DEFAULT 0,
  created_at timestamptz NOT NULL
);

-- Who may do what in an account.
CREATE TABLE members (
  account_id uuid NOT NULL REFERENCES accounts (id),
  person_id uuid NOT NULL REFERENCES people (id),
  role text NOT NULL CHECK (role IN ('owner', 'developer', 'shipper', 'viewer')),
  joined_at timestamptz NOT NULL,
  PRIMARY KEY (account_id, person_id)
);
CREATE INDEX members_by_person ON members (person_id);

-- Links that make a member, each once. Of the token only its hash is here.
CREATE TABLE invitations (
  account_id uuid NOT NULL REFERENCES accounts (id),
  id uuid NOT NULL,
  hash bytea NOT NULL UNIQUE,
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

-- What was done in an account, by whom and from where. Rows are written and never
-- changed; they tell their names as they were.
CREATE TABLE audit_log (
  account_id uuid NOT NULL REFERENCES accounts (id),
  id uuid NOT NULL,
  person_id uuid,
  who text NOT NULL,
  action text NOT NULL,
  target text NOT NULL,
  mode text NOT NULL CHECK (mode IN ('', 'test', 'live')),
  details jsonb NOT NULL,
  address inet,
  agent text NOT NULL,
  PRIMARY KEY (account_id, id)
);
CREATE INDEX audit_log_by_person ON audit_log (account_id, person_id, id);
CREATE INDEX audit_log_by_action ON audit_log (account_id, action text_pattern_ops, id);
CREATE INDEX audit_log_by_target ON audit_log (account_id, target, id);

-- The browsers that are signed in. Of a token only its hash is here; it changes when
-- the person proves themselves again. account is the one whose pages are shown.
CREATE TABLE sessions (
  id uuid PRIMARY KEY,
  hash bytea NOT NULL UNIQUE,
  person_id uuid NOT NULL REFERENCES people (id),
  account uuid NOT NULL REFERENCES accounts (id),
  method text NOT NULL,
  address inet,
  agent text NOT NULL,
  created_at timestamptz NOT NULL,
  proved_at timestamptz NOT NULL,
  seen_at timestamptz NOT NULL,
  expires_at timestamptz NOT NULL
) WITH (fillfactor = 80);
CREATE INDEX sessions_by_person ON sessions (person_id);
CREATE INDEX sessions_by_age ON sessions (expires_at);

-- Passkeys: the public half, as the library keeps it.
CREATE TABLE passkeys (
  id bytea PRIMARY KEY,
  person_id uuid NOT NULL REFERENCES people (id),
  name text NOT NULL,
  credential jsonb NOT NULL,
  created_at timestamptz NOT NULL,
  used_at timestamptz
);
CREATE INDEX passkeys_by_person ON passkeys (person_id);

-- The codes for a person who has lost the authenticator, each good once.
CREATE TABLE recovery_codes (
  person_id uuid NOT NULL REFERENCES people (id),
  hash bytea NOT NULL,
  used_at timestamptz,
  PRIMARY KEY (person_id, hash)
);

-- Who somebody is to an identity provider.
CREATE TABLE identities (
  issuer text NOT NULL,
  subject text NOT NULL,
  person_id uuid NOT NULL REFERENCES people (id),
  created_at timestamptz NOT NULL,
  PRIMARY KEY (issuer, subject)
);
CREATE INDEX identities_by_person ON identities (person_id);

-- What has begun and ends once: the wait for a code, an exchange with a passkey or an
-- identity provider, a link to set a password, the link that claims the installation.
CREATE TABLE ceremonies (
  hash bytea PRIMARY KEY,
  kind text NOT NULL,
  person_id uuid REFERENCES people (id),
  data bytea NOT NULL,
  tries smallint NOT NULL DEFAULT 0,
  expires_at timestamptz NOT NULL
);
CREATE INDEX ceremonies_by_age ON ceremonies (expires_at);
CREATE INDEX ceremonies_by_person ON ceremonies (person_id);

-- How often somebody or some address has failed to sign in lately. The subject is a
-- hash: an e-mail that nobody has looks like any other.
CREATE TABLE throttles (
  subject bytea PRIMARY KEY,
  failures integer NOT NULL,
  tried_at timestamptz NOT NULL,
  free_at timestamptz NOT NULL
) WITH (fillfactor = 80);
CREATE INDEX throttles_by_age ON throttles (tried_at);

-- An account's own rows are fenced by the account: people belong to it in both modes.
-- +goose StatementBegin
DO $$
DECLARE t text;
BEGIN
  FOREACH t IN ARRAY ARRAY['members', 'invitations', 'audit_log'] LOOP
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', t);
    EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', t);
    EXECUTE format($p$CREATE POLICY tenant ON %I TO waybill_app
      USING (account_id = (SELECT nullif(current_setting('waybill.account', true), '')::uuid))$p$, t);
    EXECUTE format('CREATE POLICY system ON %I TO waybill_sys USING (true)', t);
    EXECUTE format('GRANT SELECT ON %I TO waybill_app', t);
  END LOOP;
  FOREACH t IN ARRAY ARRAY['people', 'members', 'invitations', 'sessions', 'passkeys', 'recovery_codes', 'identities', 'ceremonies', 'throttles'] LOOP
    EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %I TO waybill_sys', t);
  END LOOP;
END $$;
-- +goose StatementEnd
GRANT INSERT ON audit_log TO waybill_app;
GRANT SELECT, INSERT ON audit_log TO waybill_sys;

-- Of people, an account's statements see its own members, and no secret of them.
ALTER TABLE people ENABLE ROW LEVEL SECURITY;
ALTER TABLE people FORCE ROW LEVEL SECURITY;
CREATE POLICY colleagues ON people FOR SELECT TO waybill_app USING (EXISTS (SELECT FROM members m WHERE m.person_id = people.id));
CREATE POLICY system ON people TO waybill_sys USING (true);
GRANT SELECT (id, email, name, created_at) ON people TO waybill_app;
