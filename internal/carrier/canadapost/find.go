package canadapost

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// Find looks for a shipment by our reference, and fetches its label.
//
// Under a contract Canada Post documents a look-up by request id. Nothing found proves that nothing
// was bought only if the parameter was understood: otherwise a second label could be
// bought, so a person decides. The lists of the days around the sale are only there
// to find it: Canada Post does not say how long they are.
func (d driver) Find(ctx context.Context, request carrier.BuyOrder) (ship.Sale, error) {
	switch {
	case request.Order.IsReturn:
		// Canada Post has no list of return labels. One whose answer was lost
		// is not charged unless somebody uses it.
		return ship.Sale{}, ship.Errorf(ship.Unavailable, "Canada Post does not show whether there is a return label under the reference")
	case !d.hasContract():
		return d.findNonContract(ctx, request)
	}

	listed, err := d.listByRequestID(ctx, request.Reference)
	isAccepted := err == nil
	if err != nil && ship.KindOf(err) != ship.Invalid {
		return ship.Sale{}, err
	}

	// A look-up that shows the shipments of others has ignored the parameter.
	if slices.ContainsFunc(listed, func(s soldShipment) bool { return s.RequestID != request.Reference }) {
		isAccepted = false
	}
	for _, day := range searchDays(request, time.Now()) {
		if isAccepted {
			break
		}
		answer, err := d.list(ctx, url.Values{"noManifest": {"true"}, "date": {day}})
		if err != nil {
			return ship.Sale{}, err
		}
		listed = append(listed, answer.Shipments...)
	}

	found := slices.DeleteFunc(listed, func(s soldShipment) bool { return s.RequestID != request.Reference || s.ID == "" })
	if len(found) > 0 {
		first := slices.MinFunc(found, func(x, y soldShipment) int { return strings.Compare(x.ID, y.ID) })
		return d.sale(ctx, first, request)
	}

	isProof := false
	if isAccepted {
		if isProof, err = d.needsParameter(ctx); err != nil {
			return ship.Sale{}, err
		}
	}
	if !isProof {
		return ship.Sale{}, ship.Errorf(ship.Unavailable, "Canada Post does not show whether there is a shipment under the reference")
	}
	return ship.Sale{}, ship.Errorf(ship.NotFound, "Canada Post has no shipment under the reference")
}

// maxFollowed is how many links of a look-up are followed. A request id has one
// shipment; a list of many has ignored it.
const maxFollowed = 4

// listByRequestID returns the shipments that a look-up by request id shows: rows, or
// links that are followed.
func (d driver) listByRequestID(ctx context.Context, id string) ([]soldShipment, error) {
	answer, err := d.list(ctx, url.Values{"requestId": {id}}) // fact: lookup-request-id
	if err != nil {
		return nil, err
	}
	listed := answer.Shipments
	for i, to := range answer.Links {
		if i == maxFollowed {
			break
		}
		path, err := pathOf(to)
		if err != nil {
			return nil, err
		}
		var shown shipmentInfo
		if err := d.call(http.MethodGet, path, mediaShipment).Do(ctx, d.via, &shown); err != nil {
			return nil, explain(lookupError(err))
		}
		listed = append(listed, shown.soldShipment)
	}
	return listed, nil
}

// needsParameter reports whether Canada Post refuses a list without a parameter. If
// it does, it has understood the one that it accepted: one that it did not know
// would have been ignored, and the list refused like this one.
func (d driver) needsParameter(ctx context.Context) (bool, error) {
	_, err := d.list(ctx, url.Values{})
	if ship.KindOf(err) == ship.Invalid {
		return true, nil
	}
	return false, err
}

// list returns what a query shows.
func (d driver) list(ctx context.Context, query url.Values) (shipments, error) {
	query.Set("provideShipmentInfo", "true")
	var answer shipments
	call := d.call(http.MethodGet, d.shipmentPath()+"?"+query.Encode(), mediaShipment)
	if err := call.Do(ctx, d.via, &answer); err != nil {
		return shipments{}, explain(lookupError(err))
	}
	return answer, nil
}

// compactDate is how look-ups write a day.
const compactDate = "20060102"

// maxOpened is how many shipments a look-up opens. Each takes a call, and all must be
// opened to know that none has the reference.
const maxOpened = 40

// beforeSale is how long before the shipment was created the list begins, for clocks
// that differ.
const beforeSale = 10 * time.Minute

