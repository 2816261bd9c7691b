package seal

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// A Spool is a directory of what must not be lost before the database has it.
// Entries are sealed and survive a loss of power. It is safe for concurrent
// use, and by several processes.
type Spool struct {
	dir string
	box *Box
}

const suffix = ".sealed"

// OpenSpool opens the directory, and creates it if it is not there.
func OpenSpool(dir string, box *Box) (*Spool, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("spool: %w", err)
	}
	return &Spool{dir: dir, box: box}, nil
}

// Put stores data under a name, which must be fit for a file. When it returns,
// the entry survives a crash of the machine.
func (s *Spool) Put(name string, data []byte) (err error) {
	if name == "" || strings.ContainsAny(name, "/\\\x00") || strings.HasPrefix(name, ".") {
		return fmt.Errorf("spool: %q is not a valid file name", name)
	}

	// The file gets its name only once it is complete and on the disk: a
	// reader never sees half an entry.
	file, err := os.CreateTemp(s.dir, ".new-*")
	if err != nil {
		return fmt.Errorf("spool: %w", err)
	}
	_, err = file.Write(s.box.Seal(data, "spool", name))
	err = errors.Join(err, file.Sync(), file.Close())
	if err == nil {
		err = os.Rename(file.Name(), s.file(name))
	}
	if err != nil {
		return fmt.Errorf("spool: %w", errors.Join(err, os.Remove(file.Name())))
	}
	return s.sync()
}

func (s *Spool) file(name string) string { return filepath.Join(s.dir, name+suffix) }

// sync writes the directory itself to the disk: without it a crash of the
// machine can lose the name of a file that is there.
func (s *Spool) sync() error {
	dir, err := os.Open(s.dir)
	if err != nil {
		return fmt.Errorf("spool: %w", err)
	}
	if err := errors.Join(dir.Sync(), dir.Close()); err != nil {
		return fmt.Errorf("spool: %w", err)
	}
	return nil
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
