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
	"syscall"
	"time"
)

// A RecoveryLog records what this machine did lately: sealed entries in the
// order that they were made, in a file for each hour, kept for some time.
// An entry survives a crash of the process and a restore of the database. It
// most likely survives a crash of the machine, and does so for certain with Sync.
// A RecoveryLog is safe for concurrent use, and by several processes.
type RecoveryLog struct {
	// Sync has every entry synced to the disk before Append returns.
	Sync bool

	disk
	box  *Box
	keep time.Duration

	mu   sync.Mutex
	file *os.File // of this process alone; nil before the first entry
	size int64    // of its complete entries
	hour string
}

const recoveryLogHour = "2006010215"

// OpenRecoveryLog opens the directory, and creates it if it is not there. Entries are
// removed after the time keep.
func OpenRecoveryLog(dir string, box *Box, keep time.Duration) (*RecoveryLog, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("recovery log: %w", err)
	}
	return &RecoveryLog{disk: disk{dir: dir}, box: box, keep: keep}, nil
}

// Append adds an entry, made now. When it returns, the entry survives a crash of
// the process.
func (t *RecoveryLog) Append(now time.Time, data []byte) error {
	file, err := t.write(now, data)
	if err == nil && t.Sync {
		// Entries of others are written meanwhile, and one sync may do for many. A
		// file that was closed in between was synced before.
		if err = file.Sync(); errors.Is(err, os.ErrClosed) {
			err = nil
		}
	}
	if t.note(err) != nil {
		return fmt.Errorf("recovery log: %w", err)
	}
	return nil
}

// write writes an entry to the present file, which it returns.
func (t *RecoveryLog) write(now time.Time, data []byte) (*os.File, error) {
	t.mu.Lock()
	defer t.mu.Unlock()

	if hour := now.UTC().Format(recoveryLogHour); hour != t.hour {
		if err := t.rotate(now, hour); err != nil {
			return nil, err
		}
	}

	entry := t.entry(filepath.Base(t.file.Name()), data)
	if _, err := t.file.Write(entry); err != nil {
		return nil, errors.Join(err, t.cutOff())
	}
	t.size += int64(len(entry))
	return t.file, nil
}

// cutOff removes what a write has left that failed: what follows half an entry
// cannot be read, and a file without an entry only takes room on a full disk.
func (t *RecoveryLog) cutOff() error {
	if t.size > 0 {
		err := t.file.Truncate(t.size)
		if err == nil {
			_, err = t.file.Seek(t.size, io.SeekStart)
		}
		if err != nil {
			t.hour = "" // the next entry begins a new file
		}
		return err
	}

	t.hour = ""
	return os.Remove(t.file.Name())
}

