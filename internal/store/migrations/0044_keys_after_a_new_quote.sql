-- +goose Up

-- Of a purchase by a rate id: a hash of the request without the rate id, and of the carrier,
-- connection and service of the rate. A client that quotes again gets another rate id for the same
-- offer, and its request is still a repeat. Null for other requests, and for older ones.
ALTER TABLE idempotency_keys ADD COLUMN offer_fingerprint bytea;
