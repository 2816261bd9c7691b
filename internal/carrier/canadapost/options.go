package canadapost

import (
	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/ship"
)

// extraServices says which services can do which options.
func extraServices() carrier.Extras {
	var domestic []string
	for _, s := range offered {
		if s.isDomestic() {
			domestic = append(domestic, s.code)
		}
	}
	return carrier.Extras{ship.ExtraHoldAtLocation: domestic}
}

// options refuses what Canada Post would refuse, or not do.
func (c *checker) options(order ship.Order) {
	if order.Options.SaturdayDelivery {
		c.refuse("/options/saturdayDelivery", "unsupported", "Canada Post does not offer Saturday delivery")
	}
	value := order.Options.InsuredValue
	if !value.IsZero() && (value.Currency != "CAD" || value.Minor <= 0) {
		c.refuse("/options/insuredValue", "invalid", "must be an amount in CAD above 0 for Canada Post")
	}
	if c.isAbroad && order.Options.Signature == "adult" {
		c.refuse("/options/signature", "unsupported", "Canada Post checks the age of recipients only within Canada")
	}
}

// optionsOf returns the options of the order in Canada Post's codes: those that a
// quote and a purchase share.
func optionsOf(order ship.Order, isAbroad bool) []option {
	isInsured := !order.Options.InsuredValue.IsZero()
	var list []option
	switch {
	case order.Options.Signature == "adult":
		list = append(list, option{Code: optionAdult})
	case order.Options.Signature != "", isInsured && !isAbroad:
		// Within Canada, Canada Post covers only parcels that are signed for.
		list = append(list, option{Code: optionSignature})
	}
	if isInsured {
		list = append(list, option{Code: optionCoverage, Amount: order.Options.InsuredValue.Amount()})
	}
	if order.Options.HoldAtLocation {
		list = append(list, option{Code: optionHold})
	}
	return list
}

// instructionOf returns what becomes of a parcel that cannot be delivered, of which
// a purchase abroad must name one that the service has. Quotes are for all
// services at once, so they name none.
func instructionOf(sold service) option {
	if sold.own == "INT.TP" {
		return option{Code: optionReturn}
	}
	return option{Code: optionReturnPaid}
}
