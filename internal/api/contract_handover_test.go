package api

import (
	"bytes"
	"net/http"
	"strings"
	"testing"
	"time"
)

// pickupBody asks for a pickup tomorrow, at an address with the name.
func pickupBody(carrier, name string) string {
	day := time.Now().UTC().AddDate(0, 0, 1).Format(time.DateOnly)
	return `{"carrier":"` + carrier + `","parcels":3,"readyAt":"` + day + `T14:00:00-08:00","closeAt":"` + day + `T18:00:00-08:00",
		"address":{"name":"` + name + `","address1":"1 Market Street","city":"San Francisco","state":"CA","zip":"94105","country":"US","phone":"4155550100"}}`
}

// bought buys a label of the carrier and returns the shipment's id.
func (b *bench) bought(order, carrier string) string {
	b.Helper()
	sh, _ := b.do(http.StatusCreated, "POST", "/v1/shipments", `{"orderId":"`+order+`","carrier":"`+carrier+`",
		"destination":{"name":"Ada Lovelace","address1":"500 Main St","city":"Austin","state":"TX","zip":"78701","country":"US"},"parcel":{"weight":2}}`)
	return sh["id"].(string)
}

func TestContractAPickupIsBookedOnceAndCancelled(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	booked, w := b.do(http.StatusCreated, "POST", "/v1/pickups", pickupBody("ups", "Dock 2"), "Idempotency-Key: p1")
	id := booked["id"].(string)
	if booked["status"] != "scheduled" || booked["confirmation"] == nil || at(booked, "price", "currency") != "USD" || w.Header().Get("Location") != "/v1/pickups/"+id {
		t.Errorf("%v", booked)
	}
	if ready := at(booked, "window", "readyAt").(string); !strings.HasSuffix(ready, "T14:00:00-08:00") {
		t.Errorf("the window begins at %s", ready)
	}

	replayed, w2 := b.do(http.StatusCreated, "POST", "/v1/pickups", pickupBody("ups", "Dock 2"), "Idempotency-Key: p1")
	if !bytes.Equal(w.Body.Bytes(), w2.Body.Bytes()) || replayed["id"] != id || w2.Header().Get("Idempotent-Replayed") != "true" {
		t.Errorf("the repeat differs: %v", replayed)
	}
	if again, _ := b.do(http.StatusOK, "POST", "/v1/pickups", pickupBody("ups", "Dock 3"), "Idempotency-Key: p2"); again["id"] != id {
		t.Errorf("asked again: %v", again)
	}
	if list, _ := b.do(http.StatusOK, "GET", "/v1/pickups", ""); len(list["data"].([]any)) != 1 || at(list, "data", "id") != id {
		t.Errorf("%v", list)
	}

	cancelled, _ := b.do(http.StatusOK, "POST", "/v1/pickups/"+id+"/cancel", "")
	if cancelled["status"] != "cancelled" || cancelled["cancelledAt"] == nil {
		t.Errorf("%v", cancelled)
	}
	b.do(http.StatusOK, "POST", "/v1/pickups/"+id+"/cancel", "")
	if shown, _ := b.do(http.StatusOK, "GET", "/v1/pickups/"+id, ""); shown["status"] != "cancelled" {
		t.Errorf("%v", shown)
	}
	if other, _ := b.do(http.StatusCreated, "POST", "/v1/pickups", pickupBody("ups", "Dock 2")); other["id"] == id {
		t.Error("after the cancellation the old one is returned")
	}
}

func TestContractPickupsThatCarriersRefuseOrDoNotAnswer(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	late := strings.Replace(pickupBody("dhl_express", "Dock 2"), "T18:00:00", "T14:10:00", 1)
	if got, _ := b.do(http.StatusUnprocessableEntity, "POST", "/v1/pickups", late); got["code"] != "pickup_too_late" || at(got, "nextWindow", "readyAt") == nil {
		t.Errorf("%v", got)
	}

	for _, tc := range []struct {
		carrier, name string
		status        int
		code, state   string
	}{
		{"ups", "FAULT REFUSE", http.StatusUnprocessableEntity, "carrier_rejected", ""},
		{"ups", "FAULT UNAVAILABLE", http.StatusServiceUnavailable, "carrier_unavailable", ""},
		{"ups", "FAULT TIMEOUT AFTER PURCHASE", http.StatusAccepted, "", "pending"},
		{"usps", "FAULT TIMEOUT AFTER PURCHASE", http.StatusAccepted, "", "pending"},
		{"fedex", "Dock 1", http.StatusUnprocessableEntity, "carrier_rejected", ""}, // it does not say for which division
		{"dhl_express", "FAULT TIMEOUT", http.StatusAccepted, "", "needs_review"},
		{"dhl_express", "FAULT TIMEOUT AFTER PURCHASE", http.StatusAccepted, "", "needs_review"},
	} {
		got, _ := b.do(tc.status, "POST", "/v1/pickups", pickupBody(tc.carrier, tc.name))
		if tc.code != "" && got["code"] != tc.code || tc.state != "" && got["status"] != tc.state {
			t.Errorf("%s %s: %v", tc.carrier, tc.name, got)
		}
		if tc.state != "needs_review" {
			continue
		}

		// A person gives it up, and it can be booked again; or says what the carrier
		// has.
		id := got["id"].(string)
		if tc.name == "FAULT TIMEOUT AFTER PURCHASE" {
			resolve := func(status int, body string) map[string]any {
				got, _ := b.do(status, "POST", "/v1/pickups/"+id+"/resolve", body)
				return got
			}
			resolve(http.StatusUnprocessableEntity, `{"outcome":"not_booked","confirmation":"C1"}`)
			if booked := resolve(http.StatusOK, `{"outcome":"booked","confirmation":"C1"}`); booked["status"] != "scheduled" || booked["confirmation"] != "C1" || booked["message"] != nil {
				t.Errorf("resolved: %v", booked)
			}
			if twice := resolve(http.StatusConflict, `{"outcome":"not_booked"}`); twice["code"] != "not_in_review" {
				t.Errorf("resolved twice: %v", twice)
			}
			continue
		}
		if given, _ := b.do(http.StatusOK, "POST", "/v1/pickups/"+id+"/cancel", ""); given["status"] != "cancelled" || given["message"] == nil {
			t.Errorf("given up: %v", given)
		}
	}

	for _, body := range []string{
		`{"carrier":"ups"}`,
		strings.Replace(pickupBody("ups", "A"), `"parcels":3`, `"parcels":3,"shipmentIds":["shp_01KJMBQDHV00G2N6V3T9RZKXB4"]`, 1),
		strings.Replace(pickupBody("ups", "A"), "T14:00:00-08:00", "T19:00:00-08:00", 1),
		pickupBody("nobody", "A"),
	} {
		b.do(http.StatusUnprocessableEntity, "POST", "/v1/pickups", body)
	}
	for _, id := range []string{"x", "pik_01KJMBQDHV00G2N6V3T9RZKXB4"} {
		if got, _ := b.do(http.StatusNotFound, "GET", "/v1/pickups/"+id, ""); got["code"] != "pickup_not_found" {
			t.Errorf("%v", got)
		}
	}
}

