package shipments

import (
	"net/http"
	"slices"
	"strconv"

	"github.com/waybillhq/waybill/internal/bulk"
	"github.com/waybillhq/waybill/internal/member"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/internal/web/parts"
	"github.com/waybillhq/waybill/internal/web/site"
)

// bulkWords are what pages say about a kind of action.
type bulkWords struct {
	Title   string // of the page, and of the action in the list
	Button  string // that confirms it; the number of shipments is put in
	About   string // what it does, before it is started
	Done    string // of a shipment
	Running string // of the whole action
}

var bulkKinds = map[string]bulkWords{
	bulk.Void: {
		Title:   "Void labels",
		Button:  "Void %s",
		About:   "The labels cannot be used afterwards. Carriers refund voided labels on their own schedule.",
		Done:    "voided",
		Running: "Voiding labels",
	},
	bulk.Manifest: {
		Title:   "Add to manifest",
		Button:  "Hand over %s",
		About:   "The labels are handed over to their carriers: one manifest for each carrier account and origin address. Print the forms under End of day.",
		Done:    "handed over",
		Running: "Closing manifests",
	},
	bulk.Return: {
		Title:   "Create returns",
		Button:  "Buy %s",
		About:   "A return label is bought for each shipment, with the addresses swapped. Your routing rules choose the carrier. A shipment that has a return already is left out.",
		Done:    "bought",
		Running: "Buying returns",
	},
}

// bulkReview is the page that asks before an action is started.
type bulkReview struct {
	Kind  string
	Words bulkWords
	List  []bulk.Planned
	Once  string // identifies the form: a second click is the same action
}

// Ready returns the shipments that the action is going to be done with.
func (p bulkReview) Ready() (ids []ship.ShipmentID) {
	for _, planned := range p.List {
		if planned.Skip == "" {
			ids = append(ids, planned.ID)
		}
	}
	return ids
}

// Skipped returns the shipments that are left out.
func (p bulkReview) Skipped() []bulk.Planned {
	return slices.DeleteFunc(slices.Clone(p.List), func(planned bulk.Planned) bool { return planned.Skip == "" })
}

// thing is what the action is about, in the singular.
func (p bulkReview) thing() string {
	if p.Kind == bulk.Return {
		return "return label"
	}
	return "label"
}

// voidSelected handles POST /app/{account}/{mode}/bulk/void.
func voidSelected(v *site.Visit) error { return startBulk(v, bulk.Void) }

// manifestSelected handles POST /app/{account}/{mode}/bulk/manifest.
func manifestSelected(v *site.Visit) error { return startBulk(v, bulk.Manifest) }

// returnSelected handles POST /app/{account}/{mode}/bulk/return.
func returnSelected(v *site.Visit) error { return startBulk(v, bulk.Return) }

// startBulk shows what an action is going to do with the selected shipments, and
// starts it when the person has confirmed that.
func startBulk(v *site.Visit, kind string) error {
	return withSelection(v, func(list []ship.Shipment) error {
		if v.Form("once") != "" {
			return confirmBulk(v, kind, idsOf(list))
		}

		planned, err := v.Bulk.Plan(v.Context(), v.Tenant(), kind, idsOf(list))
		if err != nil {
			return err
		}
		page := bulkReview{
			Kind:  kind,
			Words: bulkKinds[kind],
			List:  planned,
			Once:  parts.NewPurchaseKey(),
		}
		return v.Show(http.StatusOK, bulkReviewPage(v.Frame(page.Words.Title, "shipments"), page))
	})
}

func confirmBulk(v *site.Visit, kind string, ids []ship.ShipmentID) error {
	details := map[string]string{"action": kind, "shipments": strconv.Itoa(len(ids))}
	id, err := v.Bulk.Start(v.Audited("bulk.started", "", details), bulk.StartInput{
		Tenant:    v.Tenant(),
		Kind:      kind,
		Shipments: ids,
		Person:    v.Who.Actor.Person.ID,
		MadeBy:    v.Who.Name(),
		Key:       v.Form("once"),
	})
	if err != nil {
		return err
	}
	return v.Redirect(v.To("bulk", string(id)), "")
}

