package api

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/ship"
)

func TestContractAKeyRepeatsThePurchaseByteForByte(t *testing.T) {
	t.Parallel()
	c := newContract(t).opened()
	sh, first := c.do(http.StatusCreated, "POST", "/v1/shipments", specBody, "Idempotency-Key: k")
	id := sh["id"].(string)
	c.do(http.StatusOK, "POST", "/v1/sandbox/shipments/"+id+"/advance", "")
	c.do(http.StatusOK, "POST", "/v1/shipments/"+id+"/void", "")
	spaced := strings.NewReplacer(`,"`, `, "`, `{"`, "{\n\"").Replace(specBody)
	for _, body := range []string{specBody, spaced} {
		_, again := c.do(http.StatusCreated, "POST", "/v1/shipments", body, "Idempotency-Key: k")
		if again.Body.String() != first.Body.String() || again.Header().Get("Idempotent-Replayed") != "true" || again.Header().Get("Location") != first.Header().Get("Location") {
			t.Errorf("the repeat differs:\n%s\n%s\n%v", first.Body, again.Body, again.Header())
		}
	}
	if first.Header().Get("Idempotent-Replayed") != "" {
		t.Error("the first answer says that it is a repeat")
	}
	other, _ := c.do(http.StatusUnprocessableEntity, "POST", "/v1/shipments", to("Bob"), "Idempotency-Key: k")
	if other["code"] != "idempotency_key_reused" {
		t.Errorf("another body: %v", other)
	}
}

// TestContractAKeyIsAnsweredAfterANewQuote is a client that crashed after its
// purchase: it quotes again, and sends another rate id under the key of the order.
func TestContractAKeyIsAnsweredAfterANewQuote(t *testing.T) {
	t.Parallel()
	for _, livemode := range []bool{false, true} {
		name := map[bool]string{false: "test", true: "live"}[livemode]
		t.Run(name, func(t *testing.T) {
			c := newContract(t).opened()
			recipient := "Ada"
			if livemode {
				recipient = "FAULT VOID PENDING" // it is recorded before the carrier is asked
			}
			quotes, _ := c.do(http.StatusOK, "POST", "/v1/rates", quoteTo(recipient))
			rates := quotes["rates"].([]any)
			quoted := at(rates[0], "id").(string)
			requoted := c.formerRate("rate", rates[0], time.Now().Add(-time.Minute)) // at another price
			body := to(recipient, `"rateId":"`+quoted+`"`)
			first, _ := c.do(http.StatusCreated, "POST", "/v1/shipments", body, "Idempotency-Key: order-1")

			again, w := c.do(http.StatusCreated, "POST", "/v1/shipments", to(recipient, `"rateId":"`+requoted+`"`), "Idempotency-Key: order-1")
			if again["id"] != first["id"] || w.Header().Get("Idempotent-Replayed") != "true" {
				t.Errorf("the same offer by a new rate id is answered with shipment %v, want %v", again["id"], first["id"])
			}

			dearer := at(rates[len(rates)-1], "id").(string)
			for pointer, other := range map[string]string{
				"/rateId":      to(recipient, `"rateId":"`+dearer+`"`),
				"/destination": strings.Replace(body, "500 Main", "501 Main", 1),
				"/parcel":      strings.Replace(body, "4.2", "4.3", 1),
			} {
				refused, _ := c.do(http.StatusUnprocessableEntity, "POST", "/v1/shipments", other, "Idempotency-Key: order-1")
				if refused["code"] != "idempotency_key_reused" || refused["shipmentId"] != first["id"] || at(refused, "errors", "pointer") != pointer {
					t.Errorf("another %s: %v", pointer, refused)
				}
			}

			list, _ := c.do(http.StatusOK, "GET", "/v1/shipments", "")
			if n := len(list["data"].([]any)); n != 1 {
				t.Errorf("%d shipments, want 1", n)
			}
		})
	}
}

