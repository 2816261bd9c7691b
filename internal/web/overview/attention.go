package overview

import (
	"cmp"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/waybillhq/waybill/internal/account"
	"github.com/waybillhq/waybill/internal/member"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/shipping"
	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/internal/web/newshipment"
	"github.com/waybillhq/waybill/internal/web/parts"
	"github.com/waybillhq/waybill/internal/web/site"
	"github.com/waybillhq/waybill/internal/webhook"
)

// A need is one thing that needs a person's attention, and what to do about it.
type need struct {
	Kind         string // one of needKinds
	Title, About string
	Word, Class  string // of the badge
	Advice       string
	To           string // address of the page where it is resolved
	Check        string // address that checks it again; empty if it cannot be checked
	Since        time.Time
	Actions      []needAction

	shipmentAfter ship.ShipmentID // the next page continues after it; empty in lists that are paged by offset
}

// A needAction is a page where something can be done about a need.
type needAction struct {
	Title, To string
	Action    member.Action // that the person's role must allow
}

// A needPage is one page of the list of a kind. Shipments are paged by the last
// one's id; the other lists are short and are paged by offset.
type needPage struct {
	ship.Page
	Skip int
}

func needPageOf(cursor string, limit int) needPage {
	page := needPage{Page: ship.Page{Limit: limit}}
	if id, ok := ship.ParseShipmentID(cursor); ok {
		page.Before = id.Raw()
	} else if n, err := strconv.Atoi(cursor); err == nil && n > 0 {
		page.Skip = n
	}
	return page
}

// slice returns the page's part of a complete list.
func (p needPage) slice(all []need) []need {
	all = all[min(p.Skip, len(all)):]
	return all[:min(p.Limit, len(all))]
}

// needKinds are the kinds, in the order in which they should be handled.
var needKinds = []parts.Choice{
	{Value: "missing", Title: "Missing purchases"},
	{Value: "purchases", Title: "Unconfirmed purchases"},
	{Value: "failed", Title: "Failed purchases"},
	{Value: "labels", Title: "Labels"},
	{Value: "voids", Title: "Refused voids"},
	{Value: "carriers", Title: "Carriers"},
	{Value: "webhooks", Title: "Webhooks"},
	{Value: "parcels", Title: "Parcels"},
	{Value: "codes", Title: "Codes"},
}

// attentionPage is the list of what needs a person's attention.
type attentionPage struct {
	Kind, Cursor string
	List         []need
	Next         string
	Counts       map[string]int
	Clipped      bool // only some of each kind are listed
}

// Address returns the address of the list of a kind, from the cursor on.
func (p attentionPage) Address(path, kind, cursor string) string {
	query := url.Values{}
	if kind != "" {
		query.Set("kind", kind)
	}
	if cursor != "" {
		query.Set("cursor", cursor)
	}

	if len(query) == 0 {
		return path
	}
	return path + "?" + query.Encode()
}

// clippedSize is how many of each kind the list of all kinds shows when there
// are too many to count.
const clippedSize = 10

// getAttention handles GET /app/{account}/{mode}/attention.
func getAttention(v *site.Visit) error {
	frame := v.Frame("Needs attention", "attention")
	counts := frame.Attention
	page := attentionPage{
		Kind:   v.Query("kind"),
		Cursor: v.Query("cursor"),
		Counts: map[string]int{
			"missing":   counts.Missing,
			"purchases": counts.Unknown,
			"failed":    counts.Failed,
			"parcels":   counts.Exceptions,
			"labels":    counts.OrphanedLabels,
			"voids":     counts.RefusedVoids,
			"webhooks":  counts.Endpoints,
			"carriers":  counts.Connections,
			"codes":     counts.Codes,
		},
	}

	limit := site.PageSize + 1 // the one too many shows that there is a next page
	switch {
	case page.Kind == "" && counts.Total() < shipping.AttentionLimit:
		limit = shipping.AttentionLimit // the list is as long as the count beside its name
	case page.Kind == "":
		// Counting stops at the limit, so a complete list could be any length.
		limit = clippedSize
		page.Clipped = true
	}

	list, err := listNeeds(v, page.Kind, page.Cursor, limit)
	if err != nil {
		return err
	}
	page.List = list

	if page.Kind != "" && len(page.List) > site.PageSize {
		page.List = page.List[:site.PageSize]
		next := string(page.List[site.PageSize-1].shipmentAfter)
		if next == "" {
			next = strconv.Itoa(needPageOf(page.Cursor, site.PageSize).Skip + site.PageSize)
		}
		page.Next = page.Address(v.To("attention"), page.Kind, next)
	}

	if v.IsPart() {
		return v.Show(http.StatusOK, attentionTable(frame, page))
	}
	return v.Show(http.StatusOK, attentionPageView(frame, page))
}

