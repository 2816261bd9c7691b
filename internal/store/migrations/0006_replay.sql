-- +goose Up

-- The client was told of the event under a status that a better table has
-- changed or taken away since: it is told of an event once.
ALTER TABLE tracking_events ADD COLUMN told boolean NOT NULL DEFAULT false;