func TestContractWhatIsRefusedBeforeAPurchaseLeavesTheKeyFree(t *testing.T) {
	t.Parallel()
	c := newContract(t).opened()
	c.ship() // the order is taken
	reader := c.newKey(false, "shipments:read")
	rejecting := to("Ada", `"onDuplicateOrder":"reject"`)
	for _, tc := range []struct {
		key, body string
		status    int
	}{
		{c.key, `{`, http.StatusBadRequest},
		{c.key + "x", specBody, http.StatusUnauthorized},
		{reader, specBody, http.StatusForbidden},
		{c.key, rejecting, http.StatusConflict},
		{c.key, `{"orderId":"a"}`, http.StatusUnprocessableEntity},
		{c.key, to("Ada", `"rateId":"rate_x"`), http.StatusUnprocessableEntity},
		{c.key, to("Ada", `"carrier":"ups","deliverBy":"2020-01-01"`), http.StatusUnprocessableEntity},
	} {
		for range 2 {
			w := send(c.handler, "POST", "/v1/shipments", tc.key, tc.body, "Idempotency-Key: free")
			if w.Code != tc.status || w.Header().Get("Idempotent-Replayed") != "" {
				t.Errorf("%s: %d, want %d: %s", tc.body, w.Code, tc.status, w.Body)
			}
		}
	}
	c.do(http.StatusNotFound, "POST", "/v1/shipments/shp_x/void", "", "Idempotency-Key: free")
	c.do(http.StatusCreated, "POST", "/v1/shipments", specBody, "Idempotency-Key: free")
}

func TestContractAKeyBelongsToOneAccountAndMode(t *testing.T) {
	t.Parallel()
	c := newContract(t).opened()
	mine, _ := c.do(http.StatusCreated, "POST", "/v1/shipments", specBody, "Idempotency-Key: k")
	c.opened()
	theirs, w := c.do(http.StatusCreated, "POST", "/v1/shipments", specBody, "Idempotency-Key: k")
	if mine["id"] == theirs["id"] || w.Header().Get("Idempotent-Replayed") != "" {
		t.Error("one account's key answered another's request")
	}
}

func TestContractALostAnswerIsPendingAndThenBought(t *testing.T) {
	t.Parallel()
	c := newContract(t).opened()
	body := to("FAULT TIMEOUT AFTER PURCHASE")
	sh, w := c.do(http.StatusAccepted, "POST", "/v1/shipments", body, "Idempotency-Key: k")
	id := sh["id"].(string)
	if _, there := sh["trackingNumber"]; there || sh["labelStatus"] != "pending" || sh["status"] != "created" || sh["carrier"] == "" ||
		sh["labelUrl"] != testBase+"/v1/labels/"+id+".pdf" || w.Header().Get("Retry-After") == "" || w.Header().Get("Location") != "/v1/shipments/"+id {
		t.Errorf("pending: %v %v", sh, w.Header())
	}
	again, w := c.do(http.StatusAccepted, "POST", "/v1/shipments", body, "Idempotency-Key: k")
	if again["id"] != id || w.Header().Get("Retry-After") == "" {
		t.Errorf("the same key: %v", again)
	}
	for _, path := range []string{"/v1/shipments/" + id, "/v1/tracking/" + id} {
		if got, _ := c.do(http.StatusOK, "GET", path, ""); got["status"] != "created" || got["trackingNumber"] != nil {
			t.Errorf("%s: %v", path, got)
		}
	}
	if p, w := c.do(http.StatusConflict, "GET", "/v1/labels/"+id+".pdf", ""); p["code"] != "label_not_ready" || w.Header().Get("Retry-After") == "" {
		t.Errorf("the label: %v %v", p, w.Header())
	}
	log := c.log(1)
	if log[0]["type"] != "shipment.created" || at(log[0], "data", "shipment", "trackingNumber") != nil || at(log[0], "data", "shipment", "labelStatus") != "pending" {
		t.Errorf("told at once: %v", log[0])
	}
	c.settle(id, ship.StatePurchased)
	done, w := c.do(http.StatusCreated, "POST", "/v1/shipments", body, "Idempotency-Key: k")
	if done["id"] != id || done["trackingNumber"] == nil || done["status"] != "created" || done["labelStatus"] != "ready" || w.Header().Get("Idempotent-Replayed") != "true" {
		t.Errorf("once it is bought: %v", done)
	}
	c.do(http.StatusOK, "GET", "/v1/labels/"+id+".pdf", "")
	if log := c.log(2); log[1]["type"] != "label.generated" || at(log[1], "data", "shipment", "trackingNumber") != done["trackingNumber"] {
		t.Errorf("the log = %v", log)
	}
}

