-- +goose Up

CREATE TYPE event_kind AS ENUM ('shipment.created', 'label.generated', 'shipment.picked_up', 'shipment.in_transit', 'shipment.delivered', 'shipment.exception');

-- The log of events that clients read and webhooks deliver, in the order of
-- transactions. Readers stop at the oldest transaction that still runs: one that
-- commits late has a txid beyond that point, so no cursor has passed it.
CREATE TABLE events (
  txid xid8 NOT NULL DEFAULT pg_current_xact_id(),
  id uuid NOT NULL,
  account_id uuid NOT NULL,
  livemode boolean NOT NULL,
  subject_id uuid NOT NULL, -- of the shipment or tracker
  kind event_kind NOT NULL,
  sequence integer NOT NULL, -- of the subject's events, from 1
  body_version smallint NOT NULL,
  late boolean NOT NULL DEFAULT false, -- a later status was reported before
  is_tracker boolean NOT NULL DEFAULT false,
  snapshot json NOT NULL, -- what the body is rendered from, besides the shipment
  PRIMARY KEY (txid, id)
) PARTITION BY RANGE (id);
CREATE INDEX events_by_account ON events (account_id, livemode, txid, id);
CREATE INDEX events_by_id ON events USING brin (id) WITH (pages_per_range = 16);
SELECT secure_table('events', 'tenant', 'SELECT, INSERT', 'SELECT, INSERT, UPDATE, DELETE');
