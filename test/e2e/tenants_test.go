package e2e

import (
	"encoding/json"
	"net/http"
	neturl "net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/waybillhq/waybill/internal/account"
	"github.com/waybillhq/waybill/test/proving"
)

// holdings are the ids of one tenant, by operation: what stands in the path.
type holdings struct{ shipment, number, tracker, webhook, event, sheet, erasure, export, batch, pickup, manifest, location, returned string }

// others says, for every operation of the contract, how one tenant would reach
// for another's: the value of its path parameter and a body. A new operation
// without a row here fails the test.
var others = map[string]func(h holdings) (param, body string){
	"quoteRates":              nil, // no id of anybody
	"validateAddress":         nil, // no id of anybody; answers that are kept: addresscheck.TestAnAnswerIsUsedAgain
	"createShipment":          nil,
	"listShipments":           nil, // compared below
	"listTrackers":            nil,
	"listEvents":              nil,
	"listCarriers":            nil,
	"recognizeTrackingNumber": nil, // no id of anybody
	"follow":                  nil, // a number may be followed by everybody; compared below
	"getShipment":             func(h holdings) (string, string) { return h.shipment, "" },
	"changeShipment":          func(h holdings) (string, string) { return h.shipment, `{"metadata":{"note":"theirs"}}` },
	"voidShipment":            func(h holdings) (string, string) { return h.shipment, "" },
	"makeLabel":               func(h holdings) (string, string) { return h.shipment, `{"format":"zpl"}` },
	"linkLabel":               func(h holdings) (string, string) { return h.shipment, `{"format":"pdf"}` },
	"getPackingSlip":          func(h holdings) (string, string) { return h.shipment, "" },
	"uploadDocument":          func(h holdings) (string, string) { return h.shipment, `{"type":"other","data":"JVBERi0xLjcK"}` },
	"resolveDocument":         func(h holdings) (string, string) { return h.shipment, `{"outcome":"received"}` },
	"getDocument":             func(h holdings) (string, string) { return h.shipment, "" },
	"getLabelPdf":             func(h holdings) (string, string) { return h.shipment, "" },
	"headLabelPdf":            func(h holdings) (string, string) { return h.shipment, "" },
	"getLabelZpl":             func(h holdings) (string, string) { return h.shipment, "" },
	"headLabelZpl":            func(h holdings) (string, string) { return h.shipment, "" },
	"getLabelPng":             func(h holdings) (string, string) { return h.shipment, "" },
	"headLabelPng":            func(h holdings) (string, string) { return h.shipment, "" },
	"track":                   func(h holdings) (string, string) { return h.number, "" },
	"unfollow":                func(h holdings) (string, string) { return h.tracker, "" },
	"advanceShipment":         func(h holdings) (string, string) { return h.shipment, `{}` },
	"createReturn":            func(h holdings) (string, string) { return h.shipment, `{}` },
	"getProofOfDelivery":      func(h holdings) (string, string) { return h.shipment, "" },
	"listServicePoints":       nil, // no id of anybody
	"estimateLandedCost":      nil,
	"duplicateShipment":       func(h holdings) (string, string) { return h.shipment, "" },

	"createWebhook":       nil,
	"listWebhooks":        nil, // compared below
	"getWebhook":          func(h holdings) (string, string) { return h.webhook, "" },
	"changeWebhook":       func(h holdings) (string, string) { return h.webhook, `{"enabled":false}` },
	"deleteWebhook":       func(h holdings) (string, string) { return h.webhook, "" },
	"rotateWebhookSecret": func(h holdings) (string, string) { return h.webhook, "" },
	"testWebhook":         func(h holdings) (string, string) { return h.webhook, "" },
	"listDeliveries":      func(h holdings) (string, string) { return h.webhook, "" },
	"recoverWebhook": func(h holdings) (string, string) {
		return h.webhook, `{"since":"` + time.Now().Add(-time.Hour).UTC().Format(time.RFC3339) + `"}`
	},
	"redeliverEvent": func(h holdings) (string, string) { return h.event, "" },

	"getRouting":           nil, // compared below
	"saveRoutingDraft":     nil, // each has a draft of its own
	"dropRoutingDraft":     nil,
	"publishRouting":       nil,
	"listRoutingVersions":  nil,
	"listRoutingVariables": nil,
	"tryRouting":           nil,
	"simulateRouting":      func(holdings) (string, string) { return "", `{"version":1}` },
	"rollBackRouting":      func(holdings) (string, string) { return "", `{"version":1}` },
	"getRoutingVersion":    func(holdings) (string, string) { return "1", "" },
	"listRateSheets":       nil, // compared below
	"importRateSheet":      nil, // each has names of its own
	"getRateSheet":         func(h holdings) (string, string) { return h.sheet, "" },
	"removeRateSheet":      func(h holdings) (string, string) { return h.sheet, "" },

	"createBatch":       nil,
	"listBatches":       nil, // compared below
	"getBatch":          func(h holdings) (string, string) { return h.batch, "" },
	"getBatchLabelsPdf": func(h holdings) (string, string) { return h.batch, "" },
	"getBatchLabelsZpl": func(h holdings) (string, string) { return h.batch, "" },
	"bookPickup":        nil, // shipments of others: handover.TestOnlyOwnShipmentsAreCollected
	"listPickups":       nil, // compared below
	"getPickup":         func(h holdings) (string, string) { return h.pickup, "" },
	"cancelPickup":      func(h holdings) (string, string) { return h.pickup, "" },
	"resolvePickup":     func(h holdings) (string, string) { return h.pickup, `{"outcome":"booked"}` },
	"resolveManifest":   func(h holdings) (string, string) { return h.manifest, `{"outcome":"closed"}` },
	"closeManifest":     nil, // shipments of others: handover.TestOnlyOwnShipmentsAreCollected
	"listManifests":     nil, // compared below
	"getManifest":       func(h holdings) (string, string) { return h.manifest, "" },
	"getManifestPdf":    func(h holdings) (string, string) { return h.manifest, "" },

	"createLocation": nil,
	"listLocations":  nil, // compared below
	"getLocation":    func(h holdings) (string, string) { return h.location, "" },
	"changeLocation": func(h holdings) (string, string) { return h.location, `{"name":"Mine"}` },
	"deleteLocation": func(h holdings) (string, string) { return h.location, "" },

	"getReturnRule":        nil, // each has its own
	"changeReturnRule":     nil,
	"listReturnRequests":   nil, // compared below
	"getReturnRequest":     func(h holdings) (string, string) { return h.returned, "" },
	"approveReturnRequest": func(h holdings) (string, string) { return h.returned, "" },
	"denyReturnRequest":    func(h holdings) (string, string) { return h.returned, `{"reason":"no"}` },

	// A stranger's own requests name what it reached for. Those of others:
	// api.TestContractTheRequestLogIsReadInOrder.
	"listRequests": nil,

	"createErasure":   func(h holdings) (string, string) { return "", `{"shipmentId":"` + h.shipment + `"}` },
	"listErasures":    nil, // compared below
	"getErasure":      func(h holdings) (string, string) { return h.erasure, "" },
	"createExport":    nil, // of a person in the own shipments
	"listExports":     nil, // compared below
	"getExport":       func(h holdings) (string, string) { return h.export, "" },
	"getRetention":    nil, // each has its own
	"changeRetention": nil,
	"getExportFile":   func(h holdings) (string, string) { return h.export, "" },
}

