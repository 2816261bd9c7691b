// Package archive keeps what is dropped from the database in files: a compressed file
// of JSON lines for each partition, with a description beside it. A partition is in
// the archive once its description is there, which is written last, after the file
// was read again. Files have no personal data, so nothing in them is ever erased.
package archive

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// An Archive is a directory. All copies of the service that drop partitions must see
// the same one.
type Archive struct {
	Dir string
}

// Of returns the archive of a database below a directory. Cells have partitions of the
// same names, so each has a directory of its own there; cell is empty for an
// installation with one database.
func Of(dir, cell string) Archive { return Archive{Dir: filepath.Join(dir, cell)} }

// A Manifest describes a file of the archive.
type Manifest struct {
	Table     string    `json:"table"`
	Partition string    `json:"partition"` // with "-2" for the second file of one, and so on
	From      time.Time `json:"from"`
	To        time.Time `json:"to"`
	Rows      int64     `json:"rows"`
	Bytes     int64     `json:"bytes"`
	SHA256    string    `json:"sha256"` // of the compressed file
	WrittenAt time.Time `json:"writtenAt"`
	Content   string    `json:"content,omitempty"` // of the partition, as store.Partition has it
}

// file returns the path of a partition's rows.
func (a Archive) file(table, partition string) string {
	return filepath.Join(a.Dir, table, partition+".jsonl.gz")
}

// manifest returns the path of a partition's description.
func (a Archive) manifest(table, partition string) string {
	return filepath.Join(a.Dir, table, partition+".json")
}

// Has reports whether the partition is in the archive as a whole. It compares the
// size of the file alone: its rows were compared when it was written, and Verify does
// it again.
func (a Archive) Has(p store.Partition) bool {
	parts, err := a.parts(p)
	return err == nil && len(parts) > 0 && a.isWhole(p, parts[len(parts)-1])
}

// isWhole reports whether the archive has all rows of the partition, with the last of
// its files.
func (a Archive) isWhole(p store.Partition, last Manifest) bool {
	info, err := os.Stat(a.file(last.Table, last.Partition))
	if err != nil || info.Size() != last.Bytes {
		return false
	}
	if last.Content == "" && p.Content != "" {
		// It was written before files had the content.
		return strings.HasPrefix(p.Content, strconv.FormatInt(last.Rows, 10)+"/")
	}
	return last.Content == p.Content
}

// parts returns the descriptions of a partition's files. There is more than one if
// further rows came with a shard that moved here.
func (a Archive) parts(p store.Partition) (list []Manifest, err error) {
	for {
		described, err := a.read(p.Table, partName(p, len(list)))
		if errors.Is(err, fs.ErrNotExist) {
			return list, nil
		}
		if err != nil {
			return nil, err
		}
		list = append(list, described)
	}
}

// partName is the name of a partition's file that has so many before it.
func partName(p store.Partition, before int) string {
	if before == 0 {
		return p.Name
	}
	return fmt.Sprintf("%s-%d", p.Name, before+1)
}

func (a Archive) read(table, partition string) (m Manifest, err error) {
	text, err := os.ReadFile(a.manifest(table, partition))
	if err != nil {
		return m, err
	}
	if err := json.Unmarshal(text, &m); err != nil {
		return m, fmt.Errorf("%s: %w", a.manifest(table, partition), err)
	}
	return m, nil
}

// A Source reads the rows of a partition.
type Source interface {
	ExportPartition(ctx context.Context, p store.Partition, fn func(line []byte) error) error
}

// Add writes a partition to the archive, unless it is there. Rows that the archive has
// already, of the same partition before it was dropped, are not written again.
func (a Archive) Add(ctx context.Context, from Source, p store.Partition) (Manifest, error) {
	parts, err := a.parts(p)
	if err != nil {
		return Manifest{}, fmt.Errorf("archive %s: %w", p.Name, err)
	}
	if n := len(parts); n > 0 {
		if a.isWhole(p, parts[n-1]) {
			return parts[n-1], nil
		}
		if err := a.Verify(parts[n-1]); err != nil {
			parts = parts[:n-1] // it was cut off, and is written again
		}
	}
	archived, err := a.hashes(parts)
	if err != nil {
		return Manifest{}, fmt.Errorf("archive %s: %w", p.Name, err)
	}
	if err := os.MkdirAll(filepath.Join(a.Dir, p.Table), 0o700); err != nil {
		return Manifest{}, fmt.Errorf("archive: %w", err)
	}

	written := Manifest{
		Table:     p.Table,
		Partition: partName(p, len(parts)),
		From:      p.Start,
		To:        p.End,
		WrittenAt: time.Now().UTC().Truncate(time.Second),
		Content:   p.Content,
	}
	path := a.file(p.Table, written.Partition)
	err = replaceFile(path, func(out io.Writer) error {
		var err error
		written.Rows, err = compress(ctx, from, p, archived, out)
		return err
	})
	if err != nil {
		return Manifest{}, fmt.Errorf("archive %s: %w", p.Name, err)
	}

	// What is dropped afterwards exists here alone, so it is read again from the
	// disk before anybody relies on it.
	found, err := inspect(path, func([]byte) error { return nil })
	if err != nil {
		return Manifest{}, fmt.Errorf("archive %s: read it again: %w", p.Name, err)
	}
	if found.Rows != written.Rows {
		return Manifest{}, fmt.Errorf("archive %s: %d rows were written, and %d can be read", p.Name, written.Rows, found.Rows)
	}
	written.Bytes = found.Bytes
	written.SHA256 = found.SHA256

	text, err := json.MarshalIndent(written, "", "  ")
	if err != nil {
		return Manifest{}, fmt.Errorf("archive %s: %w", p.Name, err)
	}
	err = replaceFile(a.manifest(p.Table, written.Partition), func(out io.Writer) error {
		_, err := out.Write(append(text, '\n'))
		return err
	})
	if err != nil {
		return Manifest{}, fmt.Errorf("archive %s: %w", p.Name, err)
	}
	return written, nil
}

