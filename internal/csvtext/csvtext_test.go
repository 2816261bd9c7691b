package csvtext_test

import (
	"errors"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/csvtext"
)

const limit = 10_000

// readAll reads records until the end or an error.
func readAll(text string) (records [][]string, err error) {
	reader := csvtext.NewReader([]byte(text), ',', limit)
	for {
		record, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return records, nil
		}
		if err != nil {
			return records, err
		}
		records = append(records, slices.Clone(record))
	}
}

func TestRecordsWithinTheLimitAreRead(t *testing.T) {
	longest := strings.Repeat("x", limit-2) + ",\n"
	quoted := `"` + strings.Repeat("a,\n", 3000) + `"` + "\n"
	text := strings.Repeat("a,b\n", 5000) + longest + longest[:limit-1] + "y\n" + quoted + "end"

	records, err := readAll(text)
	if len(records) != 5001 || err == nil {
		t.Fatal("a record of one byte too many was read")
	}
	text = strings.Repeat("a,b\n", 5000) + longest + strings.Repeat("\r\n", 2*limit) + longest + quoted + "end"
	if records, err = readAll(text); err != nil || len(records) != 5004 {
		t.Fatalf("%d records, %v", len(records), err)
	}
	if got := len(records[5002][0]); got != 9000 {
		t.Errorf("the quoted cell has %d bytes", got)
	}
}

// TestARecordThatIsTooLongIsRefusedInLittleMemory tries the shapes that take
// the most: all separators, cells over many lines, a quotation mark that is
// never closed, and quotes alone.
func TestARecordThatIsTooLongIsRefusedInLittleMemory(t *testing.T) {
	const size = 10_000_000
	for name, record := range map[string]string{
		"commas":         strings.Repeat(",", size),
		"lines of cells": `"` + strings.Repeat("\n\",\"", size/4),
		"open quote":     `"` + strings.Repeat("x", size),
		"quotes":         strings.Repeat(`"`, size),
		"one cell":       strings.Repeat("x", size),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := readAll("a,b\n\na,b\n" + record)
		runtime.ReadMemStats(&after)

		tooLong, ok := errors.AsType[*csvtext.TooLongError](err)
		if !ok || tooLong.Line != 4 || tooLong.Limit != limit {
			t.Errorf("%s: %v", name, err)
		}

		// Two copies of the text are the test's own.
		if took := after.TotalAlloc - before.TotalAlloc; took > 2*size+8<<20 {
			t.Errorf("%s: %d MB were allocated", name, took>>20)
		}
	}
}
