-- +goose Up

-- Files with what is held about a person. The file is encrypted, and deleted when
-- it expires.
CREATE TABLE exports (
  account_id uuid NOT NULL,
  livemode boolean NOT NULL,
  id uuid NOT NULL,
  subject_kind text NOT NULL CHECK (subject_kind IN ('email', 'phone')),
  subject_hash bytea NOT NULL, -- keyed
  state text NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'done', 'expired')),
  encrypted_subject bytea, -- until it is done
  encrypted_file bytea,
  counts jsonb NOT NULL DEFAULT '{}',
  finished_at timestamptz,
  expires_at timestamptz,
  PRIMARY KEY (account_id, livemode, id)
);
CREATE INDEX exports_by_expiry ON exports (expires_at) WHERE state = 'done';
SELECT secure_table('exports', 'tenant', 'SELECT, INSERT', 'SELECT, INSERT, UPDATE, DELETE');

-- For how many days an account keeps personal data and labels; null: as long as the
-- installation does.
ALTER TABLE accounts ADD COLUMN personal_data_days integer CHECK (personal_data_days BETWEEN 30 AND 3650);
ALTER TABLE accounts ADD COLUMN label_days integer CHECK (label_days BETWEEN 1 AND 3650);

-- Up to which shipment the personal data of an account was erased because of its age.
CREATE TABLE retention_progress (
  account_id uuid NOT NULL,
  livemode boolean NOT NULL,
  erased_through uuid NOT NULL,
  PRIMARY KEY (account_id, livemode)
);
SELECT secure_table('retention_progress', 'tenant', 'SELECT', 'SELECT, INSERT, UPDATE, DELETE');

-- Labels and documents are kept for as long as the operator chooses.
UPDATE partition_rules SET min_keep = '30 days' WHERE parent IN ('labels', 'documents');
