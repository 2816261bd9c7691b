package store

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/waybillhq/waybill/internal/ship"
)

// The words and numbers under which shipments are found.

// Bounds of what is indexed of a text.
const (
	maxWords = 8
	maxWord  = 40
)

// Words returns the words of a text as they are searched: in lower case, without
// accents, each once.
func Words(text string) []string {
	isSeparator := func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }
	var list []string
	for word := range strings.FieldsFuncSeq(foldLetters(text), isSeparator) {
		if len(word) > maxWord {
			word = strings.ToValidUTF8(word[:maxWord], "")
		}
		if len(list) < maxWords && !slices.Contains(list, word) {
			list = append(list, word)
		}
	}
	return list
}

// foldLetters returns the text in lower case, without accents.
func foldLetters(text string) string {
	var folded strings.Builder
	for _, r := range norm.NFKD.String(text) {
		if !unicode.Is(unicode.Mn, r) {
			folded.WriteRune(unicode.ToLower(r))
		}
	}
	return folded.String()
}

// A recipient is what a shipment is found by besides its numbers.
type recipient struct{ name, company, city, email string }

func recipientOf(a ship.Address) recipient {
	return recipient{
		name:    a.Name,
		company: a.Company,
		city:    a.City,
		email:   a.Email,
	}
}

// words returns the words under which the recipient is indexed. An e-mail address
// gives two, the part before the @ and the domain, without splitting them.
func (r recipient) words() []string {
	list := Words(r.name)
	list = append(list, Words(r.company)...)
	list = append(list, Words(r.city)...)
	if r.email != "" {
		list = append(list, emailWords(r.email)...)
	}

	slices.Sort(list)
	return slices.Compact(list)
}

// emailWords returns the two halves of an e-mail address, as far as they are
// there.
func emailWords(address string) []string {
	local, domain, _ := strings.Cut(strings.ToLower(address), "@")
	return slices.DeleteFunc([]string{local, domain}, func(s string) bool { return s == "" })
}

// wordKey turns words into the hashes that are stored. The key is the
// installation's own, so equal words have equal hashes in one installation
// and nowhere else.
type wordKey struct {
	load sync.Mutex
	key  []byte
}

// A wordHash hashes a word of an account. The account is part of the hash, so
// accounts cannot be compared by their words.
type wordHash func(account ship.AccountID, word string) []byte

// wordHash returns the function that hashes words.
func (s *Store) wordHash(ctx context.Context) (wordHash, error) {
	s.words.load.Lock()
	defer s.words.load.Unlock()

	if s.words.key == nil {
		signing, err := s.SigningKey(ctx)
		if err != nil {
			return nil, fmt.Errorf("key of the search index: %w", err)
		}
		derive := hmac.New(sha256.New, signing)
		derive.Write([]byte("waybill search words"))
		s.words.key = derive.Sum(nil)
	}

	key := s.words.key
	return func(account ship.AccountID, word string) []byte {
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(account))
		mac.Write([]byte{0})
		mac.Write([]byte(word))
		return mac.Sum(nil)[:wordBytes]
	}, nil
}

// wordBytes is how much of a hash is stored: enough that two words of one
// account do not meet by chance, and little enough for a small index.
const wordBytes = 8

// ignoredInNumbers is the punctuation that does not matter in an order or
// tracking number; numbersColumn removes the same.
const ignoredInNumbers = " !\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"

// numbersColumn are a shipment's numbers as searchNumbers writes them, from its own
// rows and purchaseColumns.
const numbersColumn = `upper(concat_ws(' ', translate(s.request ->> 'orderId', ` + ignoredLiteral + `, ''),
    translate(d."trackingNumber", ` + ignoredLiteral + `, ''), translate(d.pieces::text, ',["] ', ' ')) COLLATE "C")`

const ignoredLiteral = `' !"#$%&''()*+,-./:;<=>?@[\]^_` + "`" + `{|}~'`

// searchNumbers returns the numbers of a shipment, any part of which finds it.
func searchNumbers(shipment ship.Shipment) string {
	numbers := []string{plainNumber(shipment.Order.OrderID), plainNumber(shipment.Purchase.TrackingNumber)}
	for _, number := range shipment.Purchase.Pieces {
		numbers = append(numbers, plainNumber(number))
	}
	return strings.Join(numbers, " ")
}

// plainNumber returns an order or tracking number without punctuation, in
// capitals. Letters beyond ASCII stay as they are: Postgres does the same.
func plainNumber(number string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case strings.ContainsRune(ignoredInNumbers, r):
			return -1
		case r >= 'a' && r <= 'z':
			return r - 'a' + 'A'
		}
		return r
	}, number)
}
