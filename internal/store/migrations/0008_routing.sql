-- +goose Up

-- How often an account's rules and rate sheets were changed: a copy of the
-- binary that remembers them looks here whether they are still the same.
CREATE TABLE routing_revisions (
  account_id uuid NOT NULL,
  livemode boolean NOT NULL,
  revision bigint NOT NULL,
  PRIMARY KEY (account_id, livemode)
) WITH (fillfactor = 80);

-- The published rule books: the highest version counts, all are kept.
CREATE TABLE rule_books (
  account_id uuid NOT NULL,
  livemode boolean NOT NULL,
  version integer NOT NULL,
  book json NOT NULL,
  note text NOT NULL,
  restored integer, -- the version that was published again
  published_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (account_id, livemode, version)
);

-- The rule book that is being written, at most one.
CREATE TABLE rule_drafts (
  account_id uuid NOT NULL,
  livemode boolean NOT NULL,
  book json NOT NULL,
  based_on integer NOT NULL, -- the version that was published then, 0 for none
  saved_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (account_id, livemode)
);

-- The price lists of contracts without a rate call: the highest version of a
-- name counts, unless it is empty, which removes the sheet.
CREATE TABLE rate_sheets (
  account_id uuid NOT NULL,
  livemode boolean NOT NULL,
  name text NOT NULL,
  version integer NOT NULL,
  carrier text NOT NULL,
  connection uuid,
  csv text,
  added_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (account_id, livemode, name, version)
);

ALTER TABLE routing_revisions ENABLE ROW LEVEL SECURITY;
ALTER TABLE routing_revisions FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON routing_revisions TO waybill_app
  USING (account_id = (SELECT nullif(current_setting('waybill.account', true), '')::uuid)
     AND livemode = (SELECT nullif(current_setting('waybill.livemode', true), '')::boolean));
CREATE POLICY system ON routing_revisions TO waybill_sys USING (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON routing_revisions TO waybill_sys, waybill_app;

ALTER TABLE rule_books ENABLE ROW LEVEL SECURITY;
ALTER TABLE rule_books FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON rule_books TO waybill_app
  USING (account_id = (SELECT nullif(current_setting('waybill.account', true), '')::uuid)
     AND livemode = (SELECT nullif(current_setting('waybill.livemode', true), '')::boolean));
CREATE POLICY system ON rule_books TO waybill_sys USING (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON rule_books TO waybill_sys, waybill_app;

ALTER TABLE rule_drafts ENABLE ROW LEVEL SECURITY;
ALTER TABLE rule_drafts FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON rule_drafts TO waybill_app
  USING (account_id = (SELECT nullif(current_setting('waybill.account', true), '')::uuid)
     AND livemode = (SELECT nullif(current_setting('waybill.livemode', true), '')::boolean));
CREATE POLICY system ON rule_drafts TO waybill_sys USING (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON rule_drafts TO waybill_sys, waybill_app;

ALTER TABLE rate_sheets ENABLE ROW LEVEL SECURITY;
ALTER TABLE rate_sheets FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON rate_sheets TO waybill_app
  USING (account_id = (SELECT nullif(current_setting('waybill.account', true), '')::uuid)
     AND livemode = (SELECT nullif(current_setting('waybill.livemode', true), '')::boolean));
CREATE POLICY system ON rate_sheets TO waybill_sys USING (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON rate_sheets TO waybill_sys, waybill_app;
