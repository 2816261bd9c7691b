package easypost

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/waybillhq/waybill/internal/compat"
	"github.com/waybillhq/waybill/internal/effect"
	"github.com/waybillhq/waybill/internal/ship"
)

const kindBatch = "batch"

// maxBatch is how many shipments a batch has at most. They are bought in the
// request that asks for it, so there is room for as many as one has time for.
const maxBatch = 100

// batchPage is how many batches a page of the list has at most: each shows how its
// shipments are.
const batchPage = 10

// A batchDraft is a batch as it is stored.
type batchDraft struct {
	Reference string            `json:"reference"`
	Shipments []batchEntry      `json:"shipments"`
	Failed    map[string]string `json:"failed"` // why, by id of the shipment
	ScanForm  string            `json:"scan_form"`
}

// A batchEntry is a shipment of a batch, and the service that it is bought at.
type batchEntry struct {
	ID      string `json:"id"`
	Carrier string `json:"carrier"`
	Service string `json:"service"`
}

func (d *batchDraft) ids() []string {
	ids := make([]string, len(d.Shipments))
	for i, entry := range d.Shipments {
		ids[i] = entry.ID
	}
	return ids
}

// batchObject is a batch.
type batchObject struct {
	head
	Reference    *string         `json:"reference"`
	State        string          `json:"state"`
	NumShipments int             `json:"num_shipments"`
	Shipments    []batchShipment `json:"shipments"`
	Status       batchCounts     `json:"status"`
	LabelURL     *string         `json:"label_url"`
	ScanForm     *scanFormObject `json:"scan_form"`
	Pickup       *pickupObject   `json:"pickup"`
}

type batchShipment struct {
	ID           string  `json:"id"`
	BatchStatus  string  `json:"batch_status"`
	BatchMessage *string `json:"batch_message"`
	TrackingCode *string `json:"tracking_code"`
	Reference    *string `json:"reference"`
}

type batchCounts struct {
	CreationFailed        int `json:"creation_failed"`
	QueuedForPurchase     int `json:"queued_for_purchase"`
	PostagePurchaseFailed int `json:"postage_purchase_failed"`
	PostagePurchased      int `json:"postage_purchased"`
}

// A foundBatch is a batch with its object.
type foundBatch struct {
	object compat.Object
	draft  batchDraft
}

func (s *server) findBatch(ctx context.Context, in *request, name string) (foundBatch, error) {
	id, ok := parseID(name, prefixBatch)
	if !ok {
		return foundBatch{}, notFound()
	}
	object, err := s.Compat.Object(ctx, in.tenant, kindBatch, id)
	if ship.KindOf(err) == ship.NotFound {
		return foundBatch{}, notFound()
	}
	found := foundBatch{object: object}
	if err == nil {
		err = json.Unmarshal(object.Body, &found.draft)
	}
	return found, err
}

// save stores a batch that was changed.
func (s *server) saveBatch(ctx context.Context, in *request, found *foundBatch) error {
	body, err := json.Marshal(found.draft)
	if err != nil {
		return err
	}
	found.object.Body = body
	return s.Compat.Save(context.WithoutCancel(ctx), in.tenant, found.object)
}

// batch is a batch as clients see it.
func (s *server) batch(ctx context.Context, in *request, found foundBatch) (*batchObject, error) {
	out := &batchObject{
		head:         headOf(in.tenant, "Batch", prefixBatch, found.object.ID),
		Reference:    orNull(found.draft.Reference),
		NumShipments: len(found.draft.Shipments),
		Shipments:    []batchShipment{},
	}
	for _, entry := range found.draft.Shipments {
		shown := batchShipment{ID: entry.ID}
		object, _, err := s.find(ctx, in, entry.ID)
		if ship.KindOf(err) == ship.NotFound {
			// A batch is kept longer than a shipment that is not bought, and an
			// erasure deletes shipments.
			shown.BatchStatus = "creation_failed"
			shown.BatchMessage = new("The shipment is no longer kept.")
			out.Status.CreationFailed++
			out.Shipments = append(out.Shipments, shown)
			continue
		}
		if err != nil {
			return nil, err
		}
		shown.Reference = orNull(object.Reference)

		message, failed := found.draft.Failed[entry.ID]
		if failed && object.Shipment == "" {
			// What failed may only have been the wait: a client that reads that
			// nothing was bought buys elsewhere.
			isOpen, err := s.Compat.IsOpen(ctx, in.tenant, object)
			if err != nil {
				return nil, err
			}
			failed = !isOpen
		}
		switch {
		case object.Shipment != "":
			bought, err := s.Shipping.Shipment(ctx, in.tenant, object.Shipment)
			if err != nil {
				return nil, err
			}
			shown.BatchStatus = "postage_purchased"
			shown.TrackingCode = orNull(bought.Purchase.TrackingNumber)
			out.Status.PostagePurchased++
		case failed:
			shown.BatchStatus = "postage_purchase_failed"
			shown.BatchMessage = &message
			out.Status.PostagePurchaseFailed++
		default:
			shown.BatchStatus = "queued_for_purchase"
			shown.BatchMessage = orNull(message)
			out.Status.QueuedForPurchase++
		}
		out.Shipments = append(out.Shipments, shown)
	}

	switch {
	case out.Status.PostagePurchased > 0 && out.Status.PostagePurchased == out.NumShipments:
		out.State = "purchased"
	case out.Status.PostagePurchaseFailed+out.Status.CreationFailed > 0 && out.Status.QueuedForPurchase == 0:
		out.State = "purchase_failed"
	case out.Status.PostagePurchased > 0:
		out.State = "purchasing"
	default:
		out.State = "created"
	}

	if found.draft.ScanForm != "" {
		manifest, err := s.Handover.Manifest(ctx, in.tenant, ship.ManifestID(found.draft.ScanForm))
		if err != nil {
			return nil, err
		}
		out.ScanForm = s.scanForm(in.tenant, manifest)
		out.ScanForm.BatchID = &out.ID
	}
	return out, nil
}

