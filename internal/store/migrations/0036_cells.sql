-- +goose Up

-- Cells: databases that accounts are divided between, by their shard. An installation
-- with one database has no row here, and nothing below costs it anything.
--
-- One database is the directory: its cells and shards say where every account is. In the
-- others these tables say what that cell knows.
CREATE TABLE cells (
  name text PRIMARY KEY CHECK (name ~ '^[a-z][a-z0-9-]{0,30}$'),
  url text NOT NULL, -- of its copies of the service, for routers
  added_at timestamptz NOT NULL DEFAULT now()
);
GRANT SELECT ON cells TO waybill_sys;

-- The epoch counts the moves of a shard. While moving_to is set, routers hold its
-- requests; while it is frozen, nobody writes to it.
ALTER TABLE shards
  ADD COLUMN epoch integer NOT NULL DEFAULT 0,
  ADD COLUMN moving_to text,
  ADD COLUMN frozen boolean NOT NULL DEFAULT false;

-- What this cell owns: a bit for each shard, kept by a trigger. The log's epoch is the
-- first part of the order of events; readers see a new one only when every transaction
-- that still writes the one before is over. There is a row if this database is a cell
-- among others.
CREATE TABLE cell_state (
  singleton boolean PRIMARY KEY DEFAULT true CHECK (singleton),
  owned_shards bytea NOT NULL CHECK (octet_length(owned_shards) = 512),
  log_epoch integer NOT NULL DEFAULT 0,
  readable_log_epoch integer NOT NULL DEFAULT 0
);
GRANT SELECT ON cell_state TO waybill_app, waybill_group, waybill_sys;

-- Moves of shards, in the directory. A move is resumed by any mover: its state says what
-- is done.
CREATE TABLE shard_moves (
  id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  shard smallint NOT NULL,
  source text NOT NULL,
  target text NOT NULL,
  state text NOT NULL DEFAULT 'planned'
    CHECK (state IN ('planned', 'copying', 'catching_up', 'frozen', 'switched', 'purging', 'done')),
  epoch integer NOT NULL, -- that the shard has afterwards
  rows_expected bigint NOT NULL DEFAULT 0,
  rows_copied bigint NOT NULL DEFAULT 0,
  bytes_copied bigint NOT NULL DEFAULT 0,
  failures integer NOT NULL DEFAULT 0,
  last_error text,
  started_at timestamptz NOT NULL DEFAULT now(),
  changed_at timestamptz NOT NULL DEFAULT now(),
  frozen_at timestamptz,
  switched_at timestamptz,
  purge_after timestamptz
);
CREATE UNIQUE INDEX shard_moves_open ON shard_moves (shard) WHERE state <> 'done';
GRANT SELECT ON shard_moves TO waybill_sys;

-- A mover writes a marker at the source. Once it is at the target, so is all that was
-- committed before it.
CREATE TABLE shard_markers (
  shard smallint PRIMARY KEY,
  marker text NOT NULL
);

-- shard_of returns the shard in an account's id: 12 bits behind its time.
CREATE FUNCTION shard_of(account uuid) RETURNS integer
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT (get_byte(uuid_send(account), 6) << 4) | (get_byte(uuid_send(account), 7) >> 4)
$$;

-- own_shards brings the bits of cell_state in line with shards, and tells the copies of
-- the service and the routers that something changed.
-- +goose StatementBegin
CREATE FUNCTION own_shards() RETURNS trigger
LANGUAGE plpgsql AS $$
DECLARE
  bits bytea := decode(repeat('00', 512), 'hex');
  owned record;
BEGIN
  FOR owned IN SELECT s.shard FROM public.shards s JOIN public.instance i ON i.cell = s.cell WHERE NOT s.frozen LOOP
    bits := set_bit(bits, owned.shard, 1);
  END LOOP;
  UPDATE public.cell_state SET owned_shards = bits WHERE owned_shards <> bits;
  PERFORM pg_notify('waybill_shards', '');
  RETURN NULL;
END $$;
-- +goose StatementEnd
CREATE TRIGGER own_shards AFTER UPDATE ON shards FOR EACH STATEMENT EXECUTE FUNCTION own_shards();

-- enter_shard is called by every transaction of a tenant in a cell, before anything else.
-- A move takes the lock exclusively: it waits for the transactions that are in the shard,
-- and keeps others out. The lock comes first and is a statement of its own, because the
-- owner is read in the state after it. The code of the exception is known to the service.
-- +goose StatementBegin
CREATE FUNCTION enter_shard(shard integer) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  is_free boolean := pg_try_advisory_xact_lock_shared(2002876004, shard);
  is_owned boolean;
BEGIN
  is_owned := (SELECT get_bit(c.owned_shards, shard) = 1 FROM public.cell_state c);
  IF NOT is_free OR NOT coalesce(is_owned, true) THEN
    RAISE EXCEPTION 'shard % is not in this cell', shard USING ERRCODE = 'WB421';
  END IF;
