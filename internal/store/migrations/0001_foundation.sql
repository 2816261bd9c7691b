-- +goose Up

-- secure_table puts row-level security on a table and grants privileges on it. Each
-- migration calls it for every table with rows of an account.
--
-- waybill_app sees the rows of one tenant: those of the account and mode that its
-- transaction has set, or of the account in both modes for the scope 'account'.
-- Without these settings it sees nothing. waybill_sys sees all rows.
-- +goose StatementBegin
CREATE FUNCTION secure_table(secured regclass, scope text, app_privileges text, sys_privileges text) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  condition text := 'account_id = (SELECT nullif(current_setting(''waybill.account'', true), '''')::uuid)';
BEGIN
  IF scope = 'tenant' THEN
    condition := condition || ' AND livemode = (SELECT nullif(current_setting(''waybill.livemode'', true), '''')::boolean)';
  ELSIF scope <> 'account' THEN
    RAISE EXCEPTION 'the scope of % is %; it must be tenant or account', secured, scope;
  END IF;

  EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY', secured);
  EXECUTE format('ALTER TABLE %s FORCE ROW LEVEL SECURITY', secured);
  EXECUTE format('CREATE POLICY tenant ON %s TO waybill_app USING (%s)', secured, condition);
  EXECUTE format('CREATE POLICY system ON %s TO waybill_sys USING (true)', secured);

  IF app_privileges <> '' THEN
    EXECUTE format('GRANT %s ON %s TO waybill_app', app_privileges, secured);
  END IF;
  EXECUTE format('GRANT %s ON %s TO waybill_sys', sys_privileges, secured);
END $$;
-- +goose StatementEnd
REVOKE EXECUTE ON FUNCTION secure_table FROM PUBLIC;

-- The installation: one row.
CREATE TABLE instance (
  singleton boolean PRIMARY KEY DEFAULT true CHECK (singleton),
  cell text NOT NULL DEFAULT 'local', -- the cell it serves as
  signing_key bytea NOT NULL,
  restored_at timestamptz -- when the database was last restored from a backup
);
GRANT SELECT, UPDATE ON instance TO waybill_sys;

-- Which cell holds which shard. A new installation is one cell and holds all.
CREATE TABLE shards (
  shard smallint PRIMARY KEY,
  cell text NOT NULL DEFAULT 'local'
);
INSERT INTO shards (shard) SELECT generate_series(0, 4095);
GRANT SELECT ON shards TO waybill_sys;

CREATE TABLE accounts (
  id uuid PRIMARY KEY,
  name text NOT NULL,
  origin json, -- the default address of senders
  weight_unit text NOT NULL,
  length_unit text NOT NULL,
  currency text NOT NULL
);
GRANT SELECT, INSERT, UPDATE ON accounts TO waybill_sys;

-- The logo that public pages show: an image that the service itself has encoded again.
-- The hash is part of its URL.
CREATE TABLE account_logos (
  account_id uuid PRIMARY KEY REFERENCES accounts (id),
  image_hash text NOT NULL,
  width integer NOT NULL,
  height integer NOT NULL,
  image bytea NOT NULL
);
ALTER TABLE account_logos ALTER COLUMN image SET STORAGE EXTERNAL; -- it is compressed already
SELECT secure_table('account_logos', 'account', 'SELECT, INSERT, UPDATE, DELETE', 'SELECT, INSERT, UPDATE, DELETE');

-- API keys. Of a key only its hash is stored. The daily limit is what it may spend on
-- labels in a day of UTC.
CREATE TABLE api_keys (
  id uuid NOT NULL,
  account_id uuid NOT NULL REFERENCES accounts (id),
  livemode boolean NOT NULL,
  key_hash bytea NOT NULL UNIQUE,
  hint text NOT NULL,
  name text NOT NULL,
  scopes text[] NOT NULL,
  networks cidr[] NOT NULL DEFAULT '{}', -- empty allows all
  daily_limit_minor bigint CHECK (daily_limit_minor > 0),
  daily_limit_currency text,
  expires_at timestamptz,
  last_used_at timestamptz,
  revoked_at timestamptz,
  PRIMARY KEY (account_id, livemode, id)
);
SELECT secure_table('api_keys', 'tenant', '', 'SELECT, INSERT, UPDATE, DELETE');

-- The responses that an Idempotency-Key repeats. The row of a purchase points to its
-- shipment, from which the response is rendered; other responses are stored as bytes.
CREATE TABLE idempotency_keys (
  account_id uuid NOT NULL,
  livemode boolean NOT NULL,
  key text NOT NULL,
  fingerprint bytea NOT NULL, -- of the request
  shipment_id uuid,
  response_status smallint, -- null while the request runs
  response_body bytea,
  locked_until timestamptz,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (account_id, livemode, key)
);
CREATE INDEX idempotency_responses_by_age ON idempotency_keys (created_at) WHERE shipment_id IS NULL;
CREATE INDEX idempotency_keys_by_age ON idempotency_keys USING brin (created_at);
SELECT secure_table('idempotency_keys', 'tenant', 'SELECT, INSERT, UPDATE, DELETE', 'SELECT, INSERT, UPDATE, DELETE');
