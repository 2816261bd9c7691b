package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"time"
)

// A WebhookRequest creates a webhook. Only URL is required.
type WebhookRequest struct {
	URL         string            `json:"url"`
	Events      []string          `json:"events,omitempty"` // kinds; empty is all
	Description string            `json:"description,omitempty"`
	Enabled     *bool             `json:"enabled,omitempty"` // nil is true
	Headers     map[string]string `json:"headers,omitempty"`
	Signature   string            `json:"signature,omitempty"` // "v1", "v1a", "both"
}

// A WebhookChange changes what is set and leaves the rest.
type WebhookChange struct {
	URL         *string            `json:"url,omitempty"`
	Events      []string           `json:"events,omitempty"` // {"*"} is all
	Description *string            `json:"description,omitempty"`
	Enabled     *bool              `json:"enabled,omitempty"`
	Headers     *map[string]string `json:"headers,omitempty"` // all of them; empty removes them
	Signature   *string            `json:"signature,omitempty"`
}

// A Webhook is an endpoint that events are sent to.
type Webhook struct {
	ID                      string    `json:"id"`
	URL                     string    `json:"url"`
	Events                  []string  `json:"events"`
	Description             string    `json:"description"`
	Enabled                 bool      `json:"enabled"`
	DisabledReason          string    `json:"disabledReason"` // "client", "gone", "failing"
	Signature               string    `json:"signature"`
	Format                  string    `json:"format,omitempty"` // of another API; empty for Waybill's own
	Secret                  string    `json:"secret"`           // only of CreateWebhook and RotateWebhookSecret
	PublicKey               string    `json:"publicKey"`        // with v1a
	HeaderNames             []string  `json:"headerNames"`
	PreviousSecretExpiresAt time.Time `json:"previousSecretExpiresAt"`
	Verified                bool      `json:"verified"`
	Parked                  bool      `json:"parked"`
	Failures                int       `json:"failures"`
	FailingSince            time.Time `json:"failingSince"`
	LastSuccessAt           time.Time `json:"lastSuccessAt"`
	Livemode                bool      `json:"livemode"`
	CreatedAt               time.Time `json:"createdAt"`
}

// A Delivery is one attempt to send an event to a webhook.
type Delivery struct {
	ID        string            `json:"id"`
	EventID   string            `json:"eventId"`
	Attempt   int               `json:"attempt"`
	Trigger   string            `json:"trigger"`
	Outcome   string            `json:"outcome"` // "delivered" when the webhook answered 2xx
	Status    int               `json:"status"`  // 0 without an answer
	Error     string            `json:"error"`
	Address   string            `json:"address"`
	Timings   DeliveryTimings   `json:"timings"`
	Response  *DeliveryResponse `json:"response"`
	Timestamp time.Time         `json:"timestamp"`
}

// DeliveryTimings is how long the parts of an attempt took.
type DeliveryTimings struct {
	DNSMs       int64 `json:"dnsMs"`
	ConnectMs   int64 `json:"connectMs"`
	TLSMs       int64 `json:"tlsMs"`
	FirstByteMs int64 `json:"firstByteMs"`
	TotalMs     int64 `json:"totalMs"`
}

// DeliveryResponse is the beginning of an answer.
type DeliveryResponse struct {
	Head string `json:"head"`
	Body string `json:"body"`
}

func webhookPath(id string) string { return "/v1/webhooks/" + url.PathEscape(id) }

// CreateWebhook creates a webhook. Keep its Secret: no other answer has it.
func (c *Client) CreateWebhook(ctx context.Context, in WebhookRequest, options ...CallOption) (Webhook, error) {
	var out Webhook
	_, err := c.do(ctx, call{method: http.MethodPost, path: "/v1/webhooks", body: in, effect: true}, &out, options...)
	return out, err
}

