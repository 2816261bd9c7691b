package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/waybillhq/waybill/internal/httpkit"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/webhook"
	"github.com/waybillhq/waybill/internal/wire"
)

// headersInput is the set of custom headers of a webhook.
type headersInput map[string]string

// Schema limits the names and the values.
func (headersInput) Schema(huma.Registry) *huma.Schema {
	text := &huma.Schema{Type: huma.TypeString, MinLength: new(1), MaxLength: new(1024)}
	text.PrecomputeMessages()

	return &huma.Schema{
		Type:                 huma.TypeObject,
		AdditionalProperties: text,
		MaxProperties:        new(10),
		Extensions:           map[string]any{"propertyNames": map[string]any{"minLength": 1, "maxLength": 64}},
	}
}

// webhookInput is the body of POST /v1/webhooks.
type webhookInput struct {
	URL         string           `json:"url" minLength:"1" maxLength:"2048" example:"https://example.com/webhooks" doc:"URL to send events to: https, a public host, and port 443 or 1024 and above."`
	Events      []ship.EventKind `json:"events,omitempty" minItems:"1" maxItems:"7" enum:"*,shipment.created,label.generated,shipment.picked_up,shipment.in_transit,shipment.delivered,shipment.exception" doc:"The event types to send; omit it or use * for all."`
	Description *string          `json:"description,omitempty" maxLength:"500" doc:"Description of your own."`
	Enabled     *bool            `json:"enabled,omitempty" doc:"Whether to send events; true by default."`
	Headers     headersInput     `json:"headers,omitempty" doc:"Up to 10 headers to send with each event, such as Authorization. They are stored encrypted and never shown again."`
	Signature   *string          `json:"signature,omitempty" enum:"v1,v1a,both" doc:"How to sign events; v1 by default."`
}

// webhookChange is the body of PATCH /v1/webhooks/{id}.
type webhookChange struct {
	URL         *string          `json:"url,omitempty" minLength:"1" maxLength:"2048" example:"https://example.com/webhooks" doc:"URL to send events to. If it changes and the webhook has custom headers, headers is required too."`
	Events      []ship.EventKind `json:"events,omitempty" minItems:"1" maxItems:"7" enum:"*,shipment.created,label.generated,shipment.picked_up,shipment.in_transit,shipment.delivered,shipment.exception" doc:"The event types to send; * means all."`
	Description *string          `json:"description,omitempty" maxLength:"500" doc:"Description of your own."`
	Enabled     *bool            `json:"enabled,omitempty" doc:"Whether to send events. Events recorded while it is false are sent once it is true again, as far back as the log reaches."`
	Headers     headersInput     `json:"headers,omitempty" doc:"The complete set of custom headers; an empty object removes them all. Required when url changes and there are any: stored values are never sent to another URL."`
	Signature   *string          `json:"signature,omitempty" enum:"v1,v1a,both" doc:"How to sign events. To see a shared secret that was never shown, rotate it."`
}

type createWebhookRequest struct{ Body webhookInput }

// createWebhook handles POST /v1/webhooks.
func (s *server) createWebhook(ctx context.Context, in *createWebhookRequest) (reply, error) {
	body := in.Body
	endpoint, err := s.Webhook.Create(ctx, httpkit.From(ctx).Principal.Tenant, webhook.Settings{
		URL:         &body.URL,
		Kinds:       body.Events,
		Description: body.Description,
		Enabled:     body.Enabled,
		Headers:     body.Headers,
		Signature:   body.Signature,
	})
	if err != nil {
		return reply{}, err
	}

	out, err := jsonReply(http.StatusCreated, webhookOf(endpoint))
	return out.with("Location", "/v1/webhooks/"+string(endpoint.ID)), err
}

// listWebhooks handles GET /v1/webhooks. They are few, so there is one page.
func (s *server) listWebhooks(ctx context.Context, _ *noParameters) (reply, error) {
	list, err := s.Webhook.Endpoints(ctx, httpkit.From(ctx).Principal.Tenant)
	if err != nil {
		return reply{}, err
	}

	data := make([]wire.Webhook, len(list))
	for i, endpoint := range list {
		data[i] = webhookOf(endpoint)
	}
	return jsonReply(http.StatusOK, pageOf(data, false, ""))
}

