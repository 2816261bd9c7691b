package api

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/carrier/sandbox"
	"github.com/waybillhq/waybill/internal/ship"
)

// TestContractEveryMagicDestinationDoesWhatItSays sends each by name and by
// zip code.
func TestContractEveryMagicDestinationDoesWhatItSays(t *testing.T) {
	t.Parallel()
	c := newContract(t, func(w *wiring) { w.softDeadline = 100 * time.Millisecond }).opened()
	want := map[sandbox.Fault]struct {
		status int
		code   string
	}{
		sandbox.FaultRefuse: {422, "carrier_rejected"}, sandbox.FaultRefuseUPS: {201, ""}, sandbox.FaultUnavailable: {503, "carrier_unavailable"},
		sandbox.FaultLimited: {503, "carrier_unavailable"}, sandbox.FaultTimeout: {202, ""}, sandbox.FaultTimeoutBought: {202, ""},
		sandbox.FaultNoConfirmation: {202, ""}, sandbox.FaultSlowQuote: {201, ""}, sandbox.FaultQuote: {503, "carrier_unavailable"},
		sandbox.FaultQuoteUSPS: {201, ""}, sandbox.FaultPriceChanged: {201, ""}, sandbox.FaultVoidRefused: {201, ""}, sandbox.FaultVoidPending: {201, ""},
		sandbox.FaultVoidLost: {201, ""}, sandbox.FaultException: {201, ""}, sandbox.FaultOutOfOrder: {201, ""}, sandbox.FaultUnmapped: {201, ""},
	}
	for _, d := range sandbox.Magic {
		for _, body := range []string{to(strings.ToLower(d.Name)), strings.Replace(specBody, "78701", d.Zip, 1)} {
			w := send(c.handler, "POST", "/v1/shipments", c.key, body)
			if w.Code != want[d.Fault].status || !strings.Contains(w.Body.String(), want[d.Fault].code) {
				t.Errorf("%s: %d %s", d.Name, w.Code, w.Body)
			}
		}
	}
}

// TestContractASandboxParcelLives follows three lives to their end.
func TestContractASandboxParcelLives(t *testing.T) {
	t.Parallel()
	c := newContract(t).opened()
	notified := 0
	for name, want := range map[string]struct {
		status, reason string
		late           bool
	}{
		"Ada":                {"delivered", "", false},
		"FAULT EXCEPTION":    {"exception", "address_not_found", false},
		"FAULT OUT OF ORDER": {"delivered", "", true},
	} {
		sh, _ := c.do(http.StatusCreated, "POST", "/v1/shipments", to(name))
		id := sh["id"].(string)
		var tr map[string]any
		for range 12 {
			w := send(c.handler, "POST", "/v1/sandbox/shipments/"+id+"/advance", c.key, "")
			if w.Code == http.StatusConflict {
				break
			}
			tr, _ = c.do(http.StatusOK, "GET", "/v1/tracking/"+id, "")
		}
		reason, _ := tr["reason"].(string)
		if tr["status"] != want.status || reason != want.reason {
			t.Errorf("%s ends as %v because of %v", name, tr["status"], tr["reason"])
		}
		notified += len(tr["events"].([]any))
		late := slices.ContainsFunc(c.log(notified), func(e map[string]any) bool { return e["late"] == true && at(e, "data", "shipment", "id") == id })
		if late != want.late {
			t.Errorf("%s: told late %v, want %v", name, late, want.late)
		}
	}
}

func TestContractATestShipmentIsMovedOnDemand(t *testing.T) {
	t.Parallel()
	c := newContract(t).opened()
	id := c.ship()
	path := "/v1/sandbox/shipments/" + id + "/advance"
	for _, step := range []struct{ body, status, reason string }{
		{``, "picked_up", ""},
		{`{}`, "in_transit", ""},
		{`{"status":"exception","reason":"customs_hold"}`, "exception", "customs_hold"},
		{`{"status":"out_for_delivery"}`, "out_for_delivery", ""},
		{`{"status":"delivered"}`, "delivered", ""},
	} {
		tr, _ := c.as(c.newKey(false, "rates")).do(http.StatusOK, "POST", path, step.body) // any test key may
		if reason, _ := tr["reason"].(string); tr["status"] != step.status || reason != step.reason {
			t.Errorf("%s: %v %v", step.body, tr["status"], tr["reason"])
		}
	}
	if p, _ := c.do(http.StatusConflict, "POST", path, ``); p["code"] != "cannot_advance" {
		t.Errorf("after delivery: %v", p)
	}
	for _, body := range []string{`{"status":"created"}`, `{"status":"label_generated"}`, `{"status":"lost"}`} {
		if p, _ := c.do(http.StatusUnprocessableEntity, "POST", path, body); wrongAt(p)["/status"] == "" {
			t.Errorf("%s: %v", body, p)
		}
	}
	if p, _ := c.as(c.newKey(true)).do(http.StatusForbidden, "POST", path, ``); p["code"] != "test_key_required" {
		t.Errorf("a live key: %v", p)
	}
}

// TestContractATestParcelMovesByItself has the sandbox's own clock tick.
func TestContractATestParcelMovesByItself(t *testing.T) {
	t.Parallel()
	c := newContract(t, func(w *wiring) { w.waits.SandboxAge = time.Microsecond }).opened()
	id := c.ship()
	for range 20 {
		if _, err := c.tracking.Live(t.Context()); err != nil && ship.KindOf(err) != ship.Unavailable {
			t.Fatal(err)
		}
		if tr, _ := c.do(http.StatusOK, "GET", "/v1/tracking/"+id, ""); tr["status"] == "delivered" {
			return
		}
		time.Sleep(2 * time.Millisecond)
	}
	t.Error("the parcel was not delivered")
}