// exportAttention handles GET /app/{account}/{mode}/attention.csv.
func exportAttention(v *site.Visit) error {
	// The limit is that of each kind.
	list, err := listNeeds(v, v.Query("kind"), "", site.CSVLimit/20)
	if err != nil {
		return err
	}

	out := v.ExportCSV("attention", "kind", "what", "about", "state", "what to do", "since", "page")
	for _, item := range list {
		out.Row(item.Kind, item.Title, item.About, item.Word, item.Advice, parts.MachineTime(item.Since), v.BaseURL+item.To)
	}
	return nil
}

// listNeeds lists at most limit needs of a kind, or of every kind, as far as
// the person's role may see them.
func listNeeds(v *site.Visit, kind, cursor string, limit int) (list []need, err error) {
	sources := []struct {
		kind   string
		action member.Action
		read   func(*site.Visit, needPage) ([]need, error)
	}{
		{"missing", member.ViewShipments, missingNeeds},
		{"purchases", member.ViewShipments, uncertainNeeds},
		{"failed", member.ViewShipments, failedNeeds},
		{"labels", member.ViewShipments, orphanNeeds},
		{"voids", member.ViewShipments, refusedVoidNeeds},
		{"carriers", member.ViewConnections, connectionNeeds},
		{"webhooks", member.ViewWebhooks, endpointNeeds},
		{"parcels", member.ViewShipments, exceptionNeeds},
		{"codes", member.ViewShipments, codeNeeds},
	}

	page := needPageOf(cursor, limit)
	for _, source := range sources {
		if kind != "" && kind != source.kind || !v.Who.Can(source.action) {
			continue
		}

		found, err := source.read(v, page)
		if err != nil {
			return nil, err
		}
		for i := range found {
			found[i].Kind = source.kind
		}
		list = append(list, found...)
	}
	return list, nil
}

// missingNeeds returns purchases that a restore lost and that need a decision.
func missingNeeds(v *site.Visit, page needPage) (list []need, err error) {
	found, err := v.Shipping.MissingNeeds(v.Context(), v.Tenant(), page.Limit, page.Skip)
	if err != nil {
		return nil, err
	}

	for _, missing := range found {
		item := need{
			Title:  cmp.Or(missing.Number, parts.ShortID(string(missing.Shipment))),
			About:  parts.CarrierTitle(missing.Carrier) + " label that a restore of the database lost",
			Word:   "Missing",
			Class:  "badge badge-fail",
			Advice: "No new live labels are bought until an owner or a developer adopts, holds or voids it.",
			To:     v.To("restored"),
			Since:  missing.RequestedAt,
		}
		if missing.State != store.PurchaseMissing {
			item.Word = "Not carried out"
			item.Advice = parts.Sentence(missing.Message) + " The decision is tried again."
		}
		item.Actions = []needAction{{"Decide", v.To("restored"), member.DecideMissing}}
		list = append(list, item)
	}
	return list, nil
}

// uncertainNeeds returns purchases whose outcome is not known.
func uncertainNeeds(v *site.Visit, page needPage) (list []need, err error) {
	found, _, err := v.Shipping.UncertainPurchases(v.Context(), v.Tenant(), page.Page)
	if err != nil {
		return nil, err
	}

	for _, shipment := range found {
		item := shipmentNeed(v, shipment)
		item.Word = parts.LabelWord(shipment.State)
		item.Class = "badge badge-" + string(shipment.State)
		item.Advice = "The carrier has not confirmed whether it sold this label. Waybill is looking it up; nothing is bought twice, and you do not need to do anything yet."
		if shipment.State == ship.StateNeedsReview {
			item.Advice = "The carrier can neither confirm nor deny that it sold this label. Look for the order in your carrier account. If a label is there, void it, then ship the order again."
		}
		list = append(list, item)
	}
	return list, nil
}

