-- +goose Up
-- What a key may spend on labels in a day of UTC, in minor units.
ALTER TABLE api_keys ADD COLUMN daily_limit bigint CHECK (daily_limit > 0);
ALTER TABLE api_keys ADD COLUMN daily_limit_currency text;

-- What an attempt may cost the key that asked for it, or did; null without a limit.
ALTER TABLE purchase_attempts ADD COLUMN key_id uuid;
ALTER TABLE purchase_attempts ADD COLUMN reserved bigint;
CREATE INDEX purchase_attempts_by_key ON purchase_attempts (account_id, livemode, key_id, id) WHERE key_id IS NOT NULL;

-- Endpoints that fail, or were switched off: the few that somebody should look at.
CREATE INDEX webhook_endpoints_in_trouble ON webhook_endpoints (id) WHERE parked OR NOT enabled;

-- When its owners were told that an endpoint was given up.
ALTER TABLE webhook_endpoints ADD COLUMN told_at timestamptz;
