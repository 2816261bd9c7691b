package api

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/batch"
	"github.com/waybillhq/waybill/internal/privacy"
	"github.com/waybillhq/waybill/internal/seal"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/internal/store/storetest"
)

// orderFor is the body of a shipment to a person.
func orderFor(order, email, phone string) string {
	return `{"orderId":"` + order + `","destination":{"name":"Grace Hopper","address1":"1 Navy Yard","city":"Austin","state":"TX","zip":"78701","country":"US","email":"` + email + `","phone":"` + phone + `"},"parcel":{"weight":4.2}}`
}

// eraseAll works on an erasure until it is done or waits.
func (b *bench) eraseAll(id any) {
	b.Helper()
	erasure, _ := ship.ParseErasureID(id.(string))
	for range 50 {
		again, err := b.privacy.WorkErasure(b.Context(), ship.Tenant{Account: b.owner}, erasure)
		if err != nil {
			b.Fatal(err)
		}
		if again == 0 || again == time.Minute {
			return
		}
	}
	b.Fatal("the erasure does not end")
}

func (b *bench) nameOf(id any) any {
	b.Helper()
	shown, _ := b.do(http.StatusOK, "GET", "/v1/shipments/"+id.(string), "")
	return shown["destination"].(map[string]any)["name"]
}

func TestContractErasuresNeedTheirScopeAndOnePerson(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, scopes := range [][]string{{"shipments:read", "shipments:write", "labels", "events", "webhooks"}} {
		key := b.newKey(false, scopes...)
		for _, request := range [][3]string{{"POST", "/v1/erasures", `{"email":"a@example.com"}`}, {"GET", "/v1/erasures", ""}, {"GET", "/v1/erasures/ers_01KJMBQDHV00G2N6V3T9RZKXB4", ""}} {
			if w := send(b.handler, request[0], request[1], key, request[2]); w.Code != http.StatusForbidden || !strings.Contains(w.Body.String(), "insufficient_scope") {
				t.Errorf("%v without the scope: %d %s", request, w.Code, w.Body)
			}
		}
	}
	b.key = b.newKey(false, "privacy")
	for _, body := range []string{`{}`, `{"email":"a@example.com","phone":"2025550123"}`, `{"email":"nobody"}`, `{"phone":"12"}`, `{"name":"Ada"}`} {
		b.do(http.StatusUnprocessableEntity, "POST", "/v1/erasures", body)
	}
	for _, id := range []string{"x", "shp_01KJMBQDHV00G2N6V3T9RZKXB4"} {
		if p, _ := b.do(http.StatusNotFound, "POST", "/v1/erasures", `{"shipmentId":"`+id+`"}`); p["code"] != "shipment_not_found" {
			t.Errorf("%v", p)
		}
	}
	if p, _ := b.do(http.StatusNotFound, "GET", "/v1/erasures/ers_01KJMBQDHV00G2N6V3T9RZKXB4", ""); p["code"] != "erasure_not_found" {
		t.Errorf("%v", p)
	}
}

