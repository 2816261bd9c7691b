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
// price. A shipment that was voided since is not found: nothing is to be paid
// for it, and its label cannot be used.
//
// Label Recovery takes a reference and answers with labels, or with candidates
// only. UPS's own specification contradicts itself about whether it finds
// forward labels by reference, so what it does not find is looked for once more
// by tracking. Nothing is adopted that UPS does not tie to this reference, and
// nothing counts as absent unless both say so. A sale that only tracking knows
// is returned without its label.
func (d *driver) Find(ctx context.Context, request carrier.BuyOrder) (ship.Sale, error) {
	answer, err := d.lookUp(ctx, request.Reference)
	switch {
	case isUnknown(err), isVoided(err):
		return d.findByTracking(ctx, request)

	case isRefusedWith(err, codeSeveral, codeTooMany):
		purchase, err := d.findByTracking(ctx, request)
		if ship.KindOf(err) == ship.NotFound {
			return purchase, severalFound() // one of the two answers is wrong
		}
		return purchase, err

	case err != nil:
		return ship.Sale{}, lookupError(err)
	}

	recovered := answer.LabelRecoveryResponse
	if reference := recovered.Response.context(); reference != "" && reference != request.Reference {
		return ship.Sale{}, ship.Errorf(ship.Unavailable, "UPS returned a different shipment")
	}
	if len(recovered.LabelResults) > 0 || len(recovered.TrackingCandidate) == 0 {
		return recoveredSale(answer, request)
	}

	var numbers []string
	for _, candidate := range recovered.TrackingCandidate {
		if isSameZip(candidate.DestinationPostalCode, request.Order.Destination) {
			numbers = append(numbers, candidate.TrackingNumber)
		}
	}
	for _, number := range numbers {
		if err := d.verify(ctx, number, request.Reference); err != nil {
			return ship.Sale{}, err
		}
	}
	return d.recoverAll(ctx, request, numbers)
}

// verify refuses a candidate that tracking lists only under other references.
// A parcel that tracking does not know yet is accepted as UPS offered it.
func (d *driver) verify(ctx context.Context, number, reference string) error {
	if isPlaceholder(number) {
		return nil
	}
	answer, known, err := d.trackNumber(ctx, "details", number)
	if err != nil || !known {
		return err
	}

	for _, parcel := range answer.packages() {
		isListed := len(parcel.ReferenceNumber) > 0
		if strings.EqualFold(string(parcel.TrackingNumber), number) && isListed && !parcel.hasReference(reference) {
			return ship.Errorf(ship.Conflict, "UPS returned shipments that do not have this reference")
		}
	}
	return nil
}

// isUnknown reports whether Label Recovery knows no such shipment.
func isUnknown(err error) bool { return isRefusedWith(err, codeUnknown, codeUnknownListed) }

// isVoided reports whether Label Recovery knows the shipment, and that it is void.
func isVoided(err error) bool { return isRefusedWith(err, codeWasVoided, codeVoidedListed) }

// lookupError gives a failed look-up the kind that says what it proves.
func lookupError(err error) error {
	switch {
	case isVoided(err):
		return withKind(ship.NotFound, "the UPS shipment under this reference is voided", err)
	case ship.KindOf(err) == ship.NotFound:
		// A bare 404 is about the path and says nothing about the shipment:
		// taken for absence it would buy a second label.
		return withKind(ship.Unavailable, "the configured UPS URL has no shipment look-up", err)
	case isRefusedWith(err, codeRecoveryAway, codeNotYet):
		return withKind(ship.Unavailable, "UPS cannot look up the shipment right now", err)
	}
	return err
}

// severalFound is the error of a look-up that cannot say which of several
// shipments is meant.
func severalFound() error {
	return ship.Errorf(ship.Conflict, "UPS has several shipments under this reference")
}

// isSameZip reports whether a postal code that UPS gives can be that of the
// address. UPS may leave out the last part of a North American one.
func isSameZip(given string, destination ship.Address) bool {
	strip := func(s string) string {
		return strings.ToUpper(strings.NewReplacer(" ", "", "-", "").Replace(s))
	}
	theirs := strip(given)
	ours := strip(destination.Zip)
	if theirs == "" || ours == "" {
		return true
	}

	n := min(len(theirs), len(ours))
	return n >= 3 && theirs[:n] == ours[:n]
}

