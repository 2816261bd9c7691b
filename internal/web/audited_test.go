package web

import (
	"bytes"
	"context"
	"go/ast"
	"go/parser"
	"go/token"
	"image"
	"image/png"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/account"
	"github.com/waybillhq/waybill/internal/batch"
	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/handover"
	"github.com/waybillhq/waybill/internal/member"
	"github.com/waybillhq/waybill/internal/seal"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/internal/store/storetest"
)

// acme is a carrier that accepts any credentials.
type acme struct{}

func (acme) Check(context.Context) error { return nil }

// auditBench is a bench with a carrier to connect. Its audit log can be made to
// fail, and everything that a change can affect can be compared.
type auditBench struct {
	*bench
	exec  func(sql string)
	touch func() string // a hash of everything that a change can affect
}

// touched are the tables that the changes of the dashboard write.
var touched = []string{
	"accounts", "account_logos", "api_keys", "connections", "boxes", "webhook_endpoints", "webhook_retries", "batches", "batch_rows", "river_job",
	"rule_books", "rule_drafts", "rate_sheets", "routing_revisions", "shipment_states", "tracking_events", "events", "erasures", "exports",
	"bulk_actions", "bulk_action_rows", "saved_views",
	"pickups", "manifests", "document_submissions", "locations",
	"return_rules", "return_requests", "device_sign_ins", "approvals", "missing_purchases",
}

func newAuditBench(t *testing.T) *auditBench {
	t.Helper()
	b := &auditBench{bench: newBench(t)}
	box, err := seal.New(bytes.Repeat([]byte{1}, 32))
	b.must(err)
	b.web.Account = account.NewWith(account.Config{
		Store: b.store, Wrapper: box, Log: b.web.Log, Via: func(carrier.Spec, string) carrier.Doer { return nil },
		Specs: []carrier.Spec{{
			Name: "acme", Title: "Acme", LiveURL: testBase, TestURL: testBase, Fields: []carrier.Field{{Name: "api_key", Title: "API key", Required: true, Secret: true}},
			Open: func(carrier.Opening) (carrier.Driver, error) { return acme{}, nil },
		}},
	})
	owner := storetest.Conn(t, b.store.System().Config().ConnString())
	b.exec = func(sql string) {
		t.Helper()
		_, err := owner.Exec(t.Context(), sql)
		b.must(err)
	}
	selects := make([]string, len(touched))
	for i, table := range touched {
		selects[i] = "SELECT '" + table + "' || t::text AS x FROM " + table + " t"
	}
	b.touch = func() (hash string) {
		t.Helper()
		b.must(owner.QueryRow(t.Context(), "SELECT md5(string_agg(x, '|' ORDER BY x)) FROM ("+strings.Join(selects, " UNION ALL ")+") rows").Scan(&hash))
		return hash
	}
	return b
}

// entries returns the account's audit entries, newest first.
func (b *auditBench) entries() []member.AuditEntry {
	b.Helper()
	owner, err := b.web.Member.Authenticate(b.Context(), b.tokens[member.Owner], member.Origin{})
	b.must(err)
	list, _, err := b.web.Member.Audit(b.Context(), owner, member.AuditFilter{Limit: 200})
	b.must(err)
	return list
}

func (b *auditBench) tenant() ship.Tenant { return ship.Tenant{Account: b.owner.ID} }

func (b *auditBench) post(path string, pairs ...string) answered {
	return b.send(member.Owner, b.home+"/"+path, form(pairs...))
}

type answered = *httptest.ResponseRecorder

// An auditStep is a change that a person makes, and its action.
type auditStep struct {
	action string
	do     func() answered
}

