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

// cancelled is the status of a shipment that was taken back.
const cancelled = "CA"

// Find returns the shipment that carries our reference, without its label and
// its price, which FedEx does not give again. One that was cancelled counts as
// not bought: nobody can send it.
func (d *driver) Find(ctx context.Context, b carrier.BuyOrder) (ship.Purchase, error) {
	var answer findAnswer
	call := carrierkit.Call{Method: http.MethodPost, URL: d.base + findPath, Body: d.findRequest(&b, time.Now())}
	if err := d.call(ctx, d.track, call, &answer); err != nil {
		return ship.Purchase{}, unfound(err)
	}
	if answer.Output == nil {
		return ship.Purchase{}, ship.Errorf(ship.Unavailable, "FedEx sent no answer to the look-up")
	}
	var hits []trackResult
	absences, faults := 0, answer.Output.Errors
	for _, complete := range answer.Output.Results {
		for _, r := range complete.TrackResults {
			switch {
			case r.Error != nil && r.Error.Code != "":
				faults = append(faults, *r.Error)
			case r.Latest.Code == cancelled, !r.carries(b.Reference):
				absences++
			case r.Number.TrackingNumber != "":
				hits = append(hits, r)
			}
		}
	}
	if len(hits) > 0 {
		return found(hits, &b)
	}
	for _, f := range faults {
		if !saysAbsent(f.Code) {
			return ship.Purchase{}, &ship.Error{Kind: ship.Unavailable, Message: "FedEx could not look the purchase up", Refusal: ship.Refusal{Code: f.Code, Message: f.Message}}
		}
		absences++
	}
	if absences == 0 {
		// Nothing at all is no proof that nothing was bought.
		return ship.Purchase{}, ship.Errorf(ship.Unavailable, "FedEx answered the look-up with nothing")
	}
	return ship.Purchase{}, ship.Errorf(ship.NotFound, "FedEx has no such shipment")
}

func (d *driver) findRequest(b *carrier.BuyOrder, now time.Time) findRequest {
	begin, end := shipWindow(b, now)
	return findRequest{References: referenceSearch{
		Type: ourReference, Value: b.Reference, AccountNumber: d.account, DateBegin: begin, DateEnd: end, DateEndDate: end,
	}}
}

// shipWindow is the days on which the parcel may be sent. FedEx moves a day
// that has passed to the day of the purchase, and counts in the sender's zone.
func shipWindow(b *carrier.BuyOrder, now time.Time) (begin, end string) {
	const day = 24 * time.Hour
	first := now.Add(-2 * day)
	switch {
	case b.Order.ShipDate != "":
		first = b.Order.ShipDate.Time()
	case b.Shipment != "":
		first = b.Shipment.Raw().Time()
	}
	last := now
	if first.After(last) {
		last = first
	}
	return string(ship.DateOf(first.Add(-day))), string(ship.DateOf(last.Add(day)))
}

// saysAbsent reports whether a code means that the reference is unknown. The
// general NOT.FOUND.ERROR is about the path, not about the reference.
func saysAbsent(code string) bool {
	return strings.HasPrefix(code, "TRACKING.") && strings.HasSuffix(code, "NOTFOUND")
}

// unfound makes a refusal mean what it means for a look-up. A purchase is
// bought again once it is not found, so a bare 404 of a gateway is no answer.
func unfound(err error) error {
	e, ok := errors.AsType[*ship.Error](err)
	switch {
	case !ok:
		return err
	case (e.Kind == ship.NotFound || e.Kind == ship.Invalid) && saysAbsent(e.Refusal.Code):
		absent := *e
		absent.Kind = ship.NotFound
		return &absent
	case e.Kind == ship.NotFound, e.Refusal.Code == requestMismatch:
		away := *e
		away.Kind = ship.Unavailable
		return &away
	}
	return err
}

// carries reports whether a result is of our reference. FedEx may leave its
// identifiers out; then the search itself is the proof, since no two purchases
// have the same reference.
func (r *trackResult) carries(reference string) bool {
	told := false
	for _, id := range r.Additional.Identifiers {
		if id.Type != ourReference && id.Type != "SHIPPER_REFERENCE" {
			continue
		}
		told = true
		for _, v := range slices.Concat(id.Value, id.Values) {
			if strings.EqualFold(v, reference) {
				return true
			}
		}
	}
	return !told
}

// found is the purchase of the pieces that carry the reference: those of the
// first shipment among them. A second one shows once the first is cancelled.
func found(hits []trackResult, b *carrier.BuyOrder) (ship.Purchase, error) {
	slices.SortStableFunc(hits, func(x, y trackResult) int { return cmp.Compare(x.sequence(), y.sequence()) })
	master := hits[0].master()
	if master == "" && hits[0].sequence() > 1 {
		return ship.Purchase{}, ship.Errorf(ship.Unavailable, "FedEx does not show the first piece yet")
	}
	master = cmp.Or(master, hits[0].Number.TrackingNumber)
	p := ship.Purchase{Service: b.Service, CarrierRef: master, TrackingNumber: master}
	if s, known := serviceNamed(hits[0].Service.Type); known {
		p.Service = s.code
	}
	if len(b.Order.Parcels) > 1 {
		for _, h := range hits {
			if of := h.master(); of == "" || of == master {
				p.Pieces = append(p.Pieces, h.Number.TrackingNumber)
			}
		}
	}
	return p, nil
}

// sequence is the piece's place in its shipment; zero if FedEx does not say.
func (r *trackResult) sequence() int {
	n, _ := strconv.Atoi(r.Package.SequenceNumber)
	return n
}

// master is the number of the shipment that the piece belongs to, if FedEx
// says so.
func (r *trackResult) master() string {
	for _, id := range r.Additional.Identifiers {
		if all := slices.Concat(id.Value, id.Values); id.Type == "STANDARD_MPS" && len(all) > 0 {
			return all[0]
		}
	}
	return ""
}
