-- +goose Up

-- Shipments are kept for as long as the operator chooses. The tables whose partitions are
-- years of shipments lose a year together, in one transaction: a shipment is there as a
-- whole, or not at all. None of them can be dropped alone, so their min_keep stays null.
ALTER TABLE partition_rules ADD COLUMN drop_group text; -- tables that are dropped together
ALTER TABLE partition_rules ADD COLUMN group_min_keep interval;
UPDATE partition_rules SET drop_group = 'shipments', group_min_keep = '90 days'
WHERE parent IN ('shipments', 'shipment_states', 'purchase_attempts', 'tracking_events');

-- The ledger has numbers and amounts, and nobody's name.
UPDATE partition_rules SET min_keep = '10 years' WHERE parent = 'charges';

-- Up to which tracker the texts of carriers were erased because of their age.
ALTER TABLE retention_progress ADD COLUMN trackers_through uuid NOT NULL DEFAULT '00000000-0000-0000-0000-000000000000';

-- How far rows about a year of shipments were deleted from the tables without partitions,
-- in blocks of the table. It is emptied when the year is dropped.
CREATE TABLE shipment_sweeps (
  relation text PRIMARY KEY,
  before_id uuid NOT NULL, -- rows about shipments before it are deleted
  next_block bigint NOT NULL
);
GRANT SELECT, INSERT, UPDATE, DELETE ON shipment_sweeps TO waybill_sys;

-- expired_shipment_year is the oldest year of shipments that ended longer ago than keep,
-- and an hour: a row may commit after the time in its id. The year before the present one
-- is never returned, because make_partitions would create it again.
-- +goose StatementBegin
CREATE FUNCTION expired_shipment_year(keep interval) RETURNS TABLE (year text, end_id uuid)
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT oldest.year,
    (lpad(to_hex((extract(epoch FROM make_timestamptz(oldest.year::int + 1, 1, 1, 0, 0, 0, 'UTC')) * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid
  FROM (
    SELECT min(right(c.relname, 4) COLLATE "C") AS year
    FROM public.partition_rules r
    JOIN pg_class p ON p.oid = format('public.%I', r.parent)::regclass
    JOIN pg_class c ON c.relnamespace = p.relnamespace AND c.relowner = p.relowner AND c.relkind = 'r'
    WHERE r.drop_group = 'shipments' AND c.relname ~ ('^' || r.parent || '_[0-9]{4}$')
  ) oldest
  WHERE oldest.year < to_char((now() - keep - interval '1 hour') AT TIME ZONE 'UTC', 'YYYY')
    AND oldest.year < to_char((now() - interval '1 year') AT TIME ZONE 'UTC', 'YYYY')
$$;
-- +goose StatementEnd

-- drop_expired_shipments drops that year from all tables of the group and returns it; null
-- if there is none. Whether the year has purchases that are not settled is for the caller
-- to see in the same transaction, with these tables locked: row-level security hides the
-- rows from the owner, as whom this runs.
-- +goose StatementBegin
CREATE FUNCTION drop_expired_shipments(keep interval) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  minimum interval := (SELECT max(r.group_min_keep) FROM public.partition_rules r WHERE r.drop_group = 'shipments');
  expired text;
  part record;
BEGIN
  IF minimum IS NULL OR keep IS NULL OR keep < minimum THEN
    RAISE EXCEPTION 'shipments are kept for at least %', coalesce(minimum::text, 'ever') USING ERRCODE = 'insufficient_privilege';
  END IF;
  PERFORM pg_advisory_xact_lock(512736453220); -- one copy at a time
  SET LOCAL lock_timeout = '250ms';

  expired := (SELECT y.year FROM public.expired_shipment_year(greatest(keep, minimum)) y);
  FOR part IN
    SELECT r.parent, c.relname, i.inhrelid IS NOT NULL AS attached
    FROM public.partition_rules r
    JOIN pg_class p ON p.oid = format('public.%I', r.parent)::regclass
    JOIN pg_class c ON c.relnamespace = p.relnamespace AND c.relowner = p.relowner AND c.relkind = 'r' AND c.relname = r.parent || '_' || expired
    LEFT JOIN pg_inherits i ON i.inhrelid = c.oid AND i.inhparent = p.oid
    WHERE r.drop_group = 'shipments' AND c.relispartition = (i.inhrelid IS NOT NULL)
    ORDER BY r.parent
  LOOP
    IF part.attached THEN
      EXECUTE format('ALTER TABLE public.%I DETACH PARTITION public.%I', part.parent, part.relname);
    END IF;
    EXECUTE format('DROP TABLE public.%I', part.relname);
  END LOOP;
  RETURN expired;
END $$;
-- +goose StatementEnd

REVOKE EXECUTE ON FUNCTION expired_shipment_year, drop_expired_shipments FROM PUBLIC;
GRANT EXECUTE ON FUNCTION expired_shipment_year, drop_expired_shipments TO waybill_sys;
