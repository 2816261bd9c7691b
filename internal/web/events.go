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

// eventList is the page of the event log.
type eventList struct {
	Kind string
	List []webhook.Entry
	Next string
	At   string // cursor of this page
}

// kinds are the kinds of events that the filter selects; none means all.
func (v *visit) kinds() []ship.EventKind {
	for _, kind := range ship.EventKinds {
		if v.query("type") == string(kind) {
			return []ship.EventKind{kind}
		}
	}
	return nil
}

// events handles GET /app/{account}/{mode}/events.
func (s *Web) events(v *visit) error {
	page := eventList{Kind: v.query("type"), At: v.query("cursor")}
	list, next, err := s.Webhook.Recent(v.ctx(), v.tenant(), page.At, v.kinds(), pageSize)
	if err != nil {
		return err
	}
	page.List = list
	if next != "" {
		page.Next = eventsAddress(v.to("events"), page.Kind, next)
	}

	frame := v.frame("Events", "events")
	if v.isPart() {
		return v.show(http.StatusOK, eventTable(frame, page))
	}
	return v.show(http.StatusOK, eventsPage(frame, page))
}

// eventsAddress is the address of the events of a kind, from the cursor on.
func eventsAddress(path, kind, cursor string) string {
	query := url.Values{}
	if kind != "" {
		query.Set("type", kind)
	}
	if cursor != "" {
		query.Set("cursor", cursor)
	}

	if len(query) == 0 {
		return path
	}
	return path + "?" + query.Encode()
}

// eventsCSV handles GET /app/{account}/{mode}/events.csv.
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

		for _, entry := range list {
			event := entry.Event
			out.row(
				string(event.ID),
				string(event.Kind),
				machineTime(event.At()),
				string(event.Shipment)+string(event.Tracker), // an event is of one of them
				entry.Shipment.Order.OrderID,
				strconv.Itoa(event.Sequence),
				string(event.Snapshot.Status),
				strconv.FormatBool(event.Late),
			)
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
	Body      string // as it is sent, but indented
	Endpoints []webhook.Endpoint
}

// event handles GET /app/{account}/{mode}/events/{id}.
func (s *Web) event(v *visit) error {
	id, ok := ship.ParseEventID(v.r.PathValue("id"))
	if !ok {
		return errNoPage
	}
	entry, err := s.Webhook.Event(v.ctx(), v.tenant(), id)
	if err != nil {
		return err
	}

	body, err := wire.EventBody(entry.Event, entry.Shipment, entry.Tracker)
	if err != nil {
		return err
	}
	var indented bytes.Buffer
	if err := json.Indent(&indented, body, "", "  "); err != nil {
		return err
	}
	page := eventView{Entry: entry, Body: indented.String()}

	if v.isPart() {
		return v.show(http.StatusOK, eventBody(page))
	}
	if page.Endpoints, err = s.Webhook.Endpoints(v.ctx(), v.tenant()); err != nil {
		return err
	}
	return v.show(http.StatusOK, eventPage(v.frame("Event", "events"), page))
}

// redeliver handles POST /app/{account}/{mode}/events/{id}/redeliver: it sends
// the event again, to the named endpoint or to all.
func (s *Web) redeliver(v *visit) error {
	id, ok := ship.ParseEventID(v.r.PathValue("id"))
	if !ok {
		return errNoPage
	}
	var endpoint ship.EndpointID // empty for all
	if text := v.form("webhook"); text != "" {
		if endpoint, ok = ship.ParseEndpointID(text); !ok {
			return errNoPage
		}
	}

	if _, err := s.Webhook.Redeliver(v.audited("event.redelivered", "", nil), v.tenant(), id, endpoint); err != nil {
		return err
	}
	if endpoint != "" {
		return v.redirect(v.to("webhooks", string(endpoint)), "redelivered")
	}
	return v.redirect(v.to("events", string(id)), "redelivered")
}
