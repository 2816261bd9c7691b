package api

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store/storetest"
)

// ups ships with UPS and returns the id and the tracking number.
func (c *contract) ups() (id, number string) {
	c.Helper()
	sh, _ := c.do(http.StatusCreated, "POST", "/v1/shipments", to("Ada", `"carrier":"ups"`))
	return sh["id"].(string), sh["trackingNumber"].(string)
}

func TestContractATrackingNumberIsFoundHoweverItIsWritten(t *testing.T) {
	t.Parallel()
	c := newContract(t).opened()
	id, number := c.ups()
	spaced := number[:2] + " " + number[2:5] + " " + number[5:8] + " " + number[8:]
	for _, written := range []string{number, strings.ToLower(number), spaced, " " + strings.ToLower(spaced) + " ", id} {
		tr, w := c.do(http.StatusOK, "GET", "/v1/tracking/"+url.PathEscape(written), "")
		if tr["trackingNumber"] != number || tr["shipmentId"] != id || tr["carrier"] != "ups" {
			t.Errorf("%q: %v", written, tr)
		}
		if got := members(t, w); !slices.Equal(got[:5], []string{"trackingNumber", "carrier", "status", "estimatedDeliveryDate", "events"}) {
			t.Errorf("members %v", got)
		}
	}
	followed, _ := c.do(http.StatusCreated, "POST", "/v1/trackers", `{"trackingNumber":"`+strings.ToLower(number)+`","carrier":"dhl_express"}`)
	tracker := followed["id"].(string)
	for path, want := range map[string]any{
		number: "ups", number + "?carrier=ups": "ups", number + "?carrier=dhl_express": "dhl_express", tracker: "dhl_express",
	} {
		if tr, _ := c.do(http.StatusOK, "GET", "/v1/tracking/"+path, ""); tr["carrier"] != want {
			t.Errorf("%s is of %v, want %v", path, tr["carrier"], want)
		}
	}
	for _, path := range []string{number + "?carrier=fedex", "nothing", "shp_x", string(ship.NewShipmentID(0, time.Now())), "trk_x"} {
		if p, _ := c.do(http.StatusNotFound, "GET", "/v1/tracking/"+path, ""); p["code"] != "tracking_not_found" {
			t.Errorf("%s: %v", path, p)
		}
	}
}

func TestContractATimelineIsNewestFirstAndTiesByTheFurtherStatus(t *testing.T) {
	t.Parallel()
	c := newContract(t).opened()
	id, _ := c.ups()
	noon := time.Now().Add(24 * time.Hour).UTC().Truncate(time.Second)
	c.hear(id,
		ship.Scan{Code: "AR", At: noon, Status: ship.InTransit, Location: "Reno, NV, US"},
		ship.Scan{Code: "OT", At: noon, Status: ship.OutForDelivery, Location: "Austin, TX, US"},
		ship.Scan{Code: "OR", At: noon.Add(-time.Hour), Status: ship.PickedUp},
		ship.Scan{Code: "OR", At: noon.Add(-time.Hour + 400*time.Millisecond), Status: ship.PickedUp, Location: "elsewhere"}, // a repeat
		ship.Scan{Code: "ZX", At: noon.Add(-30 * time.Minute), Reason: ship.ReasonUnmapped},
		ship.Scan{Code: "W1", At: noon.Add(time.Hour), Status: ship.Exception, Reason: "weather_delay"},
	)
	tr, _ := c.do(http.StatusOK, "GET", "/v1/tracking/"+id, "")
	var got []string
	for _, e := range tr["events"].([]any) {
		got = append(got, at(e, "status").(string))
		stamp := at(e, "timestamp").(string)
		if _, err := time.Parse(time.RFC3339, stamp); err != nil || !strings.HasSuffix(stamp, "Z") || at(e, "description") == "" {
			t.Errorf("event %v, %v", e, err)
		}
	}
	want := []string{"exception", "out_for_delivery", "in_transit", "picked_up", "picked_up", "label_generated", "created"}
	if !slices.Equal(got, want) {
		t.Errorf("events %v, want %v", got, want)
	}
	events := tr["events"].([]any)
	if at(events[0], "reason") != "weather_delay" || at(events[0], "carrierCode") != "W1" || tr["status"] != "exception" || tr["reason"] != "weather_delay" {
		t.Errorf("the newest is %v, the result %v %v", events[0], tr["status"], tr["reason"])
	}
	if at(events[3], "reason") != "unmapped" || at(events[3], "carrierCode") != "ZX" {
		t.Errorf("a code that nobody knows: %v", events[3])
	}
	if at(events[1], "location") != "Austin, TX, US" || at(events[4], "location") != nil || at(events[5], "location") != nil {
		t.Errorf("locations %v", events)
	}
	if place, there := events[5].(map[string]any)["location"]; !there || place != nil || events[5].(map[string]any)["carrierCode"] != nil {
		t.Errorf("the label's event is %v", events[5])
	}
	if _, err := time.Parse(time.RFC3339, tr["lastCheckedAt"].(string)); err != nil {
		t.Errorf("lastCheckedAt %v", tr["lastCheckedAt"])
	}
}

