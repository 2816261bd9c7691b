package store

import (
	"regexp"
	"slices"
	"testing"
)

// TestTheArchiveHasNoPersonalColumns compares what is archived with the classes of
// columns. The two columns of an order are archived once they were erased, which
// the statement itself sees to.
func TestTheArchiveHasNoPersonalColumns(t *testing.T) {
	t.Parallel()
	allowed := map[string][]string{
		"shipments": {"request", "purchase"},
		"events":    {"snapshot"}, // statuses alone
	}
	for _, classified := range PersonalData {
		for _, column := range classified.Columns {
			isListed := regexp.MustCompile(`\bs\.` + column + `\b`).MatchString(archiveColumns[classified.Table])
			if isListed && classified.Class != DataIdentifier && classified.Class != DataNone && !slices.Contains(allowed[classified.Table], column) {
				t.Errorf("%s.%s is archived, and holds %s data", classified.Table, column, classified.Class)
			}
		}
	}
}