// lists are the operations that must not show anything of another tenant.
var lists = []string{"/v1/shipments", "/v1/trackers", "/v1/events", "/v1/webhooks", "/v1/routing", "/v1/routing/versions", "/v1/rate-sheets", "/v1/erasures", "/v1/exports", "/v1/batches", "/v1/pickups", "/v1/manifests", "/v1/locations", "/v1/return-requests"}

// A stranger is a key that reaches for what belongs to another tenant.
type stranger struct {
	name  string
	key   string
	scope string // "*" for all
	live  bool
}

// mayCall reports whether the scope of the stranger's key allows the operation.
func (s stranger) mayCall(op operation) bool {
	return s.scope == "*" || op.scope == "" || op.scope == s.scope
}

// strangersTo returns keys of another account, and of the account's own live mode.
// The proof has one of each scope, in both modes.
func strangersTo(w *world, own, other string) (list []stranger) {
	w.t.Helper()
	scopes := []string{"*"}
	if os.Getenv("PROVE") != "" {
		scopes = account.Scopes
	}
	for _, scope := range scopes {
		live := []string{"--scopes", scope, "--live"}
		list = append(list,
			stranger{"another account", w.key(other, "--scopes", scope), scope, false},
			stranger{"the same account's live mode", w.key(own, live...), scope, true},
		)
		if os.Getenv("PROVE") != "" {
			list = append(list, stranger{"another account's live mode", w.key(other, live...), scope, true})
		}
	}
	return list
}

