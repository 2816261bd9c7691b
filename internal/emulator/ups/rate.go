package ups

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// rate quotes one service, or all of them.
func (s *server) rate(w http.ResponseWriter, r *http.Request) {
	var in struct {
		RateRequest *struct {
			Request  *head
			Shipment *shipment
		}
	}
	body, ok := decodeBody(w, r, &in)
	if !ok {
		return
	}
	if in.RateRequest == nil || in.RateRequest.Request == nil || in.RateRequest.Shipment == nil {
		refuse(w, refusal{"9110002", "Missing or invalid RateRequest"})
		return
	}

	sh := in.RateRequest.Shipment
	if no, ok := checkShipment(sh, func(b box) *code { return b.PackagingType }); !ok {
		refuse(w, no)
		return
	}
	if no, ok := checkRatedPlaces(sh); !ok {
		refuse(w, no)
		return
	}
	if sh.PaymentDetails != nil && !paid(sh.PaymentDetails.ShipmentCharge) {
		refuse(w, refusal{"120400", "Missing/Invalid shipment payment method"})
		return
	}
	if no, ok := checkMembers("Rate", body); !ok {
		refuse(w, no)
		return
	}

	option := strings.ToLower(r.PathValue("option"))
	timed := strings.HasSuffix(option, "timeintransit") || strings.EqualFold(r.URL.Query().Get("additionalinfo"), "timeintransit")
	if timed {
		if no, ok := checkTimed(sh); !ok {
			refuse(w, no)
			return
		}
	}

	detailed := in.RateRequest.Request.SubVersion >= "1601"
	rated := rateAll(sh, strings.HasPrefix(option, "rate"), timed, detailed)
	if len(rated) == 0 {
		refuse(w, refusal{"111210", "The requested service is unavailable between the selected locations."})
		return
	}
	answer(w, http.StatusOK, encode(map[string]any{"RateResponse": map[string]any{
		"Response":      responseOf(in.RateRequest.Request.TransactionReference.CustomerContext),
		"RatedShipment": rated,
	}}))
}

// rateAll quotes all services to the destination, or the requested one.
func rateAll(sh *shipment, one, timed, detailed bool) (rated []map[string]any) {
	for _, o := range offers {
		asked := !one || sh.Service != nil && sh.Service.Code == o.code
		if asked && o.goes(sh.from().Address, sh.ShipTo.Address) {
			rated = append(rated, ratedShipment(sh, price(sh, o), timed, detailed))
		}
	}
	return rated
}

// responseOf returns the part that every response begins with.
func responseOf(context string) map[string]any {
	r := map[string]any{"ResponseStatus": code{"1", "Success"}}
	if context != "" {
		r["TransactionReference"] = map[string]string{"CustomerContext": context}
	}
	return r
}

func checkTimed(sh *shipment) (refusal, bool) {
	t := sh.DeliveryTimeInformation
	switch {
	case t == nil || !slices.Contains([]string{"02", "03", "04", "07"}, t.PackageBillType):
		return refusal{"111561", "Missing or invalid DeliveryTimeInformation"}, false
	case sh.from().Address.CountryCode != sh.ShipTo.Address.CountryCode && (sh.InvoiceLineTotal == nil || sh.ShipmentTotalWeight == nil):
		return refusal{"111563", "InvoiceLineTotal and ShipmentTotalWeight are required for time in transit"}, false
	}
	// UPS answers for 35 days in the past and 60 in the future; a day more leaves
	// room for time zones.
	day, err := time.Parse("20060102", t.Pickup.Date)
	isOutside := time.Since(day) > 36*24*time.Hour || time.Until(day) > 61*24*time.Hour
	if t.Pickup.Date != "" && (err != nil || isOutside) {
		return refusal{"111564", "Invalid pickup date"}, false
	}
	return refusal{}, true
}

// ratedShipment returns one line of a quote.
func ratedShipment(sh *shipment, q quote, timed, detailed bool) map[string]any {
	weight := map[string]any{"UnitOfMeasurement": code{q.unit.Code, "Weight"}, "Weight": q.weight}
	one := map[string]any{
		"Service":               code{Code: q.offer.code},
		"RatedShipmentAlert":    []code{{"110971", "Your invoice may vary from the displayed reference rates"}},
		"BillingWeight":         weight,
		"TransportationCharges": usd(q.transport),
		"ServiceOptionsCharges": usd(q.extra),
		"TotalCharges":          usd(q.list()),
		"RatedPackage":          []any{map[string]any{"BillingWeight": weight, "TotalCharges": usd(q.list())}},
	}

	if sh.ShipmentRatingOptions != nil && sh.ShipmentRatingOptions.NegotiatedRatesIndicator != nil && sh.Shipper.ShipperNumber == Account {
		own := map[string]any{"TotalCharge": usd(q.own())}
		if detailed && len(q.items) > 0 {
			own["ItemizedCharges"] = q.itemized()
		}
		one["NegotiatedRateCharges"] = own
	}

	if detailed && len(q.items) > 0 {
		one["ItemizedCharges"] = q.itemized()
	}
	if q.offer.guaranteed {
		one["GuaranteedDelivery"] = map[string]string{"BusinessDaysInTransit": strconv.Itoa(q.days)}
	}
	if timed {
		one["TimeInTransit"] = timeInTransit(sh, q)
	}
	return one
}

func timeInTransit(sh *shipment, q quote) map[string]any {
	pickup, err := time.Parse("20060102", sh.DeliveryTimeInformation.Pickup.Date)
	if err != nil {
		pickup = time.Now().UTC()
	}

	at := arrives(pickup, q.days)
	summary := map[string]any{
		"Service": map[string]string{"Description": "UPS " + q.offer.code},
		"EstimatedArrival": map[string]any{
			"Arrival":               map[string]string{"Date": at.Format("20060102"), "Time": q.offer.clock},
			"BusinessDaysInTransit": strconv.Itoa(q.days),
			"Pickup":                map[string]string{"Date": pickup.Format("20060102"), "Time": "170000"},
			"DayOfWeek":             strings.ToUpper(at.Weekday().String()[:3]),
		},
	}
	if q.offer.guaranteed {
		summary["GuaranteedIndicator"] = ""
	}
	return map[string]any{
		"PickupDate":      pickup.Format("20060102"),
		"PackageBillType": sh.DeliveryTimeInformation.PackageBillType,
		"ServiceSummary":  summary,
	}
}
