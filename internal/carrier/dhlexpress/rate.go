package dhlexpress

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
)

// Rates quotes every service that DHL offers for the order and that Buy would
// buy: products that the lane does not call for are left out.
func (d driver) Rates(ctx context.Context, o ship.Order) ([]ship.Rate, error) {
	p, err := d.plan(o, time.Now())
	if err != nil {
		return nil, err
	}
	call := d.call(http.MethodPost, "/rates", nil, "")
	call.Body = rateRequestOf(p)
	var a rateAnswer
	if err := call.Do(ctx, d.via, &a); err != nil {
		return nil, unserved(err)
	}
	list := p.rates(a)
	if len(list) == 0 && len(a.Products) > 0 {
		return nil, ship.Errorf(ship.Invalid, "DHL Express offers this account no service with a price between these addresses")
	}
	return list, nil
}

func rateRequestOf(p plan) rateRequest {
	r := rateRequest{
		CustomerDetails:            rateParties{postal(p.from), postal(p.to)},
		Accounts:                   p.accounts,
		ValueAddedServices:         p.extras,
		PlannedShippingDateAndTime: moment(p.at),
		UnitOfMeasurement:          "metric",
		IsCustomsDeclarable:        p.lane == goods,
		EstimatedDeliveryDate:      estimateRequest{true, "QDDC"},
		NextBusinessDay:            true,
		Packages:                   p.packages,
	}
	if p.lane == goods {
		r.MonetaryAmount = []amount{{"declaredValue", json.Number(p.declared.Amount()), p.declared.Currency}}
	}
	return r
}

func (p plan) rates(a rateAnswer) []ship.Rate {
	var list []ship.Rate
	zone := zoneOf(p.to.Country, p.to.State)
	for _, offer := range a.Products {
		s, known := serviceOf(offer.ProductCode, p.lane)
		cost, priced := billed(offer.TotalPrice)
		if !known || !priced {
			continue // not for this account, or not a parcel service
		}
		days, _ := strconv.Atoi(offer.DeliveryCapabilities.TotalTransitDays.String()) // none is none
		at := localTime(offer.DeliveryCapabilities.EstimatedDeliveryDateAndTime, zone)
		list = append(list, ship.Rate{
			Service: s.code, ServiceName: s.name, Price: cost, TransitDays: days, DeliveryAt: at,
			Guaranteed: s.timed && offer.NetworkTypeCode == "TD",
		})
	}
	return list
}

// billed is the total in the currency that the account is billed in. The
// other rows may have a price of zero and no currency.
func billed(prices []price) (ship.Money, bool) {
	for _, p := range prices {
		if p.CurrencyType == "BILLC" {
			m, ok := money(p.Price, p.PriceCurrency)
			return m, ok && m.Minor > 0
		}
	}
	return ship.Money{}, false
}

// money reads an amount. DHL computes some with more decimals than the
// currency has: half and more is rounded up.
func money(n json.Number, currency string) (ship.Money, bool) {
	whole, frac, _ := strings.Cut(n.String(), ".")
	places := ship.Exponent(currency)
	if len(frac) <= places {
		return ship.ParseMoney(n.String(), currency)
	}
	if !digits(frac) {
		return ship.Money{}, false
	}
	short := whole
	if places > 0 {
		short += "." + frac[:places]
	}
	m, ok := ship.ParseMoney(short, currency)
	if ok && frac[places] >= '5' {
		m.Minor++
	}
	return m, ok
}

// localTime reads a time of delivery, which is local where it happens whatever
// zone it claims. A day without a time lasts until its end, as DHL's own 23:59.
func localTime(s string, zone *time.Location) time.Time {
	s, _, _ = strings.Cut(strings.TrimSuffix(s, "Z"), ".")
	if t, err := time.ParseInLocation("2006-01-02T15:04:05", s, zone); err == nil {
		return t
	}
	if t, err := time.ParseInLocation(time.DateOnly, s, zone); err == nil {
		return t.Add(23*time.Hour + 59*time.Minute)
	}
	return time.Time{}
}

// unserved turns "not found", which is how DHL says that it has no product for
// a lane, into a refusal.
func unserved(err error) error {
	e, ok := errors.AsType[*ship.Error](err)
	if ok && e.Kind == ship.NotFound && e.Refusal.Message != "" {
		refused := *e
		refused.Kind, refused.Message = ship.Invalid, "DHL Express offers no service between these addresses"
		return &refused
	}
	return err
}
