package carrier

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/waybillhq/waybill/internal/ship"
)

func (c *Carrier) errorf(kind ship.Kind, format string, args ...any) error {
	e := ship.Errorf(kind, format, args...)
	e.Carrier = c.spec.Name
	return e
}

// explain turns any error of the driver into a *ship.Error of this carrier,
// without secrets. lost is the kind of an answer that never came: for an
// effect ship.Uncertain, for a read ship.Unavailable.
func (c *Carrier) explain(err error, lost ship.Kind) error {
	if err == nil {
		return nil
	}
	var e ship.Error
	if known, ok := errors.AsType[*ship.Error](err); ok {
		e = *known // the driver may return the same error to all its callers
	} else {
		e = c.classify(err, lost)
	}
	e.Carrier = c.spec.Name
	if e.Message == ship.InvalidFieldsMessage {
		e.Message = c.sentences(e.Fields)
	}
	e.Message = c.redact(e.Message)
	e.Refusal.Code = c.redact(e.Refusal.Code)
	e.Refusal.Message = c.redact(e.Refusal.Message)
	e.Fields = slices.Clone(e.Fields)
	for i := range e.Fields {
		e.Fields[i].Detail = c.redact(e.Fields[i].Detail)
	}
	if e.Err != nil {
		if text := e.Err.Error(); c.redact(text) != text {
			e.Err = errors.New(c.redact(text))
		}
	}
	return &e
}

// sentences says what is wrong with the fields in words that name the carrier:
// "DHL Express needs the sender's phone number".
func (c *Carrier) sentences(fields []ship.FieldError) string {
	var list []string
	for _, f := range fields {
		switch {
		case strings.Contains(f.Detail, c.spec.Title):
			list = append(list, f.Detail)
		case f.Code == "required":
			list = append(list, c.spec.Title+" needs "+fieldName(f.Pointer))
		default:
			list = append(list, c.spec.Title+" does not accept "+fieldName(f.Pointer)+": "+f.Detail)
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

// fieldName is the field of a pointer in words.
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

// classify judges an error that the driver did not understand.
func (c *Carrier) classify(err error, lost ship.Kind) ship.Error {
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return ship.Error{Kind: lost, Message: c.spec.Title + " did not answer in time", Err: err}
	case lost == ship.Uncertain:
		// Our bug or not, money may be spent.
		return ship.Error{Kind: ship.Uncertain, Message: c.spec.Title + " answered in a way that was not understood", Err: err}
	}
	return ship.Error{Kind: ship.Internal, Message: "the " + c.spec.Title + " driver failed", Err: err}
}

// redact replaces every secret in text.
func (c *Carrier) redact(text string) string {
	for _, s := range c.secrets {
		text = strings.ReplaceAll(text, s, "[secret]")
	}
	return text
}
