package label

import (
	"slices"
	"strings"
	"unicode"

	"github.com/go-text/typesetting/bidi"
)

// levels cuts a line where its embedding level changes. The direction of the
// line is that of its first letter.
//
// The library joins neighbours that both run left to right, though a number
// after a right-to-left word has level 2 and the Latin word behind it level 0,
// and only the first moves with the word. They are parted again here. Clean
// text has no formatting characters, so there are no other levels.
func (ts *typesetter) levels(runes []rune) []bidi.Run {
	joined := ts.para.Segment(runes, bidi.Neutral)
	out := make([]bidi.Run, 0, joined.NumRuns())
	leftToRight := false
	for i := range joined.NumRuns() {
		run := joined.Run(i)
		out = append(out, run)
		leftToRight = leftToRight || run.Level == 0
	}
	if !leftToRight {
		return out
	}
	for i := 0; i < len(out); i++ {
		run := out[i]
		if run.Level%2 == 1 {
			continue
		}
		cut, rest := run.Start, bidi.Level(0)
		if run.Level == 2 {
			cut += numberLength(runes[run.Start:run.End])
		} else if at := slices.IndexFunc(runes[run.Start:run.End], isArabicDigit); at >= 0 {
			cut, rest = run.Start+at, 2 // an Arabic number after a Latin word
		}
		if cut > run.Start && cut < run.End {
			out[i].End = cut
			out = slices.Insert(out, i+1, bidi.Run{Start: cut, End: run.End, Level: rest})
		}
	}
	return out
}

// numberLength is how far the number reaches that the text begins with, with
// its separators and signs.
func numberLength(runes []rune) int {
	for i, r := range runes {
		switch {
		case unicode.IsDigit(r), strings.ContainsRune("#$%°£€¥٪", r):
		case strings.ContainsRune("+-,./:\u00a0٫٬", r) && i+1 < len(runes) && unicode.IsDigit(runes[i+1]):
		default:
			return i
		}
	}
	return len(runes)
}

func isArabicDigit(r rune) bool { return r >= '\u0660' && r <= '\u0669' }

// reorder puts items from logical into visual order: rule L2 of the Unicode
// bidirectional algorithm.
func reorder(items []item) {
	var highest bidi.Level
	for _, it := range items {
		highest = max(highest, it.level)
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
