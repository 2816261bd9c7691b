package fedex

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// Rates quotes every service of FedEx that takes the order, at the account's
// own prices.
func (d *driver) Rates(ctx context.Context, order ship.Order) ([]ship.Rate, error) {
	body, err := d.rateRequest(&order)
	if err != nil {
		return nil, err
	}

	var answer rateAnswer
	if err := d.askForRates(ctx, body, &answer); err != nil {
		return nil, withoutParcelIndex(err, &order)
	}
	if answer.Output == nil {
		return nil, ship.Errorf(ship.Unavailable, "FedEx sent no rates")
	}

	var rates []ship.Rate
	for _, detail := range answer.Output.Details {
		rate, ok := detail.rate()
		if ok && isOneRate(&order) && !slices.Contains(oneRateServices, rate.Service) {
			continue // its price would not be the flat one
		}
		if ok {
			rates = append(rates, rate)
		}
	}
	return rates, nil
}

func (d *driver) rateRequest(order *ship.Order) (rateRequest, error) {
	if err := checkReturn(order); err != nil {
		return rateRequest{}, err
	}

	var bad problems
	packaging := packagingType(order, &bad)
	checkOptions(order, &bad)
	units := measureOf(order)
	list := pieces(order, units, packaging, true, &bad)
	if err := bad.err(); err != nil {
		return rateRequest{}, err
	}

	shipment := rateShipment{
		Shipper:         rateParty{placeOf(order.Origin)},
		Recipient:       rateParty{placeOf(order.Destination)},
		RateRequestType: []string{"ACCOUNT", "LIST"},
		ShipDateStamp:   string(order.ShipDate),
		PickupType:      dropOff,
		PackagingType:   packaging,
		Packages:        list,
		SpecialServices: specials(order, true),
	}
	if laneOf(order).isInternational() {
		shipment.Customs = quotedDeclaration(order, units)
	}
	if d.checkEconomy(order, packaging) == nil {
		shipment.Economy = d.economy(order)
	}
	return rateRequest{
		AccountNumber:     account{d.account},
		Control:           rateControl{ReturnTransitTimes: true},
		RequestedShipment: shipment,
	}, nil
}

// placeOf returns as much of an address as a price depends on.
func placeOf(given ship.Address) address {
	place := carrierkit.PlaceOf(given)

	// A city that FedEx cannot read is left out: the postal code is enough.
	fitted, _, err := carrierkit.Fit(Spec.Address, ship.Address{City: given.City, Country: given.Country}, "")
	if err != nil {
		fitted.City = ""
	}

	return address{
		City:        fitted.City,
		State:       stateOf(place),
		PostalCode:  given.Zip,
		CountryCode: countryOf(place),
		Residential: given.Residential != nil && *given.Residential,
	}
}

// checkEconomy returns why Ground Economy does not take the order; nil if it
// does.
func (d *driver) checkEconomy(order *ship.Order, packaging string) error {
	switch {
	case d.hub == "":
		return ship.Errorf(ship.Unsupported, "FedEx Ground Economy needs a hub: add the Ground Economy hub to the connection")
	case countryOf(laneOf(order).from) != "US" || countryOf(laneOf(order).to) != "US":
		return ship.Errorf(ship.Invalid, "FedEx Ground Economy is available only within the United States")
	case len(order.Parcels) != 1 || packaging != ownPackaging:
		return ship.Errorf(ship.Invalid, "FedEx Ground Economy allows one parcel per shipment, in your own packaging")
	}
	return nil
}

// economy returns what Ground Economy needs: under a pound it is another class
// of mail.
func (d *driver) economy(order *ship.Order) *economyDetail {
	const pound = 454

	indicia := "PARCEL_SELECT"
	switch {
	case order.IsReturn:
		indicia = "PARCEL_RETURN"
	case order.Parcels[0].WeightGrams < pound:
		indicia = "PRESORTED_STANDARD"
	}
	return &economyDetail{HubID: d.hub, Indicia: indicia}
}

// The interfaces for rates. A project has one or the other: "Rates and Transit
// Times", or "Comprehensive Rates", which takes and gives the same.
const (
	ratePath          = "/rate/v1/rates/quotes"
	comprehensivePath = "/rate/v1/comprehensiverates/quotes"
)

// askForRates asks the interface that the project has. Where it is not allowed,
// the other is tried once, and used from then on if it is allowed.
func (d *driver) askForRates(ctx context.Context, body rateRequest, answer *rateAnswer) error {
	other := d.otherRates.Load()
	err := d.askForRatesAt(ctx, other, body, answer)
	if !isForbidden(err) {
		return err
	}

	if second := d.askForRatesAt(ctx, !other, body, answer); !isForbidden(second) {
		d.otherRates.Store(!other)
		return second
	}
	return err
}

func (d *driver) askForRatesAt(ctx context.Context, other bool, body rateRequest, answer *rateAnswer) error {
	path := ratePath
	if other {
		path = comprehensivePath
	}
	return d.call(ctx, d.ship, carrierkit.Call{Method: http.MethodPost, URL: d.base + path, Body: body}, answer)
}

// isForbidden reports whether the keys were accepted but the project does not
// have the interface. A refused token is an error of its own.
func isForbidden(err error) bool {
	return errors.Is(err, carrierkit.Status(http.StatusForbidden)) && !errors.Is(err, errToken)
}

// rate returns the offer of one service. Services that we cannot buy are left
// out.
func (r rateDetail) rate() (ship.Rate, bool) {
	offered, known := serviceByCarrierCode(r.ServiceType)
	paid, price, priced := accountPrice(r.Rated)
	if !known || !priced {
		return ship.Rate{}, false
	}

	rate := ship.Rate{
		Service:             offered.code,
		ServiceName:         offered.name,
		Price:               price,
		Charges:             paid.charges(price),
		BillableWeightGrams: paid.billableGrams(),
	}

	// The purchase repeats the name by which FedEx quoted, where it is not the
	// usual one.
	if r.ServiceType != offered.kind {
		rate.Selection = r.ServiceType
	}
	if list, ok := listPrice(r.Rated); ok && list.Currency == price.Currency {
		rate.ListPrice = list
	}

	for _, text := range []string{r.Operational.CommitDate, r.Operational.DeliveryDate, r.Commit.DateDetail.DayFormat} {
		if at, ok := parseTime(text); ok && rate.DeliveryAt.IsZero() {
			rate.DeliveryAt = at
		}
	}
	for _, words := range []string{r.Operational.TransitTime, r.Commit.TransitDays.Minimum, r.Commit.DaysInTransit} {
		if rate.TransitDays == 0 {
			rate.TransitDays = transitDays[words]
		}
	}
	rate.Guaranteed = !rate.DeliveryAt.IsZero() && !r.Operational.NotGuaranteed
	return rate, true
}

// parseTime reads a moment. FedEx writes most of them without a zone: they are
// local to the destination, and are kept as if in UTC. A day without a time
// means its end.
func parseTime(s string) (time.Time, bool) {
	if t, err := time.Parse(time.RFC3339, s); err == nil {
		return t, true
	}
	for _, layout := range []string{"2006-01-02T15:04:05", "2006-01-02T15:04"} {
		if t, err := time.Parse(layout, s); err == nil {
			return t, true
		}
	}
	if t, err := time.Parse(time.DateOnly, s); err == nil {
		return t.Add(24*time.Hour - time.Minute), true
	}
	return time.Time{}, false
}
