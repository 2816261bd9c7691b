package api

import (
	"encoding/json"
	"net/http"
	"net/netip"
	"time"

	"github.com/waybillhq/waybill/internal/httpkit"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/internal/webhook"
	"github.com/waybillhq/waybill/internal/wire"
)

// exampleBase is the address in examples.
const exampleBase = "https://ship.example.com"

// requestExamples are the bodies that the document shows; a test holds them to
// their schemas.
var requestExamples = withRouting(map[string]any{
	"createShipment": json.RawMessage(`{
		"orderId": "ORD-1001",
		"destination": {"name": "Ada Lovelace", "address1": "500 Main St", "city": "Austin", "state": "TX", "zip": "78701", "country": "US"},
		"parcel": {"weight": 4.2, "dimensions": {"length": 12, "width": 9, "height": 4}}
	}`),
	"quoteRates": json.RawMessage(`{
		"destination": {"name": "Ada Lovelace", "address1": "500 Main St", "city": "Austin", "state": "TX", "zip": "78701", "country": "US"},
		"parcel": {"weight": 4.2, "dimensions": {"length": 12, "width": 9, "height": 4}}
	}`),
	"estimateLandedCost": json.RawMessage(`{
		"destination": {"zip": "10117", "country": "DE"},
		"parcel": {"weight": 2.1},
		"customs": {"contentsType": "merchandise", "items": [
			{"description": "Cotton shirt", "quantity": 2, "value": {"amount": "20.00", "currency": "USD"}, "hsCode": "610910", "originCountry": "PT"}
		]}
	}`),
	"createReturn":    json.RawMessage(`{"parcel": {"weight": 2.1}}`),
	"resolveDocument": json.RawMessage(`{"outcome": "received", "documentId": "090493e181586308"}`),
	"uploadDocument":  json.RawMessage(`{"type": "certificate_of_origin", "data": "JVBERi0xLjcKJeLjz9MK"}`),
	"createBatch": json.RawMessage(`{
		"shipments": [
			{
				"orderId": "ORD-1001",
				"destination": {"name": "Ada Lovelace", "address1": "500 Main St", "city": "Austin", "state": "TX", "zip": "78701", "country": "US"},
				"parcel": {"weight": 4.2, "dimensions": {"length": 12, "width": 9, "height": 4}}
			},
			{
				"orderId": "ORD-1002",
				"destination": {"name": "Grace Hopper", "address1": "350 5th Ave", "city": "New York", "state": "NY", "zip": "10118", "country": "US"},
				"parcel": {"weight": 1.5},
				"carrier": "usps"
			}
		]
	}`),
	"validateAddress": json.RawMessage(`{
		"address": {"address1": "500 Main St", "city": "Austin", "state": "TX", "zip": "78702", "country": "US"}
	}`),
	"changeShipment":  json.RawMessage(`{"metadata": {"channel": "web", "picker": "A7"}}`),
	"makeLabel":       json.RawMessage(`{"format": "zpl", "size": "4x6"}`),
	"linkLabel":       json.RawMessage(`{"format": "pdf", "expiresIn": 86400}`),
	"follow":          json.RawMessage(`{"trackingNumber": "1Z999AA10123456784", "carrier": "ups"}`),
	"advanceShipment": json.RawMessage(`{"status": "in_transit"}`),
	"createWebhook":   json.RawMessage(`{"url": "https://example.com/webhooks", "events": ["shipment.delivered", "shipment.exception"]}`),
	"changeWebhook":   json.RawMessage(`{"events": ["*"], "enabled": true}`),
	"testWebhook":     json.RawMessage(`{"type": "shipment.delivered"}`),
	"recoverWebhook":  json.RawMessage(`{"since": "2026-03-01T00:00:00Z"}`),
	"createExport":    json.RawMessage(`{"email": "ada@example.com"}`),
	"changeRetention": json.RawMessage(`{"personalDataDays": 90, "labelDays": 30}`),
	"bookPickup": json.RawMessage(`{
		"carrier": "ups",
		"readyAt": "2026-03-02T14:00:00-08:00",
		"closeAt": "2026-03-02T18:00:00-08:00",
		"parcels": 12,
		"instructions": "Ring the bell at dock 2"
	}`),
	"createLocation": json.RawMessage(`{
		"name": "Reno warehouse",
		"address": {"name": "Acme", "address1": "1 Commerce Way", "city": "Reno", "state": "NV", "zip": "89502", "country": "US", "phone": "7755550100"},
		"contact": {"name": "Grace Hopper", "phone": "7755550101"},
		"cutoffTimes": [{"time": "17:00"}, {"carrier": "usps", "time": "15:30"}],
		"default": true
	}`),
	"changeLocation":  json.RawMessage(`{"cutoffTimes": [{"time": "16:00"}]}`),
	"closeManifest":   json.RawMessage(`{"carrier": "usps", "shipDate": "2026-03-02"}`),
	"resolvePickup":   json.RawMessage(`{"outcome": "booked", "confirmation": "2929602E9CP"}`),
	"resolveManifest": json.RawMessage(`{"outcome": "closed", "number": "9275090001004001234567"}`),
	"changeReturnRule": json.RawMessage(`{
		"enabled": true,
		"days": 30,
		"reasons": ["Wrong size", "Damaged or defective", "No longer needed"],
		"paidBy": "account",
		"approval": "manual",
		"maxAmount": {"amount": "15.00", "currency": "USD"}
	}`),
	"denyReturnRequest": json.RawMessage(`{"reason": "The 30 days are over."}`),
	"createErasure":     json.RawMessage(`{"email": "ada@example.com"}`),
	"redeliverEvent":    json.RawMessage(`{"webhookId": "whe_01KJMBQDHV00G9W4T7H2K5NXQD"}`),
})

