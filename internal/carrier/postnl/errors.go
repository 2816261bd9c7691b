package postnl

import (
	"cmp"
	"encoding/json"
	"errors"
	"strings"

	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// refusalOf reads an error of PostNL's. Each of its APIs has a form of its own,
// and the gateway before them has another.
func refusalOf(body []byte) ship.Refusal {
	var list []problem
	if json.Unmarshal(body, &list) == nil && len(list) > 0 {
		return list[0].refusal()
	}

	var answer struct {
		problem
		Errors    []problem `json:"Errors"` // also "errors"
		Shipments []struct {
			Errors []problem `json:"Errors"`
		} `json:"ResponseShipments"`
		Fault struct {
			Text   string `json:"faultstring"`
			Detail struct {
				Code string `json:"errorcode"`
			} `json:"detail"`
		} `json:"fault"`
	}
	if json.Unmarshal(body, &answer) != nil {
		return ship.Refusal{}
	}
	for _, shipment := range answer.Shipments {
		answer.Errors = append(answer.Errors, shipment.Errors...)
	}
	switch {
	case len(answer.Errors) > 0:
		return answer.Errors[0].refusal()
	case answer.Fault.Text != "":
		return ship.Refusal{Code: answer.Fault.Detail.Code, Message: answer.Fault.Text}
	}
	return answer.refusal()
}

func (p problem) refusal() ship.Refusal {
	return ship.Refusal{
		Code:    cmp.Or(p.Code, p.ErrorNumber),
		Message: cmp.Or(p.Description, p.ErrorMessage, p.Error, p.Message),
	}
}

// explain says which field of the order a refusal is about.
func explain(err error, order ship.Order) error {
	refused, ok := errors.AsType[*ship.Error](err)
	if !ok || refused.Kind != ship.Invalid {
		return err
	}

	explained := *refused
	pointer := pointerOf(refused.Refusal.Message, order)
	if pointer == "" {
		return &explained
	}
	named, ok := errors.AsType[*ship.Error](carrierkit.InvalidOrder("PostNL", []ship.FieldError{{
		Pointer: pointer,
		Code:    "carrier_rejected",
		Detail:  "PostNL answered: " + refused.Refusal.Message,
	}}))
	if ok {
		explained.Message = named.Message
		explained.Fields = named.Fields
	}
	return &explained
}

// orderWords are words of PostNL's refusals and the fields that they are about.
var orderWords = []struct{ word, pointer string }{
	{"sender", "/origin"},
	{"zipcode", "/destination/zip"},
	{"postal code", "/destination/zip"},
	{"housenr", "/destination/address1"},
	{"house number", "/destination/address1"},
	{"street", "/destination/address1"},
	{"city", "/destination/city"},
	{"countrycode", "/destination/country"},
	{"address", "/destination"},
	{"product code", "/service"},
	{"productcode", "/service"},
	{"amount", "/options/insuredValue"},
	{"email", "/destination/email"},
}

// pointerOf returns our pointer to what a refusal is about; empty if it names
// nothing that the client wrote.
func pointerOf(text string, order ship.Order) string {
	text = strings.ToLower(text)
	if strings.Contains(text, "weight") {
		return carrierkit.ParcelPointer(order, 0) + "/weight"
	}
	if strings.Contains(text, "dimension") {
		return carrierkit.ParcelPointer(order, 0) + "/dimensions"
	}
	for _, known := range orderWords {
		if strings.Contains(text, known.word) {
			return known.pointer
		}
	}
	return ""
}

// explainBarcode says what it means that no barcode was drawn: nothing about the
// order is in that request.
func explainBarcode(err error) error {
	refused, ok := errors.AsType[*ship.Error](err)
	if !ok {
		return err
	}
	explained := *refused
	switch refused.Kind {
	case ship.Invalid:
		explained.Message = "PostNL does not issue barcodes for the customer code and number of this connection"
	case ship.NotFound:
		explained.Kind = ship.Unavailable
		explained.Message = "the response did not come from PostNL; check the configured URL"
	}
	return &explained
}

// explainLabel is the error of a label whose parcel exists: whatever PostNL says,
// the purchase is not refused.
func explainLabel(err error) error {
	failed, ok := errors.AsType[*ship.Error](err)
	if !ok || failed.Kind != ship.Invalid {
		return explainStatus(err)
	}
	unready := *failed
	unready.Kind = ship.Unavailable
	unready.Message = "PostNL has the parcel but did not return its label"
	return &unready
}

// explainStatus says what a refusal of the status API means. It never answers 404
// about a parcel.
func explainStatus(err error) error {
	failed, ok := errors.AsType[*ship.Error](err)
	if !ok || failed.Kind != ship.NotFound {
		return err
	}
	elsewhere := *failed
	elsewhere.Kind = ship.Unavailable
	elsewhere.Message = "the response did not come from PostNL; check the configured URL"
	return &elsewhere
}
