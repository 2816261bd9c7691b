package api

import (
	"context"
	"net/http"
	"time"

	"github.com/waybillhq/waybill/internal/httpkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// redeliverInput is the body of POST /v1/events/{id}/redeliver.
type redeliverInput struct {
	WebhookID string `json:"webhookId,omitempty" minLength:"1" maxLength:"64" example:"whe_01KJMBQDHV00G9W4T7H2K5NXQD" doc:"Send it only to this webhook, whatever event types it subscribes to; if omitted, to all webhooks that subscribe to the type."`
}

type redeliverRequest struct {
	ID   string `path:"id" example:"evt_01KJMBQDHV00GB3K9T4ZP6YS0R" doc:"Identifier of the event."`
	Body *redeliverInput
}

// redelivered is the answer of POST /v1/events/{id}/redeliver.
type redelivered struct {
	Deliveries int `json:"deliveries" minimum:"1" doc:"Number of webhooks to which the event is sent again."`
}

// redeliverEvent handles POST /v1/events/{id}/redeliver.
func (s *server) redeliverEvent(ctx context.Context, in *redeliverRequest) (reply, error) {
	event, ok := ship.ParseEventID(in.ID)
	if !ok {
		return reply{}, ship.Coded(ship.NotFound, "event_not_found", "no such event")
	}

	var only ship.EndpointID
	if in.Body != nil && in.Body.WebhookID != "" {
		var err error
		if only, err = webhookID(in.Body.WebhookID); err != nil {
			return reply{}, err
		}
	}

	deliveries, err := s.Webhook.Redeliver(ctx, httpkit.From(ctx).Principal.Tenant, event, only)
	if err != nil {
		return reply{}, err
	}
	return jsonReply(http.StatusAccepted, redelivered{Deliveries: deliveries})
}

// recoverInput is the body of POST /v1/webhooks/{id}/recover.
type recoverInput struct {
	Since string `json:"since" format:"date-time" doc:"Resend events recorded since this time, at most 30 days ago."`
}

type recoverRequest struct {
	ID   string `path:"id" example:"whe_01KJMBQDHV00G9W4T7H2K5NXQD" doc:"Identifier of the webhook."`
	Body recoverInput
}

// recoverWebhook handles POST /v1/webhooks/{id}/recover.
func (s *server) recoverWebhook(ctx context.Context, in *recoverRequest) (reply, error) {
	id, err := webhookID(in.ID)
	if err != nil {
		return reply{}, err
	}
	since, err := time.Parse(time.RFC3339Nano, in.Body.Since)
	if err != nil {
		return reply{}, ship.InvalidFields([]ship.FieldError{{Pointer: "/since", Code: "invalid_format", Detail: "must be an RFC 3339 time, such as 2026-03-31T12:00:00Z"}})
	}

	endpoint, err := s.Webhook.Recover(ctx, httpkit.From(ctx).Principal.Tenant, id, since)
	if err != nil {
		return reply{}, err
	}
	return jsonReply(http.StatusAccepted, webhookOf(endpoint))
}
