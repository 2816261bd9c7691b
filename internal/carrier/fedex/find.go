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

// Find returns the shipment that carries our reference, without its label and
// its price, which FedEx does not give again. A cancelled shipment counts as
// not bought: nobody can send it.
func (d *driver) Find(ctx context.Context, request carrier.BuyOrder) (ship.Sale, error) {
	call := carrierkit.Call{
		Method: http.MethodPost,
		URL:    d.base + findPath,
		Body:   d.findRequest(&request, time.Now()),
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
		return foundSale(hits, &request)
	}

	// A purchase that is not found is bought again. Only FedEx's own word that
	// the reference is unknown counts as such; any other fault, and an answer
	// with nothing at all, proves nothing.
	for _, fault := range faults {
		if !isAbsent(fault.Code) {
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

func (d *driver) findRequest(request *carrier.BuyOrder, now time.Time) findRequest {
	begin, end := shipWindow(request, now)
	return findRequest{References: referenceSearch{
		Type:          ourReference,
		Value:         request.Reference,
		AccountNumber: d.account,
		DateBegin:     begin,
		DateEnd:       end,
		DateEndDate:   end,
	}}
}

// shipWindow returns the days on which the parcel may be sent, with a day added
// on each side. FedEx moves a day that has passed to the day of the purchase,
// and counts in the sender's zone.
func shipWindow(request *carrier.BuyOrder, now time.Time) (begin, end string) {
	const day = 24 * time.Hour

	first := now.Add(-2 * day)
	switch {
	case request.Order.ShipDate != "":
		first = request.Order.ShipDate.Time()
	case request.Shipment != "":
		first = request.Shipment.Raw().Time()
	}

	last := now
	if first.After(last) {
		last = first
	}
	return string(ship.DateOf(first.Add(-day))), string(ship.DateOf(last.Add(day)))
}

// isAbsent reports whether a code means that the reference is unknown. The
// general NOT.FOUND.ERROR is about the path, not about the reference.
func isAbsent(code string) bool {
	return strings.HasPrefix(code, "TRACKING.") && strings.HasSuffix(code, "NOTFOUND")
}

// lookupError gives a refusal the kind that it has for a look-up. A purchase is
// bought again once it is not found, so a bare 404 of a gateway is not taken
// for an answer.
func lookupError(err error) error {
	refused, ok := errors.AsType[*ship.Error](err)
	switch {
	case !ok:
		return err

	case (refused.Kind == ship.NotFound || refused.Kind == ship.Invalid) && isAbsent(refused.Refusal.Code):
		absent := *refused
		absent.Kind = ship.NotFound
		return &absent

	case refused.Kind == ship.NotFound, refused.Refusal.Code == requestMismatch:
		unavailable := *refused
		unavailable.Kind = ship.Unavailable
		return &unavailable
	}
	return err
}

// hasReference reports whether a result is of our reference. FedEx may leave
// its identifiers out; then the search itself is the proof, since no two
// purchases have the same reference.
func (r *trackResult) hasReference(reference string) bool {
	namesReference := false
	for _, id := range r.Additional.Identifiers {
		if id.Type != ourReference && id.Type != "SHIPPER_REFERENCE" {
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
