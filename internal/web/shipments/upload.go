package shipments

import (
	"net/http"
	"strconv"

	"github.com/waybillhq/waybill/internal/effect"
	"github.com/waybillhq/waybill/internal/handover"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/internal/web/parts"
	"github.com/waybillhq/waybill/internal/web/site"
)

// uploadDocument handles POST /app/{account}/{mode}/shipments/{id}/documents: a
// file that is kept with the shipment.
func uploadDocument(v *site.Visit) error {
	page, err := shipmentOf(v)
	if err != nil {
		return err
	}

	// Without a file that can be read there is no data, which is no PDF or picture
	// either.
	var data []byte
	if file, header, err := v.Request.FormFile("file"); err == nil {
		defer file.Close()
		if data, err = site.ReadFile(file, header); err != nil {
			data = nil
		}
	}

	_, err = v.Shipping.AddDocument(v.Context(), v.Tenant(), page.ID, v.Form("type"), data)
	switch invalid, fixable := site.ProblemsOf(err); {
	case err == nil:
		return v.Redirect(v.To("shipments", string(page.ID)), "uploaded")
	case fixable && ship.KindOf(err) == ship.Invalid:
		page.Problem = "Nothing was uploaded. Choose a PDF, PNG or JPEG file of at most 10 MiB."
		return showShipment(v, http.StatusUnprocessableEntity, page)
	case fixable && ship.KindOf(err) == ship.Conflict:
		page.Problem = invalid.All
		return showShipment(v, http.StatusConflict, page)
	}
	return err
}

// uploadChoices are the types of documents to choose from.
func uploadChoices() []parts.Choice {
	list := make([]parts.Choice, len(ship.UploadTypes))
	for i, kind := range ship.UploadTypes {
		list[i] = parts.Choice{Value: kind, Title: parts.Plain(kind)}
	}
	return list
}

// sentDocuments returns the uploaded documents that go to the carrier, by their
// number among all documents of the shipment. Most shipments have none, and cost no
// query.
func sentDocuments(v *site.Visit, shipment ship.Shipment) (map[int]store.DocumentSubmission, error) {
	if len(shipment.Uploads) == 0 {
		return nil, nil
	}
	submissions, err := v.Handover.Documents(v.Context(), v.Tenant(), shipment.ID)
	if err != nil {
		return nil, err
	}

	sent := make(map[int]store.DocumentSubmission, len(submissions))
	for _, submission := range submissions {
		sent[len(shipment.Purchase.Documents)+submission.Position+1] = submission
	}
	return sent, nil
}

// submissionWords say how far a document is on its way to the carrier.
var submissionWords = map[effect.State]string{
	store.DocumentQueued: "Waiting to be sent to the carrier",
	effect.Pending:       "Being sent to the carrier",
	effect.Uncertain:     "Waiting for the carrier's answer",
	effect.Succeeded:     "Received by the carrier",
	effect.Failed:        "Not received by the carrier",
	effect.NeedsReview:   "Needs review",
}

// submissionBadges are the looks of the states that need no more time.
var submissionBadges = map[effect.State]string{
	effect.Succeeded:   "badge-ok",
	effect.Failed:      "badge-failed",
	effect.NeedsReview: "badge-needs_review",
}

// resolveDocument handles POST
// /app/{account}/{mode}/shipments/{id}/documents/{n}/resolve.
func resolveDocument(v *site.Visit) error {
	id, ok := ship.ParseShipmentID(v.Request.PathValue("id"))
	number, err := strconv.Atoi(v.Request.PathValue("n"))
	if !ok || err != nil {
		return site.ErrNoPage
	}
	shipment, err := v.Shipping.Shipment(v.Context(), v.Tenant(), id)
	if err != nil {
		return err
	}

	outcome := v.Form("outcome")
	if outcome != "done" && outcome != "not_done" {
		return ship.InvalidFields([]ship.FieldError{{Pointer: "/outcome", Code: "required", Detail: "say what the carrier has"}})
	}
	position := number - len(shipment.Purchase.Documents) - 1
	found := handover.Finding{Done: outcome == "done"}
	_, err = v.Handover.ResolveDocument(v.Audited("document.resolved", "", nil), v.Tenant(), id, position, found)
	if ship.KindOf(err) == ship.NotFound {
		return site.ErrNoPage
	}
	if err != nil {
		return err
	}
	return v.Redirect(v.To("shipments", string(id)), "resolved")
}

// documents are the types of all documents of the shipment, in their order.
func (p shipmentView) documents() []string {
	return append(append([]string{}, p.Purchase.Documents...), p.Uploads...)
}
