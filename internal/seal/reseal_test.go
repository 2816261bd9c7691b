package seal_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/seal"
)

// boxOf returns a box with the keys; the first seals.
func boxOf(t *testing.T, keys ...byte) *seal.Box {
	t.Helper()
	var masters [][]byte
	for _, key := range keys {
		masters = append(masters, bytes.Repeat([]byte{key}, 32))
	}
	box, err := seal.New(masters...)
	if err != nil {
		t.Fatal(err)
	}
	return box
}

func TestTheSpoolIsBroughtUnderANewKey(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"shp_1.1", "shp_2.1"} {
		if err := open(t, dir, 1).Put(name, []byte("paid: "+name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := open(t, dir, 9).Put("shp_3.1", []byte("of a lost key")); err != nil {
		t.Fatal(err)
	}

	both, err := seal.OpenSpool(dir, boxOf(t, 2, 1))
	if err != nil {
		t.Fatal(err)
	}
	var resealed, failed int
	report := func(err error) {
		if errors.Is(err, seal.ErrOpen) {
			failed++
		} else if err == nil {
			resealed++
		}
	}
	if err := both.Reseal(t.Context(), report); err != nil || resealed != 2 || failed != 1 {
		t.Fatalf("%d resealed, %d failed, %v", resealed, failed, err)
	}

	for _, name := range []string{"shp_1.1", "shp_2.1"} {
		if data, err := open(t, dir, 2).Get(name); err != nil || string(data) != "paid: "+name {
			t.Errorf("with the new key: %q, %v", data, err)
		}
		if _, err := open(t, dir, 1).Get(name); !errors.Is(err, seal.ErrOpen) {
			t.Errorf("the old key still opens %s: %v", name, err)
		}
	}

	// What is done is not done again.
	resealed = 0
	if err := both.Reseal(t.Context(), report); err != nil || resealed != 0 {
		t.Errorf("again: %d resealed, %v", resealed, err)
	}
}

func TestTheRecoveryLogIsBroughtUnderANewKey(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	now := time.Date(2026, 3, 4, 12, 30, 0, 0, time.UTC)
	old := recoveryLog(t, dir, 1)
	add(t, old, now.Add(-5*time.Hour), "first")
	add(t, old, now.Add(-5*time.Hour), "second")
	add(t, old, now.Add(-4*time.Hour), "third")
	add(t, old, now, "being written")

	both, err := seal.OpenRecoveryLog(dir, boxOf(t, 2, 1), 72*time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	resealed := 0
	report := func(err error) {
		if err != nil {
			t.Error(err)
		}
		resealed++
	}

	// Killed in the middle, every file is whole under one of the keys.
	killed, kill := context.WithCancel(t.Context())
	_, _, err = both.Reseal(killed, now, func(err error) {
		report(err)
		kill()
	})
	if !errors.Is(err, context.Canceled) || resealed != 1 {
		t.Fatalf("killed after %d files: %v", resealed, err)
	}
	want := []string{"first", "second", "third", "being written"}
	if list, err := entries(t, both); err != nil || !slices.Equal(list, want) {
		t.Errorf("after the kill: %v, %v", list, err)
	}

	// A file that the old process may still append to is left.
	left, until, err := both.Reseal(t.Context(), now, report)
	if err != nil || resealed != 2 || left != 1 || !until.Equal(now.Truncate(time.Hour).Add(2*time.Hour)) {
		t.Fatalf("%d resealed, %d left until %s, %v", resealed, left, until, err)
	}
	add(t, old, now.Add(time.Minute), "appended")
	left, _, err = both.Reseal(t.Context(), now.Add(2*time.Hour), report)
	if err != nil || resealed != 3 || left != 0 {
		t.Fatalf("later: %d resealed, %d left, %v", resealed, left, err)
	}

	want = append(want, "appended")
	if list, err := entries(t, recoveryLog(t, dir, 2)); err != nil || !slices.Equal(list, want) {
		t.Errorf("with the new key: %v, %v", list, err)
	}
	if list, err := entries(t, recoveryLog(t, dir, 1)); !errors.Is(err, seal.ErrOpen) || len(list) != 0 {
		t.Errorf("the old key still opens %v, %v", list, err)
	}
	if drafts, err := filepath.Glob(filepath.Join(dir, ".new-*")); err != nil || len(drafts) != 0 {
		t.Errorf("drafts are left: %v, %v", drafts, err)
	}
}

// TestDraftsOfKilledProcessesAreRemoved leaves drafts as a process does that is
// killed while it writes.
func TestDraftsOfKilledProcessesAreRemoved(t *testing.T) {
	t.Parallel()
	now := time.Now()
	leave := func(dir string) (abandoned, inUse string) {
		t.Helper()
		abandoned = filepath.Join(dir, ".new-1")
		inUse = filepath.Join(dir, ".new-2")
		for _, path := range []string{abandoned, inUse} {
			if err := os.WriteFile(path, []byte("half a file"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Chtimes(abandoned, now, now.Add(-11*time.Minute)); err != nil {
			t.Fatal(err)
		}
		return abandoned, inUse
	}
	check := func(when, abandoned, inUse string) {
		t.Helper()
		if _, err := os.Stat(abandoned); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s, the abandoned draft is still there: %v", when, err)
		}
		if _, err := os.Stat(inUse); err != nil {
			t.Errorf("%s, the draft of another process is gone: %v", when, err)
		}
	}
	report := func(err error) { t.Errorf("something is resealed: %v", err) }

	dir := t.TempDir()
	abandoned, inUse := leave(dir)
	if err := open(t, dir, 1).Reseal(t.Context(), report); err != nil {
		t.Fatal(err)
	}
	check("after a rotation of the spool", abandoned, inUse)

	dir = t.TempDir()
	abandoned, inUse = leave(dir)
	if _, _, err := recoveryLog(t, dir, 1).Reseal(t.Context(), now, report); err != nil {
		t.Fatal(err)
	}
	check("after a rotation of the recovery log", abandoned, inUse)

	// Without another rotation, the service removes it with what is too old.
	dir = t.TempDir()
	log := recoveryLog(t, dir, 1)
	abandoned, inUse = leave(dir)
	add(t, log, now, "the first of an hour")
	check("in the next hour", abandoned, inUse)
}

// TestARotationBringsNobodyBack rotates the key while a person is erased from the
// same file.
func TestARotationBringsNobodyBack(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	now := time.Date(2026, 3, 4, 12, 30, 0, 0, time.UTC)
	add(t, recoveryLog(t, dir, 1), now.Add(-5*time.Hour), "Ada Lovelace")

	service := recoveryLog(t, dir, 1)
	rotation, err := seal.OpenRecoveryLog(dir, boxOf(t, 2, 1), 72*time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	resealed := make(chan error, 1)
	done := make(chan error, 1)

	_, err = service.Rewrite(t.Context(), now, func([]byte) ([]byte, bool) {
		go func() {
			_, _, err := rotation.Reseal(t.Context(), now, func(err error) { resealed <- err })
			done <- err
		}()
		select {
		case err := <-resealed:
			t.Errorf("a file is resealed while it is rewritten: %v", err)
		case <-time.After(200 * time.Millisecond):
		}
		return []byte("erased"), true
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}

	if list, err := entries(t, recoveryLog(t, dir, 2)); err != nil || !slices.Equal(list, []string{"erased"}) {
		t.Errorf("afterwards the log holds %q, %v", list, err)
	}
}
