-- +goose Up

-- What carriers reported, each event once. It belongs to a shipment or a tracker.
CREATE TABLE tracking_events (
  subject_id uuid NOT NULL,
  account_id uuid NOT NULL,
  livemode boolean NOT NULL,
  piece smallint NOT NULL,
  code text NOT NULL, -- of the carrier
  occurred_at timestamptz NOT NULL,
  status tracking_status, -- null if the code does not change the status
  reason text,
  description text NOT NULL,
  location text,
  raw json, -- as the carrier sent it
  timezone_unknown boolean NOT NULL DEFAULT false, -- occurred_at is the local time of the location
  notified boolean NOT NULL DEFAULT false, -- clients got an event under a status that has changed since; they get no other
  PRIMARY KEY (account_id, livemode, subject_id, piece, code, occurred_at)
) PARTITION BY RANGE (subject_id);

-- Codes without a status: of all accounts, for operators, and of one account.
CREATE INDEX tracking_events_unmapped ON tracking_events (code) WHERE reason = 'unmapped';
CREATE INDEX tracking_events_unmapped_by_account ON tracking_events (account_id, livemode, subject_id) WHERE reason = 'unmapped';
SELECT secure_table('tracking_events', 'tenant', 'SELECT, INSERT, UPDATE, DELETE', 'SELECT, INSERT, UPDATE, DELETE');

-- When the sandbox is next asked about a shipment. One row for each that is not
-- delivered.
CREATE TABLE sandbox_polls (
  subject_id uuid NOT NULL,
  account_id uuid NOT NULL,
  livemode boolean NOT NULL,
  due_at timestamptz NOT NULL,
  PRIMARY KEY (account_id, livemode, subject_id)
);
CREATE INDEX sandbox_polls_due ON sandbox_polls (due_at, account_id, livemode, subject_id);
SELECT secure_table('sandbox_polls', 'tenant', 'SELECT, INSERT, UPDATE, DELETE', 'SELECT, INSERT, UPDATE, DELETE');

-- When a carrier is next asked about a shipment or tracker, and through which
-- connection. One row for each that is not delivered.
CREATE TABLE carrier_polls (
  account_id uuid NOT NULL,
  livemode boolean NOT NULL,
  subject_id uuid NOT NULL,
  connection_id uuid NOT NULL,
  due_at timestamptz NOT NULL,
  push_subscribed_until timestamptz, -- until then the carrier pushes updates of it
  PRIMARY KEY (account_id, livemode, subject_id)
) WITH (fillfactor = 80);
CREATE INDEX carrier_polls_due ON carrier_polls (due_at, connection_id, account_id, livemode, subject_id);
SELECT secure_table('carrier_polls', 'tenant', 'SELECT, INSERT, UPDATE, DELETE', 'SELECT, INSERT, UPDATE, DELETE');

-- What carriers pushed, as received. The id follows from the body and the day, so a
-- repeated push is stored once.
CREATE TABLE pushes (
  id uuid NOT NULL,
  account_id uuid NOT NULL,
  livemode boolean NOT NULL,
  connection_id uuid NOT NULL,
  headers json NOT NULL,
  body bytea NOT NULL,
  PRIMARY KEY (account_id, livemode, id)
) PARTITION BY RANGE (id);
SELECT secure_table('pushes', 'tenant', 'SELECT, INSERT, UPDATE, DELETE', 'SELECT, INSERT, UPDATE, DELETE');

-- The pushes whose updates are not applied yet. Rows are narrow and deleted soon.
CREATE TABLE pending_pushes (
  account_id uuid NOT NULL,
  livemode boolean NOT NULL,
  push_id uuid NOT NULL,
  due_at timestamptz NOT NULL,
  body_bytes integer NOT NULL,
  attempts smallint NOT NULL DEFAULT 0,
  PRIMARY KEY (account_id, livemode, push_id)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000);
CREATE INDEX pending_pushes_due ON pending_pushes (due_at);
SELECT secure_table('pending_pushes', 'tenant', 'SELECT, INSERT, UPDATE, DELETE', 'SELECT, INSERT, UPDATE, DELETE');

-- Until when a carrier pushes updates of all shipments of a connection.
CREATE TABLE push_subscriptions (
  account_id uuid NOT NULL,
  livemode boolean NOT NULL,
  connection_id uuid NOT NULL,
  subscribed_until timestamptz,
  PRIMARY KEY (account_id, livemode, connection_id)
);
SELECT secure_table('push_subscriptions', 'tenant', 'SELECT, INSERT, UPDATE, DELETE', 'SELECT, INSERT, UPDATE, DELETE');

-- How many days an account's shipments took with a service from one area to another:
-- deliveries_by_day[n] of them were delivered n - 1 days after they were shipped, the
-- last element counts those that took longer too. Above 500 deliveries all counts are
-- halved, so that old ones matter less.
CREATE TABLE transit_times (
  account_id uuid NOT NULL,
  livemode boolean NOT NULL,
  carrier text NOT NULL,
  service text NOT NULL,
  origin_area text NOT NULL,
  destination_area text NOT NULL,
  deliveries integer NOT NULL,
  deliveries_by_day integer[] NOT NULL,
  PRIMARY KEY (account_id, livemode, origin_area, destination_area, carrier, service)
) WITH (fillfactor = 80);
SELECT secure_table('transit_times', 'tenant', 'SELECT, INSERT, UPDATE, DELETE', 'SELECT, INSERT, UPDATE, DELETE');
