package api

import (
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/shipping"
)

// TestContractASlowPurchaseIsPendingAndThenBought has the carrier sell later
// than a client waits: 202 in time, then the label, and one sale.
func TestContractASlowPurchaseIsPendingAndThenBought(t *testing.T) {
	t.Parallel()
	sales := new(atomic.Int64)
	c := newContract(t, func(w *wiring) {
		w.waits = shipping.DefaultWaits
		w.waits.Answer = 200 * time.Millisecond
		w.hands = &hands{buy: func(carrier.BuyOrder) {
			time.Sleep(1500 * time.Millisecond)
			sales.Add(1)
		}}
	}).opened()

	// A magic name has the purchase written down first, as a live one is.
	body := to("FAULT REFUSE UPS", `"carrier":"fedex"`)
	start := time.Now()
	sh, w := c.do(http.StatusAccepted, "POST", "/v1/shipments", body, "Idempotency-Key: slow")
	if took := time.Since(start); took > 1200*time.Millisecond {
		t.Errorf("answered after %s", took)
	}
	if sh["labelStatus"] != "pending" || sh["status"] != "created" || sh["trackingNumber"] != nil || w.Header().Get("Retry-After") == "" {
		t.Errorf("answer %v %v", sh, w.Header())
	}
	path := "/v1/shipments/" + sh["id"].(string)
	if now, _ := c.do(http.StatusOK, "GET", path, ""); now["labelStatus"] != "pending" {
		t.Errorf("labelStatus %v", now["labelStatus"])
	}
	c.do(http.StatusAccepted, "POST", "/v1/shipments", body, "Idempotency-Key: slow")

	c.shipping.Drain(t.Context())
	if now, _ := c.do(http.StatusOK, "GET", path, ""); now["labelStatus"] != "ready" || now["trackingNumber"] == nil {
		t.Errorf("after the carrier answered: %v", now)
	}
	if again, _ := c.do(http.StatusCreated, "POST", "/v1/shipments", body, "Idempotency-Key: slow"); again["id"] != sh["id"] || again["status"] != "created" {
		t.Errorf("with the same key: %v", again)
	}
	if n := sales.Load(); n != 1 {
		t.Errorf("%d sales", n)
	}
}
