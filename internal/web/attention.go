package web

import (
	"cmp"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/waybillhq/waybill/internal/account"
	"github.com/waybillhq/waybill/internal/member"
	"github.com/waybillhq/waybill/internal/purchase"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/shipping"
	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/internal/webhook"
)

func (s *Web) attentionRoutes() []route {
	return []route{
		get("/app/{account}/{mode}/attention", member.ViewShipments, s.attention),
		get("/app/{account}/{mode}/attention.csv", member.ExportShipments, s.attentionCSV),
	}
}

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
var needKinds = []choice{
	{"purchases", "Unconfirmed purchases"},
	{"failed", "Failed purchases"},
	{"labels", "Labels"},
	{"voids", "Refused voids"},
	{"carriers", "Carriers"},
	{"webhooks", "Webhooks"},
	{"parcels", "Parcels"},
	{"codes", "Codes"},
}

// attentionPage is the list of what needs a person's attention.
type attentionPage struct {
	Kind, Cursor string
	List         []need
	Next         string
	Counts       map[string]int
	Clipped      bool // only some of each kind are listed
}

// Address is the address of the list of a kind, from the cursor on.
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

// attention handles GET /app/{account}/{mode}/attention.
func (s *Web) attention(v *visit) error {
	frame := v.frame("Needs attention", "attention")
	counts := frame.Attention
	page := attentionPage{
		Kind:   v.query("kind"),
		Cursor: v.query("cursor"),
		Counts: map[string]int{
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

	limit := pageSize + 1 // the one too many shows that there is a next page
	switch {
	case page.Kind == "" && counts.Total() < shipping.AttentionLimit:
		limit = shipping.AttentionLimit // the list is as long as its count says
	case page.Kind == "":
		// Counting stops at the limit, so a complete list could be any length.
		limit = clippedSize
		page.Clipped = true
	}

	list, err := v.listNeeds(page.Kind, page.Cursor, limit)
	if err != nil {
		return err
	}
	page.List = list

	if page.Kind != "" && len(page.List) > pageSize {
		page.List = page.List[:pageSize]
		next := string(page.List[pageSize-1].shipmentAfter)
		if next == "" {
			next = strconv.Itoa(needPageOf(page.Cursor, pageSize).Skip + pageSize)
		}
		page.Next = page.Address(v.to("attention"), page.Kind, next)
	}

	if v.isPart() {
		return v.show(http.StatusOK, attentionTable(frame, page))
	}
	return v.show(http.StatusOK, attentionPageView(frame, page))
}

// attentionCSV handles GET /app/{account}/{mode}/attention.csv.
func (s *Web) attentionCSV(v *visit) error {
	// The limit is that of each kind.
	list, err := v.listNeeds(v.query("kind"), "", csvLimit/20)
	if err != nil {
		return err
	}

	out := v.exportCSV("attention", "kind", "what", "about", "state", "what to do", "since", "page")
	for _, item := range list {
		out.row(item.Kind, item.Title, item.About, item.Word, item.Advice, machineTime(item.Since), v.BaseURL+item.To)
	}
	return nil
}

// listNeeds lists at most limit needs of a kind, or of every kind, as far as
// the person's role may see them.
func (v *visit) listNeeds(kind, cursor string, limit int) (list []need, err error) {
	sources := []struct {
		kind   string
		action member.Action
		read   func(needPage) ([]need, error)
	}{
		{"purchases", member.ViewShipments, v.uncertainNeeds},
		{"failed", member.ViewShipments, v.failedNeeds},
		{"labels", member.ViewShipments, v.orphanNeeds},
		{"voids", member.ViewShipments, v.refusedVoidNeeds},
		{"carriers", member.ViewConnections, v.connectionNeeds},
		{"webhooks", member.ViewWebhooks, v.endpointNeeds},
		{"parcels", member.ViewShipments, v.exceptionNeeds},
		{"codes", member.ViewShipments, v.codeNeeds},
	}

	page := needPageOf(cursor, limit)
	for _, source := range sources {
		if kind != "" && kind != source.kind || !v.who.Can(source.action) {
			continue
		}

		found, err := source.read(page)
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

// uncertainNeeds are purchases whose outcome is not known.
func (v *visit) uncertainNeeds(page needPage) (list []need, err error) {
	found, _, err := v.Shipping.UncertainPurchases(v.ctx(), v.tenant(), page.Page)
	if err != nil {
		return nil, err
	}

	for _, shipment := range found {
		item := v.shipmentNeed(shipment)
		item.Word = labelWord(shipment.State)
		item.Class = "badge badge-" + string(shipment.State)
		item.Advice = "The carrier has not confirmed whether it sold this label. Waybill is looking it up; nothing is bought twice, and you do not need to do anything yet."
		if shipment.State == ship.StateNeedsReview {
			item.Advice = "The carrier can neither confirm nor deny that it sold this label. Look for the order in your carrier account. If a label is there, void it, then ship the order again."
		}
		list = append(list, item)
	}
	return list, nil
}

// failedNeeds are purchases that bought nothing, each with the reason.
func (v *visit) failedNeeds(page needPage) (list []need, err error) {
	found, _, err := v.Shipping.FailedPurchases(v.ctx(), v.tenant(), page.Page)
	if err != nil {
		return nil, err
	}

	ids := make([]ship.ShipmentID, len(found))
	for i, shipment := range found {
		ids[i] = shipment.ID
	}
	failures, err := v.Shipping.PurchaseFailures(v.ctx(), v.tenant(), ids)
	if err != nil {
		return nil, err
	}

	// Only the account and the mode matter to the addresses; a complete frame
	// would count the needs again.
	addresses := frame{Live: v.live, Who: v.who}
	for _, shipment := range found {
		item := v.shipmentNeed(shipment)
		item.Word = labelWord(shipment.State)
		item.Class = "badge badge-failed"
		item.Advice = failureReason(failures[shipment.ID]) + " Nothing was bought or charged. Correct the order and buy it again."
		item.Actions = []needAction{
			{"Edit and buy again", copyAddress(addresses, shipment.ID, true), member.BuyShipments},
			{"Duplicate", copyAddress(addresses, shipment.ID, false), member.BuyShipments},
		}
		list = append(list, item)
	}
	return list, nil
}

// failureReason is why a purchase bought nothing, as a sentence.
func failureReason(failure shipping.PurchaseFailure) string {
	name := carrierTitle(failure.Carrier)
	if name == "" {
		return "The label was not bought."
	}

	reason := failure.Message
	if failure.Code != "" && reason != "" && failure.Code != "price_changed" {
		reason += " (" + failure.Code + ")"
	}

	switch {
	case failure.Outcome == purchase.WasRefused && failure.Code == "price_changed":
		return sentence(reason)
	case failure.Outcome == purchase.WasRefused && reason != "":
		return name + " declined the order: " + sentence(reason)
	case failure.Outcome == purchase.WasRefused:
		return name + " declined the order and gave no reason."
	case failure.Outcome == purchase.WasNotSent && reason != "":
		return name + " could not be reached: " + sentence(reason)
	case failure.Outcome == purchase.WasNotSent:
		return name + " could not be reached."
	case failure.Outcome == purchase.WasOrphaned:
		return name + " sold the label but its image was lost, so the label was voided."
	}
	return name + " did not answer in time and has no record of the purchase."
}

// exceptionNeeds are parcels that a carrier cannot deliver as they are.
func (v *visit) exceptionNeeds(page needPage) (list []need, err error) {
	found, _, err := v.Shipping.Exceptions(v.ctx(), v.tenant(), page.Page)
	if err != nil {
		return nil, err
	}

	for _, shipment := range found {
		reason := shipment.Progress.Reason
		item := v.shipmentNeed(shipment)
		item.Word = cmp.Or(plain(reason), "Exception")
		item.Class = "badge badge-exception"
		item.Advice = cmp.Or(reasonAdvice[reason], "Ask the carrier what it needs to deliver the parcel, and inform the recipient.")
		list = append(list, item)
	}
	return list, nil
}

// shipmentNeed returns a need about a shipment, without state and advice.
func (v *visit) shipmentNeed(shipment ship.Shipment) need {
	destination := shipment.Order.Destination
	return need{
		Title:         shipment.Order.OrderID,
		About:         carrierTitle(shipment.Purchase.Carrier) + " to " + destination.Name + ", " + place(destination),
		To:            v.to("shipments", string(shipment.ID)),
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

// orphanNeeds are labels that a carrier sold and that nobody may use.
func (v *visit) orphanNeeds(page needPage) (list []need, err error) {
	found, err := v.Shipping.OrphanedLabels(v.ctx(), v.tenant(), page.Limit, page.Skip)
	if err != nil {
		return nil, err
	}

	for _, orphan := range found {
		list = append(list, orphanNeed(orphan, v.to("shipments", string(orphan.Shipment))))
	}
	return list, nil
}

func orphanNeed(orphan shipping.OrphanedLabel, to string) need {
	carrierName := carrierTitle(orphan.Purchase.Carrier)
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

// refusedVoidNeeds are labels that a carrier refused to void and that are still
// unused.
func (v *visit) refusedVoidNeeds(page needPage) (list []need, err error) {
	found, err := v.Shipping.RefusedVoids(v.ctx(), v.tenant())
	if err != nil {
		return nil, err
	}

	for _, refused := range found {
		item := v.shipmentNeed(refused.Shipment)
		item.Word = "Void refused"
		item.Class = "badge badge-fail"
		item.Advice = sentence(refused.Reason)
		item.Since = refused.At
		item.shipmentAfter = "" // this list is paged by offset
		list = append(list, item)
	}
	return page.slice(list), nil
}

// connectionNeeds are enabled carrier accounts whose last check failed, each
// with its first failure.
func (v *visit) connectionNeeds(page needPage) (list []need, err error) {
	found, err := v.Account.Connections(v.ctx(), v.tenant())
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
				About:  carrierTitle(connection.Carrier) + ": " + finding.Message,
				Word:   "Failing",
				Class:  "badge badge-fail",
				Advice: finding.Advice,
				To:     v.to("carriers", string(connection.ID)),
				Check:  v.to("carriers", string(connection.ID), "check"),
				Since:  connection.CheckedAt,
			})
			break
		}
	}
	return page.slice(list), nil
}

// endpointNeeds are webhooks that fail, are parked, or were disabled for it.
func (v *visit) endpointNeeds(page needPage) (list []need, err error) {
	found, err := v.Webhook.Endpoints(v.ctx(), v.tenant())
	if err != nil {
		return nil, err
	}

	for _, endpoint := range found {
		item := need{
			Title: endpoint.URL,
			About: endpoint.Description,
			To:    v.to("webhooks", string(endpoint.ID)),
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

		item.Word, item.Class = hookState(endpoint)
		list = append(list, item)
	}
	return page.slice(list), nil
}

// codeNeeds are carriers' codes that no status table knows.
func (v *visit) codeNeeds(page needPage) (list []need, err error) {
	found, err := v.Tracking.UnmappedOf(v.ctx(), v.tenant(), nil, shipping.AttentionSince())
	if err != nil {
		return nil, err
	}

	for _, unmapped := range found {
		list = append(list, need{
			Title:  unmapped.Code,
			About:  carrierTitle(unmapped.Carrier) + ": " + unmapped.Description,
			Word:   strconv.Itoa(unmapped.Parcels) + " parcels",
			Class:  "badge",
			Advice: "This code is not mapped to a status yet, so it does not change any parcel. An update may add it; otherwise report the code.",
			To:     v.to("shipments") + "?carrier=" + url.QueryEscape(unmapped.Carrier),
			Since:  unmapped.NewestAt,
		})
	}
	return page.slice(list), nil
}

// countAttention counts what needs attention and the visitor may see. If
// counting fails, the page is shown without the counts.
func (v *visit) countAttention() shipping.Attention {
	if !v.who.signedIn() || !v.who.Can(member.ViewShipments) {
		return shipping.Attention{}
	}

	counts, err := v.Shipping.Attention(v.ctx(), v.tenant())
	if err != nil {
		v.Log.WarnContext(v.ctx(), "could not count what needs attention", "error", err)
	}

	// The count must agree with the list, which leaves these out as well.
	if !v.who.Can(member.ViewWebhooks) {
		counts.Endpoints = 0
	}
	if !v.who.Can(member.ViewConnections) {
		counts.Connections = 0
	}
	return counts
}

// attentionCount formats the number beside the list's name.
func attentionCount(a shipping.Attention) string { return bounded(a.Total()) }

// bounded formats a count that stops at shipping.AttentionLimit: "99+" stands
// for it and more.
func bounded(n int) string {
	if n >= shipping.AttentionLimit {
		return strconv.Itoa(shipping.AttentionLimit-1) + "+"
	}
	return strconv.Itoa(n)
}
