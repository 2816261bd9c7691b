-- +goose Up

-- Counts the changes of an account's rules and rate sheets: a process that has them in
-- memory looks here whether they are still current.
CREATE TABLE routing_revisions (
  account_id uuid NOT NULL,
  livemode boolean NOT NULL,
  revision bigint NOT NULL,
  PRIMARY KEY (account_id, livemode)
) WITH (fillfactor = 80);
SELECT secure_table('routing_revisions', 'tenant', 'SELECT, INSERT, UPDATE, DELETE', 'SELECT, INSERT, UPDATE, DELETE');

-- The published rule books. The highest version is in force; all are kept.
CREATE TABLE rule_books (
  account_id uuid NOT NULL,
  livemode boolean NOT NULL,
  version integer NOT NULL,
  book json NOT NULL,
  note text NOT NULL,
  restored_version integer, -- the version that was published again
  published_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (account_id, livemode, version)
);
SELECT secure_table('rule_books', 'tenant', 'SELECT, INSERT, UPDATE, DELETE', 'SELECT, INSERT, UPDATE, DELETE');

-- The draft of the next rule book, at most one.
CREATE TABLE rule_drafts (
  account_id uuid NOT NULL,
  livemode boolean NOT NULL,
  book json NOT NULL,
  based_on_version integer NOT NULL, -- that was published when the draft was begun, 0 for none
  saved_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (account_id, livemode)
);
SELECT secure_table('rule_drafts', 'tenant', 'SELECT, INSERT, UPDATE, DELETE', 'SELECT, INSERT, UPDATE, DELETE');

-- Prices of contracts whose carrier has no rate call. The highest version of a name is
-- in force, unless its text is null: then the sheet was removed.
CREATE TABLE rate_sheets (
  account_id uuid NOT NULL,
  livemode boolean NOT NULL,
  name text NOT NULL,
  version integer NOT NULL,
  carrier text NOT NULL,
  connection_id uuid,
  csv text,
  added_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (account_id, livemode, name, version)
);
SELECT secure_table('rate_sheets', 'tenant', 'SELECT, INSERT, UPDATE, DELETE', 'SELECT, INSERT, UPDATE, DELETE');
