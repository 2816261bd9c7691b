package usps

import (
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/waybillhq/waybill/internal/ship"
)

// location is where the event happened: "Richmond, VA, US". USPS writes places
// in capitals, and names no country for events in the United States.
func (e trackingEvent) location() string {
	city := titled(string(e.EventCity))
	state := strings.ToUpper(plain(string(e.EventState)))
	if state == "AA" || state == "AE" || state == "AP" {
		city = plain(string(e.EventCity)) // APO, FPO, DPO
	}

	country := e.country()
	if country == "" {
		country = titled(string(e.EventCountry))
	}
	if city == "" && state == "" && strings.TrimSpace(string(e.EventCountry)) == "" {
		return "" // nothing but the assumption that it is in the United States
	}

	var parts []string
	for _, part := range []string{city, state, country} {
		if part != "" {
			parts = append(parts, bounded(part))
		}
	}
	return strings.Join(parts, ", ")
}

// country is the code of the event's country; empty if its name is not known.
func (e trackingEvent) country() string {
	name := strings.ToUpper(plain(string(e.EventCountry)))
	if name == "" {
		return "US"
	}

	if ship.KnownCountry(name) {
		return name
	}
	return countryCodes()[name]
}

// countryCodes are the countries by their names in capitals, and by names that
// USPS alone gives them.
var countryCodes = sync.OnceValue(func() map[string]string {
	codes := map[string]string{
		"USA":                                "US",
		"UNITED STATES OF AMERICA":           "US",
		"GREAT BRITAIN":                      "GB",
		"GREAT BRITAIN AND NORTHERN IRELAND": "GB",
		"KOREA, REPUBLIC OF":                 "KR",
		"REPUBLIC OF KOREA":                  "KR",
		"HONG KONG":                          "HK",
		"MACAO":                              "MO",
		"RUSSIA":                             "RU",
		"CZECH REPUBLIC":                     "CZ",
		"TURKEY":                             "TR",
	}

	for first := 'A'; first <= 'Z'; first++ {
		for second := 'A'; second <= 'Z'; second++ {
			code := string([]rune{first, second})
			if name := ship.CountryName(code); name != "" {
				codes[strings.ToUpper(name)] = code
			}
		}
	}
	return codes
})

// titled is a name in capitals as people write it: "SAN FRANCISCO" is "San
// Francisco".
func titled(name string) string {
	name = plain(name)
	if name != strings.ToUpper(name) {
		return name
	}

	inWord := false
	return strings.Map(func(r rune) rune {
		isLetter := unicode.IsLetter(r) || r == '\''
		if isLetter && inWord {
			return unicode.ToLower(r)
		}
		inWord = isLetter
		return r
	}, name)
}

// maxText bounds a text of the carrier's, in bytes.
const maxText = 200

// bounded is the text, shortened to maxText.
func bounded(s string) string {
	s = strings.ToValidUTF8(s, "")
	if len(s) <= maxText {
		return s
	}

	s = s[:maxText]
	for !utf8.ValidString(s) {
		s = s[:len(s)-1]
	}
	return s
}
