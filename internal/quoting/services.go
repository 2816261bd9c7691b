package quoting

import (
	"slices"
	"strconv"
	"strings"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/ship"
)

// unknownService reports the named services that no carrier that was asked has,
// with the nearest known one. It is nil if all are known, and just not offered
// for this shipment. The pointer says where the client wrote the i-th name.
func unknownService(asked []*carrier.Carrier, got []asking, named []string, pointer string) error {
	var known []string
	for _, c := range asked {
		for _, service := range c.Spec().Services {
			known = append(known, service.Code)
		}
	}
	for _, answer := range got {
		for _, rate := range answer.rates {
			known = append(known, rate.Service) // a rate sheet may have services of its own
		}
	}
	known = slices.Compact(slices.Sorted(slices.Values(known)))

	var fields []ship.FieldError
	for i, name := range named {
		if slices.Contains(known, name) {
			continue
		}
		nearest := ship.Nearest(name, known)
		detail := "is not a service of these carriers; they offer " + strings.Join(known, ", ")
		if nearest != "" {
			detail = "did you mean " + nearest + "? The services are " + strings.Join(known, ", ")
		}
		fields = append(fields, ship.FieldError{
			Pointer:    strings.ReplaceAll(pointer, "%d", strconv.Itoa(i)),
			Code:       "unknown_service",
			Detail:     detail,
			Suggestion: nearest,
		})
	}
	if len(fields) == 0 {
		return nil
	}
	return &ship.Error{
		Kind:    ship.Invalid,
		Code:    "no_rate",
		Message: "no carrier offers this service: " + fields[0].Detail,
		Fields:  fields,
	}
}
