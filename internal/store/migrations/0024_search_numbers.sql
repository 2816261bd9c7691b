-- +goose Up

-- The order and tracking numbers of a shipment, in capitals and without punctuation.
-- They have a table of their own because they hardly ever change, and their index is
-- expensive to write: in one row with the status, every scan would write it again.
CREATE TABLE search_numbers (
  account_id uuid NOT NULL,
  livemode boolean NOT NULL,
  shipment_id uuid NOT NULL,
  numbers text NOT NULL,
  PRIMARY KEY (account_id, livemode, shipment_id)
);
SELECT secure_table('search_numbers', 'tenant', 'SELECT', 'SELECT, INSERT, UPDATE, DELETE');

-- The table's owner sees no rows under row-level security; the system's role does.
SET LOCAL ROLE waybill_sys;
INSERT INTO search_numbers SELECT account_id, livemode, shipment_id, search_numbers FROM shipment_facts;
RESET ROLE;
CREATE INDEX search_numbers_by_part ON search_numbers USING gin (account_id, livemode, numbers gin_trgm_ops);

-- Copies of v0.1.0 still write and search the column; 0026 says how long it stays.
DROP INDEX shipment_facts_by_number_part;
