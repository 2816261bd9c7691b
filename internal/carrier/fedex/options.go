package fedex

import (
	"cmp"
	"regexp"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/ship"
)

// extras says which services can do which options. What is regulated in the air
// is declared to the air services; the parcels of Ground Economy are delivered
// by USPS, which knows nothing of FedEx's options.
func extras() carrier.Extras {
	all := specServices()
	ownDelivery := carrier.Except(all, "ground_economy")
	toPoints := carrier.Except(all, "ground_economy", "same_day", "same_day_city", "first_overnight_extra_hours", "standard_overnight_extra_hours", "priority_overnight_extra_hours")
	byAir := carrier.Except(all, "ground", "home_delivery", "ground_economy", "same_day", "same_day_city")
	return carrier.Extras{
		ship.ExtraServicePoint:      toPoints,
		ship.ExtraHoldAtLocation:    toPoints,
		ship.ExtraIndirectSignature: ownDelivery,
		ship.ExtraDirectSignature:   ownDelivery,
		ship.ExtraDryIce:            byAir,
		ship.ExtraAlcohol:           ownDelivery,
		ship.ExtraLithiumBatteries:  byAir,
		ship.ExtraCOD:               carrier.Except(all, "home_delivery", "ground_economy", "same_day", "same_day_city"),
	}
}

// locationID is how FedEx writes the ids of its locations.
var locationID = regexp.MustCompile(`^[A-Z]{4,5}$`)

// signatureOptions are FedEx's names of signatures.
var signatureOptions = map[string]string{
	"standard": "DIRECT",
	"direct":   "DIRECT",
	"indirect": "INDIRECT",
	"adult":    "ADULT",
}

// pieceSpecials returns the extra services of every parcel; nil for none. A
// quote has other names for batteries than a purchase.
func pieceSpecials(order *ship.Order, isQuote bool) *pieceSpecial {
	options := order.Options
	var extra pieceSpecial
	if options.Signature != "" {
		extra.Types = append(extra.Types, "SIGNATURE_OPTION")
		extra.SignatureOption = signatureOptions[options.Signature]
	}
	if options.DryIce != (ship.DryIce{}) {
		kilograms := measure{weight: "KG"}
		ice := kilograms.weigh(kilograms.hundredths(options.DryIce.WeightGrams))
		extra.Types = append(extra.Types, "DRY_ICE")
		extra.DryIceWeight = &ice
	}
	if options.Alcohol {
		extra.Types = append(extra.Types, "ALCOHOL")
		extra.Alcohol = &alcoholDetail{RecipientType: "CONSUMER"}
		if order.Destination.Type == "business" {
			extra.Alcohol.RecipientType = "LICENSEE"
		}
	}
	extra.addBatteries(options.LithiumBatteries, isQuote)
	if options.COD != (ship.COD{}) && len(order.Parcels) == 1 {
		extra.COD = &pieceCOD{Amount: amountOf(options.COD.Amount)}
	}

	if extra.Types == nil && extra.COD == nil {
		return nil
	}
	return &extra
}

// addBatteries declares small lithium batteries, which need no papers of their
// own (Section II of IATA's instructions).
func (p *pieceSpecial) addBatteries(batteries ship.LithiumBatteries, isQuote bool) {
	if batteries == (ship.LithiumBatteries{}) {
		return
	}

	material := "LITHIUM_ION"
	if batteries.Type == "metal" {
		material = "LITHIUM_METAL"
	}
	if batteries.Packed == "alone" {
		p.Types = append(p.Types, "STANDALONE_BATTERY")
		p.Standalone = []standaloneBattery{{Material: material}}
		return
	}

	packing := "CONTAINED_IN_EQUIPMENT"
	if batteries.Packed == "with_equipment" {
		packing = "PACKED_WITH_EQUIPMENT"
	}
	const sectionTwo = "IATA_SECTION_II"
	battery := batteryDetail{Material: material, Packing: packing, Regulation: sectionTwo}
	if isQuote {
		battery = batteryDetail{QuotedMaterial: material, QuotedPacking: packing, QuotedRegulation: sectionTwo}
	}
	p.Types = append(p.Types, "BATTERY")
	p.Batteries = []batteryDetail{battery}
}

// codFunds are FedEx's names of the ways to pay on delivery.
var codFunds = map[string]string{
	"any":              "ANY",
	"cash":             "CASH",
	"check":            "COMPANY_CHECK",
	"guaranteed_funds": "GUARANTEED_FUNDS",
}

// addOptions adds the options of the whole shipment.
func (s *special) addOptions(order *ship.Order, isQuote bool) {
	options := order.Options
	if options.ServicePoint != "" {
		s.Types = append(s.Types, "HOLD_AT_LOCATION")
		s.Hold = &holdDetail{LocationID: options.ServicePoint}
	}
	if wanted := options.COD; wanted != (ship.COD{}) {
		s.Types = append(s.Types, "COD")
		s.COD = &codDetail{CollectionType: codFunds[cmp.Or(wanted.Method, "any")]}
		if !isQuote {
			s.COD.Amount = amountOf(wanted.Amount)
		}
	}
	if options.DryIce != (ship.DryIce{}) && laneOf(order).isInternational() {
		// Across a border the ice is declared for the shipment too.
		kilograms := measure{weight: "KG"}
		total := kilograms.weigh(kilograms.hundredths(options.DryIce.WeightGrams * int64(len(order.Parcels))))
		s.Types = append(s.Types, "DRY_ICE")
		s.DryIce = &dryIceDetail{TotalWeight: total, PackageCount: len(order.Parcels)}
	}
}

// checkOptions refuses what FedEx would refuse, or not do.
func checkOptions(order *ship.Order, bad *problems) {
	options := order.Options
	if lane := laneOf(order); isOneRate(order) && (countryOf(lane.from) != "US" || countryOf(lane.to) != "US") {
		bad.add("/parcels/0/packaging", "unsupported", "FedEx One Rate is available only within the United States: use the packaging without one_rate")
	}
	switch {
	case options.ServicePoint == "" && options.HoldAtLocation:
		bad.add("/destination/servicePoint", "required", "FedEx holds parcels at a location of your choice: choose one with GET /v1/service-points?carrier=fedex")
	case options.ServicePoint != "" && !locationID.MatchString(options.ServicePoint):
		bad.add("/destination/servicePoint", "invalid", "must be the id of a FedEx location, such as YBZA")
	case options.ServicePoint != "" && order.IsReturn:
		bad.add("/destination/servicePoint", "unsupported", "FedEx does not hold returns at a location")
	}
	if options.Alcohol && countryOf(laneOf(order).to) == "US" && options.Signature != "adult" {
		bad.add("/options/signature", "required", "FedEx delivers alcohol in the United States only against an adult signature: set options.signature to adult")
	}
	if options.COD != (ship.COD{}) && (order.IsReturn || laneOf(order).isInternational()) {
		bad.add("/options/cod", "unsupported", "FedEx collects money on delivery only inside a country, and not for returns")
	}
}
