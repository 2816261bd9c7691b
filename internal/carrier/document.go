package carrier

import (
	"context"
	"slices"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
)

// A DocumentRequest is a document that a client added to a shipment after the
// purchase, and our reference, unique for each document.
type DocumentRequest struct {
	Order     ship.Order
	Purchase  ship.Purchase
	Document  ship.Document // its type is one of Spec.Documents
	Reference string
}

// A DocumentUploader sends documents for customs to the carrier.
type DocumentUploader interface {
	// UploadDocument sends a document of a shipment that was bought. If it may
	// have reached the carrier and no answer was read, the error must be of kind
	// ship.Uncertain.
	UploadDocument(ctx context.Context, request DocumentRequest) (ship.DocumentReceipt, error)
}

// A DocumentFinder can look up whether a carrier has a document.
type DocumentFinder interface {
	// FindDocument returns an error of kind ship.NotFound if the carrier does
	// not have the document, and of kind ship.Unsupported if it does not show
	// whether it has.
	FindDocument(ctx context.Context, request DocumentRequest) (ship.DocumentReceipt, error)
}

// A DocumentPolicy is which documents a carrier takes after a purchase, and when.
type DocumentPolicy struct {
	Types []string // of ship.UploadTypes; none if it takes no documents
	// Apart is how long after the purchase, and after the document before it, the
	// carrier takes a document.
	Apart time.Duration
	// Announced says that the purchase must have announced that documents follow.
	Announced bool
}

// TakesDocument reports whether a document of the type can be sent for the order.
func (c *Carrier) TakesDocument(order *ship.Order, kind string) bool {
	_, canUpload := abilityOf[DocumentUploader](c, "documents")
	customs := order.Customs
	switch {
	case !canUpload || customs == nil || customs.Paperless == "off":
		return false
	case c.spec.Documents.Announced && !customs.DocumentsFollow:
		return false
	}
	return slices.Contains(c.spec.Documents.Types, kind)
}

// CanFindDocument reports whether a document whose answer was lost can be looked
// up.
func (c *Carrier) CanFindDocument() bool {
	_, ok := abilityOf[DocumentFinder](c, "find_documents")
	return ok
}

// UploadDocument sends a document to the carrier.
func (c *Carrier) UploadDocument(ctx context.Context, request DocumentRequest) (_ ship.DocumentReceipt, err error) {
	uploader, ok := abilityOf[DocumentUploader](c, "documents")
	if !ok {
		return ship.DocumentReceipt{}, c.errorf(ship.Unsupported, "%s does not take documents after a purchase", c.spec.Title)
	}

	ctx, done := c.begin(ctx, OpDocument, c.Deadlines.Document)
	defer func() { done(err) }()
	receipt, err := uploader.UploadDocument(ctx, request)
	if err != nil {
		return ship.DocumentReceipt{}, c.explain(err, ship.Uncertain)
	}
	receipt.ID = plain(receipt.ID)
	return receipt, nil
}

// FindDocument returns the receipt of a document, or an error of kind
// ship.NotFound if the carrier does not have it.
func (c *Carrier) FindDocument(ctx context.Context, request DocumentRequest) (_ ship.DocumentReceipt, err error) {
	finder, ok := abilityOf[DocumentFinder](c, "find_documents")
	if !ok {
		return ship.DocumentReceipt{}, c.errorf(ship.Unsupported, "%s cannot look up documents", c.spec.Title)
	}

	ctx, done := c.begin(ctx, OpFind, c.Deadlines.Find)
	defer func() { done(err) }()
	receipt, err := finder.FindDocument(ctx, request)
	if err != nil {
		return ship.DocumentReceipt{}, c.explain(err, ship.Unavailable)
	}
	receipt.ID = plain(receipt.ID)
	return receipt, nil
}
