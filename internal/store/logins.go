package store

import (
	"context"
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/waybillhq/waybill/internal/ship"
)

// Logins of the database: the one that migrates owns the tables, the one that
// serves owns nothing and takes the roles. They may be the same.

// ServingLogin is the name of the login that CreateServingLogin creates, unless the
// operator chooses another.
const ServingLogin = "waybill_serve"

// A Login is what a user of the database can do to the tables.
type Login struct {
	User       string
	Owner      string // of the tables; empty before the first migration
	OwnsTables bool   // it is the owner, can become the owner, or may create tables where there are none
	Powers     []string
}

// sqlLogin asks for membership rather than for inherited privileges: a login that can
// take the owner's role can do what the owner can. Superusers are members of all roles.
const sqlLogin = `
SELECT current_user::text, coalesce(pg_get_userbyid(t.relowner), '')::text,
  CASE WHEN t.oid IS NULL THEN has_schema_privilege(current_schema(), 'CREATE') ELSE pg_has_role(current_user, t.relowner, 'MEMBER') END,
  array_remove(ARRAY[
    CASE WHEN r.rolsuper THEN 'SUPERUSER' END,
    CASE WHEN r.rolcreaterole THEN 'CREATEROLE' END,
    CASE WHEN r.rolbypassrls THEN 'BYPASSRLS' END,
    CASE WHEN r.rolreplication THEN 'REPLICATION' END
  ], NULL)
FROM pg_roles r
LEFT JOIN pg_class t ON t.oid = to_regclass('goose_db_version')
WHERE r.rolname = current_user`

// read fills in the login of the connection.
func (l *Login) read(ctx context.Context, db interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
},
) error {
	return db.QueryRow(ctx, sqlLogin).Scan(&l.User, &l.Owner, &l.OwnsTables, &l.Powers)
}

// cannotMigrate is the error of a login that does not own the tables.
func (l Login) cannotMigrate() error {
	owner := "the login that owns the database"
	if l.Owner != "" {
		owner = "the login that owns the tables, " + l.Owner
	}
	return ship.Errorf(ship.Forbidden, "the database user %s cannot migrate: set MIGRATE_DATABASE_URL to %s, and run \"waybill migrate\"", l.User, owner)
}

// isDenied reports whether Postgres refused a statement to the login.
func isDenied(err error) bool {
	pg, ok := errors.AsType[*pgconn.PgError](err)
	return ok && pg.Code == insufficientPrivilege
}

// sqlServingLogins lists the logins that can serve and do not own the tables.
const sqlServingLogins = `
SELECT r.rolname::text FROM pg_roles r
WHERE r.rolcanlogin AND NOT r.rolsuper
  AND pg_has_role(r.oid, 'waybill_app', 'MEMBER')
  AND pg_has_role(r.oid, 'waybill_group', 'MEMBER')
  AND pg_has_role(r.oid, 'waybill_sys', 'MEMBER')
  AND NOT pg_has_role(r.oid, (SELECT relowner FROM pg_class WHERE oid = 'goose_db_version'::regclass), 'MEMBER')
ORDER BY 1`

