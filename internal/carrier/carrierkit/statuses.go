package carrierkit

import (
	"fmt"
	"strings"

	"github.com/waybillhq/waybill/internal/ship"
)

// A StatusTable says what a carrier's codes mean to us. It is data: a file of
// lines with a tab between the columns,
//
//	code  status  reason  meaning  source
//
// where the status is one of ours, or "-" for a code that is known to change
// nothing; the reason may be empty; the meaning is the carrier's own words, and
// the source says where they come from. Lines that begin with # are notes.
type StatusTable struct {
	rows map[string]StatusRow
	list []StatusRow
}

// A StatusRow is what one code means.
type StatusRow struct {
	Code, Reason, Meaning, Source string
	Status                        ship.Status // empty if the code changes nothing
}

// ParseStatuses reads a table, and panics if it is invalid, because it is part
// of the program.
func ParseStatuses(text string) StatusTable {
	table, err := ReadStatuses(text)
	if err != nil {
		panic(err)
	}
	return table
}

// ReadStatuses reads a table.
func ReadStatuses(text string) (StatusTable, error) {
	table := StatusTable{rows: map[string]StatusRow{}}
	number := 0
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimRight(line, "\r\n")
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}

		cells := strings.Split(line, "\t")
		if len(cells) != 5 {
			return table, fmt.Errorf("line %d of the status table has %d columns, not 5", number, len(cells))
		}
		row := StatusRow{
			Code:    cells[0],
			Status:  ship.Status(cells[1]),
			Reason:  cells[2],
			Meaning: cells[3],
			Source:  cells[4],
		}
		if row.Status == "-" {
			row.Status = ""
		} else if !row.Status.Valid() || row.Status == ship.Created {
			return table, fmt.Errorf("line %d of the status table: %q is not a status", number, cells[1])
		}
		if _, twice := table.rows[row.Code]; twice || row.Code == "" || row.Source == "" {
			return table, fmt.Errorf("line %d of the status table: a code must appear only once and have a source", number)
		}

		table.rows[row.Code] = row
		table.list = append(table.list, row)
	}
	return table, nil
}

// Map gives a scan the status and reason of the first of the codes that the
// table knows, most specific first. If it knows none, the scan has no status
// and the reason "unmapped".
func (t StatusTable) Map(scan ship.Scan, codes ...string) ship.Scan {
	scan.Status, scan.Reason, _ = t.Meaning(codes...)
	return scan
}

// Meaning returns what the first known of the codes means.
func (t StatusTable) Meaning(codes ...string) (status ship.Status, reason string, known bool) {
	for _, code := range codes {
		if row, ok := t.rows[code]; ok {
			return row.Status, row.Reason, true
		}
	}
	return "", ship.ReasonUnmapped, false
}

// Rows lists the table in its order.
func (t StatusTable) Rows() []StatusRow { return t.list }
