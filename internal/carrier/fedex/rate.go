package fedex

import (
	"context"
	"encoding/json"
	"math/big"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

const ratePath = "/rate/v1/rates/quotes"

// Rates quotes every service of FedEx that takes the order, at the account's
// own prices.
func (d *driver) Rates(ctx context.Context, o ship.Order) ([]ship.Rate, error) {
	body, err := d.rateRequest(&o)
	if err != nil {
		return nil, err
	}
	var answer rateAnswer
	if err := d.call(ctx, d.ship, carrierkit.Call{Method: http.MethodPost, URL: d.base + ratePath, Body: body}, &answer); err != nil {
		return nil, err
	}
	if answer.Output == nil {
		return nil, ship.Errorf(ship.Unavailable, "FedEx sent no rates")
	}
	var rates []ship.Rate
	for _, detail := range answer.Output.Details {
		if r, ok := detail.rate(); ok {
			rates = append(rates, r)
		}
	}
	return rates, nil
}

func (d *driver) rateRequest(o *ship.Order) (rateRequest, error) {
	if err := returnable(o); err != nil {
		return rateRequest{}, err
	}
	packaging, err := packagingType(o)
	if err != nil {
		return rateRequest{}, err
	}
	m := measureOf(o)
	list, err := pieces(o, m, packaging)
	if err != nil {
		return rateRequest{}, err
	}
	s := rateShipment{
		Shipper:         rateParty{placeOf(o.Origin)},
		Recipient:       rateParty{placeOf(o.Destination)},
		RateRequestType: []string{"ACCOUNT", "LIST"},
		ShipDateStamp:   string(o.ShipDate),
		PickupType:      dropOff,
		PackagingType:   packaging,
		Packages:        list,
		SpecialServices: specials(o),
	}
	if crosses(o) {
		if s.Customs, err = quoted(o, m); err != nil {
			return rateRequest{}, err
		}
	}
	if d.takesEconomy(o, packaging) == nil {
		s.Economy = d.economy(o)
	}
	return rateRequest{AccountNumber: account{d.account}, Control: rateControl{ReturnTransitTimes: true}, RequestedShipment: s}, nil
}

// placeOf is as much of an address as a price depends on.
func placeOf(a ship.Address) address {
	country := countryOf(a.Country, a.State)
	return address{
		City: a.City, State: stateOf(country, a.State), PostalCode: a.Zip, CountryCode: country,
		Residential: a.Residential != nil && *a.Residential,
	}
}

// takesEconomy says why Ground Economy does not take the order, if it does not.
func (d *driver) takesEconomy(o *ship.Order, packaging string) error {
	switch {
	case d.hub == "":
		return ship.Errorf(ship.Unsupported, "the connection has no hub of FedEx Ground Economy")
	case o.Origin.Country != "US" || o.Destination.Country != "US" || crosses(o):
		return ship.Errorf(ship.Invalid, "FedEx Ground Economy stays in the United States")
	case len(o.Parcels) != 1 || packaging != ownPackaging:
		return ship.Errorf(ship.Invalid, "FedEx Ground Economy takes one parcel at a time, in a box of the sender's")
	}
	return nil
}

// economy is what Ground Economy needs: under a pound it is another class of
// mail.
func (d *driver) economy(o *ship.Order) *economyDetail {
	const pound = 454
	indicia := "PARCEL_SELECT"
	switch {
	case o.IsReturn:
		indicia = "PARCEL_RETURN"
	case o.Parcels[0].WeightGrams < pound:
		indicia = "PRESORTED_STANDARD"
	}
	return &economyDetail{HubID: d.hub, Indicia: indicia}
}

// returnable refuses returns that need papers of their own.
func returnable(o *ship.Order) error {
	if o.IsReturn && crosses(o) {
		return ship.Errorf(ship.Unsupported, "returns across a border are not offered with FedEx")
	}
	return nil
}

// rate is the offer of one service. Services that we cannot buy are left out.
func (r rateDetail) rate() (ship.Rate, bool) {
	s, known := serviceNamed(r.ServiceType)
	price, priced := best(r.Rated)
	if !known || !priced {
		return ship.Rate{}, false
	}
	out := ship.Rate{Service: s.code, ServiceName: s.name, Price: price}
	for _, said := range []string{r.Operational.CommitDate, r.Operational.DeliveryDate, r.Commit.DateDetail.DayFormat} {
		if at, ok := parseTime(said); ok && out.DeliveryAt.IsZero() {
			out.DeliveryAt = at
		}
	}
	for _, words := range []string{r.Operational.TransitTime, r.Commit.TransitDays.Minimum, r.Commit.DaysInTransit} {
		if out.TransitDays == 0 {
			out.TransitDays = transitDays[words]
		}
	}
	out.Guaranteed = !out.DeliveryAt.IsZero() && !r.Operational.NotGuaranteed
	return out, true
}

// rateTypes are the prices of a service, the account's own first.
var rateTypes = []string{"ACCOUNT", "INCENTIVE", "PREFERRED_CURRENCY", "PREFERRED", "LIST"}

// best is the price that the account pays.
func best(rated []ratedShipment) (ship.Money, bool) {
	for _, kind := range rateTypes {
		i := slices.IndexFunc(rated, func(r ratedShipment) bool { return r.RateType == kind })
		if i < 0 {
			continue
		}
		if m, ok := rated[i].price(); ok {
			return m, true
		}
	}
	return ship.Money{}, false
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
// currency's own unit. Nothing and less than nothing is no price.
func parseMoney(n json.Number, currency string) (ship.Money, bool) {
	const maxDigits, maxExponent = 40, 18
	text := string(n)
	if _, exponent, scientific := strings.Cut(strings.ToUpper(text), "E"); scientific {
		if e, err := strconv.Atoi(exponent); err != nil || e > maxExponent || e < -maxExponent {
			return ship.Money{}, false
		}
	}
	value, ok := new(big.Rat).SetString(text)
	if !ok || len(text) > maxDigits || value.Sign() <= 0 {
		return ship.Money{}, false
	}
	return ship.ParseMoney(value.FloatString(ship.Exponent(currency)), currency)
}

// parseTime reads a moment. FedEx writes most of them without a zone: they are
// local to the destination, and are kept as if in UTC. A day alone means its
// end.
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
