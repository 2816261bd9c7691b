package easypost

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/url"
	"time"

	"golang.org/x/text/unicode/norm"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/tracking"
	"github.com/waybillhq/waybill/internal/webhook"
	"github.com/waybillhq/waybill/internal/wire"
)

// FormatName is the name of EasyPost's format of events.
const FormatName = "easypost"

// eventKinds are the kinds of events that EasyPost has. The creation of a shipment
// is not among them: there, its tracker is created with the label.
var eventKinds = []ship.EventKind{
	ship.ShipmentLabelGenerated,
	ship.ShipmentPickedUp,
	ship.ShipmentInTransit,
	ship.ShipmentDelivered,
	ship.ShipmentException,
}

// Format is how EasyPost sends events. The page returns the address of a shipment's
// tracking page.
func Format(page func(ship.Tenant, ship.ShipmentID) string) webhook.Format {
	return webhook.Format{
		Body: func(entry webhook.Entry) ([]byte, error) { return wire.Marshal(eventOf(entry, page)) },
		Sign: sign,
	}
}

// sign returns EasyPost's two signatures. The official clients check the first,
// which does not cover the time.
func sign(secret []byte, at time.Time, address *url.URL, body []byte) http.Header {
	timestamp := at.UTC().Format("Mon, 02 Jan 2006 15:04:05 -0000")
	path := address.EscapedPath()
	header := http.Header{"X-Timestamp": {timestamp}, "X-Path": {path}}
	if len(secret) == 0 {
		return header
	}

	key := norm.NFKD.Bytes(secret)
	header["X-Hmac-Signature"] = []string{signature(key, body)}
	header["X-Hmac-Signature-V2"] = []string{signature(key, []byte(timestamp+http.MethodPost+path), body)}
	return header
}

func signature(key []byte, parts ...[]byte) string {
	mac := hmac.New(sha256.New, key)
	for _, part := range parts {
		mac.Write(part)
	}
	return "hmac-sha256-hex=" + hex.EncodeToString(mac.Sum(nil))
}

// eventObject is an event.
type eventObject struct {
	head
	Description        string         `json:"description"`
	PreviousAttributes map[string]any `json:"previous_attributes"`
	Result             *trackerObject `json:"result,omitempty"`
	Status             string         `json:"status"`
	PendingURLs        []string       `json:"pending_urls"`
	CompletedURLs      []string       `json:"completed_urls"`
	UserID             *string        `json:"user_id"`
}

// eventOf translates an event of the log. It is a function of the event alone, so
// its tracker has the scan that the event is about, and not those before it.
func eventOf(entry webhook.Entry, page func(ship.Tenant, ship.ShipmentID) string) *eventObject {
	event := entry.Event
	snapshot := event.Snapshot
	out := &eventObject{
		head:          headOf(event.Tenant, "Event", prefixEvent, event.ID.Raw()),
		Description:   "tracker.updated",
		Status:        "pending",
		PendingURLs:   []string{},
		CompletedURLs: []string{},
	}
	switch event.Kind {
	case ship.ShipmentCreated:
		out.Description = "shipment.created"
	case ship.ShipmentLabelGenerated:
		out.Description = "tracker.created"
	}
	out.PreviousAttributes = map[string]any{}
	if snapshot.PreviousStatus != "" && out.Description == "tracker.updated" {
		before, _ := theirStatus(snapshot.PreviousStatus, "")
		out.PreviousAttributes["status"] = before
	}

	tracked := tracking.Tracked{Progress: ship.Progress{
		Status:     snapshot.Status,
		Reason:     snapshot.Reason,
		EstimateAt: snapshot.EstimateAt,
	}}
	if note := snapshot.Scan; note != nil {
		tracked.Scans = []ship.Scan{{
			Code:        note.Code,
			At:          note.At,
			Status:      note.Status,
			Reason:      note.Reason,
			Description: note.Description,
			Location:    note.Location,
		}}
	}

	if event.Tracker != "" {
		tracked.TrackingNumber = entry.Tracker.TrackingNumber
		tracked.Carrier = entry.Tracker.Carrier
		out.Result = trackerOf(event.Tenant, event.Tracker.Raw(), tracked, nil)
		return out
	}
	shipment := entry.Shipment
	if snapshot.Purchase != nil {
		shipment.Purchase = *snapshot.Purchase
	}
	shipment.State = snapshot.State
	tracked.TrackingNumber = shipment.Purchase.TrackingNumber
	tracked.Carrier = shipment.Purchase.Carrier
	out.Result = trackerOf(event.Tenant, shipment.ID.Raw(), tracked, &shipment)
	if page != nil && tracked.TrackingNumber != "" {
		out.Result.PublicURL = new(snapshot.BaseURL + page(event.Tenant, shipment.ID))
	}
	return out
}

// listEvents lists events, newest first. There, a list leaves out what the events
// are about.
func (s *server) listEvents(ctx context.Context, in *request) (answer, error) {
	limit, err := pageSize(in)
	if err != nil {
		return answer{}, err
	}
	before := ""
	if given := in.query.Get("before_id"); given != "" {
		id, ok := parseID(given, prefixEvent)
		if !ok {
			return answer{}, invalid("before_id", "is not the id of an event")
		}
		if before, err = s.Webhook.Before(ctx, in.tenant, ship.EventIDOf(id)); err != nil {
			return answer{}, err
		}
	}
	entries, next, err := s.Webhook.Recent(ctx, in.tenant, before, nil, limit)
	if err != nil {
		return answer{}, err
	}
	out := make([]*eventObject, len(entries))
	for i, entry := range entries {
		out[i] = eventOf(entry, s.Tracking.PagePath)
		out[i].Result = nil
	}
	return answer{status: http.StatusOK, body: map[string]any{"events": out, "has_more": next != ""}}, nil
}

