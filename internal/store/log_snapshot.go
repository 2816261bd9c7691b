package store

import (
	"slices"
	"strconv"
	"strings"
)

// A Snapshot is what was committed at a moment: all transactions before one
// number, and those before another that were not running.
type Snapshot struct {
	before, end uint64
	running     []uint64
}

// Has reports whether the transaction was over at the moment. An event of such
// a transaction was in the log already, though a cursor that respects the
// order of commits can stand before it.
func (s Snapshot) Has(tx uint64) bool {
	return tx < s.before || tx < s.end && !slices.Contains(s.running, tx)
}

// parseSnapshot reads a snapshot as Postgres writes it: "10:20:10,14". One that it
// cannot read has no transaction.
func parseSnapshot(text string) (s Snapshot) {
	parts := strings.SplitN(text, ":", 3)
	if len(parts) != 3 {
		return Snapshot{}
	}

	number := func(text string) uint64 {
		n, _ := strconv.ParseUint(text, 10, 64)
		return n
	}
	s.before = number(parts[0])
	s.end = number(parts[1])
	for tx := range strings.SplitSeq(parts[2], ",") {
		if tx != "" {
			s.running = append(s.running, number(tx))
		}
	}
	return s
}