const (
	exampleShipment = ship.ShipmentID("shp_01KJMBQDHV00G2N6V3T9RZKXB4")
	exampleReturn   = ship.ShipmentID("shp_01KJMBQDHV00GC5RTZ8M4W7E2K")
	exampleEvent    = ship.EventID("evt_01KJMBQDHV00GB3K9T4ZP6YS0R")
	exampleTracker  = ship.TrackerID("trk_01KJMBQDHV00G7QH2W5D8CMX1E")
	exampleBatch    = ship.BatchID("bat_01KJMBQDHV00G2N6V3T9RZKXB4")
	exampleNumber   = "1Z999AA10123456784"
	exampleEndpoint = ship.EndpointID("whe_01KJMBQDHV00G9W4T7H2K5NXQD")
	exampleAttempt  = ship.AttemptID("att_01KJMBQDHV00GXF2Z6M1R8VY5C")
)

// shipmentExample is a bought shipment in the given status and state.
func shipmentExample(status ship.Status, state ship.State) ship.Shipment {
	// Everything derives from the example id's own time, so the document is the
	// same on every day that it is made.
	boughtAt := exampleShipment.Raw().Time().Add(200 * time.Millisecond)

	shipment := ship.Shipment{
		ID:    exampleShipment,
		State: state,
		Order: ship.Order{
			OrderID: "ORD-1001",
			Origin: ship.Address{
				Name:     "Sample Warehouse",
				Address1: "1 Market Street",
				City:     "San Francisco",
				State:    "CA",
				Zip:      "94105",
				Country:  "US",
				Phone:    "4155550100",
			},
			Destination: ship.Address{
				Name:     "Ada Lovelace",
				Address1: "500 Main St",
				City:     "Austin",
				State:    "TX",
				Zip:      "78701",
				Country:  "US",
			},
			Parcels: []ship.Parcel{{
				Weight:     4.2,
				WeightUnit: ship.Pound,
				Dimensions: &ship.Dimensions{Length: 12, Width: 9, Height: 4, Unit: ship.Inch},
			}},
			ShipDate: ship.DateOf(boughtAt),
		},
		Purchase: ship.Purchase{
			Carrier:        "ups",
			Service:        "ground",
			TrackingNumber: exampleNumber,
			Price:          ship.Money{Minor: 1234, Currency: "USD"},
			BoughtAt:       boughtAt,
			Simulated:      true,
			Routing: ship.Routing{
				Strategy:   "cheapest",
				Considered: 9,
				RunnerUp:   &ship.Rate{Carrier: "usps", Service: "priority", Price: ship.Money{Minor: 1290, Currency: "USD"}},
			},
		},
		Progress: ship.Progress{Status: status, EstimateAt: boughtAt.AddDate(0, 0, 3).Truncate(time.Hour)},
		Sequence: 2,
	}

	// While a purchase is pending there is neither a price nor a number.
	if state == ship.StatePurchasing {
		shipment.Purchase = ship.Purchase{Carrier: "ups", Service: "ground", Simulated: true}
	}
	return shipment
}

