-- +goose Up

-- Whether an account is reached with the identity provider alone, and the owners who reach
-- it in another way, for when the provider is out of order.
ALTER TABLE accounts ADD COLUMN sso_required boolean NOT NULL DEFAULT false;
ALTER TABLE members ADD COLUMN break_glass boolean NOT NULL DEFAULT false;

-- The accounts that the session has reached in that way: each is recorded once.
ALTER TABLE sessions ADD COLUMN break_glass_accounts uuid[] NOT NULL DEFAULT '{}';
