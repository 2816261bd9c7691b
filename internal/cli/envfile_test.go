package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/store/storetest"
)

// TestACommandReadsTheSettingsOfThePackagedService has a file as systemd reads it,
// with an address that a shell would split at the &.
func TestACommandReadsTheSettingsOfThePackagedService(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "env")
	write := func(content string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	// Only the file says where the database is, and the spool.
	separator := "?"
	address := storetest.URL(t)
	if strings.Contains(address, "?") {
		separator = "&"
	}
	write("# The database.\n; Another comment.\n\nDATABASE_URL=" + address + separator + "connect_timeout=5&application_name=waybill\n" +
		"METRICS_LISTEN='off'\nLOG_LEVEL=\"ERROR\"\nSPOOL_DIR = \"" + t.TempDir() + "\" \n")
	s := shell{"DATABASE_URL": "postgres://nobody@127.0.0.1:1/none"}
	if out := s.must(t, "--env-file", path, "account", "create", "--name", "Packaged"); !strings.Contains(out, "acct_") {
		t.Errorf("account create prints %q", out)
	}
	if out := s.must(t, "account", "list", "--env-file", path); !strings.Contains(out, "Packaged") {
		t.Errorf("account list prints %q", out)
	}

	for content, want := range map[string]string{
		"DATABASE_URL\n":               "line 1 must be NAME=value",
		"LISTEN=127.0.0.1:1\nA B=c\n":  "line 2 must be NAME=value",
		"DATABASE_URL=\"postgres://\n": `the value of DATABASE_URL has no closing "`,
	} {
		write(content)
		if _, _, err := s.run(t, "--env-file", path, "account", "list"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", content, err, want)
		}
	}
	if _, _, err := s.run(t, "--env-file", filepath.Join(t.TempDir(), "none"), "account", "list"); err == nil || !strings.Contains(err.Error(), "--env-file") {
		t.Errorf("a file that is not there: %v", err)
	}
}
