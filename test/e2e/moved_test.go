package e2e

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/account"
	"github.com/waybillhq/waybill/internal/compat/easypost"
)

// movedHoldings are the ids of what a tenant has under /v2.
type movedHoldings struct {
	address, parcel, item, info, shipment, rate, refund, tracker, code, event, webhook, batch, form, pickup string
}

// all are the ids that no list may show to a stranger.
func (h movedHoldings) all() []string {
	return []string{h.address, h.parcel, h.item, h.info, h.shipment, h.rate, h.refund, h.tracker, h.code, h.event, h.webhook, h.batch, h.form, h.pickup}
}

// movedOthers says, for every route under /v2, how one tenant would reach for
// another's: the id in its path, and a body. What stands for want is the status if
// the id is not in the path. A new route without a row here fails the test.
var movedOthers = map[string]struct {
	reach func(h movedHoldings) (id, body string)
	want  int // 0 means 404
}{
	"POST /v2/addresses":                   {}, // no id of anybody
	"POST /v2/addresses/create_and_verify": {},
	"GET /v2/addresses":                    {}, // compared below, like all lists
	"GET /v2/addresses/{id}":               {reach: func(h movedHoldings) (string, string) { return h.address, "" }},
	"GET /v2/addresses/{id}/verify":        {reach: func(h movedHoldings) (string, string) { return h.address, "" }},
	"POST /v2/parcels":                     {},
	"GET /v2/parcels/{id}":                 {reach: func(h movedHoldings) (string, string) { return h.parcel, "" }},
	"POST /v2/customs_items":               {},
	"GET /v2/customs_items/{id}":           {reach: func(h movedHoldings) (string, string) { return h.item, "" }},
	"POST /v2/customs_infos": {reach: func(h movedHoldings) (string, string) {
		return "", `{"customs_info":{"customs_items":[{"id":"` + h.item + `"}]}}`
	}, want: 422},
	"GET /v2/customs_infos/{id}": {reach: func(h movedHoldings) (string, string) { return h.info, "" }},
	"POST /v2/shipments": {reach: func(h movedHoldings) (string, string) {
		return "", `{"shipment":{"to_address":{"id":"` + h.address + `"},"parcel":{"id":"` + h.parcel + `"}}}`
	}, want: 422},
	"GET /v2/shipments":              {},
	"GET /v2/shipments/{id}":         {reach: func(h movedHoldings) (string, string) { return h.shipment, "" }},
	"POST /v2/shipments/{id}/buy":    {reach: func(h movedHoldings) (string, string) { return h.shipment, `{"rate":{"id":"` + h.rate + `"}}` }},
	"POST /v2/shipments/{id}/rerate": {reach: func(h movedHoldings) (string, string) { return h.shipment, "" }},
	"GET /v2/shipments/{id}/label":   {reach: func(h movedHoldings) (string, string) { return h.shipment, "" }},
	"POST /v2/shipments/{id}/refund": {reach: func(h movedHoldings) (string, string) { return h.shipment, "" }},
	"GET /v2/rates/{id}":             {reach: func(h movedHoldings) (string, string) { return h.rate, "" }},
	"POST /beta/rates": {reach: func(h movedHoldings) (string, string) {
		return "", `{"shipment":{"to_address":{"id":"` + h.address + `"},"parcel":{"weight":5}}}`
	}, want: 422},
	"POST /v2/refunds":         {reach: func(h movedHoldings) (string, string) { return "", `{"refund":{"tracking_codes":["` + h.code + `"]}}` }, want: 422},
	"GET /v2/refunds":          {},
	"GET /v2/refunds/{id}":     {reach: func(h movedHoldings) (string, string) { return h.refund, "" }},
	"POST /v2/trackers":        {}, // a number may be followed by everybody
	"POST /v2/trackers/batch":  {},
	"GET /v2/trackers":         {},
	"GET /v2/trackers/{id}":    {reach: func(h movedHoldings) (string, string) { return h.tracker, "" }},
	"DELETE /v2/trackers/{id}": {reach: func(h movedHoldings) (string, string) { return h.tracker, "" }},
	"POST /v2/scan_forms":      {reach: func(h movedHoldings) (string, string) { return "", `{"shipments":[{"id":"` + h.shipment + `"}]}` }, want: 404},
	"GET /v2/scan_forms":       {},
	"GET /v2/scan_forms/{id}":  {reach: func(h movedHoldings) (string, string) { return h.form, "" }},
	"POST /v2/pickups": {reach: func(h movedHoldings) (string, string) {
		return "", `{"pickup":{"shipment":{"id":"` + h.shipment + `"}}}`
	}, want: 404},
	"GET /v2/pickups":              {},
	"GET /v2/pickups/{id}":         {reach: func(h movedHoldings) (string, string) { return h.pickup, "" }},
	"POST /v2/pickups/{id}/buy":    {reach: func(h movedHoldings) (string, string) { return h.pickup, "" }},
	"POST /v2/pickups/{id}/cancel": {reach: func(h movedHoldings) (string, string) { return h.pickup, "" }},
	"POST /v2/batches": {reach: func(h movedHoldings) (string, string) {
		return "", `{"batch":{"shipments":[{"id":"` + h.shipment + `"}]}}`
	}, want: 422},
	"GET /v2/batches":                        {},
	"GET /v2/batches/{id}":                   {reach: func(h movedHoldings) (string, string) { return h.batch, "" }},
	"POST /v2/batches/{id}/add_shipments":    {reach: func(h movedHoldings) (string, string) { return h.batch, "" }},
	"POST /v2/batches/{id}/remove_shipments": {reach: func(h movedHoldings) (string, string) { return h.batch, "" }},
	"POST /v2/batches/{id}/buy":              {reach: func(h movedHoldings) (string, string) { return h.batch, "" }},
	"POST /v2/batches/{id}/scan_form":        {reach: func(h movedHoldings) (string, string) { return h.batch, "" }},
	"POST /v2/batches/{id}/label":            {reach: func(h movedHoldings) (string, string) { return h.batch, "" }},
	"GET /v2/carrier_accounts":               {}, // each has its own
	"GET /v2/events":                         {},
	"GET /v2/events/{id}":                    {reach: func(h movedHoldings) (string, string) { return h.event, "" }},
	"POST /v2/webhooks":                      {},
	"GET /v2/webhooks":                       {},
	"GET /v2/webhooks/{id}":                  {reach: func(h movedHoldings) (string, string) { return h.webhook, "" }},
	"PATCH /v2/webhooks/{id}":                {reach: func(h movedHoldings) (string, string) { return h.webhook, `{"webhook_secret":"mine"}` }},
	"DELETE /v2/webhooks/{id}":               {reach: func(h movedHoldings) (string, string) { return h.webhook, "" }},
}

