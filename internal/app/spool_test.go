package app_test

import (
	"bytes"
	"encoding/base64"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/app"
	"github.com/waybillhq/waybill/internal/seal"
	"github.com/waybillhq/waybill/internal/store/storetest"
)

// TestAFailedSpoolKeepsTheCopyReady: all but live purchases works without the disk,
// so requests are still sent to the copy, which says what is wrong.
func TestAFailedSpoolKeepsTheCopyReady(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cfg := settings(t, storetest.URL(t), "SPOOL_DIR", dir)
	a := run(t, cfg, app.AllRoles)
	operator := "http://" + a.MetricsAddr()

	if status, body := get(t, operator+"/readyz"); status != http.StatusOK || body != "ready\n" {
		t.Errorf("/readyz: %d %q", status, body)
	}
	if _, body := get(t, operator+"/metrics"); !strings.Contains(body, "\nwaybill_spool_up 1\n") {
		t.Error("waybill_spool_up is not 1")
	}

	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if status, body := get(t, operator+"/readyz"); status != http.StatusOK || body != "ready\nspool: failed\n" {
		t.Errorf("/readyz without the directory: %d %q", status, body)
	}
	if _, body := get(t, operator+"/metrics"); !strings.Contains(body, "\nwaybill_spool_up 0\n") {
		t.Error("waybill_spool_up is not 0")
	}
}

// TestASpoolThatIsNotRequiredMayBeAbsent starts where no directory can be made.
func TestASpoolThatIsNotRequiredMayBeAbsent(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	address := storetest.URL(t)

	if _, err := app.New(t.Context(), settings(t, address, "SPOOL_DIR", file), app.AllRoles); err == nil || !strings.Contains(err.Error(), "set SPOOL_DIR to a writable directory") {
		t.Errorf("with a required spool: %v", err)
	}
	a := run(t, settings(t, address, "SPOOL_DIR", file, "SPOOL_REQUIRED", "false"), app.AllRoles)
	if status, body := get(t, "http://"+a.MetricsAddr()+"/readyz"); status != http.StatusOK || body != "ready\n" {
		t.Errorf("/readyz: %d %q", status, body)
	}
}

// TestInstallationsOfAUserHaveSpoolsOfTheirOwn has two without SPOOL_DIR, one of
// which has files in the directory that they shared once.
func TestInstallationsOfAUserHaveSpoolsOfTheirOwn(t *testing.T) {
	cache := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	t.Setenv("HOME", cache)

	shared := filepath.Join(cache, "waybill", "spool")
	leave := func(key byte, name string) (encoded string) {
		t.Helper()
		secret := bytes.Repeat([]byte{key}, 32)
		box, err := seal.New(secret)
		if err != nil {
			t.Fatal(err)
		}
		recoveryLog, err := seal.OpenRecoveryLog(filepath.Join(shared, "recovery-log"), box, 72*time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		if err := recoveryLog.Append(time.Now(), []byte(name)); err != nil {
			t.Fatal(err)
		}
		return base64.StdEncoding.EncodeToString(secret)
	}
	first := leave(1, "{}")
	second := leave(2, "{}")

	for i, key := range []string{first, second} {
		cfg := settings(t, storetest.URL(t), "SPOOL_DIR", "", "SECRET_KEY", key)

		// The key of a file that is still in the shared directory is needed.
		uses, err := app.InspectSecretKeys(t.Context(), cfg)
		if err != nil || uses[0].Secrets != 1 {
			t.Errorf("before the first start: %+v, %v", uses, err)
		}

		if err := run(t, cfg, app.AllRoles).stop(); err != nil {
			t.Fatal(err)
		}
		left, err := filepath.Glob(filepath.Join(shared, "recovery-log", "*"))
		if err != nil || len(left) != 1-i {
			t.Errorf("%d files are left in the shared directory, %v; want %d", len(left), err, 1-i)
		}
		state, err := app.InspectSpool(t.Context(), cfg)
		if err != nil || !state.IsUsed || filepath.Dir(state.Dir) != filepath.Join(cache, "waybill") || state.Dir == shared {
			t.Errorf("the spool is %+v, %v", state, err)
		}
		uses, err = app.InspectSecretKeys(t.Context(), cfg)
		if err != nil || uses[0].Secrets != 1 || uses[len(uses)-2].Secrets != 0 {
			t.Errorf("after the first start: %+v, %v", uses, err)
		}
	}
	if own, err := filepath.Glob(filepath.Join(cache, "waybill", "spool-*")); err != nil || len(own) != 2 {
		t.Errorf("the directories are %v, %v", own, err)
	}
}

// TestARotationReachesTheFilesOutsideOfTheSettings has a shell without the SPOOL_DIR of
// the service: the recovery log that still needs the old key is re-encrypted with the
// rest, and what another installation has beside it is left alone.
func TestARotationReachesTheFilesOutsideOfTheSettings(t *testing.T) {
	cache := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	t.Setenv("HOME", cache)

	encoded := map[byte]string{}
	for _, key := range []byte{1, 2, 3} {
		secret := bytes.Repeat([]byte{key}, 32)
		encoded[key] = base64.StdEncoding.EncodeToString(secret)
		if key == 2 {
			continue // the new one
		}
		box, err := seal.New(secret)
		if err != nil {
			t.Fatal(err)
		}
		recoveryLog, err := seal.OpenRecoveryLog(filepath.Join(cache, "waybill", "spool", "recovery-log"), box, 72*time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		if err := recoveryLog.Append(time.Now().Add(-3*time.Hour), []byte("{}")); err != nil {
			t.Fatal(err)
		}
	}
	cfg := settings(t, storetest.URL(t), "SPOOL_DIR", "", "SECRET_KEY", encoded[2]+","+encoded[1])

	uses, err := app.InspectSecretKeys(t.Context(), cfg)
	if err != nil || uses[1].Secrets != 1 {
		t.Fatalf("the old key is needed by %+v, %v; want the file", uses, err)
	}
	rotation, err := app.RotateSecrets(t.Context(), cfg, app.RotateOptions{
		Log:      slog.New(slog.DiscardHandler),
		Progress: func(string, int) {},
	})
	if err != nil || rotation.Failed() != 0 || rotation.InUse != 0 {
		t.Errorf("rotation: %+v, %v", rotation, err)
	}
	uses, err = app.InspectSecretKeys(t.Context(), cfg)
	if err != nil || uses[0].Secrets != 2 || uses[1].Secrets != 0 {
		t.Errorf("afterwards: %+v, %v; want the file and the signing key under the new key", uses, err)
	}
}
