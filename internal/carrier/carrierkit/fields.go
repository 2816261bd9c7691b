package carrierkit

import (
	"fmt"
	"slices"
	"strings"

	"github.com/waybillhq/waybill/internal/ship"
)

// InvalidOrder is the error for an order that a carrier does not take, nil if
// no field is invalid. Every detail becomes a sentence that names
// the carrier or the field, and the message is all of them.
func InvalidOrder(carrier string, fields []ship.FieldError) error {
	if len(fields) == 0 {
		return nil
	}

	fields = slices.Clone(fields)
	details := make([]string, len(fields))
	for i := range fields {
		fields[i].Detail = sentence(carrier, fields[i])
		details[i] = fields[i].Detail
	}
	return &ship.Error{
		Kind:    ship.Invalid,
		Code:    "validation_failed",
		Message: strings.TrimSuffix(strings.Join(details, " "), "."),
		Fields:  fields,
	}
}

// sentence completes a detail. Those that say what a field is ("is longer than
// the 45 characters that the carrier prints") get the field as their subject.
func sentence(carrier string, field ship.FieldError) string {
	text := field.Detail
	for _, verb := range []string{"is ", "has ", "must "} {
		if strings.HasPrefix(text, verb) {
			text = fieldName(field.Pointer) + " " + text
			break
		}
	}

	// Shared checks do not know which carrier they check for.
	text = strings.Replace(text, "the carrier", carrier, 1)
	if !strings.HasSuffix(text, ".") {
		text += "."
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

// fieldNames are the fields of an address as people call them.
var fieldNames = map[string]string{
	"name":     "name",
	"company":  "company",
	"address1": "street",
	"address2": "second address line",
	"address3": "third address line",
	"city":     "city",
	"state":    "state",
	"zip":      "postal code",
	"country":  "country",
	"phone":    "phone number",
	"email":    "e-mail address",
}

// fieldName returns a field in words: "the recipient's city" for
// "/destination/city", the field's own name for others.
func fieldName(pointer string) string {
	parts := strings.Split(strings.TrimPrefix(pointer, "/"), "/")
	last := parts[len(parts)-1]

	switch name := fieldNames[last]; {
	case name != "" && parts[0] == "origin":
		return "The sender's " + name
	case name != "" && parts[0] == "destination":
		return "The recipient's " + name
	}
	return fmt.Sprintf("%q", strings.Join(parts, "."))
}

// PartyName returns what people call the party of an address by its pointer.
func PartyName(pointer string) string {
	if pointer == "/origin" {
		return "the sender"
	}
	return "the recipient"
}

// ParcelPointer returns where a client writes the i-th parcel of an order:
// "parcel" if there is only one.
func ParcelPointer(order ship.Order, i int) string {
	if len(order.Parcels) == 1 {
		return "/parcel"
	}
	return fmt.Sprintf("/parcels/%d", i)
}
