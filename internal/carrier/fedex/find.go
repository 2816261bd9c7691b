package fedex

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

const findPath = "/track/v1/referencenumbers"

// cancelled is the status of a shipment that was voided.
const cancelled = "CA"

// referenceTypes are the names under which FedEx's tracking may know the reference
// of a purchase, the likelier one first. A purchase calls it CUSTOMER_REFERENCE.
// Tracking lists both, and FedEx's own recorded answers call the same reference
// SHIPPER_REFERENCE.
//
// fact: search-reference-type
var referenceTypes = []string{ourReference, shipperReference}

// shipperReference is tracking's other name for the reference of a purchase.
const shipperReference = "SHIPPER_REFERENCE"

// Find returns the shipment that carries our reference, without its label and
// its price, which FedEx does not give again. A cancelled shipment counts as
// not bought: nobody can send it.
//
// The purchase is absent only if FedEx knows it under neither name. If one of
// the searches fails, nothing is known.
func (d *driver) Find(ctx context.Context, request carrier.BuyOrder) (ship.Sale, error) {
	dates := searchWindow(&request, time.Now())
	var absent error
	for _, kind := range referenceTypes {
		purchase, err := d.findAs(ctx, kind, dates, &request)
		if ship.KindOf(err) != ship.NotFound {
			return purchase, err
		}
		absent = err
	}

	// FedEx does not say whether a search without dates covers the days to come,
	// and its list of errors has one for a search without dates.
	if dates == (window{}) {
		return ship.Sale{}, ship.Errorf(ship.Unavailable, "FedEx does not show a shipment of %s by its reference before that day", request.Order.ShipDate)
	}
	return ship.Sale{}, absent
}

// findAs looks the purchase up under one of the names of its reference.
func (d *driver) findAs(ctx context.Context, kind string, dates window, request *carrier.BuyOrder) (ship.Sale, error) {
	call := carrierkit.Call{
		Method: http.MethodPost,
		URL:    d.base + findPath,
		Body: findRequest{References: referenceSearch{
			Type:          kind,
			Value:         request.Reference,
			AccountNumber: d.account,
			DateBegin:     dates.begin,
			DateEnd:       dates.end,
			DateEndDate:   dates.end,
		}},
	}
	var answer findAnswer
	if err := d.call(ctx, d.track, call, &answer); err != nil {
		return ship.Sale{}, lookupError(err)
	}
	if answer.Output == nil {
		return ship.Sale{}, ship.Errorf(ship.Unavailable, "FedEx sent no result for the look-up")
	}

	var hits []trackResult
	absences := 0
	faults := answer.Output.Errors
	for _, complete := range answer.Output.Results {
		for _, result := range complete.TrackResults {
			switch {
			case result.Error != nil && result.Error.Code != "":
				faults = append(faults, *result.Error)
			case result.Latest.Code == cancelled, !result.hasReference(request.Reference):
				absences++
			case result.Number.TrackingNumber != "":
				hits = append(hits, result)
			}
		}
	}
	if len(hits) > 0 {
		return foundSale(hits, request)
	}

	// A purchase that is not found is bought again. Only FedEx's own word that
	// the reference is unknown counts as such; any other fault, and an answer
	// with nothing at all, proves nothing.
	for _, fault := range faults {
		if !isUnknownReference(fault.Code) {
			return ship.Sale{}, &ship.Error{
				Kind:    ship.Unavailable,
				Message: "FedEx could not look up the purchase",
				Refusal: ship.Refusal{Code: fault.Code, Message: fault.Message},
			}
		}
		absences++
	}
	if absences == 0 {
		return ship.Sale{}, ship.Errorf(ship.Unavailable, "FedEx sent an empty result for the look-up")
	}
	return ship.Sale{}, ship.Errorf(ship.NotFound, "FedEx has no such shipment")
}

// A window is the ship dates that a search covers; empty for a search without
// dates.
type window struct{ begin, end string }

// longestWindow is how many days a window may span. FedEx refuses a longer one
// (TRACKING.SHIPDATERANGE.ERROR).
//
// fact: search-window-length
const longestWindow = 30

// searchWindow returns the days on which the parcel may have been sent, with one
// more before them: FedEx moves a day that has passed to the day of the purchase.
//
// The window ends today, where the sender is: FedEx refuses one that ends in the
// future (TRACKING.SHIPDATEEND.FUTURE). A parcel that is sent on a later day is
// searched for without dates.
//
// fact: search-window-end
func searchWindow(request *carrier.BuyOrder, now time.Time) window {
	zone := carrierkit.PlaceOf(request.Order.Origin).ClosestZone()
	today := dayIn(now, zone)

	first := today.AddDate(0, 0, -2)
	switch {
	case request.Order.ShipDate != "":
		first = request.Order.ShipDate.Time()
	case request.Shipment != "":
		first = dayIn(request.Shipment.Raw().Time(), zone)
	}
	if first.After(today) {
		return window{}
	}
	return windowBetween(first.AddDate(0, 0, -1), today)
}

