package cli_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/app"
	"github.com/waybillhq/waybill/internal/cli"
	"github.com/waybillhq/waybill/internal/config"
	"github.com/waybillhq/waybill/internal/seal"
	"github.com/waybillhq/waybill/internal/ship"
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
	if out := c.must(t, "doctor"); !strings.Contains(out, "secret key    is not in the database") {
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

	// A key that is lost and created anew opens nothing.
	c.shell["SECRET_KEY"] = keyOf(2)
	out, err = c.run(t, nil, "doctor")
	if !errors.Is(err, cli.ErrUnhealthy) || !strings.Contains(out, "is not the one that 1 live carrier connections") {
		t.Errorf("doctor with another key: %v\n%s", err, out)
	}
	delete(c.shell, "SECRET_KEY")

	c.must(t, "connection", "remove", id)
	if out := c.must(t, "doctor"); !strings.Contains(out, "warn  secret key") {
		t.Errorf("with the connection removed, doctor says\n%s", out)
	}
}

// stolen opens the credentials of every connection with nothing but the
// database, as somebody with a backup can.
func (c *counter) stolen(t *testing.T) (read, kept int) {
	t.Helper()
	dump := storetest.Conn(t, c.shell["DATABASE_URL"])
	var key []byte
	if err := dump.QueryRow(t.Context(), "SELECT signing_key FROM instance").Scan(&key); err != nil {
		t.Fatal(err)
	}
	box, err := seal.New(key)
	if err != nil {
		t.Fatal(err)
	}

	rows, err := dump.Query(t.Context(), "SELECT account_id, CASE WHEN livemode THEN 'live' ELSE 'test' END, id, carrier, wrapped_key, encrypted_credentials FROM connections")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var (
			account  ship.RawID
			id       ship.RawID
			mode     string
			name     string
			envelope seal.Envelope
		)
		if err := rows.Scan(&account, &mode, &id, &name, &envelope.Key, &envelope.Secret); err != nil {
			t.Fatal(err)
		}
		text, err := envelope.Open(t.Context(), box, string(ship.AccountIDOf(account)), mode, string(ship.ConnectionIDOf(id)), name)
		switch {
		case err == nil && strings.Contains(string(text), secret):
			read++
		default:
			kept++
		}
	}
	return read, kept
}

func TestADumpOfTheDatabaseOpensNoLiveCredentials(t *testing.T) {
	t.Parallel()
	c := newCounter(t)
	delete(c.shell, "SECRET_KEY")
	c.must(t, "account", "create", "--name", "Acme shop")
	connect := func(more ...string) error {
		_, err := c.run(t, nil, append([]string{"connection", "add", "--carrier", "acme", "--set", "account_number=A1", "--set", "client_secret=" + secret}, more...)...)
		return err
	}

	if err := connect("--live"); err == nil {
		t.Error("a live connection is stored under the key in the database")
	}
	// The attack works where nothing can be bought.
	if err := connect(); err != nil {
		t.Fatal(err)
	}
	if read, kept := c.stolen(t); read != 1 || kept != 0 {
		t.Fatalf("test credentials: %d read, %d kept; want the attack to work", read, kept)
	}

	file := filepath.Join(t.TempDir(), "secret-key")
	c.must(t, "secret-key", "create", file)
	c.shell["SECRET_KEY_FILE"] = file
	if err := connect("--live"); err != nil {
		t.Fatal(err)
	}
	c.must(t, "connection", "rotate")
	if read, kept := c.stolen(t); read != 0 || kept != 2 {
		t.Errorf("with a key outside the database: %d read, %d kept", read, kept)
	}
	c.must(t, "connection", "check")
}