func TestNobodyReachesAnothersThings(t *testing.T) {
	w := newWorld(t)
	url, _ := w.serve("SANDBOX_STEP=0")
	other, _ := w.account("theirs") // which has nothing
	mine, key := w.account("mine")
	probes := reachFor(t, url, key, strangersTo(w, mine, other))
	if os.Getenv("PROVE") != "" {
		second, key := w.account("second")
		probes += reachFor(t, url, key, strangersTo(w, second, other))
	}
	proving.Report(t, "security.json", nil, map[string]any{
		"operations": len(operations(t)),
		"probes":     probes,
		"leaks":      proving.Failures(t),
		"cells":      max(1, len(w.cells)),
	})
}

// reachFor has the strangers reach for the things of the key's tenant, and returns
// how many requests that took.
func reachFor(t *testing.T, url, key string, strangers []stranger) (probes int) {
	t.Helper()
	mine := hold(t, url, key)
	probe := func(method, path, key, body string) (int, []byte) {
		t.Helper()
		probes++
		resp, answer := call(t, method, url+path, key, body)
		return resp.StatusCode, answer
	}

	for _, by := range strangers {
		for _, op := range operations(t) {
			reach, known := others[op.id]
			if !known {
				t.Errorf("%s has no case here", op.id)
				continue
			}
			if reach == nil {
				continue
			}
			param, body := reach(mine)
			status, answer := probe(op.method, op.fill(param), by.key, body)
			want := http.StatusNotFound
			if !by.mayCall(op) || by.live && strings.HasPrefix(op.path, "/v1/sandbox/") { // no live key may
				want = http.StatusForbidden
			}
			if status != want {
				t.Errorf("%s by %s with the scope %s answers %d, want %d: %s", op.id, by.name, by.scope, status, want, answer)
			}
		}

		status, _ := probe("GET", "/v1/tracking/"+mine.shipment, by.key, "")
		if status != http.StatusNotFound && (status != http.StatusForbidden || by.scope == "*") {
			t.Errorf("tracking by shipment id by %s answers %d", by.name, status)
		}
		for _, path := range lists {
			status, answer := probe("GET", path, by.key, "")
			isShown := func(id string) bool { return strings.Contains(string(answer), id) }
			isDenied := status == http.StatusForbidden && by.scope != "*"
			if status != http.StatusOK && !isDenied || slices.ContainsFunc([]string{mine.shipment, mine.tracker, mine.webhook, mine.sheet, mine.erasure, mine.export, mine.batch, mine.pickup, mine.manifest, mine.returned, mine.location}, isShown) {
				t.Errorf("%s of %s answers %d and shows %s", path, by.name, status, answer)
			}
		}
	}

	// Nothing of all that changed anything.
	status, answer := probe("GET", "/v1/shipments/"+mine.shipment, key, "")
	if status != http.StatusOK || !strings.Contains(string(answer), `"labelStatus":"ready"`) || !strings.Contains(string(answer), `"status":"label_generated"`) {
		t.Errorf("afterwards mine is %s", answer)
	}
	return probes
}

// hold makes one of everything that has an id.
func hold(t *testing.T, url, key string) holdings {
	t.Helper()
	sh := create(t, url, key)
	resp, body := call(t, "POST", url+"/v1/trackers", key, `{"trackingNumber":"1Z5R89390357567127"}`)
	var tracker struct{ ID string }
	if err := json.Unmarshal(body, &tracker); err != nil || resp.StatusCode != http.StatusCreated || tracker.ID == "" {
		t.Fatalf("tracker: %d %s", resp.StatusCode, body)
	}
	resp, body = call(t, "POST", url+"/v1/webhooks", key, `{"url":"https://example.com/hook"}`)
	var webhook struct{ ID string }
	if err := json.Unmarshal(body, &webhook); err != nil || resp.StatusCode != http.StatusCreated || webhook.ID == "" {
		t.Fatalf("webhook: %d %s", resp.StatusCode, body)
	}
	holdRouting(t, url, key)
	tomorrow := time.Now().UTC().AddDate(0, 0, 1).Format(time.DateOnly)
	return holdings{
		pickup:   makeOne(t, url+"/v1/pickups", key, `{"carrier":"ups","parcels":1,"readyAt":"`+tomorrow+`T14:00:00Z","closeAt":"`+tomorrow+`T18:00:00Z"}`),
		manifest: makeOne(t, url+"/v1/manifests", key, `{"carrier":"`+sh.Carrier+`"}`),
		location: makeOne(t, url+"/v1/locations", key, `{"name":"Reno","address":{"name":"Acme","address1":"1 Commerce Way","city":"Reno","state":"NV","zip":"89502","country":"US"}}`),
		shipment: sh.ID,
		number:   sh.TrackingNumber,
		tracker:  tracker.ID,
		webhook:  webhook.ID,
		event:    firstEvent(t, url, key),
		sheet:    ownSheet,
		erasure:  askForPerson(t, url+"/v1/erasures", key),
		export:   askForPerson(t, url+"/v1/exports", key),
		batch:    holdBatch(t, url, key),
		returned: holdReturn(t, url, key),
	}
}

