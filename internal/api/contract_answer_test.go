package api

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

// shown are the fields of a shipment in the order of the contract: those of
// the specification first.
var shown = []string{
	"id", "status", "carrier", "trackingNumber", "labelUrl",
	"labels", "orderId", "service", "connectionId", "rate", "estimatedDeliveryDate", "routing", "labelStatus", "pieces", "documents", "warnings",
	"possibleDuplicateOf", "simulated", "livemode", "createdAt",
}

func TestContractAShipmentShowsTheSpecificationsFieldsAndThenTheOthers(t *testing.T) {
	t.Parallel()
	c := newContract(t).opened()
	c.ship()
	sh, w := c.do(http.StatusCreated, "POST", "/v1/shipments", to("Ada", `"labelFormat":"zpl"`))
	names := members(t, w)
	if !slices.Equal(names[:5], shown[:5]) {
		t.Errorf("begins with %v", names[:5])
	}
	last := -1
	for _, name := range shown {
		i := slices.Index(names, name)
		if i < 0 && name == "connectionId" {
			continue // a simulated carrier has none
		}
		if i <= last {
			t.Errorf("%s stands at %d of %v", name, i, names)
		}
		last = i
	}
	id := sh["id"].(string)
	if !strings.HasPrefix(id, "shp_") || len(id) != 30 || sh["labelUrl"] != testBase+"/v1/labels/"+id+".pdf" {
		t.Errorf("id %s, labelUrl %v", id, sh["labelUrl"])
	}
	for _, format := range []string{"pdf", "zpl", "png"} {
		if at(sh, "labels", format) != testBase+"/v1/labels/"+id+"."+format {
			t.Errorf("labels = %v", sh["labels"])
		}
	}
	if w.Header().Get("Location") != "/v1/shipments/"+id || sh["labelStatus"] != "ready" || sh["status"] != "created" || at(sh, "pieces", "status") != "created" {
		t.Errorf("Location %s, %v, %v", w.Header().Get("Location"), sh["labelStatus"], sh["status"])
	}
	if at, err := time.Parse(time.RFC3339, sh["createdAt"].(string)); err != nil || !strings.HasSuffix(sh["createdAt"].(string), "Z") || time.Since(at).Abs() > time.Minute {
		t.Errorf("createdAt %v, %v", sh["createdAt"], err)
	}
	if _, err := time.Parse(time.RFC3339, sh["estimatedDeliveryDate"].(string)); err != nil {
		t.Errorf("estimatedDeliveryDate: %v", err)
	}
	read, w := c.do(http.StatusOK, "GET", "/v1/shipments/"+id, "")
	if read["status"] != "label_generated" || !slices.Equal(members(t, w), names) {
		t.Errorf("later it is %v with %v", read["status"], members(t, w))
	}
}

func TestContractTheAnswerSaysWhatWasChosenAndWhatItBeat(t *testing.T) {
	t.Parallel()
	c := newContract(t).opened()
	quotes, _ := c.do(http.StatusOK, "POST", "/v1/rates", quoteTo("Ada"))
	list := quotes["rates"].([]any)
	first, second, last := list[0], list[1], list[len(list)-1]
	sh, _ := c.do(http.StatusCreated, "POST", "/v1/shipments", to("Ada"))
	if sh["carrier"] != at(first, "carrier") || sh["service"] != at(first, "service") || at(sh, "rate", "amount") != at(first, "amount") || at(sh, "rate", "currency") != "USD" {
		t.Errorf("bought %v %v for %v, the cheapest is %v", sh["carrier"], sh["service"], sh["rate"], first)
	}
	if at(sh, "routing", "strategy") != "cheapest" || at(sh, "routing", "considered") != float64(len(list)) || at(sh, "routing", "runnerUp", "amount") != at(second, "amount") {
		t.Errorf("routing = %v", sh["routing"])
	}
	sh, _ = c.do(http.StatusCreated, "POST", "/v1/shipments", to("Ada", `"rateId":"`+at(last, "id").(string)+`"`))
	if sh["service"] != at(last, "service") || at(sh, "routing", "strategy") != "rate" {
		t.Errorf("with a rate: %v, %v", sh["service"], sh["routing"])
	}
	sh, _ = c.do(http.StatusCreated, "POST", "/v1/shipments", to("Ada", `"carrier":"fedex"`))
	if sh["carrier"] != "fedex" || at(sh, "routing", "strategy") != "named" {
		t.Errorf("with a carrier: %v, %v", sh["carrier"], sh["routing"])
	}
	sh, _ = c.do(http.StatusCreated, "POST", "/v1/shipments", to("FAULT QUOTE USPS"))
	if failed := at(sh, "routing", "failed"); at(failed, "carrier") != "usps" || at(failed, "code") != "carrier_unavailable" {
		t.Errorf("what failed first: %v", sh["routing"])
	}
	p, _ := c.do(http.StatusUnprocessableEntity, "POST", "/v1/shipments", to("Ada", `"service":"nothing"`))
	if p["code"] != "no_rate" {
		t.Errorf("an unknown service: %v", p)
	}
}

