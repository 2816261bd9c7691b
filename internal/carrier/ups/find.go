package ups

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// Find recovers the label that was sold under the reference. The answer has no
// price. A shipment that was voided since is not there: nothing is to be paid
// for it, and no label of it can be used.
//
// Label Recovery takes a reference and answers with labels, or with candidates
// only. UPS's own file contradicts itself about whether it finds forward labels
// by reference, so what it does not find is looked for once more by tracking.
// Nothing is adopted that UPS does not tie to this reference; nothing is taken
// for absent unless both say so.
func (d *driver) Find(ctx context.Context, b carrier.BuyOrder) (ship.Purchase, error) {
	a, err := d.lookUp(ctx, b.Reference)
	switch {
	case refusedWith(err, codeUnknown):
		return d.findByTracking(ctx, b)
	case refusedWith(err, codeSeveral, codeTooMany):
		p, err := d.findByTracking(ctx, b)
		if ship.KindOf(err) == ship.NotFound {
			return p, severalFound() // one of the two is wrong
		}
		return p, err
	case err != nil:
		return ship.Purchase{}, absence(err)
	}

	r := a.LabelRecoveryResponse
	if said := r.Response.context(); said != "" && said != b.Reference {
		return ship.Purchase{}, ship.Errorf(ship.Unavailable, "UPS answered about another shipment")
	}
	if len(r.LabelResults) > 0 || len(r.TrackingCandidate) == 0 {
		return foundIn(a, b)
	}

	var numbers []string
	for _, one := range r.TrackingCandidate {
		if sameZip(one.DestinationPostalCode, b.Order.Destination) {
			numbers = append(numbers, one.TrackingNumber)
		}
	}
	for _, number := range numbers {
		if err := d.verify(ctx, number, b.Reference); err != nil {
			return ship.Purchase{}, err
		}
	}
	return d.recoverAll(ctx, b, numbers)
}

// verify refuses a candidate that tracking lists under other references alone.
// A parcel that tracking does not know yet has only UPS's word that it is a
// candidate for ours.
func (d *driver) verify(ctx context.Context, number, reference string) error {
	if isPlaceholder(number) {
		return nil
	}
	a, known, err := d.trackNumber(ctx, "details", number)
	if err != nil || !known {
		return err
	}
	for _, p := range a.packages() {
		listed := len(p.ReferenceNumber) > 0
		if strings.EqualFold(string(p.TrackingNumber), number) && listed && !p.carries(reference) {
			return ship.Errorf(ship.Conflict, "UPS shows shipments for this reference that do not carry it")
		}
	}
	return nil
}

// absence tells what a failed look-up proves.
func absence(err error) error {
	switch {
	case refusedWith(err, codeUnknown, codeWasVoided):
		return as(ship.NotFound, "UPS has no shipment under this reference", err)
	case ship.KindOf(err) == ship.NotFound:
		// A bare 404 is of the address, and says nothing about the shipment:
		// taken for absence it would buy a second label.
		return as(ship.Unavailable, "UPS does not look shipments up at this address", err)
	case refusedWith(err, codeRecoveryAway, codeNotYet):
		return as(ship.Unavailable, "UPS cannot look the shipment up now", err)
	}
	return err
}

// severalFound is the error of a look-up that cannot say which of several
// shipments is meant.
func severalFound() error {
	return ship.Errorf(ship.Conflict, "UPS has several shipments under this reference")
}

// sameZip reports whether a postal code that UPS gives can be that of the
// address. UPS may leave out the last part of a North American one.
func sameZip(given string, a ship.Address) bool {
	strip := func(s string) string {
		return strings.ToUpper(strings.NewReplacer(" ", "", "-", "").Replace(s))
	}
	theirs := strip(given)
	ours := strip(a.Zip)
	if theirs == "" || ours == "" {
		return true
	}
	n := min(len(theirs), len(ours))
	return n >= 3 && theirs[:n] == ours[:n]
}

