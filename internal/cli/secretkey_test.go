package cli_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/cli"
	"github.com/waybillhq/waybill/internal/store/storetest"
)

// explained returns the error of a command as a person reads it.
func (c *counter) explained(t *testing.T, args ...string) string {
	t.Helper()
	_, err := c.run(t, nil, args...)
	if err == nil {
		t.Fatalf("%v works", args)
	}
	return cli.Explain(err)
}

func TestLiveConnectionsNeedAKeyFromOutsideTheDatabase(t *testing.T) {
	t.Parallel()
	c := newCounter(t)
	delete(c.shell, "SECRET_KEY")
	c.shell["LISTEN"] = "127.0.0.1:0"
	c.shell["SPOOL_DIR"] = t.TempDir()
	c.must(t, "account", "create", "--name", "Acme shop")
	add := []string{"connection", "add", "--live", "--carrier", "acme", "--set", "account_number=A1", "--set", "client_secret=" + secret}

	if said := c.explained(t, add...); !strings.Contains(said, "set SECRET_KEY") || !strings.Contains(said, "openssl rand -base64 32") {
		t.Errorf("connection add says %q", said)
	}
	if list := c.must(t, "connection", "list"); strings.Contains(list, "acme") {
		t.Errorf("it is connected:\n%s", list)
	}
	if out := c.must(t, "doctor"); !strings.Contains(out, "warn  secret key") {
		t.Errorf("doctor says\n%s", out)
	}

	// A test connection cannot spend money, so it needs no key.
	c.must(t, "connection", "add", "--carrier", "acme", "--set", "account_number=A1", "--set", "client_secret="+secret)

	c.shell["SECRET_KEY"] = keyOf(1)
	id := c.must(t, add...)
	if out := c.must(t, "doctor"); !strings.Contains(out, "ok  secret key") {
		t.Errorf("doctor says\n%s", out)
	}

	// Without the key the service would find out at the first purchase.
	delete(c.shell, "SECRET_KEY")
	for _, args := range [][]string{{"serve"}, {"connection", "update", id, "--name", "Main"}} {
		if said := c.explained(t, args...); !strings.Contains(said, "set SECRET_KEY") {
			t.Errorf("%v says %q", args, said)
		}
	}
	out, err := c.run(t, nil, "doctor")
	if !errors.Is(err, cli.ErrUnhealthy) || !strings.Contains(out, "FAIL  secret key") || !strings.Contains(out, "set SECRET_KEY") {
		t.Errorf("doctor: %v\n%s", err, out)
	}
	c.must(t, "connection", "remove", id)
	if out := c.must(t, "doctor"); !strings.Contains(out, "warn  secret key") {
		t.Errorf("with the connection removed, doctor says\n%s", out)
	}
}

// An installation of an earlier version may have live connections under the key
// in the database.
func TestCredentialsUnderTheKeyInTheDatabaseAreReported(t *testing.T) {
	t.Parallel()
	c := newCounter(t)
	delete(c.shell, "SECRET_KEY")
	c.must(t, "account", "create", "--name", "Acme shop")
	c.must(t, "connection", "add", "--carrier", "acme", "--set", "account_number=A1", "--set", "client_secret="+secret)
	if _, err := storetest.Conn(t, c.shell["DATABASE_URL"]).Exec(t.Context(), "UPDATE connections SET livemode = true"); err != nil {
		t.Fatal(err)
	}

	c.shell["SECRET_KEY"] = keyOf(1)
	out, err := c.run(t, nil, "doctor")
	if !errors.Is(err, cli.ErrUnhealthy) || !strings.Contains(out, "1 live carrier connections are still encrypted with the key in the database") ||
		!strings.Contains(out, `run "waybill connection rotate"`) {
		t.Errorf("doctor: %v\n%s", err, out)
	}
}
