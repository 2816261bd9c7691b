package api

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/internal/store/storetest"
)

// settled are the tables that changes of settings write.
var settled = []string{
	"accounts", "api_keys", "connections", "webhook_endpoints", "webhook_retries", "rule_books", "rule_drafts", "rate_sheets", "routing_revisions", "erasures", "exports", "batches", "pickups", "manifests", "document_submissions", "locations", "return_rules", "return_requests",
}

// auditBench is a bench where the audit log can be shut.
type auditBench struct {
	*bench
	owned *pgx.Conn
	hook  string // id of the webhook
	place string // id of the location
	live  string // a live key
}

func (b *auditBench) exec(sql string) {
	b.Helper()
	if _, err := b.owned.Exec(b.Context(), sql); err != nil {
		b.Fatal(err)
	}
}

// settings is a hash of all settings.
func (b *auditBench) settings() (hash string) {
	b.Helper()
	selects := make([]string, len(settled))
	for i, table := range settled {
		selects[i] = "SELECT '" + table + "' || t::text AS x FROM " + table + " t"
	}
	selects = append(selects, "SELECT 'metadata' || id || coalesce(metadata::text, '') AS x FROM shipment_states")
	if err := b.owned.QueryRow(b.Context(), "SELECT md5(string_agg(x, '|' ORDER BY x)) FROM ("+strings.Join(selects, " UNION ALL ")+") rows").Scan(&hash); err != nil {
		b.Fatal(err)
	}
	return hash
}

func (b *auditBench) entries() []store.AuditEntry {
	b.Helper()
	list, err := b.store.Audit(b.Context(), store.AuditQuery{Account: b.owner, Limit: 200})
	if err != nil {
		b.Fatal(err)
	}
	return list
}

