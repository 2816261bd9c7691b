package gls

import (
	"cmp"
	"encoding/json"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/ship"
)

// extraServices says which services can do which options.
func extraServices() carrier.Extras {
	return carrier.Extras{
		ship.ExtraServicePoint:    {"parcel"},
		ship.ExtraDirectSignature: {"parcel", "guaranteed24", "express", "express_8", "express_9", "express_10", "express_12"},
		ship.ExtraCOD:             {"parcel"},
	}
}

// services returns what the shipment asks for beyond the product, and refuses
// what GLS does not offer.
func (c *checker) services(order ship.Order, chosen service, isFlexible bool) []shipmentService {
	options := order.Options
	var list []shipmentService
	add := func(name string) { list = append(list, shipmentService{Plain: &namedService{name}}) }

	if chosen.isReturn {
		list = append(list, shipmentService{Back: &backService{Name: serviceShopReturn, Labels: 1}})
	}
	if chosen.extra != "" && !options.SaturdayDelivery {
		add(chosen.extra)
	}
	switch {
	case options.SaturdayDelivery && chosen.saturday == "":
		c.refuse("/options/saturdayDelivery", "unsupported", "GLS delivers on Saturdays with Express 10:00 and 12:00 only")
	case options.SaturdayDelivery:
		add(chosen.saturday)
	}

	switch options.Signature {
	case "":
	case "standard":
		add(serviceSignature)
	case "direct":
		add(serviceAddresseeOnly)
	default:
		c.refuse("/options/signature", "unsupported", "GLS offers the signatures standard and direct")
	}
	if chosen.isReturn && options.Signature != "" {
		c.refuse("/options/signature", "unsupported", "GLS has no signature for returns")
	}

	switch {
	case options.ServicePoint == "":
		// The recipient is notified of a delivery and may redirect it, which a
		// signature that was asked for excludes. GLS refuses the whole shipment of
		// a shipper whose contract does not include it, so the connection must
		// say that it does. fact: flexdelivery-gated
		if isFlexible && chosen.code == "parcel" && order.Destination.Email != "" && options.Signature == "" {
			add(serviceFlexDelivery)
		}
	case order.Destination.Email == "": // fact: shop-email
		c.refuse("/destination/email", "required", "GLS needs the recipient's e-mail address for a parcel shop")
	default:
		list = append(list, shipmentService{Shop: &shopService{Name: serviceShopDelivery, Shop: options.ServicePoint}})
	}
	return list
}

// unitServices returns what a parcel asks for. Amounts are of the whole order, so
// they are only for orders with one parcel.
func (c *checker) unitServices(order ship.Order, reference string) []unitService {
	options := order.Options
	isOne := len(order.Parcels) == 1
	var list []unitService

	if order.IsReturn && (options.InsuredValue.Minor > 0 || options.COD != (ship.COD{})) {
		c.refuse("/options", "unsupported", "GLS neither insures returns nor collects money for them")
	}
	if value := options.InsuredValue; value.Minor > 0 {
		list = append(list, unitService{Liability: &amountService{
			Name:     serviceLiability,
			Amount:   json.Number(value.Amount()),
			Currency: value.Currency,
		}})
		if !isOne {
			c.refuse("/options/insuredValue", "unsupported", "GLS insures orders with one parcel only: create one shipment per parcel")
		}
	}
	if cod := options.COD; cod != (ship.COD{}) {
		list = append(list, unitService{Cash: &amountService{
			Name:     serviceCash,
			Reason:   cmp.Or(order.OrderID, order.Reference, reference), // fact: cash-reason
			Amount:   json.Number(cod.Amount.Amount()),
			Currency: cod.Amount.Currency,
		}})
		if !isOne {
			c.refuse("/options/cod", "unsupported", "GLS collects money for orders with one parcel only: create one shipment per parcel")
		}
	}
	return list
}
