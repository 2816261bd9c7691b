package carrier

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
)

// A Failure is why a carrier did not quote, sell or void.
type Failure struct {
	Carrier    string
	Connection ship.ConnectionID // empty where it does not matter
	Err        error
}

// ErrCircuitOpen is the cause of an error about a carrier that was not asked,
// because it did not answer before.
var ErrCircuitOpen = errors.New("the circuit breaker is open")

// IsRefusal reports whether the carrier does not take the order, rather than
// not being able to answer.
func (f Failure) IsRefusal() bool {
	kind := ship.KindOf(f.Err)
	return kind == ship.Invalid || kind == ship.Unsupported
}

// NotQuoted says why the carrier gave no rate, without its own words.
func (f Failure) NotQuoted(now time.Time) ship.NotQuoted {
	failure := ship.ErrorOf(f.Err)
	missed := ship.NotQuoted{Carrier: f.Carrier, Connection: f.Connection, Reason: f.reason()}
	if missed.Reason.IsTemporary() && failure.RetryAfter > 0 {
		missed.RetryAt = now.Add(failure.RetryAfter).UTC().Truncate(time.Second)
	}
	if missed.Reason == ship.NotQuotedIncomplete {
		for _, field := range failure.Fields {
			missed.Fields = append(missed.Fields, field.Pointer)
		}
	}
	return missed
}

// reason is why the carrier gave no rate.
func (f Failure) reason() ship.NotQuotedReason {
	failure := ship.ErrorOf(f.Err)
	isIncomplete := len(failure.Fields) > 0 && !slices.ContainsFunc(failure.Fields, func(field ship.FieldError) bool {
		return field.Code != "required"
	})

	switch {
	case f.IsRefusal() && isIncomplete:
		return ship.NotQuotedIncomplete
	case f.IsRefusal():
		return ship.NotQuotedRefused
	case failure.Kind == ship.Limited:
		return ship.NotQuotedLimited
	case failure.Kind == ship.Forbidden:
		return ship.NotQuotedCredentials
	case errors.Is(f.Err, ErrCircuitOpen):
		return ship.NotQuotedPaused
	case errors.Is(f.Err, context.DeadlineExceeded):
		return ship.NotQuotedTimeout
	}
	return ship.NotQuotedUnavailable
}

// Code returns the failure's code for clients.
func (f Failure) Code() string {
	if f.IsRefusal() {
		return "carrier_rejected"
	}
	return "carrier_unavailable"
}

// Fields returns the fields that the carrier objects to, as the client wrote
// them.
func (f Failure) Fields(parcel OneParcel) []ship.FieldError {
	fields := slices.Clone(ship.ErrorOf(f.Err).Fields)
	for i := range fields {
		fields[i].Carrier = f.Carrier
		fields[i].Pointer = parcel.pointer(fields[i].Pointer)
	}
	return fields
}

// OneParcel says that the client sent its only parcel as "parcel", where
// carriers count parcels.
type OneParcel bool

// pointer returns a carrier's pointer as the client would write it.
func (one OneParcel) pointer(counted string) string {
	if rest, ok := strings.CutPrefix(counted, "/parcels/0"); ok && bool(one) {
		return "/parcel" + rest
	}
	return counted
}

// Reason returns why a carrier failed, in words that name it.
func (a Accounts) Reason(f Failure) string {
	e := ship.ErrorOf(f.Err)
	reason := e.Message
	if words := e.Refusal.Message; words != "" && !strings.Contains(reason, words) {
		reason += ": " + words
	}

	title := a.Title(f.Carrier)
	if !strings.Contains(reason, title) {
		reason = title + ": " + reason
	}
	return reason
}

// Refusal is the answer to the client when no carrier sold. The last failure
// decides whether trying again can help; all that refused say why.
func (a Accounts) Refusal(failed []Failure, parcel OneParcel) error {
	last := failed[len(failed)-1]
	e := ship.ErrorOf(last.Err)
	if e.Kind == ship.Internal {
		return last.Err
	}
	if !last.IsRefusal() {
		return &ship.Error{
			Kind:       ship.Unavailable,
			Code:       "carrier_unavailable",
			Message:    e.Message,
			Carrier:    e.Carrier,
			Refusal:    e.Refusal,
			RetryAfter: max(e.RetryAfter, 5*time.Second),
			Err:        last.Err,
		}
	}

	out := &ship.Error{
		Kind:    ship.Invalid,
		Code:    "carrier_rejected",
		Carrier: e.Carrier,
		Refusal: e.Refusal,
		Err:     last.Err,
	}
	refused := slices.DeleteFunc(slices.Clone(failed), func(f Failure) bool { return !f.IsRefusal() })
	var reasons []string
	for _, f := range refused {
		reason := a.Reason(f)
		if !slices.Contains(reasons, reason) {
			reasons = append(reasons, reason)
		}

		fields := f.Fields(parcel)
		if len(fields) == 0 && len(refused) > 1 {
			fields = []ship.FieldError{{Code: "carrier_rejected", Detail: reason, Carrier: f.Carrier}}
		}
		out.Fields = append(out.Fields, fields...)
	}
	out.Message = strings.Join(reasons, "; ")
	return out
}