// findNonContract looks for a shipment among those that the account has bought since
// it was ordered. Canada Post lists them as links, and shows the reference of one in
// its details.
//
// fact: lookup-time-range
func (d driver) findNonContract(ctx context.Context, request carrier.BuyOrder) (ship.Sale, error) {
	if request.Shipment == "" {
		return ship.Sale{}, ship.Errorf(ship.Internal, "a look-up at Canada Post needs the id of the shipment, from which it begins")
	}

	// The end of the list is left out: then it is the time of the look-up.
	began := request.Shipment.Raw().Time().Add(-beforeSale)
	listed, err := d.listNonContract(ctx, began, time.Time{})
	if err != nil {
		return ship.Sale{}, err
	}

	isProof := false
	for i, to := range listed.Links {
		if i == maxOpened {
			return ship.Sale{}, ship.Errorf(ship.Unavailable, "Canada Post lists more shipments than a look-up can open, and the first %d do not have the reference", maxOpened)
		}
		address, err := pathOf(to)
		if err != nil {
			return ship.Sale{}, err
		}
		var details nonContractDetails
		if err := d.readNonContract(ctx, address+"/details", &details); err != nil {
			return ship.Sale{}, err
		}
		if details.References.Second != request.Reference {
			isProof = isProof || details.References.Second != ""
			continue
		}

		var sold nonContractInfo
		if err := d.readNonContract(ctx, address, &sold); err != nil {
			return ship.Sale{}, err
		}
		if sold.ID == "" {
			sold.ID = path.Base(address)
		}
		return d.nonContractSale(ctx, sold.soldShipment, request)
	}

	// A card is charged for every label, so an absence is believed only if the
	// same look-up shows the reference of another shipment.
	if !isProof {
		if isProof, err = d.showsReferences(ctx, began); err != nil {
			return ship.Sale{}, err
		}
	}
	if !isProof {
		return ship.Sale{}, ship.Errorf(ship.Unavailable, "Canada Post lists no other shipment with a reference, so it cannot be known whether there is one under this reference")
	}
	return ship.Sale{}, ship.Errorf(ship.NotFound, "Canada Post has no shipment under the reference")
}

// The shipments that prove that a look-up works: how long before the sale they were
// bought, and how many of them are opened.
const (
	proofPeriod = 3 * 24 * time.Hour
	maxProofs   = 5
)

// showsReferences reports whether the look-up shows the reference of a shipment that
// was bought before the time.
func (d driver) showsReferences(ctx context.Context, before time.Time) (bool, error) {
	listed, err := d.listNonContract(ctx, before.Add(-proofPeriod), before)
	if err != nil {
		return false, err
	}
	for _, to := range listed.Links[:min(len(listed.Links), maxProofs)] {
		address, err := pathOf(to)
		if err != nil {
			return false, err
		}
		var details nonContractDetails
		if err := d.readNonContract(ctx, address+"/details", &details); err != nil {
			return false, err
		}
		if details.References.Second != "" {
			return true, nil
		}
	}
	return false, nil
}

// listNonContract lists the shipments from one time to another; to the present if
// that is zero.
func (d driver) listNonContract(ctx context.Context, from, to time.Time) (nonContractList, error) {
	const minute = "200601021504"
	query := url.Values{"from": {from.In(ottawa()).Format(minute)}}
	if !to.IsZero() {
		query.Set("to", to.In(ottawa()).Format(minute))
	}
	var listed nonContractList
	err := d.readNonContract(ctx, d.nonContractPath()+"?"+query.Encode(), &listed)
	return listed, err
}

// readNonContract reads a part of a look-up.
func (d driver) readNonContract(ctx context.Context, address string, answer any) error {
	if err := d.call(http.MethodGet, address, mediaNonContract).Do(ctx, d.via, answer); err != nil {
		return explain(lookupError(err))
	}
	return nil
}

// ottawa is the time zone of Canada Post's own times.
//
// fact: lookup-times
func ottawa() *time.Location {
	return carrierkit.Place{Country: home, State: "ON", City: "Ottawa"}.ClosestZone()
}

// searchDays returns the days on which the shipment may be listed: that of its
// sale and today, both in Ottawa, where Canada Post is, and the day of mailing.
func searchDays(request carrier.BuyOrder, now time.Time) []string {
	zone := ottawa()
	days := []string{now.In(zone).Format(compactDate)}
	add := func(day string) {
		if day != "" && !slices.Contains(days, day) {
			days = append(days, day)
		}
	}

	if request.Shipment != "" {
		add(request.Shipment.Raw().Time().In(zone).Format(compactDate))
	}
	add(strings.ReplaceAll(string(request.Order.ShipDate), "-", ""))
	return days
}

// lookupError accepts "not found" only as Canada Post's own answer. A proxy or a
// wrong address also answers 404, and taking that for Canada Post's would buy a
// second label.
func lookupError(err error) error {
	notFound, ok := errors.AsType[*ship.Error](err)
	if ok && notFound.Kind == ship.NotFound {
		unsure := *notFound
		unsure.Kind = ship.Unavailable
		unsure.Message = "Canada Post did not list its shipments; check the configured URL"
		return &unsure
	}
	return err
}
