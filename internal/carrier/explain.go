package carrier

import (
	"cmp"
	"context"
	"encoding/xml"
	"errors"
	"net/url"
	"slices"
	"strings"

	"github.com/waybillhq/waybill/internal/ship"
)

func (c *Carrier) errorf(kind ship.Kind, format string, args ...any) error {
	failure := ship.Errorf(kind, format, args...)
	failure.Carrier = c.spec.Name
	return failure
}

// explain turns any error of the driver into a *ship.Error of this carrier,
// without secrets. lost is the kind of an answer that never came: for an
// effect ship.Uncertain, for a read ship.Unavailable.
func (c *Carrier) explain(err error, lost ship.Kind) error {
	if err == nil {
		return nil
	}

	var failure ship.Error
	if known, ok := errors.AsType[*ship.Error](err); ok {
		failure = *known // the driver may return the same error to all its callers
	} else {
		failure = c.classify(err, lost)
	}
	failure.Carrier = c.spec.Name
	if failure.Message == ship.InvalidFieldsMessage {
		failure.Message = c.sentences(failure.Fields)
	}

	// Carriers repeat parts of the request, and an error reaches clients and
	// logs.
	failure.Message = c.redact(failure.Message)
	failure.Refusal.Code = c.redact(failure.Refusal.Code)
	failure.Refusal.Message = c.redact(failure.Refusal.Message)
	failure.Fields = slices.Clone(failure.Fields)
	for i := range failure.Fields {
		failure.Fields[i].Detail = plain(c.redact(failure.Fields[i].Detail))
	}
	plainTexts(&failure.Code, &failure.Message, &failure.Refusal.Code, &failure.Refusal.Message)
	if failure.Err != nil {
		if text := failure.Err.Error(); c.redact(text) != text {
			failure.Err = errors.New(c.redact(text))
		}
	}
	return &failure
}

// sentences describes the invalid fields in words that name the carrier: "DHL
// Express needs the sender's phone number".
func (c *Carrier) sentences(fields []ship.FieldError) string {
	var list []string
	for _, field := range fields {
		switch {
		case strings.Contains(field.Detail, c.spec.Title):
			list = append(list, field.Detail)
		case field.Code == "required":
			list = append(list, c.spec.Title+" needs "+fieldName(field.Pointer))
		default:
			list = append(list, c.spec.Title+" does not accept "+fieldName(field.Pointer)+": "+field.Detail)
		}
	}
	return strings.Join(list, "; ")
}

// fieldNames are the fields of addresses and parcels as people call them.
var fieldNames = map[string]string{
	"address1": "street",
	"address2": "second address line",
	"address3": "third address line",
	"zip":      "postal code",
	"phone":    "phone number",
	"email":    "e-mail address",
}

// fieldName returns the field of a pointer in words.
func fieldName(pointer string) string {
	parts := strings.Split(strings.TrimPrefix(pointer, "/"), "/")
	last := parts[len(parts)-1]
	name := cmp.Or(fieldNames[last], last)

	switch parts[0] {
	case "origin":
		return "the sender's " + name
	case "destination":
		return "the recipient's " + name
	}
	return strings.Join(parts, ".")
}

// classify gives an error that the driver did not understand its kind.
func (c *Carrier) classify(err error, lost ship.Kind) ship.Error {
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return ship.Error{Kind: lost, Message: c.spec.Title + " did not answer in time", Err: err}
	case lost == ship.Uncertain:
		// Whether or not this is our bug, money may have been spent.
		return ship.Error{Kind: ship.Uncertain, Message: c.spec.Title + " sent a response that could not be understood", Err: err}
	}
	return ship.Error{Kind: ship.Internal, Message: "the " + c.spec.Title + " driver failed", Err: err}
}

// redact replaces every secret in text, also one that is a parameter of a URL or
// a part of an XML document, and of one in the other.
func (c *Carrier) redact(text string) string {
	for _, secret := range c.secrets {
		// An empty one would be found between any two characters.
		if secret == "" {
			continue
		}
		for _, form := range []string{secret, escapeXML(secret)} {
			text = strings.ReplaceAll(text, form, "[secret]")
			text = strings.ReplaceAll(text, url.QueryEscape(form), "[secret]")
		}
	}
	return text
}

// escapeXML returns a text as an XML document has it.
func escapeXML(text string) string {
	var escaped strings.Builder
	_ = xml.EscapeText(&escaped, []byte(text)) // a builder takes everything
	return escaped.String()
}
