-- +goose Up

-- Labels as they were rendered for a file of many, or why one is not available in the format. It
-- is a cache: rows are deleted with their label, and after some days.
CREATE TABLE label_renderings (
  account_id uuid NOT NULL,
  livemode boolean NOT NULL,
  shipment_id uuid NOT NULL,
  format text NOT NULL CHECK (format IN ('pdf', 'zpl')),
  size text NOT NULL,
  dpi smallint NOT NULL,
  data bytea, -- NULL if the label was refused
  error_code text,
  error_message text,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (account_id, livemode, shipment_id, format, size, dpi),
  CHECK ((data IS NULL) = (error_code IS NOT NULL))
);
CREATE INDEX label_renderings_by_age ON label_renderings (created_at);
SELECT secure_table('label_renderings', 'tenant', 'SELECT, INSERT, UPDATE, DELETE', 'SELECT, INSERT, UPDATE, DELETE');

-- Files of labels that take longer to render than a request may take. The key follows from the
-- shipments and the format: whoever asks for the same file waits for the same work.
CREATE TABLE label_files (
  account_id uuid NOT NULL,
  livemode boolean NOT NULL,
  id uuid NOT NULL,
  content_key text NOT NULL,
  shipments uuid[] NOT NULL, -- in the order of the file
  format text NOT NULL CHECK (format IN ('pdf', 'zpl')),
  size text NOT NULL,
  dpi smallint NOT NULL,
  conversions integer NOT NULL, -- labels that need to be rendered
  state text NOT NULL DEFAULT 'preparing' CHECK (state IN ('preparing', 'ready')),
  PRIMARY KEY (account_id, livemode, id),
  UNIQUE (account_id, livemode, content_key)
) WITH (fillfactor = 80);
CREATE INDEX label_files_by_age ON label_files (id);
SELECT secure_table('label_files', 'tenant', 'SELECT, INSERT, UPDATE', 'SELECT, INSERT, UPDATE, DELETE');

-- The metadata of a shipment as a client changed it; NULL for that of its creation, which stays in the
-- request: events and repeated answers show it.
ALTER TABLE shipment_states ADD COLUMN metadata jsonb;
