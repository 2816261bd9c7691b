package ups

import (
	"cmp"
	"context"
	"net/http"
	"regexp"
	"strings"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// extras says which services can do which options. The services that arrive
// early in the morning go to addresses only.
func extras() carrier.Extras {
	points := carrier.Except(specServices(), "next_day_air_early", "express_plus", "worldwide_express_plus")
	return carrier.Extras{
		ship.ExtraServicePoint:    points,
		ship.ExtraHoldAtLocation:  points,
		ship.ExtraDirectSignature: carrier.EveryService,
		ship.ExtraDryIce:          carrier.EveryService,
		ship.ExtraAlcohol:         carrier.EveryService,
		ship.ExtraCOD:             carrier.Except(specServices(), "next_day_air_early", "express_plus", "worldwide_express_plus"),
		ship.ExtraCarbonNeutral:   carrier.EveryService,
	}
}

// accessPointID is how UPS writes the public ids of its Access Points.
var accessPointID = regexp.MustCompile(`^U[0-9]{8}$`)

// holdForPickup is UPS's code for a parcel that goes to an Access Point, where
// the recipient collects it.
const holdForPickup = "01"

// addPoint addresses the shipment to an Access Point. A price needs only the
// country of the point; a purchase adds the rest with deliverTo.
func (w *draft) addPoint() {
	options := w.order.Options
	switch {
	case options.ServicePoint == "" && options.HoldAtLocation:
		w.refuse("/destination/servicePoint", "required", "UPS holds parcels at its Access Points: choose one with GET /v1/service-points?carrier=ups")
		return
	case options.ServicePoint == "":
		return
	case !accessPointID.MatchString(options.ServicePoint):
		w.refuse("/destination/servicePoint", "invalid", "must be the id of a UPS Access Point, such as U12345678")
		return
	case w.order.IsReturn:
		w.refuse("/destination/servicePoint", "unsupported", "UPS does not send returns to Access Points")
		return
	}

	receiver := w.shipment.ShipTo.Address
	w.shipment.ShipmentIndicationType = []coded{{Code: holdForPickup}}
	w.shipment.AlternateDeliveryAddress = &alternateAddress{Address: address{
		AddressLine: []string{},
		City:        receiver.City,
		PostalCode:  receiver.PostalCode,
		CountryCode: receiver.CountryCode,
	}}
	if len(receiver.StateProvinceCode) == 2 {
		w.shipment.AlternateDeliveryAddress.Address.StateProvinceCode = receiver.StateProvinceCode
	}
}

// deliverTo adds the address of the Access Point, which UPS wants with its id.
func (w *draft) deliverTo(point ship.ServicePoint) {
	place := point.Address
	place.Name = point.Name
	fitted := w.fit(localized(place), "/destination/servicePoint")

	receiver := w.shipment.ShipTo
	w.shipment.AlternateDeliveryAddress = &alternateAddress{
		Name:             fitted.Name,
		AttentionName:    cmp.Or(receiver.AttentionName, receiver.Name),
		UPSAccessPointID: point.ID,
		Address:          partyOf(fitted).Address,
	}
}

// findPoint returns the Access Point of an id. It is asked for before a
// purchase, so its errors mean that nothing was bought. UPS wants an address in
// every search, and ignores it in this one.
func (d *driver) findPoint(ctx context.Context, id string, near ship.Address) (ship.ServicePoint, error) {
	body := newLocatorRequest(ship.PointQuery{
		Country: near.Country,
		Zip:     near.Zip,
		City:    near.City,
		Limit:   1,
	})
	search := &body.LocatorRequest.LocationSearchCriteria.AccessPointSearch
	search.PublicAccessPointID = id
	search.AccessPointStatus = ""

	var answer locatorAnswer
	err := d.call(ctx, carrierkit.Call{
		Method: http.MethodPost,
		URL:    d.base + "/locations/v3/search/availabilities/64?Locale=en_US",
		Body:   body,
	}, &answer)
	if err != nil {
		return ship.ServicePoint{}, lacksProduct(err, "Locator", "search for Access Points")
	}
	points, err := answer.points()
	if err != nil {
		return ship.ServicePoint{}, err
	}

	for _, point := range points {
		if strings.EqualFold(point.ID, id) {
			return point, nil
		}
	}
	return ship.ServicePoint{}, carrierkit.InvalidOrder("UPS", []ship.FieldError{{
		Pointer: "/destination/servicePoint",
		Code:    "not_found",
		Detail:  "UPS does not know the Access Point " + id,
	}})
}

// dryIceOf declares the dry ice in a parcel: by the rules of the United States
// inside it, by those of air transport elsewhere.
func (w *draft) dryIceOf() *dryIce {
	ice := w.order.Options.DryIce
	if ice == (ship.DryIce{}) {
		return nil
	}

	declared := &dryIce{RegulationSet: "IATA"}
	if w.lane == laneUS || w.lane == lanePR {
		declared.RegulationSet = "CFR"
	}
	system := w.units()
	declared.DryIceWeight = system.weigh(system.tenths(max(ice.WeightGrams, 1)))
	declared.DryIceWeight.UnitOfMeasurement = coded{Code: "00", Description: "Kilograms"}
	if system.weight.Code == "LBS" {
		declared.DryIceWeight.UnitOfMeasurement = coded{Code: "01", Description: "Pounds"}
	}
	return declared
}

// groundDryIce replaces the rules of air transport by those of the road, where
// the parcel stays on it.
func (w *draft) groundDryIce(service string) {
	start := carrierkit.PlaceOf(w.order.Origin)
	end := carrierkit.PlaceOf(w.order.Destination)
	if service != "standard" || !start.InEU() || !end.InEU() {
		return
	}
	for i := range w.shipment.Package {
		if options := w.shipment.Package[i].PackageServiceOptions; options != nil && options.DryIce != nil {
			options.DryIce.RegulationSet = "ADR"
		}
	}
}

// addAlcohol declares alcoholic beverages.
func (w *draft) addAlcohol() {
	if !w.order.Options.Alcohol {
		return
	}
	if isUnitedStates(w.to) && w.order.Options.Signature != "adult" {
		w.refuse("/options/signature", "required", "UPS delivers alcohol in the United States only against an adult signature: set options.signature to adult")
	}
	w.serviceOptions().RestrictedArticles = &restrictedArticles{AlcoholicBeveragesIndicator: true}
}

// UPS's codes of the funds that it accepts on delivery. They differ between
// parcels, in North America, and shipments, in the European Union.
var (
	parcelFunds   = map[string]string{"any": "0", "check": "0", "guaranteed_funds": "8"}
	shipmentFunds = map[string]string{"any": "1", "cash": "1", "check": "9", "guaranteed_funds": "9"}
)

// collectsFromParcels reports whether money is collected for each parcel: inside
// the United States and Canada, and from Canada to the United States.
func (w *draft) collectsFromParcels() bool {
	isNear := func(country string) bool { return country == "US" || country == "PR" }
	return isNear(w.from) && isNear(w.to) || w.from == "CA" && (w.to == "CA" || w.to == "US")
}

// addCOD asks UPS to collect money on delivery.
func (w *draft) addCOD() {
	wanted := w.order.Options.COD
	if wanted == (ship.COD{}) {
		return
	}

	funds := shipmentFunds
	isByParcel := w.collectsFromParcels()
	if isByParcel {
		funds = parcelFunds
	}
	code, ok := funds[cmp.Or(wanted.Method, "any")]
	switch {
	case !isByParcel && !carrierkit.PlaceOf(w.order.Origin).InEU():
		w.refuse("/options/cod", "unsupported", "UPS collects money on delivery inside the United States and Canada, from Canada to the United States, and from the European Union")
		return
	case w.order.IsReturn:
		w.refuse("/options/cod", "unsupported", "UPS does not collect money for returns")
		return
	case !ok:
		w.refuse("/options/cod/method", "unsupported", "UPS collects checks, cashier's checks and money orders here: use any, check or guaranteed_funds")
		return
	}

	// At an Access Point the money has another name, and no kind of funds.
	atPoint := w.order.Options.ServicePoint != ""
	collect := func(amount ship.Money) (*cod, *money) {
		sent := money{CurrencyCode: amount.Currency, MonetaryValue: amount.Amount()}
		if atPoint {
			return nil, &sent
		}
		return &cod{CODFundsCode: code, CODAmount: sent}, nil
	}
	if !isByParcel {
		options := w.serviceOptions()
		options.COD, options.AccessPointCOD = collect(wanted.Amount)
		return
	}
	for i := range w.shipment.Package {
		parcel := &w.shipment.Package[i]
		if parcel.PackageServiceOptions == nil {
			parcel.PackageServiceOptions = &packageOptions{}
		}
		parcel.PackageServiceOptions.COD, parcel.PackageServiceOptions.AccessPointCOD = collect(share(wanted.Amount, len(w.shipment.Package), i))
	}
}
