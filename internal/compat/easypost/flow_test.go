package easypost

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/account"
	"github.com/waybillhq/waybill/internal/addresscheck"
	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/all"
	"github.com/waybillhq/waybill/internal/carrier/sandbox"
	"github.com/waybillhq/waybill/internal/compat"
	"github.com/waybillhq/waybill/internal/handover"
	"github.com/waybillhq/waybill/internal/label"
	"github.com/waybillhq/waybill/internal/member"
	"github.com/waybillhq/waybill/internal/quoting"
	"github.com/waybillhq/waybill/internal/seal"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/shipping"
	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/internal/store/storetest"
	"github.com/waybillhq/waybill/internal/tracking"
	"github.com/waybillhq/waybill/internal/webhook"
)

const benchSecret = "0123456789abcdef0123456789abcdef"

// bench is the edge over the sandbox and a database of its own.
type bench struct {
	*testing.T
	handler  http.Handler
	store    *store.Store
	shipping shipping.Config
	tenant   ship.Tenant
	key      string

	mu    sync.Mutex
	noted []string // actions in the audit log that change nothing
}

func newBench(t *testing.T) *bench {
	t.Helper()
	st, err := store.Open(context.Background(), store.Options{URL: storetest.URL(t), Connections: 8})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(st.Close)
	log := slog.New(slog.NewTextHandler(io.Discard, nil))

	var carriers []*carrier.Carrier
	for _, spec := range sandbox.Specs() {
		one, err := carrier.Open(spec, carrier.Opening{})
		if err != nil {
			t.Fatal(err)
		}
		carriers = append(carriers, one)
	}
	sellers := carrier.Accounts{Simulated: carriers}
	labels, err := label.NewRenderer("")
	if err != nil {
		t.Fatal(err)
	}
	box, err := seal.New([]byte(benchSecret))
	if err != nil {
		t.Fatal(err)
	}

	accounts := account.New(st)
	quotes := quoting.New(quoting.Config{Accounts: sellers, SigningKey: []byte(benchSecret)})
	addresses := addresscheck.New(addresscheck.Config{Store: st, Accounts: sellers, Key: []byte(benchSecret), Log: log})
	follow := tracking.New(tracking.Config{Store: st, BaseURL: "https://ship.test", SandboxStep: time.Microsecond, Log: log, Specs: all.Specs})
	waits := shipping.DefaultWaits
	waits.Answer = time.Second
	b := &bench{T: t, store: st}
	b.shipping = shipping.Config{
		Store: st, Accounts: sellers, Quoting: quotes, Addresses: addresses, Labels: labels, SigningKey: []byte(benchSecret), BaseURL: "https://ship.test", Waits: waits, Log: log,
	}
	buying := shipping.New(b.shipping)
	b.handler = New(Config{
		Account: accounts, Quoting: quotes, Shipping: buying, Tracking: follow, Addresses: addresses, Compat: compat.New(st),
		Handover: handover.New(handover.Config{Store: st, Accounts: sellers, Labels: labels, Waits: handover.DefaultWaits, Log: log}),
		Webhook: webhook.New(webhook.Config{
			Store: st, Box: box, Log: log, Sender: webhook.NewSender(webhook.SenderOptions{}),
			Formats: map[string]webhook.Format{FormatName: Format(follow.PagePath)},
		}),
		BaseURL: "https://ship.test", Log: log,
		Note: func(_ member.Actor, entry member.Entry) {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.noted = append(b.noted, entry.Action)
		},
	})

	owner, err := accounts.Create(t.Context(), account.Settings{Name: new("Acme")})
	if err != nil {
		t.Fatal(err)
	}
	b.tenant = ship.Tenant{Account: owner.ID}
	key, _, err := accounts.NewKey(t.Context(), account.NewKeyInput{Account: owner.ID, Name: "test"})
	if err != nil {
		t.Fatal(err)
	}
	b.key = string(key)
	return b
}

