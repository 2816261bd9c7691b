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
	if bought := purchase.BoughtAt; !bought.IsZero() {
		// FedEx reuses its numbers, so the days are named on which the parcel may
		// have been sent.
		const day = 24 * time.Hour
		subject.DateBegin = string(ship.DateOf(bought.Add(-2 * day)))
		subject.DateEnd = string(ship.DateOf(bought.Add(30 * day)))
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
		if isAbsent(said.Code) {
			return ship.Document{}, noProof(ship.Refusal{Code: said.Code, Message: said.Message})
		}
	}
	return ship.Document{}, ship.Errorf(ship.Unavailable, "FedEx sent no proof of delivery")
}

// noProof is the error of a parcel that is not delivered, or that FedEx does not
// know.
func noProof(refusal ship.Refusal) error {
	return &ship.Error{
		Kind:    ship.NotFound,
		Message: "FedEx has no proof of delivery for this parcel",
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
	case (refused.Kind == ship.Invalid || refused.Kind == ship.NotFound) && isAbsent(refused.Refusal.Code):
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
