package ups

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// addressCoverage is where UPS has the addresses of the United States Postal
// Service.
var addressCoverage = carrier.AddressCoverage{Streets: []string{"US", "PR"}}

// The check of an address.
type (
	addressRequest struct {
		XAVRequest struct {
			AddressKeyFormat addressKey
		}
	}
	addressKey struct {
		AddressLine         texts  `json:",omitempty"`
		PoliticalDivision2  string `json:",omitempty"` // the city
		PoliticalDivision1  string `json:",omitempty"` // the state
		PostcodePrimaryLow  string `json:",omitempty"`
		PostcodeExtendedLow string `json:",omitempty"`
		CountryCode         string
	}
	addressAnswer struct {
		XAVResponse struct {
			ValidAddressIndicator     present
			AmbiguousAddressIndicator present
			NoCandidatesIndicator     present
			AddressClassification     coded
			Candidate                 some[addressCandidate]
		}
	}
	addressCandidate struct {
		AddressClassification coded
		AddressKeyFormat      addressKey
	}
)

// mostCandidates is how many places an ambiguous address may mean.
const mostCandidates = "10"

// CheckAddress validates and classifies an address in one call.
func (d *driver) CheckAddress(ctx context.Context, given ship.Address) (ship.AddressCheck, error) {
	if addressCoverage.DepthIn(localized(given).Country) == carrier.NotChecked {
		return ship.AddressCheck{
			Verdict:  ship.AddressUnknown,
			Messages: []string{"UPS checks addresses only in the states and in Puerto Rico."},
		}, nil
	}
	if !d.live && !slices.Contains(testedStates, given.State) {
		return notInTestEnvironment(), nil
	}
	body, err := newAddressRequest(given)
	if err != nil {
		return ship.AddressCheck{}, err
	}

	var answer addressAnswer
	err = d.call(ctx, carrierkit.Call{
		Method: http.MethodPost,
		URL:    d.base + "/addressvalidation/v2/3?maximumcandidatelistsize=" + mostCandidates,
		Body:   body,
	}, &answer)
	if err != nil {
		return explainAddress(err)
	}
	return answer.check(given)
}

// testedStates are the states whose addresses UPS's test environment has. It
// would not find any other address.
var testedStates = []string{"NY", "CA"}

func notInTestEnvironment() ship.AddressCheck {
	return ship.AddressCheck{
		Verdict:  ship.AddressUnknown,
		Messages: []string{"UPS's test environment knows only addresses in New York and California."},
	}
}

// newAddressRequest returns the body of a check.
func newAddressRequest(given ship.Address) (addressRequest, error) {
	const longestCity = 30
	if len([]rune(given.City)) > longestCity {
		return addressRequest{}, invalid("/city", "too_long", "UPS checks addresses with at most 30 characters in the city")
	}

	place := localized(given)
	key := addressKey{
		PoliticalDivision2: given.City,
		PoliticalDivision1: place.State,
		PostcodePrimaryLow: place.Zip,
		CountryCode:        place.Country,
	}
	for _, line := range []string{given.Address1, given.Address2, given.Address3} {
		if line != "" {
			key.AddressLine = append(key.AddressLine, line)
		}
	}
	if len(place.Zip) == len("102010001") {
		key.PostcodePrimaryLow = place.Zip[:5]
		key.PostcodeExtendedLow = place.Zip[5:]
	}

	var body addressRequest
	body.XAVRequest.AddressKeyFormat = key
	return body, nil
}

// codeStateNotTested is the refusal of a state by the test environment.
const codeStateNotTested = "264030"

// explainAddress says what a refused check means.
func explainAddress(err error) (ship.AddressCheck, error) {
	refused := ship.ErrorOf(err)
	switch {
	case refused.Kind == ship.Invalid && plainCode(refused.Refusal.Code) == codeStateNotTested:
		return notInTestEnvironment(), nil
	case refused.Kind == ship.Forbidden:
		return ship.AddressCheck{}, withKind(ship.Forbidden,
			"UPS does not allow this app to check addresses; add the product Address Validation to it at developer.ups.com", err)
	}
	return ship.AddressCheck{}, err
}

// check returns the verdict. UPS sends exactly one of three indicators; an answer
// with none says nothing about the address.
func (a addressAnswer) check(given ship.Address) (ship.AddressCheck, error) {
	response := a.XAVResponse
	candidates := make([]ship.Address, 0, len(response.Candidate))
	for _, candidate := range response.Candidate {
		candidates = append(candidates, candidate.AddressKeyFormat.place(given))
	}

	switch {
	case bool(response.NoCandidatesIndicator):
		return ship.AddressCheck{
			Verdict:  ship.AddressInvalid,
			Messages: []string{"UPS does not know this address."},
		}, nil

	case bool(response.AmbiguousAddressIndicator):
		return ship.AddressCheck{
			Verdict:    ship.AddressAmbiguous,
			Candidates: candidates,
			Messages:   []string{"UPS knows several addresses like this one."},
		}, nil

	case bool(response.ValidAddressIndicator) && len(candidates) > 0:
		return ship.AddressCheck{
			Verdict:     ship.AddressValid,
			Address:     candidates[0],
			Residential: residential(response.Candidate[0].AddressClassification, response.AddressClassification),
		}, nil
	}
	return ship.AddressCheck{}, ship.Errorf(ship.Unavailable, "UPS gave no verdict on the address")
}

// place returns a place that UPS found. Lines beyond the third are left out.
func (k addressKey) place(given ship.Address) ship.Address {
	found := ship.Address{
		City:  k.PoliticalDivision2,
		State: k.PoliticalDivision1,
		Zip:   k.PostcodePrimaryLow,
	}
	if k.PostcodeExtendedLow != "" {
		found.Zip += "-" + k.PostcodeExtendedLow
	}
	for i, line := range k.AddressLine {
		switch line = strings.TrimSpace(line); i {
		case 0:
			found.Address1 = line
		case 1:
			found.Address2 = line
		case 2:
			found.Address3 = line
		}
	}
	return carrierkit.KeepSpelling(given, found)
}

// residential reads the first classification that is one: 1 is commercial and 2
// residential.
func residential(classes ...coded) *bool {
	for _, class := range classes {
		if class.Code == "1" || class.Code == "2" {
			isHome := class.Code == "2"
			return &isHome
		}
	}
	return nil
}
