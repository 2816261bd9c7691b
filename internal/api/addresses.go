package api

import (
	"context"
	"net/http"

	"github.com/waybillhq/waybill/internal/addresscheck"
	"github.com/waybillhq/waybill/internal/httpkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// addressRoutes check addresses.
func (s *server) addressRoutes() []*route {
	return []*route{{
		method:    http.MethodPost,
		path:      "/v1/addresses/validate",
		id:        "validateAddress",
		tag:       "Addresses",
		summary:   "Validate an address",
		scope:     "rates",
		unaudited: changesNothing,
		handler:   handle(s.validateAddress),
		outcomes:  []outcome{{status: http.StatusOK, about: "The verdict.", body: addressCheck{}}},
		codes:     []string{"unknown_carrier"},
	}}
}

// checkedAddressInput is an address whose person need not be given.
type checkedAddressInput struct {
	Name        string `json:"name,omitempty" maxLength:"100" example:"Ada Lovelace" doc:"Name of the person. It is returned as given and not sent to carriers."`
	Company     string `json:"company,omitempty" maxLength:"100" doc:"Company."`
	Address1    string `json:"address1" minLength:"1" maxLength:"100" example:"500 Main St" doc:"Street and number."`
	Address2    string `json:"address2,omitempty" maxLength:"100" doc:"Second line, such as a suite."`
	Address3    string `json:"address3,omitempty" maxLength:"100" doc:"Third line."`
	City        string `json:"city" minLength:"1" maxLength:"100" example:"Austin" doc:"City or town."`
	State       string `json:"state,omitempty" maxLength:"50" example:"TX" doc:"State or province, such as TX, US-TX or Texas. Required where the country's addresses need one."`
	Zip         string `json:"zip,omitempty" maxLength:"20" example:"78701" doc:"Postal code. Required except where the country has none."`
	Country     string `json:"country" minLength:"1" maxLength:"100" example:"US" doc:"ISO 3166-1 alpha-2 code, in upper or lower case."`
	Phone       string `json:"phone,omitempty" maxLength:"30" doc:"Phone number. It is returned as given and not sent to carriers."`
	Email       string `json:"email,omitempty" maxLength:"254" doc:"E-mail address. It is returned as given and not sent to carriers."`
	Residential *bool  `json:"residential,omitempty" doc:"Whether the address is residential. It is returned as given."`
	Type        string `json:"type,omitempty" enum:"business,consumer" doc:"How customs classifies the party. It is returned as given."`
}

type validateAddressRequest struct {
	Body struct {
		Address checkedAddressInput `json:"address" doc:"The address to validate."`
		Carrier string              `json:"carrier,omitempty" maxLength:"50" example:"usps" doc:"The carrier to ask. By default, the connected carrier that checks the country's addresses most precisely."`
	}
}

// addressCheck is the answer of POST /v1/addresses/validate.
type addressCheck struct {
	Verdict     string           `json:"verdict" enum:"valid,corrected,ambiguous,invalid,unknown" doc:"Whether parcels reach the address: valid; valid with the changes listed (corrected); one of the candidates (ambiguous); not an address (invalid); or nobody could check it (unknown)."`
	Address     checkedAddress   `json:"address" doc:"The address to use: as given, with the changes applied."`
	Changes     []addressChange  `json:"changes" doc:"What was corrected. Differences in letter case, punctuation and ZIP+4 are not listed."`
	Candidates  []checkedAddress `json:"candidates" doc:"Addresses that may be meant, the likeliest first."`
	Residential *bool            `json:"residential,omitempty" doc:"Whether the carrier considers the address residential, if it knows."`
	CheckedBy   string           `json:"checkedBy" example:"usps" doc:"The carrier that gave the verdict, or rules if no carrier could be asked."`
	Messages    []string         `json:"messages" doc:"Explanations, as text."`
}

// checkedAddress is an address as it is answered.
type checkedAddress struct {
	Name        string `json:"name,omitempty" doc:"Name of the person."`
	Company     string `json:"company,omitempty" doc:"Company."`
	Address1    string `json:"address1" doc:"Street and number."`
	Address2    string `json:"address2,omitempty" doc:"Second line."`
	Address3    string `json:"address3,omitempty" doc:"Third line."`
	City        string `json:"city" doc:"City or town."`
	State       string `json:"state,omitempty" doc:"State or province."`
	Zip         string `json:"zip,omitempty" doc:"Postal code."`
	Country     string `json:"country" doc:"ISO 3166-1 alpha-2 code."`
	Phone       string `json:"phone,omitempty" doc:"Phone number."`
	Email       string `json:"email,omitempty" doc:"E-mail address."`
	Residential *bool  `json:"residential,omitempty" doc:"Whether the address is residential, as given."`
	Type        string `json:"type,omitempty" doc:"How customs classifies the party, as given."`
}

type addressChange struct {
	Pointer string `json:"pointer" example:"/zip" doc:"JSON pointer into the address."`
	From    string `json:"from" doc:"As given; empty if it was missing."`
	To      string `json:"to" doc:"As it must be; empty if it must be left out."`
}

// validateAddress handles POST /v1/addresses/validate.
func (s *server) validateAddress(ctx context.Context, in *validateAddressRequest) (reply, error) {
	given := ship.Address(in.Body.Address)
	check, err := s.Addresses.Validate(ctx, addresscheck.Request{
		Tenant:  httpkit.From(ctx).Principal.Tenant,
		Address: given,
		Carrier: in.Body.Carrier,
	})
	if err != nil {
		return reply{}, err
	}

	out := addressCheck{
		Verdict:     string(check.Verdict),
		Address:     checkedAddress(check.Address),
		Changes:     []addressChange{},
		Candidates:  make([]checkedAddress, len(check.Candidates)),
		Residential: check.Residential,
		CheckedBy:   check.CheckedBy,
		Messages:    nonNil(check.Messages),
	}
	if check.Verdict == ship.AddressCorrected {
		for _, change := range given.ChangesTo(check.Address) {
			out.Changes = append(out.Changes, addressChange(change))
		}
	}
	for i, candidate := range check.Candidates {
		out.Candidates[i] = checkedAddress(candidate)
	}
	return jsonReply(http.StatusOK, out)
}
