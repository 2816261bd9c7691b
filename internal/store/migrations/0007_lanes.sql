-- +goose Up

-- How long an account's parcels took with a service from one area to another:
-- days[n] of them arrived n - 1 days after they were sent, the last element's
-- that long or longer. Old ones fade: beyond 500 all are halved.
CREATE TABLE lane_times (
  account_id uuid NOT NULL,
  livemode boolean NOT NULL,
  carrier text NOT NULL,
  service text NOT NULL,
  origin text NOT NULL,
  destination text NOT NULL,
  delivered integer NOT NULL,
  days integer[] NOT NULL,
  PRIMARY KEY (account_id, livemode, origin, destination, carrier, service)
) WITH (fillfactor = 80);

ALTER TABLE lane_times ENABLE ROW LEVEL SECURITY;
ALTER TABLE lane_times FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON lane_times TO waybill_app
  USING (account_id = (SELECT nullif(current_setting('waybill.account', true), '')::uuid)
     AND livemode = (SELECT nullif(current_setting('waybill.livemode', true), '')::boolean));
CREATE POLICY system ON lane_times TO waybill_sys USING (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON lane_times TO waybill_sys, waybill_app;
