-- +goose Up

-- The login that serves need not be the one that migrates: it owns nothing, so it can
-- neither change nor delete what its roles were not granted. What it needs of the owner,
-- new partitions and the end of old ones, it gets from two functions that run as the
-- owner and check what they are asked.

-- The tables that are partitioned by the time in their ids. A new partitioned table gets
-- a row here in the migration that creates it.
CREATE TABLE partition_rules (
  parent text PRIMARY KEY,
  period text NOT NULL CHECK (period IN ('day', 'month', 'year')),
  ahead smallint NOT NULL, -- partitions made before they are needed
  storage text NOT NULL DEFAULT '', -- parameters of each partition
  min_keep interval -- no partition is dropped before it is this old; null: none ever is
);
INSERT INTO partition_rules (parent, period, ahead, storage, min_keep) VALUES
  ('shipments', 'year', 1, '', NULL),
  ('shipment_states', 'year', 1, 'WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05)', NULL),
  ('purchase_attempts', 'year', 1, '', NULL),
  ('tracking_events', 'year', 1, '', NULL),
  ('labels', 'month', 1, '', NULL),
  ('charges', 'month', 1, '', NULL),
  ('documents', 'month', 1, '', NULL),
  ('events', 'day', 3, '', '30 days'),
  ('webhook_attempts', 'day', 3, '', '30 days'),
  ('pushes', 'day', 3, '', '30 days'),
  ('api_requests', 'day', 3, '', '0'), -- the operator chooses how long these two are kept
  ('carrier_exchanges', 'day', 3, '', '0'),
  ('carrier_calls', 'day', 3, '', '3 days');
GRANT SELECT ON partition_rules TO waybill_sys;

