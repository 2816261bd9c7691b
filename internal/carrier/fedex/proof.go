package fedex

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

const proofPath = "/track/v1/trackingdocuments"

// The proof of a delivery.
type (
	proofRequest struct {
		Detail         proofDetail    `json:"trackDocumentDetail"`
		Specifications []proofSubject `json:"trackDocumentSpecification"`
	}
	proofDetail struct {
		Type   string `json:"documentType"`
		Format string `json:"documentFormat"`
	}
	proofSubject struct {
		Number        proofNumber `json:"trackingNumberInfo"`
		DateBegin     string      `json:"shipDateBegin,omitempty"`
		DateEnd       string      `json:"shipDateEnd,omitempty"`
		AccountNumber string      `json:"accountNumber"`
	}
	proofNumber struct {
		TrackingNumber string `json:"trackingNumber"`
	}
	proofAnswer struct {
		Output *struct {
			Format string `json:"documentFormat"`
			// FedEx documents one name and uses the other.
			Documents [][]byte `json:"documents"`
			Document  [][]byte `json:"document"`
			Alerts    []alert  `json:"alerts"`
		} `json:"output"`
	}
)

// FetchProof returns FedEx's letter about a delivery. With the number of the account
// that paid, it shows the signature.
func (d *driver) FetchProof(ctx context.Context, purchase ship.Purchase) (ship.Document, error) {
	subject := proofSubject{
		Number:        proofNumber{purchase.TrackingNumber},
		AccountNumber: d.account,
	}
	if dates := proofWindow(purchase.BoughtAt, time.Now()); dates != (window{}) {
		subject.DateBegin = dates.begin
		subject.DateEnd = dates.end
	}

	var answer proofAnswer
	err := d.call(ctx, d.track, carrierkit.Call{
		Method: http.MethodPost,
		URL:    d.base + proofPath,
		Body: proofRequest{
			Detail:         proofDetail{Type: "SIGNATURE_PROOF_OF_DELIVERY", Format: "PDF"},
			Specifications: []proofSubject{subject},
		},
	}, &answer)
	if err != nil {
		return ship.Document{}, explainProof(err)
	}
	return answer.document()
}

// furthestShipDate is how many days after a purchase its parcel may be sent, with
// some to spare: FedEx takes ship dates up to ten days ahead.
const furthestShipDate = 14

// proofWindow returns the days on which the parcel may have been sent, since FedEx
// reuses its numbers. The window must neither end in the future nor be too long
// (see searchWindow). The zone of the sender is not known here, so it ends on the
// last day that has begun everywhere; a parcel that was bought only then is asked
// for without dates.
func proofWindow(bought, now time.Time) window {
	const westernmost = -12 * time.Hour

	last := dayIn(now.Add(westernmost), time.UTC)
	day := dayIn(bought, time.UTC)
	if bought.IsZero() || !last.After(day) {
		return window{}
	}
	if latest := day.AddDate(0, 0, furthestShipDate); last.After(latest) {
		last = latest
	}
	return windowBetween(day.AddDate(0, 0, -2), last)
}

// document returns the proof of an answer.
func (a *proofAnswer) document() (ship.Document, error) {
	if a.Output == nil {
		return ship.Document{}, ship.Errorf(ship.Unavailable, "FedEx sent no proof of delivery")
	}
	if slices.ContainsFunc(a.Output.Alerts, func(a alert) bool { return a.Code == virtualResponse }) {
		return ship.Document{}, notTestable(ship.Refusal{Code: virtualResponse}) // that of another parcel
	}

	for _, data := range slices.Concat(a.Output.Documents, a.Output.Document) {
		if len(data) > 0 {
			return ship.Document{
				Type:   "proof_of_delivery",
				Format: strings.ToLower(cmp.Or(a.Output.Format, formatOf(data))),
				Data:   data,
			}, nil
		}
	}
	for _, said := range a.Output.Alerts {
		if isAbsent(said.Code) || said.Code == proofUnavailable {
			return ship.Document{}, noProof(ship.Refusal{Code: said.Code, Message: said.Message})
		}
	}
	return ship.Document{}, ship.Errorf(ship.Unavailable, "FedEx sent no proof of delivery")
}

// proofUnavailable is FedEx's code for a proof that does not exist yet: it may
// take up to five days after the delivery.
//
// fact: code-proof-unavailable
const proofUnavailable = "TRACKINGDOCUMENT.DOCUMENT.UNAVAILABLE"

// noProof is the error of a parcel that is not delivered, that FedEx does not
// know, or whose proof is not ready.
func noProof(refusal ship.Refusal) error {
	message := "FedEx has no proof of delivery for this parcel"
	if refusal.Code == proofUnavailable {
		message = "FedEx has no proof of delivery for this parcel yet: it may take up to five days after the delivery"
	}
	return &ship.Error{
		Kind:    ship.NotFound,
		Message: message,
		Refusal: refusal,
	}
}

// explainProof says what a refused proof means.
func explainProof(err error) error {
	failed, ok := errors.AsType[*ship.Error](err)
	if !ok {
		return err
	}
	refused := *failed
	switch {
	case (refused.Kind == ship.Invalid || refused.Kind == ship.NotFound) && (isAbsent(refused.Refusal.Code) || refused.Refusal.Code == proofUnavailable):
		return noProof(refused.Refusal)
	case isForbidden(err):
		refused.Message = "FedEx does not allow this project to fetch proofs of delivery; add the Track API to it in the developer portal"
	case refused.Kind == ship.NotFound:
		// The path is missing, which proves nothing about the parcel.
		refused.Kind = ship.Unavailable
		refused.Message = "FedEx has no proofs of delivery at the configured URL"
	case refused.Kind == ship.Invalid:
		refused.Fields = nil // they are those of an order
		refused.Message = "FedEx declined to send a proof of delivery"
	}
	return &refused
}
