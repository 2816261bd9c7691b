package seal

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

func testBox(t *testing.T) *Box {
	t.Helper()
	box, err := New(bytes.Repeat([]byte{1}, 32))
	if err != nil {
		t.Fatal(err)
	}
	return box
}

func TestRoomIsCountedAndNotWritten(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	spool, err := OpenSpool(dir, testBox(t))
	if err != nil {
		t.Fatal(err)
	}

	first, err := spool.TakeRoom()
	if err != nil {
		t.Fatal(err)
	}
	second, err := spool.TakeRoom()
	if err != nil {
		t.Fatal(err)
	}
	if n := spool.reserved.Load(); n != 2 {
		t.Errorf("%d sales are reserved, want 2", n)
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) > 0 {
		t.Errorf("a reservation has written %v, %v", files, err)
	}

	// Whoever releases twice does not take the room of another.
	first()
	first()
	if n := spool.reserved.Load(); n != 1 {
		t.Errorf("%d sales are reserved, want 1", n)
	}
	second()

	// More sales are under way than any disk can take.
	spool.reserved.Store(1 << 40)
	if release, err := spool.TakeRoom(); err == nil || !strings.Contains(err.Error(), "KiB left") {
		t.Errorf("beside all of them there is room: %t, %v", release != nil, err)
	}
	if n := spool.reserved.Load(); n != 1<<40 {
		t.Errorf("a reservation that failed is counted: %d", n)
	}
}

func TestADirectoryThatFailedIsTriedAgain(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "spool")
	spool, err := OpenSpool(dir, testBox(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}

	if err := spool.Put("a", []byte("paid")); err == nil {
		t.Fatal("an entry was written to a directory that is gone")
	}
	if spool.Check() == nil || spool.HasRoom() == nil {
		t.Errorf("after a failed write: %v, %v", spool.Check(), spool.HasRoom())
	}

	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	spool.tried = time.Now().Add(-2 * tryAgainAfter)
	if err := spool.Check(); err != nil {
		t.Errorf("once it can be written to again: %v", err)
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) > 0 {
		t.Errorf("the try has left %v, %v", files, err)
	}
}

func TestAFailedAppendLeavesNeitherHalfAnEntryNorAnEmptyFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	recoveryLog, err := OpenRecoveryLog(dir, testBox(t), time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()

	// Half an entry behind a complete one, as a full disk leaves it.
	if err := recoveryLog.Append(now, []byte("one")); err != nil {
		t.Fatal(err)
	}
	if _, err := recoveryLog.file.Write([]byte{0, 0, 1}); err != nil {
		t.Fatal(err)
	}
	if err := recoveryLog.cutOff(); err != nil {
		t.Fatal(err)
	}
	if err := recoveryLog.Append(now, []byte("two")); err != nil {
		t.Fatal(err)
	}

	var list []string
	err = recoveryLog.Each(t.Context(), func(data []byte) error {
		list = append(list, string(data))
		return nil
	})
	if err != nil || !slices.Equal(list, []string{"one", "two"}) {
		t.Errorf("read %q, %v", list, err)
	}

	// The first entry of each file fails.
	for range 5 {
		recoveryLog.hour = ""
		if err := recoveryLog.rotate(now, now.UTC().Format(recoveryLogHour)); err != nil {
			t.Fatal(err)
		}
		if err := recoveryLog.file.Close(); err != nil {
			t.Fatal(err)
		}
		if recoveryLog.Append(now, []byte("three")) == nil || recoveryLog.Check() == nil {
			t.Error("an entry that was not written is none the worse for it")
		}
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 1 {
		t.Errorf("%d files are left, want the one with entries: %v", len(files), err)
	}

	if err := recoveryLog.Append(now, []byte("four")); err != nil || recoveryLog.Check() != nil {
		t.Errorf("afterwards: %v, %v", err, recoveryLog.Check())
	}
}

// TestASyncedRecoveryLogIsTheSameLog has several write at once while the hour, and
// so the file, changes.
func TestASyncedRecoveryLogIsTheSameLog(t *testing.T) {
	t.Parallel()
	recoveryLog, err := OpenRecoveryLog(t.TempDir(), testBox(t), 72*time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	recoveryLog.Sync = true

	begun := time.Now()
	failed := make(chan error, 4)
	for writer := range 4 {
		go func() {
			var err error
			for n := range 10 {
				if err = recoveryLog.Append(begun.Add(time.Duration(n+writer)*time.Hour), []byte("entry")); err != nil {
					break
				}
			}
			failed <- err
		}()
	}
	for range 4 {
		if err := <-failed; err != nil {
			t.Error(err)
		}
	}

	n := 0
	err = recoveryLog.Each(t.Context(), func([]byte) error {
		n++
		return nil
	})
	if err != nil || n != 40 {
		t.Errorf("%d entries, %v", n, err)
	}
}

// BenchmarkAppend measures what an entry costs before each purchase, with and without
// SPOOL_SYNC, from one writer and from many.
func BenchmarkAppend(b *testing.B) {
	entry := make([]byte, 1024)
	for name, isSynced := range map[string]bool{"written": false, "synced": true} {
		box, err := New(bytes.Repeat([]byte{1}, 32))
		if err != nil {
			b.Fatal(err)
		}
		recoveryLog, err := OpenRecoveryLog(b.TempDir(), box, time.Hour)
		if err != nil {
			b.Fatal(err)
		}
		recoveryLog.Sync = isSynced

		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if err := recoveryLog.Append(time.Now(), entry); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(name+" by 32", func(b *testing.B) {
			b.SetParallelism(16)
			b.RunParallel(func(each *testing.PB) {
				for each.Next() {
					if err := recoveryLog.Append(time.Now(), entry); err != nil {
						b.Error(err)
					}
				}
			})
		})
	}
}

// BenchmarkTakeRoom measures the reservation before each purchase.
func BenchmarkTakeRoom(b *testing.B) {
	box, err := New(bytes.Repeat([]byte{1}, 32))
	if err != nil {
		b.Fatal(err)
	}
	spool, err := OpenSpool(b.TempDir(), box)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		release, err := spool.TakeRoom()
		if err != nil {
			b.Fatal(err)
		}
		release()
	}
}

// TestWhatRootWritesBelongsToTheService: an administrator rotates the key of a service
// that is another user, who must be able to read its spool afterwards.
func TestWhatRootWritesBelongsToTheService(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can write for another user")
	}
	dir := t.TempDir()
	const service = 61234
	if err := os.Chown(dir, service, service); err != nil {
		t.Fatal(err)
	}
	spool, err := OpenSpool(dir, testBox(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := spool.Put("shp_1.1", []byte("paid")); err != nil {
		t.Fatal(err)
	}

	info, err := os.Stat(filepath.Join(dir, "shp_1.1.sealed"))
	if err != nil {
		t.Fatal(err)
	}
	if owner := info.Sys().(*syscall.Stat_t); owner.Uid != service || owner.Gid != service {
		t.Errorf("the file belongs to %d:%d, want %d", owner.Uid, owner.Gid, service)
	}
}