func (b *auditBench) keySteps() []auditStep {
	approved, denied := b.terminal(), b.terminal()
	return []auditStep{
		{"key.made", func() answered { return b.post("keys", "name", "k", "scope", "*") }},
		{"key.made", func() answered { return b.post("reference") }},
		{"key.revoked", func() answered {
			list, err := b.web.Account.Keys(b.Context(), b.owner.ID)
			b.must(err)
			return b.post("keys/" + string(list[0].ID) + "/revoke")
		}},
		{"terminal.approved", func() answered { return b.post("device", "code", approved, "name", "laptop", "scope", "*") }},
		{"terminal.denied", func() answered { return b.post("device", "code", denied, "do", "deny") }},
		{"connection.made", func() answered { return b.post("connect/acme", "connection-name", "Main", "api_key", "s") }},
		{"connection.changed", func() answered { return b.post("carriers/"+b.connection(), "api_key", "t") }},
		{"connection.removed", func() answered { return b.post("carriers/"+b.connection(), "do", "remove") }},
		{"settings.changed", func() answered {
			return b.post("settings", "name", "Southwind", "currency", "USD", "weightUnit", "kg", "lengthUnit", "cm")
		}},
		{"settings.logo_changed", func() answered {
			var file bytes.Buffer
			b.must(png.Encode(&file, image.NewGray(image.Rect(0, 0, 30, 10))))
			return b.upload(member.Owner, b.home+"/settings/logo", "logo", file.Bytes())
		}},
		{"settings.logo_removed", func() answered { return b.post("settings/logo", "do", "remove") }},
		{"erasure.requested", func() answered { return b.post("privacy", "do", "erase", "email", "grace@example.com") }},
		{"export.requested", func() answered { return b.post("privacy", "do", "export", "phone", "+1 512 555 0142") }},
		{"settings.retention_changed", func() answered { return b.post("privacy/retention", "personalDataDays", "60", "labelDays", "7") }},
		{"location.added", func() answered {
			return b.post("settings/locations", "name", "Reno", "sender", "Acme", "address1", "1 Commerce Way", "city", "Reno", "state", "NV", "zip", "89502", "country", "US")
		}},
		{"location.changed", func() answered {
			return b.post("settings/locations/"+b.location(), "name", "Sparks", "sender", "Acme", "address1", "1 Commerce Way", "city", "Reno", "state", "NV", "zip", "89502", "country", "US")
		}},
		{"location.removed", func() answered { return b.post("settings/locations/" + b.location() + "/remove") }},
		{"box.added", func() answered {
			return b.post("boxes", "name", "small", "length", "1", "width", "1", "height", "1", "unit", "cm")
		}},
		{"box.removed", func() answered {
			list, err := b.web.Account.Boxes(b.Context(), b.tenant())
			b.must(err)
			return b.post("boxes/" + string(list[0].ID) + "/remove")
		}},
	}
}

// terminal returns the code of a terminal that waits to be approved.
func (b *auditBench) terminal() string {
	b.Helper()
	_, device, err := b.web.Account.StartDevice(b.Context(), account.NewDevice{Name: "waybill on laptop"})
	b.must(err)
	return device.UserCode
}

func (b *auditBench) location() string {
	b.Helper()
	list, err := b.web.Account.Locations(b.Context(), b.tenant())
	b.must(err)
	return string(list[0].ID)
}

func (b *auditBench) connection() string {
	b.Helper()
	list, err := b.web.Account.Connections(b.Context(), b.tenant())
	b.must(err)
	return string(list[0].ID)
}

func (b *auditBench) hookSteps() []auditStep {
	const address = "http://127.0.0.1:19999/hook"
	sh := b.buy(b.owner, "1", people[0], 1)
	hook := func(pairs ...string) func() answered {
		return func() answered {
			list, err := b.web.Webhook.Endpoints(b.Context(), b.tenant())
			b.must(err)
			return b.post("webhooks/"+string(list[0].ID), pairs...)
		}
	}
	return []auditStep{
		{"webhook.made", func() answered { return b.post("webhooks", "url", address, "kind", string(ship.ShipmentCreated)) }},
		{"webhook.changed", hook("do", "save", "url", address, "kind", string(ship.ShipmentCreated), "description", "new")},
		{"webhook.disabled", hook("do", "disable")},
		{"webhook.enabled", hook("do", "enable")},
		{"webhook.secret_rotated", hook("do", "rotate")},
		{"webhook.recovered", hook("do", "recover")},
		{"shipment.advanced", func() answered { return b.post("shipments/"+string(sh.ID)+"/advance", "status", "picked_up") }},
		{"event.redelivered", func() answered { return b.post("events/" + b.event() + "/redeliver") }},
		{"webhook.deleted", hook("do", "delete")},
	}
}

