package fedex_test

import (
	"fmt"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
)

// trackingBody builds a response of FedEx with a result for each number.
func trackingBody(results ...string) string {
	return `{"transactionId":"1","output":{"completeTrackResults":[` + strings.Join(results, ",") + `]}}`
}

// result builds the result for one number, which may have several histories.
func result(number string, stories ...string) string {
	return `{"trackingNumber":"` + number + `","trackResults":[` + strings.Join(stories, ",") + `]}`
}

// story builds a history with its scans, preceded by other fields.
func story(number, more string, scans ...string) string {
	return `{"trackingNumberInfo":{"trackingNumber":"` + number + `"},` + more + `"scanEvents":[` + strings.Join(scans, ",") + `]}`
}

// scan returns one event; place is "city, state, country".
func scan(date, kind, text, place, more string) string {
	parts := append(strings.Split(place, ", "), "", "")
	return fmt.Sprintf(`{"date":%q,"eventType":%q,"eventDescription":%q%s,"scanLocation":{"city":%q,"stateOrProvinceCode":%q,"countryCode":%q}}`,
		date, kind, text, more, parts[0], parts[1], parts[2])
}

func exception(code, text string) string {
	return fmt.Sprintf(`,"exceptionCode":%q,"exceptionDescription":%q`, code, text)
}

func unknown(number string) string {
	return result(number, `{"trackingNumberInfo":{"trackingNumber":"`+number+`"},"error":{"code":"TRACKING.TRACKINGNUMBER.NOTFOUND","message":"no"}}`)
}

// line formats an update on one line; a time without a zone ends in "?".
func line(h carrier.TrackingUpdate) string {
	s := h.Scan
	at := s.At.Format(time.RFC3339)
	if s.ZoneUnknown {
		at = strings.TrimSuffix(at, "Z") + "?"
	}
	out := fmt.Sprintf("%s %s %s %s", h.TrackingNumber, at, s.Code, s.Status)
	if s.Reason != "" {
		out += "/" + s.Reason
	}
	out += " [" + s.Location + "] " + s.Description
	if !h.EstimateAt.IsZero() {
		out += " <" + h.EstimateAt.Format("01-02T15:04Z07:00") + ">"
	}
	return out
}

func lines(heard []carrier.TrackingUpdate) (list []string) {
	for _, h := range heard {
		list = append(list, line(h))
	}
	return list
}

const (
	one, two = "794600000001", "794600000002"

	shipped   = `"dateAndTimes":[{"type":"SHIP","dateTime":"2026-03-02T00:00:00-06:00"}],`
	doorstep  = "Blue Point, NY, US"
	memphis   = "MEMPHIS, TN, US"
	delivery  = `"latestStatusDetail":{"code":"DL","description":"Delivered","scanLocation":{"city":"Blue Point","stateOrProvinceCode":"NY","countryCode":"US"}},`
	delivered = `"dateAndTimes":[{"type":"ACTUAL_DELIVERY","dateTime":"2026-03-04T12:41:57-05:00"}],`
)

