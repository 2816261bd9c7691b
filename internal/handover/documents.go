package handover

import (
	"context"
	"strconv"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/effect"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// Documents lists the uploaded documents of a shipment that are sent to its
// carrier, in their order, and how far they are.
func (s *Service) Documents(ctx context.Context, t ship.Tenant, id ship.ShipmentID) ([]store.DocumentSubmission, error) {
	return s.Store.DocumentSubmissions(ctx, t, id)
}

// SendDocuments sends the documents of a shipment that wait for it, one after the
// other, and finds out what became of one whose answer was lost. It reports after
// how long to go on; zero means that there is nothing left to do.
func (s *Service) SendDocuments(ctx context.Context, t ship.Tenant, id ship.ShipmentID) (again time.Duration, err error) {
	documents, err := s.Store.DocumentSubmissions(ctx, t, id)
	if err != nil {
		return s.Waits.Look, err
	}

	// The job's time is shorter than a carrier may take, and what it answers must
	// be written down.
	ctx = context.WithoutCancel(ctx)
	before := lastAttempt(documents)
	for _, document := range documents {
		isQueued := document.State == store.DocumentQueued
		if !isQueued && !document.State.IsOpen() {
			continue
		}
		again, err := s.sendDocument(ctx, document, before)
		if again > 0 || err != nil {
			return again, err
		}
		if isQueued {
			before = s.now()
		}
	}
	return 0, nil
}

// lastAttempt returns when the last of the documents was sent; zero if none was.
func lastAttempt(documents []store.DocumentSubmission) (at time.Time) {
	for _, document := range documents {
		if document.Attempt > 0 && document.StartedAt.After(at) {
			at = document.StartedAt
		}
	}
	return at
}

// sendDocument sends a document that is queued, or settles one that is open. before
// is when the document before it was sent.
func (s *Service) sendDocument(ctx context.Context, document store.DocumentSubmission, before time.Time) (time.Duration, error) {
	t := document.Tenant
	addedAt := document.ID.Time()
	turn := func(turn store.Turn) error { return s.Store.TurnSubmission(ctx, t, document.ID, turn) }

	shipment, err := s.Store.Shipment(ctx, t, document.Shipment)
	if err != nil {
		return s.Waits.Look, err
	}
	file, err := s.Store.Upload(ctx, t, document.Shipment, document.Position)
	switch {
	case ship.KindOf(err) == ship.NotFound && document.State == store.DocumentQueued:
		return s.dropDocument(ctx, document, "the document is no longer kept")
	case ship.KindOf(err) == ship.NotFound: // it cannot be looked for any more
	case err != nil:
		return s.Waits.Look, err
	}
	if document.State == store.DocumentQueued && shipment.State != ship.StatePurchased {
		return s.dropDocument(ctx, document, "the shipment has no valid label any more")
	}

	c, err := s.sellerOf(ctx, t, document.Connection, document.Carrier)
	switch {
	case err != nil && document.State == store.DocumentQueued:
		if s.now().Sub(addedAt) < s.Waits.Review {
			return s.Waits.Look, err
		}
		return s.dropDocument(ctx, document, "the carrier account cannot be used: "+ship.ErrorOf(err).Message)
	case err != nil:
		return s.unopened(err, document.EffectState, addedAt, turn)
	}

	r := s.documentRun(ctx, document, shipment, file, c)
	if document.State != store.DocumentQueued {
		return s.outcome(r.machine().Settle(openOf(document.EffectState, addedAt)))
	}

	// Some carriers take a document only some time after the purchase or after
	// another document.
	if bought := shipment.Purchase.BoughtAt; bought.After(before) {
		before = bought
	}
	if wait := c.Spec().Documents.Apart - s.now().Sub(before); wait > 0 {
		return wait, nil
	}
	verdict := r.machine().Run()
	if verdict.Kind == effect.Taken {
		return s.Waits.Look, nil // another process sends it
	}
	return s.outcome(verdict)
}

// dropDocument gives a document up that was never sent. Nothing is done at a
// carrier, and doing it again after a crash changes nothing.
func (s *Service) dropDocument(ctx context.Context, document store.DocumentSubmission, why string) (time.Duration, error) {
	err := s.Store.DropSubmission(ctx, document.Tenant, document.ID, "not_sent", why)
	if ship.KindOf(err) == ship.Conflict {
		return 0, nil
	}
	return 0, err
}

// documentReference returns our name for a document at its carrier: the shipment
// and the number of the upload.
func documentReference(document store.DocumentSubmission) string {
	return string(document.Shipment) + "-" + strconv.Itoa(document.Position+1)
}

// documentRun returns a run about a document.
func (s *Service) documentRun(ctx context.Context, document store.DocumentSubmission, shipment ship.Shipment, file ship.Document, c *carrier.Carrier) *run {
	t := document.Tenant
	request := carrier.DocumentRequest{
		Order:     shipment.Order,
		Purchase:  shipment.Purchase,
		Document:  file,
		Reference: documentReference(document),
	}
	asking := s.withExchanges(ctx, t, document.Shipment.Raw(), c)
	var receipt ship.DocumentReceipt

	return &run{
		Service:   s,
		what:      "document",
		id:        request.Reference,
		carrier:   c,
		settle:    s.settleAfter(c, c.Deadlines.Document),
		certainty: effect.Certainty{CanLook: c.CanFindDocument() && len(file.Data) > 0},

		intend: func() error { return s.Store.BeginSubmission(ctx, t, document.ID) },
		again:  func(n int) error { return s.Store.TrySubmissionAgain(ctx, t, document.ID, n) },
		turn:   func(turn store.Turn) error { return s.Store.TurnSubmission(ctx, t, document.ID, turn) },
		record: func() error { return s.Store.RecordSubmission(ctx, t, document.ID, receipt) },
		send: func() (existed bool, err error) {
			ctx, done := context.WithTimeout(asking, s.Waits.Ask)
			defer done()
			receipt, err = c.UploadDocument(ctx, request)
			return false, err
		},
		find: func() (err error) {
			receipt, err = c.FindDocument(asking, request)
			return err
		},
	}
}

// ResolveDocument ends the review of a document with what a person learned from the
// carrier. The number is that of the document among the uploads, from 0. One that
// the carrier does not have can be uploaded again.
func (s *Service) ResolveDocument(ctx context.Context, t ship.Tenant, id ship.ShipmentID, position int, found Finding) (store.DocumentSubmission, error) {
	document, err := s.document(ctx, t, id, position)
	if err != nil {
		return document, err
	}
	resolution, err := found.resolution("/documentId", "the carrier did not receive it, as a person found out; upload it again to send it again")
	if err != nil {
		return document, err
	}

	if document.State == effect.NeedsReview {
		err = s.Store.ResolveSubmission(ctx, document, resolution)
	}
	if document.State != effect.NeedsReview || ship.KindOf(err) == ship.Conflict {
		return document, notInReview("document", document.State)
	}
	if err != nil {
		return document, err
	}
	return s.document(ctx, t, id, position)
}

// document returns the document at a position among the uploads of a shipment.
func (s *Service) document(ctx context.Context, t ship.Tenant, id ship.ShipmentID, position int) (store.DocumentSubmission, error) {
	documents, err := s.Store.DocumentSubmissions(ctx, t, id)
	if err != nil {
		return store.DocumentSubmission{}, err
	}
	for _, document := range documents {
		if document.Position == position {
			return document, nil
		}
	}
	return store.DocumentSubmission{}, ship.Coded(ship.NotFound, "document_not_found", "no such document was sent to a carrier")
}
