package seal

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// A disk is a directory, and whether the last write to it succeeded.
type disk struct {
	dir string

	failed atomic.Bool
	state  sync.Mutex
	err    error     // of the last write
	tried  time.Time // when the directory was last tried after a failure
}

// tryAgainAfter is how long a directory that could not be written to is not tried
// again: every purchase asks.
const tryAgainAfter = time.Second

// note remembers how a write ended, and returns its error.
func (d *disk) note(err error) error {
	if err == nil && !d.failed.Load() {
		return nil
	}

	d.state.Lock()
	defer d.state.Unlock()
	d.err = err
	d.failed.Store(err != nil)
	if err != nil {
		d.tried = time.Now()
	}
	return err
}

// Check returns an error if the directory cannot be written to. After a failure it
// writes a file of its own now and then, so that it notices when that has ended.
func (d *disk) Check() error {
	if !d.failed.Load() {
		return nil
	}

	d.state.Lock()
	defer d.state.Unlock()
	if d.err != nil && time.Since(d.tried) >= tryAgainAfter {
		d.tried = time.Now()
		d.err = d.try()
		d.failed.Store(d.err != nil)
	}
	return d.err
}

// try writes a file and removes it.
func (d *disk) try() error {
	draft, err := createDraft(d.dir)
	if err != nil {
		return err
	}
	_, err = draft.Write(make([]byte, 4096))
	return errors.Join(err, draft.Close(), os.Remove(draft.Name()))
}

// createDraft creates a file that nobody reads before it has another name. One that
// root creates belongs to the owner of the directory: the service is not root, and
// must be able to read what a command of the administrator has left.
func createDraft(dir string) (*os.File, error) {
	draft, err := os.CreateTemp(dir, draftPattern)
	if err != nil || os.Geteuid() != 0 {
		return draft, err
	}

	info, err := os.Stat(dir)
	if err == nil {
		owner := info.Sys().(*syscall.Stat_t)
		err = draft.Chown(int(owner.Uid), int(owner.Gid))
	}
	if err != nil {
		return nil, errors.Join(err, draft.Close(), os.Remove(draft.Name()))
	}
	return draft, nil
}

// SaleRoom is the room that is reserved for a sale before it is made: a label with
// its documents is smaller.
const SaleRoom = 1 << 20

// TakeRoom counts room for one sale until release is called, which may be called
// more than once. It writes nothing. It fails if the disk has no such room beside
// what others have reserved, or could not be written to lately.
func (s *Spool) TakeRoom() (release func(), err error) {
	if err := s.Check(); err != nil {
		return nil, fmt.Errorf("spool: %w", err)
	}

	reserved := s.reserved.Add(1)
	if err := hasRoom(s.dir, reserved); err != nil {
		s.reserved.Add(-1)
		return nil, fmt.Errorf("spool: %w", err)
	}
	return sync.OnceFunc(func() { s.reserved.Add(-1) }), nil
}

// Reserved counts the sales that room is reserved for.
func (s *Spool) Reserved() int64 { return s.reserved.Load() }

// HasRoom returns an error if TakeRoom would fail.
func (s *Spool) HasRoom() error {
	release, err := s.TakeRoom()
	if err == nil {
		release()
	}
	return err
}

// hasRoom returns an error if the file system of the directory cannot take so many
// sales.
func hasRoom(dir string, sales int64) error {
	var found syscall.Statfs_t
	if err := syscall.Statfs(dir+"/.", &found); err != nil { // of a directory alone
		return &os.PathError{Op: "statfs", Path: dir, Err: err}
	}

	free := uint64(found.Bavail) * uint64(found.Bsize)
	if needed := uint64(sales) * SaleRoom; free < needed {
		return fmt.Errorf("%s has %d KiB left, and %d purchases that are under way need %d KiB", filepath.Clean(dir), free>>10, sales, needed>>10)
	}

	// Some file systems have no fixed number of files, and report none at all.
	if found.Files > 0 && uint64(found.Ffree) < uint64(sales) {
		return fmt.Errorf("%s has room for %d more files, and %d purchases are under way", filepath.Clean(dir), found.Ffree, sales)
	}
	return nil
}
