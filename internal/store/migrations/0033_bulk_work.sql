-- +goose Up

-- How often labels were printed from the dashboard. A label that was never printed has no
-- row: a purchase writes nothing here.
CREATE TABLE label_prints (
  account_id uuid NOT NULL,
  livemode boolean NOT NULL,
  shipment_id uuid NOT NULL,
  print_count integer NOT NULL,
  last_printed_at timestamptz NOT NULL,
  PRIMARY KEY (account_id, livemode, shipment_id)
) WITH (fillfactor = 80);
SELECT secure_table('label_prints', 'tenant', 'SELECT, INSERT, UPDATE', 'SELECT, INSERT, UPDATE, DELETE');

-- Actions on many shipments that a person started in the dashboard. The key is that of the
-- form: a second click is the same action.
CREATE TABLE bulk_actions (
  account_id uuid NOT NULL,
  livemode boolean NOT NULL,
  id uuid NOT NULL,
  kind text NOT NULL CHECK (kind IN ('void', 'manifest', 'return')),
  state text NOT NULL DEFAULT 'running' CHECK (state IN ('running', 'done')),
  form_key text NOT NULL,
  person_id uuid NOT NULL,
  created_by text NOT NULL,
  PRIMARY KEY (account_id, livemode, id),
  UNIQUE (account_id, livemode, form_key)
);
CREATE INDEX bulk_actions_by_age ON bulk_actions (id);
SELECT secure_table('bulk_actions', 'tenant', 'SELECT, INSERT, UPDATE', 'SELECT, INSERT, UPDATE, DELETE');

-- The shipments of a bulk action. All rows are written before the first is worked on. A
-- row is done under its idempotency key; the rows of one manifest share one. A pending row
-- waits until its outcome at the carrier is known.
CREATE TABLE bulk_action_rows (
  account_id uuid NOT NULL,
  livemode boolean NOT NULL,
  action_id uuid NOT NULL,
  position integer NOT NULL, -- from 1
  shipment_id uuid NOT NULL,
  state text NOT NULL CHECK (state IN ('waiting', 'pending', 'done', 'failed', 'skipped')),
  idempotency_key text NOT NULL,
  attempts smallint NOT NULL DEFAULT 0,
  return_id uuid, -- the shipment that was bought as its return
  manifest_id uuid, -- that it was put on
  error_code text,
  error_message text, -- why it failed or was skipped
  PRIMARY KEY (account_id, livemode, action_id, position),
  FOREIGN KEY (account_id, livemode, action_id) REFERENCES bulk_actions ON DELETE CASCADE
) WITH (fillfactor = 70);
CREATE INDEX bulk_action_rows_by_shipment ON bulk_action_rows (account_id, livemode, shipment_id);
SELECT secure_table('bulk_action_rows', 'tenant', 'SELECT, INSERT, UPDATE', 'SELECT, INSERT, UPDATE, DELETE');

-- Named filters of the list of shipments. A view is of the person who saved it, and of
-- everybody in the account if it is shared. It has no search words, which name people.
CREATE TABLE saved_views (
  account_id uuid NOT NULL,
  id uuid NOT NULL,
  name text NOT NULL,
  filter jsonb NOT NULL,
  person_id uuid NOT NULL,
  is_shared boolean NOT NULL,
  PRIMARY KEY (account_id, id),
  UNIQUE (account_id, person_id, name)
);
SELECT secure_table('saved_views', 'account', 'SELECT, INSERT, UPDATE, DELETE', 'SELECT, INSERT, UPDATE, DELETE');

-- What the columns of uploaded files mean, by a hash of their titles.
CREATE TABLE column_mappings (
  account_id uuid NOT NULL,
  header_hash bytea NOT NULL,
  mapping jsonb NOT NULL,
  used_at timestamptz NOT NULL,
  PRIMARY KEY (account_id, header_hash)
);
SELECT secure_table('column_mappings', 'account', 'SELECT, INSERT, UPDATE, DELETE', 'SELECT, INSERT, UPDATE, DELETE');