// entriesFrom reads the shipments of a batch: in full, which are created and rated,
// or by id.
func (s *server) entriesFrom(ctx context.Context, in *request, list []any) ([]batchEntry, error) {
	var out []batchEntry
	for i, item := range list {
		given := objectOf(item)
		entry := batchEntry{ID: textOf(item), Carrier: given.text("carrier"), Service: given.text("service")}
		if given != nil && given.text("id") != "" {
			entry.ID = given.text("id")
		}
		if entry.ID == "" {
			object, _, err := s.newShipment(ctx, in, given, nil)
			if err != nil {
				return nil, err
			}
			entry.ID = object.ID.IDWithPrefix(prefixShipment)
		} else if _, _, err := s.find(ctx, in, entry.ID); err != nil {
			return nil, invalid("shipments/"+strconv.Itoa(i)+"/id", "is not a shipment of this account")
		}
		out = append(out, entry)
	}
	return out, nil
}

func (s *server) createBatch(ctx context.Context, in *request) (answer, error) {
	given := in.body.object("batch")
	list := given.list("shipments")
	if len(list) > maxBatch {
		return answer{}, invalid("shipments", "must have at most "+strconv.Itoa(maxBatch)+" shipments; POST /v1/batches takes 10,000")
	}
	entries, err := s.entriesFrom(ctx, in, list)
	if err != nil {
		return answer{}, err
	}

	found := foundBatch{object: compat.NewObject(in.tenant, kindBatch, time.Now().UTC())}
	found.draft = batchDraft{Reference: given.text("reference"), Shipments: entries, Failed: map[string]string{}}
	if found.object.Body, err = json.Marshal(found.draft); err != nil {
		return answer{}, err
	}
	if err := s.Compat.Add(ctx, in.tenant, found.object); err != nil {
		return answer{}, err
	}
	out, err := s.batch(ctx, in, found)
	return answer{status: http.StatusCreated, body: out}, err
}

func (s *server) getBatch(ctx context.Context, in *request) (answer, error) {
	found, err := s.findBatch(ctx, in, in.id)
	if err != nil {
		return answer{}, err
	}
	out, err := s.batch(ctx, in, found)
	return answer{status: http.StatusOK, body: out}, err
}

func (s *server) listBatches(ctx context.Context, in *request) (answer, error) {
	filter, err := filterOf(in, kindBatch, prefixBatch)
	if err != nil {
		return answer{}, err
	}
	filter.Limit = min(filter.Limit, batchPage)
	objects, more, err := s.Compat.Objects(ctx, in.tenant, filter)
	if err != nil {
		return answer{}, err
	}
	out := []*batchObject{}
	for _, object := range objects {
		found := foundBatch{object: object}
		if err := json.Unmarshal(object.Body, &found.draft); err != nil {
			return answer{}, err
		}
		shown, err := s.batch(ctx, in, found)
		if err != nil {
			return answer{}, err
		}
		out = append(out, shown)
	}
	return answer{status: http.StatusOK, body: map[string]any{"batches": out, "has_more": more}}, nil
}

func (s *server) addToBatch(ctx context.Context, in *request) (answer, error) {
	found, err := s.findBatch(ctx, in, in.id)
	if err != nil {
		return answer{}, err
	}
	list := in.body.list("shipments")
	if len(list)+len(found.draft.Shipments) > maxBatch {
		return answer{}, invalid("shipments", "must have at most "+strconv.Itoa(maxBatch)+" shipments in the batch")
	}
	entries, err := s.entriesFrom(ctx, in, list)
	if err != nil {
		return answer{}, err
	}
	for _, entry := range entries {
		if !slices.Contains(found.draft.ids(), entry.ID) {
			found.draft.Shipments = append(found.draft.Shipments, entry)
		}
	}
	return s.changedBatch(ctx, in, &found)
}