// returnExample is the answer to a return of the example shipment.
func returnExample(state ship.State) wire.Shipment {
	returned := shipmentExample(ship.Delivered, ship.StatePurchased)

	shipment := shipmentExample(ship.Created, state)
	shipment.ID = exampleReturn
	shipment.Order = returned.ReturnOrder()
	shipment.Order.ShipDate = returned.Order.ShipDate
	page := ""
	if state == ship.StatePurchased {
		shipment.Purchase.TrackingNumber = "1Z999AA10123456793"
		page = exampleBase + "/track/kP7wX2dB"
	}
	return wire.WholeShipmentOf(shipment, exampleBase, page)
}

func timelineExample() wire.TrackingResult {
	shipment := shipmentExample(ship.InTransit, ship.StatePurchased)
	shipment.Progress.EstimateSource = "carrier"

	scans := append(shipment.OwnScans(), ship.Scan{
		Code:        "DP",
		At:          shipment.Purchase.BoughtAt.Add(20 * time.Hour).Truncate(time.Minute),
		Status:      ship.InTransit,
		Description: "Departed from facility",
		Location:    "Louisville, KY, US",
	})

	return wire.TrackingOf(wire.Timeline{
		TrackingNumber: exampleNumber,
		Carrier:        "ups",
		Shipment:       shipment.ID,
		Progress:       shipment.Progress,
		Scans:          ship.Timeline(scans),
	})
}

func trackerExample() wire.TrackingResult {
	result := timelineExample()
	result.ID = string(exampleTracker)
	result.ShipmentID = ""
	result.Events = result.Events[:1]
	return result
}

func eventExample() json.RawMessage {
	shipment := shipmentExample(ship.LabelGenerated, ship.StatePurchased)
	event := ship.Event{
		ID:       exampleEvent,
		Kind:     ship.ShipmentLabelGenerated,
		Shipment: shipment.ID,
		Sequence: 2,
		Version:  1,
		Snapshot: ship.Snapshot{
			Status:         ship.LabelGenerated,
			PreviousStatus: ship.Created,
			State:          ship.StatePurchased,
			BaseURL:        exampleBase,
			EstimateAt:     shipment.Progress.EstimateAt,
		},
	}

	body, err := wire.EventBody(event, shipment, ship.Tracker{})
	if err != nil {
		panic("api: the example event: " + err.Error())
	}
	return body
}

