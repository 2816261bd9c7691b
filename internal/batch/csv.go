package batch

import (
	"bytes"
	"encoding/csv"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/waybillhq/waybill/internal/ship"
)

// The limits of a file.
const (
	MaxBytes   = 5 << 20
	MaxRows    = 2000
	maxColumns = 100
	maxCell    = 2000 // characters; more than any field takes
)

// A File is CSV, read: its titles, and its lines filled up to their number.
type File struct {
	Header []string
	Lines  [][]string
}

// Read reads a file as spreadsheets save it: with commas, semicolons or tabs,
// in UTF-8 or in the old Western code page. What is wrong with it is one
// ship.Invalid that says what to do.
func Read(data []byte) (File, error) {
	text, err := decode(data)
	if err != nil {
		return File{}, err
	}
	r := csv.NewReader(strings.NewReader(text))
	r.Comma = separator(text)
	r.FieldsPerRecord, r.LazyQuotes, r.ReuseRecord = -1, true, true
	var f File
	for {
		record, err := r.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			line, _ := r.FieldPos(0)
			return File{}, fault("line " + strconv.Itoa(line) + " cannot be read as CSV: look at its quotation marks")
		}
		if err := f.add(record); err != nil {
			return File{}, err
		}
	}
	if len(f.Lines) == 0 {
		return File{}, fault("the file has no lines below its titles: the first line names the columns, each further one is an order")
	}
	return f, nil
}

// add takes the next line: the first is the header, empty ones are none.
func (f *File) add(record []string) error {
	if !slices.ContainsFunc(record, func(s string) bool { return strings.TrimSpace(s) != "" }) {
		return nil
	}
	line := make([]string, max(len(f.Header), len(record)))
	for i, cell := range record {
		cell = strings.TrimSpace(cell)
		if utf8.RuneCountInString(cell) > maxCell {
			return fault("line " + strconv.Itoa(len(f.Lines)+2) + " has a cell of more than " + strconv.Itoa(maxCell) + " characters")
		}
		line[i] = strings.ReplaceAll(cell, "\x00", "")
	}
	switch {
	case f.Header == nil && len(line) > maxColumns:
		return fault("the file has more than " + strconv.Itoa(maxColumns) + " columns: remove those that do not matter")
	case f.Header == nil:
		f.Header = line
	case len(f.Lines) == MaxRows:
		return fault("the file has more than " + strconv.Itoa(MaxRows) + " orders: divide it")
	default:
		f.Lines = append(f.Lines, line[:len(f.Header)])
	}
	return nil
}

func fault(text string) error {
	return ship.InvalidFields([]ship.FieldError{{Pointer: "/file", Code: "invalid", Detail: text}})
}

// western are the characters 0x80 to 0x9f of Windows' Western code page.
var western = []rune("€\u0081‚ƒ„…†‡ˆ‰Š‹Œ\u008dŽ\u008f\u0090‘’“”•–—˜™š›œ\u009džŸ")

// decode returns the bytes as text.
func decode(data []byte) (string, error) {
	switch {
	case len(data) == 0:
		return "", fault("the file is empty")
	case len(data) > MaxBytes:
		return "", fault("the file is larger than 5 MB: divide it")
	case bytes.HasPrefix(data, []byte("PK\x03\x04")):
		return "", fault("this is a workbook: save it as CSV first")
	case bytes.HasPrefix(data, []byte("\xff\xfe")), bytes.HasPrefix(data, []byte("\xfe\xff")):
		return "", fault("the file is in UTF-16: save it as CSV in UTF-8")
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if utf8.Valid(data) {
		return string(data), nil
	}
	var b strings.Builder
	for _, c := range data {
		r := rune(c)
		if c >= 0x80 && c < 0xa0 {
			r = western[c-0x80]
		}
		b.WriteRune(r)
	}
	return b.String(), nil
}

// separator is what stands between the titles.
func separator(text string) rune {
	first, _, _ := strings.Cut(text, "\n")
	best, most := ',', 0
	for _, c := range []rune{',', ';', '\t'} {
		if n := strings.Count(first, string(c)); n > most {
			best, most = c, n
		}
	}
	return best
}

// fileName is a file's name as it is kept: the last part of a path, what can
// be printed of it, and not much of that.
func fileName(s string) string {
	s = s[strings.LastIndexAny(s, `/\`)+1:]
	s = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, ""))
	if r := []rune(s); len(r) > 100 {
		s = string(r[:100])
	}
	if s = strings.TrimSpace(s); s == "" {
		return "orders.csv"
	}
	return s
}
