package api

import (
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"github.com/waybillhq/waybill/internal/httpkit"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/wire"
)

// A route is one operation: where it is, who may call it, and what it can
// answer. The table is the whole interface; what is not in it is denied.
type route struct {
	method, path string
	id           string // operationId
	tag          string
	scope        string // that the key needs
	sandbox      bool   // any test key may, no live key
	link         bool   // a signed link stands for a key
	purchase     bool   // keeps its idempotency keys itself
	secret       bool   // its answer holds a secret, and is kept sealed
	maxBody      int64  // bytes of a body; 0 for the limit of all routes
	untold       string // why what it does is not in the audit log, of one that is no GET
	summary      string
	handler      func(huma.API, huma.Operation)
	outcomes     []outcome
	codes        []string // of errors, beside those of every route
	// further finds what is wrong beyond the shape of the body, so that one
	// answer lists everything; nil if nothing more is checked.
	further func(*httpkit.Exchange) []ship.FieldError

	// Filled in when it is registered.
	query        []string
	body         *shape
	bodyRequired bool
}

// Why a route is not in the audit log.
const (
	changesNothing = "it changes no settings"
	itsOwnLog      = "shipments and trackers have the event log, and the request log tells which key asked"
)

// An outcome is an answer that is not an error.
type outcome struct {
	status  int
	about   string
	body    any // a value of the type that is shown
	headers []string
	linked  bool // the shipment's further operations follow from it
}

// table is the whole interface.
func (s *server) table() []*route {
	return slices.Concat(s.shipmentRoutes(), s.labelRoutes(), s.trackingRoutes(), s.webhookRoutes(), s.otherRoutes(), s.routingRoutes(), s.rulesRoutes(), s.sheetRoutes())
}

// shipmentRoutes quote, buy, show and void.
func (s *server) shipmentRoutes() []*route {
	shipment := wire.Shipment{}
	return []*route{
		{
			method: http.MethodPost, path: "/v1/rates", id: "quoteRates", tag: "Rates", scope: "rates", untold: changesNothing, further: checkRates,
			summary: "Get rates", handler: handle(s.quoteRates),
			outcomes: []outcome{{http.StatusOK, "The offers of all carriers.", rates{}, nil, false}},
			codes:    []string{"carrier_rejected", "origin_required", "no_carrier", "no_rate", "unknown_carrier", "carrier_unavailable"},
		},
		{
			method: http.MethodPost, path: "/v1/shipments", id: "createShipment", tag: "Shipments", scope: "shipments:write", purchase: true, untold: itsOwnLog, further: checkShipment,
			summary: "Create a shipment", handler: handle(s.createShipment),
			outcomes: []outcome{
				{http.StatusCreated, "The label is bought.", shipment, []string{"Location", "Idempotent-Replayed"}, true},
				{http.StatusOK, "The order's earlier shipment, with `onDuplicateOrder: return`.", shipment, []string{"Location"}, true},
				{http.StatusAccepted, "The carrier has not answered yet; `labelStatus` is `pending`.", shipment, []string{"Location", "Retry-After", "Idempotent-Replayed"}, true},
			},
			codes: []string{
				"carrier_rejected", "price_changed", "rate_mismatch", "rate_expired", "currency_mismatch", "origin_required", "no_carrier", "no_rate", "unknown_carrier",
				"duplicate_order", "spend_limit_reached", "carrier_unavailable", "outcome_unknown",
			},
		},
		{
			method: http.MethodGet, path: "/v1/shipments", id: "listShipments", tag: "Shipments", scope: "shipments:read",
			summary: "List shipments", handler: handle(s.listShipments),
			outcomes: []outcome{{http.StatusOK, "A page of shipments, newest first.", page[wire.Shipment]{}, nil, false}},
			codes:    []string{"invalid_cursor"},
		},
		{
			method: http.MethodGet, path: "/v1/shipments/{id}", id: "getShipment", tag: "Shipments", scope: "shipments:read",
			summary: "Get a shipment", handler: handle(s.getShipment),
			outcomes: []outcome{{http.StatusOK, "The shipment as it is now.", shipment, nil, false}},
			codes:    []string{"shipment_not_found"},
		},
		{
			method: http.MethodPost, path: "/v1/shipments/{id}/duplicate", id: "duplicateShipment", tag: "Shipments", scope: "shipments:read", untold: changesNothing,
			summary: "Duplicate a shipment", handler: handle(s.duplicateShipment),
			outcomes: []outcome{{http.StatusOK, "A body for `POST /v1/shipments` that ships the order again. Nothing is bought.", wire.Creation{}, nil, false}},
			codes:    []string{"shipment_not_found"},
		},
		{
			method: http.MethodPost, path: "/v1/shipments/{id}/void", id: "voidShipment", tag: "Shipments", scope: "shipments:write", untold: itsOwnLog,
			summary: "Void a label", handler: handle(s.voidShipment),
			outcomes: []outcome{
				{http.StatusOK, "The label is voided.", shipment, nil, false},
				{http.StatusAccepted, "The void is under way, or the refund is; `labelStatus` tells.", shipment, nil, false},
			},
			codes: []string{"shipment_not_found", "void_not_supported", "void_refused", "label_not_ready", "conflict", "carrier_unavailable", "outcome_unknown"},
		},
	}
}