func (s *server) getEvent(ctx context.Context, in *request) (answer, error) {
	id, ok := parseID(in.id, prefixEvent)
	if !ok {
		return answer{}, notFound()
	}
	entry, err := s.Webhook.Event(ctx, in.tenant, ship.EventIDOf(id))
	if err != nil {
		return answer{}, err
	}
	return answer{status: http.StatusOK, body: eventOf(entry, s.Tracking.PagePath)}, nil
}

// webhookObject is a webhook. Its secret and the values of its headers are never
// shown.
type webhookObject struct {
	head
	URL           string         `json:"url"`
	DisabledAt    *string        `json:"disabled_at"`
	CustomHeaders []customHeader `json:"custom_headers"`
}

type customHeader struct {
	Name  string  `json:"name"`
	Value *string `json:"value"`
}

// webhookOf is a webhook as clients see it. The values of headers are shown only to
// the request that sends them.
func webhookOf(endpoint webhook.Endpoint, sent map[string]string) *webhookObject {
	out := &webhookObject{
		head:          headOf(endpoint.Tenant, "Webhook", prefixWebhook, endpoint.ID.Raw()),
		URL:           endpoint.URL,
		CustomHeaders: []customHeader{},
	}
	for _, name := range endpoint.HeaderNames {
		out.CustomHeaders = append(out.CustomHeaders, customHeader{Name: name, Value: orNull(sent[name])})
	}
	if !endpoint.Enabled {
		// When it was disabled is not kept; it has been failing at least since.
		out.DisabledAt = new(timestamp(endpoint.CreatedAt()))
		if !endpoint.FailingSince.IsZero() {
			out.DisabledAt = new(timestamp(endpoint.FailingSince))
		}
	}
	return out
}

// headersOf reads custom headers; nil if the client sent none.
func headersOf(in values) map[string]string {
	if in["custom_headers"] == nil {
		return nil
	}
	out := map[string]string{}
	for _, item := range in.list("custom_headers") {
		header := objectOf(item)
		if name := header.text("name"); name != "" {
			out[name] = header.text("value")
		}
	}
	return out
}

func (s *server) createWebhook(ctx context.Context, in *request) (answer, error) {
	given := in.body.object("webhook")
	if given.text("url") == "" {
		return answer{}, required("url")
	}
	endpoint, err := s.Webhook.Create(ctx, in.tenant, webhook.Settings{
		URL:       new(given.text("url")),
		Kinds:     eventKinds,
		Headers:   headersOf(given),
		Signature: new(FormatName),
		Secret:    new(given.text("webhook_secret")),
	})
	if err != nil {
		return answer{}, err
	}
	return answer{status: http.StatusCreated, body: webhookOf(endpoint, headersOf(given))}, nil
}

// listWebhooks lists the webhooks in this format: those of other formats have
// settings that are not known there.
func (s *server) listWebhooks(ctx context.Context, in *request) (answer, error) {
	list, err := s.Webhook.Endpoints(ctx, in.tenant)
	if err != nil {
		return answer{}, err
	}
	out := []*webhookObject{}
	for _, endpoint := range list {
		if endpoint.Signature == FormatName {
			out = append(out, webhookOf(endpoint, nil))
		}
	}
	return answer{status: http.StatusOK, body: map[string]any{"webhooks": out}}, nil
}

// findWebhook returns a webhook in this format.
func (s *server) findWebhook(ctx context.Context, in *request) (webhook.Endpoint, error) {
	id, ok := parseID(in.id, prefixWebhook)
	if !ok {
		return webhook.Endpoint{}, notFound()
	}
	endpoint, err := s.Webhook.Endpoint(ctx, in.tenant, ship.EndpointIDOf(id))
	if err == nil && endpoint.Signature != FormatName {
		err = notFound()
	}
	return endpoint, err
}

func (s *server) getWebhook(ctx context.Context, in *request) (answer, error) {
	endpoint, err := s.findWebhook(ctx, in)
	if err != nil {
		return answer{}, err
	}
	return answer{status: http.StatusOK, body: webhookOf(endpoint, nil)}, nil
}

// changeWebhook changes what the client sends, and enables the webhook again.
func (s *server) changeWebhook(ctx context.Context, in *request) (answer, error) {
	endpoint, err := s.findWebhook(ctx, in)
	if err != nil {
		return answer{}, err
	}
	given := in.body
	if wrapped := given.object("webhook"); wrapped != nil {
		given = wrapped
	}
	settings := webhook.Settings{Enabled: new(true), Headers: headersOf(given)}
	if address := given.text("url"); address != "" && address != endpoint.URL {
		settings.URL = &address
	}
	if given["webhook_secret"] != nil {
		settings.Secret = new(given.text("webhook_secret"))
	}
	endpoint, err = s.Webhook.Update(ctx, in.tenant, endpoint.ID, settings)
	if err != nil {
		return answer{}, err
	}
	return answer{status: http.StatusCreated, body: webhookOf(endpoint, settings.Headers)}, nil
}

func (s *server) deleteWebhook(ctx context.Context, in *request) (answer, error) {
	endpoint, err := s.findWebhook(ctx, in)
	if err != nil {
		return answer{}, err
	}
	return answer{status: http.StatusOK, body: struct{}{}}, s.Webhook.Delete(ctx, in.tenant, endpoint.ID)
}
