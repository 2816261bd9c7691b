package usps

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// addressCoverage is where USPS delivers as in the United States: the states, the
// territories, and the freely associated states.
var addressCoverage = carrier.AddressCoverage{
	Streets: []string{"US", "PR", "VI", "GU", "AS", "MP", "FM", "MH", "PW"},
}

// foundAddress is the answer to the check of an address. Members that USPS has
// nothing to say about are null.
type foundAddress struct {
	Address *struct {
		StreetAddress    string `json:"streetAddress"`
		SecondaryAddress string `json:"secondaryAddress"`
		City             string `json:"city"`
		State            string `json:"state"`
		ZIPCode          text   `json:"ZIPCode"`
		ZIPPlus4         text   `json:"ZIPPlus4"`
	} `json:"address"`
	Info struct {
		Confirmation string `json:"DPVConfirmation"`
		Business     string `json:"business"`
		Vacant       string `json:"vacant"`
	} `json:"additionalInfo"`
	Corrections []struct {
		Code text `json:"code"`
	} `json:"corrections"`
}

// CheckAddress asks for the standardized form of an address, and whether mail is
// delivered to it.
func (d *driver) CheckAddress(ctx context.Context, given ship.Address) (ship.AddressCheck, error) {
	var answer foundAddress
	err := d.callWithScope(ctx, "addresses", d.via, carrierkit.Call{
		Method: http.MethodGet,
		URL:    d.base + "/addresses/v3/address?" + addressQuery(given).Encode(),
	}, &answer)
	if err != nil {
		return explainAddress(err)
	}
	return answer.check(given)
}

// addressQuery returns the parameters of a check. USPS has two lines for a street.
func addressQuery(given ship.Address) url.Values {
	query := url.Values{}
	set := func(name, value string) {
		if value != "" {
			query.Set(name, value)
		}
	}

	zip, plus4, _ := strings.Cut(given.Zip, "-")
	set("streetAddress", given.Address1)
	set("secondaryAddress", strings.TrimSpace(given.Address2+" "+given.Address3))
	set("city", given.City)
	set("state", stateOf(given))
	set("ZIPCode", zip)
	set("ZIPPlus4", plus4)
	return query
}

// Codes and words by which USPS says that it does not find an address. The
// documentation has 404 and a sentence; an older list of errors has 400 and codes.
var notFoundCodes = []string{"404", "010001", "010002", "010003", "010004", "010005", "010006"}

const severalFound = "more than one address"

// explainAddress turns USPS's own "not found" into a verdict. The text of any
// other refusal may repeat the address, so it does not become part of the message,
// which is logged.
func explainAddress(err error) (ship.AddressCheck, error) {
	refused := *ship.ErrorOf(err)
	if refused.Kind != ship.Invalid && refused.Kind != ship.NotFound {
		return ship.AddressCheck{}, err
	}

	words := refused.Refusal.Message
	switch {
	case !slices.Contains(notFoundCodes, refused.Refusal.Code):
		refused.Fields = nil
		refused.Message = "USPS declined to check the address"
		return ship.AddressCheck{}, &refused

	case strings.Contains(strings.ToLower(words), severalFound):
		return ship.AddressCheck{Verdict: ship.AddressAmbiguous, Messages: []string{severalMessage}}, nil
	}

	check := ship.AddressCheck{Verdict: ship.AddressInvalid, Messages: []string{"USPS does not find this address."}}
	if words != "" {
		check.Messages = []string{"USPS answered: " + words}
	}
	return check, nil
}

const (
	severalMessage = "USPS knows several addresses like this one: add what is missing, such as a direction (N, S) or a unit."
	unitMessage    = "USPS knows the building, and needs an apartment, suite or box number."
	unknownUnit    = "USPS knows the building, but not the apartment, suite or box number."
	vacantMessage  = "USPS lists the address as vacant."
)

// What USPS says about a delivery point.
const (
	confirmed         = "Y"
	confirmedBuilding = "D" // the unit is missing
	confirmedNoUnit   = "S" // the unit is unknown
	notConfirmed      = "N"
)

// Codes of what would improve an address.
const (
	correctionSeveral = "22"
	correctionUnit    = "32"
)

// check returns the verdict. A building without its unit is reached, with a
// message: mail for it is delivered, if late.
func (f foundAddress) check(given ship.Address) (ship.AddressCheck, error) {
	if f.Address == nil || f.Address.StreetAddress == "" {
		return ship.AddressCheck{}, ship.Errorf(ship.Unavailable, "USPS gave no verdict on the address")
	}
	if f.needs(correctionSeveral) {
		return ship.AddressCheck{Verdict: ship.AddressAmbiguous, Messages: []string{severalMessage}}, nil
	}

	check := ship.AddressCheck{Verdict: ship.AddressValid, Address: f.place(given)}
	switch f.Info.Confirmation {
	case confirmed:
		if f.needs(correctionUnit) {
			check.Messages = append(check.Messages, unitMessage)
		}
	case confirmedBuilding:
		check.Messages = append(check.Messages, unitMessage)
	case confirmedNoUnit:
		check.Messages = append(check.Messages, unknownUnit)
	case notConfirmed, "":
		return ship.AddressCheck{
			Verdict:  ship.AddressInvalid,
			Messages: []string{"USPS knows the street, but not the house number."},
		}, nil
	default:
		return ship.AddressCheck{}, ship.Errorf(ship.Unavailable, "USPS gave an unknown verdict on the address")
	}

	if f.Info.Vacant == "Y" {
		check.Messages = append(check.Messages, vacantMessage)
	}
	if f.Info.Business == "Y" || f.Info.Business == "N" {
		isHome := f.Info.Business == "N"
		check.Residential = &isHome
	}
	return check, nil
}

// needs reports whether USPS lists the correction.
func (f foundAddress) needs(code text) bool {
	for _, correction := range f.Corrections {
		if correction.Code == code {
			return true
		}
	}
	return false
}

// place returns the place that USPS found.
func (f foundAddress) place(given ship.Address) ship.Address {
	found := ship.Address{
		Address1: f.Address.StreetAddress,
		Address2: f.Address.SecondaryAddress,
		City:     f.Address.City,
		State:    f.Address.State,
		Zip:      string(f.Address.ZIPCode),
	}
	if f.Address.ZIPPlus4 != "" {
		found.Zip += "-" + string(f.Address.ZIPPlus4)
	}
	return carrierkit.KeepSpelling(given, found)
}