// labelRoutes make and serve labels.
func (s *server) labelRoutes() []*route {
	return []*route{
		{
			method: http.MethodPost, path: "/v1/shipments/{id}/label", id: "makeLabel", tag: "Labels", scope: "labels", untold: changesNothing,
			summary: "Generate a label", handler: handle(s.makeLabel),
			outcomes: []outcome{{http.StatusOK, "Where the rendering can be fetched.", rendering{}, nil, false}},
			codes:    []string{"shipment_not_found", "label_not_ready", "format_unavailable", "label_quarantined", "label_voided"},
		},
		{
			method: http.MethodGet, path: "/v1/shipments/{id}/documents/{number}", id: "getDocument", tag: "Labels", scope: "labels",
			summary: "Fetch a customs paper", handler: handle(s.getDocument),
			outcomes: []outcome{{http.StatusOK, "The paper, as the carrier made it.", nil, []string{"Cache-Control", "Content-Disposition"}, false}},
			codes:    []string{"shipment_not_found", "not_found", "label_quarantined"},
		},
		{
			method: http.MethodPost, path: "/v1/shipments/{id}/label-link", id: "linkLabel", tag: "Labels", scope: "shipments:write", untold: changesNothing,
			summary: "Share a label", handler: handle(s.linkLabel),
			outcomes: []outcome{{http.StatusOK, "A link that needs no API key.", labelLink{}, nil, false}},
			codes:    []string{"shipment_not_found", "label_not_ready", "format_unavailable", "label_quarantined", "label_voided"},
		},
		{
			method: http.MethodGet, path: labelPath, id: "getLabel", tag: "Labels", scope: "labels", link: true,
			summary: "Fetch a label", handler: handle(s.getLabel),
			outcomes: []outcome{
				{http.StatusOK, "The label.", nil, []string{"ETag", "Cache-Control", "Content-Disposition"}, false},
				{http.StatusNotModified, "The copy at hand is still right.", nil, []string{"ETag"}, false},
			},
			codes: []string{"not_found", "shipment_not_found", "invalid_token", "label_not_ready", "format_unavailable", "label_quarantined", "label_voided"},
		},
	}
}

// trackingRoutes tell where parcels are, and move those of the sandbox.
func (s *server) trackingRoutes() []*route {
	result := wire.TrackingResult{}
	return []*route{
		{
			method: http.MethodGet, path: "/v1/tracking/{trackingNumber}", id: "track", tag: "Tracking", scope: "tracking",
			summary: "Look up tracking", handler: handle(s.track),
			outcomes: []outcome{
				{http.StatusOK, "Status and timeline, newest first.", result, []string{"ETag", "Cache-Control"}, false},
				{http.StatusNotModified, "The timeline is unchanged.", nil, []string{"ETag"}, false},
			},
			codes: []string{"tracking_not_found"},
		},
		{
			method: http.MethodPost, path: "/v1/trackers", id: "follow", tag: "Tracking", scope: "tracking", untold: itsOwnLog,
			summary: "Follow a parcel", handler: handle(s.follow),
			outcomes: []outcome{
				{http.StatusCreated, "The parcel is followed.", result, []string{"Location"}, false},
				{http.StatusOK, "It was followed already.", result, []string{"Location"}, false},
			},
			codes: []string{"unknown_carrier", "carrier_ambiguous", "tracker_limit"},
		},
		{
			method: http.MethodGet, path: "/v1/trackers", id: "listTrackers", tag: "Tracking", scope: "tracking",
			summary: "List followed parcels", handler: handle(s.listTrackers),
			outcomes: []outcome{{http.StatusOK, "A page of trackers, newest first.", page[wire.TrackingResult]{}, nil, false}},
			codes:    []string{"invalid_cursor"},
		},
		{
			method: http.MethodDelete, path: "/v1/trackers/{id}", id: "unfollow", tag: "Tracking", scope: "tracking", untold: itsOwnLog,
			summary: "Stop following", handler: handle(s.unfollow),
			outcomes: []outcome{{http.StatusNoContent, "The parcel is no longer followed.", nil, nil, false}},
			codes:    []string{"tracker_not_found"},
		},
		{
			method: http.MethodPost, path: "/v1/sandbox/shipments/{id}/advance", id: "advanceShipment", tag: "Sandbox", sandbox: true, untold: itsOwnLog,
			summary: "Move a test shipment on", handler: handle(s.advance),
			outcomes: []outcome{{http.StatusOK, "Status and timeline after the step.", result, nil, false}},
			codes:    []string{"shipment_not_found", "cannot_advance"},
		},
	}
}

