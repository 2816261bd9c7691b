package sandbox

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
)

// embargoed lists the countries that carriers of the United States do not
// serve, because of sanctions or because service is suspended.
const embargoed = "BY CU IR KP RU SY"

// checkOrder refuses what the live carrier refuses before it looks at weights.
func (m *model) checkOrder(order *ship.Order, weighed *load, now time.Time) error {
	if m.domesticUS && !isUS(order.Origin.Country) {
		return m.refuseField(m.refusals.lane, "/origin/country", "%s accepts parcels only from the United States and its territories", m.title)
	}
	if m.isNational() && !slices.Contains(m.origins, order.Origin.Country) {
		var names []string
		for _, country := range m.origins {
			names = append(names, ship.CountryName(country))
		}
		return m.refuseField(m.refusals.lane, "/origin/country", "%s accepts parcels only from %s", m.title, strings.Join(names, ", "))
	}
	for _, end := range [...]struct{ pointer, country string }{
		{"/destination/country", order.Destination.Country},
		{"/origin/country", order.Origin.Country},
	} {
		if end.country != "" && strings.Contains(embargoed, end.country) {
			return m.refuseField(m.refusals.lane, end.pointer, "%s does not serve %s: there is an embargo, or service is suspended", m.title, ship.CountryName(end.country))
		}
	}
	if m.onePiece && len(order.Parcels) > 1 {
		return m.refuseField(m.refusals.pieces, "/parcels", "%s sells a separate label for each parcel: create one shipment per parcel", m.title)
	}

	if err := m.checkOptions(order); err != nil {
		return err
	}

	if customs := order.Customs; m.name == "usps" && customs != nil && strings.EqualFold(customs.Incoterm, "DDP") {
		return m.refuseField(m.refusals.value, "/customs/incoterm", "%s does not offer prepaid duties: leave the Incoterm out, or choose another carrier", m.title)
	}

	days := m.daysAhead
	if weighed.lane.kind == across {
		days = m.daysAbroad
	}

	// The sender's day may have begun up to 14 hours before ours.
	if last := ship.DateOf(now.Add(14*time.Hour).AddDate(0, 0, days)); order.ShipDate > last {
		return m.refuseField(m.refusals.date, "/shipDate", "%s sells labels at most %d days ahead", m.title, days)
	}
	return nil
}

// refuseField is refuse with the field of the request that is the reason.
func (m *model) refuseField(code, pointer, format string, args ...any) error {
	reason := fmt.Sprintf(format, args...)
	return &ship.Error{
		Kind:    ship.Invalid,
		Message: m.title + " refused the order",
		Refusal: ship.Refusal{Code: code, Message: reason},
		Fields:  []ship.FieldError{{Pointer: pointer, Code: "invalid", Detail: reason}},
	}
}

// checkVoid refuses to void the label of a parcel that was delivered, in the
// words of the carrier.
func (m *model) checkVoid(status ship.Status) error {
	if status != ship.Delivered {
		return nil
	}
	return &ship.Error{
		Kind:    ship.Invalid,
		Message: m.title + " does not void the label of a parcel that was delivered",
		Refusal: ship.Refusal{Code: m.refusals.void, Message: "the parcel was delivered: only unused labels can be voided"},
	}
}
