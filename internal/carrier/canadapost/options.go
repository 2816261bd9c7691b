package canadapost

import (
	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/ship"
)

// extraServices says which services can do which options.
func extraServices() carrier.Extras {
	var domestic []string
	for _, s := range offered {
		if s.lane() == laneCanada {
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
	if order.IsReturn {
		c.returnOptions(order)
		return
	}
	if c.isAbroad && order.Options.Signature == "adult" {
		c.refuse("/options/signature", "unsupported", "Canada Post checks the age of recipients only within Canada")
	}
}

// returnOptions refuses the options of return labels: Canada Post has none.
func (c *checker) returnOptions(order ship.Order) {
	for pointer, isAsked := range map[string]bool{
		"/options/signature":      order.Options.Signature != "",
		"/options/insuredValue":   !order.Options.InsuredValue.IsZero(),
		"/options/holdAtLocation": order.Options.HoldAtLocation,
	} {
		if isAsked {
			c.refuse(pointer, "unsupported", "return labels of Canada Post have no options")
		}
	}
}

// optionsOf returns the options of the order in Canada Post's codes: those that a
// quote and a purchase share.
//
// fact: coverage-signature
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
// services at once, so they name none. Packets come back free of charge; with all
// other services the choice is between paying for it and giving the parcel up.
//
// fact: non-delivery
func instructionOf(sold service) option {
	switch sold.own {
	case "USA.TP", "INT.TP":
		return option{Code: optionReturn}
	}
	return option{Code: optionReturnPaid}
}
