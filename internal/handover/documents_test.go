package handover

import (
	"bytes"
	"context"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/effect"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// uploader takes documents and shows none: UPS and FedEx.
type uploader struct{ *stand }

func (s uploader) UploadDocument(_ context.Context, r carrier.DocumentRequest) (ship.DocumentReceipt, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fail != nil {
		return ship.DocumentReceipt{}, s.fail
	}
	s.documents = append(s.documents, r)
	return ship.DocumentReceipt{ID: "D-" + r.Reference}, s.answer()
}

// shower shows what it took: DHL Express.
type shower struct{ uploader }

func (s shower) FindDocument(_ context.Context, r carrier.DocumentRequest) (ship.DocumentReceipt, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.looks != nil {
		return ship.DocumentReceipt{}, s.looks
	}
	for _, document := range s.documents {
		if bytes.Equal(document.Document.Data, r.Document.Data) {
			return ship.DocumentReceipt{ID: "D-" + r.Reference}, nil
		}
	}
	return ship.DocumentReceipt{}, ship.Errorf(ship.NotFound, "no such document")
}

// apart is how long the stand of DHL wants between two documents.
const apart = 10 * time.Minute

// documentBench has carriers that take documents.
func documentBench(t *testing.T) *bench {
	t.Helper()
	b := newBench(t)
	add := func(name, title string, policy carrier.DocumentPolicy, driver func(*stand) carrier.Driver) *carrier.Carrier {
		s := &stand{}
		b.stands[name] = s
		return carrier.New(carrier.Spec{Name: name, Title: title, Documents: policy}, driver(s))
	}
	b.Accounts.Simulated = []*carrier.Carrier{
		add("ups", "UPS", carrier.DocumentPolicy{Types: ship.UploadTypes}, func(s *stand) carrier.Driver { return uploader{s} }),
		add("dhl_express", "DHL Express", carrier.DocumentPolicy{Types: ship.UploadTypes, Apart: apart}, func(s *stand) carrier.Driver { return shower{uploader{s}} }),
	}
	return b
}

// upload adds a document that goes to the carrier of the shipment.
func (b *bench) upload(shipment ship.Shipment, text string) {
	b.t.Helper()
	submission := store.DocumentSubmission{ID: ship.NewRawID(b.tenant.Shard(), b.now()), Carrier: shipment.Purchase.Carrier}
	file := ship.Document{Type: "commercial_invoice", Format: "pdf", Data: []byte("%PDF-" + text)}
	if _, err := b.Store.AddUpload(b.t.Context(), b.tenant, shipment.ID, file, &submission); err != nil {
		b.t.Fatal(err)
	}
}

// send runs the job once.
func (b *bench) send(shipment ship.Shipment) time.Duration {
	b.t.Helper()
	again, err := b.SendDocuments(b.t.Context(), b.tenant, shipment.ID)
	if err != nil {
		b.t.Fatal(err)
	}
	return again
}

// sent runs the job until it has nothing to do, and returns the documents.
func (b *bench) sent(shipment ship.Shipment) []store.DocumentSubmission {
	b.t.Helper()
	b.settle(func() (time.Duration, error) { return b.SendDocuments(b.t.Context(), b.tenant, shipment.ID) })
	documents, err := b.Documents(b.t.Context(), b.tenant, shipment.ID)
	if err != nil {
		b.t.Fatal(err)
	}
	return documents
}

func TestADocumentIsSentOnceWhateverIsLost(t *testing.T) {
	t.Parallel()
	refused := ship.Errorf(ship.Invalid, "the document cannot be read")
	for _, tc := range []struct {
		name, carrier string
		fail          error
		lose          int
		want          effect.State
		has           int // documents of the carrier
	}{
		{"confirmed", "ups", nil, 0, effect.Succeeded, 1},
		{"refused", "ups", refused, 0, effect.Failed, 0},
		{"not reached", "ups", ship.Errorf(ship.Unavailable, "could not be reached"), 0, effect.Failed, 0},
		{"lost, and not shown", "ups", nil, 1, effect.NeedsReview, 1},
		{"lost, and shown", "dhl_express", nil, 1, effect.Succeeded, 1},
		{"lost on the way there", "dhl_express", lost(), 0, effect.Failed, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			b := documentBench(t)
			shipment := b.buy(tc.carrier)
			s := b.stands[tc.carrier]
			s.fail = tc.fail
			s.lose = tc.lose
			b.upload(shipment, "one")
			b.clock.pass(apart)

			documents := b.sent(shipment)
			if len(documents) != 1 || documents[0].State != tc.want || len(s.documents) != tc.has {
				t.Errorf("%+v, the carrier has %d", documents, len(s.documents))
			}
			isExplained := documents[0].Message != ""
			if isFine := tc.want == effect.Succeeded; isFine == isExplained {
				t.Errorf("%s with the message %q", documents[0].State, documents[0].Message)
			}

			// The job that a sweep enqueues later changes nothing.
			s.fail = nil
			if again := b.sent(shipment); again[0].State != tc.want || len(s.documents) != tc.has {
				t.Errorf("later %+v, the carrier has %d", again, len(s.documents))
			}
		})
	}
}

