package royalmail

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// refusalOf reads an error of either API. Click & Drop has three forms: one
// error, a list of errors about orders, and those of manifests.
func refusalOf(body []byte) ship.Refusal {
	var list []problem
	if json.Unmarshal(body, &list) == nil && len(list) > 0 {
		return list[0].refusal()
	}

	var one problem
	if json.Unmarshal(body, &one) != nil {
		return ship.Refusal{}
	}
	if len(one.Errors) > 0 {
		return one.Errors[0].refusal()
	}
	return one.refusal()
}

func (p problem) refusal() ship.Refusal {
	first := func(values ...string) string {
		for _, value := range values {
			if value != "" {
				return value
			}
		}
		return ""
	}
	message := first(p.Message, p.Description, p.ErrorDescription, p.MoreInformation, p.HTTPMessage)
	if p.Details != "" && p.Details != message {
		message = strings.TrimSuffix(message, ".") + ": " + p.Details
	}
	return ship.Refusal{Code: first(p.Code, p.ErrorCode, p.HTTPCode), Message: message}
}

// accountMessage is for an account that Royal Mail does not sell labels to.
const accountMessage = "Royal Mail does not print labels for this account over its API; it must be an Online Business Account (OBA)"

// isStatus reports whether an error began as an HTTP status.
func isStatus(err error, status int) bool { return errors.Is(err, carrierkit.Status(status)) }

// isDeclined reports whether Royal Mail said that it does not do what was asked,
// rather than not being able to answer.
func isDeclined(err error) bool {
	switch ship.KindOf(err) {
	case ship.Invalid, ship.NotFound:
		return true
	}
	return isStatus(err, http.StatusForbidden)
}

// explainAccount says what it means that the account may not print labels.
func explainAccount(err error) error {
	refused, ok := errors.AsType[*ship.Error](err)
	if !ok || !isStatus(err, http.StatusForbidden) {
		return err
	}
	explained := *refused
	explained.Message = accountMessage
	return &explained
}

// explainLabel is the error of a label whose order exists: whatever Royal Mail
// says, the purchase is not refused.
func explainLabel(err error) error {
	failed, ok := errors.AsType[*ship.Error](err)
	if !ok || failed.Kind != ship.Invalid && failed.Kind != ship.NotFound {
		return explainAccount(err)
	}
	unready := *failed
	unready.Kind = ship.Unavailable
	unready.Message = "Royal Mail has the order but has not printed its label yet"
	if saysNoPostage(failed.Refusal) {
		unready.Message = "Royal Mail has the order and has not applied postage to it: apply it in Click & Drop, or delete the order there, and " + postageHint
	}
	return &unready
}

// explainVoid says what a refused void means.
func explainVoid(err error) error {
	refused, ok := errors.AsType[*ship.Error](err)
	if !ok || refused.Kind != ship.Invalid {
		return err
	}
	explained := *refused
	explained.Message = "Royal Mail did not delete the order"
	return &explained
}

// explainTracking says what a refusal of the Tracking API means.
func explainTracking(err error) error {
	refused, ok := errors.AsType[*ship.Error](err)
	if !ok {
		return err
	}
	explained := *refused
	switch refused.Kind {
	case ship.Forbidden:
		explained.Message = "Royal Mail does not accept the tracking credentials of this connection; check that the application is subscribed to the Tracking API"
	case ship.NotFound:
		// Without one of Royal Mail's codes this says nothing about a parcel.
		explained.Kind = ship.Unavailable
		explained.Message = "the response did not come from Royal Mail; check the configured URL"
	}
	return &explained
}

// isAbsent reports whether the answer may mean that there is no such order: the
// status alone, or one of Royal Mail's texts.
func isAbsent(err error) bool {
	failed, ok := errors.AsType[*ship.Error](err)
	if !ok || failed.Kind != ship.Invalid && failed.Kind != ship.NotFound {
		return false
	}
	return isStatus(err, http.StatusNotFound) || saysNotFound(failed.Refusal)
}

// saysNotFound recognizes a refusal because there is no such order. Royal Mail
// does not publish its codes.
func saysNotFound(refusal ship.Refusal) bool {
	text := strings.ToLower(refusal.Code + " " + refusal.Message)
	return strings.Contains(text, "not found") || strings.Contains(text, "notfound") || strings.Contains(text, "does not exist")
}

// explainFailed says which fields of the order Royal Mail refused.
func explainFailed(failed []orderError, order ship.Order) error {
	var fields []ship.FieldError
	var texts []string
	code := ""
	for _, e := range failed {
		if e.Code != 0 && code == "" {
			code = strconv.Itoa(e.Code)
		}
		texts = append(texts, e.Message)
		for _, field := range e.Fields {
			if pointer := pointerOf(field.Name, order); pointer != "" {
				fields = append(fields, ship.FieldError{
					Pointer: pointer,
					Code:    "carrier_rejected",
					Detail:  "Royal Mail answered: " + e.Message,
				})
			}
		}
	}

	refused := ship.Error{
		Kind:    ship.Invalid,
		Message: "Royal Mail refused the order",
		Refusal: ship.Refusal{Code: code, Message: strings.Join(texts, "; ")},
	}
	if named, ok := errors.AsType[*ship.Error](carrierkit.InvalidOrder("Royal Mail", fields)); ok {
		refused.Message = named.Message
		refused.Fields = named.Fields
	}
	return &refused
}

// orderFields are the ends of Royal Mail's names of fields and our pointers.
var orderFields = []struct{ ends, pointer string }{
	{"address.postcode", "/destination/zip"},
	{"address.city", "/destination/city"},
	{"address.county", "/destination/state"},
	{"address.countrycode", "/destination/country"},
	{"address.fullname", "/destination/name"},
	{"address.companyname", "/destination/company"},
	{"address.addressline1", "/destination/address1"},
	{"address.addressline2", "/destination/address2"},
	{"address.addressline3", "/destination/address3"},
	{"phonenumber", "/destination/phone"},
	{"emailaddress", "/destination/email"},
	{"isrecipientabusiness", "/destination/type"},
	{"servicecode", "/service"},
	{"requestsignatureupondelivery", "/options/signature"},
	{"islocalcollect", "/options/holdAtLocation"},
	{"planneddespatchdate", "/shipDate"},
	{"iossnumber", "/customs/taxIdentifiers"},
	{"recipienteorinumber", "/customs/taxIdentifiers"},
	{"commercialinvoicenumber", "/customs/invoiceNumber"},
	{"customscode", "/customs/items"},
	{"customsdescription", "/customs/items"},
	{"unitvalue", "/customs/items"},
	{"origincountrycode", "/customs/items"},
}

// pointerOf returns our pointer to a field of Royal Mail's; empty if the client
// wrote none such.
func pointerOf(name string, order ship.Order) string {
	name = strings.ToLower(name)
	parcel := carrierkit.ParcelPointer(order, 0)
	switch {
	case strings.HasSuffix(name, "unitweightingrams"):
		return "/customs/items"
	case strings.HasSuffix(name, "weightingrams"):
		return parcel + "/weight"
	case strings.HasSuffix(name, "packageformatidentifier"):
		return parcel + "/packaging"
	case strings.HasSuffix(name, "inmms"):
		return parcel + "/dimensions"
	}
	for _, field := range orderFields {
		if strings.HasSuffix(name, field.ends) {
			return field.pointer
		}
	}
	return ""
}
