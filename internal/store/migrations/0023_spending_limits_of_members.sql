-- +goose Up

-- What a member may spend on labels in a day of UTC in the dashboard; null: no limit.
-- purchase_attempts.api_key_id has the spender whose limit a purchase counts against: an
-- API key or a person.
ALTER TABLE members ADD COLUMN daily_limit_minor bigint CHECK (daily_limit_minor > 0);
ALTER TABLE members ADD COLUMN daily_limit_currency text
  CHECK ((daily_limit_minor IS NULL) = (daily_limit_currency IS NULL));

-- The person who had the rows of the batch purchased: their limit applies.
ALTER TABLE batches ADD COLUMN bought_by uuid;