var timelines = []struct {
	name string
	body string
	want []string
}{{
	"delivered, newest first, with a window that is empty and a day that FedEx writes as its own midnight",
	trackingBody(result(one, story(one, shipped+`"estimatedDeliveryTimeWindow":{"window":{}},"standardTransitTimeWindow":{"window":{"ends":"2026-03-05T00:00:00-06:00"}},`,
		scan("2026-03-04T12:41:57-05:00", "DL", "Delivered", doorstep, `,"derivedStatusCode":"DL"`),
		scan("2026-03-04T06:47:00-05:00", "OD", "On FedEx vehicle for delivery", "HOLBROOK, NY, US", `,"derivedStatusCode":"IT"`),
		scan("2026-03-03T02:10:00-06:00", "DP", "Departed FedEx hub", memphis, exception("", "")),
		scan("2026-03-02T16:05:00-08:00", "PU", "Picked up", "COSTA MESA, CA, US", ""),
		scan("2026-03-02T10:36:00-06:00", "OC", "Shipment information sent to FedEx", ", , US", "")))),
	[]string{
		one + " 2026-03-04T17:41:57Z DL delivered [Blue Point, NY, US] Delivered <03-05T23:59Z>",
		one + " 2026-03-04T11:47:00Z OD out_for_delivery [HOLBROOK, NY, US] On FedEx vehicle for delivery <03-05T23:59Z>",
		one + " 2026-03-03T08:10:00Z DP in_transit [MEMPHIS, TN, US] Departed FedEx hub <03-05T23:59Z>",
		one + " 2026-03-03T00:05:00Z PU picked_up [COSTA MESA, CA, US] Picked up <03-05T23:59Z>",
		one + " 2026-03-02T16:36:00Z OC label_generated [] Shipment information sent to FedEx <03-05T23:59Z>",
	},
}, {
	"exceptions keep their reason: from the exception, from the weather, else from the event",
	trackingBody(result(one, story(one, `"estimatedDeliveryTimeWindow":{"window":{"ends":"2026-03-05T10:30:00-07:00"}},`,
		scan("2026-03-03T11:00:00-07:00", "DE", "Delivery exception", "CLOVIS, CA, US", exception("08", "Customer not available or business closed")),
		scan("2026-03-03T10:00:00-07:00", "DE", "Delivery exception", "CLOVIS, CA, US", exception("03", "Incorrect address")),
		scan("2026-03-03T09:00:00-07:00", "DE", "Delivery exception", "CLOVIS, CA, US", exception("07", "Refused by recipient")),
		scan("2026-03-03T08:00:00-07:00", "DE", "Delivery exception", "CLOVIS, CA, US", exception("Z99", "Something new")),
		scan("2026-03-03T07:00:00-07:00", "DY", "Delay", "CLOVIS, CA, US", exception("A52", "Package delayed")+`,"delayDetail":{"type":"WEATHER","subType":"SNOW"}`),
		scan("2026-03-03T06:00:00-07:00", "DY", "Delay", "CLOVIS, CA, US", `,"delayDetail":{"type":"GENERAL"}`),
		scan("2026-03-03T05:00:00-07:00", "CD", "Clearance delay", "CLOVIS, CA, US", "")))),
	[]string{
		one + " 2026-03-03T18:00:00Z DE/08 exception/recipient_unavailable [CLOVIS, CA, US] Delivery exception: Customer not available or business closed <03-05T17:30Z>",
		one + " 2026-03-03T17:00:00Z DE/03 exception/address_not_found [CLOVIS, CA, US] Delivery exception: Incorrect address <03-05T17:30Z>",
		one + " 2026-03-03T16:00:00Z DE/07 exception/refused [CLOVIS, CA, US] Delivery exception: Refused by recipient <03-05T17:30Z>",
		one + " 2026-03-03T15:00:00Z DE/Z99 exception/delivery_attempt_failed [CLOVIS, CA, US] Delivery exception: Something new <03-05T17:30Z>",
		one + " 2026-03-03T14:00:00Z DY/A52/WEATHER exception/weather_delay [CLOVIS, CA, US] Delay: Package delayed <03-05T17:30Z>",
		one + " 2026-03-03T13:00:00Z DY/GENERAL exception/delayed [CLOVIS, CA, US] Delay <03-05T17:30Z>",
		one + " 2026-03-03T12:00:00Z CD exception/customs_hold [CLOVIS, CA, US] Clearance delay <03-05T17:30Z>",
	},
}, {
	"a return after a failed delivery, oldest first",
	trackingBody(result(one, story(one, shipped,
		scan("2026-03-03T11:00:00+01:00", "OD", "On FedEx vehicle for delivery", "PARIS, , FR", ""),
		scan("2026-03-03T12:00:00+01:00", "SE", "Shipment exception", "PARIS, , FR", exception("099", "Unable to deliver")),
		scan("2026-03-04T09:00:00+01:00", "RS", "Returning package to shipper", "PARIS, , FR", "")))),
	[]string{
		one + " 2026-03-03T10:00:00Z OD out_for_delivery [PARIS, FR] On FedEx vehicle for delivery",
		one + " 2026-03-03T11:00:00Z SE/099 exception/undeliverable [PARIS, FR] Shipment exception: Unable to deliver",
		one + " 2026-03-04T08:00:00Z RS exception/return_to_sender [PARIS, FR] Returning package to shipper",
	},
}, {
	"no zone: by a place that has but one, and else not at all; a day is a day",
	trackingBody(result(one, story(one, "",
		scan("2026-07-03T09:30:00", "AR", "Arrived", "MANKATO, MN, US", ""),
		scan("2026-07-03T09:30:00", "DP", "Departed", "SOMERSET, KY, US", ""),
		scan("2026-07-03T09:30", "IT", "On the way", "", ""),
		scan("2026-07-02T00:00:00", "PU", "Picked up", "MANKATO, MN, US", ""),
		scan("2026-07-02", "OC", "Label created", "MANKATO, MN, US", "")))),
	[]string{
		one + " 2026-07-03T14:30:00Z AR in_transit [MANKATO, MN, US] Arrived",
		one + " 2026-07-03T09:30:00? DP in_transit [SOMERSET, KY, US] Departed",
		one + " 2026-07-03T09:30:00? IT in_transit [] On the way",
		one + " 2026-07-02T00:00:00? PU picked_up [MANKATO, MN, US] Picked up",
		one + " 2026-07-02T00:00:00? OC label_generated [MANKATO, MN, US] Label created",
	},
}, {
	"odd dates cost their own scan alone",
	trackingBody(result(one, story(one, shipped,
		scan("yesterday", "AR", "Arrived", memphis, ""), scan("", "AR", "Arrived", memphis, ""), scan("0001-01-01T00:00:00Z", "AR", "Arrived", memphis, ""),
		scan("2999-01-01T00:00:00Z", "DL", "Delivered", memphis, ""), `{"date":20260303,"eventType":"AR"}`, `null`, `[]`, `"AR"`,
		scan("2026-03-03T06:00:00-06:00", "", "Nothing", memphis, ""),
		scan("2026-03-03T06:00:00-06:00", "DP", "Departed", memphis, "")))),
	[]string{one + " 2026-03-03T12:00:00Z DP in_transit [MEMPHIS, TN, US] Departed"},
}, {
	"a delivery whose scan cannot be read, or is not there, is told by the head",
	trackingBody(result(one, story(one, delivery+delivered, scan("12:41", "DL", "Delivered", doorstep, ""))), result(two, story(two, delivery+delivered))),
	[]string{
		one + " 2026-03-04T17:41:57Z DL delivered [Blue Point, NY, US] Delivered",
		two + " 2026-03-04T17:41:57Z DL delivered [Blue Point, NY, US] Delivered",
	},
}, {
	"the head tells no second delivery beside the scan",
	trackingBody(result(one, story(one, delivery+delivered, scan("2026-03-04T12:42:00-05:00", "DL", "Delivered", doorstep, "")))),
	[]string{one + " 2026-03-04T17:42:00Z DL delivered [Blue Point, NY, US] Delivered"},
}, {
	"unknown codes are kept without a status, whatever FedEx's coarser word; an event without a type has that alone",
	trackingBody(result(one, story(one, shipped,
		scan("2026-03-03T07:00:00-06:00", "QX", "New event", memphis, `,"derivedStatusCode":"IT"`),
		scan("2026-03-03T06:00:00-06:00", "", "", memphis, `,"derivedStatusCode":"IN","derivedStatus":"Label created"`),
		scan("2026-03-03T05:00:00-06:00", "ow", "On the way", memphis, ""),
		scan("2026-03-03T04:00:00-06:00", ".created", "Ours", memphis, "")))),
	[]string{
		one + " 2026-03-03T13:00:00Z QX /unmapped [MEMPHIS, TN, US] New event",
		one + " 2026-03-03T12:00:00Z DERIVED/IN label_generated [MEMPHIS, TN, US] Label created",
		one + " 2026-03-03T11:00:00Z OW in_transit [MEMPHIS, TN, US] On the way",
		one + " 2026-03-03T10:00:00Z CREATED /unmapped [MEMPHIS, TN, US] Ours",
	},
}, {
	"codes that change nothing say why they came",
	trackingBody(result(one, story(one, shipped, scan("2026-03-03T07:00:00-06:00", "AE", "Shipment arriving early", memphis, `,"derivedStatusCode":"IT"`)))),
	[]string{one + " 2026-03-03T13:00:00Z AE /estimate_updated [MEMPHIS, TN, US] Shipment arriving early"},
}, {
	"held for the recipient",
	trackingBody(result(one, story(one, shipped, scan("2026-03-03T07:00:00-06:00", "HL", "Held", memphis, "")))),
	[]string{one + " 2026-03-03T13:00:00Z HL in_transit/available_for_pickup [MEMPHIS, TN, US] Held"},
}, {
	"several packages, one of which is unknown",
	trackingBody(result(one, story(one, shipped, scan("2026-03-03T07:00:00-06:00", "PU", "Picked up", memphis, ""))), unknown("794600000009"),
		result(two, story(two, shipped, scan("2026-03-03T08:00:00-06:00", "PU", "Picked up", memphis, "")))),
	[]string{
		one + " 2026-03-03T13:00:00Z PU picked_up [MEMPHIS, TN, US] Picked up",
		two + " 2026-03-03T14:00:00Z PU picked_up [MEMPHIS, TN, US] Picked up",
	},
}, {
	"a number that was used before is the parcel that was sent last",
	trackingBody(result(one,
		story(one, `"dateAndTimes":[{"type":"SHIP","dateTime":"2024-03-02T00:00:00-06:00"}],`, scan("2024-03-03T07:00:00-06:00", "DL", "Delivered", memphis, "")),
		story(one, shipped, scan("2026-03-03T07:00:00-06:00", "PU", "Picked up", memphis, "")),
		story(one, "", scan("2025-03-03T07:00:00-06:00", "DL", "Delivered", memphis, "")))),
	[]string{one + " 2026-03-03T13:00:00Z PU picked_up [MEMPHIS, TN, US] Picked up"},
}, {
	"lists where objects are promised, and the other way round",
	trackingBody(result(one, `{"trackingNumberInfo":[],"latestStatusDetail":[],"estimatedDeliveryTimeWindow":[],"standardTransitTimeWindow":{"window":[]},"dateAndTimes":{},"error":[],`+
		`"scanEvents":[{"date":"2026-03-03T07:00:00-06:00","eventType":"PU","eventDescription":[],"scanLocation":[],"delayDetail":[]}]}`),
		result(two, `{"scanEvents":{}}`), `[]`, `{"trackingNumber":[],"trackResults":{}}`),
	[]string{one + " 2026-03-03T13:00:00Z PU picked_up [] "},
}, {
	"nothing is known",
	trackingBody(unknown(one), unknown(two)), nil,
}, {
	"nothing was scanned yet",
	trackingBody(result(one, `{"trackingNumberInfo":{"trackingNumber":"`+one+`"},"latestStatusDetail":{"code":"OC"},`+strings.TrimSuffix(shipped, ",")+`}`)), nil,
}}
