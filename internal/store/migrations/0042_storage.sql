-- +goose Up

-- How many bytes of files, batches and objects of other APIs a tenant has stored on a day
-- (UTC). What is kept of a day is bounded by what may be stored on it, so nothing has to be
-- subtracted when rows are deleted.
CREATE TABLE storage_days (
  account_id uuid NOT NULL,
  livemode boolean NOT NULL,
  day date NOT NULL,
  bytes bigint NOT NULL,
  PRIMARY KEY (account_id, livemode, day)
) WITH (fillfactor = 70);
CREATE INDEX storage_days_by_day ON storage_days (day);
SELECT secure_table('storage_days', 'tenant', 'SELECT, INSERT, UPDATE', 'SELECT, INSERT, UPDATE, DELETE');

-- Files of test shipments that are deleted before their shipment.
CREATE TABLE upload_expiries (
  account_id uuid NOT NULL,
  livemode boolean NOT NULL,
  shipment_id uuid NOT NULL,
  position smallint NOT NULL, -- in documents
  expires_at timestamptz NOT NULL,
  PRIMARY KEY (account_id, livemode, shipment_id, position)
);
CREATE INDEX upload_expiries_by_time ON upload_expiries (expires_at);
SELECT secure_table('upload_expiries', 'tenant', 'SELECT, INSERT', 'SELECT, INSERT, UPDATE, DELETE');
