package seal

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// A Spool is a directory of what must not be lost before the database has it:
// sealed, and there when the machine loses power. It knows names and bytes
// alone. It is safe for concurrent use, and by
// several processes.
type Spool struct {
	dir string
	box *Box
}

const suffix = ".sealed"

// OpenSpool opens the directory, and makes it if it is not there.
func OpenSpool(dir string, box *Box) (*Spool, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("spool: %w", err)
	}
	return &Spool{dir: dir, box: box}, nil
}

// Put keeps data under a name, which must be fit for a file. When it returns,
// the entry outlives the machine.
func (s *Spool) Put(name string, data []byte) (err error) {
	if name == "" || strings.ContainsAny(name, "/\\\x00") || strings.HasPrefix(name, ".") {
		return fmt.Errorf("spool: %q cannot be the name of a file", name)
	}
	f, err := os.CreateTemp(s.dir, ".new-*")
	if err != nil {
		return fmt.Errorf("spool: %w", err)
	}
	_, err = f.Write(s.box.Seal(data, "spool", name))
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), s.file(name))
	}
	if err != nil {
		return fmt.Errorf("spool: %w", errors.Join(err, os.Remove(f.Name())))
	}
	return s.sync()
}

func (s *Spool) file(name string) string { return filepath.Join(s.dir, name+suffix) }

// sync makes the directory itself outlive the machine.
func (s *Spool) sync() error {
	d, err := os.Open(s.dir)
	if err != nil {
		return fmt.Errorf("spool: %w", err)
	}
	if err := errors.Join(d.Sync(), d.Close()); err != nil {
		return fmt.Errorf("spool: %w", err)
	}
	return nil
}

// Remove forgets an entry. One that is not there is forgotten already.
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
	for _, f := range files {
		if name, ok := strings.CutSuffix(f.Name(), suffix); ok {
			names = append(names, name)
		}
	}
	return names, nil
}

// Get reads an entry; os.ErrNotExist if somebody else has removed it.
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
