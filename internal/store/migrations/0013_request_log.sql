-- +goose Up

-- The requests to the API of the last days. Bodies of requests are not stored; of
-- responses only the problem, which repeats nothing of the request.
CREATE TABLE api_requests (
  id uuid NOT NULL,
  account_id uuid NOT NULL,
  livemode boolean NOT NULL,
  api_key_id uuid NOT NULL,
  method text NOT NULL,
  route text NOT NULL,
  path text NOT NULL,
  response_status smallint NOT NULL,
  duration_us integer NOT NULL,
  idempotency_key text,
  error_code text,
  problem bytea,
  PRIMARY KEY (account_id, livemode, id)
) PARTITION BY RANGE (id);
CREATE INDEX api_requests_by_api_key ON api_requests (account_id, livemode, api_key_id, id);
CREATE INDEX api_requests_by_route ON api_requests (account_id, livemode, route, id);
CREATE INDEX api_requests_failed ON api_requests (account_id, livemode, id) WHERE response_status >= 400;
SELECT secure_table('api_requests', 'tenant', 'SELECT, INSERT, UPDATE, DELETE', 'SELECT, INSERT, UPDATE, DELETE');

-- The requests to carriers about a shipment and their responses, compressed and
-- without secrets.
CREATE TABLE carrier_exchanges (
  id uuid NOT NULL,
  account_id uuid NOT NULL,
  livemode boolean NOT NULL,
  shipment_id uuid NOT NULL,
  connection_id uuid NOT NULL,
  operation text NOT NULL,
  method text NOT NULL,
  url text NOT NULL,
  response_status smallint,
  duration_ms integer NOT NULL,
  error text,
  exchange bytea NOT NULL,
  PRIMARY KEY (account_id, livemode, shipment_id, id)
) PARTITION BY RANGE (id);
SELECT secure_table('carrier_exchanges', 'tenant', 'SELECT, INSERT, UPDATE, DELETE', 'SELECT, INSERT, UPDATE, DELETE');

-- The calls of each connection, counted in intervals of five minutes: the id is the
-- smallest of the interval. Every process adds its own.
CREATE TABLE carrier_calls (
  interval_id uuid NOT NULL,
  account_id uuid NOT NULL,
  livemode boolean NOT NULL,
  connection_id uuid NOT NULL,
  operation text NOT NULL,
  calls integer NOT NULL,
  declined integer NOT NULL,
  failed integer NOT NULL,
  duration_histogram integer[] NOT NULL,
  PRIMARY KEY (account_id, livemode, interval_id, connection_id, operation)
) PARTITION BY RANGE (interval_id);
SELECT secure_table('carrier_calls', 'tenant', 'SELECT, INSERT, UPDATE, DELETE', 'SELECT, INSERT, UPDATE, DELETE');
