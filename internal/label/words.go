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

// clean makes s printable as one line: invalid UTF-8 becomes U+FFFD, white
// space becomes a space, and control and format characters are dropped, among
// them those that change the direction of text. The joiners stay: Persian and
// the Indic scripts are spelt with them.
func clean(s string) string {
	if isPlain(s) && len(s) <= maxRunes {
		return strings.Trim(s, " ")
	}

	var out strings.Builder
	n := 0
	for _, char := range s {
		switch {
		case n == maxRunes:
			return strings.Trim(out.String(), " ")
		case unicode.IsSpace(char):
			char = ' '
		case char == zeroWidthJoiner || char == zeroWidthNonJoiner:
		case unicode.In(char, unicode.Cc, unicode.Cf):
			continue
		}
		out.WriteRune(char)
		n++
	}
	return strings.Trim(out.String(), " ")
}

const (
	zeroWidthNonJoiner = '\u200c'
	zeroWidthJoiner    = '\u200d'
)

// isPlain reports whether s has only printable ASCII characters.
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
	for _, line := range lines {
		if line = clean(line); line != "" {
			out = append(out, line)
		}
	}
	return out
}

// wrap breaks lines that are much wider than limit, in ems, at a space or
// between ideographs.
func wrap(lines []string, limit float64) []string {
	out := make([]string, 0, len(lines))
	for _, line := range lines {
		for len(out) < maxLines {
			cut := findBreak(line, limit)
			if cut == len(line) {
				break
			}
			out = append(out, strings.TrimRight(line[:cut], " "))
			line = strings.TrimLeft(line[cut:], " ")
		}
		out = append(out, line)
	}
	return out[:min(len(out), maxLines)]
}

// findBreak returns where to break a line: at its end if it is short enough or
// cannot be broken.
func findBreak(line string, limit float64) int {
	width := 0.0
	last := 0
	for i, char := range line {
		if (char == ' ' || isWide(char)) && i > 0 {
			last = i
		}
		if width += roughWidth(char); width > limit && last > 0 && i > last {
			return last
		}
	}
	return len(line)
}

// roughWidth is about the advance of a character in ems. It only decides where
// lines break; what fits is measured.
func roughWidth(char rune) float64 {
	switch {
	case isWide(char):
		return 1
	case unicode.Is(unicode.Mn, char):
		return 0
	}
	return 0.58
}

// isWide reports whether a character fills a square, as ideographs and kana do.
func isWide(char rune) bool {
	return char >= 0x2e80 && unicode.In(char, unicode.Han, unicode.Hiragana, unicode.Katakana) || char >= 0xff01 && char <= 0xff60
}

// languageOf is the language in whose style ideographs that languages share
// are drawn: kana means Japanese, Hangul Korean, otherwise Chinese.
func languageOf(blocks ...[]string) language.Language {
	for _, lines := range blocks {
		for _, line := range lines {
			if isPlain(line) {
				continue
			}

			for _, char := range line {
				switch {
				case char < 0x1100:
				case unicode.In(char, unicode.Hiragana, unicode.Katakana):
					return "ja"
				case unicode.Is(unicode.Hangul, char):
					return "ko"
				}
			}
		}
	}
	return "zh-hans"
}

// groupDigits splits a tracking number into groups, the way people read it out.
// One that has groups already, or is short, stays as it is.
func groupDigits(number string) string {
	groups := []int{4}
	if strings.HasPrefix(number, "1Z") && len(number) == 18 { // UPS
		groups = []int{2, 3, 3, 2, 4, 4}
	}
	if strings.Contains(number, " ") || len(number) < 9 || utf8.RuneCountInString(number) != len(number) {
		return number
	}

	var out strings.Builder
	for i := 0; len(number) > 0; i++ {
		n := min(groups[min(i, len(groups)-1)], len(number))
		if i > 0 {
			out.WriteByte(' ')
		}
		out.WriteString(number[:n])
		number = number[n:]
	}
	return out.String()
}
