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

	// Lines may have fewer cells than there are titles, and quotation marks may
	// stand inside of cells.
	records := csv.NewReader(strings.NewReader(text))
	records.Comma = separator(text)
	records.FieldsPerRecord = -1
	records.LazyQuotes = true
	records.ReuseRecord = true

	var file File
	for {
		record, err := records.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			line, _ := records.FieldPos(0)
			return File{}, invalidFile("line " + strconv.Itoa(line) + " is not valid CSV: check its quotation marks")
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

	line := make([]string, max(len(f.Header), len(record)))
	for i, cell := range record {
		cell = strings.TrimSpace(cell)
		if utf8.RuneCountInString(cell) > maxCell {
			return invalidFile("line " + strconv.Itoa(len(f.Lines)+2) + " has a cell of more than " + strconv.Itoa(maxCell) + " characters")
		}
		line[i] = strings.ReplaceAll(cell, "\x00", "") // Postgres stores no NUL
	}

	switch {
	case f.Header == nil && len(line) > maxColumns:
		return invalidFile("the file has more than " + strconv.Itoa(maxColumns) + " columns: remove the ones you do not need")
	case f.Header == nil:
		f.Header = line
	case len(f.Lines) == MaxRows:
		return invalidFile("the file has more than " + strconv.Itoa(MaxRows) + " orders: split it into several files")
	default:
		f.Lines = append(f.Lines, line[:len(f.Header)])
	}
	return nil
}

func invalidFile(text string) error {
	return ship.InvalidFields([]ship.FieldError{{Pointer: "/file", Code: "invalid", Detail: text}})
}

// western are the characters 0x80 to 0x9f of Windows' Western code page.
var western = []rune("€\u0081‚ƒ„…†‡ˆ‰Š‹Œ\u008dŽ\u008f\u0090‘’“”•–—˜™š›œ\u009džŸ")

// decode returns the bytes as text.
func decode(data []byte) (string, error) {
	switch {
	case len(data) == 0:
		return "", invalidFile("the file is empty")
	case len(data) > MaxBytes:
		return "", invalidFile("the file is larger than 5 MB: split it into several files")
	case bytes.HasPrefix(data, []byte("PK\x03\x04")):
		return "", invalidFile("this is a spreadsheet file: save it as CSV first")
	case bytes.HasPrefix(data, []byte("\xff\xfe")), bytes.HasPrefix(data, []byte("\xfe\xff")):
		return "", invalidFile("the file is encoded in UTF-16: save it as CSV in UTF-8")
	}

	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if utf8.Valid(data) {
		return string(data), nil
	}

	// Text that is not UTF-8 is taken for the Western code page, in which every
	// byte is a character.
	var text strings.Builder
	for _, b := range data {
		character := rune(b)
		if b >= 0x80 && b < 0xa0 {
			character = western[b-0x80]
		}
		text.WriteRune(character)
	}
	return text.String(), nil
}

// separator is the character between the titles: the most frequent candidate.
func separator(text string) rune {
	titles, _, _ := strings.Cut(text, "\n")

	best := ','
	most := 0
	for _, candidate := range []rune{',', ';', '\t'} {
		if n := strings.Count(titles, string(candidate)); n > most {
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
