package web

import (
	"cmp"
	"crypto/rand"
	"html"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/account"
	"github.com/waybillhq/waybill/internal/bulk"
	"github.com/waybillhq/waybill/internal/handover"
	"github.com/waybillhq/waybill/internal/journal"
	"github.com/waybillhq/waybill/internal/member"
	"github.com/waybillhq/waybill/internal/rulebook"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/internal/web/site"
	"github.com/waybillhq/waybill/internal/webhook"
	"github.com/waybillhq/waybill/test/proving"
)

// A row says what a route answers to a person who is allowed to use it: for
// objects of their own account, and for objects of another account.
type row struct {
	route string // method and path of the table
	id    string // placeholder in the path, resolved from the account's objects
	form  url.Values
	own   int
	other int // 0 if the route names no object
}

func form(pairs ...string) url.Values {
	f := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		f.Set(pairs[i], pairs[i+1])
	}
	return f
}

// rows has one row for every route that needs a sign-in. The test fails for a
// new page that has none.
var rows = []row{
	{"GET /{$}", "", nil, 303, 0},
	{"GET /app", "", nil, 303, 0},
	{"GET /app/test", "", nil, 303, 0},
	{"GET /app/test/{section}", "", nil, 303, 0},
	{"GET /app/test/{section}/{rest...}", "", nil, 303, 0},
	{"GET /app/live", "", nil, 303, 0},
	{"GET /app/live/{section}", "", nil, 303, 0},
	{"GET /app/live/{section}/{rest...}", "", nil, 303, 0},
	{"GET /app/{account}/{mode}", "", nil, 200, 0},
	{"GET /app/{account}/{mode}/search", "", nil, 200, 0},
	{"GET /app/{account}/{mode}/restored", "", nil, 200, 0},
	{"GET /app/{account}/{mode}/restored/review", "", nil, 303, 0},
	{"POST /app/{account}/{mode}/restored", "", form("do", "hold"), 404, 0},
	{"GET /app/{account}/{mode}/shipments", "", nil, 200, 0},
	{"GET /app/{account}/{mode}/shipments.csv", "", nil, 200, 0},
	{"POST /app/{account}/{mode}/shipments.csv", "", form(), 303, 0},
	{"POST /app/{account}/{mode}/shipments/labels.pdf", "", form(), 303, 0},
	{"POST /app/{account}/{mode}/shipments/labels.zpl", "", form(), 303, 0},
	{"GET /app/{account}/{mode}/label-files/{id}", "labelfile", nil, 200, 404},
	{"POST /app/{account}/{mode}/shipments/packing-slips.pdf", "", form(), 303, 0},
	{"GET /app/{account}/{mode}/shipments/{id}/packing-slip", "shipment", nil, 200, 404},
	{"GET /app/{account}/{mode}/views", "", nil, 200, 0},
	{"POST /app/{account}/{mode}/views", "", form("name", ""), 422, 0},
	{"POST /app/{account}/{mode}/views/{id}/delete", "", form(), 404, 0},
	{"GET /app/{account}/{mode}/bulk", "", nil, 200, 0},
	{"GET /app/{account}/{mode}/bulk/{id}", "bulk", nil, 200, 404},
	{"POST /app/{account}/{mode}/bulk/void", "", form(), 303, 0},
	{"POST /app/{account}/{mode}/bulk/manifest", "", form(), 303, 0},
	{"POST /app/{account}/{mode}/bulk/return", "", form(), 303, 0},
	{"GET /app/{account}/{mode}/batches/{id}/packing-slips.pdf", "batch", nil, 404, 404},
	{"GET /app/{account}/{mode}/shipments/new", "", nil, 200, 0},
	{"POST /app/{account}/{mode}/shipments", "", form("order", "1"), 422, 0},
	{"POST /app/{account}/{mode}/shipments/rates", "", form("order", "1"), 200, 0},
	{"GET /app/{account}/{mode}/shipments/{id}", "shipment", nil, 200, 404},
	{"GET /app/{account}/{mode}/shipments/{id}/print", "shipment", nil, 200, 404},
	{"GET /app/{account}/{mode}/shipments/{id}/label/{file}", "shipment", nil, 200, 404},
	{"GET /app/{account}/{mode}/shipments/{id}/documents/{n}", "shipment", nil, 404, 404},
	{"GET /app/{account}/{mode}/shipments/{id}/proof-of-delivery", "shipment", nil, 404, 404},
	{"POST /app/{account}/{mode}/shipments/{id}/documents/{n}/resolve", "shipment", form("outcome", "done"), 404, 404},
	{"POST /app/{account}/{mode}/shipments/{id}/documents", "shipment", form("type", "other"), 422, 404},
	{"POST /app/{account}/{mode}/shipments/{id}/advance", "shipment", form("status", "picked_up"), 303, 404},
	{"POST /app/{account}/{mode}/shipments/{id}/void", "shipment", form(), 303, 404},
	{"GET /app/{account}/{mode}/events", "", nil, 200, 0},
	{"GET /app/{account}/{mode}/events.csv", "", nil, 200, 0},
	{"GET /app/{account}/{mode}/events/{id}", "event", nil, 200, 404},
	{"POST /app/{account}/{mode}/events/{id}/redeliver", "event", form(), 303, 404},
	{"GET /app/{account}/{mode}/webhooks", "", nil, 200, 0},
	{"POST /app/{account}/{mode}/webhooks", "", form("url", "ftp://x"), 422, 0},
	{"GET /app/{account}/{mode}/webhooks/{id}", "webhook", nil, 200, 404},
	{"POST /app/{account}/{mode}/webhooks/{id}", "webhook", form("do", "disable"), 303, 404},
	{"GET /app/{account}/{mode}/keys", "", nil, 200, 0},
	{"POST /app/{account}/{mode}/keys", "", form(), 422, 0},
	{"POST /app/{account}/{mode}/keys/{id}/revoke", "key", form(), 303, 404},
	{"GET /app/{account}/{mode}/device", "", nil, 200, 0},
	{"POST /app/{account}/{mode}/device", "", form("code", "BCDF-GHJK", "name", "k", "scope", "*"), 404, 0},
	{"GET /app/{account}/{mode}/carriers", "", nil, 200, 0},
	{"GET /app/{account}/{mode}/connect/{carrier}", "", nil, 404, 0},
	{"POST /app/{account}/{mode}/connect/{carrier}", "", form(), 404, 0},
	{"GET /app/{account}/{mode}/carriers/{id}", "", nil, 404, 0},
	{"POST /app/{account}/{mode}/carriers/{id}", "", form(), 404, 0},
	{"POST /app/{account}/{mode}/carriers/{id}/check", "", form(), 404, 0},
	{"GET /app/{account}/{mode}/members", "", nil, 200, 0},
	{"POST /app/{account}/{mode}/members", "", form("email", "x"), 422, 0},
	{"POST /app/{account}/{mode}/members/sign-in", "", form(), 303, 0},
	{"GET /app/second-factor", "", nil, 200, 0},
	{"GET /app/single-sign-on", "", nil, 200, 0},
	{"POST /app/single-sign-on", "", form(), 409, 0}, // there is no identity provider
	{"POST /app/second-factor", "", form("do", "nothing"), 404, 0},
	{"POST /app/{account}/{mode}/members/{id}", "", form("do", "remove"), 404, 0},
	{"POST /app/{account}/{mode}/invitations/{id}/revoke", "", form(), 404, 0},
	{"GET /app/{account}/{mode}/audit", "", nil, 200, 0},
	{"GET /app/{account}/{mode}/audit.csv", "", nil, 200, 0},
	{"GET /app/{account}/{mode}/settings", "", nil, 200, 0},
	{"POST /app/{account}/{mode}/settings", "", form("name", ""), 422, 0},
	{"GET /app/{account}/{mode}/privacy", "", nil, 200, 0},
	{"POST /app/{account}/{mode}/privacy", "", form("do", "erase"), 422, 0},
	{"POST /app/{account}/{mode}/privacy/retention", "", form("labelDays", "x"), 422, 0},
	{"GET /app/{account}/{mode}/privacy/exports/{id}", "", nil, 404, 0},
	{"GET /app/{account}/{mode}/you", "", nil, 200, 0},
	{"POST /app/{account}/{mode}/you", "", form("do", "nothing"), 404, 0},
	{"POST /app/{account}/{mode}/you/secrets", "", form("do", "nothing"), 404, 0},
	{"POST /app/{account}/{mode}/you/oidc", "", form(), 409, 0}, // there is no identity provider
	{"GET /app/confirm", "", nil, 200, 0},
	{"POST /app/confirm", "", form("password", "wrong"), 422, 0},
	{"POST /app/confirm/passkey", "", form(), 422, 0},
	{"POST /app/passkey/begin", "", form(), 409, 0}, // the address is a number: no passkeys,
	{"GET /app/{account}/{mode}/routing", "", nil, 200, 0},
	{"POST /app/{account}/{mode}/routing", "", form("do", "up", "rule", "gone", "mark", "v0"), 422, 0},
	{"GET /app/{account}/{mode}/routing/rule", "", nil, 200, 0},
	{"POST /app/{account}/{mode}/routing/rule", "", form("kind", "choose", "mark", "v0"), 422, 0},
	{"POST /app/{account}/{mode}/routing/rule/form", "", form("kind", "use", "do", "target"), 200, 0},
	{"POST /app/{account}/{mode}/routing/rule/check", "", form("kind", "choose", "by", "cel", "when", "nothing"), 200, 0},
	{"GET /app/{account}/{mode}/routing/try", "", nil, 200, 0},
	{"POST /app/{account}/{mode}/routing/try", "", form("shipment", "x"), 422, 0},
	{"GET /app/{account}/{mode}/routing/backtest", "", nil, 200, 0},
	{"POST /app/{account}/{mode}/routing/backtest", "", form(), 200, 0},
	{"POST /app/{account}/{mode}/routing/backtest.csv", "", form(), 200, 0},
	{"GET /app/{account}/{mode}/routing/publish", "", nil, 303, 0},
	{"POST /app/{account}/{mode}/routing/publish", "", form(), 422, 0},
	{"GET /app/{account}/{mode}/routing/history", "", nil, 200, 0},
	{"GET /app/{account}/{mode}/routing/history.csv", "", nil, 200, 0},
	{"GET /app/{account}/{mode}/routing/versions/{id}", "", nil, 404, 0},
	{"GET /app/{account}/{mode}/routing/versions/{id}/rules.json", "", nil, 404, 0},
	{"POST /app/{account}/{mode}/routing/versions/{id}", "", form(), 404, 0},
	{"GET /app/{account}/{mode}/rate-sheets", "", nil, 200, 0},
	{"GET /app/{account}/{mode}/rate-sheets.csv", "", nil, 200, 0},
	{"POST /app/{account}/{mode}/rate-sheets", "", form("name", "x"), 422, 0},
	{"GET /app/{account}/{mode}/rate-sheets/{id}", "sheet", nil, 200, 404},
	{"GET /app/{account}/{mode}/rate-sheets/{id}/sheet.csv", "sheet", nil, 200, 404},
	{"POST /app/{account}/{mode}/rate-sheets/{id}", "sheet", form(), 303, 404},
	{"GET /app/{account}/{mode}/rate-sheet-template.csv", "", nil, 200, 0},
	{"GET /app/{account}/{mode}/requests", "", nil, 200, 0},
	{"GET /app/{account}/{mode}/requests.csv", "", nil, 200, 0},
	{"GET /app/{account}/{mode}/requests/{id}", "request", nil, 200, 404},
	{"GET /app/{account}/{mode}/shipments/{id}/exchanges", "shipment", nil, 200, 404},
	{"GET /app/{account}/{mode}/sandbox", "", nil, 200, 0},
	{"POST /app/{account}/{mode}/sandbox", "", form("fault", "none"), 404, 0},
	{"GET /app/{account}/{mode}/reference", "", nil, 200, 0},
	{"GET /app/{account}/{mode}/reference/{operation}", "", nil, 200, 0},
	{"POST /app/{account}/{mode}/reference", "", form(), 200, 0},
	{"GET /app/{account}/{mode}/attention", "", nil, 200, 0},
	{"GET /app/{account}/{mode}/attention.csv", "", nil, 200, 0},
	{"GET /app/{account}/{mode}/webhooks.csv", "", nil, 200, 0},
	{"GET /app/{account}/{mode}/keys.csv", "", nil, 200, 0},
	{"GET /app/{account}/{mode}/members.csv", "", nil, 200, 0},
	{"GET /app/{account}/{mode}/carriers.csv", "", nil, 200, 0},
	{"GET /app/{account}/{mode}/differences.csv", "", nil, 200, 0},
	{"GET /app/{account}/{mode}/batches", "", nil, 200, 0},
	{"GET /app/{account}/{mode}/batches.csv", "", nil, 200, 0},
	{"GET /app/{account}/{mode}/batches/template.csv", "", nil, 200, 0},
	{"POST /app/{account}/{mode}/batches", "", form(), 422, 0},
	{"GET /app/{account}/{mode}/batches/{id}", "batch", nil, 200, 404},
	{"POST /app/{account}/{mode}/batches/{id}", "batch", form("do", "discard"), 303, 404},
	{"POST /app/{account}/{mode}/batches/{id}/columns", "batch", form("column.0", "order"), 422, 404},
	{"GET /app/{account}/{mode}/batches/{id}/rows/{n}", "batch", nil, 200, 404},
	{"POST /app/{account}/{mode}/batches/{id}/rows/{n}", "batch", form("do", "skip"), 303, 404},
	{"GET /app/{account}/{mode}/batches/{id}/labels.pdf", "batch", nil, 409, 404},
	{"GET /app/{account}/{mode}/batches/{id}/documents.pdf", "batch", nil, 404, 404},
	{"GET /app/{account}/{mode}/batches/{id}/labels.zpl", "batch", nil, 409, 404},
	{"GET /app/{account}/{mode}/batches/{id}/results.csv", "batch", nil, 200, 404},
	{"GET /app/{account}/{mode}/end-of-day", "", nil, 200, 0},
	{"POST /app/{account}/{mode}/end-of-day/manifests", "", form("carrier", "ups"), 422, 0},
	{"GET /app/{account}/{mode}/end-of-day/manifests/{id}", "manifest", nil, 200, 404},
	{"POST /app/{account}/{mode}/end-of-day/manifests/{id}/resolve", "manifest", form("outcome", "done"), 422, 404},
	{"POST /app/{account}/{mode}/end-of-day/pickups", "", form("carrier", "ups"), 422, 0},
	{"POST /app/{account}/{mode}/end-of-day/pickups/{id}/resolve", "pickup", form("outcome", "not_done"), 422, 404},
	{"POST /app/{account}/{mode}/end-of-day/pickups/{id}/cancel", "pickup", form(), 303, 404},
	{"GET /app/{account}/{mode}/settings/locations", "", nil, 200, 0},
	{"GET /app/{account}/{mode}/settings/locations/new", "", nil, 200, 0},
	{"POST /app/{account}/{mode}/settings/locations", "", form("name", ""), 422, 0},
	{"GET /app/{account}/{mode}/settings/locations/{id}", "location", nil, 200, 404},
	{"POST /app/{account}/{mode}/settings/locations/{id}", "location", form("name", ""), 422, 404},
	{"POST /app/{account}/{mode}/settings/locations/{id}/remove", "location", form(), 303, 404},
	{"GET /app/{account}/{mode}/returns", "", nil, 200, 0},
	{"POST /app/{account}/{mode}/returns/{id}/deny", "returned", form("reason", ""), 422, 404},
	{"POST /app/{account}/{mode}/returns/{id}/approve", "returned", form(), 303, 404},
	{"GET /app/{account}/{mode}/approvals", "", nil, 200, 0},
	{"POST /app/{account}/{mode}/approvals/{id}/deny", "approval", form(), 303, 404},
	{"POST /app/{account}/{mode}/approvals/{id}/approve", "approval", form(), 303, 404},
	{"GET /app/{account}/{mode}/settings/returns", "", nil, 200, 0},
	{"POST /app/{account}/{mode}/settings/returns", "", form("days", "0"), 422, 0},
	{"GET /app/{account}/{mode}/settings/logo/{hash}", "", nil, 404, 0},
	{"POST /app/{account}/{mode}/settings/logo", "", form("do", "remove"), 303, 0},
	{"POST /app/{account}/{mode}/shipments/address", "", form("country", "DE"), 200, 0},
	{"POST /app/{account}/{mode}/shipments/points", "", form("country", "DE"), 200, 0},
	{"POST /app/{account}/{mode}/shipments/duties", "", form("country", "DE"), 200, 0},
	{"POST /app/{account}/{mode}/shipments/fields", "", form("country", "DE"), 404, 0},
	{"GET /app/{account}/{mode}/boxes", "", nil, 200, 0},
	{"POST /app/{account}/{mode}/boxes", "", form("name", ""), 422, 0},
	{"POST /app/{account}/{mode}/boxes/{id}/remove", "box", form(), 303, 404},
	{"GET /app/{account}/{mode}/rate-sheets/{id}/versions.csv", "sheet", nil, 200, 404},
	{"POST /app/resume", "", form("held", "nonsense"), 422, 0},
	{"POST /app/logout", "", form(), 303, 0}, // the last: it ends the sessions
}

