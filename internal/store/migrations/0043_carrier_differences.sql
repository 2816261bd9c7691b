-- +goose Up

-- What carriers answered and their drivers do not know, at most 50 of a connection, by a hash of
-- what they are. They have no values of answers but the carriers' own codes.
ALTER TABLE connections ADD COLUMN differences jsonb NOT NULL DEFAULT '{}';
