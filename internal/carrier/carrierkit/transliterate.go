package carrierkit

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// tidy returns text in composed form, with single spaces and without control
// characters.
func tidy(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, s)
	return strings.Join(strings.Fields(norm.NFC.String(s)), " ")
}

// inCharset reports whether a carrier that prints the charset prints all of s.
func inCharset(s, charset string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return !prints(r, charset) }) < 0
}

func prints(r rune, charset string) bool {
	switch charset {
	case "":
		return !isPicture(r)
	case "latin1":
		return r >= ' ' && r <= '~' || r > 0xA0 && r <= 0xFF && r != 0xAD
	}
	return r >= ' ' && r <= '~'
}

// isPicture reports whether the character is an emoji or another picture, which
// no carrier's label font has.
func isPicture(r rune) bool {
	return r >= 0x2600 && r <= 0x27BF || r >= 0x1F000 && unicode.Is(unicode.So, r) || unicode.Is(unicode.Co, r) || unicode.Is(unicode.Regional_Indicator, r)
}

// A script is how text is written for a carrier.
type script struct {
	charset string // what the carrier prints
	country string // selects the conventions of a language
}

// write writes tidy text, and reports whether every character of it has a form
// in the charset. Each word is written on its own, so the words of a line are
// those of its parts.
func (sc script) write(text string) (string, bool) {
	if inCharset(text, sc.charset) {
		return text, true
	}

	var written strings.Builder
	runes := []rune(text)
	for i, r := range runes {
		if prints(r, sc.charset) {
			written.WriteRune(r)
			continue
		}

		form, ok := sc.form(r, runes[:i])
		if !ok {
			return "", false
		}
		switch {
		case !unicode.IsUpper(r):
		case isAmongCapitals(runes, i):
			form = strings.ToUpper(form)
		default:
			form = titled(form)
		}
		written.WriteString(form)
	}
	out := tidy(written.String())
	return out, out != ""
}

// form returns a character's form in the charset, given what stands before it.
func (sc script) form(r rune, before []rune) (string, bool) {
	// A country's own form comes before the general one: German writes ü as
	// "ue", Turkish as "u".
	lower := unicode.ToLower(r)
	if form, ok := localForms[sc.country][lower]; ok {
		return form, true
	}
	if lower == 'υ' && afterVowel(before) {
		return "u", true
	}
	if form, ok := letters[lower]; ok {
		return form, true
	}
	if unicode.In(r, unicode.Cf, unicode.Mn) || strings.ContainsRune(silent, lower) {
		return "", true
	}

	// What is left is written by its parts: an accented letter without its
	// accent, a ligature as its letters.
	parts := []rune(norm.NFKD.String(string(r)))
	if len(parts) == 1 && parts[0] == r {
		return "", false
	}
	var written strings.Builder
	if unicode.Is(unicode.No, r) {
		written.WriteByte(' ') // "12½" is not 121/2
	}
	for _, part := range parts {
		if prints(part, sc.charset) {
			written.WriteRune(part)
			continue
		}
		form, ok := sc.form(part, before)
		if !ok {
			return "", false
		}
		written.WriteString(form)
	}
	return written.String(), true
}

// afterVowel distinguishes the Greek "ου" from a separate "υ".
func afterVowel(before []rune) bool {
	if len(before) == 0 {
		return false
	}
	base := []rune(norm.NFD.String(string(before[len(before)-1])))[0]
	return strings.ContainsRune("αεηο", unicode.ToLower(base))
}

// isAmongCapitals reports whether the capital at i stands among capitals: then
// all letters of its form are capitals too.
func isAmongCapitals(runes []rune, i int) bool {
	switch {
	case i+1 < len(runes) && unicode.IsLetter(runes[i+1]):
		return unicode.IsUpper(runes[i+1])
	case i > 0 && unicode.IsLetter(runes[i-1]):
		return unicode.IsUpper(runes[i-1])
	}
	return false
}

// titled returns text with its first letter as a capital.
func titled(s string) string {
	runes := []rune(s)
	if len(runes) > 0 {
		runes[0] = unicode.ToUpper(runes[0])
	}
	return string(runes)
}

// plainDigits writes the digits of other scripts as 0 to 9.
func plainDigits(s string) string {
	return strings.Map(func(r rune) rune {
		if form, ok := letters[r]; ok && unicode.IsDigit(r) {
			return rune(form[0])
		}
		return r
	}, norm.NFKC.String(s))
}

// letters are the forms of characters that do not decompose into ASCII, by
// their lower case.
var letters = makeLetters(
	// Latin letters.
	"ß ss æ ae ø o œ oe ł l đ d ð d þ th ħ h ı i ĸ k ŋ ng ŧ t ƒ f ə e ǝ e ɛ e ɔ o ɖ d ɓ b ɗ d ƙ k ƴ y ǥ g ɨ i ʉ u ƀ b ƶ z ⱥ a ɫ l",
	// Cyrillic, as in passports and on road signs.
	"а a б b в v г g д d е e ё yo ж zh з z и i й y к k л l м m н n о o п p р r с s т t у u ф f х kh ц ts ч ch ш sh щ shch ы y э e ю yu я ya",
	"є ye і i ї yi ґ g ў u ђ dj ј j љ lj њ nj ћ c џ dz ѓ g ќ k ѕ dz ә a ғ g қ k ң n ө o ұ u ү u һ h җ zh ҳ h ҷ j ӣ i ӯ u",
	// Greek.
	"α a β v γ g δ d ε e ζ z η i θ th ι i κ k λ l μ m ν n ξ x ο o π p ρ r σ s ς s τ t υ y φ f χ ch ψ ps ω o",
	// Signs.
	"‘ ' ’ ' ‚ ' ‛ ' ′ ' ´ ' ʼ ' ʻ ' ʹ ' ‹ ' › ' “ \" ” \" „ \" ‟ \" ″ \" « \" » \" ‐ - ‑ - ‒ - – - — - ― - − - • - · . ⁄ / × x ÷ / © (c) ® (r) ± +/- ¦ |",
	"° o € EUR £ GBP ¥ JPY ¢ c § par. ¶ par.",
	// Digits of other scripts.
	"٠ 0 ١ 1 ٢ 2 ٣ 3 ٤ 4 ٥ 5 ٦ 6 ٧ 7 ٨ 8 ٩ 9 ۰ 0 ۱ 1 ۲ 2 ۳ 3 ۴ 4 ۵ 5 ۶ 6 ۷ 7 ۸ 8 ۹ 9 ० 0 १ 1 २ 2 ३ 3 ४ 4 ५ 5 ६ 6 ७ 7 ८ 8 ९ 9",
)

// localForms are the forms that differ in a country.
var localForms = map[string]map[rune]string{
	"DE": german,
	"AT": german,
	"CH": german,
	"LI": german,
	"BG": makeLetters("ъ a щ sht х h"),
	"UA": makeLetters("г h и y ї i"),
	"RS": serbian,
	"ME": serbian,
	"BA": serbian,
	"MK": serbian,
}

var (
	german  = makeLetters("ä ae ö oe ü ue")
	serbian = makeLetters("ж z х h ц c ч c ш s")
)

// silent are the signs of hardness and the marks that open a sentence: they
// have no form and are dropped.
const silent = "ъь¡¿"

// makeLetters reads pairs of a character and its form.
func makeLetters(lists ...string) map[rune]string {
	forms := map[rune]string{}
	for _, list := range lists {
		pairs := strings.Fields(list)
		for i := 0; i < len(pairs); i += 2 {
			forms[[]rune(pairs[i])[0]] = pairs[i+1]
		}
	}
	return forms
}
