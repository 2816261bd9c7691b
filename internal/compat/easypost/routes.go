package easypost

import (
	"net/http"
	"slices"
)

// A Route is one call of EasyPost's API that is served: where it is, and the scope
// that a key needs for it. The table is the whole interface.
type Route struct {
	Method, Path string
	Scope        string
}

// changes marks a route whose changes are in the audit log, in the words of the
// service that makes them.
const changes = "changes"

type route struct {
	Route
	audit   string // changes, what the audit log calls a list that is read, or empty
	handler handler
}

// Routes lists the calls that are served.
func Routes() []Route {
	var list []Route
	for _, rt := range (&server{}).table() {
		list = append(list, rt.Route)
	}
	return list
}

const (
	get   = http.MethodGet
	post  = http.MethodPost
	patch = http.MethodPatch
	del   = http.MethodDelete
)

func (s *server) table() []route {
	return slices.Concat(
		s.objectRoutes(),
		s.shipmentRoutes(),
		s.trackerRoutes(),
		s.handoverRoutes(),
		s.eventRoutes(),
	)
}

// objectRoutes are about what shipments are made of.
func (s *server) objectRoutes() []route {
	return []route{
		{Route{post, "/v2/addresses", "rates"}, "", s.createAddress},
		{Route{post, "/v2/addresses/create_and_verify", "rates"}, "", s.createAndVerifyAddress},
		{Route{get, "/v2/addresses", "shipments:read"}, "address.listed", s.listAddresses},
		{Route{get, "/v2/addresses/{id}", "shipments:read"}, "", s.getAddress},
		{Route{get, "/v2/addresses/{id}/verify", "rates"}, "", s.verifyAddress},
		{Route{post, "/v2/parcels", "rates"}, "", s.createParcel},
		{Route{get, "/v2/parcels/{id}", "shipments:read"}, "", s.getParcel},
		{Route{post, "/v2/customs_items", "rates"}, "", s.createCustomsItem},
		{Route{get, "/v2/customs_items/{id}", "shipments:read"}, "", s.getCustomsItem},
		{Route{post, "/v2/customs_infos", "rates"}, "", s.createCustomsInfo},
		{Route{get, "/v2/customs_infos/{id}", "shipments:read"}, "", s.getCustomsInfo},
	}
}

// shipmentRoutes rate, buy and refund.
func (s *server) shipmentRoutes() []route {
	return []route{
		{Route{post, "/v2/shipments", "rates"}, "", s.createShipment},
		{Route{get, "/v2/shipments", "shipments:read"}, "shipment.listed", s.listShipments},
		{Route{get, "/v2/shipments/{id}", "shipments:read"}, "", s.getShipment},
		{Route{post, "/v2/shipments/{id}/buy", "shipments:write"}, "", s.buyShipment},
		{Route{post, "/v2/shipments/{id}/rerate", "rates"}, "", s.rerate},
		{Route{get, "/v2/shipments/{id}/label", "shipments:write"}, "", s.getLabel},
		{Route{post, "/v2/shipments/{id}/refund", "shipments:write"}, "", s.refundShipment},
		{Route{get, "/v2/rates/{id}", "shipments:read"}, "", s.getRate},
		{Route{post, "/beta/rates", "rates"}, "", s.statelessRates},
		{Route{post, "/v2/refunds", "shipments:write"}, "", s.createRefunds},
		{Route{get, "/v2/refunds", "shipments:read"}, "refund.listed", s.listRefunds},
		{Route{get, "/v2/refunds/{id}", "shipments:read"}, "", s.getRefund},
	}
}

// trackerRoutes follow parcels.
func (s *server) trackerRoutes() []route {
	return []route{
		{Route{post, "/v2/trackers", "tracking"}, "", s.createTracker},
		{Route{post, "/v2/trackers/batch", "tracking"}, "", s.createTrackers},
		{Route{get, "/v2/trackers", "tracking"}, "tracker.listed", s.listTrackers},
		{Route{get, "/v2/trackers/{id}", "tracking"}, "", s.getTracker},
		{Route{del, "/v2/trackers/{id}", "tracking"}, "", s.deleteTracker},
	}
}

// handoverRoutes hand parcels over, and buy many at once.
func (s *server) handoverRoutes() []route {
	return []route{
		{Route{post, "/v2/scan_forms", "shipments:write"}, "", s.createScanForm},
		{Route{get, "/v2/scan_forms", "shipments:read"}, "manifest.listed", s.listScanForms},
		{Route{get, "/v2/scan_forms/{id}", "shipments:read"}, "", s.getScanForm},
		{Route{post, "/v2/pickups", "shipments:write"}, "", s.createPickup},
		{Route{get, "/v2/pickups", "shipments:read"}, "pickup.listed", s.listPickups},
		{Route{get, "/v2/pickups/{id}", "shipments:read"}, "", s.getPickup},
		{Route{post, "/v2/pickups/{id}/buy", "shipments:write"}, "", s.buyPickup},
		{Route{post, "/v2/pickups/{id}/cancel", "shipments:write"}, "", s.cancelPickup},
		{Route{post, "/v2/batches", "shipments:write"}, "", s.createBatch},
		{Route{get, "/v2/batches", "shipments:read"}, "batch.listed", s.listBatches},
		{Route{get, "/v2/batches/{id}", "shipments:read"}, "", s.getBatch},
		{Route{post, "/v2/batches/{id}/add_shipments", "shipments:write"}, "", s.addToBatch},
		{Route{post, "/v2/batches/{id}/remove_shipments", "shipments:write"}, "", s.removeFromBatch},
		{Route{post, "/v2/batches/{id}/buy", "shipments:write"}, "", s.buyBatch},
		{Route{post, "/v2/batches/{id}/scan_form", "shipments:write"}, "", s.closeBatch},
		{Route{post, "/v2/batches/{id}/label", "shipments:write"}, "", s.labelBatch},
		{Route{get, "/v2/carrier_accounts", "carriers"}, "", s.listCarrierAccounts},
	}
}

// eventRoutes notify clients.
func (s *server) eventRoutes() []route {
	return []route{
		{Route{get, "/v2/events", "events"}, "event.listed", s.listEvents},
		{Route{get, "/v2/events/{id}", "events"}, "", s.getEvent},
		{Route{post, "/v2/webhooks", "webhooks"}, changes, s.createWebhook},
		{Route{get, "/v2/webhooks", "webhooks"}, "", s.listWebhooks},
		{Route{get, "/v2/webhooks/{id}", "webhooks"}, "", s.getWebhook},
		{Route{patch, "/v2/webhooks/{id}", "webhooks"}, changes, s.changeWebhook},
		{Route{del, "/v2/webhooks/{id}", "webhooks"}, changes, s.deleteWebhook},
	}
}
