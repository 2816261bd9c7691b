-- +goose Up

-- A line that a carrier was asked to sell, and nobody knows yet what became of
-- it: it waits until its shipment is settled.
ALTER TABLE batch_rows
  DROP CONSTRAINT batch_rows_state_check,
  ADD CONSTRAINT batch_rows_state_check CHECK (state IN ('unread', 'bad', 'good', 'rated', 'skipped', 'buying', 'pending', 'bought', 'failed'));

-- How a batch is going to be printed: carriers are asked for labels that can
-- be printed so.
ALTER TABLE batches ADD COLUMN label_format text NOT NULL DEFAULT 'pdf' CHECK (label_format IN ('pdf', 'zpl'));

-- Files past their time are looked for by age alone.
CREATE INDEX batches_by_age ON batches (id);