// responseExample is the example of an answer, nil if there is none.
func responseExample(id string, status int) any {
	summary := func(s ship.Status, state ship.State) wire.Shipment {
		return wire.ShipmentOf(shipmentExample(s, state), exampleBase)
	}
	full := func(s ship.Status, state ship.State) wire.Shipment {
		page := exampleBase + "/track/mH1vQ3cT"
		if state == ship.StatePurchasing {
			page = ""
		}
		return wire.WholeShipmentOf(shipmentExample(s, state), exampleBase, page)
	}
	label := exampleBase + "/v1/labels/" + string(exampleShipment)

	switch id {
	case "createShipment":
		if status == http.StatusAccepted {
			return full(ship.Created, ship.StatePurchasing)
		}
		return full(ship.Created, ship.StatePurchased)
	case "uploadDocument":
		document := wire.DocumentOf(exampleShipment, "certificate_of_origin", 2, exampleBase)
		document.Uploaded = true
		document.Submission = &wire.DocumentSubmission{Status: "pending"}
		return document
	case "resolveDocument":
		document := wire.DocumentOf(exampleShipment, "certificate_of_origin", 2, exampleBase)
		document.Uploaded = true
		document.Submission = &wire.DocumentSubmission{Status: "received", DocumentID: "090493e181586308"}
		return document
	case "createReturn":
		if status == http.StatusAccepted {
			return returnExample(ship.StatePurchasing)
		}
		return returnExample(ship.StatePurchased)
	case "listServicePoints":
		return servicePoints{
			Errors: []rateError{},
			Points: []servicePoint{{
				ID:        "U12345678",
				Carrier:   "ups",
				Name:      "The UPS Store",
				Address:   checkedAddress{Address1: "815 Brazos St", City: "Austin", State: "TX", Zip: "78701", Country: "US"},
				Distance:  &pointDistance{Value: 850, Unit: "m"},
				Abilities: []string{"collect", "hand_in"},
				Hours:     []pointHours{{Day: "monday", Open: "09:00", Close: "18:30"}},
			}},
		}
	case "estimateLandedCost":
		return landedCost{
			Errors: []rateError{},
			Estimates: []dutyEstimate{{
				Carrier: "dhl_express",
				Charges: []landedCharge{
					{Type: "duty", Name: "Duty", Item: new(0), Amount: wire.Money{Amount: "4.80", Currency: "USD"}},
					{Type: "tax", Name: "VAT", Item: new(0), Amount: wire.Money{Amount: "8.51", Currency: "USD"}},
					{Type: "fee", Name: "Disbursement", Amount: wire.Money{Amount: "15.00", Currency: "EUR"}},
				},
				Messages: []string{},
			}},
		}
	case "validateAddress":
		return addressCheck{
			Verdict:    "corrected",
			Address:    checkedAddress{Address1: "500 Main St", City: "Austin", State: "TX", Zip: "78701", Country: "US"},
			Changes:    []addressChange{{Pointer: "/zip", From: "78702", To: "78701"}},
			Candidates: []checkedAddress{},
			CheckedBy:  "usps",
			Messages:   []string{},
		}
	case "getShipment", "changeShipment":
		return full(ship.InTransit, ship.StatePurchased)
	case "duplicateShipment":
		return wire.CreationOf(shipmentExample(ship.InTransit, ship.StatePurchased).Order)
	case "listShipments":
		return pageOf([]wire.Shipment{summary(ship.InTransit, ship.StatePurchased)}, true, string(exampleShipment))
	case "voidShipment":
		if status == http.StatusAccepted {
			return full(ship.LabelGenerated, ship.StateRefundPending)
		}
		return full(ship.LabelGenerated, ship.StateVoided)

	case "quoteRates":
		return ratesExample()

	case "createBatch":
		return batchExample("pending", batchCounts{Total: 2, Pending: 2})
	case "listBatches":
		return pageOf([]batchShown{batchExample("done", batchCounts{Total: 2, Bought: 1, Failed: 1})}, false, "")
	case "getBatch":
		return batchLinesExample()

	case "makeLabel":
		return rendering{URL: label + ".zpl?size=4x6&dpi=203", Format: "zpl", Size: "4x6", DPI: 203}
	case "linkLabel":
		return labelLink{
			URL:       label + ".pdf?token=eyJzaGlwbWVudCI6...",
			ExpiresAt: wire.Time(exampleShipment.Raw().Time().Add(24 * time.Hour)),
		}

	case "track", "advanceShipment":
		return timelineExample()
	case "recognizeTrackingNumber":
		return recognition{Candidates: []numberCandidate{{Carrier: "ups", Confidence: "high"}}}
	case "follow":
		return trackerExample()
	case "listTrackers":
		return pageOf([]wire.TrackingResult{trackerExample()}, false, "")

	case "listEvents":
		return map[string]any{"data": []any{eventExample()}, "nextCursor": "bG9nOjE0Mg"}
	case "createWebhook", "rotateWebhookSecret":
		return webhookExample(true)
	case "getWebhook", "changeWebhook", "recoverWebhook":
		return webhookExample(false)
	case "listWebhooks":
		return pageOf([]wire.Webhook{webhookExample(false)}, false, "")
	case "testWebhook":
		return deliveryExample("test")
	case "listDeliveries":
		return pageOf([]wire.Delivery{deliveryExample("auto")}, true, string(exampleAttempt))
	case "createErasure", "getErasure":
		return erasureExample()
	case "listErasures":
		return pageOf([]erasure{erasureExample()}, false, "")
	case "createExport", "getExport":
		return exportExample()
	case "getExportFile":
		return map[string]any{"id": exportExample().ID, "person": "ada@example.com", "shipments": []any{}, "orderFileLines": []any{}}
	case "listExports":
		return pageOf([]export{exportExample()}, false, "")
	case "bookPickup", "getPickup", "cancelPickup", "resolvePickup":
		return pickupExample(id, status)
	case "listPickups":
		return pageOf([]pickup{pickupExample(id, status)}, false, "")
	case "createLocation", "getLocation", "changeLocation":
		return locationOf(locationExample())
	case "listLocations":
		return pageOf([]location{locationOf(locationExample())}, false, "")
	case "listRequests":
		return loggedRequests{Data: []loggedRequest{loggedRequestExample()}, NextCursor: loggedRequestExample().ID}
	case "closeManifest", "getManifest", "resolveManifest":
		return manifestExample(status)
	case "listManifests":
		listed := manifestExample(status)
		listed.Documents = []manifestDocument{}
		listed.ShipmentIDs = []string{}
		return pageOf([]manifest{listed}, false, "")
	case "getReturnRule", "changeReturnRule":
		return returnRuleExample()
	case "getReturnRequest", "approveReturnRequest", "denyReturnRequest":
		return returnRequestExample(id)
	case "listReturnRequests":
		return pageOf([]returnRequest{returnRequestExample(id)}, false, "")
	case "getRetention", "changeRetention":
		return retentionShown{PersonalDataDays: 90, LabelDays: 30}
	case "redeliverEvent":
		return redelivered{Deliveries: 1}

	case "listCarriers":
		return pageOf([]carrierShown{carrierExample()}, false, "")
	}
	return routingExample(id)
}