func TestContractAManifestHasWhatIsNotHandedOver(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	first := b.bought("m1", "usps")
	voided := b.bought("m2", "usps")
	b.do(http.StatusOK, "POST", "/v1/shipments/"+voided+"/void", "")

	closed, w := b.do(http.StatusCreated, "POST", "/v1/manifests", `{"carrier":"usps"}`, "Idempotency-Key: m1")
	id := closed["id"].(string)
	if closed["status"] != "closed" || len(closed["shipmentIds"].([]any)) != 1 || closed["shipmentIds"].([]any)[0] != first || closed["shipmentCount"] != 1.0 {
		t.Errorf("%v", closed)
	}
	if at(closed, "documents", "type") != "scan_form" || at(closed, "documents", "url") != testBase+"/v1/manifests/"+id+".pdf" {
		t.Errorf("%v", closed["documents"])
	}
	_, w2 := b.do(http.StatusCreated, "POST", "/v1/manifests", `{"carrier":"usps"}`, "Idempotency-Key: m1")
	if !bytes.Equal(w.Body.Bytes(), w2.Body.Bytes()) {
		t.Errorf("the repeat differs: %s", w2.Body)
	}
	_, file := b.do(http.StatusOK, "GET", "/v1/manifests/"+id+".pdf", "")
	if file.Header().Get("Content-Type") != "application/pdf" || !bytes.HasPrefix(file.Body.Bytes(), []byte("%PDF-")) || file.Header().Get("Cache-Control") != "no-store" {
		t.Errorf("%v", file.Header())
	}
	b.do(http.StatusNotFound, "GET", "/v1/manifests/"+id+".pdf?document=2", "")
	if list, _ := b.do(http.StatusOK, "GET", "/v1/manifests", ""); at(list, "data", "id") != id || at(list, "data", "shipmentCount") != 1.0 {
		t.Errorf("%v", list)
	}

	if again, _ := b.do(http.StatusUnprocessableEntity, "POST", "/v1/manifests", `{"carrier":"usps"}`); again["code"] != "nothing_to_manifest" {
		t.Errorf("%v", again)
	}
	named, _ := b.do(http.StatusUnprocessableEntity, "POST", "/v1/manifests", `{"carrier":"usps","shipmentIds":["`+first+`","`+voided+`"]}`)
	if named["code"] != "nothing_to_manifest" || len(named["excluded"].([]any)) != 2 {
		t.Errorf("%v", named)
	}

	// A carrier without manifests gets a sheet of our own.
	b.bought("m3", "ups")
	sheet, _ := b.do(http.StatusCreated, "POST", "/v1/manifests", `{"carrier":"ups"}`)
	if at(sheet, "documents", "type") != "handover_sheet" {
		t.Errorf("%v", sheet)
	}
	_, file = b.do(http.StatusOK, "GET", "/v1/manifests/"+sheet["id"].(string)+".pdf", "")
	if !bytes.HasPrefix(file.Body.Bytes(), []byte("%PDF-")) {
		t.Error("the sheet is no PDF")
	}

	// FedEx closes a day as a whole.
	one := b.bought("m4", "fedex")
	b.bought("m5", "fedex")
	if got, _ := b.do(http.StatusUnprocessableEntity, "POST", "/v1/manifests", `{"carrier":"fedex","shipmentIds":["`+one+`"]}`); got["code"] != "manifest_covers_day" || len(got["missing"].([]any)) != 1 {
		t.Errorf("%v", got)
	}
	if got, _ := b.do(http.StatusCreated, "POST", "/v1/manifests", `{"carrier":"fedex"}`); got["shipmentCount"] != 2.0 {
		t.Errorf("%v", got)
	}
	for _, id := range []string{"x", "man_01KJMBQDHV00G2N6V3T9RZKXB4"} {
		for _, path := range []string{id, id + ".pdf"} {
			if got, _ := b.do(http.StatusNotFound, "GET", "/v1/manifests/"+path, ""); got["code"] != "manifest_not_found" {
				t.Errorf("%s: %v", path, got)
			}
		}
	}
}