// holdBatch creates a batch of one shipment, and returns its id.
func holdBatch(t *testing.T, url, key string) string {
	t.Helper()
	resp, body := call(t, "POST", url+"/v1/batches", key, `{"shipments":[`+strings.Replace(order, "1001", "in-a-batch", 1)+`]}`)
	var made struct{ ID string }
	if err := json.Unmarshal(body, &made); err != nil || resp.StatusCode != http.StatusAccepted || made.ID == "" {
		t.Fatalf("batch: %d %s", resp.StatusCode, body)
	}
	return made.ID
}

// makeOne makes one of what has an id, and returns it.
func makeOne(t *testing.T, url, key, body string) string {
	t.Helper()
	resp, answer := call(t, "POST", url, key, body)
	var made struct{ ID string }
	if err := json.Unmarshal(answer, &made); err != nil || resp.StatusCode != http.StatusCreated || made.ID == "" {
		t.Fatalf("%s: %d %s", url, resp.StatusCode, answer)
	}
	return made.ID
}

// holdReturn has the recipient of a parcel ask for its return, and returns the
// request's id.
func holdReturn(t *testing.T, url, key string) string {
	t.Helper()
	rule := `{"enabled":true,"days":30,"reasons":["Wrong size"],"paidBy":"account","approval":"manual"}`
	if resp, body := call(t, "PUT", url+"/v1/return-rule", key, rule); resp.StatusCode != http.StatusOK {
		t.Fatalf("rule: %d %s", resp.StatusCode, body)
	}
	sh := create(t, url, key)
	if resp, body := call(t, "POST", url+"/v1/sandbox/shipments/"+sh.ID+"/advance", key, `{"status":"delivered"}`); resp.StatusCode != http.StatusOK {
		t.Fatalf("delivery: %d %s", resp.StatusCode, body)
	}
	_, body := call(t, "GET", url+"/v1/shipments/"+sh.ID, key, "")
	var delivered struct{ TrackingPageURL string }
	if err := json.Unmarshal(body, &delivered); err != nil {
		t.Fatal(err)
	}

	asked, err := http.PostForm(delivered.TrackingPageURL+"/return", neturl.Values{
		"reason": {"Wrong size"}, "email": {"jane@example.com"}, "postalCode": {"10118"},
	})
	if err != nil {
		t.Fatal(err)
	}
	asked.Body.Close()

	_, body = call(t, "GET", url+"/v1/return-requests?status=requested", key, "")
	var list struct {
		Data []struct{ ID, ShipmentID string }
	}
	if err := json.Unmarshal(body, &list); err != nil || len(list.Data) != 1 || list.Data[0].ShipmentID != sh.ID {
		t.Fatalf("%d after the form; requests: %s, %v", asked.StatusCode, body, err)
	}
	return list.Data[0].ID
}

// askForPerson asks for the erasure or the export of somebody who has no
// shipment, and returns its id.
func askForPerson(t *testing.T, url, key string) string {
	t.Helper()
	resp, body := call(t, "POST", url, key, `{"email":"nobody@example.com"}`)
	var asked struct{ ID string }
	if err := json.Unmarshal(body, &asked); err != nil || resp.StatusCode != http.StatusAccepted || asked.ID == "" {
		t.Fatalf("%s: %d %s", url, resp.StatusCode, body)
	}
	return asked.ID
}

// ownSheet is the name of the rate sheet and part of the note on the rules.
const ownSheet = "contract-of-mine"

