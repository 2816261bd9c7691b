// Package csvtext reads CSV files that people upload, in bounded memory.
//
// encoding/csv holds a whole record with an index of its cells, about 90 bytes
// for every separator: a line of ten million commas takes 900 MB. A Reader of
// this package stops inside a record that is too long. It does not know what
// the cells mean.
package csvtext

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
)

// TooLongError is the error of a record that is longer than allowed.
type TooLongError struct {
	Line  int // on which the record begins; 1 is the first of the text
	Limit int // in bytes
}

func (e *TooLongError) Error() string {
	return fmt.Sprintf("the record on line %d is longer than %d bytes", e.Line, e.Limit)
}

// A Reader reads the records of a text. Its csv.Reader is for settings such as
// LazyQuotes and for positions; records are read with Read.
type Reader struct {
	*csv.Reader
	text   []byte
	source *meter
	limit  int
}

// NewReader returns a reader of a text whose cells are separated by the rune
// and whose records have at most limit bytes each. Records may have different
// numbers of cells, and share their memory with the next.
func NewReader(text []byte, separator rune, limit int) *Reader {
	source := &meter{rest: text}
	records := csv.NewReader(source)
	records.Comma = separator
	records.FieldsPerRecord = -1
	records.ReuseRecord = true

	return &Reader{
		Reader: records,
		text:   text,
		source: source,
		limit:  limit,
	}
}

// bufferSize is how far a csv.Reader reads ahead of the current record.
const bufferSize = 4096

// Read returns the next record, as csv.Reader does. The error of a record that
// is too long is a TooLongError; nothing can be read after it.
func (r *Reader) Read() ([]string, error) {
	// Empty lines before the record do not count.
	start := int(r.InputOffset())
	rest := r.text[start:]
	empty := len(rest) - len(bytes.TrimLeft(rest, "\r\n"))
	start += empty

	// What was read ahead before this record makes up for what is read ahead
	// after it, so a record within the limit is never refused.
	r.source.left = empty + r.limit + bufferSize
	record, err := r.Reader.Read()
	if r.source.isExceeded || int(r.InputOffset())-start > r.limit {
		return nil, &TooLongError{
			Line:  1 + bytes.Count(r.text[:start], []byte("\n")),
			Limit: r.limit,
		}
	}
	return record, err
}

// A meter hands out a text until a record has taken too much of it.
type meter struct {
	rest       []byte
	left       int // bytes that the current record may still take
	isExceeded bool
}

// Read is io.Reader.
func (m *meter) Read(into []byte) (int, error) {
	if len(m.rest) == 0 {
		return 0, io.EOF
	}
	if m.left <= 0 {
		m.isExceeded = true
		return 0, errExceeded
	}

	n := copy(into[:min(len(into), m.left)], m.rest)
	m.rest = m.rest[n:]
	m.left -= n
	return n, nil
}

// errExceeded ends the work of the csv.Reader; callers see a TooLongError.
var errExceeded = errors.New("csvtext: the record is too long")
