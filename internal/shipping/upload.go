package shipping

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// An AddedDocument is a file that was stored.
type AddedDocument struct {
	Number int  // among the documents of the shipment, from 1
	IsSent bool // it is sent to the carrier, and not only kept
}

// AddDocument stores a file beside the documents of a shipment, and queues it for
// the carrier if it takes such documents. The file is kept and erased as the others
// are.
func (s *Service) AddDocument(ctx context.Context, t ship.Tenant, id ship.ShipmentID, kind string, data []byte) (AddedDocument, error) {
	shipment, err := s.Shipment(ctx, t, id)
	if err != nil {
		return AddedDocument{}, err
	}

	format := ship.UploadFormat(data)
	switch {
	case !slices.Contains(ship.UploadTypes, kind):
		return AddedDocument{}, invalidUpload("/type", "invalid", "must be one of "+strings.Join(ship.UploadTypes, ", "))
	case len(data) > ship.MaxUploadBytes:
		return AddedDocument{}, invalidUpload("/data", "too_long", fmt.Sprintf("must be a file of at most %d MiB", ship.MaxUploadBytes>>20))
	case format == "":
		return AddedDocument{}, invalidUpload("/data", "invalid", "must be a PDF, PNG or JPEG file")

	// Files are numbered after the carrier's documents, which are known once the
	// label is bought.
	case shipment.State != ship.StatePurchased:
		return AddedDocument{}, ship.Coded(ship.Conflict, "label_not_ready", "the shipment has no valid label; documents can be added to bought shipments only")
	}

	submission, err := s.submissionOf(ctx, shipment, kind)
	if err != nil {
		return AddedDocument{}, err
	}
	before, err := s.store.AddUpload(ctx, t, id, ship.Document{Type: kind, Format: format, Data: data}, submission)
	if ship.KindOf(err) == ship.NotFound {
		return AddedDocument{}, ship.Coded(ship.Conflict, "too_many_documents", "the shipment was erased, or has %d uploaded documents already", ship.MaxUploads)
	}
	return AddedDocument{Number: len(shipment.Purchase.Documents) + before + 1, IsSent: submission != nil}, err
}

// submissionOf returns what is queued for the carrier of a shipment; nil if it does
// not take such documents.
func (s *Service) submissionOf(ctx context.Context, shipment ship.Shipment, kind string) (*store.DocumentSubmission, error) {
	c, err := s.accounts.Seller(ctx, shipment.Tenant, shipment.Purchase)
	if err != nil {
		return nil, err
	}
	if !c.TakesDocument(&shipment.Order, kind) {
		return nil, nil
	}
	return &store.DocumentSubmission{
		ID:         ship.NewRawID(shipment.Tenant.Shard(), time.Now()),
		Carrier:    shipment.Purchase.Carrier,
		Connection: shipment.Purchase.Connection,
	}, nil
}

func invalidUpload(pointer, code, detail string) error {
	return ship.InvalidFields([]ship.FieldError{{Pointer: pointer, Code: code, Detail: detail}})
}

// uploaded returns an uploaded document by its number among all documents of the
// shipment; false if the number is that of a carrier's document.
func (s *Service) uploaded(ctx context.Context, sh ship.Shipment, number int) (document ship.Document, isUpload bool, err error) {
	position := number - len(sh.Purchase.Documents) - 1
	if position < 0 || position >= len(sh.Uploads) {
		return ship.Document{}, false, nil
	}

	document, err = s.store.Upload(ctx, sh.Tenant, sh.ID, position)
	if ship.KindOf(err) == ship.NotFound {
		err = ship.Coded(ship.Gone, "label_erased", "the document is no longer kept")
	}
	return document, true, err
}