// bulkList is the page of actions.
type bulkList struct {
	List []bulk.Action
	Next string
	Page string // cursor of this page; empty for the first
}

// listBulk handles GET /app/{account}/{mode}/bulk.
func listBulk(v *site.Visit) error {
	page := bulkList{Page: v.Query("cursor")}
	var before ship.RawID
	if id, ok := ship.ParseBulkActionID(page.Page); ok {
		before = id.Raw()
	}

	list, more, err := v.Bulk.Actions(v.Context(), v.Tenant(), ship.Page{Limit: site.PageSize, Before: before})
	if err != nil {
		return err
	}
	page.List = list
	if more {
		page.Next = v.To("bulk") + "?cursor=" + string(list[len(list)-1].ID)
	}
	return v.Show(http.StatusOK, bulkListPage(v.Frame("Bulk actions", "shipments"), page))
}

// bulkView is the page of one action.
type bulkView struct {
	bulk.Action
	Words    bulkWords
	Failures []bulkRow         // rows that failed or were skipped
	Returns  []ship.ShipmentID // that were bought
}

// bulkRow is a row with its shipment.
type bulkRow struct {
	store.BulkRow
	Shipment *ship.Shipment // nil if it is kept no longer
}

// Again returns how often the page asks for progress; "" for never.
func (p bulkView) Again() string {
	switch {
	case p.Rows[bulk.RowWaiting] > 0:
		return "every 1s"
	case p.State == bulk.Running:
		return "every 10s"
	}
	return ""
}

// Heading says how far the action is.
func (p bulkView) Heading() string {
	switch {
	case p.Rows[bulk.RowWaiting] > 0:
		return p.Words.Running + "…"
	case p.Rows[bulk.RowPending] > 0:
		return "Waiting for the carrier"
	case p.Rows[bulk.RowFailed] > 0:
		return "Finished with errors"
	}
	return "Finished"
}

// getBulk handles GET /app/{account}/{mode}/bulk/{id}: the page, or the part of it
// that changes.
func getBulk(v *site.Visit) error {
	id, ok := ship.ParseBulkActionID(v.Request.PathValue("id"))
	if !ok {
		return ship.Coded(ship.NotFound, "bulk_action_not_found", "no such bulk action")
	}
	action, err := v.Bulk.Action(v.Context(), v.Tenant(), id)
	if err != nil {
		return err
	}

	page := bulkView{Action: action, Words: bulkKinds[action.Kind]}
	if page.Failures, err = bulkFailures(v, id); err != nil {
		return err
	}
	if action.Kind == bulk.Return && v.Who.Can(member.PrintLabels) {
		rows, err := v.Bulk.Rows(v.Context(), v.Tenant(), id, bulk.RowDone)
		if err != nil {
			return err
		}
		for _, row := range rows {
			page.Returns = append(page.Returns, row.Return)
		}
	}

	frame := v.Frame(page.Words.Title, "shipments")
	if v.IsPart() {
		return v.Show(http.StatusOK, bulkProgress(frame, page))
	}
	return v.Show(http.StatusOK, bulkPage(frame, page))
}

// bulkFailures returns the rows of an action that were not done, with their
// shipments.
func bulkFailures(v *site.Visit, id ship.BulkActionID) ([]bulkRow, error) {
	rows, err := v.Bulk.Rows(v.Context(), v.Tenant(), id, bulk.RowFailed, bulk.RowSkipped)
	if err != nil {
		return nil, err
	}
	ids := make([]ship.ShipmentID, len(rows))
	for i, row := range rows {
		ids[i] = row.Shipment
	}
	found, err := v.Shipping.ShipmentsByID(v.Context(), v.Tenant(), ids)
	if err != nil {
		return nil, err
	}

	list := make([]bulkRow, len(rows))
	for i, row := range rows {
		list[i] = bulkRow{BulkRow: row}
		if shipment, ok := found[row.Shipment]; ok {
			list[i].Shipment = &shipment
		}
	}
	return list, nil
}