// things returns the objects of one account.
func (b *bench) things(a ship.Account) map[string]string {
	b.Helper()
	t := ship.Tenant{Account: a.ID}
	old, err := b.web.Webhook.Endpoints(b.Context(), t) // the number of them in an account is limited
	b.must(err)
	for _, e := range old {
		b.must(b.web.Webhook.Delete(b.Context(), t, e.ID))
	}
	hook, err := b.web.Webhook.Create(b.Context(), t, webhook.Settings{URL: new("http://127.0.0.1:19999/hook")})
	b.must(err)
	_, key, err := b.web.Account.NewKey(b.Context(), account.NewKeyInput{Account: a.ID, Name: "k"})
	b.must(err)
	prices, err := b.web.Rules.ImportSheet(b.Context(), t, rulebook.SheetInput{
		Name: strings.ToLower(string(a.ID)), Carrier: "ups", CSV: "[sheet]\ncurrency,USD\n[zones]\nzone,country\n1,US\n[rates]\nservice,up to,zone 1\nground,150 lb,9.00\n",
	})
	b.must(err)
	sh := b.buy(a, "77", people[0], 1)
	list, _, err := b.web.Webhook.Recent(b.Context(), t, "", nil, 1)
	for ; err == nil && len(list) == 0; list, _, err = b.web.Webhook.Recent(b.Context(), t, "", nil, 1) {
		time.Sleep(10 * time.Millisecond) // the log shows an event only once no open transaction can precede it
	}
	b.must(err)
	box, err := b.web.Account.AddBox(b.Context(), t, "small", ship.Dimensions{Length: 1, Width: 1, Height: 1}, ship.DefaultUnits)
	b.must(err)
	location, err := b.web.Account.AddLocation(b.Context(), t, account.LocationSettings{
		Name:    new("Reno " + sh.ID.Raw().Time().String()),
		Address: &ship.Address{Name: "Acme", Address1: "1 Commerce Way", City: "Reno", State: "NV", Zip: "89502", Country: "US"},
	})
	b.must(err)
	ups := handover.Seller{Carrier: "ups"}
	ready := time.Now().UTC().Truncate(24 * time.Hour).Add(42 * time.Hour) // tomorrow morning in Nevada
	pickup, err := b.web.Handover.BookPickup(b.Context(), handover.PickupInput{
		Tenant: t, Account: a, Seller: ups, Parcels: 1, Window: ship.TimeWindow{ReadyAt: ready, CloseAt: ready.Add(2 * time.Hour)},
	})
	b.must(err)
	manifest, err := b.web.Handover.CloseManifest(b.Context(), handover.ManifestInput{
		Tenant: t, Account: a, Seller: handover.Seller{Carrier: sh.Purchase.Carrier},
	})
	b.must(err)
	labels := store.LabelFile{
		ID:          ship.NewLabelFileID(t.Shard(), time.Now()),
		Tenant:      t,
		Key:         string(sh.ID),
		Shipments:   []ship.ShipmentID{sh.ID},
		Format:      store.LabelFormat{Format: "zpl", Size: "4x6", DPI: 203},
		Conversions: 1,
	}
	_, err = b.store.PrepareLabelFile(b.Context(), labels)
	b.must(err)
	action, err := b.web.Bulk.Start(b.Context(), bulk.StartInput{
		Tenant: t, Kind: bulk.Void, Shipments: []ship.ShipmentID{sh.ID}, Person: ship.NewPersonID(time.Now()), MadeBy: "Dana", Key: rand.Text(),
	})
	b.must(err)
	asked := ship.RequestIDOf(ship.NewRawID(t.Shard(), time.Now()))
	b.web.Journal.Note(journal.Request{ID: asked, Tenant: t, Key: key.ID, Method: "GET", Route: "/v1/carriers", Path: "/v1/carriers", Status: 200})
	b.must(b.web.Journal.Flush(b.Context()))
	return map[string]string{
		"request": string(asked), "shipment": string(sh.ID), "webhook": string(hook.ID), "key": string(key.ID), "event": string(list[0].Event.ID), "sheet": prices.Name,
		"box": string(box.ID), "batch": string(b.batch(t, sampleFile)),
		"pickup": string(pickup.ID), "manifest": string(manifest.ID), "bulk": string(action), "labelfile": string(labels.ID), "location": string(location.ID),
		"returned": string(b.askForReturn(a).ID),
		"approval": string(b.askForApproval(t).ID),
	}
}