END $$;
-- +goose StatementEnd

-- enter_shards is enter_shard for look-ups of many tenants.
-- +goose StatementBegin
CREATE FUNCTION enter_shards(shards integer[]) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  shard integer;
BEGIN
  FOREACH shard IN ARRAY shards LOOP
    PERFORM public.enter_shard(shard);
  END LOOP;
END $$;
-- +goose StatementEnd
REVOKE EXECUTE ON FUNCTION own_shards, enter_shard, enter_shards FROM PUBLIC;
GRANT EXECUTE ON FUNCTION enter_shard TO waybill_app, waybill_group;
GRANT EXECUTE ON FUNCTION enter_shards TO waybill_group;

-- log_horizon is the number below which the log is complete: that of the oldest
-- transaction that still runs. The planner replaces it by its body.
CREATE FUNCTION log_horizon() RETURNS xid8
LANGUAGE sql STABLE PARALLEL SAFE AS $$ SELECT pg_snapshot_xmin(pg_current_snapshot()) $$;

-- In a cell among others the numbers of the log begin with its epoch: 22 bits, before 42
-- of the transaction's number. Numbers of transactions mean nothing in another server. A
-- shard that moves gets an epoch above all it has, so its new events come after the old
-- ones.
-- +goose StatementBegin
CREATE FUNCTION cell_log_horizon() RETURNS xid8
LANGUAGE plpgsql STABLE PARALLEL SAFE AS $$
BEGIN
  RETURN ((SELECT c.readable_log_epoch::bigint << 42 FROM public.cell_state c)
    | pg_snapshot_xmin(pg_current_snapshot())::text::bigint)::text::xid8;
END $$;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE FUNCTION cell_log_number() RETURNS xid8
LANGUAGE plpgsql AS $$
BEGIN
  RETURN ((SELECT c.log_epoch::bigint << 42 FROM public.cell_state c) | pg_current_xact_id()::text::bigint)::text::xid8;
END $$;
-- +goose StatementEnd

-- log_epochs returns the last epochs of the log as the first part of its numbers.
-- +goose StatementBegin
CREATE FUNCTION log_epochs() RETURNS SETOF bigint
LANGUAGE sql STABLE AS $$
  SELECT n::bigint << 42
  FROM (SELECT coalesce((SELECT c.log_epoch FROM public.cell_state c), 0) AS last) e, generate_series(greatest(e.last - 63, 0), e.last) n
$$;
-- +goose StatementEnd

-- fence_cell makes this database a cell among others, for good; what is fenced already
-- stays so. The service's own role then sees the rows of the shards that the cell owns,
-- and no others. It still reads API keys, because a request is refused when it enters its
-- tenant, and adds to records of what it did, which are written together for many tenants.
-- +goose StatementBegin
CREATE FUNCTION fence_cell() RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  fenced record;
  condition text := 'get_bit((SELECT c.owned_shards FROM public.cell_state c), public.shard_of(account_id)) = 1';
BEGIN
  INSERT INTO public.cell_state (owned_shards) VALUES (decode(repeat('00', 512), 'hex')) ON CONFLICT DO NOTHING;
  UPDATE public.shards SET moving_to = moving_to WHERE shard = 0; -- the trigger sets the bits

  FOR fenced IN
    SELECT t.oid, t.relname FROM pg_policy p JOIN pg_class t ON t.oid = p.polrelid
    WHERE p.polname = 'system' AND t.relnamespace = 'public'::regnamespace
      AND pg_get_expr(p.polqual, p.polrelid) = 'true'
      AND t.relname NOT IN ('api_keys', 'members')
      AND EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = t.oid AND a.attname = 'account_id')
  LOOP
    EXECUTE format('ALTER POLICY system ON public.%I USING (%s) WITH CHECK (%s)', fenced.relname, condition,
      CASE WHEN fenced.relname IN ('api_requests', 'audit_log', 'audit_pending', 'audit_chain', 'carrier_calls', 'carrier_exchanges', 'webhook_attempts', 'webhook_retries')
        THEN 'true' ELSE condition END);
  END LOOP;

  IF NOT EXISTS (SELECT FROM pg_attrdef d WHERE d.adrelid = 'public.events'::regclass AND pg_get_expr(d.adbin, d.adrelid) LIKE '%cell_log_number%') THEN
    ALTER TABLE public.events ALTER COLUMN txid SET DEFAULT public.cell_log_number();
    CREATE OR REPLACE FUNCTION public.log_horizon() RETURNS xid8
      LANGUAGE sql STABLE PARALLEL SAFE AS 'SELECT public.cell_log_horizon()';
  END IF;
END $$;
-- +goose StatementEnd
REVOKE EXECUTE ON FUNCTION fence_cell FROM PUBLIC;