// foundIn reads the answer of a look-up.
func foundIn(a recoveryAnswer, b carrier.BuyOrder) (ship.Purchase, error) {
	r := a.LabelRecoveryResponse
	if slices.ContainsFunc(r.LabelResults, func(l labelResult) bool { return isPlaceholder(l.TrackingNumber) }) {
		return ship.Purchase{}, ship.Errorf(ship.NotFound, "the test environment of UPS keeps no shipments")
	}
	if len(r.LabelResults) > len(b.Order.Parcels) {
		return ship.Purchase{}, severalFound()
	}

	p := ship.Purchase{Service: b.Service, CarrierRef: r.ShipmentIdentificationNumber}
	labels := make([]piece, len(r.LabelResults))
	for i, one := range r.LabelResults {
		labels[i] = piece{one.TrackingNumber, one.LabelImage.LabelImageFormat.Code, one.LabelImage.GraphicImage}
		for _, f := range one.Form {
			p.Documents = appendDocument(p.Documents, "commercial_invoice", f.Image)
		}
	}
	for _, f := range r.Form {
		p.Documents = appendDocument(p.Documents, "commercial_invoice", f.Image)
	}
	if err := fill(&p, labels, len(b.Order.Parcels)); err != nil {
		return ship.Purchase{}, err
	}
	if p.CarrierRef == "" {
		p.CarrierRef = p.TrackingNumber // a shipment has the number of its first parcel
	}
	return p, nil
}

// recoverAll recovers the labels of the parcels with these numbers, which must
// be those of one shipment.
func (d *driver) recoverAll(ctx context.Context, b carrier.BuyOrder, numbers []string) (ship.Purchase, error) {
	slices.Sort(numbers) // UPS counts the parcels of a shipment up
	numbers = slices.Compact(numbers)
	switch {
	case slices.ContainsFunc(numbers, isPlaceholder):
		return ship.Purchase{}, ship.Errorf(ship.NotFound, "the test environment of UPS keeps no shipments")
	case len(numbers) == 0:
		// UPS knows the reference, but not for where this parcel goes.
		return ship.Purchase{}, ship.Errorf(ship.Conflict, "UPS has a shipment to another place under this reference")
	case len(numbers) > len(b.Order.Parcels):
		return ship.Purchase{}, severalFound()
	}

	if len(numbers) < len(b.Order.Parcels) {
		// The reference of a shipment may bring its first parcel alone.
		more, err := d.shipmentNumbers(ctx, numbers[0])
		if err != nil {
			return ship.Purchase{}, err
		}
		if len(more) == len(b.Order.Parcels) {
			numbers = more
		}
	}

	var all recoveryAnswer
	for _, number := range numbers {
		one, err := d.recoverOne(ctx, number, b.Reference)
		if err != nil {
			return ship.Purchase{}, absence(err)
		}
		r := one.LabelRecoveryResponse
		if len(r.LabelResults) == len(b.Order.Parcels) {
			all = one // one number brings the labels of the whole shipment
			break
		}

		found := &all.LabelRecoveryResponse
		if found.ShipmentIdentificationNumber != "" && found.ShipmentIdentificationNumber != r.ShipmentIdentificationNumber {
			return ship.Purchase{}, severalFound()
		}
		found.ShipmentIdentificationNumber = r.ShipmentIdentificationNumber
		found.LabelResults = append(found.LabelResults, r.LabelResults...)
		if len(found.Form) == 0 {
			found.Form = r.Form
		}
	}

	for _, l := range all.LabelRecoveryResponse.LabelResults {
		if len(numbers) == len(b.Order.Parcels) && !slices.Contains(numbers, l.TrackingNumber) {
			return ship.Purchase{}, ship.Errorf(ship.Unavailable, "UPS answered about another shipment")
		}
	}
	return foundIn(all, b)
}