// TestTheSigningKeyIsNotReadableInADump: with it, anybody could push scans of a carrier
// and make label links.
func TestTheSigningKeyIsNotReadableInADump(t *testing.T) {
	t.Parallel()
	c := newCounter(t)
	c.shell["SPOOL_DIR"] = t.TempDir()
	c.shell["BASE_URL"] = "https://ship.example.com"
	c.shell["SECRET_KEY"] = keyOf(1)
	c.must(t, "account", "create", "--name", "Acme shop")
	connection := c.must(t, "connection", "add", "--live", "--carrier", "acme", "--set", "account_number=A1", "--set", "client_secret="+secret)
	database := storetest.Conn(t, c.shell["DATABASE_URL"])
	var key []byte
	if err := database.QueryRow(t.Context(), "SELECT signing_key FROM instance").Scan(&key); err != nil {
		t.Fatal(err)
	}
	push := c.must(t, "connection", "push", connection)

	if out := c.must(t, "doctor"); !strings.Contains(out, "warn  secret key") || !strings.Contains(out, "but the signing key is") {
		t.Errorf("before the rotation, doctor says\n%s", out)
	}
	c.must(t, "secret-key", "rotate")
	if out := c.must(t, "doctor"); !strings.Contains(out, "ok    secret key") {
		t.Errorf("after the rotation, doctor says\n%s", out)
	}

	var row string
	err := database.QueryRow(t.Context(), "SELECT i::text || encode(sealed_signing_key, 'hex') FROM instance i").Scan(&row)
	if err != nil || strings.Contains(row, hex.EncodeToString(key)) {
		t.Errorf("the key is in a copy of the database: %v", err)
	}
	if again := c.must(t, "connection", "push", connection); again != push {
		t.Errorf("the address of pushes was %s and is %s", push, again)
	}

	// Another key comes in front, and the first one goes.
	c.shell["SECRET_KEY"] = keyOf(2) + "," + keyOf(1)
	c.must(t, "secret-key", "rotate")
	c.shell["SECRET_KEY"] = keyOf(2)
	if again := c.must(t, "connection", "push", connection); again != push {
		t.Errorf("with another key the address is %s", again)
	}
	c.must(t, "connection", "check", connection)

	c.shell["SECRET_KEY"] = keyOf(1)
	if said := c.explained(t, "connection", "push", connection); !strings.Contains(said, "a SECRET_KEY that is not in the settings") {
		t.Errorf("with the old key: %s", said)
	}
	delete(c.shell, "SECRET_KEY")
	if said := c.explained(t, "connection", "push", connection); !strings.Contains(said, "set SECRET_KEY") {
		t.Errorf("without a key: %s", said)
	}
}

// TestWhatTheSigningKeySealedStaysReadable: the signing key is encrypted only when no
// other secret needs it.
func TestWhatTheSigningKeySealedStaysReadable(t *testing.T) {
	t.Parallel()
	c := newCounter(t)
	c.shell["SPOOL_DIR"] = t.TempDir()
	delete(c.shell, "SECRET_KEY")
	c.must(t, "account", "create", "--name", "Acme shop")
	connection := c.must(t, "connection", "add", "--carrier", "acme", "--set", "account_number=A1", "--set", "client_secret="+secret)
	c.must(t, "secret-key", "rotate")
	c.must(t, "connection", "check", connection)

	// Credentials that nobody can decrypt any more, under the signing key.
	database := storetest.Conn(t, c.shell["DATABASE_URL"])
	if _, err := database.Exec(t.Context(), "UPDATE connections SET wrapped_key = set_byte(wrapped_key, 20, get_byte(wrapped_key, 20) # 1)"); err != nil {
		t.Fatal(err)
	}
	c.shell["SECRET_KEY"] = keyOf(1)
	if _, err := c.run(t, nil, "secret-key", "rotate"); !errors.Is(err, cli.ErrUnhealthy) {
		t.Errorf("rotated: %v", err)
	}
	isSealed := func() (sealed bool) {
		t.Helper()
		if err := database.QueryRow(t.Context(), "SELECT sealed_signing_key IS NOT NULL FROM instance").Scan(&sealed); err != nil {
			t.Fatal(err)
		}
		return sealed
	}
	if isSealed() {
		t.Error("the signing key is encrypted although a secret needs it")
	}
	if _, err := database.Exec(t.Context(), "UPDATE connections SET wrapped_key = set_byte(wrapped_key, 20, get_byte(wrapped_key, 20) # 1)"); err != nil {
		t.Fatal(err)
	}
	c.must(t, "secret-key", "rotate")
	c.must(t, "connection", "check", connection)
	if !isSealed() {
		t.Error("the signing key is not encrypted although nothing else needs it")
	}
}

