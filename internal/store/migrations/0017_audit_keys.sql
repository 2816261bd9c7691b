-- +goose Up
-- Who did something is a person, an API key, or, where both are null, the operator.
ALTER TABLE audit_log ADD COLUMN key_id uuid;

CREATE INDEX audit_log_by_key ON audit_log (account_id, key_id, id) WHERE key_id IS NOT NULL;
-- What one kind of them did, from its newest end, however much the others did.
CREATE INDEX audit_log_of_people ON audit_log (account_id, id) WHERE person_id IS NOT NULL;
CREATE INDEX audit_log_of_keys ON audit_log (account_id, id) WHERE key_id IS NOT NULL;
CREATE INDEX audit_log_of_operators ON audit_log (account_id, id) WHERE person_id IS NULL AND key_id IS NULL;