func (s *server) removeFromBatch(ctx context.Context, in *request) (answer, error) {
	found, err := s.findBatch(ctx, in, in.id)
	if err != nil {
		return answer{}, err
	}
	names := in.body.names("shipments")
	found.draft.Shipments = slices.DeleteFunc(found.draft.Shipments, func(entry batchEntry) bool {
		return slices.Contains(names, entry.ID)
	})
	return s.changedBatch(ctx, in, &found)
}

func (s *server) changedBatch(ctx context.Context, in *request, found *foundBatch) (answer, error) {
	if err := s.saveBatch(ctx, in, found); err != nil {
		return answer{}, err
	}
	out, err := s.batch(ctx, in, *found)
	return answer{status: http.StatusOK, body: out}, err
}

// batchAtOnce is how many shipments of a batch are bought at the same time.
const batchAtOnce = 8

// buyBatch buys the shipments of a batch. What the request has no time for stays
// queued, and is bought when the client asks again.
func (s *server) buyBatch(ctx context.Context, in *request) (answer, error) {
	found, err := s.findBatch(ctx, in, in.id)
	if err != nil {
		return answer{}, err
	}
	deadline, hasDeadline := ctx.Deadline()

	var all sync.WaitGroup
	var mu sync.Mutex
	slots := make(chan struct{}, batchAtOnce)
	for _, entry := range found.draft.Shipments {
		slots <- struct{}{}
		if hasDeadline && time.Until(deadline) < 2*answerMargin || ctx.Err() != nil {
			<-slots
			break
		}
		all.Go(func() {
			defer func() { <-slots }()
			err := s.buyEntry(ctx, in, entry)
			mu.Lock()
			defer mu.Unlock()
			delete(found.draft.Failed, entry.ID)
			if err != nil && ship.CodeOf(err) != "purchase_in_progress" {
				found.draft.Failed[entry.ID] = sentence(ship.ErrorOf(err).Message)
			}
		})
	}
	all.Wait()

	// Shipments may have been added or removed meanwhile, and a scan form made.
	latest, err := s.findBatch(context.WithoutCancel(ctx), in, in.id)
	if err != nil {
		return answer{}, err
	}
	latest.draft.Failed = found.draft.Failed
	return s.changedBatch(ctx, in, &latest)
}

// buyEntry buys a shipment of a batch, at its service. One that is bought stays as
// it is.
func (s *server) buyEntry(ctx context.Context, in *request, entry batchEntry) error {
	object, d, err := s.find(ctx, in, entry.ID)
	if err != nil || object.Shipment != "" {
		return err
	}
	carrier := ownCarrier(entry.Carrier)
	i := slices.IndexFunc(d.Rates, func(quoted draftRate) bool {
		return isService(entry.Service, quoted.Rate.Carrier, quoted.Rate.Service) && (carrier == "" || carrier == quoted.Rate.Carrier)
	})
	switch {
	case entry.Service == "":
		return ship.Coded(ship.Invalid, "no_rate", "the shipment has no service: give carrier and service with it")
	case i < 0:
		return ship.Coded(ship.Invalid, "no_rate", "no connected carrier account offers this service for this shipment")
	}
	_, _, err = s.buy(ctx, in, object, d, d.Rates[i].ID, "")
	return err
}

func (s *server) closeBatch(ctx context.Context, in *request) (answer, error) {
	found, err := s.findBatch(ctx, in, in.id)
	if err != nil {
		return answer{}, err
	}

	isClosed := found.draft.ScanForm != ""
	if isClosed {
		manifest, err := s.Handover.Manifest(ctx, in.tenant, ship.ManifestID(found.draft.ScanForm))
		if err != nil {
			return answer{}, err
		}
		isClosed = manifest.State != effect.Failed // one that failed can be made again
	}

	if !isClosed {
		list, err := s.purchases(ctx, in, found.draft.ids())
		if err != nil {
			return answer{}, err
		}
		manifest, err := s.closeManifest(ctx, in, list)
		if err != nil {
			return answer{}, err
		}
		found.draft.ScanForm = string(manifest.ID)
	}
	return s.changedBatch(ctx, in, &found)
}

func (s *server) labelBatch(ctx context.Context, in *request) (answer, error) {
	if _, err := s.findBatch(ctx, in, in.id); err != nil {
		return answer{}, err
	}
	return answer{}, notServed("the labels of a batch are not merged into one file here: use the label_url of each shipment")
}