func TestContractAnErasureFindsThePersonInTheAccountAlone(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	made := map[string]any{}
	for name, body := range map[string]string{
		"mine":     orderFor("1", "Grace@Example.com", "+1 (512) 555-0142"),
		"national": orderFor("2", "", "512-555-0142"),
		"other":    orderFor("3", "grace@example.org", "+49 512 555 0199"),
	} {
		sh, _ := b.do(http.StatusCreated, "POST", "/v1/shipments", body)
		made[name] = sh["id"]
	}
	stranger := newBench(t)
	theirs, _ := stranger.do(http.StatusCreated, "POST", "/v1/shipments", orderFor("1", "grace@example.com", ""))
	_ = theirs

	e, w := b.do(http.StatusAccepted, "POST", "/v1/erasures", `{"email":"GRACE@example.com"}`)
	if w.Header().Get("Location") != "/v1/erasures/"+e["id"].(string) || e["status"] != "pending" {
		t.Errorf("%v %v", e, w.Header())
	}
	b.eraseAll(e["id"])
	if b.nameOf(made["mine"]) != nil || b.nameOf(made["national"]) == nil || b.nameOf(made["other"]) == nil {
		t.Error("by e-mail: the wrong shipments are erased")
	}
	shown, _ := b.do(http.StatusOK, "GET", "/v1/shipments/"+made["mine"].(string), "")
	if to := shown["destination"].(map[string]any); to["city"] != "Austin" || to["zip"] != "78701" || len(to) != 4 {
		t.Errorf("what is left of the address: %v", to)
	}

	e, _ = b.do(http.StatusAccepted, "POST", "/v1/erasures", `{"phone":"+15125550142"}`)
	b.eraseAll(e["id"])
	if b.nameOf(made["national"]) != nil || b.nameOf(made["other"]) == nil {
		t.Error("by phone: the wrong shipments are erased")
	}
	e, _ = b.do(http.StatusOK, "GET", "/v1/erasures/"+e["id"].(string), "")
	if e["status"] != "done" || e["by"] != "phone" || e["finishedAt"] == nil || e["counts"].(map[string]any)["shipments"] != 1.0 {
		t.Errorf("%v", e)
	}

	e, _ = b.do(http.StatusAccepted, "POST", "/v1/erasures", `{"shipmentId":"`+made["other"].(string)+`"}`)
	b.eraseAll(e["id"])
	if b.nameOf(made["other"]) != nil {
		t.Error("by shipment: it is not erased")
	}
	list, _ := b.do(http.StatusOK, "GET", "/v1/erasures?limit=2", "")
	if data := list["data"].([]any); len(data) != 2 || list["nextCursor"] == nil || data[0].(map[string]any)["id"] != e["id"] {
		t.Errorf("%v", list)
	}

	// Neither the erasures nor the audit log name anybody.
	owned := storetest.Conn(t, b.store.System().Config().ConnString())
	for _, table := range []string{"erasures", "audit_log", "river_job", "idempotency_keys"} {
		var text string
		if err := owned.QueryRow(t.Context(), "SELECT coalesce(string_agg(t::text, ' '), '') FROM "+table+" t").Scan(&text); err != nil {
			t.Fatal(err)
		}
		for _, secret := range []string{"grace", "5550142", "hopper"} {
			if strings.Contains(strings.ToLower(text), secret) {
				t.Errorf("%s is in %s", secret, table)
			}
		}
	}
}

// TestContractAnErasureOutlivesItsProcess continues an erasure of many shipments
// with a new service after each portion, as a process that is killed leaves it.
func TestContractAnErasureOutlivesItsProcess(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var ids []any
	for i := range 120 {
		sh, _ := b.do(http.StatusCreated, "POST", "/v1/shipments", orderFor(fmt.Sprint(i), "grace@example.com", ""))
		ids = append(ids, sh["id"])
	}
	e, _ := b.do(http.StatusAccepted, "POST", "/v1/erasures", `{"email":"grace@example.com"}`, "Idempotency-Key: once")
	if again, _ := b.do(http.StatusAccepted, "POST", "/v1/erasures", `{"email":"grace@example.com"}`, "Idempotency-Key: once"); again["id"] != e["id"] {
		t.Errorf("the same key makes another erasure: %v and %v", e["id"], again["id"])
	}

	id, _ := ship.ParseErasureID(e["id"].(string))
	tenant := ship.Tenant{Account: b.owner}
	portions := 0
	for done := false; !done; portions++ {
		box, err := seal.New([]byte("0123456789abcdef0123456789abcdef"))
		if err != nil {
			t.Fatal(err)
		}
		fresh := privacy.New(privacy.Config{Store: b.store, Box: box, RedactCells: batch.RedactCells})
		erasure, err := fresh.Continue(t.Context(), tenant, id)
		if err != nil || portions > 100 {
			t.Fatalf("portion %d: %v", portions, err)
		}
		done = erasure.State == store.ErasureDone
	}
	if portions < 5 {
		t.Errorf("only %d portions", portions)
	}
	for _, id := range ids {
		if b.nameOf(id) != nil {
			t.Fatalf("%s is not erased", id)
		}
	}
	if e, _ = b.do(http.StatusOK, "GET", "/v1/erasures/"+e["id"].(string), ""); e["counts"].(map[string]any)["shipments"] != 120.0 {
		t.Errorf("%v", e)
	}
}

