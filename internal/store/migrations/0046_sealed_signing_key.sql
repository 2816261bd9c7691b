-- +goose Up

-- The signing key, encrypted with SECRET_KEY. There is either this or the key itself: a copy of
-- the database alone must not be enough to make links and pushes.
ALTER TABLE instance
  ALTER COLUMN signing_key DROP NOT NULL,
  ADD COLUMN sealed_signing_key bytea,
  ADD CONSTRAINT instance_has_one_signing_key CHECK ((signing_key IS NULL) <> (sealed_signing_key IS NULL));
