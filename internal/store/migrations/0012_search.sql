-- +goose Up

-- Both are trusted extensions: the owner of the database may create them.
CREATE EXTENSION IF NOT EXISTS pg_trgm;
CREATE EXTENSION IF NOT EXISTS btree_gin;

-- Any part of an order or tracking number.
CREATE INDEX shipment_facts_by_number_part ON shipment_facts USING gin (account_id, livemode, search_numbers gin_trgm_ops);

-- The words of a recipient: name, company, e-mail address and city. They are stored as
-- keyed hashes, because they are personal data and a copy of this table must not
-- disclose them.
CREATE TABLE search_words (
  account_id uuid NOT NULL,
  livemode boolean NOT NULL,
  word_hash bytea NOT NULL,
  shipment_id uuid NOT NULL,
  PRIMARY KEY (account_id, livemode, word_hash, shipment_id)
);
SELECT secure_table('search_words', 'tenant', 'SELECT', 'SELECT, INSERT, UPDATE, DELETE');