func webhookExample(withSecret bool) wire.Webhook {
	endpoint := webhook.Endpoint{
		ID:        exampleEndpoint,
		URL:       "https://example.com/webhooks",
		Kinds:     []ship.EventKind{ship.ShipmentDelivered, ship.ShipmentException},
		Signature: webhook.SignV1,
		Enabled:   true,
	}

	// The secret is shown while it is new, and then nothing was delivered yet.
	if withSecret {
		endpoint.Secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwAAAAAAAAAAA="
	} else {
		endpoint.Verified = true
		endpoint.LastSuccessAt = exampleEndpoint.Raw().Time().Add(time.Hour)
	}
	return webhookOf(endpoint)
}

func deliveryExample(trigger string) wire.Delivery {
	var attempt webhook.Attempt
	attempt.ID = exampleAttempt
	attempt.Event = exampleEvent
	attempt.Number = 1
	attempt.Trigger = trigger
	attempt.Outcome = webhook.OutcomeDelivered
	attempt.Status = http.StatusOK
	attempt.Address = netip.MustParseAddr("203.0.113.7")

	attempt.Timings.DNS = 3 * time.Millisecond
	attempt.Timings.Connect = 11 * time.Millisecond
	attempt.Timings.TLS = 24 * time.Millisecond
	attempt.Timings.FirstByte = 61 * time.Millisecond
	attempt.Timings.Total = 62 * time.Millisecond

	attempt.Head = "HTTP/1.1 200 OK\nContent-Length: 2"
	attempt.Body = "ok"
	return deliveryOf(attempt)
}

func carrierExample() carrierShown {
	return carrierShown{
		Carrier:     "ups",
		Name:        "UPS",
		Services:    []codeName{{"ground", "UPS Ground"}},
		Packagings:  []codeName{},
		Abilities:   []string{"rates", "buy", "find", "void", "track", "addresses"},
		Addresses:   addressCoverage{Streets: []string{"US", "PR"}},
		Simulated:   true,
		Connections: []connectionShown{},
	}
}

func ratesExample() rates {
	quotedAt := exampleShipment.Raw().Time()

	return rates{
		Rates: []rate{
			{
				ID:                    "rate_eyJhIjoiYWNjdF8wMUsi...",
				Carrier:               "ups",
				Service:               "ground",
				ServiceName:           "UPS Ground",
				Amount:                "12.34",
				Currency:              "USD",
				TransitDays:           3,
				EstimatedDeliveryDate: wire.Time(quotedAt.AddDate(0, 0, 3).Truncate(time.Hour)),
				Source:                "carrier",
			},
			{
				ID:          "rate_eyJhIjoiYWNjdF8wMUsi...",
				Carrier:     "usps",
				Service:     "priority",
				ServiceName: "USPS Priority Mail",
				Amount:      "12.90",
				Currency:    "USD",
				TransitDays: 2,
				Source:      "sheet",
			},
		},
		Errors: []rateError{{
			Carrier:    "fedex",
			Code:       "carrier_unavailable",
			Reason:     "timeout",
			Message:    "the carrier did not answer",
			Retryable:  true,
			DurationMs: 4000,
		}},
		Partial:   true,
		ExpiresAt: wire.Time(quotedAt.Add(24 * time.Hour)),
	}
}