// shipmentNumbers are the numbers of all parcels of the shipment that a parcel
// belongs to, as far as tracking knows them.
func (d *driver) shipmentNumbers(ctx context.Context, number string) (numbers []string, _ error) {
	a, known, err := d.trackNumber(ctx, "shipment/details", number)
	if err != nil || !known {
		return nil, err
	}
	for _, p := range a.packages() {
		if n := strings.ToUpper(string(p.TrackingNumber)); isNumber(n) {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	return slices.Compact(numbers), nil
}

// findByTracking is the second look-up: what tracking knows under the
// reference leads to the labels.
func (d *driver) findByTracking(ctx context.Context, b carrier.BuyOrder) (ship.Purchase, error) {
	parcels, err := d.trackReference(ctx, b.Reference, time.Now())
	if err != nil {
		return ship.Purchase{}, err
	}

	var numbers []string
	foreign := 0
	for _, p := range parcels {
		switch number := strings.ToUpper(string(p.TrackingNumber)); {
		case p.voided():
		case isPlaceholder(number):
		case !p.carries(b.Reference), !p.goesTo(b.Order.Destination):
			foreign++
		default:
			numbers = append(numbers, number)
		}
	}
	if len(numbers) == 0 {
		if foreign > 0 {
			return ship.Purchase{}, ship.Errorf(ship.Conflict, "UPS shows shipments for this reference that do not carry it")
		}
		return ship.Purchase{}, ship.Errorf(ship.NotFound, "UPS has no shipment under this reference")
	}
	return d.recoverAll(ctx, b, numbers)
}

// How far around now the second look-up goes: labels are recovered for 30
// days, and sold up to a week ahead.
const (
	lookBack  = 30 * 24 * time.Hour
	lookAhead = (maxDaysAhead + 1) * 24 * time.Hour
)

// trackReference is what tracking knows under a reference of the account.
func (d *driver) trackReference(ctx context.Context, reference string, now time.Time) ([]trackedPackage, error) {
	query := url.Values{
		"locale":         {"en_US"},
		"shipperNum":     {d.account},
		"fromPickUpDate": {compact(now.Add(-lookBack))},
		"toPickUpDate":   {compact(now.Add(lookAhead))},
		"refNumType":     {"SmallPackage"},
	}
	var a trackAnswer
	err := d.call(ctx, carrierkit.Call{
		Method: http.MethodGet,
		URL:    d.base + "/track/v1/reference/details/" + url.PathEscape(reference) + "?" + query.Encode(),
	}, &a)
	if known, err := trackingAnswer(a, err); err != nil || !known {
		return nil, err
	}
	return a.packages(), nil
}

// lookUp asks for the labels of a reference.
func (d *driver) lookUp(ctx context.Context, ref string) (recoveryAnswer, error) {
	return d.recovery(ctx, ref, "", &referenceValues{
		ReferenceNumber: referenceNumber{Value: ref},
		ShipperNumber:   d.account,
	})
}

// recoverOne asks for the label of a parcel by its number, on behalf of a
// reference.
func (d *driver) recoverOne(ctx context.Context, number, ref string) (recoveryAnswer, error) {
	a, err := d.recovery(ctx, ref, number, nil)
	if err != nil {
		return a, err
	}
	if said := a.LabelRecoveryResponse.Response.context(); said != "" && said != ref {
		return a, ship.Errorf(ship.Unavailable, "UPS answered about another shipment")
	}
	return a, nil
}

// recovery asks for labels, by the number of a parcel or by a reference.
func (d *driver) recovery(ctx context.Context, echoed, number string, by *referenceValues) (a recoveryAnswer, err error) {
	var body recoveryRequest
	r := &body.LabelRecoveryRequest
	r.Request.SubVersion = "1903"
	r.Request.TransactionReference.CustomerContext = echoed
	r.LabelSpecification = gif()
	r.TrackingNumber = number
	r.ReferenceValues = by

	err = d.call(ctx, carrierkit.Call{Method: http.MethodPost, URL: d.base + "/labels/v1/recovery", Body: body}, &a)
	return a, err
}
