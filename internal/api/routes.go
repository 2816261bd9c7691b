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
	summary      string
	scope        string // that the key needs
	sandbox      bool   // open to every test key and to no live key
	link         bool   // a signed link is accepted in place of a key
	purchase     bool   // keeps its idempotency keys itself
	terms        bool   // sets at which prices or terms others buy; closed to keys with limits
	secret       bool   // its answer holds a secret, and is stored sealed
	starts       bool   // its 202 names work in the background, and is repeated
	maxBody      int64  // bytes of a body; 0 for the limit of all routes
	memory       int64  // bytes that are reserved before the body is read; 0 for none
	list         string // the only member of the body, a list that the handler reads; empty for others
	unaudited    string // why its changes are not in the audit log; empty for a GET
	notes        string // what the audit log calls an answer of a route that changes nothing; empty for none
	handler      func(huma.API, huma.Operation)
	outcomes     []outcome
	codes        []string // of errors, beside those of every route

	// checkFurther finds the invalid fields of a body whose shape is wrong, so
	// that one answer lists everything; nil if nothing more is checked.
	checkFurther func(*httpkit.Exchange) []ship.FieldError

	// Filled in when the route is registered.
	query        []string
	body         *shape
	bodyRequired bool
}

// Why a route is not in the audit log.
const (
	changesNothing = "it changes no settings"
	itsOwnLog      = "shipments and trackers have the event log, and the request log shows which key was used"
)

// An outcome is an answer that is not an error.
type outcome struct {
	status  int
	about   string
	body    any // a value of the type that is shown
	headers []string
	linked  bool // the document links the shipment's further operations to it
}

// table returns the whole interface.
func (s *server) table() []*route {
	return slices.Concat(
		s.shipmentRoutes(),
		s.returnRoutes(),
		s.packingSlipRoutes(),
		s.returnRequestRoutes(),
		s.proofRoutes(),
		s.pointRoutes(),
		s.dutyRoutes(),
		s.labelRoutes(),
		s.batchRoutes(),
		s.trackingRoutes(),
		s.webhookRoutes(),
		s.otherRoutes(),
		s.routingRoutes(),
		s.rulesRoutes(),
		s.sheetRoutes(),
		s.privacyRoutes(),
		s.retentionRoutes(),
		s.addressRoutes(),
		s.pickupRoutes(),
		s.manifestRoutes(),
		s.locationRoutes(),
		s.requestRoutes(),
	)
}