// call makes a request as the official clients do, and expects the status.
func (b *bench) call(status int, method, path, body string) map[string]any {
	b.Helper()
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.SetBasicAuth(b.key, "")
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	b.handler.ServeHTTP(unflushed{w}, r)
	var out any
	if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil || w.Code != status {
		b.Fatalf("%s %s: %d, want %d: %s", method, path, w.Code, status, w.Body)
	}
	object, _ := out.(map[string]any)
	if status >= 400 {
		problem := at(object, "error")
		if at(problem, "code") == nil || at(problem, "message") == nil || at(problem, "errors") == nil {
			b.Errorf("%s %s: no error of the right shape: %s", method, path, w.Body)
		}
	}
	return object
}

// unflushed is a connection of which nobody knows whether an answer arrived.
type unflushed struct{ http.ResponseWriter }

// at returns a member deep in an answer.
func at(value any, path ...any) any {
	for _, step := range path {
		switch step := step.(type) {
		case string:
			object, _ := value.(map[string]any)
			value = object[step]
		case int:
			list, _ := value.([]any)
			if step >= len(list) {
				return nil
			}
			value = list[step]
		}
	}
	return value
}

func text(value any, path ...any) string {
	found, _ := at(value, path...).(string)
	return found
}

const (
	sender    = `{"company":"Acme","street1":"417 Montgomery St","street2":"Floor 5","city":"San Francisco","state":"CA","zip":"94104","country":"US","phone":"415-123-4567"}`
	recipient = `{"name":"Dr. Steve Brule","street1":"179 N Harbor Dr","city":"Redondo Beach","state":"CA","zip":"90277","country":"US","phone":"4155559999"}`
	parcel    = `{"length":"8","width":5,"height":5,"weight":"5.0"}` // PHP sends numbers as text
)

func shipmentTo(to string, more ...string) string {
	return `{"shipment":{"from_address":` + sender + `,"to_address":` + to + `,"parcel":` + parcel + strings.Join(more, "") + `}}`
}

// rateBy returns the id of a rate of the carrier, or of the first rate.
func rateBy(shipment map[string]any, carrier string) string {
	rates, _ := shipment["rates"].([]any)
	for _, rate := range rates {
		if carrier == "" || text(rate, "carrier") == carrier {
			return text(rate, "id")
		}
	}
	return ""
}

func buyBody(rate string) string { return `{"rate":{"id":"` + rate + `"}}` }

func TestAShipmentIsRatedBoughtAndRefunded(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	made := b.call(201, "POST", "/v2/shipments", shipmentTo(recipient, `,"reference":"order-1","customs_info":{},"options":{"label_format":"PDF","pushpin":true}`))
	id := text(made, "id")
	if text(made, "status") != "unknown" || made["selected_rate"] != nil || !strings.HasPrefix(text(made, "to_address", "id"), "adr_") {
		t.Errorf("%v", made)
	}
	if !strings.Contains(text(made, "messages", 0, "message"), "pushpin") {
		t.Errorf("an option that is not used is not mentioned: %v", made["messages"])
	}

	// The rate is text, so that no client rounds it.
	if _, ok := at(made, "rates", 0, "rate").(string); !ok || rateBy(made, "USPS") == "" {
		t.Fatalf("rates: %v", made["rates"])
	}
	rate := rateBy(made, "USPS")
	if got := b.call(200, "GET", "/v2/rates/"+rate, ""); text(got, "shipment_id") != id {
		t.Errorf("%v", got)
	}

	bought := b.call(200, "POST", "/v2/shipments/"+id+"/buy", buyBody(rate))
	code := text(bought, "tracking_code")
	if code == "" || text(bought, "selected_rate", "id") != rate || text(bought, "status") != "pre_transit" || text(bought, "tracker", "shipment_id") != id {
		t.Errorf("%v", bought)
	}
	if link := text(bought, "postage_label", "label_url"); !strings.HasPrefix(link, "https://ship.test/v1/labels/") || link != text(bought, "postage_label", "label_pdf_url") {
		t.Errorf("label: %v", bought["postage_label"])
	}

	// A client that lost the answer asks again: one label, and never a second one
	// at another rate.
	if again := b.call(200, "POST", "/v2/shipments/"+id+"/buy", buyBody(rate)); text(again, "tracking_code") != code {
		t.Errorf("bought again: %v", again)
	}
	refused := b.call(422, "POST", "/v2/shipments/"+id+"/buy", buyBody(rateBy(made, "UPS")))
	if text(refused, "error", "code") != "SHIPMENT.POSTAGE.EXISTS" {
		t.Errorf("%v", refused)
	}

	if got := b.call(200, "GET", "/v2/shipments/order-1", ""); text(got, "tracking_code") != code {
		t.Errorf("by reference: %v", got)
	}
	if got := b.call(200, "GET", "/v2/shipments/"+id+"/label?file_format=ZPL", ""); !strings.Contains(text(got, "postage_label", "label_zpl_url"), ".zpl?token=") {
		t.Errorf("%v", got["postage_label"])
	}
	if got := b.call(200, "GET", "/v2/trackers/"+text(bought, "tracker", "id"), ""); text(got, "tracking_code") != code {
		t.Errorf("%v", got)
	}
	if got := b.call(200, "POST", "/v2/shipments/"+id+"/refund", ""); text(got, "refund_status") != "submitted" {
		t.Errorf("%v", got["refund_status"])
	}
	if got := b.call(200, "GET", "/v2/shipments?page_size=1", ""); text(got, "shipments", 0, "id") != id || got["has_more"] != false {
		t.Errorf("%v", got)
	}
}

