package ship

import (
	"strings"
	"unicode/utf8"
)

// suggestLimit bounds the work for a word that nobody can have meant.
const suggestLimit = 64

// Nearest returns the candidate that word most likely means: the one with the
// fewest inserted, lost, changed and swapped letters, whatever their case. It
// is "" if that is more than about a third of the word. The first of equals
// wins.
func Nearest(word string, candidates []string) string {
	n := utf8.RuneCountInString(word)
	if n < 2 || n > suggestLimit {
		return ""
	}

	from := []rune(strings.ToLower(word))
	best := ""
	least := max(1, (n+1)/3) + 1
	for _, candidate := range candidates {
		to := []rune(strings.ToLower(candidate))
		if abs(len(from)-len(to)) >= least {
			continue
		}
		if distance := editDistance(from, to); distance < least {
			best = candidate
			least = distance
		}
	}
	return best
}

// editDistance returns the Damerau-Levenshtein distance in which no letter moves
// twice (optimal string alignment).
func editDistance(a, b []rune) int {
	// Of the table of distances only three rows are needed at a time.
	before := make([]int, len(b)+1)
	last := make([]int, len(b)+1)
	row := make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}

	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			change := last[j-1]
			if a[i-1] != b[j-1] {
				change++
			}
			row[j] = min(change, last[j]+1, row[j-1]+1)

			// Two letters that changed places are one step.
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}

func abs(n int) int {
	if n < 0 {
		return -n
	}
	return n
}
