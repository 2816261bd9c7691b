package seal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"
)

// A Spool is a directory of what must not be lost before the database has it.
// Entries are sealed and survive a loss of power. It is safe for concurrent
// use, and by several processes.
type Spool struct {
	disk
	box *Box

	reserved atomic.Int64 // sales that room is reserved for
}

const suffix = ".sealed"

// OpenSpool opens the directory, and creates it if it is not there.
func OpenSpool(dir string, box *Box) (*Spool, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("spool: %w", err)
	}
	return &Spool{disk: disk{dir: dir}, box: box}, nil
}

// Put stores data under a name, which must be fit for a file. When it returns,
// the entry survives a crash of the machine.
func (s *Spool) Put(name string, data []byte) error {
	if name == "" || strings.ContainsAny(name, "/\\\x00") || strings.HasPrefix(name, ".") {
		return fmt.Errorf("spool: %q is not a valid file name", name)
	}

	if err := s.note(s.write(name, data)); err != nil {
		return fmt.Errorf("spool: %w", err)
	}
	return nil
}

// write writes the file of an entry.
func (s *Spool) write(name string, data []byte) error {
	// The file gets its name only once it is complete and on the disk: a
	// reader never sees half an entry.
	file, err := createDraft(s.dir)
	if err != nil {
		return err
	}
	_, err = file.Write(s.box.Seal(data, "spool", name))
	err = errors.Join(err, file.Sync(), file.Close())
	if err == nil {
		err = os.Rename(file.Name(), s.file(name))
	}
	if err != nil {
		return errors.Join(err, os.Remove(file.Name()))
	}
	return syncDir(s.dir)
}

// A file that is being written has a name that begins so.
const (
	draftPrefix  = ".new-"
	draftPattern = draftPrefix + "*"
)

// abandonedAfter is how old a draft is that nobody is writing any more: the file
// of an hour takes seconds.
const abandonedAfter = 10 * time.Minute

// removeDrafts removes the drafts of processes that were killed while they wrote.
// Nobody reads them.
func removeDrafts(dir string, now time.Time) error {
	files, err := os.ReadDir(dir)
	if err != nil {
		return err
	}

	var failed error
	for _, file := range files {
		if !strings.HasPrefix(file.Name(), draftPrefix) {
			continue
		}
		info, err := file.Info()
		if err == nil && now.Sub(info.ModTime()) > abandonedAfter {
			err = os.Remove(filepath.Join(dir, file.Name()))
		}
		if err != nil && !errors.Is(err, os.ErrNotExist) { // its process has finished it
			failed = errors.Join(failed, err)
		}
	}
	return failed
}

func (s *Spool) file(name string) string { return filepath.Join(s.dir, name+suffix) }

// syncDir writes the directory itself to the disk: without it a crash of the
// machine can lose the name of a file that is there.
func syncDir(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// Remove deletes an entry. It is no error if there is none.
func (s *Spool) Remove(name string) error {
	if err := os.Remove(s.file(name)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("spool: %w", err)
	}
	return nil
}

// Names lists the entries.
func (s *Spool) Names() ([]string, error) {
	files, err := os.ReadDir(s.dir)
	if err != nil {
		return nil, fmt.Errorf("spool: %w", err)
	}

	var names []string
	for _, file := range files {
		if name, ok := strings.CutSuffix(file.Name(), suffix); ok {
			names = append(names, name)
		}
	}
	return names, nil
}

// Get reads an entry; os.ErrNotExist if it was removed meanwhile.
func (s *Spool) Get(name string) ([]byte, error) {
	sealed, err := os.ReadFile(s.file(name))
	if err != nil {
		return nil, fmt.Errorf("spool: %w", err)
	}

	data, err := s.box.Open(sealed, "spool", name)
	if err != nil {
		return nil, fmt.Errorf("spool: entry %s: %w", name, err)
	}
	return data, nil
}

// Reseal brings entries under the present key, and calls report for each that
// needs it. The spool can be used meanwhile: an entry that is removed in
// between may appear again, as after a crash between recording and removing it.
// It also removes what a process that was killed has left.
func (s *Spool) Reseal(ctx context.Context, report func(error)) error {
	if err := removeDrafts(s.dir, time.Now()); err != nil {
		return fmt.Errorf("spool: %w", err)
	}
	names, err := s.Names()
	if err != nil {
		return err
	}

	for _, name := range names {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		old, err := s.isOld(name)
		if err != nil {
			return err
		}
		if !old {
			continue
		}

		data, err := s.Get(name)
		switch {
		case errors.Is(err, os.ErrNotExist): // it was recorded and removed meanwhile
		case errors.Is(err, ErrOpen):
			report(err)
		case err != nil:
			return err
		default:
			if err := s.Put(name, data); err != nil {
				return err
			}
			report(nil)
		}
	}
	return nil
}

// Headers calls do with the key header of each entry.
func (s *Spool) Headers(do func(header []byte)) error {
	names, err := s.Names()
	for _, name := range names {
		header, readErr := readHeader(s.file(name), 0)
		if readErr != nil {
			return fmt.Errorf("spool: %w", readErr)
		}
		if header != nil {
			do(header)
		}
	}
	return err
}

func (s *Spool) isOld(name string) (bool, error) {
	header, err := readHeader(s.file(name), 0)
	if err != nil {
		return false, fmt.Errorf("spool: %w", err)
	}
	return header != nil && s.box.Old(header), nil
}

// readHeader reads the key header of a sealed secret in a file, which begins at
// the offset; nil if there is none, or the file is no longer there.
func readHeader(path string, offset int64) ([]byte, error) {
	file, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // it was only read

	header := make([]byte, headerSize)
	if _, err := file.ReadAt(header, offset); err != nil {
		return nil, ignoreEnd(err)
	}
	return header, nil
}

// TakeOver moves the entries of another directory here that the keys of the spool
// open. It returns how many those were.
func (s *Spool) TakeOver(dir string) (int, error) {
	n, err := takeOver(dir, s.dir, s.box, 0)
	if err != nil {
		return n, fmt.Errorf("spool: %w", err)
	}
	return n, nil
}

// TakeOver moves the files of another directory here that the keys of the log open.
// It returns how many those were.
func (t *RecoveryLog) TakeOver(dir string) (int, error) {
	n, err := takeOver(dir, t.dir, t.box, entryHeader)
	if err != nil {
		return n, fmt.Errorf("recovery log: %w", err)
	}
	return n, nil
}

// takeOver moves the sealed files that the box opens, and whose key headers are at
// the offset. A process that is writing to one goes on with it.
func takeOver(from, to string, box *Box, offset int64) (n int, err error) {
	files, err := os.ReadDir(from)
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}

	for _, file := range files {
		if !strings.HasSuffix(file.Name(), suffix) {
			continue
		}
		header, err := readHeader(filepath.Join(from, file.Name()), offset)
		if err != nil {
			return n, err
		}
		if header == nil || !box.Holds(header) {
			continue
		}

		switch err := os.Rename(filepath.Join(from, file.Name()), filepath.Join(to, file.Name())); {
		case errors.Is(err, os.ErrNotExist): // another process was quicker
		case err != nil:
			return n, err
		default:
			n++
		}
	}
	return n, nil
}
