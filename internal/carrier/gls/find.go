package gls

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// Find prints a shipment again by our reference: the answer is that to a purchase,
// with the labels. GLS prints the parcels of a day, so each day on which the
// purchase may have been made is asked for.
//
// That there is nothing to print does not prove that nothing was sold: GLS does
// not say how long it prints a label again. Only if its list of parcels has none
// under the reference either is the purchase known not to exist.
func (d *driver) Find(ctx context.Context, request carrier.BuyOrder) (ship.Sale, error) {
	days := purchaseDays(request.Shipment, time.Now())
	for _, day := range days {
		sale, err := d.reprint(ctx, request, day)
		if ship.KindOf(err) != ship.NotFound {
			return sale, err
		}
	}

	listed, err := d.findListed(ctx, request.Reference, days)
	if err != nil {
		return ship.Sale{}, err
	}
	sale, err := d.reprint(ctx, request, listed)
	if ship.KindOf(err) == ship.NotFound {
		return ship.Sale{}, ship.Errorf(ship.Unavailable, "GLS has the parcel but does not print its label again")
	}
	return sale, err
}

// glsClock is the clock by which GLS's days are counted.
func glsClock() *time.Location { return carrierkit.Place{Country: "DE"}.ClosestZone() }

// purchaseDays returns the days on which a shipment may have been bought, each at
// noon: from its creation until now. Of many days, as after an approval, the first
// and the last are enough: the list of parcels has those between.
func purchaseDays(shipment ship.ShipmentID, now time.Time) []time.Time {
	// GLS's clock may be that of the shipper's country, which is up to two hours
	// from ours.
	const margin = 2 * time.Hour
	const most = 4

	first := now.AddDate(0, 0, -1)
	if id := shipment.Raw(); !id.IsZero() && id.Time().Before(now) {
		first = id.Time()
	}
	day := noon(first.Add(-margin).In(glsClock()))
	last := noon(now.Add(margin).In(glsClock()))

	var days []time.Time
	for ; !day.After(last); day = day.AddDate(0, 0, 1) {
		if len(days) == most {
			days = slices.Delete(days, 2, 3)
		}
		days = append(days, day)
	}
	return days
}

func noon(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), 12, 0, 0, 0, t.Location())
}

// reprint prints what was bought under our reference on a day; ship.NotFound if
// GLS says that there is nothing.
func (d *driver) reprint(ctx context.Context, request carrier.BuyOrder, day time.Time) (ship.Sale, error) {
	var answer createdAnswer
	err := d.post(ctx, "/rs/shipments/reprintparcel", reprintRequest{
		Reference: request.Reference,
		Created:   day.Format(time.DateOnly), // fact: creation-date-day
		Printing:  printingOf(request),
	}, &answer)
	if err != nil {
		return ship.Sale{}, lookupError(err)
	}

	sale, problem := answer.Created.sale(request)
	if problem != "" {
		return ship.Sale{}, ship.Errorf(ship.Unavailable, "%s", problem)
	}
	return sale, nil
}

// findListed returns on which day GLS lists a parcel under our reference, or an
// error of kind ship.NotFound if it lists none.
func (d *driver) findListed(ctx context.Context, reference string, days []time.Time) (time.Time, error) {
	var answer listAnswer
	err := d.post(ctx, "/rs/tracking/parcels", listRequest{
		Reference: reference,
		From:      days[0].AddDate(0, 0, -1).Format(time.DateOnly),
		To:        days[len(days)-1].AddDate(0, 0, 1).Format(time.DateOnly),
	}, &answer)
	switch {
	case err != nil:
		return time.Time{}, lookupError(err)
	case answer.Units == nil:
		return time.Time{}, ship.Errorf(ship.Unavailable, "GLS did not confirm whether there is a parcel under the reference")
	}

	for _, unit := range answer.Units {
		isOurs := len(unit.References) == 0 || slices.Contains(unit.References, reference)
		isCancelled := strings.Contains(strings.ToUpper(unit.Status), "CANCEL")
		if !isOurs || isCancelled {
			continue
		}
		listed, ok := parseTime(unit.Created)
		if !ok {
			return time.Time{}, ship.Errorf(ship.Unavailable, "GLS has the parcel but did not send its day")
		}
		return noon(listed.In(glsClock())), nil
	}
	return time.Time{}, ship.Errorf(ship.NotFound, "GLS has nothing under the reference")
}

// lookupError accepts "not found" only as GLS's own words, whichever status they
// come with: a proxy also answers 404, and taking that for GLS's would buy a
// second label. "Not found" alone is not enough: it may be the contact id that
// was not found.
func lookupError(err error) error {
	failure, ok := errors.AsType[*ship.Error](err)
	if !ok || failure.Kind != ship.NotFound && failure.Kind != ship.Invalid {
		return err
	}

	answer := *failure
	words := strings.ToLower(failure.Refusal.Code + " " + failure.Refusal.Message)
	isUnknown := strings.Contains(words, "no_data_found") || strings.Contains(words, "no data found")
	switch {
	case isUnknown:
		answer.Kind = ship.NotFound
		answer.Message = "GLS has nothing under the reference"
	case failure.Kind == ship.NotFound:
		answer.Kind = ship.Unavailable
		answer.Message = "the response did not come from GLS; check the configured URL"
	}
	return &answer
}