func TestADocumentWhoseProcessDiedNeedsReview(t *testing.T) {
	t.Parallel()
	b := documentBench(t)
	shipment := b.buy("ups")
	b.upload(shipment, "one")
	documents, err := b.Documents(t.Context(), b.tenant, shipment.ID)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Store.BeginSubmission(t.Context(), b.tenant, documents[0].ID); err != nil {
		t.Fatal(err)
	}

	// Nobody knows whether the request was sent before the process died.
	if documents = b.sent(shipment); documents[0].State != effect.NeedsReview || len(b.stands["ups"].documents) != 0 {
		t.Fatalf("%+v", documents)
	}

	number := Finding{Done: false, Number: "D1"}
	if _, err := b.ResolveDocument(t.Context(), b.tenant, shipment.ID, 0, number); ship.KindOf(err) != ship.Invalid {
		t.Errorf("a number of what the carrier does not have: %v", err)
	}
	resolved, err := b.ResolveDocument(t.Context(), b.tenant, shipment.ID, 0, Finding{Done: true, Number: "D1"})
	if err != nil || resolved.State != effect.Succeeded || resolved.Receipt.ID != "D1" {
		t.Errorf("%+v %v", resolved, err)
	}
	if _, err := b.ResolveDocument(t.Context(), b.tenant, shipment.ID, 0, Finding{}); ship.CodeOf(err) != "not_in_review" {
		t.Errorf("resolved again: %v", err)
	}
	if _, err := b.ResolveDocument(t.Context(), b.tenant, shipment.ID, 1, Finding{}); ship.CodeOf(err) != "document_not_found" {
		t.Errorf("one that was never uploaded: %v", err)
	}
}

func TestDocumentsGoOneAfterTheOther(t *testing.T) {
	t.Parallel()
	b := documentBench(t)
	shipment := b.buy("dhl_express")
	s := b.stands["dhl_express"]
	b.upload(shipment, "one")
	b.upload(shipment, "two")

	// DHL takes the first ten minutes after the purchase, and the second ten
	// minutes after the first.
	if again := b.send(shipment); again <= 0 || again > apart || len(s.documents) != 0 {
		t.Errorf("right after the purchase: again in %v, sent %d", again, len(s.documents))
	}
	b.clock.pass(apart)
	if again := b.send(shipment); again <= 0 || again > apart || len(s.documents) != 1 {
		t.Errorf("ten minutes later: again in %v, sent %d", again, len(s.documents))
	}
	open, err := b.Store.OpenSubmissions(t.Context(), time.Now().Add(time.Minute))
	if err != nil || len(open) != 1 || open[0].ID != shipment.ID {
		t.Errorf("open %v, %v", open, err)
	}
	documents := b.sent(shipment)
	if len(s.documents) != 2 || documents[1].State != effect.Succeeded || !bytes.Equal(s.documents[1].Document.Data, []byte("%PDF-two")) {
		t.Errorf("%+v", documents)
	}
}

func TestTheDocumentOfAVoidedShipmentIsNotSent(t *testing.T) {
	t.Parallel()
	b := documentBench(t)
	shipment := b.buy("ups")
	b.upload(shipment, "one")
	if _, err := b.Store.System().Exec(t.Context(), "UPDATE shipment_states SET state = 'voided'"); err != nil {
		t.Fatal(err)
	}
	if documents := b.sent(shipment); documents[0].State != effect.Failed || len(b.stands["ups"].documents) != 0 {
		t.Errorf("%+v", documents)
	}
}
