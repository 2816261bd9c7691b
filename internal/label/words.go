package label

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-text/typesetting/language"
)

const (
	maxRunes = 300 // of a line
	maxLines = 40  // of an address
)

// clean makes s printable as one line: broken UTF-8 becomes U+FFFD, white
// space a space, and control and format characters are dropped, among them
// those that turn the direction of text round. The joiners stay: Persian and
// the Indic scripts are spelt with them.
func clean(s string) string {
	if isPlain(s) && len(s) <= maxRunes {
		return strings.Trim(s, " ")
	}
	var b strings.Builder
	n := 0
	for _, r := range s {
		switch {
		case n == maxRunes:
			return strings.Trim(b.String(), " ")
		case unicode.IsSpace(r):
			r = ' '
		case r == zeroWidthJoiner || r == zeroWidthNonJoiner:
		case unicode.In(r, unicode.Cc, unicode.Cf):
			continue
		}
		b.WriteRune(r)
		n++
	}
	return strings.Trim(b.String(), " ")
}

const (
	zeroWidthNonJoiner = '\u200c'
	zeroWidthJoiner    = '\u200d'
)

func isPlain(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// cleanLines cleans all lines and drops empty ones.
func cleanLines(lines []string) []string {
	out := make([]string, 0, len(lines))
	for _, s := range lines {
		if s = clean(s); s != "" {
			out = append(out, s)
		}
	}
	return out
}

// wrap breaks lines that are much wider than limit, in ems, at a space or
// between ideographs.
func wrap(lines []string, limit float64) []string {
	out := make([]string, 0, len(lines))
	for _, s := range lines {
		for len(out) < maxLines {
			cut := breakAt(s, limit)
			if cut == len(s) {
				break
			}
			out = append(out, strings.TrimRight(s[:cut], " "))
			s = strings.TrimLeft(s[cut:], " ")
		}
		out = append(out, s)
	}
	return out[:min(len(out), maxLines)]
}

// breakAt returns where to break s: len(s) if it is short enough or cannot be
// broken.
func breakAt(s string, limit float64) int {
	width, last := 0.0, 0
	for i, r := range s {
		if (r == ' ' || isWide(r)) && i > 0 {
			last = i
		}
		if width += roughWidth(r); width > limit && last > 0 && i > last {
			return last
		}
	}
	return len(s)
}

// roughWidth is about the advance of r in ems. It only decides where lines
// break; what fits is measured.
func roughWidth(r rune) float64 {
	switch {
	case isWide(r):
		return 1
	case unicode.Is(unicode.Mn, r):
		return 0
	}
	return 0.58
}

// isWide reports whether r fills a square, as ideographs and kana do.
func isWide(r rune) bool {
	return r >= 0x2e80 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana) || r >= 0xff01 && r <= 0xff60
}

// languageOf tells in which style the lines want ideographs that languages
// share: kana means Japanese, Hangul Korean, otherwise Chinese.
func languageOf(blocks ...[]string) language.Language {
	for _, lines := range blocks {
		for _, s := range lines {
			if isPlain(s) {
				continue
			}
			for _, r := range s {
				switch {
				case r < 0x1100:
				case unicode.In(r, unicode.Hiragana, unicode.Katakana):
					return "ja"
				case unicode.Is(unicode.Hangul, r):
					return "ko"
				}
			}
		}
	}
	return "zh-hans"
}

// grouped writes a tracking number the way people read it out.
func grouped(number string) string {
	groups := []int{4}
	if strings.HasPrefix(number, "1Z") && len(number) == 18 {
		groups = []int{2, 3, 3, 2, 4, 4}
	}
	if strings.Contains(number, " ") || len(number) < 9 || utf8.RuneCountInString(number) != len(number) {
		return number
	}
	var b strings.Builder
	for i := 0; len(number) > 0; i++ {
		n := min(groups[min(i, len(groups)-1)], len(number))
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(number[:n])
		number = number[n:]
	}
	return b.String()
}
