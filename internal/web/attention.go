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
		get("/app/{mode}/attention", member.ViewShipments, s.attention),
		get("/app/{mode}/attention.csv", member.ExportShipments, s.attentionCSV),
	}
}

// A need is one thing that waits for a person, and what to do about it.
type need struct {
	Kind          string // one of needKinds
	Title, About  string
	Word, Class   string // of the badge
	Advice        string
	To            string // address of the page where it is dealt with
	Check         string // address that checks it again, if there is such a thing
	Since         time.Time
	Actions       []needAction
	shipmentAfter ship.ShipmentID
}

// A needAction is a page where something can be done about a need.
type needAction struct {
	Title, To string
	Action    member.Action // that the person's role must allow
}

// A needPage is a part of the list of one kind. Shipments are read on from the
// last one's id; the other lists are short, and are read on by their number.
type needPage struct {
	ship.Page
	Skip int
}

func needPageOf(cursor string, limit int) needPage {
	p := needPage{Page: ship.Page{Limit: limit}}
	if id, ok := ship.ParseShipmentID(cursor); ok {
		p.Before = id.Raw()
	} else if n, err := strconv.Atoi(cursor); err == nil && n > 0 {
		p.Skip = n
	}
	return p
}

// of is the page's part of a whole list.
func (p needPage) of(all []need) []need {
	all = all[min(p.Skip, len(all)):]
	return all[:min(p.Limit, len(all))]
}

// needKinds are the kinds, in the order in which they are dealt with.
var needKinds = []choice{
	{"purchases", "Unconfirmed purchases"}, {"failed", "Failed purchases"}, {"labels", "Labels"}, {"voids", "Refused voids"}, {"carriers", "Carriers"}, {"webhooks", "Webhooks"}, {"parcels", "Parcels"}, {"codes", "Codes"},
}

// attentionPage is the list of what waits for a person.
type attentionPage struct {
	Kind, Cursor string
	List         []need
	Next         string
	Counts       map[string]int
	Clipped      bool // only some of each kind are listed
}

// Address is the list with a kind, and a cursor in it.
func (p attentionPage) Address(path, kind, cursor string) string {
	q := url.Values{}
	if kind != "" {
		q.Set("kind", kind)
	}
	if cursor != "" {
		q.Set("cursor", cursor)
	}
	if len(q) == 0 {
		return path
	}
	return path + "?" + q.Encode()
}

// few is how many of a kind the list of all shows when there are too many to
// count.
const few = 10

// attention handles GET /app/{mode}/attention.
func (s *Web) attention(v *visit) error {
	f := v.frame("Needs attention", "attention")
	a := f.Attention
	p := attentionPage{Kind: v.query("kind"), Cursor: v.query("cursor"), Counts: map[string]int{
		"purchases": a.Unknown, "failed": a.Failed, "parcels": a.Exceptions, "labels": a.Stranded, "voids": a.RefusedVoids, "webhooks": a.Endpoints, "carriers": a.Connections, "codes": a.Codes,
	}}
	limit := pageSize + 1
	switch {
	case p.Kind == "" && a.Total() < shipping.AttentionLimit:
		limit = shipping.AttentionLimit // the list is as long as its count says
	case p.Kind == "":
		limit, p.Clipped = few, true
	}
	var err error
	if p.List, err = v.needs(p.Kind, p.Cursor, limit); err != nil {
		return err
	}
	if p.Kind != "" && len(p.List) > pageSize {
		p.List = p.List[:pageSize]
		next := string(p.List[pageSize-1].shipmentAfter)
		if next == "" {
			next = strconv.Itoa(needPageOf(p.Cursor, pageSize).Skip + pageSize)
		}
		p.Next = p.Address(v.to("attention"), p.Kind, next)
	}
	if v.isPart() {
		return v.show(http.StatusOK, attentionTable(f, p))
	}
	return v.show(http.StatusOK, attentionPageView(f, p))
}

// attentionCSV handles GET /app/{mode}/attention.csv.
func (s *Web) attentionCSV(v *visit) error {
	list, err := v.needs(v.query("kind"), "", csvLimit/20)
	if err != nil {
		return err
	}
	out := v.exportCSV("attention", "kind", "what", "about", "state", "what to do", "since", "page")
	for _, n := range list {
		out.row(n.Kind, n.Title, n.About, n.Word, n.Advice, machineTime(n.Since), v.BaseURL+n.To)
	}
	return nil
}

