package carrier

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/waybillhq/waybill/internal/ship"
)

// maxNumber is how long a tracking number may be. The longest known ones have 40
// characters, and the database indexes them.
const maxNumber = 200

// isNumber reports whether a text can be the number of a label: letters and digits of
// ASCII, and the three marks that carriers print between them. Numbers are repeated
// where no other text of a carrier is: on labels, in terminals, to language models.
func isNumber(text string) bool {
	isOther := func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') && r != '-' && r != '.' && r != '/'
	}
	return text != "" && len(text) <= maxNumber && !strings.ContainsFunc(text, isOther)
}

// plain returns a text without what the database would refuse.
func plain(text string) string {
	if utf8.ValidString(text) && strings.IndexByte(text, 0) < 0 {
		return text
	}
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
}

// readable is plain for a text that people read: characters that move a cursor or turn
// the direction of what is around them become spaces.
func readable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
			return ' '
		}
		return r
	}, plain(text))
}

// plainTexts is plain for each of the texts.
func plainTexts(texts ...*string) {
	for _, text := range texts {
		*text = plain(*text)
	}
}

// plainDocuments returns documents whose types and formats can be stored.
func plainDocuments(documents []ship.Document) []ship.Document {
	for i := range documents {
		plainTexts(&documents[i].Type, &documents[i].Format)
	}
	return documents
}
