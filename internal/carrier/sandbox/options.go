package sandbox

import (
	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/ship"
)

// What the simulated carriers can do, in the manner of the real ones.
var (
	upsPoints = []string{"ground", "three_day_select", "second_day_air", "next_day_air_saver", "next_day_air", "standard", "express_saver", "worldwide_saver", "worldwide_express"}
	upsExtras = carrier.Extras{
		ship.ExtraServicePoint:    upsPoints,
		ship.ExtraHoldAtLocation:  upsPoints,
		ship.ExtraDirectSignature: carrier.EveryService,
		ship.ExtraDryIce:          carrier.EveryService,
		ship.ExtraAlcohol:         carrier.EveryService,
		ship.ExtraCOD:             carrier.EveryService,
		ship.ExtraCarbonNeutral:   carrier.EveryService,
	}

	uspsDomestic = []string{"ground_advantage", "priority_mail", "priority_mail_express"}
	uspsExtras   = carrier.Extras{
		ship.ExtraServicePoint:     uspsDomestic,
		ship.ExtraHoldAtLocation:   uspsDomestic,
		ship.ExtraDirectSignature:  uspsDomestic,
		ship.ExtraReturnService:    uspsDomestic,
		ship.ExtraDryIce:           uspsDomestic,
		ship.ExtraLithiumBatteries: uspsDomestic,
	}

	fedexAir    = []string{"express_saver", "two_day", "standard_overnight", "priority_overnight", "economy", "priority", "international_economy", "international_priority"}
	fedexExtras = carrier.Extras{
		ship.ExtraServicePoint:      append([]string{"ground", "home_delivery"}, fedexAir...),
		ship.ExtraHoldAtLocation:    append([]string{"ground", "home_delivery"}, fedexAir...),
		ship.ExtraIndirectSignature: carrier.EveryService,
		ship.ExtraDirectSignature:   carrier.EveryService,
		ship.ExtraDryIce:            fedexAir,
		ship.ExtraAlcohol:           carrier.EveryService,
		ship.ExtraLithiumBatteries:  fedexAir,
		ship.ExtraCOD:               append([]string{"ground"}, fedexAir...),
	}

	dhlPoints = []string{"express_worldwide", "express_domestic"}
	dhlExtras = carrier.Extras{
		ship.ExtraServicePoint:     dhlPoints,
		ship.ExtraHoldAtLocation:   carrier.EveryService,
		ship.ExtraDirectSignature:  carrier.EveryService,
		ship.ExtraDryIce:           carrier.EveryService,
		ship.ExtraLithiumBatteries: carrier.EveryService,
		ship.ExtraCOD:              carrier.EveryService,
		ship.ExtraCarbonNeutral:    carrier.EveryService,
	}
)

// checkOptions refuses a service point that is not the carrier's own, by the
// form of its id.
func (m *model) checkOptions(order *ship.Order) error {
	options := &order.Options
	switch {
	case options.ServicePoint != "" && !matchesPointID(m.pointID, options.ServicePoint):
		return m.refuseField(m.refusals.address, "/destination/servicePoint", "%s has no service point %s: its ids look like %s", m.title, options.ServicePoint, pointID(m.pointID, 12345678))
	case options.ServicePoint == "" && options.HoldAtLocation && m.name != "dhl_express" && !m.isNational():
		return m.refuseField(m.refusals.address, "/destination/servicePoint", "%s holds parcels at a service point of your choice: GET /v1/service-points lists them", m.title)
	}
	return nil
}

// matchesPointID reports whether an id has the form of a pattern: a digit for
// each #, a letter for each @.
func matchesPointID(pattern, id string) bool {
	if len(id) != len(pattern) {
		return false
	}
	for i := range len(id) {
		isDigit := id[i] >= '0' && id[i] <= '9'
		isLetter := id[i] >= 'A' && id[i] <= 'Z'
		switch pattern[i] {
		case '#':
			if !isDigit {
				return false
			}
		case '@':
			if !isLetter {
				return false
			}
		default:
			if id[i] != pattern[i] {
				return false
			}
		}
	}
	return true
}

// extrasFee returns what the less usual options cost for a piece, in cents.
func extrasFee(options *ship.Options) (cents int64) {
	if options.DryIce != (ship.DryIce{}) {
		cents += 850
	}
	if options.Alcohol {
		cents += 450
	}
	if options.LithiumBatteries != (ship.LithiumBatteries{}) {
		cents += 600
	}
	if options.COD != (ship.COD{}) {
		cents += 1800
	}
	if options.CarbonNeutral {
		cents += 20
	}
	return cents
}
