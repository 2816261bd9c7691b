-- +goose Up

-- The places that a tenant ships from. Shipments, pickups and manifests have a copy of the
-- address, so a location can be changed and deleted at any time. One of them at most is the
-- default; names are unique, whatever their case, because files of orders refer to them.
CREATE TABLE locations (
  account_id uuid NOT NULL,
  livemode boolean NOT NULL,
  id uuid NOT NULL,
  name text NOT NULL,
  address json NOT NULL,
  contact json NOT NULL DEFAULT '{}', -- whom a driver asks for
  cutoff_times json NOT NULL DEFAULT '[]', -- in the time of the place
  connection_ids uuid[] NOT NULL DEFAULT '{}', -- the carrier accounts that are used from here; none means all
  is_default boolean NOT NULL DEFAULT false,
  PRIMARY KEY (account_id, livemode, id)
);
CREATE UNIQUE INDEX locations_by_name ON locations (account_id, livemode, lower(name));
CREATE UNIQUE INDEX locations_one_default ON locations (account_id, livemode) WHERE is_default;
SELECT secure_table('locations', 'tenant', 'SELECT, INSERT, UPDATE, DELETE', 'SELECT');

-- The location that the parcels of a manifest leave from, as in its request: lists show it,
-- and do not read the request, which has all labels. Null for an address of its own.
ALTER TABLE manifests ADD COLUMN location json;