// event is of a kind that the webhook subscribes to. The log shows an event
// only once no open transaction can precede it.
func (b *auditBench) event() string {
	b.Helper()
	for {
		list, _, err := b.web.Webhook.Recent(b.Context(), b.tenant(), "", []ship.EventKind{ship.ShipmentCreated}, 1)
		b.must(err)
		if len(list) > 0 {
			return string(list[0].Event.ID)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// batches returns all batches, newest first, after the work in progress has
// finished.
func (b *auditBench) batches() []batch.Batch {
	b.Helper()
	list, _, err := b.web.Batch.Batches(b.Context(), b.tenant(), "", ship.Page{Limit: 10})
	b.must(err)
	for _, known := range list {
		b.workBatch(b.tenant(), known.ID)
	}
	return list
}

func (b *auditBench) batchSteps() []auditStep {
	change := func(path string, pairs ...string) func() answered {
		return func() answered { return b.post("batches/"+string(b.batches()[0].ID)+path, pairs...) }
	}
	upload := func() answered {
		return b.uploadAs(member.Owner, "orders.csv", []byte(strings.Replace(sampleFile, "\n1,", "\nfirst,", 1)))
	}
	columns := []string{
		"column.0", "order", "column.1", "name", "column.2", "address1", "column.3", "city", "column.4", "state", "column.5", "zip", "column.6", "country", "column.7", "weight",
	}
	return []auditStep{
		{"batch.uploaded", upload},
		{"batch.discarded", change("", "do", "discard")},
		{"batch.uploaded", upload},
		{"batch.checked", change("/columns", columns...)},
		{"batch.row_changed", change("/rows/2", "field.name", "Grace")},
		{"batch.row_skipped", change("/rows/2", "do", "skip")},
		{"batch.retried", change("", "do", "retry")},
		{"batch.bought", change("", "do", "buy")},
	}
}

func (b *auditBench) ruleSteps() []auditStep {
	change := func(do, name string) func() answered {
		return func() answered { return b.post("routing", "mark", b.mark(), "do", do, "rule", name) }
	}
	add := func(name string, more ...string) func() answered {
		return func() answered { return b.saveRule(b.mark(), name, more...) }
	}
	publish := func() answered { return b.post("routing/publish", "note", "n") }
	prices := "[sheet]\ncurrency,USD\n[zones]\nzone,country\n1,US\n[rates]\nservice,up to,zone 1\nground,150 lb,9.00\n"
	return []auditStep{
		{"routing.rule_added", add("One")},
		{"routing.rule_added", add("Two")},
		{"routing.rule_changed", add("Second", "was", "Two")},
		{"routing.rule_moved", change("up", "Second")},
		{"routing.rule_switched_off", change("off", "One")},
		{"routing.rule_switched_on", change("on", "One")},
		{"routing.draft_kept", change("keep", "")},
		{"routing.published", publish},
		{"routing.rule_deleted", change("delete", "One")},
		{"routing.draft_discarded", change("discard", "")},
		{"routing.rolled_back", func() answered { return b.post("routing/versions/1") }},
		{"rate_sheet.imported", func() answered { return b.importSheet("prices", "ups//", prices) }},
		{"rate_sheet.removed", func() answered { return b.post("rate-sheets/prices") }},
	}
}

// reviewSteps resolve a pickup and a manifest that need review.
func (b *auditBench) reviewSteps() []auditStep {
	ready := time.Now().UTC().Truncate(24 * time.Hour).Add(42 * time.Hour) // tomorrow morning in Nevada
	pickup, err := b.web.Handover.BookPickup(b.Context(), handover.PickupInput{
		Tenant:  b.tenant(),
		Account: b.owner,
		Seller:  handover.Seller{Carrier: "ups"},
		Parcels: 1,
		Window:  ship.TimeWindow{ReadyAt: ready, CloseAt: ready.Add(2 * time.Hour)},
	})
	b.must(err)
	shipment := b.buy(b.owner, "77", people[0], 1)
	manifest, err := b.web.Handover.CloseManifest(b.Context(), handover.ManifestInput{
		Tenant:  b.tenant(),
		Account: b.owner,
		Seller:  handover.Seller{Carrier: shipment.Purchase.Carrier},
	})
	b.must(err)
	b.exec("UPDATE pickups SET state = 'needs_review'")
	b.exec("UPDATE manifests SET state = 'needs_review'")
	resolve := func(path string, pairs ...string) func() answered {
		return func() answered { return b.post("end-of-day/"+path+"/resolve", pairs...) }
	}
	b.exec(`INSERT INTO document_submissions (account_id, livemode, id, shipment_id, position, type, carrier, state, attempt)
		SELECT account_id, livemode, id, id, 0, 'other', 'ups', 'needs_review', 1 FROM shipment_states`)
	return []auditStep{
		{"document.resolved", func() answered {
			return b.post("shipments/"+string(shipment.ID)+"/documents/1/resolve", "outcome", "not_done")
		}},
		{"pickup.resolved", resolve("pickups/"+string(pickup.ID), "outcome", "not_done")},
		{"manifest.resolved", resolve("manifests/"+string(manifest.ID), "outcome", "done", "number", "M77")},
	}
}

func (b *auditBench) returnSteps() []auditStep {
	asked := "returns/" + string(b.askForReturn(b.owner).ID)
	return []auditStep{
		{"return_rule.changed", func() answered {
			return b.post("settings/returns", "enabled", "yes", "days", "14", "reasons", "Wrong size", "paidBy", "account", "approval", "manual")
		}},
		{"return_request.denied", func() answered { return b.post(asked+"/deny", "reason", "It was worn.") }},
		{"return_request.approved", func() answered { return b.post(asked + "/approve") }},
	}
}

func (b *auditBench) approvalSteps() []auditStep {
	tenant := ship.Tenant{Account: b.owner.ID}
	decide := func(how string) func() answered {
		path := "approvals/" + string(b.askForApproval(tenant).ID) + "/" + how
		return func() answered { return b.post(path) }
	}
	return []auditStep{
		{"approval.approved", decide("approve")},
		{"approval.denied", decide("deny")},
	}
}

func (b *auditBench) missingSteps() []auditStep {
	decide := func(how string) func() answered {
		id := b.addMissing(b.tenant(), "lost", "1Z1")
		return func() answered { return b.post("restored", "do", how, "id", string(id), "seen", "1") }
	}
	b.addMissing(b.tenant(), "lost", "1Z1")
	return []auditStep{
		{"missing_purchase.adopted", decide("adopt")},
		{"missing_purchase.voided", decide("void")},
		{"missing_purchase.held", func() answered { return b.post("restored", "do", "hold", "of", store.PurchaseMissing, "seen", "1") }},
	}
}

func (b *auditBench) bulkSteps() []auditStep {
	sh := b.buy(b.owner, "bulk", people[0], 1)
	return []auditStep{
		{"bulk.started", func() answered { return b.post("bulk/void", "id", string(sh.ID), "once", "audited") }},
		{"view.saved", func() answered { return b.post("views", "name", "Late", "status", "exception") }},
		{"view.deleted", func() answered {
			owner, err := b.web.Member.Authenticate(b.Context(), b.tokens[member.Owner], member.Origin{})
			b.must(err)
			list, err := b.web.Account.Views(b.Context(), b.owner.ID, owner.Person.ID)
			b.must(err)
			return b.post("views/" + string(list[0].ID) + "/delete")
		}},
	}
}

func (b *auditBench) steps() []auditStep {
	return slices.Concat(b.bulkSteps(), b.reviewSteps(), b.returnSteps(), b.approvalSteps(), b.missingSteps(), b.keySteps(), b.hookSteps(), b.batchSteps(), b.ruleSteps())
}

func TestAChangeAndItsEntryHappenTogetherOrNotAtAll(t *testing.T) {
	t.Parallel()
	b := newAuditBench(t)
	noTarget := []string{"routing.draft_kept", "routing.draft_discarded"}
	for _, s := range b.steps() {
		b.batches()
		before, known := b.touch(), len(b.entries())
		b.exec("ALTER TABLE audit_log ADD CONSTRAINT shut CHECK (false) NOT VALID")
		w := s.do()
		b.exec("ALTER TABLE audit_log DROP CONSTRAINT shut")
		if w.Code != http.StatusInternalServerError {
			t.Errorf("%s without its entry: %d", s.action, w.Code)
		}
		if b.touch() != before {
			t.Fatalf("%s is done without its entry", s.action)
		}
		if w = s.do(); w.Code != http.StatusOK && w.Code != http.StatusSeeOther {
			t.Fatalf("%s: %d %s", s.action, w.Code, w.Body)
		}
		if b.touch() == before {
			t.Errorf("%s changes nothing", s.action)
		}
		list := b.entries()
		if e := list[0]; len(list) != known+1 || e.Action != s.action || e.Mode != "test" || (e.Target == "") != slices.Contains(noTarget, s.action) {
			t.Errorf("%s: %d new entries, the newest %+v", s.action, len(list)-known, e)
		}
	}
}

func TestWhatChangesNothingWritesNoEntry(t *testing.T) {
	t.Parallel()
	b := newAuditBench(t)
	b.post("connect/acme", "connection-name", "Main", "api_key", "s")
	b.saveRule(b.mark(), "One")
	old := b.mark()
	b.saveRule(old, "Two")
	bought := b.batch(b.tenant(), sampleFile)
	b.must(b.web.Batch.Buy(b.Context(), b.tenant(), bought, "pdf", ""))
	b.workBatch(b.tenant(), bought)
	known := len(b.entries())
	now := time.Now()
	shard := b.tenant().Shard()
	for what, w := range map[string]answered{
		"a name that is taken":         b.post("connect/acme", "connection-name", "Main", "api_key", "s"),
		"a connection without its key": b.post("connect/acme"),
		"settings without a name":      b.post("settings", "name", ""),
		"a scope that is none":         b.post("keys", "name", "k", "scope", "none"),
		"a webhook of no address":      b.post("webhooks", "url", "ftp://x"),
		"a box that is not there":      b.post("boxes/" + string(ship.NewBoxID(shard, now)) + "/remove"),
		"an event that is not there":   b.post("events/" + string(ship.EventIDOf(ship.NewRawID(shard, now))) + "/redeliver"),
		"a batch that was bought":      b.post("batches/"+string(bought), "do", "discard"),
		"a line that was bought":       b.post("batches/"+string(bought)+"/rows/1", "do", "skip"),
		"an old mark":                  b.saveRule(old, "Three"),
		"an old mark to publish":       b.post("routing/publish", "mark", old),
		"a sheet that is not there":    b.post("rate-sheets/none"),
	} {
		if w.Code < 400 || w.Code >= 500 {
			t.Errorf("%s: %d", what, w.Code)
		}
	}
	if w := b.post("settings/logo", "do", "remove"); w.Code != http.StatusSeeOther {
		t.Errorf("a logo that is not there: %d", w.Code)
	}
	if list := b.entries(); len(list) != known {
		t.Errorf("%d entries of nothing, the newest %+v", len(list)-known, list[0])
	}
}

// buttonActions returns the values of a table in a source file: what the audit
// log calls the actions of a page's buttons.
func buttonActions(t *testing.T, path, name string) (values []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}

	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || spec.Names[0].Name != name {
			return true
		}
		for _, element := range spec.Values[0].(*ast.CompositeLit).Elts {
			value, err := strconv.Unquote(element.(*ast.KeyValueExpr).Value.(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			values = append(values, value)
		}
		return false
	})
	if len(values) == 0 {
		t.Errorf("%s has no table %s", path, name)
	}
	return values
}

// A change that the dashboard can make and that has no step above fails here.
func TestEveryAuditedChangeHasItsStep(t *testing.T) {
	t.Parallel()
	b := newAuditBench(t)
	var wanted []string
	for _, done := range buttonActions(t, "developers/webhooks.go", "hookDone") {
		wanted = append(wanted, "webhook."+done)
	}
	for _, done := range buttonActions(t, "routing/routing.go", "ruleDone") {
		wanted = append(wanted, "routing.rule_"+done)
	}
	paths, err := filepath.Glob("*/*.go")
	b.must(err)
	for _, path := range paths {
		text, err := os.ReadFile(path)
		b.must(err)
		for _, m := range regexp.MustCompile(`v\.Audited\("([a-z_.]+[a-z])"`).FindAllSubmatch(text, -1) {
			wanted = append(wanted, string(m[1]))
		}
	}
	if len(wanted) < 25 {
		t.Errorf("only %d audited changes found", len(wanted))
	}
	steps := b.steps()
	for _, action := range wanted {
		if !slices.ContainsFunc(steps, func(s auditStep) bool { return s.action == action }) {
			t.Errorf("%s has no step", action)
		}
	}
}

// The page says so before anybody types credentials, and the response to the
// form says it again.
func TestALiveConnectionNeedsAKeyFromOutsideTheDatabase(t *testing.T) {
	t.Parallel()
	b := newAuditBench(t)
	box, err := seal.New(bytes.Repeat([]byte{1}, 32))
	b.must(err)
	b.web.Account = account.NewWith(account.Config{
		Store:         b.store,
		Wrapper:       box,
		KeyInDatabase: true,
		Specs:         b.web.Account.Specs(),
	})

	for _, a := range []answered{b.send(member.Owner, b.liveHome+"/connect/acme", nil), b.send(member.Owner, b.liveHome+"/connect/acme", url.Values{"api_key": {"s"}})} {
		if body := a.Body.String(); !strings.Contains(body, "Live carrier credentials need an encryption key that is not in the database") || !strings.Contains(body, "openssl rand -base64 32") {
			t.Errorf("%d:\n%s", a.Code, body)
		}
	}
	if a := b.send(member.Owner, b.home+"/connect/acme", nil); a.Code != http.StatusOK || strings.Contains(a.Body.String(), "SECRET_KEY") {
		t.Error("a test connection needs a key too")
	}
}
