package easypost

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/compat"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/shipping"
	"github.com/waybillhq/waybill/internal/store"
)

// batchOf creates a batch with one shipment, and returns its path.
func (b *bench) batchOf(to string) string {
	b.Helper()
	return "/v2/batches/" + text(b.call(201, "POST", "/v2/batches", `{"batch":{"shipments":[`+batched(to)+`]}}`), "id")
}

func batched(to string) string {
	return strings.TrimSuffix(strings.TrimPrefix(shipmentTo(to, `,"carrier":"USPS","service":"GroundAdvantage"`), `{"shipment":`), "}")
}

// TestAPurchaseInReviewIsNotShownAsFailed has a carrier neither confirm nor deny a
// purchase of a batch. A client that read "failed" would buy the label elsewhere.
// What is added to the batch meanwhile stays.
func TestAPurchaseInReviewIsNotShownAsFailed(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	path := b.batchOf(strings.Replace(recipient, "Dr. Steve Brule", "FAULT NO CONFIRMATION", 1))

	answered := make(chan *httptest.ResponseRecorder)
	go func() {
		r := httptest.NewRequest("POST", path+"/buy", http.NoBody)
		r.SetBasicAuth(b.key, "")
		w := httptest.NewRecorder()
		b.handler.ServeHTTP(w, r)
		answered <- w
	}()

	var bought ship.ShipmentID
	for bought == "" {
		list, err := b.store.Shipments(t.Context(), b.tenant, store.ShipmentFilter{States: []ship.State{ship.StateUncertain}}, ship.Page{Limit: 1})
		if err != nil {
			t.Fatal(err)
		}
		if len(list) == 1 {
			bought = list[0].ID
		}
		time.Sleep(20 * time.Millisecond)
	}
	b.call(200, "POST", path+"/add_shipments", `{"shipments":[`+batched(recipient)+`]}`)
	impatient := b.shipping
	impatient.Waits.Review = time.Nanosecond
	if _, err := shipping.New(impatient).Settle(t.Context(), b.tenant, bought); err != nil {
		t.Fatal(err)
	}

	w := <-answered
	var out map[string]any
	if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil || w.Code != http.StatusOK {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	if out["num_shipments"] != 2.0 {
		t.Errorf("what was added during the purchase is gone: %s", w.Body)
	}
	if text(out, "shipments", 0, "batch_status") != "queued_for_purchase" || !strings.Contains(text(out, "shipments", 0, "batch_message"), "under review") {
		t.Errorf("%v", at(out, "shipments", 0))
	}
}

// TestABatchOutlivesItsShipments deletes a shipment of a batch, as its expiry and an
// erasure do.
func TestABatchOutlivesItsShipments(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	path := b.batchOf(recipient)
	id, _ := parseID(text(b.call(200, "GET", path, ""), "shipments", 0, "id"), prefixShipment)
	if err := b.store.DeleteCompatObject(t.Context(), b.tenant, compat.Shipment, id); err != nil {
		t.Fatal(err)
	}

	if got := b.call(200, "GET", path, ""); text(got, "shipments", 0, "batch_status") != "creation_failed" {
		t.Errorf("%v", got)
	}
	if got := b.call(200, "GET", "/v2/batches", ""); len(got["batches"].([]any)) != 1 {
		t.Errorf("%v", got)
	}
}

// TestTimesAreThoseOfThePlace books a pickup whose window is on two days of UTC, and
// dates a label late in the evening.
func TestTimesAreThoseOfThePlace(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	made := b.call(201, "POST", "/v2/shipments", shipmentTo(recipient))
	bought := b.call(200, "POST", "/v2/shipments/"+text(made, "id")+"/buy", buyBody(rateBy(made, "UPS")))

	day := time.Now().AddDate(0, 0, 2).Format(time.DateOnly)
	named := `{"id":"` + text(bought, "id") + `"}`
	pickup := b.call(201, "POST", "/v2/pickups", `{"pickup":{"address":`+sender+`,"shipment":`+named+`,"shipments":[`+named+`],"min_datetime":"`+day+`T13:00:00-07:00","max_datetime":"`+day+` 18:00:00 -0700"}}`)
	if want := day + "T20:00:00Z"; text(pickup, "min_datetime") != want {
		t.Errorf("shown as %s, want %s", text(pickup, "min_datetime"), want)
	}
	if booked := b.call(200, "POST", "/v2/pickups/"+text(pickup, "id")+"/buy", `{"carrier":"UPS","service":"FutureDay"}`); text(booked, "status") != "scheduled" {
		t.Errorf("%v", booked)
	}
	list, err := b.store.Pickups(t.Context(), b.tenant, ship.Page{Limit: 1})
	if err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	window := list[0].Order.Window
	if window.ReadyAt.Format("15:04") != "13:00" || window.CloseAt.Format("15:04") != "18:00" || string(window.Date()) != day {
		t.Errorf("the carrier is asked for %s to %s", window.ReadyAt, window.CloseAt)
	}
	if count := list[0].Order.Count(); count != 1 {
		t.Errorf("%d parcels, want one: the shipment is named twice", count)
	}

	evening := draft{
		To:      &addressObject{},
		From:    &addressObject{},
		Parcel:  &parcelObject{Weight: new(decimal(5))},
		Options: map[string]any{"label_date": "2026-03-31T20:00:00-07:00"},
	}
	order, err := evening.order(b.tenant, ship.Account{}, "shp_1", "")
	if err != nil || order.ShipDate != "2026-03-31" {
		t.Errorf("dated %s, %v", order.ShipDate, err)
	}
}
