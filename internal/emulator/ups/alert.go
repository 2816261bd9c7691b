package ups

import (
	"net/http"
	"regexp"

	"github.com/waybillhq/waybill/internal/emulator"
)

// alertNumber is what Track Alert takes: numbers of UPS and of Roadie.
var alertNumber = regexp.MustCompile(`^(1Z[0-9A-Z]{16}|1R[0-9A-Z]{14}|1R[0-9A-Z]{26})$`)

// subscription asks for pushes.
type subscription struct {
	Locale               string   `json:"locale"`
	TrackingNumberList   []string `json:"trackingNumberList"`
	ShipperAccountNumber string   `json:"shipperAccountNumber"`
}

// check finds what both kinds of subscription demand.
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

// subscribe has parcels pushed. Numbers that are none cost the others nothing.
func (s *server) subscribe(w http.ResponseWriter, r *http.Request) {
	var q subscription
	if !decode(w, r, &q) {
		return
	}
	no, ok := q.check(r)
	switch n := len(q.TrackingNumberList); {
	case !ok:
	case n == 0:
		no, ok = refusal{"VSS200", "Tracking Number List is required. The Subscription request has been rejected."}, false
	case n > 100:
		no, ok = refusal{"VSS220", "You have submitted over 100 tracking numbers which is not allowed."}, false
	}
	if !ok {
		refuse(w, no)
		return
	}
	valid, invalid := []string{}, []string{}
	for _, n := range q.TrackingNumberList {
		if alertNumber.MatchString(n) {
			valid = append(valid, n)
		} else {
			invalid = append(invalid, n)
		}
	}
	if len(valid) == 0 {
		refuse(w, refusal{"VSS210", "The Subscription request should have at least one valid tracking number. The Subscription request has been rejected."})
		return
	}
	for _, n := range valid {
		if e, voided, ok := s.Ledger.Sold(n); ok && !voided {
			s.webhook.follow(e, n)
		}
	}
	answer(w, http.StatusOK, encode(map[string]any{"validTrackingNumbers": valid, "invalidTrackingNumbers": invalid}))
}

// subscribeAccount has all that is sold from now on pushed.
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

// alertOf is the body of a push. The stand-in's clocks all show UTC.
func alertOf(e emulator.Entry, number string, s step) []byte {
	when := s.at.UTC()
	date, clock := when.Format("20060102"), when.Format("150405")
	at := map[string]string{"country": s.country}
	if s.city != "" {
		at["city"] = s.city
	}
	if s.state != "" {
		at["stateProvince"] = s.state
	}
	a := map[string]any{
		"trackingNumber": number, "activityLocation": at,
		"activityStatus":    map[string]string{"type": s.kind, "code": s.activity, "description": s.text, "descriptionCode": s.status},
		"localActivityDate": date, "localActivityTime": clock, "gmtActivityDate": date, "gmtActivityTime": clock, "gmtOffset": "+00.00",
		"scheduledDeliveryDate": arrives(e.At, keptOf(e).Days).Format("20060102"), "deliveryTimeDescription": "end of day",
	}
	if s.kind == "D" {
		a["actualDeliveryDate"], a["actualDeliveryTime"] = date, clock
	}
	return encode(a)
}
