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

type route struct {
	Route
	audited bool // its changes are in the audit log
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
		{Route{post, "/v2/addresses", "rates"}, false, s.createAddress},
		{Route{post, "/v2/addresses/create_and_verify", "rates"}, false, s.createAndVerifyAddress},
		{Route{get, "/v2/addresses", "shipments:read"}, false, s.listAddresses},
		{Route{get, "/v2/addresses/{id}", "shipments:read"}, false, s.getAddress},
		{Route{get, "/v2/addresses/{id}/verify", "rates"}, false, s.verifyAddress},
		{Route{post, "/v2/parcels", "rates"}, false, s.createParcel},
		{Route{get, "/v2/parcels/{id}", "shipments:read"}, false, s.getParcel},
		{Route{post, "/v2/customs_items", "rates"}, false, s.createCustomsItem},
		{Route{get, "/v2/customs_items/{id}", "shipments:read"}, false, s.getCustomsItem},
		{Route{post, "/v2/customs_infos", "rates"}, false, s.createCustomsInfo},
		{Route{get, "/v2/customs_infos/{id}", "shipments:read"}, false, s.getCustomsInfo},
	}
}

// shipmentRoutes rate, buy and refund.
func (s *server) shipmentRoutes() []route {
	return []route{
		{Route{post, "/v2/shipments", "rates"}, false, s.createShipment},
		{Route{get, "/v2/shipments", "shipments:read"}, false, s.listShipments},
		{Route{get, "/v2/shipments/{id}", "shipments:read"}, false, s.getShipment},
		{Route{post, "/v2/shipments/{id}/buy", "shipments:write"}, false, s.buyShipment},
		{Route{post, "/v2/shipments/{id}/rerate", "rates"}, false, s.rerate},
		{Route{get, "/v2/shipments/{id}/label", "shipments:write"}, false, s.getLabel},
		{Route{post, "/v2/shipments/{id}/refund", "shipments:write"}, false, s.refundShipment},
		{Route{get, "/v2/rates/{id}", "shipments:read"}, false, s.getRate},
		{Route{post, "/beta/rates", "rates"}, false, s.statelessRates},
		{Route{post, "/v2/refunds", "shipments:write"}, false, s.createRefunds},
		{Route{get, "/v2/refunds", "shipments:read"}, false, s.listRefunds},
		{Route{get, "/v2/refunds/{id}", "shipments:read"}, false, s.getRefund},
	}
}

// trackerRoutes follow parcels.
func (s *server) trackerRoutes() []route {
	return []route{
		{Route{post, "/v2/trackers", "tracking"}, false, s.createTracker},
		{Route{post, "/v2/trackers/batch", "tracking"}, false, s.createTrackers},
		{Route{get, "/v2/trackers", "tracking"}, false, s.listTrackers},
		{Route{get, "/v2/trackers/{id}", "tracking"}, false, s.getTracker},
		{Route{del, "/v2/trackers/{id}", "tracking"}, false, s.deleteTracker},
	}
}

// handoverRoutes hand parcels over, and buy many at once.
func (s *server) handoverRoutes() []route {
	return []route{
		{Route{post, "/v2/scan_forms", "shipments:write"}, false, s.createScanForm},
		{Route{get, "/v2/scan_forms", "shipments:read"}, false, s.listScanForms},
		{Route{get, "/v2/scan_forms/{id}", "shipments:read"}, false, s.getScanForm},
		{Route{post, "/v2/pickups", "shipments:write"}, false, s.createPickup},
		{Route{get, "/v2/pickups", "shipments:read"}, false, s.listPickups},
		{Route{get, "/v2/pickups/{id}", "shipments:read"}, false, s.getPickup},
		{Route{post, "/v2/pickups/{id}/buy", "shipments:write"}, false, s.buyPickup},
		{Route{post, "/v2/pickups/{id}/cancel", "shipments:write"}, false, s.cancelPickup},
		{Route{post, "/v2/batches", "shipments:write"}, false, s.createBatch},
		{Route{get, "/v2/batches", "shipments:read"}, false, s.listBatches},
		{Route{get, "/v2/batches/{id}", "shipments:read"}, false, s.getBatch},
		{Route{post, "/v2/batches/{id}/add_shipments", "shipments:write"}, false, s.addToBatch},
		{Route{post, "/v2/batches/{id}/remove_shipments", "shipments:write"}, false, s.removeFromBatch},
		{Route{post, "/v2/batches/{id}/buy", "shipments:write"}, false, s.buyBatch},
		{Route{post, "/v2/batches/{id}/scan_form", "shipments:write"}, false, s.closeBatch},
		{Route{post, "/v2/batches/{id}/label", "shipments:write"}, false, s.labelBatch},
		{Route{get, "/v2/carrier_accounts", "carriers"}, false, s.listCarrierAccounts},
	}
}

// eventRoutes notify clients.
func (s *server) eventRoutes() []route {
	return []route{
		{Route{get, "/v2/events", "events"}, false, s.listEvents},
		{Route{get, "/v2/events/{id}", "events"}, false, s.getEvent},
		{Route{post, "/v2/webhooks", "webhooks"}, true, s.createWebhook},
		{Route{get, "/v2/webhooks", "webhooks"}, false, s.listWebhooks},
		{Route{get, "/v2/webhooks/{id}", "webhooks"}, false, s.getWebhook},
		{Route{patch, "/v2/webhooks/{id}", "webhooks"}, true, s.changeWebhook},
		{Route{del, "/v2/webhooks/{id}", "webhooks"}, true, s.deleteWebhook},
	}
}