func TestContractALaterRefusalIsAnExceptionAndA422(t *testing.T) {
	t.Parallel()
	c := newContract(t, func(w *wiring) { w.waits.Rebuy, w.waits.Look = 0, 0 }).opened() // nothing is bought again
	body := to("FAULT TIMEOUT")
	sh, _ := c.do(http.StatusAccepted, "POST", "/v1/shipments", body, "Idempotency-Key: k")
	id := sh["id"].(string)
	c.settle(id, ship.StateFailed)
	got, _ := c.do(http.StatusOK, "GET", "/v1/shipments/"+id, "")
	if _, there := got["trackingNumber"]; there || got["status"] != "exception" || got["labelStatus"] != "failed" || got["reason"] != "purchase_failed" {
		t.Errorf("after the refusal: %v", got)
	}
	log := c.log(2)
	if e := log[1]; e["type"] != "shipment.exception" || at(e, "data", "event", "reason") != "purchase_failed" || at(e, "data", "shipment", "trackingNumber") != nil {
		t.Errorf("told: %v", e)
	}
	p, first := c.do(http.StatusUnprocessableEntity, "POST", "/v1/shipments", body, "Idempotency-Key: k")
	if p["code"] != "carrier_rejected" {
		t.Errorf("the same key: %v", p)
	}
	_, again := c.do(http.StatusUnprocessableEntity, "POST", "/v1/shipments", body, "Idempotency-Key: k")
	if again.Body.String() != first.Body.String() {
		t.Errorf("the refusal differs:\n%s\n%s", first.Body, again.Body)
	}
	if p, w := c.do(http.StatusConflict, "GET", "/v1/labels/"+id+".pdf", ""); p["code"] != "label_not_ready" {
		t.Errorf("the label: %v %v", p, w.Header())
	}
}

func TestContractWhatCannotBeConfirmedNeedsReviewAndIsNotBoughtAgain(t *testing.T) {
	t.Parallel()
	sold := 0
	c := newContract(t, func(w *wiring) {
		w.waits.Review = 0
		w.hands = &hands{buy: func(carrier.BuyOrder) { sold++ }}
	}).opened()
	body := to("FAULT NO CONFIRMATION")
	sh, _ := c.do(http.StatusAccepted, "POST", "/v1/shipments", body, "Idempotency-Key: k")
	id := sh["id"].(string)
	c.settle(id, ship.StateNeedsReview)
	got, _ := c.do(http.StatusAccepted, "POST", "/v1/shipments", body, "Idempotency-Key: k")
	if _, there := got["trackingNumber"]; there || got["labelStatus"] != "needs_review" || got["id"] != id {
		t.Errorf("the same key: %v", got)
	}
	if e := c.log(2)[1]; e["type"] != "shipment.exception" || at(e, "data", "event", "reason") != "purchase_unconfirmed" || at(e, "data", "shipment", "labelStatus") != "needs_review" {
		t.Errorf("told: %v", e)
	}
	if sold != 1 {
		t.Errorf("the carrier was asked to sell %d times", sold)
	}
}

func TestContractARefusalLeavesNoShipmentAndNoEvent(t *testing.T) {
	t.Parallel()
	c := newContract(t).opened()
	p, _ := c.do(http.StatusUnprocessableEntity, "POST", "/v1/shipments", to("FAULT REFUSE"))
	if p["code"] != "carrier_rejected" || p["carrierCode"] == nil || p["carrierMessage"] == nil || p["source"] != "carrier" {
		t.Errorf("refused: %v", p)
	}
	if p["possibleDuplicateOf"] != nil {
		t.Errorf("a duplicate of nothing: %v", p)
	}
	sh, _ := c.do(http.StatusCreated, "POST", "/v1/shipments", to("FAULT REFUSE UPS"))
	if sh["possibleDuplicateOf"] != nil {
		t.Errorf("the refused purchase is told of: %v", sh["possibleDuplicateOf"])
	}
	for _, e := range c.log(2) {
		if at(e, "data", "shipment", "id") != sh["id"] {
			t.Errorf("an event of a refused purchase: %v", e)
		}
	}
}

func TestContractTheSameKeyWaitsForTheFirstRequest(t *testing.T) {
	t.Parallel()
	asked, answer := make(chan struct{}, 8), make(chan struct{})
	c := newContract(t, func(w *wiring) {
		w.hands = &hands{buy: func(carrier.BuyOrder) { asked <- struct{}{}; <-answer }}
	}).opened()
	body := to("FAULT VOID REFUSED") // takes the way of a live carrier, and sells
	var wg sync.WaitGroup
	wg.Go(func() { c.do(http.StatusCreated, "POST", "/v1/shipments", body, "Idempotency-Key: k") })
	<-asked
	p, w := c.do(http.StatusConflict, "POST", "/v1/shipments", body, "Idempotency-Key: k")
	if p["code"] != "idempotency_in_progress" || w.Header().Get("Retry-After") == "" {
		t.Errorf("while it runs: %v %v", p, w.Header())
	}
	close(answer)
	wg.Wait()
	if sh, _ := c.do(http.StatusCreated, "POST", "/v1/shipments", body, "Idempotency-Key: k"); sh["trackingNumber"] == nil {
		t.Errorf("afterwards: %v", sh)
	}
}

