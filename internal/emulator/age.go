package emulator

import (
	"slices"
	"time"
)

// Age makes sales older, so that a test of delays need not wait: those with the
// tracking numbers, or all if there are none.
func (l *Ledger) Age(by time.Duration, numbers ...string) {
	l.mu.Lock()
	defer l.mu.Unlock()

	for i := range l.entries {
		if len(numbers) > 0 && !slices.Contains(numbers, l.entries[i].Number) {
			continue
		}
		l.entries[i].At = l.entries[i].At.Add(-by)
	}
}