// failedNeeds returns purchases that bought nothing, each with the reason.
func failedNeeds(v *site.Visit, page needPage) (list []need, err error) {
	found, _, err := v.Shipping.FailedPurchases(v.Context(), v.Tenant(), page.Page)
	if err != nil {
		return nil, err
	}

	ids := make([]ship.ShipmentID, len(found))
	for i, shipment := range found {
		ids[i] = shipment.ID
	}
	failures, err := v.Shipping.PurchaseFailures(v.Context(), v.Tenant(), ids)
	if err != nil {
		return nil, err
	}

	// Only the account and the mode matter to the addresses; a complete frame
	// would count the needs again.
	addresses := site.Frame{Live: v.Live, Who: v.Who}
	for _, shipment := range found {
		item := shipmentNeed(v, shipment)
		item.Word = parts.LabelWord(shipment.State)
		item.Class = "badge badge-failed"
		item.Advice = parts.FailureReason(failures[shipment.ID]) + " Nothing was bought or charged. Correct the order and buy it again."
		item.Actions = []needAction{
			{"Edit and buy again", newshipment.CopyAddress(addresses, shipment.ID, true), member.BuyShipments},
			{"Duplicate", newshipment.CopyAddress(addresses, shipment.ID, false), member.BuyShipments},
		}
		list = append(list, item)
	}
	return list, nil
}

// exceptionNeeds returns parcels that a carrier cannot deliver as they are.
func exceptionNeeds(v *site.Visit, page needPage) (list []need, err error) {
	found, _, err := v.Shipping.Exceptions(v.Context(), v.Tenant(), page.Page)
	if err != nil {
		return nil, err
	}

	for _, shipment := range found {
		reason := shipment.Progress.Reason
		item := shipmentNeed(v, shipment)
		item.Word = cmp.Or(parts.Plain(reason), "Exception")
		item.Class = "badge badge-exception"
		item.Advice = cmp.Or(reasonAdvice[reason], "Ask the carrier what it needs to deliver the parcel, and inform the recipient.")
		list = append(list, item)
	}
	return list, nil
}

// shipmentNeed returns a need about a shipment, without state and advice.
func shipmentNeed(v *site.Visit, shipment ship.Shipment) need {
	destination := shipment.Order.Destination
	return need{
		Title:         shipment.Order.OrderID,
		About:         parts.CarrierTitle(shipment.Purchase.Carrier) + " to " + destination.Name + ", " + parts.Place(destination),
		To:            v.To("shipments", string(shipment.ID)),
		Since:         shipment.CreatedAt(),
		shipmentAfter: shipment.ID,
	}
}

// reasonAdvice is what to do about a parcel that a carrier cannot deliver.
var reasonAdvice = map[string]string{
	"address_not_found":       "Ask the recipient for the correct address and give it to the carrier.",
	"recipient_unavailable":   "Let the recipient know that delivery was attempted and when the carrier tries again.",
	"delivery_attempt_failed": "Let the recipient know that delivery was attempted and when the carrier tries again.",
	"refused":                 "The recipient refused the parcel, so it is being returned. Find out why before you ship it again.",
	"damaged":                 "File a damage claim with the carrier and send a replacement.",
	"lost":                    "File a loss claim with the carrier and send a replacement.",
	"customs_hold":            "Send the carrier the documents that customs requires.",
	"weather_delay":           "Wait for the carrier to resume delivery, and inform the recipient.",
	"return_to_sender":        "The parcel is being returned. Confirm the address with the recipient before you ship it again.",
}

// orphanNeeds returns labels that a carrier sold and that must not be used.
func orphanNeeds(v *site.Visit, page needPage) (list []need, err error) {
	found, err := v.Shipping.OrphanedLabels(v.Context(), v.Tenant(), page.Limit, page.Skip)
	if err != nil {
		return nil, err
	}

	for _, orphan := range found {
		list = append(list, orphanNeed(orphan, v.To("shipments", string(orphan.Shipment))))
	}
	return list, nil
}

func orphanNeed(orphan shipping.OrphanedLabel, to string) need {
	carrierName := parts.CarrierTitle(orphan.Purchase.Carrier)
	item := need{
		Title:  orphan.Purchase.TrackingNumber,
		About:  carrierName + " label that must not be used",
		Word:   "Voiding",
		Class:  "badge",
		Advice: "The carrier sold this label, but the order has another one. It is being voided automatically.",
		To:     to,
		Since:  orphan.FoundAt,
	}

	if orphan.State == store.OrphanVoidDeclined {
		item.Word = "Refused"
		item.Class = "badge badge-fail"
		item.Advice = "The carrier refused to void it. Ask " + carrierName + " to void it; until then you may be charged for it."
	}
	return item
}