// TestContractAnErasureWaitsForOpenPurchases erases a shipment whose purchase is
// not settled: it needs the address, and is erased once it is.
func TestContractAnErasureWaitsForOpenPurchases(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	sh, _ := b.do(http.StatusCreated, "POST", "/v1/shipments", orderFor("1", "grace@example.com", ""))
	owned := storetest.Conn(t, b.store.System().Config().ConnString())
	if _, err := owned.Exec(t.Context(), "SET ROLE waybill_sys; UPDATE shipment_states SET state = 'uncertain'"); err != nil {
		t.Fatal(err)
	}

	e, _ := b.do(http.StatusAccepted, "POST", "/v1/erasures", `{"email":"grace@example.com"}`)
	b.eraseAll(e["id"])
	e, _ = b.do(http.StatusOK, "GET", "/v1/erasures/"+e["id"].(string), "")
	if e["status"] != "waiting" || e["counts"].(map[string]any)["open"] != 1.0 || b.nameOf(sh["id"]) == nil {
		t.Fatalf("while the purchase is open: %v", e)
	}

	if _, err := owned.Exec(t.Context(), "UPDATE shipment_states SET state = 'purchased'"); err != nil {
		t.Fatal(err)
	}
	b.eraseAll(e["id"])
	if e, _ = b.do(http.StatusOK, "GET", "/v1/erasures/"+e["id"].(string), ""); e["status"] != "done" || b.nameOf(sh["id"]) != nil {
		t.Errorf("after it was settled: %v", e)
	}
}

