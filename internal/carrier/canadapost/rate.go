package canadapost

import (
	"context"
	"net/http"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// Rates quotes every service that Canada Post offers for the order and that Buy
// would buy.
func (d driver) Rates(ctx context.Context, order ship.Order) ([]ship.Rate, error) {
	draft, err := d.newQuoteDraft(order, time.Now())
	if err != nil {
		return nil, err
	}

	call := d.call(http.MethodPost, "/rs/ship/price", mediaRate)
	call.Body = d.rateRequest(draft)
	var answer priceQuotes
	if err := call.Do(ctx, d.via, &answer); err != nil {
		return nil, explain(err)
	}

	list := draft.rates(answer, carrierkit.PlaceOf(order.Destination).ClosestZone())
	if len(list) == 0 && len(answer.Quotes) > 0 {
		return nil, ship.Errorf(ship.Invalid, "Canada Post has no tracked service for this parcel between these addresses")
	}
	return list, nil
}

// maxForeignZip is the longest foreign postal code that a quote takes. Prices are by
// country, so a longer one is left out.
//
// fact: quote-foreign-zip
const maxForeignZip = 10

// rateRequest returns the body of a quote.
func (d driver) rateRequest(p draft) mailingScenario {
	request := mailingScenario{
		Customer:    d.customer,
		Contract:    d.contract,
		QuoteType:   "commercial",
		MailingDate: p.mailingDate,
		Options:     p.optionList(),
		Parcel:      p.parcel,
		Origin:      p.from.Zip,
	}
	switch p.lane {
	case laneCanada:
		request.Destination.Domestic = &domesticPlace{Zip: p.to.Zip}
	case laneUSA:
		request.Destination.UnitedStates = &americanPlace{Zip: p.to.Zip}
	default:
		place := &internationalPlace{Country: p.to.Country}
		if utf8.RuneCountInString(p.to.Zip) <= maxForeignZip {
			place.Zip = p.to.Zip
		}
		request.Destination.International = place
	}
	return request
}

func (p draft) rates(answer priceQuotes, zone *time.Location) []ship.Rate {
	var list []ship.Rate
	for _, quote := range answer.Quotes {
		sold, known := serviceBy(func(s service) bool { return s.own == quote.Service })
		price, priced := ship.ParseMoney(quote.Price.Due, "CAD")
		if !known || !priced || p.isReturn && !sold.returnsWith() {
			continue
		}

		days, _ := strconv.Atoi(quote.Standard.Days) // absent is zero
		list = append(list, ship.Rate{
			Service:             sold.code,
			ServiceName:         "Canada Post " + sold.name,
			Price:               price,
			TransitDays:         days,
			DeliveryAt:          endOfDay(quote.Standard.Date, zone),
			Guaranteed:          quote.Standard.IsGuaranteed == "true",
			Charges:             quote.charges(price),
			BillableWeightGrams: grams(quote.CubedWeight),
		})
	}
	return list
}

// endOfDay reads a day of delivery, which means its end at the destination.
func endOfDay(text string, zone *time.Location) time.Time {
	day, err := time.ParseInLocation(time.DateOnly, text, zone)
	if err != nil {
		return time.Time{}
	}
	return day.Add(23*time.Hour + 59*time.Minute)
}

// grams reads a weight in kilograms; zero if there is none.
func grams(kilograms string) int64 {
	weight, err := strconv.ParseFloat(kilograms, 64)
	if err != nil || weight <= 0 || weight > 1000 {
		return 0
	}
	return int64(weight*1000 + 0.5)
}
