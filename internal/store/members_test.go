package store_test

import (
	"fmt"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/internal/store/storetest"
)

// fillMembers gives the tenant's account a member, an invitation and an entry
// of its audit log.
func fillMembers(t *testing.T, f *fixture, tenant ship.Tenant) {
	t.Helper()
	ctx := t.Context()
	p := store.Person{ID: ship.NewPersonID(now()), Name: "Ada", CreatedAt: now()}
	p.Email = strings.ToLower(string(p.ID)) + "@example.com"
	i := store.Invitation{ID: ship.NewInvitationID(tenant.Account, now()), Account: tenant.Account, Email: p.Email, Role: "viewer", CreatedAt: now(), ExpiresAt: now()}
	copy(i.Hash[:], p.ID)
	err := f.InSystemTx(ctx, func(tx *store.Store) error {
		if err := tx.AddPerson(ctx, p); err != nil {
			return err
		}
		if err := tx.AddMember(ctx, tenant.Account, p.ID, "owner", now()); err != nil {
			return err
		}
		if err := tx.AddInvitation(ctx, i); err != nil {
			return err
		}
		return tx.AddAudit(ctx, store.AuditEntry{ID: ship.NewAuditID(tenant.Account, now()), Account: tenant.Account, Who: "Ada", Action: "member.joined"})
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestTenantsSeeOfPeopleTheirMembersAndNoSecret(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	other := newTenant()
	fill(t, f, f.tenant)
	fill(t, f, other)
	app, err := pgx.Connect(t.Context(), f.url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = app.Close(t.Context()) }()
	count := func(sql string) (n int, err error) {
		err = asApp(t, app, &f.tenant, func(tx pgx.Tx) error { return tx.QueryRow(t.Context(), sql).Scan(&n) })
		return n, err
	}
	if n, err := count("SELECT count(email) FROM people"); n != 1 || err != nil {
		t.Errorf("a tenant sees %d people of two: %v", n, err)
	}
	for _, sql := range []string{
		"SELECT count(password_hash) FROM people", "SELECT count(encrypted_totp_seed) FROM people", "SELECT count(*) FROM sessions", "SELECT count(*) FROM passkeys",
		"SELECT count(*) FROM recovery_codes", "SELECT count(*) FROM identities", "SELECT count(*) FROM auth_flows", "SELECT count(*) FROM sign_in_throttles",
	} {
		if n, err := count(sql); !denied(err) {
			t.Errorf("%s: a tenant reads %d: %v", sql, n, err)
		}
	}
}

func TestNobodyChangesTheAuditLog(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	fill(t, f, f.tenant)
	for _, role := range []string{"waybill_app", "waybill_group", "waybill_sys"} {
		for _, sql := range []string{"UPDATE audit_log SET actor = 'somebody else'", "DELETE FROM audit_log", "TRUNCATE audit_log"} {
			err := pgx.BeginFunc(t.Context(), f.owner, func(tx pgx.Tx) error {
				if _, err := tx.Exec(t.Context(), "SET LOCAL ROLE "+role); err != nil {
					return err
				}
				_, err := tx.Exec(t.Context(), sql)
				return err
			})
			if !denied(err) {
				t.Errorf("%s as %s: %v", sql, role, err)
			}
		}
	}
}

func TestAuditPagesReadNoMoreThanTheyShow(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	fill(t, f, f.tenant)
	account := [16]byte(f.tenant.Account.Raw())
	_, err := f.owner.Exec(t.Context(), `
		INSERT INTO audit_log (account_id, id, person_id, api_key_id, actor, action, target, mode, details, user_agent)
		SELECT $1, gen_random_uuid(), CASE WHEN n % 300 = 0 THEN $2::uuid WHEN n % 3 = 0 THEN gen_random_uuid() END, CASE WHEN n % 300 = 1 THEN $2::uuid WHEN n % 3 = 1 THEN gen_random_uuid() END, 'w', 'a.' || n % 50, 't' || n % 500, '', '{}', '' FROM generate_series(1, 5000) n`,
		account, account)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.owner.Exec(t.Context(), "ANALYZE audit_log"); err != nil {
		t.Fatal(err)
	}
	texts := constants(t)
	for name, tc := range map[string]struct {
		index, target, action, by string
		person, key               *[16]byte
	}{
		"sqlAudit": {index: "audit_log_pkey"}, "sqlAuditByPerson": {index: "audit_log_by_person", person: &account},
		"sqlAuditByTarget": {index: "audit_log_by_target", target: "t1"}, "sqlAuditByAction": {index: "audit_log_by_action", action: "a.1"},
		"sqlAuditByKey": {index: "audit_log_by_api_key", key: &account}, "sqlAuditOfPeople": {index: "audit_log_of_people", by: store.ByPeople},
		"sqlAuditOfKeys": {index: "audit_log_of_api_keys", by: store.ByKeys}, "sqlAuditOfOthers": {index: "audit_log_of_operators", by: store.ByOperators},
	} {
		sql, args, err := pgx.NamedArgs{
			"account": account, "below": [16]byte{0xff}, "from": [16]byte{}, "person": tc.person, "key": tc.key, "by": tc.by, "target": tc.target, "action": tc.action, "begins": "", "limit": 5,
		}.RewriteQuery(t.Context(), f.owner, texts[name], nil)
		if err != nil {
			t.Fatal(err)
		}
		rows, err := f.owner.Query(t.Context(), "EXPLAIN "+sql, args...)
		if err != nil {
			t.Fatal(err)
		}
		lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			t.Fatal(err)
		}
		if plan := strings.Join(lines, "\n"); !strings.Contains(plan, tc.index) || strings.Contains(plan, "Sort") {
			t.Errorf("%s does not read %s in its order:\n%s", name, tc.index, plan)
		}
	}
}

func TestFailuresSlowDownAndFade(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	pace := store.Pace{Free: 3, Most: 8 * time.Second, Fade: time.Minute}
	who, at := [32]byte{1}, now()
	for i, want := range []time.Duration{0, 0, 0, time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, 8 * time.Second} {
		n, wait, err := f.TryThrottle(t.Context(), who, pace, at)
		if err != nil || wait != 0 || n != i+1 {
			t.Fatalf("attempt %d is number %d and waits %s: %v", i+1, n, wait, err)
		}
		if want > 0 {
			if _, wait, err = f.TryThrottle(t.Context(), who, pace, at); err != nil || wait != want {
				t.Fatalf("after %d failures the wait is %s, not %s: %v", i+1, wait, want, err)
			}
		}
		at = at.Add(want)
	}
	if n, wait, err := f.TryThrottle(t.Context(), who, pace, at.Add(5*time.Minute)); err != nil || wait != 0 || n != 4 {
		t.Errorf("after five minutes: %d failures, wait %s: %v", n, wait, err)
	}
	if err := f.ClearThrottle(t.Context(), who); err != nil {
		t.Fatal(err)
	}
	if n, _, err := f.TryThrottle(t.Context(), who, pace, at); n != 1 || err != nil {
		t.Errorf("after a success: %d failures: %v", n, err)
	}
}

func TestASessionRemembersWhereItWasSeen(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	fill(t, f, f.tenant)
	members, err := f.Members(t.Context(), f.tenant.Account)
	if err != nil || len(members) != 1 {
		t.Fatal(members, err)
	}
	s := store.Session{ID: ship.NewSessionID(now()), Hash: [32]byte{9}, Person: members[0].Person.ID, Account: f.tenant.Account, Method: "password", CreatedAt: now(), ProvedAt: now(), ExpiresAt: now().Add(time.Hour)}
	if err := f.AddSession(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	at := now().Add(time.Minute)
	if err := f.TouchSession(t.Context(), s.ID, s.Account, at, netip.MustParseAddr("::ffff:192.0.2.7")); err != nil {
		t.Fatal(err)
	}
	in, err := f.SessionByHash(t.Context(), s.Hash, "", now(), now().Add(-time.Hour))
	if err != nil || fmt.Sprint(in.Session.Addr) != "192.0.2.7" || !in.Session.SeenAt.Equal(at) || in.Standing.Role != "owner" || in.Person.Email != members[0].Person.Email {
		t.Errorf("session %+v: %v", in, err)
	}
	if _, err := f.SessionByHash(t.Context(), s.Hash, "", now().Add(2*time.Hour), now()); ship.KindOf(err) != ship.NotFound {
		t.Errorf("a session that is over: %v", err)
	}
}

func TestAnInvitationIsUsedOnceAndNotAfterItIsTakenBack(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	fill(t, f, f.tenant)
	ctx, account := t.Context(), f.tenant.Account
	add := func(n byte) store.Invitation {
		i := store.Invitation{ID: ship.NewInvitationID(account, now()), Hash: [32]byte{n}, Account: account, Email: fmt.Sprint(n, "@example.com"), Role: "viewer", CreatedAt: now(), ExpiresAt: now().Add(time.Hour)}
		if err := f.AddInvitation(ctx, i); err != nil {
			t.Fatal(err)
		}
		return i
	}
	used, revoked, late := add(1), add(2), add(3)
	if err := f.UseInvitation(ctx, account, used.ID, now()); err != nil {
		t.Fatal(err)
	}
	if _, err := f.RevokeInvitation(ctx, account, revoked.ID, now()); err != nil {
		t.Fatal(err)
	}
	for name, err := range map[string]error{
		"used": f.UseInvitation(ctx, account, used.ID, now()), "revoked": f.UseInvitation(ctx, account, revoked.ID, now()),
		"late": f.UseInvitation(ctx, account, late.ID, now().Add(2*time.Hour)), "another's": f.UseInvitation(ctx, newTenant().Account, late.ID, now()),
	} {
		if ship.KindOf(err) != ship.Gone {
			t.Errorf("an invitation that is %s: %v", name, err)
		}
	}
}

func TestAPasskeyCountsUpOrNotAtAll(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	fill(t, f, f.tenant)
	members, err := f.Members(t.Context(), f.tenant.Account)
	if err != nil {
		t.Fatal(err)
	}
	k := store.Passkey{ID: []byte("k"), Person: members[0].Person.ID, Name: "Key", Credential: []byte(`{"authenticator":{}}`), CreatedAt: now()}
	if err := f.AddPasskey(t.Context(), k); err != nil {
		t.Fatal(err)
	}
	for i, tc := range []struct {
		count uint32
		good  bool
	}{{0, true}, {0, true}, {5, true}, {5, false}, {4, false}, {6, true}} {
		k.UsedAt, k.Credential = now(), fmt.Appendf(nil, `{"authenticator":{"signCount":%d}}`, tc.count)
		if err := f.UsePasskey(t.Context(), k, tc.count); (err == nil) != tc.good {
			t.Errorf("step %d, count %d: %v", i, tc.count, err)
		}
	}
}

// TestTheUpgradeTrustsThoseWhoWereVouchedFor runs the migration on people from
// before it, as a login that is the tables' owner and nothing more.
func TestTheUpgradeTrustsThoseWhoWereVouchedFor(t *testing.T) {
	t.Parallel()
	database, err := url.Parse(emptyDatabase(t))
	if err != nil {
		t.Fatal(err)
	}
	admin := storetest.Conn(t, database.String())
	exec := func(sql string) {
		t.Helper()
		if _, err := admin.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	login := fmt.Sprintf("waybill_upgrade_%d", os.Getpid())
	exec("CREATE ROLE " + login + " LOGIN PASSWORD 'x'")
	exec("GRANT waybill_app, waybill_group, waybill_sys TO " + login)
	exec("ALTER DATABASE " + strings.TrimPrefix(database.Path, "/") + " OWNER TO " + login)
	database.User = url.UserPassword(login, "x")
	if err := store.Migrate(t.Context(), database.String()); err != nil {
		t.Fatal(err)
	}

	exec("ALTER TABLE people DROP COLUMN email_verified_at")
	exec("ALTER TABLE invitations DROP COLUMN proves_email")
	exec(`INSERT INTO accounts (id, name, weight_unit, length_unit, currency) VALUES (gen_random_uuid(), 'Acme', 'lb', 'in', 'USD')`)
	exec(`INSERT INTO people (id, email, name, created_at) SELECT gen_random_uuid(), name || '@example.com', name, now() FROM unnest(ARRAY['first', 'single', 'invited']) AS name`)
	exec(`INSERT INTO identities (issuer, subject, person_id, created_at) SELECT 'i', 's', id, now() FROM people WHERE name = 'single'`)
	exec(`INSERT INTO audit_log (account_id, id, person_id, actor, action, target, mode, details, user_agent)
		SELECT a.id, gen_random_uuid(), p.id, p.name, CASE p.name WHEN 'first' THEN 'account.claimed' ELSE 'member.joined' END, '', '', '{}', '' FROM accounts a, people p`)

	files, err := filepath.Glob("migrations/*_verified_addresses.sql")
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	owner := storetest.Conn(t, database.String())
	if _, err := owner.PgConn().Exec(t.Context(), "BEGIN; "+string(text)+"; COMMIT").ReadAll(); err != nil {
		t.Fatal(err)
	}
	if got := one[string](t, admin, "SELECT string_agg(name, ' ' ORDER BY name) FROM people WHERE email_verified_at IS NOT NULL"); got != "first single" {
		t.Errorf("verified are %q, want the first owner and who signed in with a provider", got)
	}
}