func TestContractAnExportHasWhatIsHeld(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	sh, _ := b.do(http.StatusCreated, "POST", "/v1/shipments", orderFor("1", "grace@example.com", ""))
	b.do(http.StatusCreated, "POST", "/v1/shipments", specBody)
	b.askForReturn(sh["id"].(string))
	tenant := ship.Tenant{Account: b.owner}
	line := store.Batch{ID: ship.NewBatchID(7, time.Now()), Tenant: tenant, Name: "orders.csv", State: "mapping", Header: []string{"mail", "note"}, Mapping: []byte("{}")}
	if err := b.store.AddBatch(t.Context(), line, [][]string{{"GRACE@example.com", "call first"}, {"ada@example.com", "no"}}); err != nil {
		t.Fatal(err)
	}

	// What clients of /v2 create, and a pickup at the person's place.
	address := store.CompatObject{
		ID:         ship.NewBatchID(7, time.Now()).Raw(),
		Kind:       "address",
		Body:       []byte(`{"name":"Grace Hopper","email":"Grace@example.com","federal_tax_id":"US-7"}`),
		KeyVersion: 2,
		ExpiresAt:  time.Now().Add(time.Hour),
	}
	other := address
	other.ID = ship.NewBatchID(7, time.Now().Add(time.Millisecond)).Raw()
	other.Body = []byte(`{"name":"Ada Lovelace","email":"ada@example.com"}`)
	if err := b.store.AddCompatObjects(t.Context(), tenant, address, other); err != nil {
		t.Fatal(err)
	}
	pickup := store.Pickup{
		ID:        ship.NewPickupID(7, time.Now()),
		Tenant:    tenant,
		Carrier:   "ups",
		PlaceHash: []byte{1},
		Order: ship.PickupOrder{
			Address:         ship.Address{Name: "G. Hopper", Email: "grace@example.com"},
			Instructions:    "ring twice",
			TrackingNumbers: []string{"1ZNEIGHBOUR"},
		},
	}
	if err := b.store.AddPickup(t.Context(), pickup); err != nil {
		t.Fatal(err)
	}

	for _, body := range []string{`{}`, `{"email":"a@example.com","phone":"2025550123"}`, `{"shipmentId":"` + sh["id"].(string) + `"}`} {
		b.do(http.StatusUnprocessableEntity, "POST", "/v1/exports", body)
	}
	e, _ := b.do(http.StatusAccepted, "POST", "/v1/exports", `{"email":"Grace@example.com"}`, "Idempotency-Key: export")
	path := "/v1/exports/" + e["id"].(string)
	if again, _ := b.do(http.StatusAccepted, "POST", "/v1/exports", `{"email":"Grace@example.com"}`, "Idempotency-Key: export"); again["id"] != e["id"] {
		t.Errorf("the same key makes another export: %v", again)
	}
	if p, _ := b.do(http.StatusConflict, "GET", path+"/file", ""); p["code"] != "export_not_ready" {
		t.Errorf("%v", p)
	}

	id, _ := ship.ParseExportID(e["id"].(string))
	for range 2 { // a job that is repeated changes nothing
		if err := b.privacy.WorkExport(t.Context(), tenant, id); err != nil {
			t.Fatal(err)
		}
	}
	e, _ = b.do(http.StatusOK, "GET", path, "")
	if e["status"] != "done" || e["fileUrl"] != testBase+path+"/file" || e["expiresAt"] == nil || fmt.Sprint(e["counts"]) != "map[compatObjects:1 lines:1 pickups:1 returnRequests:1 shipments:1 trackers:0]" {
		t.Fatalf("%v", e)
	}
	file, w := b.do(http.StatusOK, "GET", path+"/file", "")
	text := w.Body.String()
	for _, held := range []string{"Grace Hopper", "1 Navy Yard", "grace@example.com", sh["trackingNumber"].(string), "Label generated", "call first", `"label": {`, "US-7", "ring twice", `"email": "jane@example.com"`} {
		if !strings.Contains(text, held) {
			t.Errorf("the file lacks %q", held)
		}
	}
	if strings.Contains(text, "Ada Lovelace") || strings.Contains(text, "ada@example.com") || strings.Contains(text, "1ZNEIGHBOUR") || len(file["shipments"].([]any)) != 1 || !strings.Contains(w.Header().Get("Content-Disposition"), "attachment") {
		t.Errorf("the file has another person, or is shown: %v %s", w.Header(), text)
	}

	// Another account, and a key without the scope, do not get it.
	if w := send(b.handler, "GET", path+"/file", b.newKey(false, "shipments:read"), ""); w.Code != http.StatusForbidden {
		t.Errorf("without the scope: %d", w.Code)
	}
	if w := send(b.handler, "GET", path+"/file", b.newKey(true), ""); w.Code != http.StatusNotFound {
		t.Errorf("in the other mode: %d", w.Code)
	}

	// Nothing is stored in clear, and an erasure deletes the file. A pickup that is not
	// over needs its address.
	owned := storetest.Conn(t, b.store.System().Config().ConnString())
	var row string
	if err := owned.QueryRow(t.Context(), "SELECT encode(encrypted_file, 'escape') || coalesce(encode(encrypted_subject, 'escape'), '') || counts::text FROM exports").Scan(&row); err != nil || strings.Contains(row, "race") {
		t.Errorf("the row is readable: %v", err)
	}
	erasure, _ := b.do(http.StatusAccepted, "POST", "/v1/erasures", `{"email":"grace@example.com"}`)
	b.eraseAll(erasure["id"])
	if p, _ := b.do(http.StatusGone, "GET", path+"/file", ""); p["code"] != "export_expired" {
		t.Errorf("after the erasure: %v", p)
	}
	if e, _ := b.do(http.StatusOK, "GET", "/v1/erasures/"+erasure["id"].(string), ""); e["status"] != "waiting" || e["counts"].(map[string]any)["open"] != 1.0 {
		t.Errorf("while the pickup is open: %v", e)
	}
	if _, err := owned.Exec(t.Context(), "UPDATE pickups SET state = 'failed', error_message = 'no Grace here'"); err != nil {
		t.Fatal(err)
	}
	b.eraseAll(erasure["id"])
	if e, _ := b.do(http.StatusOK, "GET", "/v1/erasures/"+erasure["id"].(string), ""); e["status"] != "done" || e["counts"].(map[string]any)["pickups"] != 1.0 {
		t.Errorf("after the pickup ended: %v", e)
	}
	var left string
	err := owned.QueryRow(t.Context(), "SELECT (SELECT string_agg(p::text, '') FROM pickups p) || (SELECT string_agg(c::text, '') FROM compat_objects c)").Scan(&left)
	if err != nil || strings.Contains(strings.ToLower(left), "grace") || strings.Contains(left, "ring twice") || !strings.Contains(left, "Ada Lovelace") {
		t.Errorf("after the erasure: %s, %v", left, err)
	}
}