// TestNobodyReachesAnothersThingsUnderV2 is the walk over the routes of EasyPost's
// API: another account, and the same account in live mode, find nothing, whatever
// they ask for; and a key without the scope of a route is refused.
func TestNobodyReachesAnothersThingsUnderV2(t *testing.T) {
	w := newWorld(t)
	url, _ := w.serve("SANDBOX_STEP=0")
	other, _ := w.account("theirs")
	owner, key := w.account("mine")
	mine := holdMoved(t, url, key)

	for _, by := range strangersTo(w, owner, other) {
		for _, route := range easypost.Routes() {
			name := route.Method + " " + route.Path
			row, known := movedOthers[name]
			if !known {
				t.Errorf("%s has no case here", name)
				continue
			}
			isList := route.Method == http.MethodGet && !strings.Contains(route.Path, "{")
			if row.reach == nil && !isList {
				continue
			}
			id, body := "", ""
			want := http.StatusNotFound
			if row.reach != nil {
				id, body = row.reach(mine)
			}
			if row.want != 0 {
				want = row.want
			}
			if isList {
				want = http.StatusOK
			}
			if by.scope != "*" && by.scope != route.Scope {
				want = http.StatusForbidden
			}

			resp, answer := call(t, route.Method, url+strings.Replace(route.Path, "{id}", id, 1), by.key, body)
			if resp.StatusCode != want {
				t.Errorf("%s by %s with the scope %s answers %d, want %d: %s", name, by.name, by.scope, resp.StatusCode, want, answer)
			}
			for _, held := range mine.all() {
				if isList && strings.Contains(string(answer), held) {
					t.Errorf("%s shows %s to %s", name, held, by.name)
				}
			}
		}
	}

	// Nothing of all that changed anything.
	_, answer := call(t, "GET", url+"/v2/shipments/"+mine.shipment, key, "")
	if !strings.Contains(string(answer), `"refund_status":null`) {
		t.Errorf("afterwards mine is %s", answer)
	}

	for _, scope := range account.Scopes {
		key := w.key(owner, "--scopes", scope)
		for _, route := range easypost.Routes() {
			resp, answer := call(t, route.Method, url+strings.Replace(route.Path, "{id}", "nothing", 1), key, "")
			mayCall := scope == "*" || scope == route.Scope
			if isForbidden := resp.StatusCode == http.StatusForbidden; isForbidden == mayCall {
				t.Errorf("%s %s with the scope %s answers %d %s", route.Method, route.Path, scope, resp.StatusCode, answer)
			}
		}
	}
}