// recoveredSale reads the answer of a look-up.
func recoveredSale(answer recoveryAnswer, request carrier.BuyOrder) (ship.Sale, error) {
	recovered := answer.LabelRecoveryResponse
	if slices.ContainsFunc(recovered.LabelResults, func(l labelResult) bool { return isPlaceholder(l.TrackingNumber) }) {
		return ship.Sale{}, ship.Errorf(ship.NotFound, "the UPS test environment does not store shipments")
	}
	if len(recovered.LabelResults) > len(request.Order.Parcels) {
		return ship.Sale{}, severalFound()
	}

	purchase := ship.Sale{Service: request.Service, CarrierRef: recovered.ShipmentIdentificationNumber}
	labels := make([]piece, len(recovered.LabelResults))
	for i, result := range recovered.LabelResults {
		labels[i] = piece{result.TrackingNumber, result.LabelImage.LabelImageFormat.Code, result.LabelImage.GraphicImage}
		for _, form := range result.Form {
			purchase.Documents = appendDocument(purchase.Documents, "commercial_invoice", form.Image)
		}
	}
	for _, form := range recovered.Form {
		purchase.Documents = appendDocument(purchase.Documents, "commercial_invoice", form.Image)
	}

	if err := addPieces(&purchase, labels, len(request.Order.Parcels)); err != nil {
		return ship.Sale{}, err
	}
	if purchase.CarrierRef == "" {
		purchase.CarrierRef = purchase.TrackingNumber // a shipment has the number of its first parcel
	}
	return purchase, nil
}

// recoverAll recovers the labels of the parcels with these numbers, which must
// be those of one shipment.
func (d *driver) recoverAll(ctx context.Context, request carrier.BuyOrder, numbers []string) (ship.Sale, error) {
	slices.Sort(numbers) // UPS counts the parcels of a shipment up
	numbers = slices.Compact(numbers)
	parcels := len(request.Order.Parcels)
	switch {
	case slices.ContainsFunc(numbers, isPlaceholder):
		return ship.Sale{}, ship.Errorf(ship.NotFound, "the UPS test environment does not store shipments")
	case len(numbers) == 0:
		// UPS knows the reference, but not for where this parcel goes.
		return ship.Sale{}, ship.Errorf(ship.Conflict, "UPS has a shipment to a different destination under this reference")
	case len(numbers) > parcels:
		return ship.Sale{}, severalFound()
	}

	if len(numbers) < parcels {
		// The reference of a shipment may bring only its first parcel.
		siblings, err := d.shipmentNumbers(ctx, numbers[0])
		if err != nil {
			return ship.Sale{}, err
		}
		if len(siblings) == parcels {
			numbers = siblings
		}
	}

	var all recoveryAnswer
	for _, number := range numbers {
		answer, err := d.recoverOne(ctx, number, request.Reference)
		if isUnknown(err) {
			return unlabelledSale(request, numbers)
		}
		if err != nil {
			return ship.Sale{}, lookupError(err)
		}
		recovered := answer.LabelRecoveryResponse
		if len(recovered.LabelResults) == parcels {
			all = answer // one number brings the labels of the whole shipment
			break
		}

		found := &all.LabelRecoveryResponse
		if found.ShipmentIdentificationNumber != "" && found.ShipmentIdentificationNumber != recovered.ShipmentIdentificationNumber {
			return ship.Sale{}, severalFound()
		}
		found.ShipmentIdentificationNumber = recovered.ShipmentIdentificationNumber
		found.LabelResults = append(found.LabelResults, recovered.LabelResults...)
		if len(found.Form) == 0 {
			found.Form = recovered.Form
		}
	}

	for _, result := range all.LabelRecoveryResponse.LabelResults {
		if len(numbers) == parcels && !slices.Contains(numbers, result.TrackingNumber) {
			return ship.Sale{}, ship.Errorf(ship.Unavailable, "UPS returned a different shipment")
		}
	}
	return recoveredSale(all, request)
}

// unlabelledSale returns the sale of parcels that UPS lists under the reference,
// and whose labels Label Recovery does not have. They were sold: to call them
// absent would buy them a second time.
func unlabelledSale(request carrier.BuyOrder, numbers []string) (ship.Sale, error) {
	if len(numbers) != len(request.Order.Parcels) {
		return ship.Sale{}, ship.Errorf(ship.Unavailable, "UPS does not show all parcels of the shipment yet")
	}

	purchase := ship.Sale{
		Service:        request.Service,
		CarrierRef:     numbers[0], // a shipment has the number of its first parcel
		TrackingNumber: numbers[0],
	}
	if len(numbers) > 1 {
		purchase.Pieces = numbers
	}
	return purchase, nil
}

// shipmentNumbers returns the numbers of all parcels of the shipment that a
// parcel belongs to, as far as tracking knows them.
func (d *driver) shipmentNumbers(ctx context.Context, number string) (numbers []string, _ error) {
	answer, known, err := d.trackNumber(ctx, "shipment/details", number)
	if err != nil || !known {
		return nil, err
	}

	for _, parcel := range answer.packages() {
		if sibling := strings.ToUpper(string(parcel.TrackingNumber)); isPlausibleNumber(sibling) {
			numbers = append(numbers, sibling)
		}
	}
	slices.Sort(numbers)
	return slices.Compact(numbers), nil
}

