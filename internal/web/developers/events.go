package developers

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/web/parts"
	"github.com/waybillhq/waybill/internal/web/site"
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

// kinds returns the kinds of events that the filter selects; none means all.
func kinds(v *site.Visit) []ship.EventKind {
	for _, kind := range ship.EventKinds {
		if v.Query("type") == string(kind) {
			return []ship.EventKind{kind}
		}
	}
	return nil
}

// listEvents handles GET /app/{account}/{mode}/events.
func listEvents(v *site.Visit) error {
	page := eventList{Kind: v.Query("type"), At: v.Query("cursor")}
	list, next, err := v.Webhook.Recent(v.Context(), v.Tenant(), page.At, kinds(v), site.PageSize)
	if err != nil {
		return err
	}
	page.List = list
	if next != "" {
		page.Next = eventsAddress(v.To("events"), page.Kind, next)
	}

	frame := v.Frame("Events", "events")
	if v.IsPart() {
		return v.Show(http.StatusOK, eventTable(frame, page))
	}
	return v.Show(http.StatusOK, eventsPage(frame, page))
}

// eventsAddress returns the address of the events of a kind, from the cursor
// on.
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

// exportEvents handles GET /app/{account}/{mode}/events.csv.
func exportEvents(v *site.Visit) error {
	out := v.ExportCSV("events", "id", "type", "time", "shipment", "order", "sequence", "status", "late")
	ctx, cancel := v.ExportContext()
	defer cancel()

	cursor := ""
	part := site.PageSize
	for n := 0; n < site.CSVLimit && out.Err == nil && !v.HasLeft(); {
		list, next, err := v.Webhook.Recent(ctx, v.Tenant(), cursor, kinds(v), part)
		if err != nil {
			return err
		}

		for _, entry := range list {
			event := entry.Event
			out.Row(
				string(event.ID),
				string(event.Kind),
				parts.MachineTime(event.At()),
				string(event.Shipment)+string(event.Tracker), // an event is about one of them
				entry.Shipment.Order.OrderID,
				strconv.Itoa(event.Sequence),
				string(event.Snapshot.Status),
				strconv.FormatBool(event.Late),
			)
		}
		if n == 0 {
			v.Begin()
		}
		if next == "" {
			return nil
		}

		cursor = next
		n += part
		part = min(2*part, site.CSVPart)
	}
	return nil
}

// eventView is the page of one event.
type eventView struct {
	webhook.Entry
	Body      string // as it is sent, but indented
	Endpoints []webhook.Endpoint
}

// getEvent handles GET /app/{account}/{mode}/events/{id}.
func getEvent(v *site.Visit) error {
	id, ok := ship.ParseEventID(v.Request.PathValue("id"))
	if !ok {
		return site.ErrNoPage
	}
	entry, err := v.Webhook.Event(v.Context(), v.Tenant(), id)
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

	if v.IsPart() {
		return v.Show(http.StatusOK, eventBody(page))
	}
	if page.Endpoints, err = v.Webhook.Endpoints(v.Context(), v.Tenant()); err != nil {
		return err
	}
	return v.Show(http.StatusOK, eventPage(v.Frame("Event", "events"), page))
}

// redeliver handles POST /app/{account}/{mode}/events/{id}/redeliver: it sends
// the event again, to the named endpoint or to all.
func redeliver(v *site.Visit) error {
	id, ok := ship.ParseEventID(v.Request.PathValue("id"))
	if !ok {
		return site.ErrNoPage
	}
	var endpoint ship.EndpointID // empty for all
	if text := v.Form("webhook"); text != "" {
		if endpoint, ok = ship.ParseEndpointID(text); !ok {
			return site.ErrNoPage
		}
	}

	if _, err := v.Webhook.Redeliver(v.Audited("event.redelivered", "", nil), v.Tenant(), id, endpoint); err != nil {
		return err
	}
	if endpoint != "" {
		return v.Redirect(v.To("webhooks", string(endpoint)), "redelivered")
	}
	return v.Redirect(v.To("events", string(id)), "redelivered")
}