func (b *auditBench) event() string {
	b.Helper()
	for {
		list, _ := b.do(http.StatusOK, "GET", "/v1/events", "")
		if data := list["data"].([]any); len(data) > 0 {
			return data[0].(map[string]any)["id"].(string)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// inReview returns a pickup and a manifest that a person must resolve.
func (b *auditBench) inReview() (pickup, manifest string) {
	b.Helper()
	booked, _ := b.do(http.StatusAccepted, "POST", "/v1/pickups", pickupBody("dhl_express", "FAULT TIMEOUT"))
	list, _ := b.do(http.StatusOK, "GET", "/v1/shipments", "")
	closed, _ := b.do(http.StatusCreated, "POST", "/v1/manifests", `{"carrier":"`+at(list, "data", "carrier").(string)+`"}`)
	b.exec("UPDATE manifests SET state = 'needs_review', closed_at = NULL")
	return booked["id"].(string), closed["id"].(string)
}

// documentInReview returns a shipment with a document that a person must resolve.
func (b *auditBench) documentInReview() (shipment string) {
	b.Helper()
	list, _ := b.do(http.StatusOK, "GET", "/v1/shipments", "")
	id := at(list, "data", "id").(string)
	b.do(http.StatusCreated, "POST", "/v1/shipments/"+id+"/documents", `{"type":"other","data":"JVBERi0xLjcK"}`)
	b.exec(`INSERT INTO document_submissions (account_id, livemode, id, shipment_id, position, type, carrier, state, attempt)
		SELECT account_id, livemode, id, id, 0, 'other', 'ups', 'needs_review', 1 FROM shipment_states WHERE uploads IS NOT NULL`)
	return id
}

// An auditStep is a request that changes settings, and what it is called.
type auditStep struct {
	route, action, target string
	status                int
	method, path, body    string
}

// steps are changes by every route that makes one, in this order.
func (b *auditBench) steps() []auditStep {
	hook := func(path string) string { return "/v1/webhooks/" + b.hook + path }
	pickup, manifest := b.inReview()
	asked := string(b.askForReturn(b.ship()).ID)
	paper := b.documentInReview()
	event, rules := b.event(), `{"rules":[{"name":"a","then":{"choose":"fastest"}}]}`
	return []auditStep{
		{"createWebhook", "webhook.made", "", 201, "POST", "/v1/webhooks", `{"url":"http://127.0.0.1:19998/hook"}`},
		{"changeWebhook", "webhook.changed", b.hook, 200, "PATCH", hook(""), `{"description":"new","enabled":true}`},
		{"changeWebhook", "webhook.disabled", b.hook, 200, "PATCH", hook(""), `{"enabled":false}`},
		{"changeWebhook", "webhook.enabled", b.hook, 200, "PATCH", hook(""), `{"enabled":true}`},
		{"rotateWebhookSecret", "webhook.secret_rotated", b.hook, 200, "POST", hook("/rotate-secret"), ""},
		{"recoverWebhook", "webhook.recovered", b.hook, 202, "POST", hook("/recover"), `{"since":"` + time.Now().Add(-time.Hour).UTC().Format(time.RFC3339) + `"}`},
		{"redeliverEvent", "event.redelivered", event, 202, "POST", "/v1/events/" + event + "/redeliver", `{"webhookId":"` + b.hook + `"}`},
		{"deleteWebhook", "webhook.deleted", b.hook, 204, "DELETE", hook(""), ""},
		{"saveRoutingDraft", "routing.draft_saved", "", 200, "PUT", "/v1/routing/draft", rules},
		{"dropRoutingDraft", "routing.draft_discarded", "", 204, "DELETE", "/v1/routing/draft", ""},
		{"saveRoutingDraft", "routing.draft_saved", "", 200, "PUT", "/v1/routing/draft", rules},
		{"publishRouting", "routing.published", "1", 201, "POST", "/v1/routing/publish", `{"note":"first"}`},
		{"rollBackRouting", "routing.rolled_back", "2", 201, "POST", "/v1/routing/rollback", `{"version":1}`},
		{"importRateSheet", "rate_sheet.imported", "ups-2026", 201, "PUT", "/v1/rate-sheets/ups-2026", sheetBody("ups", sheetExample)},
		{"changeRetention", "settings.retention_changed", "", 200, "PUT", "/v1/retention", `{"labelDays":30}`},
		{"changeReturnRule", "return_rule.changed", "", 200, "PUT", "/v1/return-rule", returnRuleBody},
		{"denyReturnRequest", "return_request.denied", asked, 200, "POST", "/v1/return-requests/" + asked + "/deny", `{"reason":"It was worn."}`},
		{"approveReturnRequest", "return_request.approved", asked, 202, "POST", "/v1/return-requests/" + asked + "/approve", ""},
		{"changeShipment", "shipment.metadata_changed", paper, 200, "PATCH", "/v1/shipments/" + paper, `{"metadata":{"note":"new"}}`},
		{"createBatch", "batch.requested", "", 202, "POST", "/v1/batches", `{"shipments":[` + specBody + `]}`},
		{"createLocation", "location.added", "", 201, "POST", "/v1/locations", locationBody("Sparks", "Sparks", "89431", "")},
		{"changeLocation", "location.changed", b.place, 200, "PATCH", "/v1/locations/" + b.place, `{"default":true}`},
		{"deleteLocation", "location.removed", b.place, 204, "DELETE", "/v1/locations/" + b.place, ""},
		{"createExport", "export.requested", "", 202, "POST", "/v1/exports", `{"phone":"+1 202 555 0123"}`},
		{"createErasure", "erasure.requested", "", 202, "POST", "/v1/erasures", `{"email":"somebody@example.com"}`},
		{"resolvePickup", "pickup.resolved", pickup, 200, "POST", "/v1/pickups/" + pickup + "/resolve", `{"outcome":"booked","confirmation":"C1"}`},
		{"resolveDocument", "document.resolved", paper, 200, "POST", "/v1/shipments/" + paper + "/documents/1/resolve", `{"outcome":"not_received"}`},
		{"resolveManifest", "manifest.resolved", manifest, 200, "POST", "/v1/manifests/" + manifest + "/resolve", `{"outcome":"not_closed"}`},
		{"removeRateSheet", "rate_sheet.removed", "ups-2026", 204, "DELETE", "/v1/rate-sheets/ups-2026", ""},
	}
}

func newAuditBench(t *testing.T) *auditBench {
	t.Helper()
	b := &auditBench{bench: newBench(t)}
	b.owned = storetest.Conn(t, b.store.System().Config().ConnString())
	made, _ := b.do(http.StatusCreated, "POST", "/v1/webhooks", `{"url":"http://127.0.0.1:19999/hook"}`)
	b.hook = made["id"].(string)
	made, _ = b.do(http.StatusCreated, "POST", "/v1/locations", locationBody("Reno", "Reno", "89502", ""))
	b.place = made["id"].(string)
	b.live = b.newKey(true)
	b.ship()
	return b
}

func (b *auditBench) send(s auditStep, header ...string) *httptest.ResponseRecorder {
	key := b.key
	if s.route == "changeRetention" {
		key = b.live
	}
	return send(b.handler, s.method, s.path, key, s.body, append(header, "User-Agent: shop/1.0")...)
}

func TestAChangeWithAKeyAndItsEntryHappenTogetherOrNotAtAll(t *testing.T) {
	t.Parallel()
	b := newAuditBench(t)
	keys, err := b.account.Keys(t.Context(), b.owner)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range b.steps() {
		before, known := b.settings(), len(b.entries())
		b.exec("ALTER TABLE audit_log ADD CONSTRAINT shut CHECK (false) NOT VALID")
		w := b.send(s)
		b.exec("ALTER TABLE audit_log DROP CONSTRAINT shut")
		if w.Code != http.StatusInternalServerError || b.settings() != before {
			t.Fatalf("%s without its entry: %d %s", s.action, w.Code, w.Body)
		}
		if w = b.send(s); w.Code != s.status || b.settings() == before {
			t.Fatalf("%s: %d %s", s.action, w.Code, w.Body)
		}
		list := b.entries()
		e := list[0]
		key, mode := keys[0], "test"
		if s.route == "changeRetention" { // of the account, in both modes
			key, mode = keys[1], ""
		}
		if len(list) != known+1 || e.Action != s.action || s.target != "" && e.Target != s.target || e.Mode != mode {
			t.Errorf("%s: %d new entries, the newest %+v", s.action, len(list)-known, e)
		}
		if e.Key != key.ID || e.Person != "" || e.Who != "test ("+key.Hint+")" || e.Addr.String() != "192.0.2.1" || e.Agent != "shop/1.0" {
			t.Errorf("%s is told of %s %s %q, from %s with %q", s.action, e.Key, e.Person, e.Who, e.Addr, e.Agent)
		}
	}
}

func TestARequestThatIsRepeatedOrRefusedIsToldOnceOrNotAtAll(t *testing.T) {
	t.Parallel()
	b := newAuditBench(t)
	known := len(b.entries())
	again := auditStep{method: "POST", path: "/v1/webhooks", body: `{"url":"http://127.0.0.1:19998/hook"}`}
	for range 2 {
		if w := b.send(again, "Idempotency-Key: once"); w.Code != http.StatusCreated {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
	}
	for _, s := range []auditStep{
		{method: "POST", path: "/v1/webhooks", body: `{"url":"ftp://x"}`},
		{method: "DELETE", path: "/v1/webhooks/" + string(ship.NewEndpointID(0, time.Now()))},
		{method: "POST", path: "/v1/routing/publish"},
		{method: "DELETE", path: "/v1/rate-sheets/none"},
		{method: "DELETE", path: "/v1/routing/draft"}, // there is none
	} {
		b.send(s)
	}
	b.ship()
	if list := b.entries(); len(list) != known+1 {
		t.Errorf("%d entries of one change: %+v", len(list)-known, list)
	}
}

// A new route that changes something fails here, until its entry is tried above
// or the table says why it has none.
func TestEveryRouteThatChangesSettingsIsInTheAuditLog(t *testing.T) {
	t.Parallel()
	steps := newAuditBench(t).steps()
	tried := func(id string) bool {
		return slices.ContainsFunc(steps, func(s auditStep) bool { return s.route == id })
	}
	var notified []string
	for _, rt := range newServer(testConfig(t)).order {
		switch {
		case rt.method == http.MethodGet && rt.unaudited != "":
			t.Errorf("%s reads, and says why it is not told", rt.id)
		case rt.isAudited():
			notified = append(notified, rt.id)
			if !tried(rt.id) {
				t.Errorf("%s %s changes something, and no step shows its entry", rt.method, rt.path)
			}
		case tried(rt.id):
			t.Errorf("%s has a step and is not told", rt.id)
		}
	}
	if len(notified) < 10 {
		t.Errorf("only %v are audited", notified)
	}
}