// windowBetween returns the window from the first day to the last, without the
// earliest days if it would be too long.
func windowBetween(first, last time.Time) window {
	if earliest := last.AddDate(0, 0, 1-longestWindow); first.Before(earliest) {
		first = earliest
	}
	return window{begin: first.Format(time.DateOnly), end: last.Format(time.DateOnly)}
}

// dayIn returns the calendar day of a moment in a zone, as its start in UTC.
func dayIn(at time.Time, zone *time.Location) time.Time {
	year, month, day := at.In(zone).Date()
	return time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
}

// The codes of FedEx's list that say that a number or reference is unknown. The
// general NOT.FOUND.ERROR is about the path, and TRACKING.DATA.NOTUNIQUE means that
// there are several.
//
// fact: code-unknown-number
const (
	unknownReference = "TRACKING.REFERENCENUMBER.NOTFOUND"
	unknownNumber    = "TRACKING.TRACKINGNUMBER.NOTFOUND"
	noData           = "TRACKING.DATA.NOTFOUND"
)

// isUnknownReference reports whether a code means that FedEx has no parcel with
// the reference. "Tracking data unavailable" is not among them: it may be about
// FedEx, and a purchase that counts as absent is bought again.
func isUnknownReference(code string) bool { return code == unknownReference || code == unknownNumber }

// isAbsent reports whether a code means that FedEx has nothing to show about a
// parcel yet.
func isAbsent(code string) bool { return isUnknownReference(code) || code == noData }

// lookupError gives a refusal the kind that it has for a look-up. A purchase is
// bought again once it is not found, so a bare 404 of a gateway is not taken
// for an answer.
func lookupError(err error) error {
	refused, ok := errors.AsType[*ship.Error](err)
	if !ok {
		return err
	}

	meant := *refused
	switch {
	case (refused.Kind == ship.NotFound || refused.Kind == ship.Invalid) && isUnknownReference(refused.Refusal.Code):
		meant.Kind = ship.NotFound
	case refused.Kind == ship.NotFound, refused.Refusal.Code == requestMismatch:
		meant.Kind = ship.Unavailable
	case refused.Kind == ship.Invalid:
		meant.Fields = nil // they are those of an order
		meant.Message = "FedEx declined to look up the purchase"
	}
	return &meant
}

// hasReference reports whether a result is of our reference. FedEx may leave
// its identifiers out; then the search itself is the proof, since no two
// purchases have the same reference.
func (r *trackResult) hasReference(reference string) bool {
	namesReference := false
	for _, id := range r.Additional.Identifiers {
		if !slices.Contains(referenceTypes, id.Type) {
			continue
		}
		namesReference = true
		for _, value := range slices.Concat(id.Value, id.Values) {
			if strings.EqualFold(value, reference) {
				return true
			}
		}
	}
	return !namesReference
}

// foundSale returns the purchase of the pieces that carry the reference: those
// of the first shipment among them. A second one shows once the first is
// cancelled.
func foundSale(hits []trackResult, request *carrier.BuyOrder) (ship.Sale, error) {
	slices.SortStableFunc(hits, func(x, y trackResult) int { return cmp.Compare(x.sequence(), y.sequence()) })
	first := &hits[0]

	// The number of a later piece is not that of the shipment.
	master := first.master()
	if master == "" && first.sequence() > 1 {
		return ship.Sale{}, ship.Errorf(ship.Unavailable, "FedEx does not show the first piece yet")
	}
	master = cmp.Or(master, first.Number.TrackingNumber)

	purchase := ship.Sale{Service: request.Service, CarrierRef: master, TrackingNumber: master}
	if known, ok := serviceByCarrierCode(first.Service.Type); ok {
		purchase.Service = known.code
	}
	if len(request.Order.Parcels) > 1 {
		for _, hit := range hits {
			if shipment := hit.master(); shipment == "" || shipment == master {
				purchase.Pieces = append(purchase.Pieces, hit.Number.TrackingNumber)
			}
		}
	}
	return purchase, nil
}

// sequence returns the piece's position in its shipment; zero if FedEx does not
// say.
func (r *trackResult) sequence() int {
	n, _ := strconv.Atoi(r.Package.SequenceNumber)
	return n
}

// master returns the number of the shipment that the piece belongs to, if FedEx
// says so.
func (r *trackResult) master() string {
	for _, id := range r.Additional.Identifiers {
		if all := slices.Concat(id.Value, id.Values); id.Type == "STANDARD_MPS" && len(all) > 0 {
			return all[0]
		}
	}
	return ""
}
