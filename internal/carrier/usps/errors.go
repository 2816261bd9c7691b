package usps

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// refusalOf reads the three shapes of an error: that of the APIs, that of OAuth
// and that of the gateway in front of them.
func refusalOf(body []byte) ship.Refusal {
	var answer errorAnswer
	if json.Unmarshal(body, &answer) != nil {
		return ship.Refusal{}
	}
	if answer.Fault != nil {
		return ship.Refusal{
			Code:    string(answer.Fault.Detail.Code),
			Message: string(answer.Fault.Message),
		}
	}

	var problem apiError
	if json.Unmarshal(answer.Error, &problem) != nil {
		var code string
		_ = json.Unmarshal(answer.Error, &code) // neither shape: no code
		return ship.Refusal{Code: code, Message: answer.Description}
	}

	// The list of errors is more precise than the summary above it.
	refusal := ship.Refusal{Code: string(problem.Code), Message: string(problem.Message)}
	if len(problem.Errors) > 0 {
		first := problem.Errors[0]
		if first.Code != "" {
			refusal.Code = string(first.Code)
		}
		if words := first.words(); words != "" {
			refusal.Message = words
		}
	}
	return refusal
}

// explain gives a refusal the advice that its code calls for, and the fields of
// the order that it is about.
func explain(err error, parameters []string) error {
	return withFields(withAdvice(err), parameters)
}

// withAdvice adds what can be done about a refusal.
func withAdvice(err error) error {
	refused, ok := errors.AsType[*ship.Error](err)
	if !ok || refused.Kind != ship.Invalid && refused.Kind != ship.Forbidden {
		return err
	}

	explained := *refused
	if known, ok := adviceBy[refused.Refusal.Code]; ok {
		explained.Kind = known.kind
		explained.Message = known.message
		return &explained
	}

	// An app that lacks a product is declined in one of these two forms.
	message := strings.ToLower(refused.Refusal.Message)
	if refused.Refusal.Code == "invalid_oauth_scope" || strings.Contains(message, "client application identifier is invalid") {
		explained.Kind = ship.Forbidden
		explained.Message = "the USPS app lacks a product that this call needs: request it on developers.usps.com"
		return &explained
	}
	return err
}

// advice is what to do about a refusal that no change of the order resolves.
type advice struct {
	kind    ship.Kind
	message string
}

const (
	notEnrolled = "the USPS account is not set up to buy labels: enroll the CRID and the mailer ID in USPS Ship in the Business Customer Gateway"
	noReturns   = "the USPS account is not set up for return labels: enroll the CRID and the mailer ID in USPS Ship Returns in the Business Customer Gateway"
	wrongRoles  = "USPS does not accept the CRID, the mailer IDs and the payment account together: check them under Carriers"
	noMethod    = "the USPS payment account cannot pay: activate it and its payment method in the Enterprise Payment System"
	noFunds     = "the USPS payment account was declined: add funds or check the card in the Enterprise Payment System"
)

// adviceBy holds the codes of an account that is not set up, has no money, or
// cannot be checked for now.
var adviceBy = map[string]advice{
	"100001": {ship.Forbidden, "USPS does not know the payment account: check the EPS account number under Carriers"},
	"100002": {ship.Forbidden, noMethod},
	"100003": {ship.Forbidden, noMethod},
	"100004": {ship.Forbidden, noMethod},
	"100005": {ship.Unavailable, "USPS cannot validate the credit card of the payment account right now; try again later"},
	"100006": {ship.Forbidden, noFunds},
	"100007": {ship.Forbidden, noFunds},
	"160173": {ship.Forbidden, "USPS must configure the company name of the manifest mailer ID: ask USPS support for the indicia company name"},
	"160218": {ship.Forbidden, wrongRoles},
	"160219": {ship.Forbidden, wrongRoles},
	"160220": {ship.Forbidden, wrongRoles},
	"160221": {ship.Forbidden, wrongRoles},
	"160222": {ship.Forbidden, wrongRoles},
	"160223": {ship.Forbidden, wrongRoles},
	"160224": {ship.Forbidden, wrongRoles},
	"160225": {ship.Forbidden, wrongRoles},
	"160226": {ship.Forbidden, wrongRoles},
	"160227": {ship.Forbidden, wrongRoles},
	"160228": {ship.Forbidden, wrongRoles},
	"160229": {ship.Forbidden, wrongRoles},
	"160254": {ship.Forbidden, wrongRoles},
	"160289": {ship.Forbidden, wrongRoles},
	"160290": {ship.Forbidden, wrongRoles},
	"160372": {ship.Forbidden, wrongRoles},
	"160390": {ship.Forbidden, wrongRoles},
	"160302": {ship.Forbidden, notEnrolled},
	"160303": {ship.Forbidden, noReturns},
	"160304": {ship.Forbidden, noReturns},
	"160305": {ship.Forbidden, notEnrolled},
	"160187": {ship.Invalid, "USPS does not cancel return labels; one that is not used is not charged"},
	"160212": {ship.Invalid, "USPS has no contract with this account for the mail class; set the price type of the connection to commercial, or choose another service"},
	"160255": {ship.Invalid, "USPS has no contract with this account for the mail class; set the price type of the connection to commercial, or choose another service"},
}

