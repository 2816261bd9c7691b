package ups

import (
	"net/http"
	"regexp"

	"github.com/waybillhq/waybill/internal/emulator"
)

// alertNumber matches what Track Alert accepts: numbers of UPS and of Roadie.
var alertNumber = regexp.MustCompile(`^(1Z[0-9A-Z]{16}|1R[0-9A-Z]{14}|1R[0-9A-Z]{26})$`)

// subscription asks for pushes.
type subscription struct {
	Locale               string   `json:"locale"`
	TrackingNumberList   []string `json:"trackingNumberList"`
	ShipperAccountNumber string   `json:"shipperAccountNumber"`
}

// check validates what both kinds of subscription require.
func (q *subscription) check(r *http.Request) (refusal, bool) {
	switch {
	case r.Header.Get("transId") == "":
		return refusal{"VSS002", "Missing transId"}, false
	case r.Header.Get("transactionSrc") == "":
		return refusal{"VSS004", "Missing transactionSrc"}, false
	case r.PathValue("kind") != "standard" && r.PathValue("kind") != "enhanced":
		return refusal{"VSS930", "Type is missing or invalid, The Subscription request has been rejected."}, false
	case q.Locale == "":
		return refusal{"VSS300", "Locale is required. The Subscription request has been rejected."}, false
	}
	return refusal{}, true
}

// subscribe subscribes to the events of parcels. Invalid numbers do not affect
// the others.
func (s *server) subscribe(w http.ResponseWriter, r *http.Request) {
	var request subscription
	if !decode(w, r, &request) {
		return
	}

	no, ok := request.check(r)
	switch n := len(request.TrackingNumberList); {
	case !ok:
	case n == 0:
		no = refusal{"VSS200", "Tracking Number List is required. The Subscription request has been rejected."}
		ok = false
	case n > 100:
		no = refusal{"VSS220", "You have submitted over 100 tracking numbers which is not allowed."}
		ok = false
	}
	if !ok {
		refuse(w, no)
		return
	}

	valid := []string{}
	invalid := []string{}
	for _, number := range request.TrackingNumberList {
		if alertNumber.MatchString(number) {
			valid = append(valid, number)
		} else {
			invalid = append(invalid, number)
		}
	}
	if len(valid) == 0 {
		refuse(w, refusal{"VSS210", "The Subscription request should have at least one valid tracking number. The Subscription request has been rejected."})
		return
	}

	for _, number := range valid {
		if entry, voided, ok := s.Ledger.Sold(number); ok && !voided {
			s.webhook.follow(entry, number)
		}
	}
	answer(w, http.StatusOK, encode(map[string]any{"validTrackingNumbers": valid, "invalidTrackingNumbers": invalid}))
}

// subscribeAccount subscribes to the events of everything that is sold from now
// on.
func (s *server) subscribeAccount(w http.ResponseWriter, r *http.Request) {
	var q subscription
	if !decode(w, r, &q) {
		return
	}
	if no, ok := q.check(r); !ok {
		refuse(w, no)
		return
	}
	if q.ShipperAccountNumber != Account {
		refuse(w, refusal{"VSS000", "Invalid request and The Subscription request has been rejected."})
		return
	}
	s.webhook.followAll()
	answer(w, http.StatusOK, encode(map[string]any{"expiryDate": "9999-12-31"}))
}

// alertOf returns the body of a push. The emulator's clocks all show UTC.
func alertOf(entry emulator.Entry, number string, s step) []byte {
	when := s.at.UTC()
	date := when.Format("20060102")
	clock := when.Format("150405")
	location := map[string]string{"country": s.country}
	if s.city != "" {
		location["city"] = s.city
	}
	if s.state != "" {
		location["stateProvince"] = s.state
	}

	alert := map[string]any{
		"trackingNumber":          number,
		"activityLocation":        location,
		"activityStatus":          map[string]string{"type": s.kind, "code": s.activity, "description": s.text, "descriptionCode": s.status},
		"localActivityDate":       date,
		"localActivityTime":       clock,
		"gmtActivityDate":         date,
		"gmtActivityTime":         clock,
		"gmtOffset":               "+00.00",
		"scheduledDeliveryDate":   arrives(entry.At, keptOf(entry).Days).Format("20060102"),
		"deliveryTimeDescription": "end of day",
	}
	if s.kind == "D" {
		alert["actualDeliveryDate"] = date
		alert["actualDeliveryTime"] = clock
	}
	return encode(alert)
}
