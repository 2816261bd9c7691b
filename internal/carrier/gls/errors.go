package gls

import (
	"encoding/json"
	"errors"
	"net/http"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// refusalOf reads an error: ShipIT puts the reason into a header and leaves the
// body empty, and the gateway and the tracking API have bodies of JSON.
func refusalOf(header http.Header, body []byte) ship.Refusal {
	if message := printable(header.Get("message")); message != "" {
		return ship.Refusal{Code: printable(header.Get("error")), Message: message}
	}

	var answer errorAnswer
	if json.Unmarshal(body, &answer) != nil {
		return ship.Refusal{}
	}
	switch {
	case len(answer.Errors) > 0:
		first := answer.Errors[0]
		return ship.Refusal{Code: string(first.Code), Message: first.Message}
	case answer.Fault.Text != "":
		return ship.Refusal{Code: answer.Fault.Detail.Code, Message: answer.Fault.Text}
	}
	message := answer.Title
	if answer.Detail != "" && answer.Detail != answer.Title {
		message = strings.TrimPrefix(message+": "+answer.Detail, ": ")
	}
	return ship.Refusal{Code: string(answer.Status), Message: message}
}

// printable returns the value of a header as text: it may be Latin-1, and come
// from anywhere.
func printable(value string) string {
	const longest = 300

	if !utf8.ValidString(value) {
		letters := make([]rune, 0, len(value))
		for i := range len(value) {
			letters = append(letters, rune(value[i])) // of Latin-1, bytes are code points
		}
		value = string(letters)
	}
	value = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return -1
		}
		return r
	}, value)
	letters := []rune(strings.TrimSpace(value))
	return string(letters[:min(len(letters), longest)])
}

// explain says which fields of the order a refusal is about, or that it is about
// the connection.
func explain(err error, order ship.Order) error {
	declined, ok := errors.AsType[*ship.Error](err)
	if !ok || declined.Kind != ship.Invalid {
		return err
	}

	refused := *declined
	words := refused.Refusal.Code + " " + refused.Refusal.Message
	if strings.Contains(words, "ContactID") || strings.Contains(words, "CONTACT_ID") {
		refused.Kind = ship.Forbidden
		refused.Message = "GLS does not accept the contact ID of this connection; check it under Carriers"
		return &refused
	}

	for _, known := range mentions {
		if !known.words.MatchString(words) {
			continue
		}
		pointer := known.pointer
		if pointer == "/parcel/weight" {
			pointer = carrierkit.ParcelPointer(order, 0) + "/weight"
		}
		field := ship.FieldError{
			Pointer: pointer,
			Code:    "carrier_rejected",
			Detail:  "GLS answered: " + refused.Refusal.Message,
		}
		if named, ok := errors.AsType[*ship.Error](carrierkit.InvalidOrder(title, []ship.FieldError{field})); ok {
			refused.Message = named.Message
			refused.Fields = named.Fields
		}
		break
	}
	return &refused
}

// mentions are how GLS's rules name the parts of a shipment. GLS publishes no
// list of them.
var mentions = []struct {
	words   *regexp.Regexp
	pointer string
}{
	{regexp.MustCompile(`(?i)zip_?code`), "/destination/zip"},
	{regexp.MustCompile(`(?i)\bcity\b|_CITY`), "/destination/city"},
	{regexp.MustCompile(`(?i)\bstreet\b|_STREET`), "/destination/address1"},
	{regexp.MustCompile(`(?i)weight`), "/parcel/weight"},
	{regexp.MustCompile(`(?i)parcel_?shop`), "/destination/servicePoint"},
	{regexp.MustCompile(`(?i)shipping_?date`), "/shipDate"},
	{regexp.MustCompile(`(?i)service|product`), "/service"},
}
