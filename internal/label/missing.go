package label

import (
	"slices"
	"unicode/utf8"
)

// Missing lists the characters of s that no font on this host has: they would
// be printed as boxes. It is sorted and has each once.
func (r *Renderer) Missing(s string) []rune {
	if isWesternEuropean(s) {
		return nil // nearly always, and without opening a font
	}
	s = clean(s)
	pen := &pen{renderer: r}
	defer pen.release()

	pen.set(text{
		s:        s,
		size:     1,
		bold:     true,
		language: languageOf([]string{s}),
	})
	missing := pen.missed()

	// What stands for broken text has a glyph, and that is a box too.
	for _, r := range s {
		if r == utf8.RuneError && !slices.Contains(missing, r) {
			missing = append(missing, r)
		}
	}
	slices.Sort(missing)
	return missing
}

// isWesternEuropean reports whether s has only characters that the embedded
// font is known to have.
func isWesternEuropean(s string) bool {
	for _, r := range s {
		if r < ' ' || r > 0x17f || r == 0x7f {
			return false
		}
	}
	return true
}