// needs are up to so many of a kind, or of every kind that the person's role
// may see.
func (v *visit) needs(kind, cursor string, limit int) (list []need, err error) {
	p := needPageOf(cursor, limit)
	for _, part := range []struct {
		kind   string
		action member.Action
		read   func(needPage) ([]need, error)
	}{
		{"purchases", member.ViewShipments, v.unknownNeeds},
		{"failed", member.ViewShipments, v.failedNeeds},
		{"labels", member.ViewShipments, v.strandedNeeds},
		{"voids", member.ViewShipments, v.refusedVoidNeeds},
		{"carriers", member.ViewConnections, v.connectionNeeds},
		{"webhooks", member.ViewWebhooks, v.endpointNeeds},
		{"parcels", member.ViewShipments, v.exceptionNeeds},
		{"codes", member.ViewShipments, v.codeNeeds},
	} {
		if kind != "" && kind != part.kind || !v.who.Can(part.action) {
			continue
		}
		some, err := part.read(p)
		if err != nil {
			return nil, err
		}
		for i := range some {
			some[i].Kind = part.kind
		}
		list = append(list, some...)
	}
	return list, nil
}

func (v *visit) unknownNeeds(p needPage) (list []need, err error) {
	found, _, err := v.Shipping.Unknown(v.ctx(), v.tenant(), p.Page)
	for _, sh := range found {
		n := v.shipmentNeed(sh)
		n.Word, n.Class = labelWord(sh.State), "badge badge-"+string(sh.State)
		n.Advice = "The carrier has not confirmed whether it sold this label. Waybill is looking it up; nothing is bought twice, and you do not need to do anything yet."
		if sh.State == ship.StateNeedsReview {
			n.Advice = "The carrier can neither confirm nor deny that it sold this label. Look for the order in your carrier account. If a label is there, void it, then ship the order again."
		}
		list = append(list, n)
	}
	return list, err
}

// failedNeeds are purchases that bought nothing, each with the reason.
func (v *visit) failedNeeds(p needPage) (list []need, err error) {
	found, _, err := v.Shipping.FailedPurchases(v.ctx(), v.tenant(), p.Page)
	if err != nil {
		return nil, err
	}
	ids := make([]ship.ShipmentID, len(found))
	for i, sh := range found {
		ids[i] = sh.ID
	}
	failures, err := v.Shipping.PurchaseFailures(v.ctx(), v.tenant(), ids)
	if err != nil {
		return nil, err
	}

	f := frame{Live: v.live}
	for _, sh := range found {
		n := v.shipmentNeed(sh)
		n.Word, n.Class = labelWord(sh.State), "badge badge-failed"
		n.Advice = failureReason(failures[sh.ID]) + " Nothing was bought or charged. Correct the order and buy it again."
		n.Actions = []needAction{
			{"Edit and buy again", copyAddress(f, sh.ID, true), member.BuyShipments},
			{"Duplicate", copyAddress(f, sh.ID, false), member.BuyShipments},
		}
		list = append(list, n)
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
		return name + " could not be asked: " + sentence(reason)
	case failure.Outcome == purchase.WasNotSent:
		return name + " could not be asked."
	case failure.Outcome == purchase.WasStranded:
		return name + " sold the label and its image was lost, so it was voided."
	}
	return name + " did not answer in time and has no record of the purchase."
}

func (v *visit) exceptionNeeds(p needPage) (list []need, err error) {
	found, _, err := v.Shipping.Exceptions(v.ctx(), v.tenant(), p.Page)
	for _, sh := range found {
		n := v.shipmentNeed(sh)
		n.Word, n.Class = cmp.Or(plain(sh.Progress.Reason), "Exception"), "badge badge-exception"
		n.Advice = cmp.Or(reasonAdvice[sh.Progress.Reason], "Ask the carrier what it needs to deliver the parcel, and inform the recipient.")
		list = append(list, n)
	}
	return list, err
}

// shipmentNeed is what waits about a shipment.
func (v *visit) shipmentNeed(sh ship.Shipment) need {
	return need{
		Title: sh.Order.OrderID, About: carrierTitle(sh.Deal.Carrier) + " to " + sh.Order.Destination.Name + ", " + place(sh.Order.Destination),
		To: v.to("shipments", string(sh.ID)), Since: sh.CreatedAt(), shipmentAfter: sh.ID,
	}
}

// reasonAdvice is what to do about a parcel that a carrier cannot deliver.
var reasonAdvice = map[string]string{
	"address_not_found":       "Ask the recipient for the right address and give it to the carrier.",
	"recipient_unavailable":   "Let the recipient know that delivery was attempted and when the carrier tries again.",
	"delivery_attempt_failed": "Let the recipient know that delivery was attempted and when the carrier tries again.",
	"refused":                 "The recipient refused the parcel: it comes back. Ask why before it is sent again.",
	"damaged":                 "Claim the damage with the carrier and send a replacement.",
	"lost":                    "Claim the loss with the carrier and send a replacement.",
	"customs_hold":            "Give the carrier the papers that customs asks for.",
	"weather_delay":           "Wait for the carrier to resume delivery, and inform the recipient.",
	"return_to_sender":        "The parcel comes back. Ask the recipient for a better address before it is sent again.",
}

