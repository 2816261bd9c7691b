package ups

import (
	"context"
	"net/http"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// Find recovers the label that was sold under the reference. The answer has no
// price. A shipment that was voided since is not there: nothing is to be paid
// for it, and no label of it can be used.
func (d *driver) Find(ctx context.Context, b carrier.BuyOrder) (ship.Purchase, error) {
	a, err := d.lookUp(ctx, b.Reference)
	if err != nil {
		return ship.Purchase{}, absence(err)
	}
	return foundIn(a, b)
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
	case refusedWith(err, codeSeveral, codeTooMany):
		return as(ship.Conflict, "UPS has several shipments under this reference", err)
	}
	return err
}

// foundIn reads the answer of a look-up.
func foundIn(a recoveryAnswer, b carrier.BuyOrder) (ship.Purchase, error) {
	r := a.LabelRecoveryResponse
	if said := r.Response.context(); said != "" && said != b.Reference {
		return ship.Purchase{}, ship.Errorf(ship.Unavailable, "UPS answered about another shipment")
	}
	if len(r.LabelResults) == 0 && len(r.TrackingCandidate) > 1 {
		return ship.Purchase{}, ship.Errorf(ship.Conflict, "UPS has several shipments under this reference")
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

// lookUp asks for the labels of a reference.
func (d *driver) lookUp(ctx context.Context, ref string) (recoveryAnswer, error) {
	var body recoveryRequest
	r := &body.LabelRecoveryRequest
	r.Request.SubVersion = "1903"
	r.Request.TransactionReference.CustomerContext = ref
	r.LabelSpecification = gif()
	r.ReferenceValues = referenceValues{ReferenceNumber: referenceNumber{Value: ref}, ShipperNumber: d.account}
	var a recoveryAnswer
	err := d.call(ctx, carrierkit.Call{Method: http.MethodPost, URL: d.base + "/labels/v1/recovery", Body: body}, &a)
	return a, err
}
