package seal_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/seal"
)

func recoveryLog(t *testing.T, dir string, key byte) *seal.RecoveryLog {
	t.Helper()
	box, err := seal.New(bytes.Repeat([]byte{key}, 32))
	if err != nil {
		t.Fatal(err)
	}
	made, err := seal.OpenRecoveryLog(dir, box, 72*time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func entries(t *testing.T, of *seal.RecoveryLog) (list []string, err error) {
	t.Helper()
	err = of.Each(t.Context(), func(data []byte) error {
		list = append(list, string(data))
		return nil
	})
	return list, err
}

func add(t *testing.T, to *seal.RecoveryLog, at time.Time, text string) {
	t.Helper()
	if err := to.Append(at, []byte(text)); err != nil {
		t.Fatal(err)
	}
}

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func TestATrailIsReadByTheNextProcessInOrder(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "trail")
	first := recoveryLog(t, dir, 1)
	add(t, first, noon, "Ada Lovelace")
	add(t, first, noon.Add(time.Minute), "two")
	add(t, first, noon.Add(time.Hour), "three")
	second := recoveryLog(t, dir, 1)
	add(t, second, noon.Add(2*time.Hour), "four")
	add(t, first, noon.Add(3*time.Hour), "five")
	list, err := entries(t, recoveryLog(t, dir, 1))
	if want := []string{"Ada Lovelace", "two", "three", "four", "five"}; err != nil || !slices.Equal(list, want) {
		t.Errorf("read %q, %v", list, err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(files) != 4 {
		t.Fatalf("files %v, %v", files, err)
	}
	for _, f := range files {
		if raw, err := os.ReadFile(f); err != nil || bytes.Contains(raw, []byte("Ada")) {
			t.Errorf("%s holds %q, %v", f, raw, err)
		}
	}
}

func TestATrailForgetsWhatIsTooOld(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	made := recoveryLog(t, dir, 1)
	for hour := range 80 {
		add(t, made, noon.Add(time.Duration(hour)*time.Hour), fmt.Sprint(hour))
	}
	list, err := entries(t, made)
	if err != nil || list[0] != "6" || list[len(list)-1] != "79" {
		t.Errorf("%d entries from %s on, %v", len(list), list[0], err)
	}
}

func TestHalfAnEntryCostsNoOther(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	died := recoveryLog(t, dir, 1)
	add(t, died, noon, "one")
	add(t, died, noon, "two")
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	info, err := os.Stat(files[0])
	if err != nil {
		t.Fatal(err)
	}
	for cut := range info.Size() / 2 {
		if err := os.Truncate(files[0], info.Size()-cut-1); err != nil {
			t.Fatal(err)
		}
		if list, err := entries(t, died); err != nil || !slices.Equal(list, []string{"one"}) {
			t.Fatalf("without its last %d bytes: %q, %v", cut+1, list, err)
		}
	}
	add(t, recoveryLog(t, dir, 1), noon, "three")
	if list, err := entries(t, died); err != nil || len(list) != 2 {
		t.Errorf("read %q, %v", list, err)
	}
}

func TestAFileOfAnotherKeyIsToldAndKeepsNothingBack(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	add(t, recoveryLog(t, dir, 2), noon, "foreign")
	add(t, recoveryLog(t, dir, 1), noon, "own")
	if list, err := entries(t, recoveryLog(t, dir, 1)); !errors.Is(err, seal.ErrOpen) || !slices.Equal(list, []string{"own"}) {
		t.Errorf("read %q, %v", list, err)
	}
}

func TestManyAddAtOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	made := recoveryLog(t, dir, 1)
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for n := range 100 {
				if err := made.Append(noon.Add(time.Duration(n)*time.Minute), []byte(fmt.Sprint(i, n))); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	list, err := entries(t, made)
	slices.Sort(list)
	if err != nil || len(slices.Compact(list)) != 800 {
		t.Errorf("%d entries, %v", len(list), err)
	}
}

// TestTheRecoveryLogIsReadFromItsEnd has two processes write in two hours, and one of them
// die in the middle of an entry.
func TestTheRecoveryLogIsReadFromItsEnd(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	noon := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	first := recoveryLog(t, dir, 1)
	add(t, first, noon, "one")
	add(t, first, noon, "two")
	add(t, first, noon.Add(time.Hour), "three")
	files, err := filepath.Glob(filepath.Join(dir, "2026030413-*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("files %v, %v", files, err)
	}
	file, err := os.OpenFile(files[0], os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.Write([]byte{0, 0, 1, 0, 7}); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}

	read := func(perFile, hours int) (list []string) {
		seen := 0
		err := recoveryLog(t, dir, 1).EachHourBackward(t.Context(), func(data []byte) (bool, error) {
			seen++
			list = append(list, string(data))
			return seen < perFile, nil
		}, func() (bool, error) {
			seen = 0
			hours--
			return hours == 0, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	if list := read(9, 9); !slices.Equal(list, []string{"three", "two", "one"}) {
		t.Errorf("read %q", list)
	}
	if list := read(1, 9); !slices.Equal(list, []string{"three", "two"}) {
		t.Errorf("the last of each file: %q", list)
	}
	if list := read(9, 1); !slices.Equal(list, []string{"three"}) {
		t.Errorf("the last hour: %q", list)
	}
}