func TestContractAScanAfterDeliveryIsShownAndChangesNothing(t *testing.T) {
	t.Parallel()
	c := newContract(t).opened()
	id, _ := c.ups()
	c.hear(id, ship.Scan{Code: "W1", Status: ship.Exception, Reason: "weather_delay"})
	c.hear(id, ship.Scan{Code: "D", Status: ship.Delivered})
	c.hear(id, ship.Scan{Code: "RS", Status: ship.Exception, Reason: "return_to_sender"})
	tr, _ := c.do(http.StatusOK, "GET", "/v1/tracking/"+id, "")
	newest := tr["events"].([]any)[0]
	if tr["status"] != "delivered" || at(newest, "status") != "exception" || at(newest, "reason") != "return_to_sender" {
		t.Errorf("%v with %v on top", tr["status"], newest)
	}
	if sh, _ := c.do(http.StatusOK, "GET", "/v1/shipments/"+id, ""); sh["status"] != "delivered" {
		t.Errorf("the shipment is %v", sh["status"])
	}
}

func TestContractAnUnchangedTimelineIs304(t *testing.T) {
	t.Parallel()
	c := newContract(t).opened()
	id, _ := c.ups()
	_, first := c.do(http.StatusOK, "GET", "/v1/tracking/"+id, "")
	tag := first.Header().Get("ETag")
	_, same := c.do(http.StatusNotModified, "GET", "/v1/tracking/"+id, "", "If-None-Match: "+tag)
	if same.Body.Len() != 0 || same.Header().Get("ETag") != tag || same.Header().Get("Request-Id") == "" {
		t.Errorf("304 with %q %v", same.Body, same.Header())
	}
	c.hear(id) // the carrier has nothing new
	c.do(http.StatusNotModified, "GET", "/v1/tracking/"+id, "", "If-None-Match: "+tag)
	c.hear(id, ship.Scan{Code: "OR", Status: ship.PickedUp})
	if _, w := c.do(http.StatusOK, "GET", "/v1/tracking/"+id, "", "If-None-Match: "+tag); w.Header().Get("ETag") == tag {
		t.Error("the tag did not change")
	}
}

// TestContractAnEstimateIsTheCarriersElseShipDateAndTransitDays has carriers
// that name no date.
func TestContractAnEstimateIsTheCarriersElseShipDateAndTransitDays(t *testing.T) {
	t.Parallel()
	c := newContract(t).opened()
	id, _ := c.ups()
	if tr, _ := c.do(http.StatusOK, "GET", "/v1/tracking/"+id, ""); tr["estimateSource"] != "carrier" || tr["estimatedDeliveryDate"] == nil {
		t.Errorf("%v from %v", tr["estimatedDeliveryDate"], tr["estimateSource"])
	}
	mute := newContract(t, func(w *wiring) {
		w.hands = &hands{
			rates: func(list []ship.Rate) []ship.Rate {
				for i := range list {
					list[i].DeliveryAt, list[i].TransitDays = time.Time{}, 3
				}
				return list
			},
			bought: func(p ship.Sale) ship.Sale { p.DeliveryAt = time.Time{}; return p },
		}
	}).opened()
	day := time.Now().UTC().AddDate(0, 0, 2)
	sh, _ := mute.do(http.StatusCreated, "POST", "/v1/shipments", to("Ada", `"shipDate":"`+string(ship.DateOf(day))+`"`))
	tr, _ := mute.do(http.StatusOK, "GET", "/v1/tracking/"+sh["id"].(string), "")
	want := string(ship.DateOf(day.AddDate(0, 0, 3)))
	if date, _ := tr["estimatedDeliveryDate"].(string); !strings.HasPrefix(date, want) || tr["estimateSource"] != "service" || sh["estimatedDeliveryDate"] != tr["estimatedDeliveryDate"] {
		t.Errorf("%v from %v, want %s from service", tr["estimatedDeliveryDate"], tr["estimateSource"], want)
	}
}

