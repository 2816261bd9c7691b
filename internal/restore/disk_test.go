package restore

import (
	"os"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/store"
)

func TestADiskSaysWhyTheDatabaseIsNotAsItKnewIt(t *testing.T) {
	t.Parallel()
	now := time.Now()
	server := store.ServerPosition{System: "7", Timeline: 1, WAL: 1000, Database: 5}
	known := disk{Copy: "a", Beat: 10, At: now.Add(-time.Minute), Server: server}

	for name, test := range map[string]struct {
		edit func(*store.CopyState)
		want difference
	}{
		"nothing":                    {func(*store.CopyState) {}, difference{}},
		"a later beat":               {func(s *store.CopyState) { s.Beat = 12 }, difference{}},
		"another cluster":            {func(s *store.CopyState) { s.Server.System = "8" }, difference{"identifier", true}},
		"a promotion":                {func(s *store.CopyState) { s.Server.Timeline = 2 }, difference{"timeline", false}},
		"a promotion that lost":      {func(s *store.CopyState) { s.Server.Timeline, s.Beat = 2, 9 }, difference{"timeline", true}},
		"an earlier position":        {func(s *store.CopyState) { s.Server.WAL = 999 }, difference{"position", true}},
		"an earlier beat":            {func(s *store.CopyState) { s.Beat = 9 }, difference{"position", true}},
		"a row that is gone":         {func(s *store.CopyState) { s.Beat = 0 }, difference{"position", true}},
		"another database beside it": {func(s *store.CopyState) { s.Server.Database = 6 }, difference{"position", false}},
	} {
		state := store.CopyState{Server: server, Beat: 10}
		state.Server.WAL = 2000
		test.edit(&state)
		if got := known.compare(state, now); got != test.want {
			t.Errorf("%s: %+v, want %+v", name, got, test.want)
		}
	}

	// A disk of weeks ago knows a row that may have been removed since.
	known.At = now.Add(-2 * rememberedFor)
	state := store.CopyState{Server: server}
	if got := known.compare(state, now); got != (difference{}) {
		t.Errorf("after weeks: %+v", got)
	}
}

func TestADiskRemembersTheCopiesBesideIt(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	now := time.Now().UTC().Truncate(time.Millisecond)
	known := newDisk()
	known.see(map[string]time.Time{known.Copy: now, "other": now, "gone": now.Add(-2 * rememberedFor)}, now)
	if err := known.write(dir, "installation"); err != nil {
		t.Fatal(err)
	}

	read, isThere, err := readDisk(dir, "installation")
	if err != nil || !isThere || read.Copy != known.Copy || len(read.Copies) != 1 || !read.Copies["other"].Equal(now) {
		t.Errorf("read %+v, %t, %v", read, isThere, err)
	}
	if _, isThere, err := readDisk(dir, "another"); err != nil || isThere {
		t.Errorf("another installation's: %t, %v", isThere, err)
	}

	// Half a file is none.
	if err := os.WriteFile(diskFile(dir, "installation"), []byte(`{"copy":"a`), 0o600); err != nil {
		t.Fatal(err)
	}
	if again, isThere, err := readDisk(dir, "installation"); err != nil || isThere || again.Copy == known.Copy {
		t.Errorf("half a file: %+v, %t, %v", again, isThere, err)
	}
}
