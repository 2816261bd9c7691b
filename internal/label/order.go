package label

import (
	"slices"
	"strings"
	"unicode"

	"github.com/go-text/typesetting/bidi"
)

// splitLevels splits a line where its embedding level changes. The direction of
// the line is that of its first letter.
//
// The library joins neighbours that both run left to right, although a number
// after a right-to-left word has level 2 and the Latin word behind it level 0,
// and only the first moves with the word. They are separated again here. Clean
// text has no formatting characters, so there are no other levels.
func (ts *typesetter) splitLevels(runes []rune) []bidi.Run {
	joined := ts.paragraph.Segment(runes, bidi.Neutral)
	runs := make([]bidi.Run, 0, joined.NumRuns())
	hasLeftToRight := false
	for i := range joined.NumRuns() {
		run := joined.Run(i)
		runs = append(runs, run)
		hasLeftToRight = hasLeftToRight || run.Level == 0
	}
	if !hasLeftToRight {
		return runs
	}

	for i := 0; i < len(runs); i++ {
		run := runs[i]
		if run.Level%2 == 1 {
			continue
		}

		cut := run.Start
		restLevel := bidi.Level(0)
		if run.Level == 2 {
			cut += numberLength(runes[run.Start:run.End])
		} else if at := slices.IndexFunc(runes[run.Start:run.End], isArabicDigit); at >= 0 {
			// An Arabic number after a Latin word.
			cut = run.Start + at
			restLevel = 2
		}

		if cut > run.Start && cut < run.End {
			runs[i].End = cut
			runs = slices.Insert(runs, i+1, bidi.Run{Start: cut, End: run.End, Level: restLevel})
		}
	}
	return runs
}

// numberLength is the length of the number that the text begins with, including
// its separators and signs.
func numberLength(runes []rune) int {
	for i, char := range runes {
		switch {
		case unicode.IsDigit(char), strings.ContainsRune("#$%°£€¥٪", char):
		case strings.ContainsRune("+-,./:\u00a0٫٬", char) && i+1 < len(runes) && unicode.IsDigit(runes[i+1]):
		default:
			return i
		}
	}
	return len(runes)
}

func isArabicDigit(char rune) bool { return char >= '\u0660' && char <= '\u0669' }

// reorder puts items from logical into visual order: rule L2 of the Unicode
// bidirectional algorithm.
func reorder(items []item) {
	var highest bidi.Level
	for _, item := range items {
		highest = max(highest, item.level)
	}

	for level := highest; level > 0; level-- {
		for i := 0; i < len(items); i++ {
			j := i
			for j < len(items) && items[j].level >= level {
				j++
			}
			slices.Reverse(items[i:j])
			i = max(i, j-1)
		}
	}
}