type webhookRequest struct {
	ID string `path:"id" example:"whe_01KJMBQDHV00G9W4T7H2K5NXQD" doc:"Identifier of the webhook."`
}

// webhookID reads the id in a path. Text that is not an id is not found, as the
// id of another account's webhook is.
func webhookID(text string) (ship.EndpointID, error) {
	id, ok := ship.ParseEndpointID(text)
	if !ok {
		return "", ship.Coded(ship.NotFound, "webhook_not_found", "no such webhook")
	}
	return id, nil
}

// replyWithWebhook answers with the webhook that do returns for an id.
func replyWithWebhook(ctx context.Context, text string, do func(context.Context, ship.Tenant, ship.EndpointID) (webhook.Endpoint, error)) (reply, error) {
	id, err := webhookID(text)
	if err != nil {
		return reply{}, err
	}

	endpoint, err := do(ctx, httpkit.From(ctx).Principal.Tenant, id)
	if err != nil {
		return reply{}, err
	}
	return jsonReply(http.StatusOK, webhookOf(endpoint))
}

// getWebhook handles GET /v1/webhooks/{id}.
func (s *server) getWebhook(ctx context.Context, in *webhookRequest) (reply, error) {
	return replyWithWebhook(ctx, in.ID, s.Webhook.Endpoint)
}

type changeWebhookRequest struct {
	ID   string `path:"id" example:"whe_01KJMBQDHV00G9W4T7H2K5NXQD" doc:"Identifier of the webhook."`
	Body webhookChange
}

// changeWebhook handles PATCH /v1/webhooks/{id}.
func (s *server) changeWebhook(ctx context.Context, in *changeWebhookRequest) (reply, error) {
	body := in.Body
	settings := webhook.Settings{
		URL:         body.URL,
		Kinds:       body.Events,
		Description: body.Description,
		Enabled:     body.Enabled,
		Headers:     body.Headers,
		Signature:   body.Signature,
	}

	return replyWithWebhook(ctx, in.ID, func(ctx context.Context, tenant ship.Tenant, id ship.EndpointID) (webhook.Endpoint, error) {
		return s.Webhook.Update(ctx, tenant, id, settings)
	})
}

// deleteWebhook handles DELETE /v1/webhooks/{id}.
func (s *server) deleteWebhook(ctx context.Context, in *webhookRequest) (reply, error) {
	id, err := webhookID(in.ID)
	if err == nil {
		err = s.Webhook.Delete(ctx, httpkit.From(ctx).Principal.Tenant, id)
	}
	return reply{status: http.StatusNoContent}, err
}

// rotateSecret handles POST /v1/webhooks/{id}/rotate-secret.
func (s *server) rotateSecret(ctx context.Context, in *webhookRequest) (reply, error) {
	return replyWithWebhook(ctx, in.ID, s.Webhook.RotateSecret)
}

// testInput is the body of POST /v1/webhooks/{id}/test.
type testInput struct {
	Type ship.EventKind `json:"type,omitempty" enum:"shipment.created,label.generated,shipment.picked_up,shipment.in_transit,shipment.delivered,shipment.exception" doc:"The event type; shipment.created by default."`
}

type testWebhookRequest struct {
	ID   string `path:"id" example:"whe_01KJMBQDHV00G9W4T7H2K5NXQD" doc:"Identifier of the webhook."`
	Body *testInput
}

// testWebhook handles POST /v1/webhooks/{id}/test.
func (s *server) testWebhook(ctx context.Context, in *testWebhookRequest) (reply, error) {
	id, err := webhookID(in.ID)
	if err != nil {
		return reply{}, err
	}

	kind := ship.ShipmentCreated
	if in.Body != nil && in.Body.Type != "" {
		kind = in.Body.Type
	}
	attempt, err := s.Webhook.Test(ctx, httpkit.From(ctx).Principal.Tenant, id, kind)
	if err != nil {
		return reply{}, err
	}
	return jsonReply(http.StatusOK, deliveryOf(attempt))
}

