#!/bin/sh
# Prepares a Postgres server for Waybill: the database, its owner, and the three
# roles that the service takes. Run it once, as an administrator of the server;
# a second run changes passwords and adds what is missing. It works with bare
# psql on any host, and as a script of /docker-entrypoint-initdb.d in the image
# of Postgres:
#
#   WAYBILL_DB_PASSWORD=... sudo -u postgres --preserve-env=WAYBILL_DB_PASSWORD deploy/init-database.sh
#
# With WAYBILL_SERVE_PASSWORD it also creates the login waybill_serve, which can
# serve and owns nothing: the owner's login is then needed by "waybill migrate"
# alone (docs/operations.md, "Separate logins").
#
# Roles belong to the server. Only these logins may connect to the database, so that
# the logins of another installation on the server cannot read it with the roles that
# they share. Grant CONNECT to any other login that needs it.
#
# The owner is no superuser and may not create roles or databases. psql reads
# the address of the server from PGHOST, PGPORT and so on.
set -eu
export WAYBILL_DB_PASSWORD="${WAYBILL_DB_PASSWORD:?set it to the password of the owner}"
export WAYBILL_SERVE_PASSWORD="${WAYBILL_SERVE_PASSWORD:-}"

psql -X -q -v ON_ERROR_STOP=1 --no-psqlrc \
	--username "${POSTGRES_USER:-${PGUSER:-postgres}}" --dbname postgres \
	-v name="${WAYBILL_DB_NAME:-waybill}" \
	-v owner="${WAYBILL_DB_USER:-waybill}" \
	-v serving="${WAYBILL_SERVE_USER:-waybill_serve}" <<'SQL'
-- Read from the environment: arguments of a program can be seen by all users.
\set password `printf %s "$WAYBILL_DB_PASSWORD"`
\set serving_password `printf %s "$WAYBILL_SERVE_PASSWORD"`

SELECT format('CREATE ROLE %I LOGIN NOSUPERUSER NOCREATEROLE NOCREATEDB', :'owner')
WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = :'owner') \gexec

SELECT format('CREATE ROLE %I NOLOGIN', wanted) FROM unnest(ARRAY['waybill_app', 'waybill_group', 'waybill_sys']) AS wanted
WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = wanted) \gexec

SELECT format('CREATE DATABASE %I OWNER %I', :'name', :'owner')
WHERE NOT EXISTS (SELECT FROM pg_database WHERE datname = :'name') \gexec

ALTER ROLE :"owner" PASSWORD :'password';
GRANT waybill_app, waybill_group, waybill_sys TO :"owner";
REVOKE CONNECT ON DATABASE :"name" FROM PUBLIC;
GRANT CONNECT ON DATABASE :"name" TO :"owner";

-- Lets "waybill doctor" say since when a session of another login holds up the log.
GRANT pg_read_all_stats TO :"owner";

SELECT :'serving_password' <> '' AS has_serving \gset
\if :has_serving
SELECT format('CREATE ROLE %I LOGIN NOINHERIT NOSUPERUSER NOCREATEROLE NOCREATEDB', :'serving')
WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = :'serving') \gexec

ALTER ROLE :"serving" PASSWORD :'serving_password';
GRANT waybill_app, waybill_group, waybill_sys TO :"serving";
GRANT CONNECT ON DATABASE :"name" TO :"serving";
\endif
SQL
