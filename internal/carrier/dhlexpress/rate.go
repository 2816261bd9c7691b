package dhlexpress

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// Rates quotes every service that DHL offers for the order and that Buy would
// buy: products that do not belong to the lane are left out.
func (d driver) Rates(ctx context.Context, order ship.Order) ([]ship.Rate, error) {
	draft, err := d.newQuoteDraft(order, time.Now())
	if err != nil {
		return nil, err
	}

	call := d.call(http.MethodPost, "/rates", nil, "")
	call.Body = draft.rateRequest()
	var answer rateAnswer
	if err := d.do(ctx, call, &answer, order, draft.extras); err != nil {
		return nil, refusedIfNotFound(err)
	}

	list := draft.rates(answer)
	if len(list) == 0 && len(answer.Products) > 0 {
		return nil, ship.Errorf(ship.Invalid, "DHL Express has no priced service for this account between these addresses")
	}
	return list, nil
}

// rateRequest returns the body of a quote.
func (p draft) rateRequest() rateRequest {
	request := rateRequest{
		CustomerDetails: rateParties{
			ShipperDetails:  ratedPlace(p.from),
			ReceiverDetails: ratedPlace(p.to),
		},
		Accounts:                   p.accounts,
		ValueAddedServices:         p.extras,
		PlannedShippingDateAndTime: formatTime(p.at),
		UnitOfMeasurement:          "metric",
		IsCustomsDeclarable:        p.declarable,
		EstimatedDeliveryDate:      estimateRequest{true, "QDDC"},
		NextBusinessDay:            true,
		Packages:                   p.packages,
	}

	if p.declarable || p.isReturn {
		// The services say whether customs take the invoice as data, and whether
		// DHL keeps a return until it is sent.
		request.GetAdditionalInformation = []information{{TypeCode: "allValueAddedServices", IsRequested: true}}
	}
	if !p.declared.IsZero() {
		request.MonetaryAmount = []amount{{"declaredValue", json.Number(p.declared.Amount()), p.declared.Currency}}
	}
	return request
}

// ratedPlace returns an address as far as a price depends on it.
func ratedPlace(fitted carrierkit.FittedAddress) postalAddress {
	fitted.Lines = nil
	return postalAddressOf(fitted)
}

func (p draft) rates(answer rateAnswer) []ship.Rate {
	var list []ship.Rate
	zone := p.toPlace.ClosestZone()
	for _, offer := range answer.Products {
		offered, known := serviceByCarrierCode(offer.ProductCode, p.lane)
		cost, priced := billedPrice(offer.TotalPrice)
		if !known || !priced {
			continue // not for this account, or not a parcel service
		}

		days, _ := strconv.Atoi(offer.DeliveryCapabilities.TotalTransitDays.String()) // absent is zero
		list = append(list, ship.Rate{
			Service:             offered.code,
			ServiceName:         offered.name,
			Price:               cost,
			TransitDays:         days,
			DeliveryAt:          localTime(offer.DeliveryCapabilities.EstimatedDeliveryDateAndTime, zone),
			Guaranteed:          offered.timed && offer.NetworkTypeCode == "TD",
			Charges:             offer.charges(cost),
			BillableWeightGrams: offer.billableGrams(),
			Selection:           offer.selection(p.isReturn).String(),
		})
	}
	return list
}

// selection returns what the purchase repeats of the offer.
func (o product) selection(isReturn bool) selection {
	chosen := selection{localProduct: o.LocalProductCode, paperless: o.offers(extraPaperless)}
	for _, code := range stagings {
		// The shortest is enough for a return.
		if isReturn && chosen.staging == "" && o.offers(code) {
			chosen.staging = code
		}
	}
	return chosen
}

// offers reports whether a service can be added to the product.
func (o product) offers(service string) bool {
	return slices.ContainsFunc(o.DetailedPrices, func(detailed breakdown) bool {
		return slices.ContainsFunc(detailed.Parts, func(part breakdownPrice) bool { return part.ServiceCode == service })
	})
}

// localTime reads a time of delivery, which is local to the place of delivery
// whatever zone it claims. A day without a time means its end, which DHL itself
// writes as 23:59.
func localTime(text string, zone *time.Location) time.Time {
	text, _, _ = strings.Cut(strings.TrimSuffix(text, "Z"), ".")
	if t, err := time.ParseInLocation("2006-01-02T15:04:05", text, zone); err == nil {
		return t
	}
	if t, err := time.ParseInLocation(time.DateOnly, text, zone); err == nil {
		return t.Add(23*time.Hour + 59*time.Minute)
	}
	return time.Time{}
}

// refusedIfNotFound turns "not found", which is how DHL says that it has no
// product for a lane, into a refusal.
func refusedIfNotFound(err error) error {
	notFound, ok := errors.AsType[*ship.Error](err)
	if ok && notFound.Kind == ship.NotFound && notFound.Refusal.Message != "" {
		refused := *notFound
		refused.Kind = ship.Invalid
		refused.Message = "DHL Express offers no service between these addresses"
		return &refused
	}
	return err
}
