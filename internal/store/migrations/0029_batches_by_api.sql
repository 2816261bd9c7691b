-- +goose Up

-- The API key that a batch is bought with, if it came by the API: the key's limit applies to
-- each row. Null for a file.
ALTER TABLE batches ADD COLUMN api_key_id uuid;

-- What a row that came by the API asks for, in the format of package batch. Null for a row
-- of a file, for one that is invalid, and after an erasure.
ALTER TABLE batch_rows ADD COLUMN request jsonb;

-- The batch that a request under the key has created. Such a key is remembered as long as
-- that of a purchase: forgotten earlier, a retry would buy everything once more.
ALTER TABLE idempotency_keys ADD COLUMN batch_id uuid;
