package cli_test

import (
	"fmt"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/store/storetest"
)

// TestMigrateCreatesALoginThatServes takes an installation from one login to two.
func TestMigrateCreatesALoginThatServes(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	owner := s["DATABASE_URL"]
	login := fmt.Sprintf("waybill_serve_cli_%d", os.Getpid())
	t.Cleanup(func() {
		if _, err := storetest.Conn(t, os.Getenv("DATABASE_URL")).Exec(t.Context(), "DROP ROLE IF EXISTS "+login); err != nil {
			t.Log(err)
		}
	})
	if out := s.must(t, "doctor"); !strings.Contains(out, "serves and owns the tables") || !strings.Contains(out, "waybill migrate --create-logins") {
		t.Errorf("doctor with one login:\n%s", out)
	}

	// The login that serves need not exist yet.
	delete(s, "DATABASE_URL")
	s["MIGRATE_DATABASE_URL"] = owner
	out, messages, err := s.run(t, "migrate", "--create-logins", "--serving-login", login)
	line, isSetting := strings.CutPrefix(out, "DATABASE_URL=")
	serving, parseErr := url.Parse(strings.TrimSpace(line))
	if err != nil || !isSetting || strings.Count(out, "\n") != 1 || parseErr != nil || serving.User.Username() != login {
		t.Fatalf("migrate: %v, %v\n%s\n%s", err, parseErr, out, messages)
	}
	password, _ := serving.User.Password()
	if len(password) < 20 || strings.Contains(messages, password) {
		t.Errorf("the password of %d characters is in the messages: %s", len(password), messages)
	}
	again, messages, err := s.run(t, "migrate", "--create-logins", "--serving-login", login)
	if err != nil || again != "" || !strings.Contains(messages, "keeps its password") || !strings.Contains(messages, login) {
		t.Errorf("a second time: %v\n%s\n%s", err, again, messages)
	}

	// The login that serves works by itself, and cannot migrate.
	delete(s, "MIGRATE_DATABASE_URL")
	s["DATABASE_URL"] = serving.String()
	if out := s.must(t, "doctor"); !strings.Contains(out, "serves and owns nothing") {
		t.Errorf("doctor with two logins:\n%s", out)
	}
	s.must(t, "account", "create", "--name", "Acme")
	s.must(t, "key", "create")
	if _, messages, err := s.run(t, "migrate"); err != nil || !strings.Contains(messages, "nothing to migrate") {
		t.Errorf("migrate as the login that serves: %v\n%s", err, messages)
	}
	if _, err := storetest.Conn(t, owner).Exec(t.Context(), "DELETE FROM goose_db_version WHERE version_id = (SELECT max(version_id) FROM goose_db_version)"); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.run(t, "migrate"); err == nil || !strings.Contains(err.Error(), "set MIGRATE_DATABASE_URL") {
		t.Errorf("migrate an older schema as the login that serves: %v", err)
	}
	if out, _, err := s.run(t, "doctor"); err == nil || !strings.Contains(out, "set MIGRATE_DATABASE_URL") {
		t.Errorf("doctor of an older schema: %v\n%s", err, out)
	}
}