// TestADeclinedRateLeavesTheOthers has a carrier decline: the shipment can be bought
// at another rate, and once only.
func TestADeclinedRateLeavesTheOthers(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	to := strings.Replace(recipient, "Dr. Steve Brule", "FAULT REFUSE UPS", 1)
	made := b.call(201, "POST", "/v2/shipments", shipmentTo(to))
	id := text(made, "id")
	for range 2 {
		declined := b.call(422, "POST", "/v2/shipments/"+id+"/buy", buyBody(rateBy(made, "UPS")))
		if text(declined, "error", "code") != "SHIPMENT.POSTAGE.FAILURE" {
			t.Fatalf("%v", declined)
		}
	}
	bought := b.call(200, "POST", "/v2/shipments/"+id+"/buy", buyBody(rateBy(made, "USPS")))
	again := b.call(200, "POST", "/v2/shipments/"+id+"/buy", buyBody(rateBy(made, "USPS")))
	if text(bought, "tracking_code") == "" || text(bought, "tracking_code") != text(again, "tracking_code") {
		t.Errorf("%v\n%v", bought["tracking_code"], again["tracking_code"])
	}
}

// TestOneCallIsRepeatedUntilItsAnswerArrives has a client lose the answer to a call
// that creates and buys: the same call answers with the same label. Once an answer
// has arrived, it buys another.
func TestOneCallIsRepeatedUntilItsAnswerArrives(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	body := shipmentTo(recipient, `,"service":"GroundAdvantage","carrier":"USPS"`)
	lost := b.call(201, "POST", "/v2/shipments", body)
	again := b.call(201, "POST", "/v2/shipments", body)
	if text(lost, "tracking_code") == "" || text(lost, "id") != text(again, "id") || text(lost, "tracking_code") != text(again, "tracking_code") {
		t.Errorf("%v and %v", lost["tracking_code"], again["tracking_code"])
	}

	service := httptest.NewServer(b.handler)
	defer service.Close()
	codes := map[string]bool{}
	for range 3 {
		r, err := http.NewRequestWithContext(t.Context(), "POST", service.URL+"/v2/shipments", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.SetBasicAuth(b.key, "")
		r.Header.Set("Content-Type", "application/json")
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		var out map[string]any
		if err := json.NewDecoder(resp.Body).Decode(&out); err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		codes[text(out, "tracking_code")] = true
		time.Sleep(50 * time.Millisecond) // what has arrived is recorded after the answer
	}
	if len(codes) != 3 || !codes[text(lost, "tracking_code")] {
		t.Errorf("%v", codes)
	}
}

// TestAServiceThatNobodyOffersIsAskedForAgain repeats a call for which there was no
// rate: the carriers are asked again, as another one may be connected by then.
func TestAServiceThatNobodyOffersIsAskedForAgain(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	body := shipmentTo(recipient, `,"service":"Teleport","carrier":"USPS"`)
	for range 2 {
		b.call(422, "POST", "/v2/shipments", body)
	}
	listed, _ := at(b.call(200, "GET", "/v2/shipments?purchased=false", ""), "shipments").([]any)
	if len(listed) != 2 {
		t.Errorf("%d shipments were rated, want one for each call", len(listed))
	}
}

// TestManyBuyersGetOneLabel has clients ask for every rate of a shipment at once.
func TestManyBuyersGetOneLabel(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	made := b.call(201, "POST", "/v2/shipments", shipmentTo(recipient))
	id := text(made, "id")
	rates, _ := made["rates"].([]any)

	var all sync.WaitGroup
	var mu sync.Mutex
	codes := map[string]bool{}
	for i := range 24 {
		all.Go(func() {
			r := httptest.NewRequest("POST", "/v2/shipments/"+id+"/buy", strings.NewReader(buyBody(text(rates[i%len(rates)], "id"))))
			r.Header.Set("Authorization", "Bearer "+b.key)
			r.Header.Set("Content-Type", "application/json")
			w := httptest.NewRecorder()
			b.handler.ServeHTTP(w, r)
			var out map[string]any
			_ = json.Unmarshal(w.Body.Bytes(), &out)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case w.Code == 200:
				codes[text(out, "tracking_code")] = true
			case !slices.Contains([]string{"SHIPMENT.POSTAGE.EXISTS", "SHIPMENT.PURCHASE.IN_PROGRESS"}, text(out, "error", "code")):
				t.Errorf("%d %s", w.Code, w.Body)
			}
		})
	}
	all.Wait()
	list, err := b.store.Shipments(t.Context(), b.tenant, store.ShipmentFilter{}, ship.Page{Limit: 10})
	if err != nil || len(codes) != 1 || len(list) != 1 {
		t.Errorf("%d tracking codes, %d shipments, %v", len(codes), len(list), err)
	}
}

