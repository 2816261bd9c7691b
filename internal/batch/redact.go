package batch

import (
	"encoding/json"
	"slices"
)

// personal are the fields that say who an order is for and where they live.
var personal = []string{"name", "company", "address1", "address2", "address3", "phone", "email"}

// RedactCells returns the cells of a line without personal data: those of
// personal fields are empty, and so are those of columns without a meaning,
// which may hold anything.
func RedactCells(mapping json.RawMessage, cells []string) []string {
	// Without a readable mapping no column has a meaning.
	var meaning ColumnMapping
	if err := json.Unmarshal(mapping, &meaning); err != nil {
		meaning = ColumnMapping{}
	}

	redacted := make([]string, len(cells))
	for i, cell := range cells {
		if i >= len(meaning.Columns) {
			continue
		}
		if field := meaning.Columns[i]; field != "" && !slices.Contains(personal, field) {
			redacted[i] = cell
		}
	}
	return redacted
}
