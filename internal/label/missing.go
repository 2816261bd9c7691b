package label

import (
	"slices"
	"unicode/utf8"
)

// Missing lists the characters of s that no font on this host has: they would
// be printed as boxes. The list is sorted and has no duplicates.
func (r *Renderer) Missing(s string) []rune {
	// Nearly always, and without opening a font.
	if isWesternEuropean(s) {
		return nil
	}

	s = clean(s)
	pen := &pen{renderer: r}
	defer pen.release()

	pen.shape(text{
		content:  s,
		size:     1,
		bold:     true,
		language: languageOf([]string{s}),
	})
	missing := pen.missingRunes()

	// The replacement character for invalid UTF-8 has a glyph, but that is a
	// box too.
	for _, char := range s {
		if char == utf8.RuneError && !slices.Contains(missing, char) {
			missing = append(missing, char)
		}
	}
	slices.Sort(missing)
	return missing
}

// isWesternEuropean reports whether s has only characters that the embedded
// font is known to have.
func isWesternEuropean(s string) bool {
	for _, char := range s {
		if char < ' ' || char > 0x17f || char == 0x7f {
			return false
		}
	}
	return true
}
