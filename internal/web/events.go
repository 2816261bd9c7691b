package web

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/webhook"
	"github.com/waybillhq/waybill/internal/wire"
)

// eventList is the page of the log.
type eventList struct {
	Kind string
	List []webhook.Entry
	Next string
	At   string // cursor of this page
}

// kinds are those of the filter; none means all.
func (v *visit) kinds() []ship.EventKind {
	for _, k := range ship.EventKinds {
		if v.query("type") == string(k) {
			return []ship.EventKind{k}
		}
	}
	return nil
}

// events handles GET /app/{mode}/events.
func (s *Web) events(v *visit) error {
	p := eventList{Kind: v.query("type"), At: v.query("cursor")}
	list, next, err := s.Webhook.Recent(v.ctx(), v.tenant(), p.At, v.kinds(), pageSize)
	if err != nil {
		return err
	}
	p.List = list
	if next != "" {
		p.Next = eventsAddress(v.to("events"), p.Kind, next)
	}
	f := v.frame("Events", "events")
	if v.isPart() {
		return v.show(http.StatusOK, eventTable(f, p))
	}
	return v.show(http.StatusOK, eventsPage(f, p))
}

func eventsAddress(path, kind, cursor string) string {
	q := url.Values{}
	if kind != "" {
		q.Set("type", kind)
	}
	if cursor != "" {
		q.Set("cursor", cursor)
	}
	if len(q) == 0 {
		return path
	}
	return path + "?" + q.Encode()
}

// eventsCSV handles GET /app/{mode}/events.csv.
func (s *Web) eventsCSV(v *visit) error {
	out := v.exportCSV("events", "id", "type", "time", "shipment", "order", "sequence", "status", "late")
	ctx, cancel := v.exporting()
	defer cancel()

	cursor := ""
	part := pageSize
	for n := 0; n < csvLimit && out.err == nil && !v.hasLeft(); {
		list, next, err := s.Webhook.Recent(ctx, v.tenant(), cursor, v.kinds(), part)
		if err != nil {
			return err
		}

		for _, e := range list {
			ev := e.Event
			out.row(string(ev.ID), string(ev.Kind), machineTime(ev.At()), string(ev.Shipment)+string(ev.Tracker), e.Shipment.Order.OrderID,
				strconv.Itoa(ev.Sequence), string(ev.Snapshot.Status), strconv.FormatBool(ev.Late))
		}
		if n == 0 {
			v.begin()
		}
		if next == "" {
			return nil
		}

		cursor = next
		n += part
		part = min(2*part, csvPart)
	}
	return nil
}

// eventView is the page of one event.
type eventView struct {
	webhook.Entry
	Body      string // as it is sent, spread out for reading
	Endpoints []webhook.Endpoint
}

// event handles GET /app/{mode}/events/{id}.
func (s *Web) event(v *visit) error {
	id, ok := ship.ParseEventID(v.r.PathValue("id"))
	if !ok {
		return errNoPage
	}
	e, err := s.Webhook.Event(v.ctx(), v.tenant(), id)
	if err != nil {
		return err
	}
	body, err := wire.EventBody(e.Event, e.Shipment, e.Tracker)
	if err != nil {
		return err
	}
	p := eventView{Entry: e}
	var pretty bytes.Buffer
	if err := json.Indent(&pretty, body, "", "  "); err != nil {
		return err
	}
	p.Body = pretty.String()
	if v.isPart() {
		return v.show(http.StatusOK, eventBody(p))
	}
	if p.Endpoints, err = s.Webhook.Endpoints(v.ctx(), v.tenant()); err != nil {
		return err
	}
	return v.show(http.StatusOK, eventPage(v.frame("Event", "events"), p))
}

// redeliver handles POST /app/{mode}/events/{id}/redeliver.
func (s *Web) redeliver(v *visit) error {
	id, ok := ship.ParseEventID(v.r.PathValue("id"))
	if !ok {
		return errNoPage
	}
	var only ship.EndpointID
	if text := v.form("webhook"); text != "" {
		if only, ok = ship.ParseEndpointID(text); !ok {
			return errNoPage
		}
	}
	if _, err := s.Webhook.Redeliver(v.audited("event.redelivered", "", nil), v.tenant(), id, only); err != nil {
		return err
	}
	if only != "" {
		return v.redirect(v.to("webhooks", string(only)), "redelivered")
	}
	return v.redirect(v.to("events", string(id)), "redelivered")
}
