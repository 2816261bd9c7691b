package api

import (
	"net/http"
	"strings"
	"testing"
)

// locationBody describes a location in a city of Nevada.
func locationBody(name, city, zip, more string) string {
	return `{"name":"` + name + `","address":{"name":"Acme","address1":"1 Commerce Way","city":"` + city + `","state":"NV","zip":"` + zip + `","country":"US","phone":"7755550100"}` + more + `}`
}

// shipFrom buys a label of an order; origin is the member with the origin, or
// nothing.
func (b *bench) shipFrom(status int, order, origin string) map[string]any {
	b.Helper()
	got, _ := b.do(status, "POST", "/v1/shipments", `{"orderId":"`+order+`","carrier":"ups",`+origin+`
		"destination":{"name":"Ada Lovelace","address1":"500 Main St","city":"Austin","state":"TX","zip":"78701","country":"US"},"parcel":{"weight":2}}`)
	return got
}

func TestContractAShipmentLeavesFromALocation(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	reno, w := b.do(http.StatusCreated, "POST", "/v1/locations", locationBody("Reno", "Reno", "89502",
		`,"contact":{"name":"Grace Hopper"},"cutoffTimes":[{"time":"17:00"},{"carrier":"usps","time":"15:30"}]`))
	id := reno["id"].(string)
	if w.Header().Get("Location") != "/v1/locations/"+id || reno["default"] != false || at(reno, "contact", "name") != "Grace Hopper" || at(reno, "cutoffTimes", "time") != "17:00" {
		t.Errorf("%v", reno)
	}
	if p, _ := b.do(http.StatusConflict, "POST", "/v1/locations", locationBody("RENO", "Sparks", "89431", "")); p["code"] != "location_exists" {
		t.Errorf("a name that is taken: %v", p)
	}

	// The shipment names the location and has a copy of its address.
	sent := b.shipFrom(http.StatusCreated, "L-1", `"origin":{"locationId":"`+id+`"},`)
	if sent["locationId"] != id || at(sent, "origin", "city") != "Reno" {
		t.Errorf("%v", sent)
	}
	b.do(http.StatusOK, "PATCH", "/v1/locations/"+id, `{"address":{"name":"Acme","address1":"9 Fremont St","city":"Las Vegas","state":"NV","zip":"89101","country":"US"},"cutoffTimes":[]}`)
	shown, _ := b.do(http.StatusOK, "GET", "/v1/shipments/"+sent["id"].(string), "")
	if shown["locationId"] != id || at(shown, "origin", "city") != "Reno" {
		t.Errorf("after a move: %v", shown)
	}
	if copied, _ := b.do(http.StatusOK, "POST", "/v1/shipments/"+sent["id"].(string)+"/duplicate", ""); at(copied, "origin", "locationId") != id || at(copied, "origin", "city") != nil {
		t.Errorf("to ship again: %v", copied)
	}
	if got := b.shipFrom(http.StatusCreated, "L-2", `"origin":{"locationId":"`+id+`"},`); at(got, "origin", "city") != "Las Vegas" {
		t.Errorf("from the new address: %v", got)
	}

	// The default serves requests without an origin, at once.
	if got := b.shipFrom(http.StatusCreated, "L-3", ""); got["locationId"] != nil || at(got, "origin", "city") != "San Francisco" {
		t.Errorf("without a default: %v", got)
	}
	if got, _ := b.do(http.StatusOK, "PATCH", "/v1/locations/"+id, `{"default":true}`); got["default"] != true || len(got["cutoffTimes"].([]any)) != 0 {
		t.Errorf("%v", got)
	}
	sparks, _ := b.do(http.StatusCreated, "POST", "/v1/locations", locationBody("Sparks", "Sparks", "89431", `,"default":true`))
	if got := b.shipFrom(http.StatusCreated, "L-4", ""); got["locationId"] != sparks["id"] || at(got, "origin", "city") != "Sparks" {
		t.Errorf("from the default: %v", got)
	}
	if got, _ := b.do(http.StatusOK, "GET", "/v1/locations/"+id, ""); got["default"] != false {
		t.Errorf("there are two defaults: %v", got)
	}

	b.do(http.StatusNoContent, "DELETE", "/v1/locations/"+id, "")
	if p, _ := b.do(http.StatusNotFound, "GET", "/v1/locations/"+id, ""); p["code"] != "location_not_found" {
		t.Errorf("%v", p)
	}
	if p := b.shipFrom(http.StatusUnprocessableEntity, "L-5", `"origin":{"locationId":"`+id+`"},`); p["code"] != "unknown_location" || at(p, "errors", "pointer") != "/origin/locationId" {
		t.Errorf("from a location that was deleted: %v", p)
	}
	if copied, _ := b.do(http.StatusOK, "POST", "/v1/shipments/"+sent["id"].(string)+"/duplicate", ""); at(copied, "origin", "city") != "Reno" {
		t.Errorf("to ship again without the location: %v", copied)
	}
}

func TestContractAPickupAndAManifestAreOfALocation(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	reno, _ := b.do(http.StatusCreated, "POST", "/v1/locations", locationBody("Reno", "Reno", "89502", `,"contact":{"name":"Grace Hopper","phone":"7755550199"}`))
	id := reno["id"].(string)
	from := b.shipFrom(http.StatusCreated, "H-1", `"origin":{"locationId":"`+id+`"},`)
	b.shipFrom(http.StatusCreated, "H-2", "")

	closed, _ := b.do(http.StatusCreated, "POST", "/v1/manifests", `{"carrier":"ups","address":{"locationId":"`+id+`"}}`)
	if closed["locationId"] != id || closed["shipmentCount"] != 1.0 || closed["shipmentIds"].([]any)[0] != from["id"] {
		t.Errorf("%v", closed)
	}
	body := pickupBody("ups", "x")
	body = body[:strings.Index(body, `"address"`)] + `"address":{"locationId":"` + id + `"}}`
	booked, _ := b.do(http.StatusCreated, "POST", "/v1/pickups", body)
	if booked["locationId"] != id || at(booked, "address", "name") != "Grace Hopper" || at(booked, "address", "city") != "Reno" {
		t.Errorf("%v", booked)
	}
}

func TestContractAnOriginIsAnAddressOrALocation(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	const id = "loc_01KJMBQDHV00G2N6V3T9RZKXB4"
	for origin, want := range map[string]string{
		`{"locationId":"` + id + `","city":"Reno"}`: "/origin/city exclusive",
		`{"locationId":null}`:                       "/origin/locationId wrong_type",
		`{"locationId":"reno"}`:                     "/origin/locationId invalid_format",
		`{"city":"Reno"}`:                           "/origin/name required",
	} {
		p := b.shipFrom(http.StatusUnprocessableEntity, "O-1", `"origin":`+origin+`,`)
		first := p["errors"].([]any)[0].(map[string]any)
		if got := first["pointer"].(string) + " " + first["code"].(string); got != want {
			t.Errorf("%s: %s, want %s", origin, got, want)
		}
	}
}
