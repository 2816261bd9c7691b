-- +goose Up

-- Until when failures are remembered although nobody tries any more: what a stranger may guess a
-- few times must not be guessed again after a quiet day.
ALTER TABLE sign_in_throttles ADD COLUMN kept_until timestamptz;
