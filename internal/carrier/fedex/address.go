package fedex

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"slices"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// addressCoverage are the countries that FedEx's own file has examples of. It
// checks streets in more, which it does not list there, and says so in each
// answer.
var addressCoverage = carrier.AddressCoverage{
	Streets: []string{"US", "PR", "CA", "GB", "DE", "IT"},
}

// The check of an address.
type (
	addressRequest struct {
		Addresses []addressToCheck `json:"addressesToValidate"`
	}
	addressToCheck struct {
		Address address `json:"address"`
	}
	addressAnswer struct {
		Output *struct {
			Resolved []resolvedAddress `json:"resolvedAddresses"`
			Alerts   []alert           `json:"alerts"`
		} `json:"output"`
	}
	resolvedAddress struct {
		Lines          []string         `json:"streetLinesToken"`
		City           string           `json:"city"`
		State          string           `json:"stateOrProvinceCode"`
		PostalCode     postalCode       `json:"parsedPostalCode"`
		PostalToken    tokenValue       `json:"postalCodeToken"`
		Classification string           `json:"classification"`
		PostOfficeBox  flexibleBool     `json:"postOfficeBox"`
		Messages       customerMessages `json:"customerMessage"`
		Attributes     attributes       `json:"attributes"`
	}
	postalCode struct {
		Base  string `json:"base"`
		AddOn string `json:"addOn"`
	}
	tokenValue struct {
		Value string `json:"value"`
	}
)

// attributes are what FedEx found out about an address, by name.
type attributes map[string]json.RawMessage

// is reports whether an attribute is true.
func (a attributes) is(name string) bool {
	var value flexibleBool
	return value.UnmarshalJSON(a[name]) == nil && bool(value)
}

// isFalse reports whether an attribute is there and not true.
func (a attributes) isFalse(name string) bool { return len(a[name]) > 0 && !a.is(name) }

// text returns an attribute that is text; empty if there is none.
func (a attributes) text(name string) string {
	var value string
	_ = json.Unmarshal(a[name], &value) // absent, or no text: empty
	return value
}

// flexibleBool is true or "true": FedEx documents the first and sends either.
type flexibleBool bool

// UnmarshalJSON reads both.
func (b *flexibleBool) UnmarshalJSON(data []byte) error {
	*b = flexibleBool(bytes.EqualFold(bytes.Trim(data, `"`), []byte("true")))
	return nil
}

// customerMessages are the codes of what is missing in an address. FedEx's file
// does not say whether they are texts or objects.
type customerMessages []string

// UnmarshalJSON reads both, and nothing of any other shape.
func (m *customerMessages) UnmarshalJSON(data []byte) error {
	var list []json.RawMessage
	if json.Unmarshal(data, &list) != nil {
		return nil
	}
	for _, item := range list {
		var code string
		var object struct {
			Code string `json:"code"`
		}
		if json.Unmarshal(item, &code) != nil && json.Unmarshal(item, &object) == nil {
			code = object.Code
		}
		*m = append(*m, code)
	}
	return nil
}

// CheckAddress resolves one address: one that FedEx does not find would fail a
// whole batch.
func (d *driver) CheckAddress(ctx context.Context, given ship.Address) (ship.AddressCheck, error) {
	var answer addressAnswer
	err := d.call(ctx, d.ship, carrierkit.Call{
		Method: http.MethodPost,
		URL:    d.base + "/address/v1/addresses/resolve",
		Body:   newAddressRequest(given),
	}, &answer)
	if err != nil {
		return explainAddress(err)
	}
	if answer.Output == nil || len(answer.Output.Resolved) == 0 {
		return ship.AddressCheck{}, ship.Errorf(ship.Unavailable, "FedEx gave no verdict on the address")
	}
	if slices.ContainsFunc(answer.Output.Alerts, func(a alert) bool { return a.Code == virtualResponse }) {
		return ship.AddressCheck{}, notTestable(ship.Refusal{Code: virtualResponse})
	}
	return check(given, answer.Output.Resolved)
}

func newAddressRequest(given ship.Address) addressRequest {
	place := carrierkit.PlaceOf(given)
	asked := address{
		City:        given.City,
		State:       stateOf(place),
		PostalCode:  given.Zip,
		CountryCode: countryOf(place),
	}
	for _, line := range []string{given.Address1, given.Address2, given.Address3} {
		if line != "" {
			asked.StreetLines = append(asked.StreetLines, line)
		}
	}
	return addressRequest{Addresses: []addressToCheck{{Address: asked}}}
}

// addressNotFound is FedEx's refusal of an address that it does not know.
const addressNotFound = "STANDARDIZED.ADDRESS.NOTFOUND"

// explainAddress says what a refused check means.
func explainAddress(err error) (ship.AddressCheck, error) {
	refused := *ship.ErrorOf(err)
	switch {
	case refused.Kind == ship.Invalid && refused.Refusal.Code == addressNotFound:
		return ship.AddressCheck{Verdict: ship.AddressInvalid, Messages: []string{"FedEx does not know this address."}}, nil
	case refused.Kind == ship.Forbidden && refused.Refusal.Code == "FORBIDDEN.ERROR":
		refused.Message = "FedEx does not allow this project to check addresses; add the Address Validation API to it in the developer portal"
		return ship.AddressCheck{}, &refused
	case refused.Kind == ship.Invalid:
		refused.Fields = nil // they are those of an order
		refused.Message = "FedEx declined to check the address"
		return ship.AddressCheck{}, &refused
	}
	return ship.AddressCheck{}, err
}

