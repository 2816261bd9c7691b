package inquiry

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/waybillhq/waybill/internal/label"
	"github.com/waybillhq/waybill/internal/ship"
)

// proofFormats are the formats of proofs that are shown.
var proofFormats = []string{"pdf", "png", "gif", "jpg"}

// Proof fetches the proof that a shipment was delivered from its carrier. It is not
// stored: it shows a person's name and signature.
func (s *Service) Proof(ctx context.Context, shipment ship.Shipment) (ship.Document, error) {
	switch {
	case shipment.IsErased:
		return ship.Document{}, noProof("the personal data of the shipment was erased, so its proof is not fetched")
	case shipment.State != ship.StatePurchased:
		return ship.Document{}, noProof("the shipment has no label that could be delivered")
	case shipment.Progress.Status != ship.Delivered:
		return ship.Document{}, noProof("the parcel is not delivered yet")
	}

	seller, err := s.accounts.Seller(ctx, shipment.Tenant, shipment.Purchase)
	if err != nil {
		return ship.Document{}, err
	}
	proof, err := seller.FetchProof(ctx, shipment.Purchase)
	switch kind := ship.KindOf(err); {
	case kind == ship.NotFound:
		return proof, noProof("%s has no proof of delivery of this parcel", seller.Spec().Title)
	case kind == ship.Unsupported:
		return proof, noProof("%s does not offer proofs of delivery", seller.Spec().Title)
	case err != nil:
		return proof, unavailable(err)
	}

	if !isSafe(proof) {
		return proof, ship.Coded(ship.Conflict, "label_quarantined",
			"the proof of delivery from %s is damaged, or not safe to open; get it from the carrier", seller.Spec().Title)
	}
	return proof, nil
}

// isSafe reports whether a proof is what its format says, and nothing besides. Its
// size is not limited as a label's is: a signature is small.
func isSafe(proof ship.Document) bool {
	// UPS issues proofs as pages. They are passed on as files to save, of a type
	// that no browser opens by itself.
	if proof.Format == "html" {
		return true
	}
	if !slices.Contains(proofFormats, proof.Format) {
		return false
	}
	err := label.Lint(proof.Format, proof.Data)
	found, ok := errors.AsType[*label.Finding](err)
	return err == nil || ok && found.Code == "image_size"
}

// OffersProof reports whether the carrier of a shipment has proofs of delivery.
func (s *Service) OffersProof(ctx context.Context, shipment ship.Shipment) (bool, error) {
	if shipment.IsErased || shipment.State != ship.StatePurchased {
		return false, nil
	}
	seller, err := s.accounts.Seller(ctx, shipment.Tenant, shipment.Purchase)
	if err != nil {
		return false, err
	}
	return slices.Contains(seller.Abilities(), "proof"), nil
}

func noProof(format string, args ...any) error {
	return ship.Coded(ship.NotFound, "proof_not_available", format, args...)
}

// unavailable is the answer to the client when the only carrier that could answer did
// not.
func unavailable(err error) error {
	failure := *ship.ErrorOf(err)
	if failure.Kind == ship.Internal {
		return err
	}
	return &ship.Error{
		Kind:       ship.Unavailable,
		Code:       "carrier_unavailable",
		Message:    failure.Message,
		Carrier:    failure.Carrier,
		Refusal:    failure.Refusal,
		RetryAfter: max(failure.RetryAfter, 5*time.Second),
		Err:        err,
	}
}
