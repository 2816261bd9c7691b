package web

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
	shipmentAfter ship.ShipmentID
}

// needKinds are the kinds, in the order in which they are dealt with.
var needKinds = []choice{
	{"purchases", "Purchases"}, {"labels", "Labels"}, {"carriers", "Carriers"}, {"webhooks", "Webhooks"}, {"parcels", "Parcels"}, {"codes", "Codes"},
}

// attentionPage is the list of what waits for a person.
type attentionPage struct {
	Kind, Cursor string
	List         []need
	Next         string
	Counts       map[string]int
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

// few is how many of a kind the list of all shows.
const few = 10

// attention handles GET /app/{mode}/attention.
func (s *Web) attention(v *visit) error {
	f := v.frame("Needs a person", "attention")
	a := f.Attention
	p := attentionPage{Kind: v.query("kind"), Cursor: v.query("cursor"), Counts: map[string]int{
		"purchases": a.Unknown, "parcels": a.Exceptions, "labels": a.Stranded, "webhooks": a.Endpoints, "carriers": a.Connections, "codes": a.Codes,
	}}
	limit := pageSize + 1
	if p.Kind == "" {
		limit = few
	}
	var err error
	if p.List, err = v.needs(p.Kind, p.Cursor, limit); err != nil {
		return err
	}
	if p.Kind != "" && len(p.List) > pageSize {
		p.List = p.List[:pageSize]
		if last := p.List[pageSize-1].shipmentAfter; last != "" {
			p.Next = p.Address(v.to("attention"), p.Kind, string(last))
		}
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
	p := ship.Page{Limit: limit}
	if id, ok := ship.ParseShipmentID(cursor); ok {
		p.Before = id.Raw()
	}
	for _, part := range []struct {
		kind   string
		action member.Action
		read   func(ship.Page) ([]need, error)
	}{
		{"purchases", member.ViewShipments, v.unknownNeeds},
		{"labels", member.ViewShipments, v.strandedNeeds},
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

func (v *visit) unknownNeeds(p ship.Page) (list []need, err error) {
	found, _, err := v.Shipping.Unknown(v.ctx(), v.tenant(), p)
	for _, sh := range found {
		n := v.shipmentNeed(sh)
		n.Word, n.Class = labelWord(sh.State), "badge badge-"+string(sh.State)
		n.Advice = "The carrier has not said whether it sold this label. It is being looked up: nothing is bought twice, and nothing is to be done yet."
		if sh.State == ship.StateNeedsReview {
			n.Advice = "Nobody can tell whether the carrier sold this label. Look for the order in the carrier's own account; void the label there if it is, then ship the order again."
		}
		list = append(list, n)
	}
	return list, err
}

func (v *visit) exceptionNeeds(p ship.Page) (list []need, err error) {
	found, _, err := v.Shipping.Exceptions(v.ctx(), v.tenant(), p)
	for _, sh := range found {
		n := v.shipmentNeed(sh)
		n.Word, n.Class = cmp.Or(plain(sh.Progress.Reason), "Exception"), "badge badge-exception"
		n.Advice = cmp.Or(reasonAdvice[sh.Progress.Reason], "Ask the carrier what it needs to deliver the parcel, and tell the recipient.")
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
	"recipient_unavailable":   "Tell the recipient that the carrier was there, and when it comes again.",
	"delivery_attempt_failed": "Tell the recipient that the carrier was there, and when it comes again.",
	"refused":                 "The recipient refused the parcel: it comes back. Ask why before it is sent again.",
	"damaged":                 "Claim the damage with the carrier and send a replacement.",
	"lost":                    "Claim the loss with the carrier and send a replacement.",
	"customs_hold":            "Give the carrier the papers that customs asks for.",
	"weather_delay":           "Nothing but waiting helps; tell the recipient.",
	"return_to_sender":        "The parcel comes back. Ask the recipient for a better address before it is sent again.",
}

func (v *visit) strandedNeeds(p ship.Page) (list []need, err error) {
	found, err := v.Shipping.StrandedLabels(v.ctx(), v.tenant(), p.Limit)
	for _, x := range found {
		list = append(list, strandedNeed(x, v.to("shipments", string(x.Shipment))))
	}
	return list, err
}

func strandedNeed(x shipping.Stranded, to string) need {
	n := need{
		Title: x.Deal.TrackingNumber, About: carrierTitle(x.Deal.Carrier) + " label that nobody may use", Word: "Being taken back", Class: "badge",
		Advice: "The carrier sold it, and the order has another label. It is taken back by itself.", To: to, Since: x.FoundAt,
	}
	if x.State == "refused" {
		n.Word, n.Class = "Refused", "badge badge-fail"
		n.Advice = "The carrier refused to take it back. Ask " + carrierTitle(x.Deal.Carrier) + " to void it: until then it may be billed."
	}
	return n
}

func (v *visit) connectionNeeds(ship.Page) (list []need, err error) {
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
	return list, err
}

func (v *visit) endpointNeeds(ship.Page) (list []need, err error) {
	found, err := v.Webhook.Endpoints(v.ctx(), v.tenant())
	for _, e := range found {
		n := need{Title: e.URL, About: e.Description, To: v.to("webhooks", string(e.ID)), Since: e.FailingSince}
		switch {
		case !e.Enabled && e.DisabledReason != webhook.DisabledByClient:
			n.Advice = "It was switched off because it failed for long, or said that it is gone. Mend it, switch it on, and send what it missed."
		case e.Parked:
			n.Advice = "It does not answer, so what it should hear waits. It is asked again and catches up by itself. See that its server runs."
		case e.Failures > 0:
			n.Advice = "It answers with an error. What failed is sent again. See its last answers."
		default:
			continue
		}
		n.Word, n.Class = hookState(e)
		list = append(list, n)
	}
	return list, err
}

func (v *visit) codeNeeds(p ship.Page) (list []need, err error) {
	found, err := v.Tracking.UnmappedOf(v.ctx(), v.tenant(), nil, time.Now().Add(-unmappedFor))
	for _, u := range found[:min(p.Limit, len(found))] {
		list = append(list, need{
			Title: u.Code, About: carrierTitle(u.Carrier) + ": " + u.Description, Word: strconv.Itoa(u.Parcels) + " parcels", Class: "badge",
			Advice: "No status table knows what this code means, so it moves no parcel. An update of the service may; report the code if not.",
			To:     v.to("shipments") + "?carrier=" + url.QueryEscape(u.Carrier), Since: u.NewestAt,
		})
	}
	return list, err
}

// waiting counts what waits and the visitor may see. A count that fails leaves
// the page without one.
func (v *visit) waiting() shipping.Attention {
	if !v.who.signedIn() || !v.who.Can(member.ViewShipments) {
		return shipping.Attention{}
	}
	a, err := v.Shipping.Attention(v.ctx(), v.tenant())
	if err != nil {
		v.Log.WarnContext(v.ctx(), "what waits for a person is not counted", "error", err)
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
