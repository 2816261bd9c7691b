package carrierkit

import (
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/waybillhq/waybill/internal/ship"
)

// KeepSpelling returns a place that a carrier found, with everything that means
// the same as in the given address as it was given there. Carriers write Avenue
// as AVE, drop accents, and divide a street into lines in their own way; none of
// that is a correction. Fields that the carrier left out stay as they were given:
// no carrier repeats every line, such as "c/o Ann" or a gate code.
func KeepSpelling(given, found ship.Address) ship.Address {
	found.Country = given.Country
	if found.City == "" || cityWords.sameWords(given.City, found.City) {
		found.City = given.City
	}
	if found.State == "" || strings.EqualFold(given.State, found.State) || IsUSTerritory(given.Country) || IsAssociatedState(given.Country) {
		found.State = given.State
	}
	if found.Zip == "" || strings.HasPrefix(found.Zip, given.Zip+"-") {
		found.Zip = given.Zip
	}
	return keepLines(given, found)
}

// keepLines is KeepSpelling for the street.
func keepLines(given, found ship.Address) ship.Address {
	asked := lines(given)
	answered := lines(found)
	if strings.Join(answered, "") == "" || streetWords.sameWords(strings.Join(asked, " "), strings.Join(answered, " ")) {
		return withLines(found, asked)
	}

	// The carrier may have moved the second line, a unit, to the end of the
	// first. It stays on the line where it was given.
	if answered[1] == "" && asked[1] != "" {
		answered[0] = streetWords.withoutEnd(answered[0], asked[1])
	}
	for i := range answered {
		if answered[i] == "" || streetWords.sameWords(asked[i], answered[i]) {
			answered[i] = asked[i]
		}
	}
	return withLines(found, answered)
}

func lines(a ship.Address) []string { return []string{a.Address1, a.Address2, a.Address3} }

func withLines(a ship.Address, lines []string) ship.Address {
	a.Address1 = lines[0]
	a.Address2 = lines[1]
	a.Address3 = lines[2]
	return a
}

// sameWords reports whether two texts have the same words, abbreviated or not.
func (a abbreviations) sameWords(x, y string) bool { return slices.Equal(a.words(x), a.words(y)) }

// withoutEnd returns the text without the end, if it ends with it and has
// something before it.
func (a abbreviations) withoutEnd(text, end string) string {
	fields := strings.Fields(text)
	for i := 1; i < len(fields); i++ {
		if a.sameWords(strings.Join(fields[i:], " "), end) {
			return strings.TrimRight(strings.Join(fields[:i], " "), ",")
		}
	}
	return text
}

// words returns the words of a text in upper case, abbreviated, and without
// accents and punctuation.
func (a abbreviations) words(text string) []string {
	text = strings.ReplaceAll(text, "ß", "ss")
	text = strings.Map(func(r rune) rune {
		switch {
		case unicode.Is(unicode.Mn, r), r == '\'', r == '’', r == '.':
			return -1
		case unicode.IsLetter(r), unicode.IsDigit(r):
			return unicode.ToUpper(r)
		}
		return ' '
	}, norm.NFD.String(text))

	list := strings.Fields(text)
	for i, word := range list {
		if short, ok := a[strings.ToLower(word)]; ok {
			list[i] = strings.ToUpper(short)
		}
	}
	return list
}