// shipmentRoutes quote, buy, show and void shipments.
func (s *server) shipmentRoutes() []*route {
	shipment := wire.Shipment{}

	return []*route{
		{
			method:       http.MethodPost,
			path:         "/v1/rates",
			id:           "quoteRates",
			tag:          "Rates",
			summary:      "Get rates",
			scope:        "rates",
			unaudited:    changesNothing,
			checkFurther: checkRates,
			handler:      handle(s.quoteRates),
			outcomes:     []outcome{{status: http.StatusOK, about: "The offers of all carriers.", body: rates{}}},
			codes:        []string{"carrier_rejected", "origin_required", "unknown_location", "connection_not_at_location", "no_carrier", "no_rate", "unknown_carrier", "carrier_unavailable"},
		},

		{
			method:       http.MethodPost,
			path:         "/v1/shipments",
			id:           "createShipment",
			tag:          "Shipments",
			summary:      "Create a shipment",
			scope:        "shipments:write",
			unaudited:    itsOwnLog,
			checkFurther: checkShipment,

			// The key is reserved together with the purchase, not around the
			// handler: a crash must not leave one without the other.
			purchase: true,

			handler: handle(s.createShipment),
			outcomes: []outcome{
				{
					status:  http.StatusCreated,
					about:   "The label was bought.",
					body:    shipment,
					headers: []string{"Location", "Idempotent-Replayed"},
					linked:  true,
				},
				{
					status:  http.StatusOK,
					about:   "The existing shipment of the order, with `onDuplicateOrder: return`.",
					body:    shipment,
					headers: []string{"Location"},
					linked:  true,
				},
				{
					status:  http.StatusAccepted,
					about:   "The carrier has not responded yet, or a person must approve the purchase first, as `approval` says; `labelStatus` is `pending`.",
					body:    shipment,
					headers: []string{"Location", "Retry-After", "Idempotent-Replayed"},
					linked:  true,
				},
			},
			codes: []string{
				"carrier_rejected",
				"address_invalid",
				"price_changed",
				"rate_mismatch",
				"rate_expired",
				"currency_mismatch",
				"origin_required",
				"unknown_location",
				"connection_not_at_location",
				"no_carrier",
				"no_rate",
				"unknown_carrier",
				"duplicate_order",
				"spend_limit_reached",
				"purchase_limit_exceeded",
				"country_not_allowed",
				"approval_denied",
				"approval_expired",
				"carrier_unavailable",
				"outcome_unknown",
				"restore_pending",
			},
		},

		{
			method:   http.MethodGet,
			path:     "/v1/shipments",
			id:       "listShipments",
			notes:    "shipment.listed",
			tag:      "Shipments",
			summary:  "List shipments",
			scope:    "shipments:read",
			handler:  handle(s.listShipments),
			outcomes: []outcome{{status: http.StatusOK, about: "A page of shipments, newest first.", body: page[wire.Shipment]{}}},
			codes:    []string{"invalid_cursor"},
		},

		{
			method:   http.MethodGet,
			path:     "/v1/shipments/{id}",
			id:       "getShipment",
			tag:      "Shipments",
			summary:  "Get a shipment",
			scope:    "shipments:read",
			handler:  handle(s.getShipment),
			outcomes: []outcome{{status: http.StatusOK, about: "The current state of the shipment.", body: shipment}},
			codes:    []string{"shipment_not_found"},
		},

		{
			method:   http.MethodPatch,
			path:     "/v1/shipments/{id}",
			id:       "changeShipment",
			tag:      "Shipments",
			summary:  "Change the metadata of a shipment",
			scope:    "shipments:write",
			handler:  handle(s.changeShipment),
			outcomes: []outcome{{status: http.StatusOK, about: "The shipment with the new metadata.", body: shipment}},
			codes:    []string{"shipment_not_found", "conflict"},
		},

		{
			method:    http.MethodPost,
			path:      "/v1/shipments/{id}/duplicate",
			id:        "duplicateShipment",
			tag:       "Shipments",
			summary:   "Duplicate a shipment",
			scope:     "shipments:read",
			unaudited: changesNothing,
			handler:   handle(s.duplicateShipment),
			outcomes:  []outcome{{status: http.StatusOK, about: "A request body for `POST /v1/shipments` that ships the order again. Nothing is bought.", body: wire.Creation{}}},
			codes:     []string{"shipment_not_found"},
		},

		{
			method:    http.MethodPost,
			path:      "/v1/shipments/{id}/void",
			id:        "voidShipment",
			tag:       "Shipments",
			summary:   "Void a label",
			scope:     "shipments:write",
			unaudited: itsOwnLog,
			handler:   handle(s.voidShipment),
			outcomes: []outcome{
				{status: http.StatusOK, about: "The label was voided.", body: shipment},
				{status: http.StatusAccepted, about: "The void or the refund is in progress; see `labelStatus`.", body: shipment},
			},
			codes: []string{
				"shipment_not_found",
				"void_not_supported",
				"ability_unconfirmed",
				"void_refused",
				"label_not_ready",
				"conflict",
				"carrier_unavailable",
				"outcome_unknown",
			},
		},
	}
}

// labelRoutes render and serve labels.
func (s *server) labelRoutes() []*route {
	routes := []*route{
		{
			method:    http.MethodPost,
			path:      "/v1/shipments/{id}/label",
			id:        "makeLabel",
			tag:       "Labels",
			summary:   "Generate a label",
			scope:     "labels",
			unaudited: changesNothing,
			handler:   handle(s.makeLabel),
			outcomes:  []outcome{{status: http.StatusOK, about: "The URL of the rendered label.", body: rendering{}}},
			codes:     []string{"shipment_not_found", "label_not_ready", "format_unavailable", "label_quarantined", "label_voided", "label_erased"},
		},

		{
			method:   http.MethodGet,
			path:     "/v1/shipments/{id}/documents/{number}",
			id:       "getDocument",
			tag:      "Labels",
			summary:  "Get a document",
			scope:    "labels",
			handler:  handle(s.getDocument),
			outcomes: []outcome{{status: http.StatusOK, about: "The document as issued by the carrier, or as it was uploaded.", headers: []string{"Cache-Control", "Content-Disposition"}}},
			codes:    []string{"shipment_not_found", "not_found", "label_quarantined", "label_erased"},
		},

		{
			method:    http.MethodPost,
			path:      "/v1/shipments/{id}/label-link",
			id:        "linkLabel",
			notes:     "label_link.made",
			tag:       "Labels",
			summary:   "Create a label link",
			scope:     "shipments:write",
			unaudited: changesNothing,
			handler:   handle(s.linkLabel),
			outcomes:  []outcome{{status: http.StatusOK, about: "A link that needs no API key.", body: labelLink{}}},
			codes:     []string{"shipment_not_found", "label_not_ready", "format_unavailable", "label_quarantined", "label_voided", "label_erased"},
		},

		{
			method:  http.MethodGet,
			path:    labelPath,
			id:      "getLabel",
			notes:   "label_link.opened",
			tag:     "Labels",
			summary: "Get a label",
			scope:   "labels",
			link:    true,
			handler: handle(s.getLabel),
			outcomes: []outcome{
				{status: http.StatusOK, about: "The label.", headers: []string{"ETag", "Cache-Control", "Content-Disposition"}},
				{status: http.StatusNotModified, about: "Not modified.", headers: []string{"ETag"}},
			},
			codes: []string{
				"not_found",
				"shipment_not_found",
				"invalid_token",
				"label_not_ready",
				"format_unavailable",
				"label_quarantined",
				"label_voided",
				"label_erased",
			},
		},
	}
	return append(routes, s.uploadRoutes()...)
}

