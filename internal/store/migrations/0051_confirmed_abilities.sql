-- +goose Up

-- The abilities of a live connection that have worked, of those that rest on a fact without a public
-- source. The others of these are off.
ALTER TABLE connections ADD COLUMN confirmed text[] NOT NULL DEFAULT '{}';