-- partitions_around lists the partitions that the time needs: its own (number 0), those
-- ahead, and the one before, for a clock that lags at the border.
-- +goose StatementBegin
CREATE FUNCTION partitions_around(at timestamptz)
RETURNS TABLE (parent text, number int, name text, first_id uuid, end_id uuid, storage text)
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT due.parent, due.number,
    due.parent || '_' || to_char(due.starts, CASE due.period WHEN 'day' THEN 'YYYYMMDD' WHEN 'month' THEN 'YYYYMM' ELSE 'YYYY' END),
    (lpad(to_hex((extract(epoch FROM due.starts) * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid,
    (lpad(to_hex((extract(epoch FROM due.starts + due.step) * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid,
    due.storage
  FROM (
    SELECT r.parent, r.period, r.storage, n AS number, ('1 ' || r.period)::interval AS step,
      date_trunc(r.period, at AT TIME ZONE 'UTC') + n * ('1 ' || r.period)::interval AS starts
    FROM public.partition_rules r, generate_series(-1, r.ahead) n
  ) due
$$;
-- +goose StatementEnd

-- make_partitions makes those of them that are missing. A partition is made apart and then
-- attached, because that takes a lock on the parent that does not stop readers and writers.
-- +goose StatementBegin
CREATE FUNCTION make_partitions(at timestamptz) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  due record;
BEGIN
  PERFORM pg_advisory_xact_lock(512736453232); -- lockSchema: one copy at a time
  FOR due IN SELECT * FROM public.partitions_around(at) a WHERE to_regclass(format('public.%I', a.name)) IS NULL LOOP
    EXECUTE format('CREATE TABLE public.%I (LIKE public.%I INCLUDING ALL) %s', due.name, due.parent, due.storage);
    EXECUTE format('ALTER TABLE public.%I ENABLE ROW LEVEL SECURITY', due.name);
    EXECUTE format('ALTER TABLE public.%I FORCE ROW LEVEL SECURITY', due.name);
    EXECUTE format('ALTER TABLE public.%I ATTACH PARTITION public.%I FOR VALUES FROM (%L) TO (%L)', due.parent, due.name, due.first_id, due.end_id);
  END LOOP;
END $$;
-- +goose StatementEnd

-- drop_partition drops the oldest partition of the table that ended before the time, and
-- returns its name; null if there is none. The lock on the parent stops its readers and
-- writers, so it is held for the moment of the drop alone, and not waited for behind a
-- slow reader: the caller tries again.
-- +goose StatementBegin
CREATE FUNCTION drop_partition(target text, before timestamptz) RETURNS text
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  rule record;
  oldest record;
  layout text;
BEGIN
  SELECT * INTO rule FROM public.partition_rules r WHERE r.parent = target AND r.min_keep IS NOT NULL;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'partitions of % are not dropped', coalesce(quote_ident(target), 'no table') USING ERRCODE = 'insufficient_privilege';
  END IF;
  PERFORM pg_advisory_xact_lock(512736453220); -- one copy at a time
  SET LOCAL lock_timeout = '250ms';

  -- Names compare like the times in them. A partition whose detaching was cut short, or
  -- that was detached and not dropped, is found too.
  layout := CASE rule.period WHEN 'day' THEN 'YYYYMMDD' WHEN 'month' THEN 'YYYYMM' ELSE 'YYYY' END;
  SELECT c.relname, i.inhrelid IS NOT NULL AS attached, coalesce(i.inhdetachpending, false) AS pending INTO oldest
  FROM pg_class p
  JOIN pg_class c ON c.relnamespace = p.relnamespace AND c.relowner = p.relowner AND c.relkind = 'r'
  LEFT JOIN pg_inherits i ON i.inhrelid = c.oid AND i.inhparent = p.oid
  WHERE p.oid = format('public.%I', rule.parent)::regclass
    AND c.relispartition = (i.inhrelid IS NOT NULL)
    AND c.relname ~ ('^' || rule.parent || '_[0-9]{' || length(layout) || '}$')
    AND right(c.relname, length(layout)) COLLATE "C" < to_char(before AT TIME ZONE 'UTC', layout)
  ORDER BY c.relname COLLATE "C" LIMIT 1;
  IF NOT FOUND THEN
    RETURN NULL;
  END IF;

  IF oldest.pending THEN
    EXECUTE format('ALTER TABLE public.%I DETACH PARTITION public.%I FINALIZE', rule.parent, oldest.relname);
  ELSIF oldest.attached THEN
    EXECUTE format('ALTER TABLE public.%I DETACH PARTITION public.%I', rule.parent, oldest.relname);
  END IF;
  EXECUTE format('DROP TABLE public.%I', oldest.relname);
  RETURN oldest.relname;
END $$;
-- +goose StatementEnd

-- What the service may ask of the owner. The time is the database's own, so nobody can
-- make partitions of other times or drop those that are still kept.
-- +goose StatementBegin
CREATE FUNCTION create_due_partitions() RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT public.make_partitions(now())
$$;
-- +goose StatementEnd

-- drop_expired_partition drops one partition that ended longer ago than keep, and an hour:
-- a row may commit after the time in its id.
-- +goose StatementBegin
CREATE FUNCTION drop_expired_partition(target text, keep interval) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  minimum interval := (SELECT r.min_keep FROM public.partition_rules r WHERE r.parent = target);
BEGIN
  IF minimum IS NULL THEN
    RAISE EXCEPTION 'partitions of % are not dropped', coalesce(quote_ident(target), 'no table') USING ERRCODE = 'insufficient_privilege';
  END IF;
  IF keep IS NULL OR keep < minimum THEN
    RAISE EXCEPTION 'partitions of % are kept for at least %', target, minimum USING ERRCODE = 'insufficient_privilege';
  END IF;

  -- Both are compared again as times: a month may have fewer than thirty days.
  RETURN public.drop_partition(target, least(now() - keep, now() - minimum) - interval '1 hour');
END $$;
-- +goose StatementEnd

REVOKE EXECUTE ON FUNCTION partitions_around, make_partitions, drop_partition, create_due_partitions, drop_expired_partition FROM PUBLIC;
GRANT EXECUTE ON FUNCTION create_due_partitions, drop_expired_partition, partitions_around TO waybill_sys;

-- A copy that cannot migrate must be able to see that it is time to.
GRANT SELECT ON goose_db_version TO waybill_sys;
