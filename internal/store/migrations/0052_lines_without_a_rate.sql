-- +goose Up

-- The carriers that gave no rate for a row, each with its reason, in the format of
-- ship.NotQuoted: no texts of carriers. Null for a row that no carrier was asked about.
ALTER TABLE batch_rows ADD COLUMN not_quoted jsonb;

-- Whether the row waits to be quoted again because a carrier could not be asked. It
-- keeps the rate that it has until then.
ALTER TABLE batch_rows ADD COLUMN requote boolean NOT NULL DEFAULT false;
