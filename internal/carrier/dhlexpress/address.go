package dhlexpress

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// addressAnswer are the places that DHL serves and that a question may mean.
type addressAnswer struct {
	Address []servedPlace `json:"address"`
}

type servedPlace struct {
	CountryCode string `json:"countryCode"`
	PostalCode  text   `json:"postalCode"`
	CityName    string `json:"cityName"`
}

const (
	servedMessage    = "DHL Express serves this city and postal code. It does not check streets."
	notServedMessage = "DHL Express does not serve this city and postal code."
	otherZipsMessage = "DHL Express serves this city under other postal codes."
)

// The longest values that DHL takes, in characters.
const (
	longestCity = 45
	longestZip  = 12
)

// mostCandidates is how many places are kept of a city with many postal codes.
const mostCandidates = 10

// CheckAddress asks whether DHL delivers to the city and the postal code. It does
// not send the street: DHL has no streets.
func (d driver) CheckAddress(ctx context.Context, given ship.Address) (ship.AddressCheck, error) {
	if len([]rune(given.City)) > longestCity || len(given.Zip) > longestZip {
		return ship.AddressCheck{}, ship.InvalidFields([]ship.FieldError{{
			Pointer: "/city",
			Code:    "too_long",
			Detail:  "DHL Express checks cities of at most 45 characters, and postal codes of at most 12",
		}})
	}

	var answer addressAnswer
	err := d.call(http.MethodGet, "/address-validate", addressQuery(given), "").Do(ctx, d.via, &answer)
	if err != nil {
		return explainAddress(err)
	}
	return answer.check(given)
}

// addressQuery returns the parameters of a check. Strict validation makes DHL
// decide whether the city and the postal code belong together, by all the names
// that it has for the city.
func addressQuery(given ship.Address) url.Values {
	query := url.Values{
		"type":             {"delivery"},
		"countryCode":      {countryOf(carrierkit.PlaceOf(given))},
		"cityName":         {given.City},
		"strictValidation": {"true"},
	}
	if given.Zip != "" {
		query.Set("postalCode", given.Zip)
	}
	return query
}

// explainAddress says what a refused check means. DHL documents no code for a
// place that it does not serve, only that the status is 400 and has a text; a text
// about the parameters, or with one of DHL's codes, is about something else.
func explainAddress(err error) (ship.AddressCheck, error) {
	refused := *ship.ErrorOf(err)
	words := refused.Refusal.Message
	switch {
	case refused.Kind != ship.Invalid && refused.Kind != ship.NotFound, words == "":
		return ship.AddressCheck{}, err
	case slices.Contains(accountCodes, refused.Refusal.Code):
		refused.Kind = ship.Forbidden
		refused.Message = "DHL Express does not allow this API key to check addresses; ask DHL to enable it"
		return ship.AddressCheck{}, &refused
	case refused.Refusal.Code != "", isAboutParameters(words):
		return ship.AddressCheck{}, err
	}
	return ship.AddressCheck{Verdict: ship.AddressInvalid, Messages: []string{notServedMessage}}, nil
}

// isAboutParameters reports whether DHL did not look for the place.
func isAboutParameters(words string) bool {
	words = strings.ToLower(words)
	return strings.Contains(words, "parameter") || strings.Contains(words, "required key") || strings.Contains(words, "correct format")
}

// check returns the verdict. A place that DHL serves stays as it was given: DHL
// writes cities in English, which is not a correction.
func (a addressAnswer) check(given ship.Address) (ship.AddressCheck, error) {
	if a.Address == nil {
		return ship.AddressCheck{}, ship.Errorf(ship.Unavailable, "DHL Express gave no verdict on the address")
	}

	var others []ship.Address
	for _, served := range a.Address {
		zip := string(served.PostalCode)
		if given.Zip == "" || zip == "" || sameZip(given.Zip, zip) {
			return ship.AddressCheck{Verdict: ship.AddressValid, Address: given, Messages: []string{servedMessage}}, nil
		}
		other := carrierkit.KeepSpelling(given, ship.Address{City: served.CityName, Zip: zip})
		if len(others) < mostCandidates && !slices.Contains(others, other) {
			others = append(others, other)
		}
	}

	if len(others) == 0 {
		return ship.AddressCheck{Verdict: ship.AddressInvalid, Messages: []string{notServedMessage}}, nil
	}
	return ship.AddressCheck{
		Verdict:    ship.AddressAmbiguous,
		Candidates: others,
		Messages:   []string{otherZipsMessage},
	}, nil
}

// sameZip reports whether DHL's postal code is the given one. DHL leaves out
// separators, and in some countries the second half.
func sameZip(given, served string) bool {
	plain := strings.NewReplacer(" ", "", "-", "").Replace
	given = strings.ToUpper(plain(given))
	served = strings.ToUpper(plain(served))
	return strings.HasPrefix(given, served) || strings.HasPrefix(served, given)
}