func TestObjectsAreNamedByID(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	address := text(b.call(201, "POST", "/v2/addresses", `{"address":`+recipient+`}`), "id")
	box := text(b.call(201, "POST", "/v2/parcels", `{"parcel":`+parcel+`}`), "id")
	item := text(b.call(201, "POST", "/v2/customs_items", `{"customs_item":{"description":"T-Shirt","quantity":"3","value":"10.00","weight":6,"hs_tariff_number":"6109.10","origin_country":"US"}}`), "id")
	info := b.call(201, "POST", "/v2/customs_infos", `{"customs_info":{"contents_type":"merchandise","customs_certify":"true","customs_signer":"S. Brule","customs_items":[{"id":"`+item+`"}]}}`)
	if info["customs_certify"] != true || text(info, "customs_items", 0, "id") != item {
		t.Errorf("%v", info)
	}

	// A total that does not divide is declared as one piece: the sum stays.
	order, err := (&customsInfoObject{CustomsItems: []*customsItemObject{{Description: new("T-Shirt"), Quantity: new(decimal(3)), Value: new("10.00"), Weight: new(decimal(6))}}}).customs("USD")
	if err != nil || order.Items[0].Quantity != 1 || order.Items[0].Value.Minor != 1000 {
		t.Errorf("%+v %v", order, err)
	}

	made := b.call(201, "POST", "/v2/shipments", `{"shipment":{"from_address":`+sender+`,"to_address":{"id":"`+address+`"},"parcel":{"id":"`+box+`"},"customs_info":{"id":"`+text(info, "id")+`"}}}`)
	if text(made, "to_address", "id") != address || text(made, "parcel", "id") != box || len(made["rates"].([]any)) == 0 {
		t.Errorf("%v", made)
	}
	b.call(422, "POST", "/v2/shipments", `{"shipment":{"to_address":{"id":"adr_nobody"},"parcel":`+parcel+`}}`)

	// An address of EasyPost keeps its id, however often it is imported.
	old := "adr_0123456789abcdef0123456789abcdef"
	b.call(201, "POST", "/v2/addresses", `{"address":{"id":"`+old+`","street1":"1 A St","city":"Reno","state":"NV","zip":"89501"}}`)
	b.call(200, "POST", "/v2/addresses", `{"address":{"id":"`+old+`","street1":"2 B St","city":"Reno","state":"NV","zip":"89501"}}`)
	if got := b.call(200, "GET", "/v2/addresses/"+old, ""); text(got, "street1") != "1 A St" || text(got, "id") != old {
		t.Errorf("%v", got)
	}
}

