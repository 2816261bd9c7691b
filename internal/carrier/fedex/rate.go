package fedex

import (
	"context"
	"encoding/json"
	"errors"
	"math/big"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

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
		if rate, ok := detail.rate(); ok {
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
	units := measureOf(order)
	list := pieces(order, units, packaging, &bad)
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
		SpecialServices: specials(order),
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

// placeOf is as much of an address as a price depends on.
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

// economy is what Ground Economy needs: under a pound it is another class of
// mail.
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

// checkReturn refuses returns that need customs documents of their own.
func checkReturn(order *ship.Order) error {
	if order.IsReturn && laneOf(order).isInternational() {
		return ship.Errorf(ship.Unsupported, "cross-border returns are not supported with FedEx")
	}
	return nil
}

// rate is the offer of one service. Services that we cannot buy are left out.
func (r rateDetail) rate() (ship.Rate, bool) {
	offered, known := serviceNamed(r.ServiceType)
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

// rateTypes are the prices of a service, the account's own first.
var rateTypes = []string{"ACCOUNT", "INCENTIVE", "PREFERRED_CURRENCY", "PREFERRED", "LIST"}

// accountPrice is the price that the account pays, and what it consists of.
func accountPrice(rated []ratedShipment) (paid ratedShipment, price ship.Money, ok bool) {
	for _, kind := range rateTypes {
		i := slices.IndexFunc(rated, func(r ratedShipment) bool { return r.RateType == kind })
		if i < 0 {
			continue
		}
		if price, ok := rated[i].price(); ok {
			return rated[i], price, true
		}
	}
	return ratedShipment{}, ship.Money{}, false
}

// listPrice is the published price, where FedEx returns it.
func listPrice(rated []ratedShipment) (ship.Money, bool) {
	i := slices.IndexFunc(rated, func(r ratedShipment) bool { return r.RateType == "LIST" })
	if i < 0 {
		return ship.Money{}, false
	}
	return rated[i].price()
}

// price is the charge with its taxes.
func (r ratedShipment) price() (ship.Money, bool) {
	currency := r.Currency
	if currency == "" {
		currency = r.Detail.Currency
	}
	return parseMoney(r.TotalNetCharge, isoCurrency(currency))
}

// parseMoney reads an amount exactly as it is written, rounded to the
// currency's smallest unit. Zero or less is not a price.
func parseMoney(n json.Number, currency string) (ship.Money, bool) {
	value, ok := parseNumber(n)
	if !ok || value.Sign() <= 0 {
		return ship.Money{}, false
	}
	return ship.ParseMoney(value.FloatString(ship.Exponent(currency)), currency)
}

// parseNumber reads a number as it is written.
func parseNumber(n json.Number) (*big.Rat, bool) {
	const maxDigits, maxExponent = 40, 18

	// A large exponent would make a number of as many digits.
	text := string(n)
	if _, exponent, isScientific := strings.Cut(strings.ToUpper(text), "E"); isScientific {
		if power, err := strconv.Atoi(exponent); err != nil || power > maxExponent || power < -maxExponent {
			return nil, false
		}
	}
	value, ok := new(big.Rat).SetString(text)
	return value, ok && len(text) <= maxDigits
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
