package quoting

import (
	"slices"
	"strings"

	"github.com/waybillhq/waybill/internal/ship"
)

// agreesWith reports, as one error, every field of the request that contradicts
// the rate that it names. A purchase that the client limited in two ways must
// meet both.
func (in *Request) agreesWith(rate ship.Rate) error {
	if !in.MaxAmount.IsZero() && in.MaxAmount.Currency != rate.Price.Currency {
		return currencyMismatch(in.MaxAmount, []string{rate.Price.Currency})
	}

	var fields []ship.FieldError
	contradicts := func(pointer, detail string) {
		fields = append(fields, ship.FieldError{Pointer: pointer, Code: "rate_mismatch", Detail: detail})
	}
	if in.Carrier != "" && in.Carrier != rate.Carrier {
		contradicts("/carrier", "the rate is from "+rate.Carrier)
	}
	if in.Service != "" && in.Service != rate.Service {
		contradicts("/service", "the rate is for the service "+rate.Service)
	}
	if in.Connection != "" && in.Connection != rate.Connection {
		contradicts("/connectionId", "the rate is from another carrier account")
	}
	if !in.MaxAmount.IsZero() && rate.Price.Exceeds(in.MaxAmount, 0) {
		contradicts("/maxAmount", "the rate costs "+rate.Price.String()+", more than the limit of "+in.MaxAmount.String())
	}
	if deliverBy := in.Order.DeliverBy; deliverBy != "" && !arrivesBy(rate, deliverBy) {
		contradicts("/deliverBy", arrival(rate))
	}
	if len(fields) == 0 {
		return nil
	}

	return &ship.Error{
		Kind:    ship.Invalid,
		Code:    "rate_mismatch",
		Message: "the request contradicts its rateId; nothing was bought. Omit the fields listed in errors, or choose another rate",
		Fields:  fields,
	}
}

// atMost returns the offers that cost no more than the limit. The rates are not
// modified.
func atMost(rates []ship.Rate, limit ship.Money) (list []ship.Rate) {
	for _, rate := range rates {
		if rate.Price.Currency == limit.Currency && !rate.Price.Exceeds(limit, 0) {
			list = append(list, rate)
		}
	}
	return list
}

// arrivesBy reports whether the rate promises delivery by a day. A rate without
// a date promises nothing.
func arrivesBy(rate ship.Rate, day ship.Date) bool {
	return !rate.DeliveryAt.IsZero() && ship.DateOf(rate.DeliveryAt) <= day
}

func arrival(rate ship.Rate) string {
	if rate.DeliveryAt.IsZero() {
		return "the rate has no delivery date"
	}
	return "the rate arrives on " + string(ship.DateOf(rate.DeliveryAt))
}

// unmetLimits says which of the client's limits no offer meets. It is nil if an
// offer meets them all.
func unmetLimits(rates []ship.Rate, deliverBy ship.Date, limit ship.Money) error {
	var currencies []string
	var cheapest, earliest, cheapestInTime *ship.Rate
	comparable := false
	for i := range rates {
		rate := &rates[i]
		currencies = append(currencies, rate.Price.Currency)
		inTime := deliverBy == "" || arrivesBy(*rate, deliverBy)
		if !rate.DeliveryAt.IsZero() && (earliest == nil || rate.DeliveryAt.Before(earliest.DeliveryAt)) {
			earliest = rate
		}
		if !limit.IsZero() && rate.Price.Currency != limit.Currency {
			continue
		}

		comparable = true
		if inTime && (limit.IsZero() || !rate.Price.Exceeds(limit, 0)) {
			return nil
		}
		if cheapest == nil || rate.Price.Minor < cheapest.Price.Minor {
			cheapest = rate
		}
		if inTime && (cheapestInTime == nil || rate.Price.Minor < cheapestInTime.Price.Minor) {
			cheapestInTime = rate
		}
	}
	if !comparable && !limit.IsZero() {
		return currencyMismatch(limit, currencies)
	}

	var fields []ship.FieldError
	var reasons []string
	unmet := func(pointer, code, detail string) {
		fields = append(fields, ship.FieldError{Pointer: pointer, Code: code, Detail: detail})
		reasons = append(reasons, detail)
	}
	if !limit.IsZero() && cheapest != nil && cheapest.Price.Exceeds(limit, 0) {
		unmet("/maxAmount", "too_small", "the cheapest offer costs "+cheapest.Price.String())
	}
	switch {
	case deliverBy == "" || cheapestInTime != nil:
	case earliest == nil:
		unmet("/deliverBy", "too_early", "no carrier gives a delivery date for this shipment")
	default:
		unmet("/deliverBy", "too_early", "the earliest delivery is on "+string(ship.DateOf(earliest.DeliveryAt)))
	}
	if len(fields) == 0 { // each limit is met by some offer, and both by none
		unmet("/maxAmount", "too_small", "the cheapest offer that arrives by deliverBy costs "+cheapestInTime.Price.String())
	}

	return &ship.Error{
		Kind:    ship.Invalid,
		Code:    "no_rate",
		Message: "no offer meets the limits of the request: " + strings.Join(reasons, "; "),
		Fields:  fields,
	}
}

// currencyMismatch is the answer to a limit that no offer can be compared with.
func currencyMismatch(limit ship.Money, offered []string) error {
	offered = slices.Compact(slices.Sorted(slices.Values(offered)))
	list := strings.Join(offered, ", ")
	return &ship.Error{
		Kind:    ship.Invalid,
		Code:    "currency_mismatch",
		Message: "maxAmount is in " + limit.Currency + " and the carriers quote in " + list + "; amounts are not converted",
		Fields: []ship.FieldError{{
			Pointer: "/maxAmount/currency",
			Code:    "currency_mismatch",
			Detail:  "must be the currency of the offers: " + list,
		}},
	}
}