// problemExample is an error with the code.
func problemExample(code httpkit.Code) *httpkit.Problem {
	problem := &httpkit.Problem{
		Type:      exampleBase + "/docs/errors#" + code.Name,
		Title:     code.Title,
		Status:    code.Status,
		Detail:    "one sentence about what happened",
		Instance:  "/v1/shipments",
		Code:      code.Name,
		RequestID: "req_01kjmbqdhv7zv3n8d5x1w9h2bt",
		Source:    "client",
		Retryable: code.Status == http.StatusTooManyRequests || code.Status == http.StatusServiceUnavailable,
	}

	if code.Status >= http.StatusInternalServerError {
		problem.Source = "service"
	}
	if code.Name == "validation_failed" {
		problem.Detail = "the request has invalid fields"
		problem.Errors = []httpkit.FieldProblem{{
			Pointer: "/destination/zip",
			Code:    "required",
			Detail:  "addresses in this country need a postal code",
		}}
	}
	return problem
}

func batchExample(status string, counts batchCounts) batchShown {
	return batchShown{
		ID:        string(exampleBatch),
		Status:    status,
		Source:    "api",
		Counts:    counts,
		CreatedAt: wire.Time(exampleBatch.Raw().Time()),
	}
}

func batchLinesExample() batchWithLines {
	summary := batchExample("done", batchCounts{Total: 2, Bought: 1, Failed: 1})

	bought := batchLineShown{
		Index:          0,
		OrderID:        "ORD-1001",
		Status:         "bought",
		ShipmentID:     string(exampleShipment),
		TrackingNumber: exampleNumber,
	}
	failed := batchLineShown{
		Index:   1,
		OrderID: "ORD-1002",
		Status:  "failed",
		Error: &lineError{
			Code:   "validation_failed",
			Detail: ship.InvalidFieldsMessage,
			Errors: []httpkit.FieldProblem{{
				Pointer: "/destination/zip",
				Code:    "required",
				Detail:  "addresses in this country need a postal code",
			}},
		},
	}

	return batchWithLines{
		ID:        summary.ID,
		Status:    summary.Status,
		Source:    summary.Source,
		Counts:    summary.Counts,
		CreatedAt: summary.CreatedAt,
		NotQuoted: []notQuotedShown{{
			Carrier: "usps",
			Reason:  "rate_limited",
			Message: "its rate limit is reached",
			Lines:   1,
			Of:      2,
			RetryAt: wire.Time(exampleBatch.Raw().Time().Add(time.Hour)),
		}},
		Lines: []batchLineShown{bought, failed},
	}
}

func erasureExample() erasure {
	return erasureOf(store.Erasure{
		ID:         ship.ErasureIDOf(exampleShipment.Raw()),
		Kind:       "email",
		State:      store.ErasureDone,
		Counts:     map[string]int{"shipments": 2, "labels": 2, "events": 9},
		FinishedAt: exampleShipment.Raw().Time().Add(time.Minute),
	})
}

func exportExample() export {
	s := &server{Config: Config{BaseURL: exampleBase}}
	return s.exportOf(store.Export{
		ID:         ship.ExportIDOf(exampleShipment.Raw()),
		Kind:       "email",
		State:      store.ExportDone,
		Counts:     map[string]int{"shipments": 2, "lines": 0},
		FinishedAt: exampleShipment.Raw().Time().Add(time.Minute),
		ExpiresAt:  exampleShipment.Raw().Time().AddDate(0, 0, 7),
	})
}

// pickupExample is a pickup as an operation answers it.
func pickupExample(operation string, status int) pickup {
	shown := pickup{
		ID:           "pik_01KJMBQDHV00G2N6V3T9RZKXB4",
		Status:       "scheduled",
		Carrier:      "ups",
		Confirmation: "2929602E9CP",
		Window:       pickupWindow{ReadyAt: "2026-03-02T14:00:00-08:00", CloseAt: "2026-03-02T18:00:00-08:00"},
		Address:      wire.AddressOf(shipmentExample(ship.LabelGenerated, ship.StatePurchased).Order.Origin),
		Parcels:      12,
		ShipmentIDs:  []string{},
		Instructions: "Ring the bell at dock 2",
		CreatedAt:    wire.Time(exampleShipment.Raw().Time()),
	}
	switch {
	case operation == "cancelPickup" && status == http.StatusOK:
		shown.Status = "cancelled"
		shown.CancelledAt = wire.Time(exampleShipment.Raw().Time().Add(time.Hour))
	case operation == "bookPickup" && status == http.StatusAccepted:
		shown.Status = "pending"
		shown.Confirmation = ""
	}
	return shown
}