// Webhooks lists all webhooks of the key's mode, newest first.
func (c *Client) Webhooks(ctx context.Context) ([]Webhook, error) {
	var out Page[Webhook]
	_, err := c.do(ctx, call{method: http.MethodGet, path: "/v1/webhooks"}, &out)
	return out.Data, err
}

// Webhook returns a webhook, with the state of its deliveries.
func (c *Client) Webhook(ctx context.Context, id string) (Webhook, error) {
	var out Webhook
	_, err := c.do(ctx, call{method: http.MethodGet, path: webhookPath(id)}, &out)
	return out, err
}

// UpdateWebhook changes a webhook.
func (c *Client) UpdateWebhook(ctx context.Context, id string, in WebhookChange) (Webhook, error) {
	var out Webhook
	_, err := c.do(ctx, call{method: http.MethodPatch, path: webhookPath(id), body: in}, &out)
	return out, err
}

// DeleteWebhook deletes a webhook.
func (c *Client) DeleteWebhook(ctx context.Context, id string) error {
	_, err := c.do(ctx, call{method: http.MethodDelete, path: webhookPath(id)}, nil)
	return err
}

// RotateWebhookSecret gives a webhook a new secret, which is in the answer. For
// a day events are signed with the old one too.
func (c *Client) RotateWebhookSecret(ctx context.Context, id string, options ...CallOption) (Webhook, error) {
	var out Webhook
	_, err := c.do(ctx, call{method: http.MethodPost, path: webhookPath(id) + "/rotate-secret", effect: true}, &out, options...)
	return out, err
}

// TestWebhook sends a webhook one made-up event of the kind, at once, and
// returns the outcome. An empty kind is shipment.created.
func (c *Client) TestWebhook(ctx context.Context, id, kind string, options ...CallOption) (Delivery, error) {
	in := struct {
		Type string `json:"type,omitempty"`
	}{kind}
	var out Delivery
	_, err := c.do(ctx, call{method: http.MethodPost, path: webhookPath(id) + "/test", body: in, effect: true}, &out, options...)
	return out, err
}

// DeliveriesPage returns one page of the attempts to send events to a webhook,
// newest first.
func (c *Client) DeliveriesPage(ctx context.Context, id string, limit int, cursor string) (Page[Delivery], error) {
	query := url.Values{}
	setPage(query, limit, cursor)
	var out Page[Delivery]
	_, err := c.do(ctx, call{method: http.MethodGet, path: webhookPath(id) + "/deliveries", query: query}, &out)
	return out, err
}

// Deliveries iterates over all attempts, newest first, page by page. It ends
// after an error.
func (c *Client) Deliveries(ctx context.Context, id string) iter.Seq2[Delivery, error] {
	return pages(func(cursor string) (Page[Delivery], error) { return c.DeliveriesPage(ctx, id, 0, cursor) })
}

// Redeliver sends an event again, to one webhook or, if webhook is empty, to
// all that want its kind, and reports to how many.
func (c *Client) Redeliver(ctx context.Context, event, webhook string, options ...CallOption) (int, error) {
	in := struct {
		WebhookID string `json:"webhookId,omitempty"`
	}{webhook}
	var out struct {
		Deliveries int `json:"deliveries"`
	}
	_, err := c.do(ctx, call{method: http.MethodPost, path: "/v1/events/" + url.PathEscape(event) + "/redeliver", body: in, effect: true}, &out, options...)
	return out.Deliveries, err
}

// Recover sends a webhook all events since a time that it has not received, and
// enables it if it was parked or disabled.
func (c *Client) Recover(ctx context.Context, id string, since time.Time, options ...CallOption) (Webhook, error) {
	in := struct {
		Since string `json:"since"`
	}{since.UTC().Format(time.RFC3339Nano)}
	var out Webhook
	_, err := c.do(ctx, call{method: http.MethodPost, path: webhookPath(id) + "/recover", body: in, effect: true}, &out, options...)
	return out, err
}
