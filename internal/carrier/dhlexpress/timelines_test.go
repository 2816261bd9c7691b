package dhlexpress_test

import (
	"fmt"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
)

// trackingBody builds a tracking response of DHL.
func trackingBody(shipments ...string) string {
	return `{"shipments":[` + strings.Join(shipments, ",") + `]}`
}

// shipment builds a shipment with its checkpoints, preceded by other fields.
func shipment(number, more string, events ...string) string {
	return `{"shipmentTrackingNumber":"` + number + `","status":"Success",` + more + `"events":[` + strings.Join(events, ",") + `]}`
}

// pieces returns the pieces of a shipment, each with its checkpoints.
func pieces(total int, list ...string) string {
	return fmt.Sprintf(`"numberOfPieces":%d,"pieces":[%s],`, total, strings.Join(list, ","))
}

func piece(number string, events ...string) string {
	return `{"trackingNumber":"` + number + `","events":[` + strings.Join(events, ",") + `]}`
}

// at returns one checkpoint: "2026-03-03 12:00:00 +01:00", the offset may be
// missing.
func at(moment, code, text, area string) string {
	when := append(strings.Fields(moment), "", "", "")
	offset := ""
	if when[2] != "" {
		offset = `"GMTOffset":"` + when[2] + `",`
	}
	return fmt.Sprintf(`{"date":%q,"time":%q,%s"typeCode":%q,"description":%q,"serviceArea":[{"code":"XXX","description":%q}]}`, when[0], when[1], offset, code, text, area)
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

const one, two, jd1, jd2 = "2100000010", "2100000021", "JD014600000000000001", "JD014600000000000002"

var timelines = []struct {
	name string
	body string
	want []string
}{{
	"delivered, oldest first, with offsets and a day of delivery in New York",
	trackingBody(shipment(one, `"estimatedDeliveryDate":"2026-03-05","receiverDetails":{"postalAddress":{"countryCode":"US","provinceCode":"NY"}},`,
		at("2026-03-02 13:56:21 +01:00", "PU", "Shipment picked up", "BONN-DE"),
		at("2026-03-03 04:18:00 -05:00", "CR", "Clearance processing complete", "CINCINNATI HUB-US"),
		at("2026-03-04 10:50:14 -0500", "WC", "With delivery courier", "NEW YORK-US"),
		at("2026-03-04 11:59:23 GMT-05:00", "OK", "Delivered", "NEW YORK-US"))),
	[]string{
		one + " 2026-03-02T12:56:21Z PU picked_up [BONN, DE] Shipment picked up <03-06T04:59Z>",
		one + " 2026-03-03T09:18:00Z CR in_transit/customs_cleared [CINCINNATI HUB, US] Clearance processing complete <03-06T04:59Z>",
		one + " 2026-03-04T15:50:14Z WC out_for_delivery [NEW YORK, US] With delivery courier <03-06T04:59Z>",
		one + " 2026-03-04T16:59:23Z OK delivered [NEW YORK, US] Delivered <03-06T04:59Z>",
	},
}, {
	"no zone: by a country that has but one, in summer and in winter, and else not at all",
	trackingBody(shipment(one, "",
		at("2026-07-02 13:56:21", "PU", "Shipment picked up", "BONN-DE"),
		at("2026-01-02 13:56:21", "PU", "Shipment picked up", "BONN-DE"),
		at("2026-07-02 13:56:21", "AF", "Arrived", "SYDNEY-AU"),
		at("2026-07-02 13:56:21 soon", "AF", "Arrived", "TOKYO-JP"),
		at("2026-07-02 13:57", "PL", "Processed", "EAST-END GATEWAY"),
		at("2026-07-02", "DF", "Departed", "BONN-DE"),
		`{"date":"2026-07-02","time":"09:00:00","typeCode":"RW","serviceArea":[]}`)),
	[]string{
		one + " 2026-07-02T11:56:21Z PU picked_up [BONN, DE] Shipment picked up",
		one + " 2026-01-02T12:56:21Z PU picked_up [BONN, DE] Shipment picked up",
		one + " 2026-07-02T13:56:21? AF in_transit [SYDNEY, AU] Arrived",
		one + " 2026-07-02T04:56:21Z AF in_transit [TOKYO, JP] Arrived",
		one + " 2026-07-02T13:57:00? PL in_transit [EAST-END GATEWAY] Processed",
		one + " 2026-07-02T00:00:00? DF in_transit [BONN, DE] Departed",
		one + " 2026-07-02T09:00:00? RW /reweighed [] ",
	},
}, {
	"exceptions, a collection and a return, in no order",
	trackingBody(shipment(one, "",
		at("2026-03-04 12:00:00 +00:00", "RT", "Returned to shipper", "LONDON-GB"),
		at("2026-03-03 09:00:00 +00:00", "NH", "Not home", "LONDON-GB"),
		at("2026-03-03 08:00:00 +00:00", "BA", "Address incorrect", "LONDON-GB"),
		at("2026-03-03 07:00:00 +00:00", "CA", "Closed", "LONDON-GB"),
		at("2026-03-03 10:00:00 +00:00", "CC", "Awaiting collection", "LONDON-GB"),
		at("2026-03-03 11:00:00 +00:00", "RD", "Refused", "LONDON-GB"),
		at("2026-03-02 11:00:00 +00:00", "UD", "Clearance delay", "LONDON-GB"),
		at("2026-03-02 12:00:00 +00:00", "RR", "Customs status updated", "LONDON-GB"),
		at("2026-03-02 13:00:00 +00:00", "DD", "Delivered damaged", "LONDON-GB"))),
	[]string{
		one + " 2026-03-04T12:00:00Z RT exception/return_to_sender [LONDON, GB] Returned to shipper",
		one + " 2026-03-03T09:00:00Z NH exception/recipient_unavailable [LONDON, GB] Not home",
		one + " 2026-03-03T08:00:00Z BA exception/address_not_found [LONDON, GB] Address incorrect",
		one + " 2026-03-03T07:00:00Z CA exception/recipient_unavailable [LONDON, GB] Closed",
		one + " 2026-03-03T10:00:00Z CC in_transit/available_for_pickup [LONDON, GB] Awaiting collection",
		one + " 2026-03-03T11:00:00Z RD exception/refused [LONDON, GB] Refused",
		one + " 2026-03-02T11:00:00Z UD exception/customs_hold [LONDON, GB] Clearance delay",
		one + " 2026-03-02T12:00:00Z RR /response_received [LONDON, GB] Customs status updated",
		one + " 2026-03-02T13:00:00Z DD delivered/damaged [LONDON, GB] Delivered damaged",
	},
}, {
	"unknown codes are kept without a status",
	trackingBody(shipment(one, "", at("2026-03-03 09:00:00 +00:00", "QQ", "New", "LONDON-GB"), at("2026-03-03 10:00:00 +00:00", ".created", "Ours", "LONDON-GB"),
		at("2026-03-03 11:00:00 +00:00", "dummy_pu", "Shipment information received", "LONDON-GB"))),
	[]string{
		one + " 2026-03-03T09:00:00Z QQ /unmapped [LONDON, GB] New",
		one + " 2026-03-03T10:00:00Z CREATED /unmapped [LONDON, GB] Ours",
		one + " 2026-03-03T11:00:00Z DUMMY_PU label_generated/data_received [LONDON, GB] Shipment information received",
	},
}, {
	"odd checkpoints cost themselves alone",
	trackingBody(shipment(one, "", at("yesterday 09:00:00", "AF", "", ""), at("2026-02-30 09:00:00", "AF", "", ""), at("2026-03-03 nine", "AF", "", ""), at("", "AF", "", ""),
		at("2999-03-03 09:00:00 +00:00", "OK", "", ""), at("0001-01-01 00:00:00 +00:00", "AF", "", ""), at("2026-03-03 09:00:00", "", "", ""),
		`null`, `[]`, `7`, `{"date":7,"typeCode":"AF"}`, at("2026-03-03T09:00:00 +00:00", "DF", "Departed", ""))),
	[]string{one + " 2026-03-03T09:00:00? DF in_transit [] Departed"},
}, {
	"several shipments, one of which is unknown and one told twice",
	trackingBody(shipment(two, "", at("2026-03-03 09:00:00 +00:00", "PU", "Picked up", "")), shipment("9999999999", "", at("2026-03-03 09:00:00 +00:00", "PU", "Another's", "")),
		shipment(one, "", at("2026-03-03 09:00:01 +00:00", "PU", "Picked up", "")), shipment(one, "", at("2026-03-03 09:00:01 +00:00", "PU", "Picked up", ""))),
	[]string{two + " 2026-03-03T09:00:00Z PU picked_up [] Picked up", one + " 2026-03-03T09:00:01Z PU picked_up [] Picked up"},
}, {
	"numbers without quotes, lists where objects are promised, and the other way round",
	trackingBody(`{"shipmentTrackingNumber":2100000010,"numberOfPieces":{},"pieces":{},"receiverDetails":[],"estimatedDeliveryDate":[],`+
		`"events":[{"date":"2026-03-03","time":"09:00:00","GMTOffset":"Z","typeCode":"PU","description":{},"serviceArea":{}}]}`,
		`{"shipmentTrackingNumber":{},"events":{}}`, `[]`, `null`),
	[]string{one + " 2026-03-03T09:00:00Z PU picked_up [] "},
}, {
	"pieces go their own ways, and hear what is about all of them",
	trackingBody(shipment(one, pieces(2,
		piece(jd1, at("2026-03-03 09:00:00 +00:00", "WC", "With courier", ""), at("2026-03-03 12:00:00 +00:00", "OK", "Delivered", "")),
		piece(jd2, at("2026-03-03 09:00:00 +00:00", "WC", "With courier", ""))),
		at("2026-03-03 09:00:00 +00:00", "WC", "With courier", ""), at("2026-03-03 12:00:00 +00:00", "OK", "Delivered", ""), at("2026-03-02 12:00:00 +00:00", "CR", "Cleared", ""))),
	[]string{
		one + " 2026-03-03T09:00:00Z WC out_for_delivery [] With courier",
		one + " 2026-03-03T12:00:00Z OK delivered [] Delivered",
		one + " 2026-03-02T12:00:00Z CR in_transit/customs_cleared [] Cleared",
		jd1 + " 2026-03-03T09:00:00Z WC out_for_delivery [] With courier",
		jd1 + " 2026-03-03T12:00:00Z OK delivered [] Delivered",
		jd1 + " 2026-03-02T12:00:00Z CR in_transit/customs_cleared [] Cleared",
		jd2 + " 2026-03-03T09:00:00Z WC out_for_delivery [] With courier",
		jd2 + " 2026-03-02T12:00:00Z CR in_transit/customs_cleared [] Cleared",
	},
}, {
	"a piece that is shown without the others is not delivered by them",
	trackingBody(shipment("9999999999", pieces(2, piece(jd1)), at("2026-03-03 09:00:00 +00:00", "WC", "With courier", ""), at("2026-03-03 12:00:00 +00:00", "OK", "Delivered", "")),
		shipment("9999999998", pieces(2, piece(jd2, at("2026-03-03 09:00:00 +00:00", "PU", "Picked up", ""))), at("2026-03-03 11:00:00 +00:00", "WC", "With courier", ""), at("2026-03-03 12:00:00 +00:00", "OK", "Delivered", ""))),
	[]string{jd1 + " 2026-03-03T09:00:00Z WC out_for_delivery [] With courier", jd2 + " 2026-03-03T09:00:00Z PU picked_up [] Picked up"},
}, {
	"a shipment that is delivered as a whole",
	trackingBody(shipment("9999999999", pieces(1, piece(jd1)), at("2026-03-03 12:00:00 +00:00", "OK", "Delivered", ""))),
	[]string{jd1 + " 2026-03-03T12:00:00Z OK delivered [] Delivered"},
}, {
	"nothing was scanned yet",
	trackingBody(shipment(one, ""), `{"shipmentTrackingNumber":"`+two+`","status":"No Shipments Found"}`), nil,
}, {"nothing is known", trackingBody(), nil}}
