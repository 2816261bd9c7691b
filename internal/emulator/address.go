package emulator

import (
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
)

// An Address is a place that an emulator knows, in the capitals of postal data.
type Address struct {
	Lines          []string
	City, State    string
	Zip, Plus4     string // Plus4 only in the United States
	Country        string
	IsHome         bool
	HasMissingUnit bool // a building with several units, and none was given
}

// knownAddresses are found by their first line alone, so that an error in the
// rest of such an address is corrected.
var knownAddresses = []Address{
	{Lines: []string{"350 5TH AVE"}, City: "NEW YORK", State: "NY", Zip: "10118", Plus4: "0110", Country: "US"},
	{Lines: []string{"1 DR CARLTON B GOODLETT PL"}, City: "SAN FRANCISCO", State: "CA", Zip: "94102", Plus4: "4689", Country: "US"},
	{Lines: []string{"100 CALLE SOL"}, City: "SAN JUAN", State: "PR", Zip: "00901", Plus4: "1203", Country: "PR", IsHome: true},
	{Lines: []string{"24 GROSVENOR SQUARE"}, City: "LONDON", Zip: "W1A 2LQ", Country: "GB"},
}

// FindAddress returns the places that an address may mean: none, one, or several.
// The rule is the same for all emulators, by words in the first line:
//
//   - NOWHERE: there is no such street
//   - TWIN: there are two such streets, north and south
//   - TOWERS: a building with units; without a second line the unit is missing
//   - a known address: that one, whatever the rest of the given one says
//   - anything else exists as it was given, and is a home unless it has a suite
func FindAddress(given Address) []Address {
	found := given
	found.Lines = nil
	for _, line := range given.Lines {
		if line = capitals(line); line != "" {
			found.Lines = append(found.Lines, line)
		}
	}
	if len(found.Lines) == 0 {
		return nil
	}
	found.City = capitals(given.City)
	if found.Plus4 == "" && (given.Country == "US" || given.Country == "PR") {
		found.Plus4 = "1001"
	}

	street := found.Lines[0]
	words := strings.Fields(street)
	for _, known := range knownAddresses {
		if known.Lines[0] == street {
			known.Lines = found.Lines
			known.Country = given.Country
			return []Address{known}
		}
	}
	found.IsHome = !strings.Contains(" "+strings.Join(found.Lines, " "), " STE ")
	switch {
	case slices.Contains(words, "NOWHERE"):
		return nil
	case slices.Contains(words, "TWIN"):
		north := found
		south := found
		north.Lines = append([]string{strings.Replace(street, "TWIN", "N TWIN", 1)}, found.Lines[1:]...)
		south.Lines = append([]string{strings.Replace(street, "TWIN", "S TWIN", 1)}, found.Lines[1:]...)
		return []Address{north, south}
	case slices.Contains(words, "TOWERS"):
		found.HasMissingUnit = len(found.Lines) == 1
	}
	return []Address{found}
}

// standard are words that postal data abbreviate.
var standard = map[string]string{
	"AVENUE": "AVE", "STREET": "ST", "ROAD": "RD", "PLACE": "PL", "FLOOR": "FL", "SUITE": "STE", "APARTMENT": "APT",
}

// capitals returns text as postal data have it.
func capitals(text string) string {
	words := strings.Fields(strings.ToUpper(strings.NewReplacer(",", " ", ".", "").Replace(text)))
	for i, word := range words {
		if short, ok := standard[word]; ok {
			words[i] = short
		}
	}
	return strings.Join(words, " ")
}

// AnswerAddress sends the answer to a check of an address, or the fault chosen
// for it.
func (s *Server) AnswerAddress(w http.ResponseWriter, r *http.Request, status int, contentType string, body []byte) {
	s.reply(w, r, choose(s.Faults().Address, rand.Float64()), status, contentType, body)
}