// findByTracking is the second look-up: it asks tracking for the reference, and
// finds the labels by the numbers.
func (d *driver) findByTracking(ctx context.Context, request carrier.BuyOrder) (ship.Sale, error) {
	parcels, err := d.trackReference(ctx, request.Reference, time.Now())
	if err != nil {
		return ship.Sale{}, err
	}

	var numbers []string
	foreign := 0
	for _, parcel := range parcels {
		switch number := strings.ToUpper(string(parcel.TrackingNumber)); {
		case parcel.isVoided():
		case isPlaceholder(number):
		case !parcel.hasReference(request.Reference), !parcel.goesTo(request.Order.Destination):
			foreign++
		default:
			numbers = append(numbers, number)
		}
	}

	// Parcels that only look like ours are neither adopted nor taken for the
	// absence of one: a person has to decide.
	if len(numbers) == 0 {
		if foreign > 0 {
			return ship.Sale{}, ship.Errorf(ship.Conflict, "UPS returned shipments that do not have this reference")
		}
		return ship.Sale{}, ship.Errorf(ship.NotFound, "UPS has no shipment under this reference")
	}
	return d.recoverAll(ctx, request, numbers)
}

// How far around now the second look-up goes: labels are recovered for 30
// days, and sold up to a week ahead.
const (
	lookBack  = 30 * 24 * time.Hour
	lookAhead = (maxDaysAhead + 1) * 24 * time.Hour
)

// trackReference returns what tracking knows under a reference of the account.
func (d *driver) trackReference(ctx context.Context, reference string, now time.Time) ([]trackedPackage, error) {
	query := url.Values{
		"locale":         {"en_US"},
		"shipperNum":     {d.account},
		"fromPickUpDate": {compact(now.Add(-lookBack))},
		"toPickUpDate":   {compact(now.Add(lookAhead))},
		"refNumType":     {"SmallPackage"},
	}

	var answer trackAnswer
	err := d.call(ctx, carrierkit.Call{
		Method: http.MethodGet,
		URL:    d.base + "/track/v1/reference/details/" + url.PathEscape(reference) + "?" + query.Encode(),
	}, &answer)

	// Only UPS's own code for unknown references is an absence; a refusal to
	// search, or an answer about nothing, is none.
	switch {
	case isRefusedWith(err, codeNoTracking):
		return nil, nil
	case ship.KindOf(err) == ship.NotFound:
		return nil, withKind(ship.Unavailable, "UPS could not search for the reference", err)
	case err != nil:
		return nil, err
	}
	parcels := answer.packages()
	if len(parcels) == 0 && !answer.warns(codeNoTracking) {
		return nil, ship.Errorf(ship.Unavailable, "UPS sent no tracking data")
	}
	return parcels, nil
}

// lookUp asks for the labels of a reference.
func (d *driver) lookUp(ctx context.Context, reference string) (recoveryAnswer, error) {
	return d.recovery(ctx, reference, "", &referenceValues{
		ReferenceNumber: referenceNumber{Value: reference},
		ShipperNumber:   d.account,
	})
}

// recoverOne asks for the label of a parcel by its number, on behalf of a
// reference.
func (d *driver) recoverOne(ctx context.Context, number, reference string) (recoveryAnswer, error) {
	answer, err := d.recovery(ctx, reference, number, nil)
	if err != nil {
		return answer, err
	}
	if echoed := answer.LabelRecoveryResponse.Response.context(); echoed != "" && echoed != reference {
		return answer, ship.Errorf(ship.Unavailable, "UPS returned a different shipment")
	}
	return answer, nil
}

// recovery asks for labels, by the number of a parcel or by a reference.
func (d *driver) recovery(ctx context.Context, echoed, number string, by *referenceValues) (answer recoveryAnswer, err error) {
	var body recoveryRequest
	request := &body.LabelRecoveryRequest
	request.Request.SubVersion = "1903"
	request.Request.TransactionReference.CustomerContext = echoed
	request.LabelSpecification = gif()
	request.TrackingNumber = number
	request.ReferenceValues = by

	err = d.call(ctx, carrierkit.Call{Method: http.MethodPost, URL: d.base + "/labels/v1/recovery", Body: body}, &answer)
	return answer, err
}

// isVoided reports whether the label of the parcel was voided.
func (p trackedPackage) isVoided() bool {
	status := p.CurrentStatus.value
	return status.Type == "MV" || status.StatusCode == "007" || status.StatusCode == "043"
}

// hasReference reports whether UPS lists the reference with the parcel.
func (p trackedPackage) hasReference(reference string) bool {
	for _, listed := range p.ReferenceNumber {
		if strings.EqualFold(string(listed.value.Number), reference) {
			return true
		}
	}
	return false
}

// goesTo reports whether the parcel can be going to the address.
func (p trackedPackage) goesTo(destination ship.Address) bool {
	for _, place := range p.PackageAddress {
		if strings.EqualFold(string(place.value.Type), "destination") && !isSameZip(string(place.value.Address.value.PostalCode), destination) {
			return false
		}
	}
	return true
}