// ends is 1 for a route that ends the sessions, which therefore comes last.
func (r row) ends() int {
	if r.route == "POST /app/logout" {
		return 1
	}
	return 0
}

// path returns the address of the route in the account, with the account's
// objects.
func (r row) path(account ship.AccountID, things map[string]string) string {
	_, path, _ := strings.Cut(r.route, " ")
	id := things[r.id]
	if id == "" {
		id = "nothing"
	}
	return strings.NewReplacer("{$}", "", "{account}", string(account), "{mode}", "test", "{section}", "shipments", "{rest...}", "new", "{id}", id, "{n}", "1", "{file}", "label.png", "{carrier}", "none", "{hash}", "00", "{operation}", "createShipment").Replace(path)
}

// TestEveryPageForEveryRoleAndTwoAccounts requests every route of the table as
// every role: whoever may not gets 403, and no page that a role is shown has a
// link or a form for what the role may not do.
func TestEveryPageForEveryRoleAndTwoAccounts(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	tried := newTrials(table(b.web.Config))
	actions := map[string]member.Action{}
	for _, rt := range table(b.web.Config) {
		if !rt.Open {
			actions[rt.Method+" "+rt.Path] = rt.Action
		}
	}
	elsewhere := b.account("Elsewhere")
	other := belongings{account: elsewhere.ID, things: b.things(elsewhere)}
	rows := slices.Clone(rows)
	slices.SortStableFunc(rows, func(a, b row) int { return cmp.Compare(a.ends(), b.ends()) })
	for _, r := range rows {
		action, known := actions[r.route]
		if !known {
			t.Errorf("%s is not in the table", r.route)
			continue
		}
		delete(actions, r.route)
		tried.requests++
		w := b.send("", r.path(b.owner.ID, nil), r.form)
		asked := w.Code == http.StatusForbidden && strings.Contains(w.Body.String(), `action="/app/login"`) // holds the form until afterwards
		if !asked && (w.Code != http.StatusSeeOther || !strings.HasPrefix(w.Header().Get("Location"), "/app/login")) {
			t.Errorf("%s to nobody: %d %s", r.route, w.Code, w.Header().Get("Location"))
		}
		for _, role := range []member.Role{member.Viewer, member.Shipper, member.Developer, member.Owner} {
			b.row(r, role, action, other, tried)
		}
	}
	for route := range actions {
		t.Errorf("%s has no row", route)
	}
	tried.judge(t)
	proving.Report(t, "security.json", nil, map[string]any{
		"routes":        len(rows),
		"permissions":   len(member.Permissions()),
		"probes":        tried.requests,
		"linksAndForms": tried.links,
		"leaks":         proving.Failures(t),
	})
}

