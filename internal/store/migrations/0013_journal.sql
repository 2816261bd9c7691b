-- +goose Up

-- What programs asked of the API, for a few days. There is no body of a request here:
-- of an answer only the problem, which repeats nothing of the request.
CREATE TABLE api_requests (
  id uuid NOT NULL,
  account_id uuid NOT NULL,
  livemode boolean NOT NULL,
  key_id uuid NOT NULL,
  method text NOT NULL,
  route text NOT NULL,
  path text NOT NULL,
  status smallint NOT NULL,
  took_us integer NOT NULL,
  idempotency_key text,
  code text,
  problem bytea,
  PRIMARY KEY (account_id, livemode, id)
) PARTITION BY RANGE (id);
CREATE INDEX api_requests_by_key ON api_requests (account_id, livemode, key_id, id);
CREATE INDEX api_requests_by_route ON api_requests (account_id, livemode, route, id);
CREATE INDEX api_requests_failed ON api_requests (account_id, livemode, id) WHERE status >= 400;

-- What was said to a carrier about a shipment and what it answered, compressed and
-- without secrets.
CREATE TABLE carrier_exchanges (
  id uuid NOT NULL,
  account_id uuid NOT NULL,
  livemode boolean NOT NULL,
  shipment_id uuid NOT NULL,
  connection uuid NOT NULL,
  operation text NOT NULL,
  method text NOT NULL,
  url text NOT NULL,
  status smallint,
  took_ms integer NOT NULL,
  error text,
  said bytea NOT NULL,
  PRIMARY KEY (account_id, livemode, shipment_id, id)
) PARTITION BY RANGE (id);

-- How the calls of each connection went, in slots of five minutes: the id is the
-- smallest of the slot. Every copy of the program adds its own.
CREATE TABLE carrier_calls (
  id uuid NOT NULL,
  account_id uuid NOT NULL,
  livemode boolean NOT NULL,
  connection uuid NOT NULL,
  operation text NOT NULL,
  calls integer NOT NULL,
  refused integer NOT NULL,
  failed integer NOT NULL,
  times integer[] NOT NULL,
  PRIMARY KEY (account_id, livemode, id, connection, operation)
) PARTITION BY RANGE (id);

-- +goose StatementBegin
DO $$
DECLARE t text;
BEGIN
  FOREACH t IN ARRAY ARRAY['api_requests', 'carrier_exchanges', 'carrier_calls'] LOOP
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', t);
    EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', t);
    EXECUTE format($p$CREATE POLICY tenant ON %I TO waybill_app
      USING (account_id = (SELECT nullif(current_setting('waybill.account', true), '')::uuid)
         AND livemode = (SELECT nullif(current_setting('waybill.livemode', true), '')::boolean))$p$, t);
    EXECUTE format('CREATE POLICY system ON %I TO waybill_sys USING (true)', t);
    EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %I TO waybill_sys, waybill_app', t);
  END LOOP;
END $$;
-- +goose StatementEnd