// check returns the verdict on an address from what FedEx resolved it to.
func check(given ship.Address, resolved []resolvedAddress) (ship.AddressCheck, error) {
	first := resolved[0]
	found := first.Attributes
	switch {
	case len(found) == 0:
		return ship.AddressCheck{}, ship.Errorf(ship.Unavailable, "FedEx gave no verdict on the address")

	case found.isFalse("CountrySupported"), found.text("AddressType") == "RAW":
		return ship.AddressCheck{
			Verdict:  ship.AddressUnknown,
			Messages: []string{"FedEx does not check addresses in this country."},
		}, nil

	case found.is("MultipleMatches"):
		ambiguous := ship.AddressCheck{
			Verdict:  ship.AddressAmbiguous,
			Messages: []string{"FedEx knows several addresses like this one."},
		}
		for _, candidate := range resolved {
			if place := candidate.place(given); place != given {
				ambiguous.Candidates = append(ambiguous.Candidates, place)
			}
		}
		return ambiguous, nil

	case !found.is("Resolved"), found.text("AddressType") == "NORMALIZED":
		return ship.AddressCheck{Verdict: ship.AddressInvalid, Messages: first.messages("FedEx does not know this address.")}, nil

	case first.lacksDeliveryPoint(given):
		return ship.AddressCheck{Verdict: ship.AddressInvalid, Messages: first.messages("FedEx knows the street, but not the house number.")}, nil
	}

	return ship.AddressCheck{
		Verdict:     ship.AddressValid,
		Address:     first.place(given),
		Residential: first.residential(),
		Messages:    first.messages(),
	}, nil
}

// lacksDeliveryPoint reports whether postal data have the street and not the
// house. FedEx knows that of the United States alone, and of addresses that it
// matched by a map it does not.
func (r resolvedAddress) lacksDeliveryPoint(given ship.Address) bool {
	return given.Country == "US" && r.Attributes.isFalse("DPV") && r.Attributes.text("MatchSource") != "Map"
}

// place returns the place that FedEx found.
func (r resolvedAddress) place(given ship.Address) ship.Address {
	found := ship.Address{
		City:  r.City,
		State: r.State,
		Zip:   r.PostalCode.Base,
	}
	if found.Zip == "" {
		found.Zip = r.PostalToken.Value
	} else if r.PostalCode.AddOn != "" {
		found.Zip += "-" + r.PostalCode.AddOn
	}
	for i, line := range r.Lines {
		switch i {
		case 0:
			found.Address1 = line
		case 1:
			found.Address2 = line
		case 2:
			found.Address3 = line
		}
	}

	// Only these two have states that FedEx writes as codes.
	if given.Country != "US" && given.Country != "CA" {
		found.State = ""
	}
	return carrierkit.KeepSpelling(given, found)
}

// residential returns whether the address is a home; nil for a building with
// homes and businesses, or if FedEx does not know.
func (r resolvedAddress) residential() *bool {
	if r.Classification != "RESIDENTIAL" && r.Classification != "BUSINESS" {
		return nil
	}
	isHome := r.Classification == "RESIDENTIAL"
	return &isHome
}

// addressMessages are sentences for FedEx's codes.
var addressMessages = map[string]string{
	"INVALID.SUITE.NUMBER":             "FedEx does not know the apartment or suite number.",
	"SUITE.NUMBER.REQUIRED":            "FedEx knows the building, and needs an apartment or suite number.",
	"PARTIAL.STREET.MATCH":             "FedEx needs a house number: the address is a range of numbers.",
	"MISSING.OR.AMBIGUOUS.DIRECTIONAL": "The direction of the street, such as N or S, is missing or ambiguous.",
	"INTERPOLATED.STREET.ADDRESS":      "FedEx knows the street and not the exact house number, which is within the range of the street.",
	"RRHC.CONVERSION":                  "FedEx needs a street: the address was converted from a rural route.",
}

// messages returns the given sentences and those for what FedEx says about the
// address. A suite that is missing comes as a code, as an attribute, or as both.
func (r resolvedAddress) messages(sentences ...string) []string {
	add := func(text string) {
		if text != "" && !slices.Contains(sentences, text) {
			sentences = append(sentences, text)
		}
	}

	for _, code := range r.Messages {
		add(addressMessages[code])
	}
	if r.Attributes.is("SuiteRequiredButMissing") {
		add(addressMessages["SUITE.NUMBER.REQUIRED"])
	}
	if r.Attributes.is("InvalidSuiteNumber") {
		add(addressMessages["INVALID.SUITE.NUMBER"])
	}
	if bool(r.PostOfficeBox) || r.Attributes.is("POBox") {
		add("FedEx delivers to post office boxes only with Ground Economy.")
	}
	return sentences
}