// trackingRoutes show where parcels are, and advance those of the sandbox.
func (s *server) trackingRoutes() []*route {
	result := wire.TrackingResult{}

	return []*route{
		{
			method:  http.MethodGet,
			path:    "/v1/tracking/{trackingNumber}",
			id:      "track",
			tag:     "Tracking",
			summary: "Get tracking",
			scope:   "tracking",
			handler: handle(s.track),
			outcomes: []outcome{
				{
					status:  http.StatusOK,
					about:   "Status and timeline, newest first.",
					body:    result,
					headers: []string{"ETag", "Cache-Control"},
				},
				{status: http.StatusNotModified, about: "Not modified.", headers: []string{"ETag"}},
			},
			codes: []string{"tracking_not_found"},
		},

		{
			method:   http.MethodGet,
			path:     "/v1/tracking-numbers/recognize",
			id:       "recognizeTrackingNumber",
			tag:      "Tracking",
			summary:  "Recognize a tracking number",
			scope:    "tracking",
			handler:  handle(s.recognize),
			outcomes: []outcome{{status: http.StatusOK, about: "The likely carriers.", body: recognition{}}},
		},

		{
			method:    http.MethodPost,
			path:      "/v1/trackers",
			id:        "follow",
			tag:       "Tracking",
			summary:   "Create a tracker",
			scope:     "tracking",
			unaudited: itsOwnLog,
			handler:   handle(s.follow),
			outcomes: []outcome{
				{
					status:  http.StatusCreated,
					about:   "The tracker was created.",
					body:    result,
					headers: []string{"Location"},
				},
				{
					status:  http.StatusOK,
					about:   "The tracker already existed.",
					body:    result,
					headers: []string{"Location"},
				},
			},
			codes: []string{"unknown_carrier", "carrier_ambiguous", "tracker_limit"},
		},

		{
			method:   http.MethodGet,
			path:     "/v1/trackers",
			id:       "listTrackers",
			notes:    "tracker.listed",
			tag:      "Tracking",
			summary:  "List trackers",
			scope:    "tracking",
			handler:  handle(s.listTrackers),
			outcomes: []outcome{{status: http.StatusOK, about: "A page of trackers, newest first.", body: page[wire.TrackingResult]{}}},
			codes:    []string{"invalid_cursor"},
		},

		{
			method:    http.MethodDelete,
			path:      "/v1/trackers/{id}",
			id:        "unfollow",
			tag:       "Tracking",
			summary:   "Delete a tracker",
			scope:     "tracking",
			unaudited: itsOwnLog,
			handler:   handle(s.unfollow),
			outcomes:  []outcome{{status: http.StatusNoContent, about: "The tracker was deleted."}},
			codes:     []string{"tracker_not_found"},
		},

		{
			method:    http.MethodPost,
			path:      "/v1/sandbox/shipments/{id}/advance",
			id:        "advanceShipment",
			tag:       "Sandbox",
			summary:   "Move a test shipment forward",
			sandbox:   true,
			unaudited: itsOwnLog,
			handler:   handle(s.advance),
			outcomes:  []outcome{{status: http.StatusOK, about: "Status and timeline after the step.", body: result}},
			codes:     []string{"shipment_not_found", "cannot_advance"},
		},
	}
}

// otherRoutes list events and carriers.
func (s *server) otherRoutes() []*route {
	return []*route{
		{
			method:   http.MethodGet,
			path:     "/v1/events",
			id:       "listEvents",
			notes:    "event.listed",
			tag:      "Events",
			summary:  "List events",
			scope:    "events",
			handler:  handle(s.listEvents),
			outcomes: []outcome{{status: http.StatusOK, about: "Events, oldest first.", body: events{}}},
			codes:    []string{"invalid_cursor", "cursor_expired"},
		},

		{
			method:   http.MethodGet,
			path:     "/v1/carriers",
			id:       "listCarriers",
			tag:      "Carriers",
			summary:  "List carriers",
			scope:    "carriers",
			handler:  handle(s.listCarriers),
			outcomes: []outcome{{status: http.StatusOK, about: "The carriers that the key can use.", body: page[carrierShown]{}}},
		},
	}
}