func TestContractAFollowedParcel(t *testing.T) {
	t.Parallel()
	c := newContract(t).opened()
	tr, w := c.do(http.StatusCreated, "POST", "/v1/trackers", `{"trackingNumber":"1z 5r89 3903 5756 7127"}`)
	id := tr["id"].(string)
	if !strings.HasPrefix(id, "trk_") || tr["carrier"] != "ups" || tr["trackingNumber"] != "1Z5R89390357567127" || tr["status"] != "created" || len(tr["events"].([]any)) != 0 {
		t.Errorf("tracker %v", tr)
	}
	if _, there := tr["estimatedDeliveryDate"]; there || strings.Contains(w.Body.String(), "null") {
		t.Errorf("nothing is known, and it says %s", w.Body)
	}
	again, _ := c.do(http.StatusOK, "POST", "/v1/trackers", `{"trackingNumber":"1Z5R89390357567127","carrier":"ups"}`)
	if again["id"] != id {
		t.Errorf("again: %v", again["id"])
	}
	p, _ := c.do(http.StatusUnprocessableEntity, "POST", "/v1/trackers", `{"trackingNumber":"9261292700768711948021"}`)
	if p["code"] != "carrier_ambiguous" || len(p["candidates"].([]any)) != 2 {
		t.Errorf("ambiguous: %v", p)
	}
	for body, want := range map[string][2]string{
		`{"trackingNumber":"X"}`:                 {"/carrier", "required"},
		`{"trackingNumber":"X","carrier":"upz"}`: {"/carrier", "unknown_carrier"},
		`{}`:                                     {"/trackingNumber", "required"},
	} {
		if p, _ := c.do(http.StatusUnprocessableEntity, "POST", "/v1/trackers", body); wrongAt(p)[want[0]] != want[1] {
			t.Errorf("%s: %v", body, p["errors"])
		}
	}
	c.hear(id, ship.Scan{Code: "DP", Status: ship.InTransit, Location: "Reno, NV, US"})
	e := c.log(1)[0]
	if e["type"] != "shipment.in_transit" || at(e, "data", "tracker", "id") != id || at(e, "data", "shipment") != nil || at(e, "data", "tracker", "status") != "in_transit" || e["sequence"] != 1.0 {
		t.Errorf("event %v", e)
	}
	second, _ := c.do(http.StatusCreated, "POST", "/v1/trackers", `{"trackingNumber":"3318810025"}`)
	page, _ := c.do(http.StatusOK, "GET", "/v1/trackers?limit=1", "")
	if at(page, "data", "id") != second["id"] || page["nextCursor"] == nil {
		t.Errorf("first page %v", page)
	}
	page, _ = c.do(http.StatusOK, "GET", "/v1/trackers?limit=1&cursor="+page["nextCursor"].(string), "")
	if at(page, "data", "id") != id || page["nextCursor"] != nil {
		t.Errorf("last page %v", page)
	}
	c.do(http.StatusNoContent, "DELETE", "/v1/trackers/"+id, "")
	c.do(http.StatusNotFound, "DELETE", "/v1/trackers/"+id, "")
	c.do(http.StatusNotFound, "GET", "/v1/tracking/"+id, "")
}

func TestContractAThousandNewNumbersADayAreFollowed(t *testing.T) {
	t.Parallel()
	c := newContract(t).opened()
	known, _ := c.do(http.StatusCreated, "POST", "/v1/trackers", `{"trackingNumber":"1Z5R89390357567127"}`)
	_, err := storetest.Conn(t, c.url).Exec(t.Context(), `INSERT INTO lookup_keys (account_id, livemode, kind, value, subject_id)
		SELECT account_id, livemode, kind, value, ('ffffffff' || lpad(to_hex(n), 24, '0'))::uuid FROM lookup_keys, generate_series(1, 999) n WHERE kind = 'k'`)
	if err != nil {
		t.Fatal(err)
	}
	p, w := c.do(http.StatusTooManyRequests, "POST", "/v1/trackers", `{"trackingNumber":"3318810025"}`)
	if p["code"] != "tracker_limit" || w.Header().Get("Retry-After") == "" {
		t.Errorf("the number after: %v", p)
	}
	if again, _ := c.do(http.StatusOK, "POST", "/v1/trackers", `{"trackingNumber":"1Z5R89390357567127"}`); again["id"] != known["id"] {
		t.Errorf("a number that is not new: %v", again)
	}
}

func TestContractATrackingNumberIsRecognized(t *testing.T) {
	t.Parallel()
	c := newContract(t).opened()
	for number, want := range map[string]string{
		"1z+5r8-93903+57567127":  "[map[carrier:ups confidence:high]]",
		"9261292700768711948021": "[map[carrier:usps confidence:medium] map[carrier:fedex confidence:medium]]",
		"hello":                  "[]",
	} {
		if out, _ := c.do(http.StatusOK, "GET", "/v1/tracking-numbers/recognize?number="+number, ""); fmt.Sprint(out["candidates"]) != want {
			t.Errorf("%s: %v, want %s", number, out["candidates"], want)
		}
	}

	for _, query := range []string{"", "?number=", "?number=%20-%20", "?number=" + strings.Repeat("1", 51)} {
		if p, _ := c.do(http.StatusUnprocessableEntity, "GET", "/v1/tracking-numbers/recognize"+query, ""); !strings.Contains(fmt.Sprint(p["errors"]), "number") {
			t.Errorf("%q: %v", query, p)
		}
	}
}