// ServingLogins returns the logins of the server that can serve a migrated database
// without owning its tables.
func ServingLogins(ctx context.Context, url string) ([]string, error) {
	conn, err := connect(ctx, url)
	if err != nil {
		return nil, ship.Errorf(ship.Unavailable, "cannot connect to the database: %w", err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()

	rows, err := conn.Query(ctx, sqlServingLogins)
	if err != nil {
		return nil, fmt.Errorf("list the logins: %w", explain(err))
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, fmt.Errorf("list the logins: %w", explain(err))
	}
	return names, nil
}

const sqlLoginExists = `
SELECT EXISTS (SELECT FROM pg_roles WHERE rolname = $1),
  coalesce((
    SELECT r.rolsuper OR pg_has_role(r.oid, (SELECT relowner FROM pg_class WHERE oid = 'goose_db_version'::regclass), 'MEMBER')
    FROM pg_roles r WHERE r.rolname = $1
  ), false)`

// CreateServingLogin creates a login that can serve the migrated database at url and
// owns nothing, and returns the address of the database with it. The address has the
// login's password, which is nowhere else. A login that exists keeps its password, and
// the address that is returned is empty.
//
// The login inherits nothing: what it can do is what the three roles can that it takes.
func CreateServingLogin(ctx context.Context, url, name string) (string, error) {
	conn, err := connect(ctx, url)
	if err != nil {
		return "", ship.Errorf(ship.Unavailable, "cannot connect to the database: %w", err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()

	var exists, isOwner bool
	if err := conn.QueryRow(ctx, sqlLoginExists, name).Scan(&exists, &isOwner); err != nil {
		return "", fmt.Errorf("look for the login %s: %w", name, explain(err))
	}
	if isOwner {
		return "", ship.Errorf(ship.Conflict, "the login %s owns the tables or can take the role of their owner: choose another name with --serving-login", name)
	}

	password := rand.Text()
	login := pgx.Identifier{name}.Sanitize()
	err = pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		if !exists {
			// The server gets a hash alone, so its log cannot have the password.
			_, err := tx.Exec(ctx, fmt.Sprintf("CREATE ROLE %s LOGIN NOINHERIT NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS PASSWORD '%s'",
				login, scramVerifier(password)))
			if err != nil {
				return err
			}
		}
		if _, err := tx.Exec(ctx, fmt.Sprintf("GRANT %s, %s, %s TO %s", roleApp, roleGroup, roleSys, login)); err != nil {
			return err
		}
		return grantConnect(ctx, tx, name)
	})
	switch {
	case isDenied(err):
		return "", ship.Errorf(ship.Forbidden, "the database user cannot create the login %s: have an administrator run deploy/init-database.sh with WAYBILL_SERVE_PASSWORD set, or connect as a user with CREATEROLE: %w", name, err)
	case err != nil:
		return "", fmt.Errorf("create the login %s: %w", name, explain(err))
	case exists:
		return "", nil
	}
	return withUser(url, name, password)
}

// grantConnect lets the login connect to the database, if not everybody may
// (deploy/init-database.sh).
func grantConnect(ctx context.Context, tx pgx.Tx, login string) error {
	var database string
	var mayConnect bool
	if err := tx.QueryRow(ctx, sqlMayConnect, login).Scan(&database, &mayConnect); err != nil || mayConnect {
		return err
	}
	_, err := tx.Exec(ctx, fmt.Sprintf("GRANT CONNECT ON DATABASE %s TO %s", pgx.Identifier{database}.Sanitize(), pgx.Identifier{login}.Sanitize()))
	return err
}

const sqlMayConnect = `SELECT current_database()::text, has_database_privilege($1::name, current_database(), 'CONNECT')`

// withUser returns the address of a database with another user.
func withUser(address, name, password string) (string, error) {
	parsed, err := url.Parse(address)
	if err != nil {
		return "", errors.New("the address of the database is not a URL")
	}
	parsed.User = url.UserPassword(name, password)

	query := parsed.Query()
	query.Del("user")
	query.Del("password")
	parsed.RawQuery = query.Encode()
	return parsed.String(), nil
}

// scramVerifier returns what Postgres stores of a password with SCRAM-SHA-256
// (RFC 5803). The password must be ASCII.
func scramVerifier(password string) string {
	const iterations = 4096
	salt := make([]byte, 16)
	rand.Read(salt) // never fails

	salted, err := pbkdf2.Key(sha256.New, password, salt, iterations, sha256.Size)
	if err != nil {
		panic(err) // the lengths are fixed
	}
	sign := func(text string) []byte {
		mac := hmac.New(sha256.New, salted)
		mac.Write([]byte(text))
		return mac.Sum(nil)
	}

	stored := sha256.Sum256(sign("Client Key"))
	encode := base64.StdEncoding.EncodeToString
	return strings.Join([]string{
		"SCRAM-SHA-256",
		fmt.Sprintf("%d:%s", iterations, encode(salt)),
		encode(stored[:]) + ":" + encode(sign("Server Key")),
	}, "$")
}
