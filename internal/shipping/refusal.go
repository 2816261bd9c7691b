package shipping

import (
	"slices"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
)

// A carrierError is why a carrier did not quote or sell.
type carrierError struct {
	carrier string
	err     error
}

// isRefusal reports whether the carrier does not take the order, rather than
// not being able to answer.
func (c carrierError) isRefusal() bool {
	kind := ship.KindOf(c.err)
	return kind == ship.Invalid || kind == ship.Unsupported
}

// refusal is the answer when no carrier sold. The last one decides whether
// trying again can help; all that refused say why.
func (s *Service) refusal(failed []carrierError, parcel oneParcel) error {
	last := failed[len(failed)-1]
	e := asError(last.err)
	if e.Kind == ship.Internal {
		return last.err
	}
	if !last.isRefusal() {
		return &ship.Error{
			Kind:       ship.Unavailable,
			Code:       "carrier_unavailable",
			Message:    e.Message,
			Carrier:    e.Carrier,
			Refusal:    e.Refusal,
			RetryAfter: max(e.RetryAfter, 5*time.Second),
			Err:        last.err,
		}
	}

	out := &ship.Error{
		Kind:    ship.Invalid,
		Code:    "carrier_rejected",
		Carrier: e.Carrier,
		Refusal: e.Refusal,
		Err:     last.err,
	}
	refused := slices.DeleteFunc(slices.Clone(failed), func(c carrierError) bool { return !c.isRefusal() })
	var reasons []string
	for _, c := range refused {
		reason := s.reasonOf(c)
		if !slices.Contains(reasons, reason) {
			reasons = append(reasons, reason)
		}

		fields := fieldsOf(c, parcel)
		if len(fields) == 0 && len(refused) > 1 {
			fields = []ship.FieldError{{Code: "carrier_rejected", Detail: reason, Carrier: c.carrier}}
		}
		out.Fields = append(out.Fields, fields...)
	}
	out.Message = strings.Join(reasons, "; ")
	return out
}

// reasonOf is why a carrier failed, in words that name it.
func (s *Service) reasonOf(c carrierError) string {
	e := asError(c.err)
	reason := e.Message
	if words := e.Refusal.Message; words != "" && !strings.Contains(reason, words) {
		reason += ": " + words
	}

	title := s.titleOf(c.carrier)
	if !strings.Contains(reason, title) {
		reason = title + ": " + reason
	}
	return reason
}

// titleOf is a carrier's name as people know it.
func (s *Service) titleOf(name string) string {
	for _, c := range s.simulated {
		if c.Spec().Name == name {
			return c.Spec().Title
		}
	}
	return name
}

// fieldsOf are the fields that a carrier objects to.
func fieldsOf(c carrierError, parcel oneParcel) []ship.FieldError {
	fields := slices.Clone(asError(c.err).Fields)
	for i := range fields {
		fields[i].Carrier = c.carrier
		fields[i].Pointer = parcel.pointer(fields[i].Pointer)
	}
	return fields
}

// oneParcel says that the client sent its only parcel as "parcel", where
// carriers count parcels.
type oneParcel bool

// pointer is a carrier's pointer as the client would write it.
func (one oneParcel) pointer(counted string) string {
	if rest, ok := strings.CutPrefix(counted, "/parcels/0"); ok && bool(one) {
		return "/parcel" + rest
	}
	return counted
}

// failures are the carriers that did not quote.
func failures(got []asking) (list []carrierError) {
	for _, a := range got {
		if a.err != nil {
			list = append(list, carrierError{a.carrier, a.err})
		}
	}
	return list
}

// noOffer says why there is no rate: refused by all, or not to be had now.
func (s *Service) noOffer(got []asking, parcel oneParcel) error {
	failed := failures(got)
	if len(failed) == 0 {
		return ship.Coded(ship.Invalid, "no_rate", "no carrier offers this service for this shipment")
	}

	// One that may answer later is a reason to try again.
	i := slices.IndexFunc(failed, func(c carrierError) bool { return !c.isRefusal() })
	if i < 0 {
		first := failed[0]
		failed = append(failed[1:], first) // the first is the one that is named
		return s.refusal(failed, parcel)
	}
	e := asError(failed[i].err)
	return &ship.Error{
		Kind:       ship.Unavailable,
		Code:       "carrier_unavailable",
		Message:    "no carrier could quote at the moment: " + s.reasonOf(failed[i]),
		Carrier:    failed[i].carrier,
		RetryAfter: max(e.RetryAfter, 5*time.Second),
		Err:        failed[i].err,
	}
}