func TestContractAnyPostTakesAKey(t *testing.T) {
	t.Parallel()
	c := newContract(t).opened()
	id := c.ship()
	for _, tc := range []struct{ path, body string }{
		{"/v1/rates", quoteTo("Ada")},
		{"/v1/trackers", `{"trackingNumber":"1Z5R89390357567127"}`},
		{"/v1/shipments/" + id + "/label", `{"format":"zpl"}`},
		{"/v1/shipments/" + id + "/label-link", `{"format":"zpl"}`},
		{"/v1/sandbox/shipments/" + id + "/advance", ``},
		{"/v1/shipments/" + id + "/void", ``},
	} {
		first := send(c.handler, "POST", tc.path, c.key, tc.body, "Idempotency-Key: "+tc.path)
		again := send(c.handler, "POST", tc.path, c.key, tc.body, "Idempotency-Key: "+tc.path)
		if first.Code >= 300 || again.Code != first.Code || again.Body.String() != first.Body.String() || again.Header().Get("Idempotent-Replayed") != "true" {
			t.Errorf("%s: %d %s\nthen %d %s", tc.path, first.Code, first.Body, again.Code, again.Body)
		}
		if p, _ := c.do(http.StatusUnprocessableEntity, "POST", "/v1/rates", quoteTo("Bob"), "Idempotency-Key: "+tc.path); p["code"] != "idempotency_key_reused" {
			t.Errorf("%s: another body: %v", tc.path, p)
		}
	}
}

func TestContractAPriceAboveTheAgreedOneIsGivenBack(t *testing.T) {
	t.Parallel()
	c := newContract(t).opened()
	quotes, _ := c.do(http.StatusOK, "POST", "/v1/rates", quoteTo("FAULT PRICE CHANGED"))
	rate := at(quotes, "rates").([]any)[0]
	body := to("FAULT PRICE CHANGED", `"rateId":"`+at(rate, "id").(string)+`"`)
	p, first := c.do(http.StatusUnprocessableEntity, "POST", "/v1/shipments", body, "Idempotency-Key: k")
	if p["code"] != "price_changed" || at(p, "quoted", "amount") != at(rate, "amount") || at(p, "charged", "amount") == at(rate, "amount") || at(p, "charged", "currency") != "USD" {
		t.Errorf("refused: %v", p)
	}
	_, again := c.do(http.StatusUnprocessableEntity, "POST", "/v1/shipments", body, "Idempotency-Key: k")
	if again.Body.String() != first.Body.String() || again.Header().Get("Idempotent-Replayed") != "true" {
		t.Errorf("the repeat differs:\n%s\n%s", first.Body, again.Body)
	}
	limited := to("FAULT PRICE CHANGED", `"maxAmount":{"amount":"`+at(rate, "amount").(string)+`","currency":"USD"}`)
	if p, _ := c.do(http.StatusUnprocessableEntity, "POST", "/v1/shipments", limited); p["code"] != "price_changed" {
		t.Errorf("with maxAmount: %v", p)
	}
	if list, _ := c.do(http.StatusOK, "GET", "/v1/shipments", ""); len(list["data"].([]any)) != 0 {
		t.Errorf("visible: %v", list)
	}
}

// TestContractOnePercentAboveIsAccepted has the carrier charge a little more.
func TestContractOnePercentAboveIsAccepted(t *testing.T) {
	t.Parallel()
	c := newContract(t, func(w *wiring) {
		w.hands = &hands{bought: func(p ship.Sale) ship.Sale { p.Price.Minor += p.Price.Minor / 100; return p }}
	}).opened()
	quotes, _ := c.do(http.StatusOK, "POST", "/v1/rates", quoteTo("FAULT VOID PENDING"))
	body := to("FAULT VOID PENDING", `"rateId":"`+at(quotes, "rates", "id").(string)+`"`)
	if sh, _ := c.do(http.StatusCreated, "POST", "/v1/shipments", body); len(sh["warnings"].([]any)) != 0 {
		t.Errorf("one percent above: %v", sh["warnings"])
	}
}

