-- +goose Up

-- How the purchases of a batch and of a rated shipment are named by their idempotency keys.
-- 1: by keys that a client could send too; 2: by keys of the service alone. A row keeps what
-- it was created with, because the carriers' references are derived from the keys. Copies of
-- the release before this one do not write the column, so their rows are 1.
ALTER TABLE batches ADD COLUMN key_version smallint NOT NULL DEFAULT 1 CHECK (key_version IN (1, 2));
ALTER TABLE compat_objects ADD COLUMN key_version smallint NOT NULL DEFAULT 1 CHECK (key_version IN (1, 2));

-- The fingerprint of the request that a manifest was closed for, as in idempotency_keys: its
-- key does not answer another request. Null without a key, and for manifests of the release
-- before this one.
ALTER TABLE manifests ADD COLUMN fingerprint bytea;