// otherRoutes tell what changed and who carries.
func (s *server) otherRoutes() []*route {
	return []*route{
		{
			method: http.MethodGet, path: "/v1/events", id: "listEvents", tag: "Events", scope: "events",
			summary: "Read the event log", handler: handle(s.listEvents),
			outcomes: []outcome{{http.StatusOK, "Events, oldest first.", events{}, nil, false}},
			codes:    []string{"invalid_cursor", "cursor_expired"},
		},
		{
			method: http.MethodGet, path: "/v1/carriers", id: "listCarriers", tag: "Carriers", scope: "carriers",
			summary: "List carriers", handler: handle(s.listCarriers),
			outcomes: []outcome{{http.StatusOK, "The carriers that the key can use.", page[carrierShown]{}, nil, false}},
		},
	}
}

// webhookRoutes are about where events are sent.
func (s *server) webhookRoutes() []*route {
	hook, missing := wire.Webhook{}, []string{"webhook_not_found"}
	return []*route{
		{
			method: http.MethodPost, path: "/v1/webhooks", id: "createWebhook", tag: "Webhooks", scope: "webhooks", secret: true,
			summary: "Create a webhook", handler: handle(s.createWebhook),
			outcomes: []outcome{{http.StatusCreated, "The webhook, with its secret.", hook, []string{"Location"}, false}},
			codes:    []string{"webhook_limit"},
		},
		{
			method: http.MethodGet, path: "/v1/webhooks", id: "listWebhooks", tag: "Webhooks", scope: "webhooks",
			summary: "List webhooks", handler: handle(s.listWebhooks),
			outcomes: []outcome{{http.StatusOK, "All webhooks, newest first.", page[wire.Webhook]{}, nil, false}},
		},
		{
			method: http.MethodGet, path: "/v1/webhooks/{id}", id: "getWebhook", tag: "Webhooks", scope: "webhooks",
			summary: "Get a webhook", handler: handle(s.getWebhook), codes: missing,
			outcomes: []outcome{{http.StatusOK, "The webhook, and how it does.", hook, nil, false}},
		},
		{
			method: http.MethodPatch, path: "/v1/webhooks/{id}", id: "changeWebhook", tag: "Webhooks", scope: "webhooks",
			summary: "Change a webhook", handler: handle(s.changeWebhook), codes: missing,
			outcomes: []outcome{{http.StatusOK, "The webhook as it is now.", hook, nil, false}},
		},
		{
			method: http.MethodDelete, path: "/v1/webhooks/{id}", id: "deleteWebhook", tag: "Webhooks", scope: "webhooks",
			summary: "Delete a webhook", handler: handle(s.deleteWebhook), codes: missing,
			outcomes: []outcome{{http.StatusNoContent, "The webhook is gone.", nil, nil, false}},
		},
		{
			method: http.MethodPost, path: "/v1/webhooks/{id}/rotate-secret", id: "rotateWebhookSecret", tag: "Webhooks", scope: "webhooks", secret: true,
			summary: "Rotate a secret", handler: handle(s.rotateSecret), codes: missing,
			outcomes: []outcome{{http.StatusOK, "The webhook, with its new secret.", hook, nil, false}},
		},
		{
			method: http.MethodPost, path: "/v1/webhooks/{id}/test", id: "testWebhook", tag: "Webhooks", scope: "webhooks", untold: changesNothing,
			summary: "Try a webhook", handler: handle(s.testWebhook), codes: missing,
			outcomes: []outcome{{http.StatusOK, "What became of the attempt.", wire.Delivery{}, nil, false}},
		},
		{
			method: http.MethodGet, path: "/v1/webhooks/{id}/deliveries", id: "listDeliveries", tag: "Webhooks", scope: "webhooks",
			summary: "List deliveries", handler: handle(s.listDeliveries),
			outcomes: []outcome{{http.StatusOK, "A page of attempts, newest first.", page[wire.Delivery]{}, nil, false}},
			codes:    []string{"webhook_not_found", "invalid_cursor"},
		},
		{
			method: http.MethodPost, path: "/v1/webhooks/{id}/recover", id: "recoverWebhook", tag: "Webhooks", scope: "webhooks",
			summary: "Send what was missed", handler: handle(s.recoverWebhook), codes: missing,
			outcomes: []outcome{{http.StatusAccepted, "The webhook; what it has missed is being sent.", hook, nil, false}},
		},
		{
			method: http.MethodPost, path: "/v1/events/{id}/redeliver", id: "redeliverEvent", tag: "Webhooks", scope: "webhooks",
			summary: "Send an event again", handler: handle(s.redeliverEvent),
			outcomes: []outcome{{http.StatusAccepted, "The event is being sent.", redelivered{}, nil, false}},
			codes:    []string{"event_not_found", "webhook_not_found"},
		},
	}
}

// labelPath is how the mux sees a label's address: it cannot match a suffix
// inside a segment. The document shows one path a format.
const labelPath = "/v1/labels/{file}"