func TestADayIsHandedOver(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	body := strings.TrimSuffix(strings.TrimPrefix(shipmentTo(recipient, `,"carrier":"USPS","service":"GroundAdvantage"`), `{"shipment":`), "}")
	batch := b.call(201, "POST", "/v2/batches", `{"batch":{"shipments":[`+body+`,`+body+`]}}`)
	if text(batch, "state") != "created" || batch["num_shipments"] != 2.0 {
		t.Fatalf("%v", batch)
	}
	path := "/v2/batches/" + text(batch, "id")
	bought := b.call(200, "POST", path+"/buy", "")
	if text(bought, "state") != "purchased" || text(bought, "shipments", 1, "tracking_code") == "" {
		t.Fatalf("%v", bought)
	}
	if again := b.call(200, "POST", path+"/buy", ""); text(again, "shipments", 0, "tracking_code") != text(bought, "shipments", 0, "tracking_code") {
		t.Errorf("bought again: %v", again)
	}
	closed := b.call(200, "POST", path+"/scan_form", "")
	if text(closed, "scan_form", "status") != "created" || text(closed, "scan_form", "tracking_codes", 0) == "" {
		t.Errorf("%v", closed["scan_form"])
	}
	if listed := b.call(200, "GET", "/v2/scan_forms", ""); text(listed, "scan_forms", 0, "tracking_codes", 0) == "" || text(listed, "scan_forms", 0, "form_url") == "" {
		t.Errorf("%v", listed["scan_forms"])
	}
	b.call(422, "POST", path+"/label", `{"file_format":"PDF"}`)

	tomorrow := time.Now().UTC().AddDate(0, 0, 1).Format(time.DateOnly)
	pickup := b.call(201, "POST", "/v2/pickups", `{"pickup":{"address":`+sender+`,"shipment":{"id":"`+text(bought, "shipments", 0, "id")+`"},"min_datetime":"`+tomorrow+`T16:00:00Z","max_datetime":"`+tomorrow+`T20:00:00Z","instructions":"Dock 2"}}`)
	path = "/v2/pickups/" + text(pickup, "id")
	booked := b.call(200, "POST", path+"/buy", `{"carrier":"USPS","service":"`+text(pickup, "pickup_rates", 0, "service")+`"}`)
	if text(booked, "status") != "scheduled" || text(booked, "confirmation") == "" {
		t.Errorf("%v", booked)
	}
	if got := b.call(200, "POST", path+"/cancel", ""); text(got, "status") != "canceled" {
		t.Errorf("%v", got)
	}
}

