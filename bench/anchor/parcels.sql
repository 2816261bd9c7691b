-- Gives 20,000 parcels numbers that pgbench can make up, and three scans each.
-- It runs on the anchor's tables and on the product's.
CREATE TEMP TABLE chosen AS
SELECT account_id, livemode, id, 'B' || (row_number() OVER (ORDER BY id DESC) - 1) AS number
FROM shipment_states WHERE state = 'purchased' AND NOT livemode ORDER BY id DESC LIMIT 20000;

UPDATE lookup_keys l SET value = c.number FROM chosen c
WHERE l.account_id = c.account_id AND l.livemode = c.livemode AND l.kind = 't' AND l.subject_id = c.id;

UPDATE shipment_states st SET tracking_number = c.number FROM chosen c
WHERE st.account_id = c.account_id AND st.livemode = c.livemode AND st.id = c.id;

INSERT INTO tracking_events (account_id, livemode, subject_id, piece, code, occurred_at, status, description, location)
SELECT account_id, livemode, id, 0, 'C' || g, date_trunc('second', now()) + g * interval '1 hour',
  (ARRAY['picked_up', 'in_transit', 'out_for_delivery'])[g]::tracking_status, 'Scanned', 'Louisville, KY, US'
FROM chosen, generate_series(1, 3) g;
