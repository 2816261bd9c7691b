package ups

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// Rates asks for every service at once, with days of delivery where the order
// says enough for them.
func (d *driver) Rates(ctx context.Context, order ship.Order) ([]ship.Rate, error) {
	draft, err := d.newDraft(order, time.Now())
	if err != nil {
		return nil, err
	}
	body, timed, err := d.rateRequest(draft)
	if err != nil {
		return nil, err
	}

	url := d.base + "/rating/v2409/Shop"
	if timed {
		url += "?additionalinfo=timeintransit"
	}
	var answer rateAnswer
	reasons, err := d.exchange(ctx, carrierkit.Call{Method: http.MethodPost, URL: url, Body: body}, &answer)
	if err != nil {
		return nil, draft.explain(err, reasons)
	}

	var rates []ship.Rate
	for _, rated := range answer.RateResponse.RatedShipment {
		offered, ok := serviceByCarrierCode(rated.Service.Code, draft.lane)
		if !ok || order.IsReturn && slices.Contains(noReturns, rated.Service.Code) {
			continue // it cannot be bought here
		}
		rates = append(rates, rateOf(offered, draft.lane, rated))
	}
	return rates, nil
}

// itemized is the version of a quote from which on UPS says what its price
// consists of, for published and agreed prices alike.
const itemized = "2205"

// rateRequest returns the body of a quote, and whether it asks for days. It
// needs less of an order than a purchase: a place, and parcels.
func (d *driver) rateRequest(w *draft) (body rateRequest, timed bool, err error) {
	quoted := w.shipment
	quoted.PaymentDetails = &payment{ShipmentCharge: d.charges(w)[:1]}
	w.checkPlace(w.order.Origin, "/origin")
	w.checkPlace(w.order.Destination, "/destination")
	if err := w.err(); err != nil {
		return body, false, err
	}

	from := quoted.Shipper
	if quoted.ShipFrom != nil {
		from = *quoted.ShipFrom
	}
	from.ShipperNumber = ""
	quoted.ShipFrom = &from
	for _, party := range []*party{&quoted.Shipper, &quoted.ShipTo, quoted.ShipFrom} {
		party.Phone = nil
		if len(party.Address.StateProvinceCode) != 2 {
			party.Address.StateProvinceCode = ""
		}
	}

	// Rating has other names than Shipping for the packaging and for returns.
	for i := range quoted.Package {
		quoted.Package[i].PackagingType = quoted.Package[i].Packaging
		quoted.Package[i].Packaging = nil
	}
	if w.order.IsReturn {
		options := shipmentOptions{}
		if quoted.ShipmentServiceOptions != nil {
			options = *quoted.ShipmentServiceOptions
		}
		options.ReturnService = &coded{Code: returnServiceCode}
		quoted.ShipmentServiceOptions = &options
	}

	timed = w.askForDays(&quoted)
	body.RateRequest.Request.RequestOption = "Shop"
	body.RateRequest.Request.SubVersion = itemized
	body.RateRequest.Request.TransactionReference.CustomerContext = "rates"
	body.RateRequest.Shipment = quoted
	return body, timed, nil
}

// checkPlace refuses an address that UPS could not locate. An estimate has only
// the country and the postal code of it.
func (w *draft) checkPlace(given ship.Address, pointer string) {
	if given.Zip == "" && given.City == "" {
		w.refuse(pointer+"/zip", "required", "UPS needs the postal code to quote a price, or the city where there are no postal codes")
	}
}

// askForDays adds what UPS needs to state the day of delivery. Abroad that
// includes the value of the goods.
func (w *draft) askForDays(quoted *shipment) bool {
	if w.from != w.to {
		// Problems with the goods are reported when they are bought: a price
		// does not need them.
		known := len(w.problems)
		value := w.goodsValue()
		isUnclear := len(w.problems) > known
		w.problems = w.problems[:known]
		if isUnclear || value.IsZero() {
			return false
		}

		quoted.InvoiceLineTotal = wholeUnits(value)
		var grams int64
		for _, parcel := range w.order.Parcels {
			grams += parcel.WeightGrams
		}
		system := w.units()
		total := system.weigh(system.tenths(grams))
		quoted.ShipmentTotalWeight = &total
	}

	kind := "03"
	if w.isDocuments() {
		kind = "02"
	}
	quoted.DeliveryTimeInformation = &deliveryTime{PackageBillType: kind, Pickup: day{Date: compact(w.shipDay())}}
	return true
}

// shipDay returns the day that the parcel is handed over.
func (w *draft) shipDay() time.Time {
	if w.order.ShipDate != "" {
		return w.order.ShipDate.Time()
	}
	return w.today
}

// compact returns a day as UPS writes it.
func compact(t time.Time) string { return t.Format("20060102") }

func rateOf(offered service, on lane, rated ratedShipment) ship.Rate {
	rate := ship.Rate{
		Service:             offered.code,
		ServiceName:         offered.nameOn(on),
		Price:               price(rated.TotalCharges, rated.NegotiatedRateCharges),
		BillableWeightGrams: gramsOf(rated.BillingWeight),
	}
	if list := price(rated.TotalCharges, nil); rated.NegotiatedRateCharges != nil && list.Currency == rate.Price.Currency {
		rate.ListPrice = list
	}
	rate.Charges = chargesOf(rate.Price, rated)

	if guaranteed := rated.GuaranteedDelivery; guaranteed != nil {
		rate.TransitDays, _ = strconv.Atoi(string(guaranteed.BusinessDaysInTransit))
		rate.Guaranteed = rate.TransitDays > 0
	}
	if rated.TimeInTransit != nil {
		summary := rated.TimeInTransit.ServiceSummary
		if days, err := strconv.Atoi(string(summary.EstimatedArrival.BusinessDaysInTransit)); err == nil {
			rate.TransitDays = days
		}
		rate.Guaranteed = rate.Guaranteed || summary.GuaranteedIndicator != nil
		rate.DeliveryAt = arrival(summary.EstimatedArrival.Arrival)
	}
	return rate
}

// arrival returns when a parcel arrives, by the clocks of its destination. UPS
// names no zone; the clock is kept as UTC, so that the day is the one that UPS
// means.
func arrival(d day) time.Time {
	if t, err := time.Parse("20060102150405", d.Date+(d.Time + "000000")[:6]); err == nil {
		return t
	}
	t, _ := time.Parse("20060102", d.Date)
	return t
}