// locationExample is a location of the account.
func locationExample() ship.Location {
	return ship.Location{
		ID:   "loc_01KJMBQDHV00G2N6V3T9RZKXB4",
		Name: "Reno warehouse",
		Address: ship.Address{
			Name:     "Acme",
			Address1: "1 Commerce Way",
			City:     "Reno",
			State:    "NV",
			Zip:      "89502",
			Country:  "US",
			Phone:    "+17755550100",
		},
		Contact:     ship.Contact{Name: "Grace Hopper", Phone: "+17755550101"},
		CutoffTimes: []ship.CutoffTime{{Time: "17:00"}, {Carrier: "usps", Time: "15:30"}},
		IsDefault:   true,
	}
}

// returnRuleExample is the rule of the request's example.
func returnRuleExample() returnRule {
	rule := ship.DefaultReturnRule()
	rule.Enabled = true
	rule.Reasons = []string{"Wrong size", "Damaged or defective", "No longer needed"}
	rule.MaxAmount = ship.Money{Minor: 1500, Currency: "USD"}
	rule.SavedAt = exampleShipment.Raw().Time()
	return returnRuleOf(rule)
}

// returnRequestExample is a return request as an operation answers it.
func returnRequestExample(operation string) returnRequest {
	request := ship.ReturnRequest{
		ID:       "rrq_01KJMBQDHV00G2N6V3T9RZKXB4",
		Shipment: exampleShipment,
		State:    ship.ReturnRequested,
		Reason:   "Wrong size",
		Items:    "The blue jacket",
		Email:    "ada@example.com",
		Language: "en",
		PaidBy:   ship.PaidByAccount,
	}

	decided := exampleReturn.Raw().Time().Add(time.Hour)
	switch operation {
	case "approveReturnRequest":
		request.State = ship.ReturnApproved
		request.Approval = ship.ApprovalManual
		request.DecidedAt = decided

	case "denyReturnRequest":
		request.State = ship.ReturnDenied
		request.Denial = "The 30 days are over."
		request.DecidedAt = decided

	case "getReturnRequest":
		request.State = ship.ReturnLabelSent
		request.Approval = ship.ApprovalManual
		request.Return = exampleReturn
		request.DecidedAt = decided
		request.BoughtAt = decided.Add(time.Second)
		request.MailedAt = decided.Add(2 * time.Second)
	}

	return returnRequestOf(request)
}

func manifestExample(status int) manifest {
	at := exampleShipment.Raw().Time()
	shown := manifest{
		ID:            "man_01KJMBQDHV00G2N6V3T9RZKXB4",
		Status:        "closed",
		Carrier:       "usps",
		ShipDate:      string(ship.DateOf(at)),
		Number:        "9275090140101500000012",
		Documents:     []manifestDocument{{Type: "scan_form", URL: exampleBase + "/v1/manifests/man_01KJMBQDHV00G2N6V3T9RZKXB4.pdf"}},
		ShipmentCount: 1,
		ShipmentIDs:   []string{string(exampleShipment)},
		Excluded:      []manifestExclusion{},
		CreatedAt:     wire.Time(at),
		ClosedAt:      wire.Time(at.Add(time.Second)),
	}
	if status == http.StatusAccepted {
		shown.Status = "pending"
		shown.Number = ""
		shown.Documents = []manifestDocument{}
		shown.ClosedAt = ""
	}
	return shown
}

// loggedRequestExample is a purchase that no carrier made an offer for.
func loggedRequestExample() loggedRequest {
	return loggedRequest{
		ID:             "req_01kjmbqdhv00g2n6v3t9rzkxb4",
		Timestamp:      time.Date(2026, 3, 1, 17, 0, 0, 0, time.UTC),
		Method:         http.MethodPost,
		Path:           "/v1/shipments",
		Route:          "/v1/shipments",
		Status:         http.StatusUnprocessableEntity,
		DurationMs:     38,
		KeyID:          "key_01KJMBQDHV00G2N6V3T9RZKXB4",
		IdempotencyKey: "order-1001",
		Code:           "no_rate",
	}
}