// TestContractADearLabelThatCannotBeVoidedIsKept has the carrier charge more
// and not take the label back.
func TestContractADearLabelThatCannotBeVoidedIsKept(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		labelStatus string
		void        func() (carrier.VoidResult, error)
	}{
		"refused": {"ready", func() (carrier.VoidResult, error) { return carrier.VoidResult{}, ship.Errorf(ship.Invalid, "no") }},
		"pending": {"refund_pending", func() (carrier.VoidResult, error) { return carrier.VoidResult{State: ship.StateRefundPending}, nil }},
		"unanswered": {"voiding", func() (carrier.VoidResult, error) {
			return carrier.VoidResult{}, ship.Errorf(ship.Uncertain, "silence")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			c := newContract(t, func(w *wiring) { w.hands = &hands{void: tc.void} }).opened()
			quotes, _ := c.do(http.StatusOK, "POST", "/v1/rates", quoteTo("FAULT PRICE CHANGED"))
			rate := at(quotes, "rates").([]any)[0]
			body := to("FAULT PRICE CHANGED", `"rateId":"`+at(rate, "id").(string)+`"`)
			sh, first := c.do(http.StatusCreated, "POST", "/v1/shipments", body, "Idempotency-Key: k")
			warnings := sh["warnings"].([]any)
			if len(warnings) != 1 || !strings.Contains(warnings[0].(string), at(rate, "amount").(string)) || !strings.Contains(warnings[0].(string), at(sh, "rate", "amount").(string)) {
				t.Errorf("warnings = %v", warnings)
			}
			if sh["labelStatus"] != tc.labelStatus {
				t.Errorf("labelStatus %v, want %s", sh["labelStatus"], tc.labelStatus)
			}
			if _, again := c.do(http.StatusCreated, "POST", "/v1/shipments", body, "Idempotency-Key: k"); again.Body.String() != first.Body.String() {
				t.Errorf("the repeat differs:\n%s\n%s", first.Body, again.Body)
			}
		})
	}
}

func TestContractADuplicateOrderIsToldReturnedOrRejected(t *testing.T) {
	t.Parallel()
	c := newContract(t).opened()
	first := c.ship()
	second, _ := c.do(http.StatusCreated, "POST", "/v1/shipments", specBody)
	if second["possibleDuplicateOf"] != first {
		t.Errorf("duplicate of %v, want %s", second["possibleDuplicateOf"], first)
	}
	got, w := c.do(http.StatusOK, "POST", "/v1/shipments", to("Ada", `"onDuplicateOrder":"return"`))
	if got["id"] != second["id"] || w.Header().Get("Location") != "/v1/shipments/"+second["id"].(string) {
		t.Errorf("returned %v, want %v", got["id"], second["id"])
	}
	p, _ := c.do(http.StatusConflict, "POST", "/v1/shipments", to("Ada", `"onDuplicateOrder":"reject"`))
	if p["code"] != "duplicate_order" || p["possibleDuplicateOf"] != second["id"] {
		t.Errorf("rejected: %v", p)
	}
	pending, _ := c.do(http.StatusAccepted, "POST", "/v1/shipments", strings.Replace(to("FAULT TIMEOUT"), "ORD-1001", "ORD-2", 1))
	p, _ = c.do(http.StatusConflict, "POST", "/v1/shipments", strings.Replace(to("Ada", `"onDuplicateOrder":"reject"`), "ORD-1001", "ORD-2", 1))
	if p["possibleDuplicateOf"] != pending["id"] {
		t.Errorf("a pending purchase does not count: %v", p)
	}
	c.do(http.StatusUnprocessableEntity, "POST", "/v1/shipments", strings.Replace(to("FAULT REFUSE"), "ORD-1001", "ORD-3", 1))
	c.do(http.StatusCreated, "POST", "/v1/shipments", strings.Replace(to("Ada", `"onDuplicateOrder":"reject"`), "ORD-1001", "ORD-3", 1))
}

// TestContractAReturnedDuplicateIsRepeatedUnderItsKey voids the shipment that
// the first answer named.
func TestContractAReturnedDuplicateIsRepeatedUnderItsKey(t *testing.T) {
	t.Parallel()
	c := newContract(t).opened()
	first := c.ship()
	body := to("Ada", `"onDuplicateOrder":"return"`)
	_, one := c.do(http.StatusOK, "POST", "/v1/shipments", body, "Idempotency-Key: k")
	c.do(http.StatusOK, "POST", "/v1/shipments/"+first+"/void", "")
	two := send(c.handler, "POST", "/v1/shipments", c.key, body, "Idempotency-Key: k")
	if two.Code != http.StatusOK || two.Body.String() != one.Body.String() || two.Header().Get("Idempotent-Replayed") != "true" {
		t.Errorf("first 200 %s\nthen %d %s", one.Body, two.Code, two.Body)
	}
}