// webhookRoutes manage webhook endpoints and their deliveries.
func (s *server) webhookRoutes() []*route {
	endpoint := wire.Webhook{}
	notFound := []string{"webhook_not_found"}

	return []*route{
		{
			method:  http.MethodPost,
			path:    "/v1/webhooks",
			id:      "createWebhook",
			tag:     "Webhooks",
			summary: "Create a webhook",
			scope:   "webhooks",
			secret:  true,
			handler: handle(s.createWebhook),
			outcomes: []outcome{{
				status:  http.StatusCreated,
				about:   "The webhook, with its secret.",
				body:    endpoint,
				headers: []string{"Location"},
			}},
			codes: []string{"webhook_limit"},
		},

		{
			method:   http.MethodGet,
			path:     "/v1/webhooks",
			id:       "listWebhooks",
			tag:      "Webhooks",
			summary:  "List webhooks",
			scope:    "webhooks",
			handler:  handle(s.listWebhooks),
			outcomes: []outcome{{status: http.StatusOK, about: "All webhooks, newest first.", body: page[wire.Webhook]{}}},
		},

		{
			method:   http.MethodGet,
			path:     "/v1/webhooks/{id}",
			id:       "getWebhook",
			tag:      "Webhooks",
			summary:  "Get a webhook",
			scope:    "webhooks",
			handler:  handle(s.getWebhook),
			outcomes: []outcome{{status: http.StatusOK, about: "The webhook and its delivery status.", body: endpoint}},
			codes:    notFound,
		},

		{
			method:   http.MethodPatch,
			path:     "/v1/webhooks/{id}",
			id:       "changeWebhook",
			tag:      "Webhooks",
			summary:  "Update a webhook",
			scope:    "webhooks",
			handler:  handle(s.changeWebhook),
			outcomes: []outcome{{status: http.StatusOK, about: "The updated webhook.", body: endpoint}},
			codes:    notFound,
		},

		{
			method:   http.MethodDelete,
			path:     "/v1/webhooks/{id}",
			id:       "deleteWebhook",
			tag:      "Webhooks",
			summary:  "Delete a webhook",
			scope:    "webhooks",
			handler:  handle(s.deleteWebhook),
			outcomes: []outcome{{status: http.StatusNoContent, about: "The webhook was deleted."}},
			codes:    notFound,
		},

		{
			method:   http.MethodPost,
			path:     "/v1/webhooks/{id}/rotate-secret",
			id:       "rotateWebhookSecret",
			tag:      "Webhooks",
			summary:  "Rotate a webhook secret",
			scope:    "webhooks",
			secret:   true,
			handler:  handle(s.rotateSecret),
			outcomes: []outcome{{status: http.StatusOK, about: "The webhook, with its new secret.", body: endpoint}},
			codes:    notFound,
		},

		{
			method:    http.MethodPost,
			path:      "/v1/webhooks/{id}/test",
			id:        "testWebhook",
			tag:       "Webhooks",
			summary:   "Test a webhook",
			scope:     "webhooks",
			unaudited: changesNothing,
			handler:   handle(s.testWebhook),
			outcomes:  []outcome{{status: http.StatusOK, about: "The result of the attempt.", body: wire.Delivery{}}},
			codes:     notFound,
		},

		{
			method:   http.MethodGet,
			path:     "/v1/webhooks/{id}/deliveries",
			id:       "listDeliveries",
			tag:      "Webhooks",
			summary:  "List deliveries",
			scope:    "webhooks",
			handler:  handle(s.listDeliveries),
			outcomes: []outcome{{status: http.StatusOK, about: "A page of attempts, newest first.", body: page[wire.Delivery]{}}},
			codes:    []string{"webhook_not_found", "invalid_cursor"},
		},

		{
			method:   http.MethodPost,
			path:     "/v1/webhooks/{id}/recover",
			id:       "recoverWebhook",
			tag:      "Webhooks",
			summary:  "Resend missed events",
			scope:    "webhooks",
			handler:  handle(s.recoverWebhook),
			outcomes: []outcome{{status: http.StatusAccepted, about: "The webhook; the missed events are being sent.", body: endpoint}},
			codes:    notFound,
		},

		{
			method:   http.MethodPost,
			path:     "/v1/events/{id}/redeliver",
			id:       "redeliverEvent",
			tag:      "Webhooks",
			summary:  "Resend an event",
			scope:    "webhooks",
			handler:  handle(s.redeliverEvent),
			outcomes: []outcome{{status: http.StatusAccepted, about: "The event is being sent.", body: redelivered{}}},
			codes:    []string{"event_not_found", "webhook_not_found"},
		},
	}
}

// labelPath is the pattern of a label's address: the mux cannot match a suffix
// inside a segment. The document shows one path a format.
const labelPath = "/v1/labels/{file}"