type listDeliveriesRequest struct {
	ID string `path:"id" example:"whe_01KJMBQDHV00G9W4T7H2K5NXQD" doc:"Identifier of the webhook."`
	PageRequest
}

// listDeliveries handles GET /v1/webhooks/{id}/deliveries.
func (s *server) listDeliveries(ctx context.Context, in *listDeliveriesRequest) (reply, error) {
	id, err := webhookID(in.ID)
	if err != nil {
		return reply{}, err
	}
	page := ship.Page{Limit: in.Limit}
	if in.Cursor != "" {
		before, ok := ship.ParseAttemptID(in.Cursor)
		if !ok {
			return reply{}, invalidCursor()
		}
		page.Before = before.Raw()
	}

	list, more, err := s.Webhook.Deliveries(ctx, httpkit.From(ctx).Principal.Tenant, id, page)
	if err != nil {
		return reply{}, err
	}

	data := make([]wire.Delivery, len(list))
	last := ""
	for i, attempt := range list {
		data[i] = deliveryOf(attempt)
		last = data[i].ID
	}
	return jsonReply(http.StatusOK, pageOf(data, more, last))
}

// webhookOf returns an endpoint as clients see it.
func webhookOf(endpoint webhook.Endpoint) wire.Webhook {
	out := wire.Webhook{
		ID:                      string(endpoint.ID),
		URL:                     endpoint.URL,
		Events:                  make([]string, 0, len(endpoint.Kinds)),
		Description:             endpoint.Description,
		Enabled:                 endpoint.Enabled,
		DisabledReason:          endpoint.DisabledReason,
		Signature:               endpoint.Signature,
		Secret:                  endpoint.Secret,
		PublicKey:               endpoint.PublicKey,
		HeaderNames:             nonNil(endpoint.HeaderNames),
		PreviousSecretExpiresAt: wire.Time(endpoint.PreviousUntil),
		Verified:                endpoint.Verified,
		Parked:                  endpoint.Parked,
		Failures:                endpoint.Failures,
		FailingSince:            wire.Time(endpoint.FailingSince),
		LastSuccessAt:           wire.Time(endpoint.LastSuccessAt),
		Livemode:                endpoint.Tenant.Livemode,
		CreatedAt:               wire.Time(endpoint.CreatedAt()),
	}

	// Formats of other APIs sign with a shared secret too, in their own way.
	if endpoint.Format != "" {
		out.Format = endpoint.Format
		out.Signature = webhook.SignV1
	}
	for _, kind := range endpoint.Kinds {
		out.Events = append(out.Events, string(kind))
	}
	if len(endpoint.Kinds) == 0 { // no filter
		out.Events = append(out.Events, string(webhook.AllKinds))
	}
	return out
}

// deliveryOf returns an attempt as clients see it.
func deliveryOf(attempt webhook.Attempt) wire.Delivery {
	timings := attempt.Timings
	out := wire.Delivery{
		ID:      string(attempt.ID),
		EventID: string(attempt.Event),
		Attempt: attempt.Number,
		Trigger: attempt.Trigger,
		Outcome: attempt.Outcome,
		Status:  attempt.Status,
		Error:   attempt.Error,
		Timings: wire.DeliveryTimings{
			DNSMs:       timings.DNS.Milliseconds(),
			ConnectMs:   timings.Connect.Milliseconds(),
			TLSMs:       timings.TLS.Milliseconds(),
			FirstByteMs: timings.FirstByte.Milliseconds(),
			TotalMs:     timings.Total.Milliseconds(),
		},
		Timestamp: wire.Time(attempt.ID.Raw().Time()),
	}

	if attempt.Address.IsValid() {
		out.Address = attempt.Address.String()
	}
	if attempt.Status != 0 {
		out.Response = &wire.DeliveryResponse{Head: attempt.Head, Body: attempt.Body}
	}
	return out
}
