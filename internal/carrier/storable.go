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

// isNumber reports whether a text can be the number of a label. One that the
// database would refuse must not be taken for a sale: it could never be recorded.
func isNumber(text string) bool {
	return text != "" && len(text) <= maxNumber && utf8.ValidString(text) && !strings.ContainsFunc(text, unicode.IsControl)
}

// plain returns a text without what the database would refuse.
func plain(text string) string {
	if utf8.ValidString(text) && strings.IndexByte(text, 0) < 0 {
		return text
	}
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
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