// holdRouting publishes rules, saves others as a draft and imports a sheet.
func holdRouting(t *testing.T, url, key string) {
	t.Helper()
	book := `{"rules":[{"name":"` + ownSheet + `","then":{"choose":"cheapest"}}]}`
	csv := `[sheet]\ncurrency,USD\nweight unit,lb\n[services]\nservice,name\nground,Ground\n[zones]\nzone,country\n1,US\n[rates]\nservice,up to,zone 1\nground,70,99.00\n`
	for _, step := range []struct {
		method, path, body string
		status             int
	}{
		{"PUT", "/v1/routing/draft", book, http.StatusOK},
		{"POST", "/v1/routing/publish", `{"note":"` + ownSheet + `"}`, http.StatusCreated},
		{"PUT", "/v1/routing/draft", book, http.StatusOK},
		{"PUT", "/v1/rate-sheets/" + ownSheet, `{"carrier":"ups","csv":"` + csv + `"}`, http.StatusCreated},
	} {
		if resp, body := call(t, step.method, url+step.path, key, step.body); resp.StatusCode != step.status {
			t.Fatalf("%s %s: %d %s", step.method, step.path, resp.StatusCode, body)
		}
	}
}

// firstEvent is the oldest event of the log. Other writers of the server may
// hold it up for a moment.
func firstEvent(t *testing.T, url, key string) string {
	t.Helper()
	for range 500 {
		_, body := call(t, "GET", url+"/v1/events?limit=1", key, "")
		var events struct{ Data []struct{ ID string } }
		if err := json.Unmarshal(body, &events); err != nil {
			t.Fatalf("events: %s", body)
		}
		if len(events.Data) > 0 {
			return events.Data[0].ID
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("the log stays empty")
	return ""
}

// operation is one of the contract.
type operation struct{ method, path, id, scope string }

func (o operation) fill(param string) string {
	before, rest, ok := strings.Cut(o.path, "{")
	if !ok {
		return o.path
	}
	_, after, _ := strings.Cut(rest, "}")
	return before + param + strings.ReplaceAll(after, "{number}", "1")
}

func operations(t *testing.T) []operation {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root(t), "api", "openapi.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	doc, err := openapi3.NewLoader().LoadFromData(data)
	if err != nil {
		t.Fatal(err)
	}
	var list []operation
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			scope, _ := op.Extensions["x-scope"].(string)
			list = append(list, operation{method: method, path: path, id: op.OperationID, scope: scope})
		}
	}
	if len(list) < 15 {
		t.Fatalf("only %d operations in the contract", len(list))
	}
	return list
}

// TestAKeyDoesWhatItsScopesSay tries every operation of the contract with a key
// of each scope: whoever lacks the scope gets 403, everybody else does not.
func TestAKeyDoesWhatItsScopesSay(t *testing.T) {
	w := newWorld(t)
	url, _ := w.serve("SANDBOX_STEP=0")
	owner, all := w.account("scopes")
	mine := hold(t, url, all)

	allowed := map[string]int{}
	denied := map[string]int{}
	for _, scope := range account.Scopes {
		key := w.key(owner, "--scopes", scope)
		for _, op := range operations(t) {
			param, body := mine.shipment, ""
			if reach := others[op.id]; reach != nil {
				param, body = reach(mine)
			}

			// Whoever may change something changes what does not exist, so the
			// keys that follow find everything as it was.
			mayCall := op.scope == "" || op.scope == scope || scope == "*"
			if mayCall && op.method != "GET" {
				param, body = "nothing", ""
			}

			resp, answer := call(t, op.method, url+op.fill(param), key, body)
			isForbidden := resp.StatusCode == http.StatusForbidden || resp.StatusCode == http.StatusUnauthorized
			if isForbidden == mayCall {
				t.Errorf("%s with the scope %s answers %d %s", op.id, scope, resp.StatusCode, answer)
			}
			if mayCall {
				allowed[op.id]++
			} else {
				denied[op.id]++
			}
		}
	}

	// A sandbox route is open to every test key, and to no live key.
	live := w.key(owner, "--live")
	for _, op := range operations(t) {
		if op.scope != "" {
			continue
		}
		if resp, answer := call(t, op.method, url+op.fill(mine.shipment), live, ""); resp.StatusCode != http.StatusForbidden {
			t.Errorf("%s with a live key answers %d %s", op.id, resp.StatusCode, answer)
		}
		denied[op.id]++
	}

	tried := 0
	for _, op := range operations(t) {
		if allowed[op.id] == 0 || denied[op.id] == 0 {
			t.Errorf("%s was allowed to %d keys and denied to %d", op.id, allowed[op.id], denied[op.id])
		}
		tried += allowed[op.id] + denied[op.id]
	}
	proving.Report(t, "security.json", nil, map[string]any{"operations": len(operations(t)), "scopes": len(account.Scopes), "probes": tried, "leaks": proving.Failures(t)})
}