// holdMoved makes one of everything that has an id under /v2.
func holdMoved(t *testing.T, url, key string) (h movedHoldings) {
	t.Helper()
	post := func(path, body string) map[string]any {
		t.Helper()
		resp, answer := call(t, "POST", url+path, key, body)
		var out map[string]any
		if err := json.Unmarshal(answer, &out); err != nil || resp.StatusCode >= 300 {
			t.Fatalf("%s: %d %s", path, resp.StatusCode, answer)
		}
		return out
	}
	id := func(made map[string]any) string { text, _ := made["id"].(string); return text }

	const place = `{"name":"Jane Doe","street1":"350 5th Avenue","city":"New York","state":"NY","zip":"10118","country":"US","phone":"2125550100"}`
	h.address = id(post("/v2/addresses", `{"address":`+place+`}`))
	h.parcel = id(post("/v2/parcels", `{"parcel":{"weight":12}}`))
	h.item = id(post("/v2/customs_items", `{"customs_item":{"description":"Shirt","quantity":1,"value":"10","weight":4}}`))
	h.info = id(post("/v2/customs_infos", `{"customs_info":{"customs_items":[{"id":"`+h.item+`"}]}}`))

	buy := func() (shipment, rate, code, tracker string) {
		t.Helper()
		made := post("/v2/shipments", `{"shipment":{"to_address":{"id":"`+h.address+`"},"from_address":`+place+`,"parcel":{"id":"`+h.parcel+`"}}}`)
		for _, one := range made["rates"].([]any) {
			if one := one.(map[string]any); one["carrier"] == "USPS" {
				rate = id(one)
			}
		}
		bought := post("/v2/shipments/"+id(made)+"/buy", `{"rate":"`+rate+`"}`)
		code, _ = bought["tracking_code"].(string)
		return id(made), rate, code, id(bought["tracker"].(map[string]any))
	}
	refunded, _, _, _ := buy()
	post("/v2/shipments/"+refunded+"/refund", "")
	_, answer := call(t, "GET", url+"/v2/refunds", key, "")
	var refunds struct{ Refunds []struct{ ID string } }
	if err := json.Unmarshal(answer, &refunds); err != nil || len(refunds.Refunds) != 1 {
		t.Fatalf("refunds: %s", answer)
	}
	h.refund = refunds.Refunds[0].ID

	h.shipment, h.rate, h.code, h.tracker = buy()
	h.batch = id(post("/v2/batches", `{"batch":{"shipments":[{"id":"`+h.shipment+`"}]}}`))
	h.form = id(post("/v2/scan_forms", `{"shipments":[{"id":"`+h.shipment+`"}]}`))
	tomorrow := time.Now().UTC().AddDate(0, 0, 1).Format(time.DateOnly)
	h.pickup = id(post("/v2/pickups", `{"pickup":{"shipment":{"id":"`+h.shipment+`"},"min_datetime":"`+tomorrow+`T14:00:00Z","max_datetime":"`+tomorrow+`T18:00:00Z"}}`))
	h.webhook = id(post("/v2/webhooks", `{"webhook":{"url":"https://example.com/hook","webhook_secret":"s"}}`))
	h.event = firstEvent(t, url, key)
	return h
}
