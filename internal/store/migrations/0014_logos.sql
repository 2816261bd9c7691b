-- +goose Up

-- The logo of an account, as public pages show it: a picture that the service itself
-- has drawn again. The hash is part of its address.
CREATE TABLE account_logos (
  account_id uuid PRIMARY KEY REFERENCES accounts (id),
  hash text NOT NULL,
  width integer NOT NULL,
  height integer NOT NULL,
  picture bytea NOT NULL
);
ALTER TABLE account_logos ALTER COLUMN picture SET STORAGE EXTERNAL;

ALTER TABLE account_logos ENABLE ROW LEVEL SECURITY;
ALTER TABLE account_logos FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON account_logos TO waybill_app
  USING (account_id = (SELECT nullif(current_setting('waybill.account', true), '')::uuid));
CREATE POLICY system ON account_logos TO waybill_sys USING (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON account_logos TO waybill_app, waybill_sys;
