package seal_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/waybillhq/waybill/internal/seal"
)

func open(t *testing.T, dir string, key byte) *seal.Spool {
	t.Helper()
	box, err := seal.New(bytes.Repeat([]byte{key}, 32))
	if err != nil {
		t.Fatal(err)
	}
	s, err := seal.OpenSpool(dir, box)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestWhatIsPutIsThereForTheNextProcessAndReadableByNobodyElse(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "spool")
	if err := open(t, dir, 1).Put("shp_1.2", []byte("paid: Ada Lovelace")); err != nil {
		t.Fatal(err)
	}
	next := open(t, dir, 1)
	names, err := next.Names()
	if err != nil || !slices.Equal(names, []string{"shp_1.2"}) {
		t.Fatalf("names %v, %v", names, err)
	}
	if data, err := next.Get("shp_1.2"); err != nil || string(data) != "paid: Ada Lovelace" {
		t.Errorf("Get = %q, %v", data, err)
	}
	if _, err := open(t, dir, 2).Get("shp_1.2"); !errors.Is(err, seal.ErrOpen) {
		t.Errorf("with another key: %v", err)
	}
	raw, err := os.ReadFile(filepath.Join(dir, "shp_1.2.sealed"))
	if err != nil || bytes.Contains(raw, []byte("Ada")) {
		t.Errorf("the file holds %q, %v", raw, err)
	}
	for range 2 {
		if err := next.Remove("shp_1.2"); err != nil {
			t.Error(err)
		}
	}
	if _, err := next.Get("shp_1.2"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("after Remove: %v", err)
	}
}

func TestANameThatLeavesTheDirectoryIsRefused(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir(), 1)
	for _, name := range []string{"", "../x", "a/b", ".hidden", "a\x00"} {
		if s.Put(name, nil) == nil {
			t.Errorf("%q is taken", name)
		}
	}
}

func TestAnEntryUnderAnotherNameDoesNotOpen(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir, 1)
	if err := s.Put("a", []byte("x")); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(dir, "a.sealed"), filepath.Join(dir, "b.sealed")); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Get("b"); !errors.Is(err, seal.ErrOpen) {
		t.Errorf("Get = %v", err)
	}
}