func (v *visit) strandedNeeds(p needPage) (list []need, err error) {
	found, err := v.Shipping.StrandedLabels(v.ctx(), v.tenant(), p.Limit, p.Skip)
	for _, x := range found {
		list = append(list, strandedNeed(x, v.to("shipments", string(x.Shipment))))
	}
	return list, err
}

func strandedNeed(x shipping.Stranded, to string) need {
	n := need{
		Title: x.Deal.TrackingNumber, About: carrierTitle(x.Deal.Carrier) + " label that must not be used", Word: "Voiding", Class: "badge",
		Advice: "The carrier sold this label, but the order has another one. It is being voided automatically.", To: to, Since: x.FoundAt,
	}
	if x.State == store.OrphanVoidDeclined {
		n.Word, n.Class = "Refused", "badge badge-fail"
		n.Advice = "The carrier refused to void it. Ask " + carrierTitle(x.Deal.Carrier) + " to void it: until then it may be billed."
	}
	return n
}

// refusedVoidNeeds are labels that a carrier refused to void and that are still
// unused.
func (v *visit) refusedVoidNeeds(p needPage) (list []need, err error) {
	found, err := v.Shipping.RefusedVoids(v.ctx(), v.tenant())
	for _, refused := range found {
		n := v.shipmentNeed(refused.Shipment)
		n.Word, n.Class = "Void refused", "badge badge-fail"
		n.Advice = sentence(refused.Reason)
		n.Since = refused.At
		n.shipmentAfter = "" // the list is read on by number
		list = append(list, n)
	}
	return p.of(list), err
}

func (v *visit) connectionNeeds(p needPage) (list []need, err error) {
	found, err := v.Account.Connections(v.ctx(), v.tenant())
	for _, c := range found {
		for _, x := range c.Findings {
			if x.Level != account.LevelFail || !c.Enabled {
				continue
			}
			list = append(list, need{
				Title: c.Name, About: carrierTitle(c.Carrier) + ": " + x.Says, Word: "Fails", Class: "badge badge-fail", Advice: x.Advice,
				To: v.to("carriers", string(c.ID)), Check: v.to("carriers", string(c.ID), "check"), Since: c.CheckedAt,
			})
			break
		}
	}
	return p.of(list), err
}

func (v *visit) endpointNeeds(p needPage) (list []need, err error) {
	found, err := v.Webhook.Endpoints(v.ctx(), v.tenant())
	for _, e := range found {
		n := need{Title: e.URL, About: e.Description, To: v.to("webhooks", string(e.ID)), Since: e.FailingSince}
		switch {
		case !e.Enabled && e.DisabledReason != webhook.DisabledByClient:
			n.Advice = "It was disabled because it kept failing or answered 410 Gone. Fix it, enable it, and resend the events that it missed."
		case e.Parked:
			n.Advice = "It does not answer, so its events are waiting. Deliveries are retried and catch up automatically. Check that its server is running."
		case e.Failures > 0:
			n.Advice = "It answers with an error. Failed deliveries are retried. See its recent responses."
		default:
			continue
		}
		n.Word, n.Class = hookState(e)
		list = append(list, n)
	}
	return p.of(list), err
}

func (v *visit) codeNeeds(p needPage) (list []need, err error) {
	found, err := v.Tracking.UnmappedOf(v.ctx(), v.tenant(), nil, shipping.AttentionSince())
	for _, u := range found {
		list = append(list, need{
			Title: u.Code, About: carrierTitle(u.Carrier) + ": " + u.Description, Word: strconv.Itoa(u.Parcels) + " parcels", Class: "badge",
			Advice: "This code is not mapped to a status yet, so it does not change any parcel. An update may add it; otherwise report the code.",
			To:     v.to("shipments") + "?carrier=" + url.QueryEscape(u.Carrier), Since: u.NewestAt,
		})
	}
	return p.of(list), err
}

// waiting counts what waits and the visitor may see. A count that fails leaves
// the page without one.
func (v *visit) waiting() shipping.Attention {
	if !v.who.signedIn() || !v.who.Can(member.ViewShipments) {
		return shipping.Attention{}
	}
	a, err := v.Shipping.Attention(v.ctx(), v.tenant())
	if err != nil {
		v.Log.WarnContext(v.ctx(), "what needs attention is not counted", "error", err)
	}
	if !v.who.Can(member.ViewWebhooks) {
		a.Endpoints = 0
	}
	if !v.who.Can(member.ViewConnections) {
		a.Connections = 0
	}
	return a
}

// attentionCount is the number beside the list's name.
func attentionCount(a shipping.Attention) string { return bounded(a.Total()) }

// bounded is a count that ends at a bound.
func bounded(n int) string {
	if n >= shipping.AttentionLimit {
		return strconv.Itoa(shipping.AttentionLimit-1) + "+"
	}
	return strconv.Itoa(n)
}