// TestContractAnAccountMayKeepLess erases what is older than the account keeps,
// and leaves the rest and other accounts alone.
func TestContractAnAccountMayKeepLess(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	tenant := ship.Tenant{Account: b.owner}
	young, _ := b.do(http.StatusCreated, "POST", "/v1/shipments", orderFor("1", "grace@example.com", ""))
	if err := store.MaintainPartitions(t.Context(), b.store.System().Config().ConnString(), time.Now().AddDate(0, 0, -40), nil); err != nil {
		t.Fatal(err)
	}
	old := map[string]ship.ShipmentID{}
	for name, days := range map[string]int{"labels": 10, "all": 40} {
		shipment := storetest.Shipment(tenant, name)
		shipment.ID = ship.NewShipmentID(tenant.Shard(), time.Now().AddDate(0, 0, -days))
		if _, err := b.store.Create(t.Context(), storetest.Bought(shipment, "1Z"+name)); err != nil {
			t.Fatal(err)
		}
		old[name] = shipment.ID
	}
	for _, wrong := range []store.AccountRetention{{Account: b.owner, Personal: 29}, {Account: b.owner, Labels: -1}} {
		if err := b.privacy.SetRetention(t.Context(), wrong); ship.KindOf(err) != ship.Invalid {
			t.Errorf("%+v: %v", wrong, err)
		}
	}
	label := func(id any) int { return send(b.handler, "GET", fmt.Sprintf("/v1/labels/%s.pdf", id), b.key, "").Code }

	for range 2 { // without a choice nothing is erased
		if err := b.privacy.EraseExpired(t.Context()); err != nil {
			t.Fatal(err)
		}
		if b.nameOf(string(old["all"])) == nil || label(old["labels"]) == http.StatusGone {
			t.Fatal("erased without a choice")
		}
	}
	if err := b.privacy.SetRetention(t.Context(), store.AccountRetention{Account: b.owner, Personal: 30, Labels: 7}); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second run has nothing to do
		if err := b.privacy.EraseExpired(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if b.nameOf(string(old["all"])) != nil || label(old["all"]) != http.StatusGone {
		t.Error("40 days old: personal data or label is left")
	}
	if b.nameOf(string(old["labels"])) == nil || label(old["labels"]) != http.StatusGone {
		t.Error("10 days old: the label alone should be gone")
	}
	if b.nameOf(young["id"]) == nil || label(young["id"]) != http.StatusOK {
		t.Error("a young shipment is erased")
	}
}

// TestContractShipmentsAreKeptForAsLongAsTheInstallationKeepsThem erases the
// personal data of a shipment that is too old, and drops one whose whole year is.
func TestContractShipmentsAreKeptForAsLongAsTheInstallationKeepsThem(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	tenant := ship.Tenant{Account: b.owner}
	b.privacy.Keep = 400 * 24 * time.Hour
	young, _ := b.do(http.StatusCreated, "POST", "/v1/shipments", orderFor("1", "grace@example.com", ""))

	url := b.store.System().Config().ConnString()
	expired := time.Now().Add(-b.privacy.Keep - time.Minute)
	longAgo := time.Date(time.Now().Year()-3, 6, 1, 0, 0, 0, 0, time.UTC)
	ids := map[string]ship.ShipmentID{}
	for name, at := range map[string]time.Time{"expired": expired, "dropped": longAgo} {
		if err := store.MaintainPartitions(t.Context(), url, at, nil); err != nil {
			t.Fatal(err)
		}
		shipment := storetest.Shipment(tenant, name)
		shipment.ID = ship.NewShipmentID(tenant.Shard(), at)
		if _, err := b.store.Create(t.Context(), storetest.Bought(shipment, "1Z"+name)); err != nil {
			t.Fatal(err)
		}
		ids[name] = shipment.ID
	}
	owner := storetest.Conn(t, url)
	if _, err := owner.Exec(t.Context(), "UPDATE shipment_states SET purchased_at = '2020-01-01', last_event_at = '2020-01-01' WHERE tracking_number LIKE '1Z%'"); err != nil {
		t.Fatal(err)
	}

	// A year that is not in the archive yet stays.
	b.privacy.IsKept = func(store.Partition) bool { return false }
	if err := b.privacy.ExpireShipments(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.do(http.StatusOK, "GET", "/v1/shipments/"+string(ids["dropped"]), "")
	b.privacy.IsKept = func(store.Partition) bool { return true }

	for range 2 { // the second run has nothing to do
		if err := b.privacy.EraseExpired(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := b.privacy.ExpireShipments(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if b.nameOf(string(ids["expired"])) != nil {
		t.Error("after 400 days the name is still there")
	}
	if b.nameOf(young["id"]) == nil {
		t.Error("a young shipment is erased")
	}

	gone := string(ids["dropped"])
	for path, code := range map[string]string{"/v1/shipments/" + gone: "shipment_not_found", "/v1/tracking/1Zdropped": "", "/v1/labels/" + gone + ".pdf": ""} {
		if _, w := b.do(http.StatusNotFound, "GET", path, ""); !strings.Contains(w.Body.String(), code) {
			t.Errorf("%s: %s", path, w.Body)
		}
	}
	b.do(http.StatusNotFound, "POST", "/v1/shipments/"+gone+"/void", "")
	b.do(http.StatusNotFound, "POST", "/v1/erasures", `{"shipmentId":"`+gone+`"}`)
	for _, path := range []string{"/v1/shipments", "/v1/shipments?orderId=dropped", "/v1/events"} {
		if _, w := b.do(http.StatusOK, "GET", path, ""); strings.Contains(w.Body.String(), gone) {
			t.Errorf("%s still has it: %s", path, w.Body)
		}
	}
}

// TestContractTheRetentionOfAnAccount is chosen with a live key and the scope, and
// holds in both modes.
func TestContractTheRetentionOfAnAccount(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	test := b.key
	b.key = b.newKey(true, "privacy")
	if got, _ := b.do(http.StatusOK, "GET", "/v1/retention", ""); len(got) != 0 {
		t.Errorf("before a choice: %v", got)
	}
	for _, body := range []string{`{"personalDataDays":29}`, `{"personalDataDays":0}`, `{"labelDays":0}`, `{"labelDays":3651}`, `{"labelDays":"1"}`, `{"days":30}`} {
		if w := send(b.handler, "PUT", "/v1/retention", b.key, body); w.Code != http.StatusUnprocessableEntity {
			t.Errorf("%s: %d %s", body, w.Code, w.Body)
		}
	}
	b.do(http.StatusOK, "PUT", "/v1/retention", `{"personalDataDays":90,"labelDays":30}`)
	for _, key := range []string{b.key, test} {
		if w := send(b.handler, "GET", "/v1/retention", key, ""); w.Code != http.StatusOK || w.Body.String() != `{"personalDataDays":90,"labelDays":30}` {
			t.Errorf("%d %s", w.Code, w.Body)
		}
	}

	// What is left out is no longer chosen.
	b.do(http.StatusOK, "PUT", "/v1/retention", `{"labelDays":7}`)
	if kept, err := b.privacy.Retention(t.Context(), b.owner); err != nil || kept != (store.AccountRetention{Account: b.owner, Labels: 7}) {
		t.Errorf("%+v, %v", kept, err)
	}

	for _, refused := range []struct{ key, code string }{{test, "live_key_required"}, {b.newKey(true, "shipments:read"), "insufficient_scope"}} {
		if w := send(b.handler, "PUT", "/v1/retention", refused.key, `{}`); w.Code != http.StatusForbidden || !strings.Contains(w.Body.String(), refused.code) {
			t.Errorf("want %s: %d %s", refused.code, w.Code, w.Body)
		}
	}
	if kept, err := b.privacy.Retention(t.Context(), b.owner); err != nil || kept.Labels != 7 {
		t.Errorf("after refusals: %+v, %v", kept, err)
	}
}

// TestContractTrackersThatNameAPersonAreErasedAndExported has carriers write names into
// the scans of trackers: who is erased is looked for there, too.
func TestContractTrackersThatNameAPersonAreErasedAndExported(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	tenant := ship.Tenant{Account: b.owner}
	b.do(http.StatusCreated, "POST", "/v1/shipments", orderFor("1", "grace@example.com", ""))
	owner := storetest.Conn(t, b.store.System().Config().ConnString())
	follow := func(number, description string) ship.TrackerID {
		id, _, err := b.store.Follow(t.Context(), tenant, ship.NewKeyID(7, time.Now()), ship.NewTrackerID(tenant.Shard(), time.Now()), number, "ups")
		if err != nil {
			t.Fatal(err)
		}
		_, err = owner.Exec(t.Context(), `INSERT INTO tracking_events (subject_id, account_id, livemode, piece, code, occurred_at, status, description, raw)
			VALUES ($1, $2, false, 0, 'DL', now(), 'delivered', $3, json_build_object('text', $3::text))`, [16]byte(id.Raw()), [16]byte(b.owner.Raw()), description)
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	signed := follow("1ZSIGNED", "Signed by GRACE HOPPER")
	other := follow("1ZOTHER", "Signed by Ada Lovelace")

	made, _ := b.do(http.StatusAccepted, "POST", "/v1/exports", `{"email":"grace@example.com"}`)
	export, _ := ship.ParseExportID(made["id"].(string))
	if err := b.privacy.WorkExport(t.Context(), tenant, export); err != nil {
		t.Fatal(err)
	}
	if _, w := b.do(http.StatusOK, "GET", "/v1/exports/"+string(export)+"/file", ""); !strings.Contains(w.Body.String(), "Signed by GRACE HOPPER") || strings.Contains(w.Body.String(), "Lovelace") {
		t.Errorf("the file has %s", w.Body)
	}

	made, _ = b.do(http.StatusAccepted, "POST", "/v1/erasures", `{"email":"grace@example.com"}`)
	b.eraseAll(made["id"])
	shown, _ := b.do(http.StatusOK, "GET", "/v1/erasures/"+made["id"].(string), "")
	if counts := shown["counts"].(map[string]any); shown["status"] != "done" || counts["trackers"] != 1.0 {
		t.Errorf("erasure %v", shown)
	}
	for id, want := range map[ship.TrackerID]bool{signed: false, other: true} {
		var texts string
		err := owner.QueryRow(t.Context(), "SELECT string_agg(description || coalesce(raw::text, ''), ' ') FROM tracking_events WHERE subject_id = $1", [16]byte(id.Raw())).Scan(&texts)
		if err != nil || strings.Contains(texts, "Signed by") != want {
			t.Errorf("%s has %q, %v", id, texts, err)
		}
	}

	// The other one goes when it is old.
	b.privacy.Keep = time.Nanosecond
	time.Sleep(2 * time.Millisecond)
	if err := b.privacy.EraseExpired(t.Context()); err != nil {
		t.Fatal(err)
	}
	var left int
	if err := owner.QueryRow(t.Context(), "SELECT count(*) FROM tracking_events WHERE description LIKE 'Signed by%'").Scan(&left); err != nil || left > 0 {
		t.Errorf("%d scans are left after their time, %v", left, err)
	}
}
