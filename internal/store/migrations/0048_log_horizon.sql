-- +goose Up

-- log_horizon_holders names what the log's horizon stands still for: the session of the
-- oldest transaction that still runs, of any login and any database of the server, or a
-- prepared transaction. It runs as the owner, because "since" of other logins' sessions is
-- null without pg_read_all_stats, which deploy/init-database.sh grants to the owner.
-- Statements are left out: they may hold personal data.
-- +goose StatementBegin
CREATE FUNCTION log_horizon_holders() RETURNS TABLE (pid integer, login text, database text, application text, since timestamptz, prepared text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  WITH oldest AS (SELECT mod(pg_snapshot_xmin(pg_current_snapshot())::text::numeric, 4294967296)::text::xid AS number)
  SELECT a.pid, a.usename::text, a.datname::text, a.application_name, a.xact_start, NULL
  FROM pg_stat_activity a JOIN oldest ON a.backend_xid = oldest.number
  UNION ALL
  SELECT NULL, p.owner::text, p.database::text, '', p.prepared, p.gid
  FROM pg_prepared_xacts p JOIN oldest ON p.transaction = oldest.number
$$;
-- +goose StatementEnd
REVOKE EXECUTE ON FUNCTION log_horizon_holders FROM PUBLIC;
GRANT EXECUTE ON FUNCTION log_horizon_holders TO waybill_sys;
