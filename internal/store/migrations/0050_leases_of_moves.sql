-- +goose Up

-- While a shard is held or frozen, its mover has a lease that it renews. If the mover dies, a copy
-- of the service gives the shard back to its cell. The token keeps a mover that was paused from
-- going on with what was taken from it: every hold has a higher one. A mover that is about to
-- switch gives its lease up: from then on the shard can only go forward.
CREATE SEQUENCE shard_lease_tokens;
ALTER TABLE shards
  ADD COLUMN lease_token bigint NOT NULL DEFAULT 0,
  ADD COLUMN lease_until timestamptz;

CREATE FUNCTION release_shards() RETURNS SETOF integer
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  UPDATE public.shards SET moving_to = NULL, frozen = false, lease_until = NULL
  WHERE moving_to IS NOT NULL AND lease_until < clock_timestamp()
  RETURNING shard::integer
$$;
REVOKE EXECUTE ON FUNCTION release_shards FROM PUBLIC;
GRANT EXECUTE ON FUNCTION release_shards TO waybill_sys;
