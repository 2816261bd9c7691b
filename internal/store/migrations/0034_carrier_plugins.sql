-- +goose Up

-- Carriers whose driver is a program of its own, which operators register. They belong to
-- no account. A removed one is kept: what was bought through it may have to be settled or
-- voided.
CREATE TABLE carrier_plugins (
  name text PRIMARY KEY,
  url text NOT NULL,
  encrypted_secret bytea NOT NULL, -- signs requests and answers
  description jsonb NOT NULL,      -- what the plug-in said about itself
  revision integer NOT NULL DEFAULT 1,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  removed_at timestamptz
);
GRANT SELECT, INSERT, UPDATE ON carrier_plugins TO waybill_sys;