func TestAKeyFileIsCreatedOnceAndForOneUser(t *testing.T) {
	t.Parallel()
	c := newCounter(t)
	delete(c.shell, "SECRET_KEY")
	file := filepath.Join(t.TempDir(), "secret-key")
	c.shell["SECRET_KEY_FILE"] = file
	if said := c.explained(t, "migrate"); !strings.Contains(said, "waybill secret-key create") {
		t.Errorf("without the file: %q", said)
	}

	c.must(t, "secret-key", "create", file)
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	c.must(t, "secret-key", "create", file)
	if after, err := os.ReadFile(file); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the second run changes the key: %v", err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("others can read it: %v, %v", info.Mode(), err)
	}
	c.must(t, "migrate")
	if strings.Contains(c.said.String(), strings.TrimSpace(string(before))) {
		t.Error("the key is printed")
	}
	if err := os.WriteFile(file, []byte("short"), 0o600); err != nil {
		t.Fatal(err)
	}
	if said := c.explained(t, "migrate"); !strings.Contains(said, "SECRET_KEY_FILE must be at least 32 bytes") || strings.Contains(said, "short") {
		t.Errorf("with a short key: %q", said)
	}
}

// An installation of an earlier version may have live connections under the key
// in the database. It starts, so that its shop can ship.
func TestAnInstallationWithItsKeyInTheDatabaseStarts(t *testing.T) {
	t.Parallel()
	c := newCounter(t)
	delete(c.shell, "SECRET_KEY")
	c.must(t, "account", "create", "--name", "Acme shop")
	c.must(t, "connection", "add", "--carrier", "acme", "--set", "account_number=A1", "--set", "client_secret="+secret)
	if _, err := storetest.Conn(t, c.shell["DATABASE_URL"]).Exec(t.Context(), "UPDATE connections SET livemode = true"); err != nil {
		t.Fatal(err)
	}

	cfg, err := config.Load(c.lookup)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Listen = "127.0.0.1:0"
	cfg.SpoolDir = t.TempDir()
	running, err := app.New(t.Context(), cfg, app.AllRoles)
	if err != nil {
		t.Fatalf("it does not start: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	running.OnReady(cancel)
	if err := running.Run(ctx); err != nil {
		t.Errorf("it runs until %v", err)
	}

	out, err := c.run(t, nil, "doctor")
	if !errors.Is(err, cli.ErrUnhealthy) || !strings.Contains(out, "FAIL  secret key") || !strings.Contains(out, "SECRET_KEY_FILE") || !strings.Contains(out, `run "waybill secret-key rotate"`) {
		t.Errorf("doctor: %v\n%s", err, out)
	}
	if said := c.explained(t, "connection", "add", "--live", "--name", "two", "--carrier", "acme", "--set", "account_number=A1", "--set", "client_secret="+secret); !strings.Contains(said, "set SECRET_KEY") {
		t.Errorf("a new live connection: %q", said)
	}
}

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
		!strings.Contains(out, `run "waybill secret-key rotate"`) {
		t.Errorf("doctor: %v\n%s", err, out)
	}
}

// TestDoctorKnowsThatAKeyServiceIsCurrent moves from SECRET_KEY to a key service:
// the credentials that SECRET_KEY still protects have to be rotated.
func TestDoctorKnowsThatAKeyServiceIsCurrent(t *testing.T) {
	t.Parallel()
	c := newCounter(t)
	c.shell["SPOOL_DIR"] = t.TempDir()
	c.must(t, "account", "create", "--name", "Acme shop")
	c.must(t, "connection", "add", "--carrier", "acme", "--set", "account_number=A1", "--set", "client_secret="+secret)
	for value, want := range map[string]string{
		"":      "all 1 stored secrets are encrypted with the current key",
		"local": "all 1 stored secrets are encrypted with the current key",
		"local,aws-kms://arn:aws:kms:us-east-1:1:key/k": "all 1 stored secrets are encrypted with the current key",
		"aws-kms://arn:aws:kms:us-east-1:1:key/k,local": "1 of 1 stored secrets are encrypted with an old key (carrier credentials: 1)",
		"aws-kms://arn:aws:kms:us-east-1:1:key/k":       "1 of 1 stored secrets are encrypted with an old key (carrier credentials: 1)",
	} {
		c.shell["SECRET_KMS"] = value
		if out := c.must(t, "doctor"); !strings.Contains(out, want) {
			t.Errorf("with SECRET_KMS=%q doctor says\n%s", value, out)
		}
	}
}
