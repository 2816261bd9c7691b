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
	said, err := d.exchange(ctx, carrierkit.Call{Method: http.MethodPost, URL: url, Body: body}, &a)
	if err != nil {
		return nil, w.explain(err, said)
	}

	var rates []ship.Rate
	for _, r := range a.RateResponse.RatedShipment {
		if s, ok := serviceOf(r.Service.Code, w.lane); ok { // the rest cannot be bought here
			rates = append(rates, rateOf(s, w.lane, r))
		}
	}
	return rates, nil
}

// itemized is the version of a quote from which on UPS says what its price
// consists of, for published and agreed prices alike.
const itemized = "2205"

// rateRequest is the body of a quote, and whether it asks for days. It demands
// less of an order than a purchase: a place, and parcels.
func (d *driver) rateRequest(w *draft) (body rateRequest, timed bool, err error) {
	s := w.shipment
	s.PaymentDetails = &payment{ShipmentCharge: d.charges(w)[:1]}
	w.checkPlace(w.order.Origin, "/origin")
	w.checkPlace(w.order.Destination, "/destination")
	if err := w.err(); err != nil {
		return body, false, err
	}

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
	body.RateRequest.Request.SubVersion = itemized
	body.RateRequest.Request.TransactionReference.CustomerContext = "rates"
	body.RateRequest.Shipment = s
	return body, timed, nil
}

// checkPlace refuses an address that UPS could not locate. Of
// an estimate it has the country and the postal code alone.
func (w *draft) checkPlace(a ship.Address, pointer string) {
	if a.Zip == "" && a.City == "" {
		w.refuse(pointer+"/zip", "required", "UPS needs the postal code to quote a price, or the city where there are no postal codes")
	}
}

// askForDays adds what UPS needs to tell the day of delivery. Abroad it wants
// the value of the goods too.
func (w *draft) askForDays(s *shipment) bool {
	if w.from != w.to {
		// Problems with the goods are reported when they are bought: a price does
		// not need them.
		known := len(w.problems)
		value := w.value()
		unclear := len(w.problems) > known
		w.problems = w.problems[:known]
		if unclear || value.IsZero() {
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

func rateOf(s service, l lane, r ratedShipment) ship.Rate {
	rate := ship.Rate{
		Service:             s.code,
		ServiceName:         s.nameOn(l),
		Price:               price(r.TotalCharges, r.NegotiatedRateCharges),
		BillableWeightGrams: gramsOf(r.BillingWeight),
	}
	if list := price(r.TotalCharges, nil); r.NegotiatedRateCharges != nil && list.Currency == rate.Price.Currency {
		rate.ListPrice = list
	}
	rate.Charges = chargesOf(rate.Price, r)

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

// gramsOf is a weight of UPS's; zero if it cannot be read.
func gramsOf(w answeredWeight) int64 {
	n, err := strconv.ParseFloat(string(w.Weight), 64)
	if err != nil || n <= 0 || n > 1e6 {
		return 0
	}
	if w.UnitOfMeasurement.Code == "KGS" {
		return ship.Kilogram.Grams(n)
	}
	return ship.Pound.Grams(n)
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