// withFields points from the refusal of an order into our own request.
func withFields(err error, parameters []string) error {
	refused, ok := errors.AsType[*ship.Error](err)
	if !ok || refused.Kind != ship.Invalid || refused.Refusal.Message == "" {
		return err
	}

	var fields []ship.FieldError
	for _, name := range parameters {
		pointer := pointerOf(name)
		if pointer == "" || slices.ContainsFunc(fields, func(f ship.FieldError) bool { return f.Pointer == pointer }) {
			continue
		}
		fields = append(fields, ship.FieldError{
			Pointer: pointer,
			Code:    "carrier_rejected",
			Detail:  "USPS answered: " + strings.TrimPrefix(refused.Refusal.Message, "OASValidation: "),
		})
	}
	named, ok := errors.AsType[*ship.Error](carrierkit.InvalidOrder("USPS", fields))
	if !ok {
		return err
	}

	explained := *refused
	explained.Fields = named.Fields
	if _, known := adviceBy[refused.Refusal.Code]; !known {
		explained.Message = strings.TrimSuffix(named.Fields[0].Detail, ".")
	}
	return &explained
}

// parametersOf returns the parts of the request that an error of the APIs is
// about.
func parametersOf(body []byte) []string {
	var answer errorAnswer
	var problem apiError
	if json.Unmarshal(body, &answer) != nil || json.Unmarshal(answer.Error, &problem) != nil {
		return nil
	}

	var list []string
	for _, item := range problem.Errors {
		for name := range strings.SplitSeq(item.parameter(), ",") {
			list = append(list, strings.TrimSpace(name))
		}
	}
	return list
}

// pointerOf returns our name of a part of USPS's request, "toAddress.ZIPCode";
// empty for one that the client did not write.
func pointerOf(parameter string) string {
	parts := strings.FieldsFunc(parameter, func(r rune) bool { return r == '.' || r == '/' || r == '[' || r == ']' })
	if len(parts) == 0 {
		return ""
	}

	last := parts[len(parts)-1]
	switch parts[0] {
	case "toAddress":
		return "/destination" + addressFields[last]
	case "fromAddress":
		return "/origin" + addressFields[last]
	case "pickupAddress":
		return "/address" + addressFields[last]
	}

	if pointer, ok := parameterPointers[last]; ok {
		return pointer
	}
	return parameterPointers[parts[0]]
}

// addressFields are the members of USPS's addresses.
var addressFields = map[string]string{
	"firstName":            "/name",
	"lastName":             "/name",
	"firm":                 "/company",
	"streetAddress":        "/address1",
	"secondaryAddress":     "/address2",
	"city":                 "/city",
	"state":                "/state",
	"province":             "/state",
	"ZIPCode":              "/zip",
	"postalCode":           "/zip",
	"phone":                "/phone",
	"cellNumber":           "/phone",
	"email":                "/email",
	"country":              "/country",
	"countryISOAlpha2Code": "/country",
}

// parameterPointers are the other members of USPS's requests.
var parameterPointers = map[string]string{
	"originZIPCode":          "/origin/zip",
	"destinationZIPCode":     "/destination/zip",
	"foreignPostalCode":      "/destination/zip",
	"destinationCountryCode": "/destination/country",
	"weight":                 "/parcel/weight",
	"length":                 "/parcel/dimensions",
	"width":                  "/parcel/dimensions",
	"height":                 "/parcel/dimensions",
	"packagingType":          "/parcel/packaging",
	"rateIndicator":          "/service",
	"mailClass":              "/service",
	"mailingDate":            "/shipDate",
	"extraServices":          "/options",
	"packageOptions":         "/options/insuredValue",
	"packageValue":           "/options/insuredValue",
	"customerReference":      "/orderId",
	"customsForm":            "/customs",
	"AESITN":                 "/customs",
	"contents":               "/customs/items",
	"itemDescription":        "/customs/items",
	"countryOfOrigin":        "/customs/items",
	"HSTariffNumber":         "/customs/items",
	"importersReference":     "/customs/taxIdentifiers",
	"exportersReference":     "/customs/taxIdentifiers",
	"pickupDate":             "/window",
	"packages":               "/parcels",
	"packageType":            "/parcels",
	"packageCount":           "/parcels",
	"pickupLocation":         "/instructions",
	"specialInstructions":    "/instructions",
}

// isRefusedWith reports whether the carrier declined with one of the codes.
// What has a space in it is not a code but a part of the message.
func isRefusedWith(err error, codes ...string) bool {
	refused, ok := errors.AsType[*ship.Error](err)
	if !ok || refused.Kind != ship.Invalid {
		return false
	}

	message := strings.ToLower(refused.Refusal.Message)
	return slices.ContainsFunc(codes, func(code string) bool {
		return refused.Refusal.Code == code || strings.Contains(code, " ") && strings.Contains(message, code)
	})
}