// belongings are the objects of an account.
type belongings struct {
	account ship.AccountID
	things  map[string]string
}

// trials counts what the walk over the routes has tried.
type trials struct {
	routes  map[string]map[string]member.Action // by method and pattern
	muxes   map[string]*http.ServeMux           // by method; find the pattern of an address
	allowed map[member.Action]int
	denied  map[member.Action]int
	links   int

	requests int
}

func newTrials(routes []site.Route) *trials {
	tried := &trials{
		routes:  map[string]map[string]member.Action{},
		muxes:   map[string]*http.ServeMux{},
		allowed: map[member.Action]int{},
		denied:  map[member.Action]int{},
	}
	for _, rt := range routes {
		if rt.Open || !strings.HasPrefix(rt.Path, "/app/{account}/{mode}") {
			continue
		}
		if tried.muxes[rt.Method] == nil {
			tried.muxes[rt.Method] = http.NewServeMux()
			tried.routes[rt.Method] = map[string]member.Action{}
		}
		tried.muxes[rt.Method].HandleFunc(rt.Path, http.NotFound)
		tried.routes[rt.Method][rt.Path] = rt.Action
	}
	return tried
}

// leads finds the addresses of links and forms in a page, with what sends them.
var leads = regexp.MustCompile(`<(?:a|form|button)\b[^>]*?\b(href|action|formaction)="(/app/[^"]+)"[^>]*>`)