func TestContractWishesThatNoOfferMeetsAreRefused(t *testing.T) {
	t.Parallel()
	c := newContract(t).opened()
	for member, code := range map[string]string{
		`"maxAmount":{"amount":"0.01","currency":"USD"}`:      "no_rate",
		`"deliverBy":"2020-01-01"`:                            "no_rate",
		`"carrier":"upz"`:                                     "validation_failed",
		`"connectionId":"con_01KJMBQDHV00G2N6V3T9RZKXB4"`:     "validation_failed",
		`"rateId":"rate_x"`:                                   "validation_failed",
		`"maxAmount":{"amount":"1.234","currency":"USD"}`:     "validation_failed",
		`"shipDate":"2020-01-01"`:                             "validation_failed",
		`"metadata":{"a":"` + strings.Repeat("x", 501) + `"}`: "validation_failed",
	} {
		if p, _ := c.do(http.StatusUnprocessableEntity, "POST", "/v1/shipments", to("Ada", member)); p["code"] != code {
			t.Errorf("%s: %v, want %s", member, p, code)
		}
	}
	p, _ := c.do(http.StatusUnprocessableEntity, "POST", "/v1/shipments", to("Ada", `"carrier":"upz"`))
	if at(p, "errors", "pointer") != "/carrier" || at(p, "errors", "suggestion") != "ups" {
		t.Errorf("errors = %v", p["errors"])
	}
}

func TestContractListsAreFilteredByEachParameter(t *testing.T) {
	t.Parallel()
	c := newContract(t).opened()
	old := c.ship()
	time.Sleep(5 * time.Millisecond)
	between := time.Now().UTC().Format(time.RFC3339Nano)
	time.Sleep(5 * time.Millisecond)
	sh, _ := c.do(http.StatusCreated, "POST", "/v1/shipments", strings.Replace(to("Ada", `"carrier":"fedex"`), "ORD-1001", "ORD-2", 1))
	young := sh["id"].(string)
	c.do(http.StatusOK, "POST", "/v1/sandbox/shipments/"+young+"/advance", `{"status":"delivered"}`)
	c.do(http.StatusOK, "POST", "/v1/shipments/"+old+"/void", "")
	for query, want := range map[string][]string{
		"":                                 {young, old},
		"orderId=ORD-2":                    {young},
		"orderId=nothing":                  {},
		"status=delivered":                 {young},
		"status=label_generated":           {old},
		"carrier=fedex":                    {young},
		"labelStatus=voided":               {old},
		"labelStatus=ready":                {young},
		"labelStatus=ready,voided":         {young, old},
		"labelStatus=pending,failed":       {},
		"labelStatus=voided&carrier=fedex": {},
		"createdAfter=" + between:          {young},
		"createdBefore=" + between:         {old},
		"orderId=ORD-2&status=created":     {},
	} {
		list, w := c.do(http.StatusOK, "GET", "/v1/shipments?"+query, "")
		var got []string
		for _, sh := range list["data"].([]any) {
			got = append(got, at(sh, "id").(string))
		}
		if !slices.Equal(got, want) && len(got)+len(want) > 0 {
			t.Errorf("%s lists %v, want %v", query, got, want)
		}
		if list["nextCursor"] != nil || !slices.Equal(members(t, w), []string{"data", "nextCursor"}) {
			t.Errorf("%s: %s", query, w.Body)
		}
	}
}

func TestContractAVoidTellsHowFarItCame(t *testing.T) {
	t.Parallel()
	c := newContract(t).opened()
	for name, tc := range map[string]struct {
		status            int
		labelStatus, code any
	}{
		"Ada":                {http.StatusOK, "voided", nil},
		"FAULT VOID PENDING": {http.StatusAccepted, "refund_pending", nil},
		"FAULT VOID TIMEOUT": {http.StatusAccepted, "voiding", nil},
		"FAULT VOID REFUSED": {http.StatusConflict, nil, "void_refused"},
		"FAULT TIMEOUT":      {http.StatusConflict, nil, "label_not_ready"},
	} {
		w := send(c.handler, "POST", "/v1/shipments", c.key, to(name))
		id := strings.TrimPrefix(w.Header().Get("Location"), "/v1/shipments/")
		got, _ := c.do(tc.status, "POST", "/v1/shipments/"+id+"/void", "")
		if got["labelStatus"] != tc.labelStatus || got["code"] != tc.code || tc.code == nil && got["status"] != "label_generated" {
			t.Errorf("%s: %v", name, got)
		}
	}
	stuck := newContract(t, func(w *wiring) { w.noVoid = true }).opened()
	if p, _ := stuck.do(http.StatusConflict, "POST", "/v1/shipments/"+stuck.ship()+"/void", ""); p["code"] != "void_not_supported" {
		t.Errorf("a carrier without voids: %v", p)
	}
}
