package shipments

import (
	"strings"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/web/parts"
)

// An optionLine is an option of a shipment in words.
type optionLine struct{ Title, Text string }

// optionWords are the values of options in words.
var optionWords = map[string]string{
	"ion":              "Lithium ion",
	"metal":            "Lithium metal",
	"in_equipment":     "inside the equipment",
	"with_equipment":   "beside the equipment",
	"alone":            "without equipment",
	"any":              "any way to pay",
	"cash":             "cash",
	"check":            "check",
	"guaranteed_funds": "cashier's check or money order",
}

// optionLines are the less usual options of a shipment.
func optionLines(options ship.Options, parcels []ship.Parcel) (lines []optionLine) {
	add := func(isSet bool, title, text string) {
		if isSet {
			lines = append(lines, optionLine{title, text})
		}
	}

	unit := ship.Pound
	if len(parcels) > 0 {
		unit = parcels[0].WeightUnit
	}
	cod := options.COD
	batteries := options.LithiumBatteries
	add(options.ServicePoint != "", "Service point", options.ServicePoint)
	add(options.HoldAtLocation, "Hold for collection", "Yes")
	add(options.ReturnServiceRequested, "Return service", "Yes")
	add(options.DryIce != (ship.DryIce{}), "Dry ice in each parcel", parts.Decimal(options.DryIce.Weight)+" "+string(unit))
	add(options.Alcohol, "Contains alcohol", "Yes")
	add(batteries != (ship.LithiumBatteries{}), "Batteries", optionWords[batteries.Type]+", "+optionWords[batteries.Packed])
	add(cod != (ship.COD{}), "Collect on delivery", parts.Money(cod.Amount)+", "+optionWords[cod.Method])
	add(options.CarbonNeutral, "Carbon-neutral shipping", "Yes")
	return lines
}

// unsupported are the services that could not do an option of the shipment, a
// sentence for each carrier and option.
func (p shipmentView) unsupported() (lines []string) {
	type reason struct {
		carrier string
		option  ship.Extra
	}
	services := map[reason][]string{}
	var order []reason
	for _, drop := range p.Purchase.Routing.Dropped {
		if drop.Why != "unsupported" {
			continue
		}
		why := reason{drop.Carrier, drop.Option}
		if services[why] == nil {
			order = append(order, why)
		}
		services[why] = append(services[why], parts.Plain(drop.Service))
	}

	for _, why := range order {
		lines = append(lines, parts.CarrierTitle(why.carrier)+" does not offer "+why.option.String()+" with "+strings.Join(services[why], ", ")+".")
	}
	return lines
}