// disabledForm finds the rest of a form that is shown and cannot be used.
var disabledForm = regexp.MustCompile(`(?s)<fieldset[^>]* disabled>.*?</form>`)

// checkLeads reports links and forms of a page that the role may not use.
func (c *trials) checkLeads(t testing.TB, route string, role member.Role, page string) {
	t.Helper()
	for _, found := range leads.FindAllStringSubmatch(disabledForm.ReplaceAllString(page, ""), -1) {
		method := http.MethodGet
		if found[1] == "formaction" || strings.Contains(strings.ToLower(found[0]), `method="post"`) {
			method = http.MethodPost
		}
		r := httptest.NewRequest(method, html.UnescapeString(found[2]), nil)
		_, pattern := c.muxes[method].Handler(r)
		action, known := c.routes[method][pattern]
		if !known {
			continue // of no account
		}
		c.links++
		if !role.Can(action) {
			t.Errorf("%s shows a %s the way to %s %s", route, role, method, found[2])
		}
	}
}

// judge reports permissions that nobody was allowed or that nobody was denied.
func (c *trials) judge(t testing.TB) {
	t.Helper()
	for _, permission := range member.Permissions() {
		action := permission.Action
		if c.allowed[action] == 0 {
			t.Errorf("%s was allowed to nobody", action)
		}
		if isForAll := member.Viewer.Can(action); !isForAll && c.denied[action] == 0 {
			t.Errorf("%s was denied to nobody", action)
		}
	}
	if c.links < 1000 {
		t.Errorf("only %d links and forms were found in the pages", c.links)
	}
}

