package dhlexpress

import (
	"encoding/json"
	"fmt"
	"regexp"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/ship"
)

// extraServices says which services can do which options. A parcel that is
// promised by a time of day goes to an address.
func extraServices() carrier.Extras {
	var untimed []string
	for _, s := range services {
		if !s.timed {
			untimed = append(untimed, s.code)
		}
	}
	return carrier.Extras{
		ship.ExtraServicePoint:     untimed,
		ship.ExtraHoldAtLocation:   carrier.EveryService,
		ship.ExtraDirectSignature:  carrier.EveryService,
		ship.ExtraDryIce:           carrier.EveryService,
		ship.ExtraLithiumBatteries: carrier.EveryService,
		ship.ExtraCOD:              carrier.EveryService,
		ship.ExtraCarbonNeutral:    carrier.EveryService,
	}
}

// More codes of extra services.
const (
	extraHold           = "LX"
	extraCashOnDelivery = "KB"
	extraCarbonNeutral  = "EA"
	extraDryIce         = "HC"
)

// dryIceContent is DHL's id of dry ice among dangerous goods.
const dryIceContent = "901"

// A batteryService is the extra service for lithium batteries and their id among
// dangerous goods, both by IATA's packing instruction, and their UN number.
type batteryService struct{ code, content, un string }

var batteryServices = map[ship.LithiumBatteries]batteryService{
	{Type: "ion", Packed: "with_equipment"}:   {"HD", "966", "3481"},
	{Type: "ion", Packed: "in_equipment"}:     {"HV", "967", "3481"},
	{Type: "metal", Packed: "with_equipment"}: {"HM", "969", "3091"},
	{Type: "metal", Packed: "in_equipment"}:   {"HW", "970", "3091"},
}

// pointID is how DHL writes the ids of its service points.
var pointID = regexp.MustCompile(`^[0-9A-Z]{3,6}$`)

// options refuses what DHL would refuse, or not do.
func (c *checker) options(order ship.Order) {
	options := order.Options
	switch {
	case options.ServicePoint != "" && !pointID.MatchString(options.ServicePoint):
		c.refuse("/destination/servicePoint", "invalid", "must be the id of a DHL Express service point, such as BER001")
	case options.ServicePoint != "" && order.IsReturn:
		c.refuse("/destination/servicePoint", "unsupported", "DHL Express does not send returns to service points")
	}
	if batteries := options.LithiumBatteries; batteries != (ship.LithiumBatteries{}) && batteryServices[batteries] == (batteryService{}) {
		c.refuse("/options/lithiumBatteries/packed", "unsupported", "DHL Express takes lithium batteries only in equipment or packed with it")
	}
	if cod := options.COD; cod != (ship.COD{}) && cod.Method != "" && cod.Method != "any" && cod.Method != "cash" {
		c.refuse("/options/cod/method", "unsupported", "DHL Express collects cash: use any or cash")
	}
}

// moreExtras returns the extra services of the less usual options. A quote says
// nothing about dangerous goods but the service.
func moreExtras(order ship.Order, isQuote bool) []extra {
	options := order.Options
	var list []extra
	if options.HoldAtLocation && options.ServicePoint == "" {
		list = append(list, extra{ServiceCode: extraHold})
	}
	if options.CarbonNeutral {
		list = append(list, extra{ServiceCode: extraCarbonNeutral})
	}
	if cod := options.COD; cod != (ship.COD{}) {
		list = append(list, extra{
			ServiceCode: extraCashOnDelivery,
			Value:       json.Number(cod.Amount.Amount()),
			Currency:    cod.Amount.Currency,
			Method:      "cash",
		})
	}

	declare := func(code string, goods dangerousGoods) {
		service := extra{ServiceCode: code}
		if !isQuote {
			service.DangerousGoods = []dangerousGoods{goods}
		}
		list = append(list, service)
	}
	if ice := options.DryIce; ice != (ship.DryIce{}) {
		grams := ice.WeightGrams * int64(len(order.Parcels))
		declare(extraDryIce, dangerousGoods{
			ContentID:            dryIceContent,
			DryIceTotalNetWeight: json.Number(fmt.Sprintf("%d.%03d", grams/1000, grams%1000)),
		})
	}
	if service := batteryServices[options.LithiumBatteries]; service != (batteryService{}) {
		declare(service.code, dangerousGoods{ContentID: service.content, UNCodes: []string{service.un}})
	}
	return list
}

// deliverToPoint sends the parcel to a service point. DHL then asks for the
// buyer, who collects it and is notified.
func deliverToPoint(body *shipmentRequest, order ship.Order) {
	if order.Options.ServicePoint == "" {
		return
	}

	body.OnDemandDelivery = &onDemandDelivery{
		DeliveryOption: "servicepoint",
		ServicePointID: order.Options.ServicePoint,
	}
	buyer := body.CustomerDetails.ReceiverDetails
	buyer.RegistrationNumbers = nil
	body.CustomerDetails.BuyerDetails = &buyer
}