// rotate begins the file of an hour, and removes those that are too old. Each
// process has files of its own, so their names have a random part.
func (t *RecoveryLog) rotate(now time.Time, hour string) error {
	name := hour + "-" + strings.ToLower(rand.Text()[:10]) + suffix
	file, err := os.OpenFile(filepath.Join(t.dir, name), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if err := t.closeFile(); err != nil {
		return errors.Join(err, file.Close(), os.Remove(file.Name()))
	}
	t.file = file
	t.size = 0
	t.hour = hour
	if t.Sync {
		if err := syncDir(t.dir); err != nil {
			return err
		}
	}

	// A name begins with the hour in which the file was begun; its last entry
	// may be an hour younger.
	names, err := t.names()
	if err != nil {
		return err
	}
	oldest := now.Add(-t.keep - time.Hour).UTC().Format(recoveryLogHour)
	for _, name := range names {
		if name < oldest {
			err = errors.Join(err, os.Remove(filepath.Join(t.dir, name)))
		}
	}
	return errors.Join(err, removeDrafts(t.dir, now))
}

// closeFile ends the file of the hour before.
func (t *RecoveryLog) closeFile() error {
	file := t.file
	if file == nil {
		return nil
	}
	t.file = nil

	var err error
	if t.Sync {
		err = file.Sync()
	}
	_ = file.Close() // writes are not buffered
	return err
}

// names lists the files, the older hours first.
func (t *RecoveryLog) names() (names []string, err error) {
	files, err := os.ReadDir(t.dir)
	for _, file := range files {
		if strings.HasSuffix(file.Name(), suffix) {
			names = append(names, file.Name())
		}
	}
	return names, err
}

// Each calls do with every entry, the older hours first, until do fails. A file
// ends at an entry that its process did not finish. A file that cannot be
// decrypted does not keep the others from being read.
func (t *RecoveryLog) Each(ctx context.Context, do func(data []byte) error) error {
	names, err := t.names()
	if err != nil {
		return fmt.Errorf("recovery log: %w", err)
	}

	var unread error
	for _, name := range names {
		file, err := os.Open(filepath.Join(t.dir, name))
		if errors.Is(err, os.ErrNotExist) {
			continue // another process has removed it
		}
		if err != nil {
			return fmt.Errorf("recovery log: %w", err)
		}

		err = t.read(ctx, name, bufio.NewReader(file), do)
		_ = file.Close() // it was only read
		switch {
		case errors.Is(err, ErrOpen):
			unread = errors.Join(unread, fmt.Errorf("recovery log: %s: %w", name, err))
		case err != nil:
			return err
		}
	}
	return unread
}

func (t *RecoveryLog) read(ctx context.Context, name string, from io.Reader, do func(data []byte) error) error {
	for ctx.Err() == nil {
		var header [4]byte
		if _, err := io.ReadFull(from, header[:]); err != nil {
			return ignoreEnd(err)
		}

		// A damaged size can be large. Reading up to a limit takes no more
		// memory than the file has bytes.
		size := binary.BigEndian.Uint32(header[:])
		sealed, err := io.ReadAll(io.LimitReader(from, int64(size)))
		if err != nil || len(sealed) < int(size) {
			return ignoreEnd(err)
		}

		data, err := t.box.Open(sealed, "recovery_log", name)
		if err != nil {
			return err
		}
		if err := do(data); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// EachHourBackward calls do with the entries of each file, the younger hours first and
// in a file the younger entries first, until do reports that it has seen enough of a
// file. After the files of an hour it calls enough, which says whether to go on with
// older ones. A file that cannot be decrypted does not keep the others from being read.
func (t *RecoveryLog) EachHourBackward(ctx context.Context, do func(data []byte) (more bool, err error), enough func() (bool, error)) error {
	names, err := t.names()
	if err != nil {
		return fmt.Errorf("recovery log: %w", err)
	}

	var unread error
	for i := len(names) - 1; i >= 0; i-- {
		err := t.readBackward(ctx, names[i], do)
		switch {
		case errors.Is(err, os.ErrNotExist): // another process has removed it
		case errors.Is(err, ErrOpen):
			unread = errors.Join(unread, fmt.Errorf("recovery log: %s: %w", names[i], err))
		case err != nil:
			return err
		}

		if i > 0 && hourOf(names[i-1]) == hourOf(names[i]) {
			continue
		}
		if isEnough, err := enough(); err != nil || isEnough {
			return errors.Join(unread, err)
		}
	}
	return unread
}

// hourOf is the part of a file's name that says when it was begun.
func hourOf(name string) string { return name[:min(len(name), len(recoveryLogHour))] }

// readBackward reads where the entries of a file begin, and then the entries from the
// last one on: an hour can have more of them than fit into memory.
func (t *RecoveryLog) readBackward(ctx context.Context, name string, do func([]byte) (bool, error)) error {
	file, err := os.Open(filepath.Join(t.dir, name))
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // it is only read
	info, err := file.Stat()
	if err != nil {
		return err
	}

	var begins []int64
	for at := int64(0); at+entryHeader <= info.Size() && ctx.Err() == nil; {
		var header [entryHeader]byte
		if _, err := file.ReadAt(header[:], at); err != nil {
			return ignoreEnd(err)
		}
		end := at + entryHeader + int64(binary.BigEndian.Uint32(header[:]))
		if end > info.Size() {
			break // its process did not finish it
		}
		begins = append(begins, at)
		at = end
	}

	end := info.Size()
	if len(begins) > 0 {
		last := begins[len(begins)-1]
		var header [entryHeader]byte
		if _, err := file.ReadAt(header[:], last); err != nil {
			return ignoreEnd(err)
		}
		end = last + entryHeader + int64(binary.BigEndian.Uint32(header[:]))
	}
	for i := len(begins) - 1; i >= 0; i-- {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		sealed := make([]byte, end-begins[i]-entryHeader)
		if _, err := file.ReadAt(sealed, begins[i]+entryHeader); err != nil {
			return ignoreEnd(err)
		}
		end = begins[i]

		data, err := t.box.Open(sealed, "recovery_log", name)
		if err != nil {
			return err
		}
		if more, err := do(data); err != nil || !more {
			return err
		}
	}
	return ctx.Err()
}

// writtenFor is how long a file may still be written to after the beginning of
// its hour: the hour itself, and another for clocks that differ.
const writtenFor = 2 * time.Hour

// Reseal brings the files that are no longer written to under the present key,
// and calls report for each that needs it. It returns how many are left
// because a process may still write to them, and when they can be resealed. It
// also removes what a process that was killed has left.
func (t *RecoveryLog) Reseal(ctx context.Context, now time.Time, report func(error)) (left int, until time.Time, err error) {
	if err := removeDrafts(t.dir, now); err != nil {
		return 0, until, fmt.Errorf("recovery log: %w", err)
	}
	names, err := t.names()
	if err != nil {
		return 0, until, fmt.Errorf("recovery log: %w", err)
	}

	for _, name := range names {
		if ctx.Err() != nil {
			return left, until, ctx.Err()
		}
		header, err := readHeader(filepath.Join(t.dir, name), entryHeader)
		if err != nil {
			return left, until, fmt.Errorf("recovery log: %w", err)
		}
		if header == nil || !t.box.Old(header) {
			continue
		}

		begun, err := time.Parse(recoveryLogHour, name[:min(len(name), len(recoveryLogHour))])
		if err == nil && now.Before(begun.Add(writtenFor)) && t.box.Holds(header) {
			left++
			until = begun.Add(writtenFor)
			continue
		}

		switch err := t.alone(func() error { return t.resealFile(ctx, name) }); {
		case errors.Is(err, os.ErrNotExist): // another process has removed it
		case errors.Is(err, ErrOpen):
			report(err)
		case err != nil:
			return left, until, fmt.Errorf("recovery log: %w", err)
		default:
			report(nil)
		}
	}
	return left, until, nil
}

// alone calls replace while no other process replaces a file. Of two that read a
// file and write it anew, the second would undo what the first has changed: a
// rotation of the key could bring back a person who was erased.
func (t *RecoveryLog) alone(replace func() error) error {
	dir, err := os.Open(t.dir)
	if err != nil {
		return err
	}
	defer func() { _ = dir.Close() }() // ends the lock

	if err := syscall.Flock(int(dir.Fd()), syscall.LOCK_EX); err != nil {
		return fmt.Errorf("lock %s: %w", t.dir, err)
	}
	return replace()
}

// entryHeader is the size of what precedes the sealed secret of an entry.
const entryHeader = 4

// resealFile writes a file anew and puts it in the place of the old one: whoever
// reads it, or is killed here, has one of the two as a whole.
func (t *RecoveryLog) resealFile(ctx context.Context, name string) (err error) {
	old, err := os.Open(filepath.Join(t.dir, name))
	if err != nil {
		return err
	}
	defer func() { _ = old.Close() }() // it was only read

	draft, err := createDraft(t.dir)
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(draft.Name()) }() // it is gone if it was renamed

	out := bufio.NewWriter(draft)
	err = t.read(ctx, name, bufio.NewReader(old), func(data []byte) error {
		_, err := out.Write(t.entry(name, data))
		return err
	})
	if err = errors.Join(err, out.Flush(), draft.Sync(), draft.Close()); err != nil {
		return err
	}
	return os.Rename(draft.Name(), filepath.Join(t.dir, name))
}

// entry returns data as it is written to the file of the name.
func (t *RecoveryLog) entry(name string, data []byte) []byte {
	sealed := t.box.Seal(data, "recovery_log", name)
	entry := binary.BigEndian.AppendUint32(make([]byte, 0, entryHeader+len(sealed)), uint32(len(sealed)))
	return append(entry, sealed...)
}

// Headers calls do with the key header of each file: a process seals all of its
// entries with one key.
func (t *RecoveryLog) Headers(do func(header []byte)) error {
	names, err := t.names()
	for _, name := range names {
		header, readErr := readHeader(filepath.Join(t.dir, name), entryHeader)
		if readErr != nil {
			return fmt.Errorf("recovery log: %w", readErr)
		}
		if header != nil {
			do(header)
		}
	}
	return err
}

// ignoreEnd returns no error at the end of a file, even in the middle of an
// entry.
func ignoreEnd(err error) error {
	if err == nil || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	return fmt.Errorf("recovery log: %w", err)
}

// Rewrite calls change with every entry and replaces those that it changes. It
// returns how many those were. Files of the last hour that other processes may
// still write to are left out.
func (t *RecoveryLog) Rewrite(ctx context.Context, now time.Time, change func(data []byte) (changed []byte, ok bool)) (int, error) {
	names, err := t.names()
	if err != nil {
		return 0, fmt.Errorf("recovery log: %w", err)
	}

	closed := now.Add(-time.Hour).UTC().Format(recoveryLogHour)
	n := 0
	for _, name := range names {
		t.mu.Lock()
		isOwn := t.file != nil && filepath.Base(t.file.Name()) == name
		if isOwn {
			t.hour = "" // the next entry begins another file
		}
		t.mu.Unlock()
		if name >= closed && !isOwn {
			continue
		}

		var changed int
		err := t.alone(func() (err error) {
			changed, err = t.rewrite(ctx, name, change)
			return err
		})
		if err != nil {
			return n, fmt.Errorf("recovery log: %w", err)
		}
		n += changed
	}
	return n, nil
}

// rewrite replaces a file if change changes one of its entries.
func (t *RecoveryLog) rewrite(ctx context.Context, name string, change func([]byte) ([]byte, bool)) (int, error) {
	path := filepath.Join(t.dir, name)
	file, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil // another process has removed it
	}
	if err != nil {
		return 0, err
	}
	defer func() { _ = file.Close() }() // it is only read

	n := 0
	var content []byte
	err = t.read(ctx, name, bufio.NewReader(file), func(data []byte) error {
		if changed, ok := change(data); ok {
			data = changed
			n++
		}
		content = append(content, t.entry(name, data)...)
		return nil
	})
	if err != nil || n == 0 {
		return 0, err
	}

	// The file is replaced as a whole: a crash leaves the one or the other.
	replacement, err := createDraft(t.dir)
	if err != nil {
		return 0, err
	}
	_, err = replacement.Write(content)
	err = errors.Join(err, replacement.Sync(), replacement.Close())
	if err == nil {
		err = os.Rename(replacement.Name(), path)
	}
	if err != nil {
		return 0, errors.Join(err, os.Remove(replacement.Name()))
	}
	return n, nil
}
