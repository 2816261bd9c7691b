package shipping

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/waybillhq/waybill/internal/ship"
)

// AddDocument stores a file beside the documents of a shipment, and returns its
// number among them, from 1. The file is kept and erased as they are.
func (s *Service) AddDocument(ctx context.Context, t ship.Tenant, id ship.ShipmentID, kind string, data []byte) (number int, err error) {
	shipment, err := s.Shipment(ctx, t, id)
	if err != nil {
		return 0, err
	}

	format := ship.UploadFormat(data)
	switch {
	case !slices.Contains(ship.UploadTypes, kind):
		return 0, invalidUpload("/type", "invalid", "must be one of "+strings.Join(ship.UploadTypes, ", "))
	case len(data) > ship.MaxUploadBytes:
		return 0, invalidUpload("/data", "too_long", fmt.Sprintf("must be a file of at most %d MiB", ship.MaxUploadBytes>>20))
	case format == "":
		return 0, invalidUpload("/data", "invalid", "must be a PDF, PNG or JPEG file")

	// Files are numbered after the carrier's documents, which are known once the
	// label is bought.
	case shipment.State != ship.StatePurchased:
		return 0, ship.Coded(ship.Conflict, "label_not_ready", "the shipment has no valid label; documents can be added to bought shipments only")
	}

	before, err := s.store.AddUpload(ctx, t, id, ship.Document{Type: kind, Format: format, Data: data})
	if ship.KindOf(err) == ship.NotFound {
		return 0, ship.Coded(ship.Conflict, "too_many_documents", "the shipment was erased, or has %d uploaded documents already", ship.MaxUploads)
	}
	return len(shipment.Purchase.Documents) + before + 1, err
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