// refusedVoidNeeds returns labels that a carrier refused to void and that are
// still unused.
func refusedVoidNeeds(v *site.Visit, page needPage) (list []need, err error) {
	found, err := v.Shipping.RefusedVoids(v.Context(), v.Tenant())
	if err != nil {
		return nil, err
	}

	for _, refused := range found {
		item := shipmentNeed(v, refused.Shipment)
		item.Word = "Void refused"
		item.Class = "badge badge-fail"
		item.Advice = parts.Sentence(refused.Reason)
		item.Since = refused.At
		item.shipmentAfter = "" // this list is paged by offset
		list = append(list, item)
	}
	return page.slice(list), nil
}

// connectionNeeds returns enabled carrier accounts whose last check failed, each
// with its first failure, and those that cannot be asked for now.
func connectionNeeds(v *site.Visit, page needPage) (list []need, err error) {
	found, err := v.Account.Connections(v.Context(), v.Tenant())
	if err != nil {
		return nil, err
	}

	for _, connection := range found {
		for _, finding := range connection.Findings {
			if finding.Level != account.LevelFail || !connection.Enabled {
				continue
			}
			list = append(list, need{
				Title:  connection.Name,
				About:  parts.CarrierTitle(connection.Carrier) + ": " + finding.Message,
				Word:   "Failing",
				Class:  "badge badge-fail",
				Advice: finding.Advice,
				To:     v.To("carriers", string(connection.ID)),
				Check:  v.To("carriers", string(connection.ID), "check"),
				Since:  connection.CheckedAt,
			})
			break
		}
		if item, isLimited := limitNeed(v, connection); isLimited {
			list = append(list, item)
		}
	}
	return page.slice(list), nil
}

// limitNeed returns a need about a carrier account that cannot quote or sell for
// now, as far as this process knows.
func limitNeed(v *site.Visit, connection account.Connection) (need, bool) {
	until := v.LimitedUntil(connection.ID)
	if !connection.Enabled || until.IsZero() {
		return need{}, false
	}

	title := parts.CarrierTitle(connection.Carrier)
	return need{
		Title: connection.Name,
		About: title + ": limited until " + until.UTC().Format("15:04") + " UTC",
		Word:  "Limited",
		Class: "badge badge-warn",
		Advice: "Its call limit is reached, or it does not answer. Until then orders are quoted without " + title +
			" and may cost more. Wait, or ask the carrier for a higher limit.",
		To:    v.To("carriers", string(connection.ID)),
		Since: time.Now(),
	}, true
}

// endpointNeeds returns webhooks that fail, are parked, or were disabled for
// it.
func endpointNeeds(v *site.Visit, page needPage) (list []need, err error) {
	found, err := v.Webhook.Endpoints(v.Context(), v.Tenant())
	if err != nil {
		return nil, err
	}

	for _, endpoint := range found {
		item := need{
			Title: endpoint.URL,
			About: endpoint.Description,
			To:    v.To("webhooks", string(endpoint.ID)),
			Since: endpoint.FailingSince,
		}
		switch {
		case !endpoint.Enabled && endpoint.DisabledReason != webhook.DisabledByClient:
			item.Advice = "It was disabled because it kept failing or answered 410 Gone. Fix it, enable it, and resend the events that it missed."
		case endpoint.Parked:
			item.Advice = "It does not answer, so its events are waiting. Deliveries are retried and catch up automatically. Check that its server is running."
		case endpoint.Failures > 0:
			item.Advice = "It answers with an error. Failed deliveries are retried. See its recent responses."
		default:
			continue
		}

		item.Word, item.Class = parts.EndpointState(endpoint)
		list = append(list, item)
	}
	return page.slice(list), nil
}

// codeNeeds are carriers' codes that no status table knows.
func codeNeeds(v *site.Visit, page needPage) (list []need, err error) {
	found, err := v.Tracking.UnmappedOf(v.Context(), v.Tenant(), nil, shipping.AttentionSince())
	if err != nil {
		return nil, err
	}

	for _, unmapped := range found {
		list = append(list, need{
			Title:  unmapped.Code,
			About:  parts.CarrierTitle(unmapped.Carrier) + ": " + unmapped.Description,
			Word:   strconv.Itoa(unmapped.Parcels) + " parcels",
			Class:  "badge",
			Advice: "This code is not mapped to a status yet, so it does not change any parcel. An update may add it; otherwise report the code.",
			To:     v.To("shipments") + "?carrier=" + url.QueryEscape(unmapped.Carrier),
			Since:  unmapped.NewestAt,
		})
	}
	return page.slice(list), nil
}
