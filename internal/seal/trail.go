package seal

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// A Trail is what this machine did lately: sealed entries in the order that
// they were made, by the hour, for some time. An entry outlives the process and
// the database, and most likely the machine: nothing waits for the disk. It is
// safe for concurrent use, and by several processes.
type Trail struct {
	dir  string
	box  *Box
	keep time.Duration

	mu   sync.Mutex
	file *os.File // of this process alone; nil before the first entry
	hour string
}

const trailHour = "2006010215"

// OpenTrail opens the directory, and makes it if it is not there. Entries are
// kept for so long.
func OpenTrail(dir string, box *Box, keep time.Duration) (*Trail, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("trail: %w", err)
	}
	return &Trail{dir: dir, box: box, keep: keep}, nil
}

// Leave adds an entry, made now. When it returns, the entry outlives the process.
func (t *Trail) Leave(now time.Time, data []byte) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if hour := now.UTC().Format(trailHour); hour != t.hour {
		if err := t.turn(now, hour); err != nil {
			return fmt.Errorf("trail: %w", err)
		}
	}
	sealed := t.box.Seal(data, "trail", filepath.Base(t.file.Name()))
	entry := append(binary.BigEndian.AppendUint32(make([]byte, 0, 4+len(sealed)), uint32(len(sealed))), sealed...)
	if _, err := t.file.Write(entry); err != nil {
		t.hour = "" // what follows half an entry cannot be read
		return fmt.Errorf("trail: %w", err)
	}
	return nil
}

// turn begins the file of an hour, and removes those that are too old.
func (t *Trail) turn(now time.Time, hour string) error {
	f, err := os.OpenFile(filepath.Join(t.dir, hour+"-"+strings.ToLower(rand.Text()[:10])+suffix), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if t.file != nil {
		_ = t.file.Close() // nothing of it is held back
	}
	t.file, t.hour = f, hour
	names, err := t.names()
	if err != nil {
		return err
	}
	for _, name := range names {
		// The name tells the hour that it began.
		if name < now.Add(-t.keep-time.Hour).UTC().Format(trailHour) {
			err = errors.Join(err, os.Remove(filepath.Join(t.dir, name)))
		}
	}
	return err
}

func (t *Trail) names() (names []string, err error) {
	files, err := os.ReadDir(t.dir)
	for _, f := range files {
		if strings.HasSuffix(f.Name(), suffix) {
			names = append(names, f.Name())
		}
	}
	return names, err
}

// Each hands over every entry, the older hours first, until do fails. An entry
// that a process died over ends its file; a file that cannot be read does not
// keep the others back.
func (t *Trail) Each(ctx context.Context, do func(data []byte) error) error {
	names, err := t.names()
	if err != nil {
		return fmt.Errorf("trail: %w", err)
	}
	var unread error
	for _, name := range names { // which are in order
		entries, err := os.Open(filepath.Join(t.dir, name))
		if errors.Is(err, os.ErrNotExist) {
			continue // it has become too old
		}
		if err != nil {
			return fmt.Errorf("trail: %w", err)
		}
		err = t.read(ctx, name, bufio.NewReader(entries), do)
		_ = entries.Close() // it was only read
		switch {
		case errors.Is(err, ErrOpen):
			unread = errors.Join(unread, fmt.Errorf("trail: %s: %w", name, err))
		case err != nil:
			return err
		}
	}
	return unread
}

func (t *Trail) read(ctx context.Context, name string, from io.Reader, do func(data []byte) error) error {
	for ctx.Err() == nil {
		var size [4]byte
		if _, err := io.ReadFull(from, size[:]); err != nil {
			return ended(err)
		}
		sealed, err := io.ReadAll(io.LimitReader(from, int64(binary.BigEndian.Uint32(size[:]))))
		if err != nil || len(sealed) < int(binary.BigEndian.Uint32(size[:])) {
			return ended(err)
		}
		data, err := t.box.Open(sealed, "trail", name)
		if err != nil {
			return err
		}
		if err := do(data); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// ended is no error at the end of a file, even in the middle of an entry.
func ended(err error) error {
	if err == nil || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	return fmt.Errorf("trail: %w", err)
}