// row tries one route as one role.
func (b *bench) row(r row, role member.Role, action member.Action, other belongings, tried *trials) {
	b.Helper()
	own := map[string]string{}
	if r.id != "" {
		own = b.things(b.owner)
	}
	want, foreign := r.own, r.other
	if !role.Can(action) {
		want, foreign = http.StatusForbidden, http.StatusForbidden
		tried.denied[action]++
	} else {
		tried.allowed[action]++
	}
	tried.requests++
	w := b.send(role, r.path(b.owner.ID, own), r.form)
	if w.Code == http.StatusOK {
		tried.checkLeads(b, r.route, role, w.Body.String())
	}
	if w.Code != want {
		b.Errorf("%s as %s: %d, want %d", r.route, role, w.Code, want)
	}
	for _, incomplete := range []string{"/app//", "/app/test", "/app/live"} {
		if strings.Contains(w.Body.String(), incomplete) || strings.Contains(w.Header().Get("Location"), incomplete) {
			b.Errorf("%s as %s has an address without an account", r.route, role)
		}
	}
	if r.ends() == 0 {
		b.elsewhere(r, role, own, other, tried)
	}
	if r.other == 0 {
		return
	}
	tried.requests++
	if w := b.send(role, r.path(b.owner.ID, other.things), r.form); w.Code != foreign {
		b.Errorf("%s as %s with the other account's: %d, want %d", r.route, role, w.Code, foreign)
	}
}

// elsewhere tries the route in places where the objects are not: in the live mode
// of the account, and in another account, whose member the person is not.
func (b *bench) elsewhere(r row, role member.Role, own map[string]string, other belongings, tried *trials) {
	b.Helper()
	if !strings.Contains(r.route, "{account}") {
		return
	}
	live := func(path string) string { return strings.Replace(path, "/test", "/live", 1) }

	tried.requests++
	w := b.send(role, live(r.path(b.owner.ID, own)), r.form)
	if w.Code >= http.StatusInternalServerError || r.other != 0 && w.Code < http.StatusBadRequest {
		b.Errorf("%s as %s in live mode, with an object of test mode: %d", r.route, role, w.Code)
	}

	for _, path := range []string{r.path(other.account, other.things), live(r.path(other.account, other.things))} {
		tried.requests++
		if w := b.send(role, path, r.form); w.Code != http.StatusNotFound && w.Code != http.StatusForbidden {
			b.Errorf("%s as %s in an account of others: %d", r.route, role, w.Code)
		}
	}
}
