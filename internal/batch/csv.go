package batch

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/waybillhq/waybill/internal/csvtext"
	"github.com/waybillhq/waybill/internal/ship"
)

// The limits of a file.
const (
	MaxBytes    = 5 << 20
	MaxRows     = 2000
	maxRowBytes = 64_000
	maxColumns  = 100
	maxCell     = 2000 // characters; more than any field takes
)

// A File is a CSV file that was read: its titles, and its lines with as many
// cells as there are titles.
type File struct {
	Header []string
	Lines  [][]string
}

// Read reads a file as spreadsheets save it: with commas, semicolons or tabs,
// in UTF-8 or in the old Western code page. If it cannot be read, the error is
// a ship.Invalid that says what to do.
func Read(data []byte) (File, error) {
	text, err := decode(data)
	if err != nil {
		return File{}, err
	}

	// Quotation marks may stand inside of cells.
	records := csvtext.NewReader(text, separator(text), maxRowBytes)
	records.LazyQuotes = true

	var file File
	for {
		record, err := records.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if tooLong, ok := errors.AsType[*csvtext.TooLongError](err); ok {
			return File{}, invalidFile(fmt.Sprintf("line %d has more than %d bytes: check its quotation marks, or remove the columns that you do not need", tooLong.Line, maxRowBytes))
		}
		if parseError, ok := errors.AsType[*csv.ParseError](err); ok {
			return File{}, invalidFile("line " + strconv.Itoa(parseError.StartLine) + " is not valid CSV: check its quotation marks")
		}
		if err != nil {
			return File{}, invalidFile("the file is not valid CSV: check its quotation marks")
		}
		if err := file.add(record); err != nil {
			return File{}, err
		}
	}

	if len(file.Lines) == 0 {
		return File{}, invalidFile("the file has no orders: the first line must contain the column titles, and each following line one order")
	}
	return file, nil
}

// add adds the next line: the first is the header, empty ones are left out.
func (f *File) add(record []string) error {
	if !slices.ContainsFunc(record, func(cell string) bool { return strings.TrimSpace(cell) != "" }) {
		return nil
	}

	if f.Header == nil && len(record) > maxColumns {
		return invalidFile("the file has more than " + strconv.Itoa(maxColumns) + " columns: remove the ones you do not need")
	}

	// Cells beyond the titles mean nothing.
	if f.Header != nil {
		record = record[:min(len(record), len(f.Header))]
	}
	line := make([]string, max(len(f.Header), len(record)))
	for i, cell := range record {
		cell = strings.TrimSpace(cell)
		if utf8.RuneCountInString(cell) > maxCell {
			return invalidFile("line " + strconv.Itoa(len(f.Lines)+2) + " has a cell of more than " + strconv.Itoa(maxCell) + " characters: shorten it")
		}
		if strings.Contains(cell, "\x00") { // Postgres stores none
			return invalidFile("line " + strconv.Itoa(len(f.Lines)+2) + " contains a NUL character: save the file as CSV in UTF-8")
		}
		line[i] = cell
	}

	switch {
	case f.Header == nil:
		f.Header = line
	case len(f.Lines) == MaxRows:
		return invalidFile("the file has more than " + strconv.Itoa(MaxRows) + " orders: split it into several files")
	default:
		f.Lines = append(f.Lines, line)
	}
	return nil
}

func invalidFile(text string) error {
	return ship.InvalidFields([]ship.FieldError{{Pointer: "/file", Code: "invalid", Detail: text}})
}

// western are the characters 0x80 to 0x9f of Windows' Western code page.
var western = []rune("€\u0081‚ƒ„…†‡ˆ‰Š‹Œ\u008dŽ\u008f\u0090‘’“”•–—˜™š›œ\u009džŸ")

// decode returns the bytes as text.
func decode(data []byte) ([]byte, error) {
	switch {
	case len(data) == 0:
		return nil, invalidFile("the file is empty")
	case len(data) > MaxBytes:
		return nil, invalidFile("the file is larger than 5 MB: split it into several files")
	case bytes.HasPrefix(data, []byte("PK\x03\x04")):
		return nil, invalidFile("this is a spreadsheet file: save it as CSV first")
	case bytes.HasPrefix(data, []byte("\xff\xfe")), bytes.HasPrefix(data, []byte("\xfe\xff")):
		return nil, invalidFile("the file is encoded in UTF-16: save it as CSV in UTF-8")
	}

	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if utf8.Valid(data) {
		return data, nil
	}

	// Text that is not UTF-8 is taken for the Western code page, in which every
	// byte is a character.
	size := 0
	for _, b := range data {
		size += utf8.RuneLen(westernRune(b))
	}
	text := make([]byte, 0, size)
	for _, b := range data {
		text = utf8.AppendRune(text, westernRune(b))
	}
	return text, nil
}

// westernRune is the character of a byte of the Western code page.
func westernRune(b byte) rune {
	if b >= 0x80 && b < 0xa0 {
		return western[b-0x80]
	}
	return rune(b)
}

// separator is the character between the titles: the most frequent candidate.
func separator(text []byte) rune {
	titles, _, _ := bytes.Cut(text, []byte("\n"))

	best := ','
	most := 0
	for _, candidate := range []rune{',', ';', '\t'} {
		if n := bytes.Count(titles, []byte(string(candidate))); n > most {
			best = candidate
			most = n
		}
	}
	return best
}

// fileName is a file's name as it is stored: the last part of a path, its
// printable characters, and at most 100 of them.
func fileName(path string) string {
	name := path[strings.LastIndexAny(path, `/\`)+1:]
	name = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(name, ""))

	if characters := []rune(name); len(characters) > 100 {
		name = string(characters[:100])
	}
	if name = strings.TrimSpace(name); name == "" {
		return "orders.csv"
	}
	return name
}
