package quoting

import (
	"slices"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/ship"
)

// failures are the carriers that did not quote.
func failures(got []asking) (list []carrier.Failure) {
	for _, a := range got {
		if a.err != nil {
			list = append(list, a.failure())
		}
	}
	return list
}

// missed are the carriers that did not quote, without their words.
func missed(failed []carrier.Failure) []ship.NotQuoted {
	now := time.Now()
	list := make([]ship.NotQuoted, 0, len(failed))
	for _, failure := range failed {
		list = append(list, failure.NotQuoted(now))
	}
	return list
}

// noOffer says why there is no rate of the named services, or of any if none
// are named: refused by all, or not to be had now.
func (s *Service) noOffer(got []asking, services []string, parcel carrier.OneParcel) error {
	failed := append(failures(got), unable(got, services)...)
	if len(failed) == 0 {
		return ship.Coded(ship.Invalid, "no_rate", "no carrier offers this service for this shipment")
	}

	// One that may answer later is a reason to try again.
	i := slices.IndexFunc(failed, func(f carrier.Failure) bool { return !f.IsRefusal() })
	if i < 0 {
		first := failed[0]
		failed = append(failed[1:], first) // the first is the one that is named
		return s.accounts.Refusal(failed, parcel)
	}
	e := ship.ErrorOf(failed[i].Err)
	return &ship.Error{
		Kind:       ship.Unavailable,
		Code:       "carrier_unavailable",
		Message:    "no carrier could quote at the moment: " + s.accounts.Reason(failed[i]),
		Carrier:    failed[i].Carrier,
		RetryAfter: max(e.RetryAfter, 5*time.Second),
		Err:        failed[i].Err,
	}
}

// unable are the carriers whose services cannot do what the order asks for,
// although the carrier quoted them.
func unable(got []asking, services []string) (list []carrier.Failure) {
	for _, a := range got {
		var invalid []ship.FieldError
		for _, removed := range a.removed {
			if len(services) > 0 && !slices.Contains(services, removed.Service) {
				continue
			}
			invalid = append(invalid, ship.FieldError{
				Pointer: removed.Extra.Pointer(),
				Code:    "unsupported",
				Detail:  removed.Message(),
			})
		}
		if len(invalid) == 0 {
			continue
		}

		refused := ship.Errorf(ship.Invalid, "%s", invalid[0].Detail)
		refused.Fields = invalid
		list = append(list, carrier.Failure{Carrier: a.carrier, Err: refused})
	}
	return list
}
