package ups

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// Rates asks for every service at once, with days of delivery where the order
// says enough for them.
func (d *driver) Rates(ctx context.Context, o ship.Order) ([]ship.Rate, error) {
	w, err := d.draft(o, time.Now())
	if err != nil {
		return nil, err
	}
	body, timed, err := d.rateRequest(w)
	if err != nil {
		return nil, err
	}
	url := d.base + "/rating/v2409/Shop"
	if timed {
		url += "?additionalinfo=timeintransit"
	}
	var a rateAnswer
	if err := d.call(ctx, carrierkit.Call{Method: http.MethodPost, URL: url, Body: body}, &a); err != nil {
		return nil, err
	}
	var rates []ship.Rate
	for _, r := range a.RateResponse.RatedShipment {
		if s, ok := serviceOf(r.Service.Code, w.lane); ok { // the rest cannot be bought here
			rates = append(rates, rateOf(s, r))
		}
	}
	return rates, nil
}

// rateRequest is the body of a quote, and whether it asks for days.
func (d *driver) rateRequest(w *draft) (body rateRequest, timed bool, err error) {
	s := w.shipment
	charges, err := d.charges(w)
	if err != nil {
		return body, false, err
	}
	s.PaymentDetails = &payment{ShipmentCharge: charges[:1]}
	from := s.Shipper
	if s.ShipFrom != nil {
		from = *s.ShipFrom
	}
	from.ShipperNumber = ""
	s.ShipFrom = &from
	for _, p := range []*party{&s.Shipper, &s.ShipTo, s.ShipFrom} {
		p.Phone = nil
		if len(p.Address.StateProvinceCode) != 2 {
			p.Address.StateProvinceCode = ""
		}
	}
	for i := range s.Package {
		s.Package[i].PackagingType, s.Package[i].Packaging = s.Package[i].Packaging, nil
	}
	if w.order.IsReturn {
		o := shipmentOptions{}
		if s.ShipmentServiceOptions != nil {
			o = *s.ShipmentServiceOptions
		}
		o.ReturnService = &coded{Code: returnServiceCode}
		s.ShipmentServiceOptions = &o
	}
	timed = w.askForDays(&s)
	body.RateRequest.Request.RequestOption = "Shop"
	body.RateRequest.Request.TransactionReference.CustomerContext = "rates"
	body.RateRequest.Shipment = s
	return body, timed, nil
}

// askForDays adds what UPS needs to tell the day of delivery. Abroad it wants
// the value of the goods too.
func (w *draft) askForDays(s *shipment) bool {
	if w.from != w.to {
		value, err := w.value()
		if err != nil || value.IsZero() {
			return false
		}
		s.InvoiceLineTotal = wholeUnits(value)
		var grams int64
		for _, p := range w.order.Parcels {
			grams += p.WeightGrams
		}
		u := w.units()
		total := u.weigh(u.tenths(grams))
		s.ShipmentTotalWeight = &total
	}
	kind := "03"
	if w.documents() {
		kind = "02"
	}
	s.DeliveryTimeInformation = &deliveryTime{PackageBillType: kind, Pickup: day{Date: compact(w.shipDay())}}
	return true
}

// shipDay is the day that the parcel is handed over.
func (w *draft) shipDay() time.Time {
	if w.order.ShipDate != "" {
		return w.order.ShipDate.Time()
	}
	return w.today
}

// compact is a day as UPS writes it.
func compact(t time.Time) string { return t.Format("20060102") }

func rateOf(s service, r ratedShipment) ship.Rate {
	rate := ship.Rate{Service: s.code, ServiceName: s.name, Price: price(r.TotalCharges, r.NegotiatedRateCharges)}
	if g := r.GuaranteedDelivery; g != nil {
		rate.TransitDays, _ = strconv.Atoi(string(g.BusinessDaysInTransit))
		rate.Guaranteed = rate.TransitDays > 0
	}
	if t := r.TimeInTransit; t != nil {
		sum := t.ServiceSummary
		if n, err := strconv.Atoi(string(sum.EstimatedArrival.BusinessDaysInTransit)); err == nil {
			rate.TransitDays = n
		}
		rate.Guaranteed = rate.Guaranteed || sum.GuaranteedIndicator != nil
		rate.DeliveryAt = arrival(sum.EstimatedArrival.Arrival)
	}
	return rate
}

// price is the account's own where UPS has agreed on one, else the published
// one. It is the zero Money if neither can be read.
func price(published money, own *negotiated) ship.Money {
	if own != nil {
		if m, ok := ship.ParseMoney(own.TotalCharge.MonetaryValue, own.TotalCharge.CurrencyCode); ok && m.Minor > 0 {
			return m
		}
	}
	m, _ := ship.ParseMoney(published.MonetaryValue, published.CurrencyCode)
	return m
}

// arrival is when a parcel arrives, by the clocks of its destination. UPS names
// no zone; the clock is kept as UTC, so that the day is the one that UPS means.
func arrival(d day) time.Time {
	if t, err := time.Parse("20060102150405", d.Date+(d.Time + "000000")[:6]); err == nil {
		return t
	}
	t, _ := time.Parse("20060102", d.Date)
	return t
}