func TestErrorsHaveTheShapeThatClientsRead(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, c := range []struct {
		status             int
		method, path, body string
		code               string
	}{
		{404, "GET", "/v2/shipments/shp_00000000000000000000000000", "", "NOT_FOUND"},
		{404, "GET", "/v2/orders/order_1", "", "NOT_FOUND"},
		{404, "GET", "/v2//shipments", "", "NOT_FOUND"},
		{422, "POST", "/v2/shipments", `{}`, "PARAMETER.REQUIRED"},
		{422, "POST", "/v2/shipments", shipmentTo(`{"name":"x","street1":"1 A St","city":"Reno","state":"NV","zip":"nope","country":"US"}`), "PARAMETER.INVALID"},
		{400, "POST", "/v2/shipments", `{"shipment":`, "BAD_REQUEST"},
		{413, "POST", "/v2/shipments", `{"shipment":"` + strings.Repeat("x", 300<<10) + `"}`, "BAD_REQUEST"},
		{422, "GET", "/v2/shipments?page_size=none", "", "PARAMETER.INVALID"},
	} {
		if got := b.call(c.status, c.method, c.path, c.body); text(got, "error", "code") != c.code {
			t.Errorf("%s %s: %v, want %s", c.method, c.path, got, c.code)
		}
	}

	invalid := b.call(422, "POST", "/v2/shipments", shipmentTo(`{"name":"x","street1":"1 A St","city":"Reno","state":"NV","zip":"nope","country":"US"}`))
	if text(invalid, "error", "errors", 0, "field") != "to_address.zip" {
		t.Errorf("%v", invalid)
	}
	b.key = "sk_test_nobody"
	b.call(401, "GET", "/v2/shipments", "")
	b.call(401, "GET", "/v2/anything", "")
}

func TestWebhooksAreSignedTheirWay(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	hook := b.call(201, "POST", "/v2/webhooks", `{"webhook":{"url":"https://example.com/hook","webhook_secret":"sécret","custom_headers":[{"name":"X-Team","value":"dock"}]}}`)
	path := "/v2/webhooks/" + text(hook, "id")
	if text(hook, "custom_headers", 0, "name") != "X-Team" {
		t.Errorf("%v", hook)
	}
	b.call(201, "PATCH", path, `{"webhook_secret":"another"}`)
	if got := b.call(200, "GET", "/v2/webhooks", ""); text(got, "webhooks", 0, "id") != text(hook, "id") {
		t.Errorf("%v", got)
	}
	b.call(200, "DELETE", path, "")
	b.call(404, "GET", path, "")

	// The values are those of hmac(secret, body) in the decomposed form of the
	// secret; openssl gives the same.
	address, _ := url.Parse("https://example.com/hook?x=1")
	header := sign([]byte("sécret"), time.Date(2025, 8, 19, 20, 37, 9, 0, time.UTC), address, []byte(`{"weight":12.0}`))
	if got := header["X-Hmac-Signature"][0]; got != "hmac-sha256-hex=064500b9f1f5e34d4d752da4c8995e86a1b6b1540b6958d9f492102fd72a0b59" {
		t.Errorf("v1: %s", got)
	}
	if got := header["X-Hmac-Signature-V2"][0]; got != "hmac-sha256-hex=2393ee9c911c20bc0cca31f5c304b2d5edcc742bc85351b53819e254b8a18c4b" {
		t.Errorf("v2: %s", got)
	}
	if header["X-Timestamp"][0] != "Tue, 19 Aug 2025 20:37:09 -0000" || header["X-Path"][0] != "/hook" {
		t.Errorf("%v", header)
	}

	// One of the clients rewrites integral weights before it checks a signature.
	event := eventOf(webhook.Entry{
		Event: ship.Event{ID: ship.NewEventIDs(1, time.Now(), 1)[0], Tenant: b.tenant, Kind: ship.ShipmentDelivered, Shipment: "x", Snapshot: ship.Snapshot{Status: ship.Delivered, PreviousStatus: ship.OutForDelivery}},
		Shipment: ship.Shipment{
			Order:    ship.Order{Parcels: []ship.Parcel{{Weight: 12, WeightUnit: ship.Ounce, WeightGrams: ship.Ounce.Grams(12)}}, Metadata: map[string]string{shipmentKey: "shp_theirs"}},
			Purchase: ship.Purchase{Carrier: "usps", TrackingNumber: "9400"},
		},
	}, nil)
	data, err := json.Marshal(event)
	if err != nil || !strings.Contains(string(data), `"weight":12.0,`) || event.Description != "tracker.updated" || *event.Result.ShipmentID != "shp_theirs" || event.Result.Status != "delivered" {
		t.Errorf("%s %v", data, err)
	}
}