// hashes returns those of the rows of files, which compress leaves out.
func (a Archive) hashes(parts []Manifest) (map[[sha256.Size]byte]bool, error) {
	found := map[[sha256.Size]byte]bool{}
	for _, part := range parts {
		_, err := inspect(a.file(part.Table, part.Partition), func(line []byte) error {
			found[sha256.Sum256(bytes.TrimSuffix(line, []byte("\n")))] = true
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}

// compress writes the rows of a partition but those that are archived, and returns
// how many it wrote.
func compress(ctx context.Context, from Source, p store.Partition, archived map[[sha256.Size]byte]bool, out io.Writer) (rows int64, err error) {
	packed := gzip.NewWriter(out)
	lines := bufio.NewWriterSize(packed, 64<<10)
	err = from.ExportPartition(ctx, p, func(line []byte) error {
		if len(archived) > 0 && archived[sha256.Sum256(line)] {
			return nil
		}
		rows++
		if _, err := lines.Write(line); err != nil {
			return err
		}
		return lines.WriteByte('\n')
	})
	if err != nil {
		return rows, err
	}
	if err := lines.Flush(); err != nil {
		return rows, err
	}
	return rows, packed.Close()
}

// replaceFile writes a file beside its place and then renames it, on the disk: a
// crash leaves the old file, or none.
func replaceFile(path string, write func(io.Writer) error) error {
	temporary, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return err
	}
	defer os.Remove(temporary.Name()) // it is gone if it was renamed

	err = write(temporary)
	if err == nil {
		err = temporary.Sync()
	}
	if err := errors.Join(err, temporary.Close()); err != nil {
		return err
	}
	if err := os.Rename(temporary.Name(), path); err != nil {
		return err
	}

	folder, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}

// inspect reads a file to its end, calls fn with each line, and returns its size,
// hash and number of rows.
func inspect(path string, fn func(line []byte) error) (found Manifest, err error) {
	file, err := os.Open(path)
	if err != nil {
		return found, err
	}
	defer file.Close()

	hash := sha256.New()
	counted := io.TeeReader(file, hash)
	packed, err := gzip.NewReader(counted)
	if err != nil {
		return found, err
	}
	lines := bufio.NewReaderSize(packed, 64<<10)
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) && len(line) == 0 {
			break
		}
		if err != nil {
			return found, fmt.Errorf("%s: %w", path, err)
		}
		found.Rows++
		if err := fn(line); err != nil {
			return found, err
		}
	}

	if _, err := io.Copy(io.Discard, counted); err != nil {
		return found, err
	}
	info, err := file.Stat()
	if err != nil {
		return found, err
	}
	found.Bytes = info.Size()
	found.SHA256 = hex.EncodeToString(hash.Sum(nil))
	return found, nil
}

// List returns the descriptions of all files, by table and time.
func (a Archive) List() ([]Manifest, error) {
	var list []Manifest
	for _, table := range store.ArchivedTables() {
		entries, err := os.ReadDir(filepath.Join(a.Dir, table))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("archive: %w", err)
		}
		for _, entry := range entries {
			partition, ok := strings.CutSuffix(entry.Name(), ".json")
			if !ok {
				continue
			}
			described, err := a.read(table, partition)
			if err != nil {
				return nil, fmt.Errorf("archive: %w", err)
			}
			list = append(list, described)
		}
	}
	return list, nil
}

// Verify reads a file of the archive and compares it with its description.
func (a Archive) Verify(described Manifest) error {
	found, err := inspect(a.file(described.Table, described.Partition), func([]byte) error { return nil })
	if err != nil {
		return fmt.Errorf("%s cannot be read: %w", described.Partition, err)
	}
	if found.SHA256 != described.SHA256 || found.Rows != described.Rows {
		return ship.Errorf(ship.Conflict, "%s is not as it was written: %d rows of %d, hash %s instead of %s",
			described.Partition, found.Rows, described.Rows, found.SHA256, described.SHA256)
	}
	return nil
}
