package app_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/app"
	"github.com/waybillhq/waybill/internal/config"
	"github.com/waybillhq/waybill/internal/seal"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/internal/store/storetest"
	"github.com/waybillhq/waybill/internal/tracking"
	"github.com/waybillhq/waybill/test/proving"
)

// The canaries: every personal field of the test has one of these in it.
const (
	canaryEmail = "quetzalina@kanari.example"
	canaryTo    = `{"name":"Quetzalina Kanari","company":"Quetzal Trading","address1":"77 Quetzal Street","address2":"Quetzal Suite 4","city":"New York","state":"NY","zip":"10118","country":"US","phone":"2125550177","email":"` + canaryEmail + `"}`
	canaryAway  = `{"name":"Quetzalina Kanari","company":"Quetzal Trading","address1":"Quetzalstrasse 7","address2":"Quetzalhof","city":"Berlin","zip":"10115","country":"DE","phone":"+4930125550177","email":"` + canaryEmail + `"}`
	canaryFrom  = `{"name":"Quetzalio Sender","company":"Quetzal Shop","address1":"12 Quetzal Road","city":"Los Angeles","state":"CA","zip":"90015","country":"US","phone":"2135550188","email":"quetzalio@kanari.example"}`
	canaryOwes  = `,"customs":{"contentsType":"merchandise","incoterm":"DAP","signer":"Quetzal Signer","invoiceNumber":"INV-1","taxIdentifiers":[{"type":"eori","number":"DEQUETZAL0099","country":"DE","party":"recipient"}],"items":[{"description":"Cotton shirt","quantity":2,"value":{"amount":"20.00","currency":"USD"},"weight":0.5,"hsCode":"610910","originCountry":"US"}]}`
	canaryMeta  = `,"metadata":{"gift":"quetzal birthday greetings"}`
)

// canary finds the canaries in any case, and the digits of the phones.
var canary = regexp.MustCompile(`(?i)quetzal|k\\u0061nari|kanari|2125550177|30125550177|2135550188`)

// privacyWorld is the program with carriers, a receiver of webhooks that repeats
// what it gets, and everything that it writes.
type privacyWorld struct {
	*testing.T
	app    running
	cfg    config.Config
	tenant ship.Tenant
	key    string
	ups    ship.ConnectionID
	db     *pgx.Conn
	logs   string
	signs  []byte

	columns int // that were searched the last time
	answers int // of the API that were read afterwards
}

func newPrivacyWorld(t *testing.T) (*privacyWorld, map[string]ship.ConnectionID) {
	t.Helper()
	w := &privacyWorld{T: t, logs: filepath.Join(t.TempDir(), "log")}
	var connections map[string]ship.ConnectionID
	w.cfg, w.tenant, w.key, connections = connectStandIns(t)
	w.ups = connections["ups"]
	w.cfg.WebhookLoopback = true
	w.cfg.LogLevel = slog.LevelDebug
	w.cfg.RequestTimeout = 3 * time.Second
	w.cfg.PurchaseTimeout = 2 * time.Second
	w.cfg.QuoteTimeout = 2 * time.Second

	// The program logs to standard error, as it was when it started.
	file, err := os.Create(w.logs)
	if err != nil {
		t.Fatal(err)
	}
	before := os.Stderr
	os.Stderr = file
	w.app = run(t, w.cfg, app.AllRoles)
	os.Stderr = before

	w.db = storetest.Conn(t, w.cfg.DatabaseURL)
	if err := w.db.QueryRow(t.Context(), "SELECT signing_key FROM instance").Scan(&w.signs); err != nil {
		t.Fatal(err)
	}
	return w, connections
}

// do sends a request, and returns its answer as text and as JSON.
func (w *privacyWorld) do(status int, method, path, body string, header ...string) (string, map[string]any) {
	w.Helper()
	r, err := http.NewRequestWithContext(w.Context(), method, w.app.LocalURL()+path, strings.NewReader(body))
	if err != nil {
		w.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+w.key)
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		w.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		w.Fatal(err)
	}
	if resp.StatusCode != status {
		w.Fatalf("%s %s: %d, want %d: %.600s", method, path, resp.StatusCode, status, text)
	}
	var parsed map[string]any
	_ = json.Unmarshal(text, &parsed)
	return string(text), parsed
}

// eventually repeats a check until it holds.
func (w *privacyWorld) eventually(what string, within time.Duration, holds func() bool, instead ...func() string) {
	w.Helper()
	for deadline := time.Now().Add(within); !holds(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			for _, describe := range instead {
				what += ", but " + describe()
			}
			w.Fatalf("after %s still not: %s", within, what)
		}
	}
}

func (w *privacyWorld) exec(sql string, args ...any) {
	w.Helper()
	tag, err := w.db.Exec(w.Context(), sql, args...)
	if err != nil {
		w.Fatalf("%s: %v", sql, err)
	}
	if tag.RowsAffected() == 0 {
		w.Fatalf("%s changed nothing", sql)
	}
}

func (w *privacyWorld) count(sql string) (n int) {
	w.Helper()
	if err := w.db.QueryRow(w.Context(), sql).Scan(&n); err != nil {
		w.Fatalf("%s: %v", sql, err)
	}
	return n
}

// holding returns the columns of all tables in which a canary is found: as text,
// in compressed bytes, or as base64.
func (w *privacyWorld) holding() []string {
	w.Helper()
	rows, err := w.db.Query(w.Context(), `
		SELECT table_name, column_name, data_type FROM information_schema.columns
		WHERE table_schema = current_schema() AND data_type NOT IN ('uuid', 'boolean', 'smallint', 'integer', 'bigint', 'timestamp with time zone')
		ORDER BY 1, 2`)
	if err != nil {
		w.Fatal(err)
	}
	columns, err := pgx.CollectRows(rows, func(r pgx.CollectableRow) (c [3]string, err error) {
		err = r.Scan(&c[0], &c[1], &c[2])
		return c, err
	})
	if err != nil || len(columns) < 100 {
		w.Fatalf("%d columns, %v", len(columns), err)
	}

	w.columns = len(columns)
	partition := regexp.MustCompile(`_[0-9]{4,8}$`)
	var found []string
	for _, c := range columns {
		name := partition.ReplaceAllString(c[0], "") + "." + c[1]
		value := fmt.Sprintf("convert_to(%q::text, 'UTF8')", c[1])
		if c[2] == "bytea" {
			value = fmt.Sprintf("%q", c[1])
		}
		rows, err := w.db.Query(w.Context(), fmt.Sprintf("SELECT %s FROM %q WHERE %q IS NOT NULL", value, c[0], c[1]))
		if err != nil {
			w.Fatal(err)
		}
		for rows.Next() {
			var data []byte
			if err := rows.Scan(&data); err != nil {
				w.Fatal(err)
			}
			if hasCanary(data) && !slices.Contains(found, name) {
				found = append(found, name)
			}
		}
		if rows.Err() != nil {
			w.Fatal(rows.Err())
		}
	}
	slices.Sort(found)
	return found
}

func hasCanary(data []byte) bool {
	if canary.Match(data) {
		return true
	}
	if zip, err := gzip.NewReader(bytes.NewReader(data)); err == nil {
		if text, err := io.ReadAll(zip); err == nil && hasCanary(text) {
			return true
		}
	}
	for _, c := range []string{"Quetzal", "quetzal", "QUETZAL"} {
		for shift := range 3 {
			text := base64.RawStdEncoding.EncodeToString([]byte(strings.Repeat("x", shift) + c))
			if bytes.Contains(data, []byte(text[(shift*8+5)/6:len(text)-2])) {
				return true
			}
		}
	}
	return false
}

// recoveryLog reports whether the log on the disk has a canary.
func (w *privacyWorld) recoveryLog() (found bool) {
	w.Helper()
	box, err := seal.New(w.signs)
	if err != nil {
		w.Fatal(err)
	}
	entries, err := seal.OpenRecoveryLog(filepath.Join(w.cfg.SpoolDir, "recovery-log"), box, time.Hour)
	if err != nil {
		w.Fatal(err)
	}
	n := 0
	err = entries.Each(w.Context(), func(data []byte) error {
		n++
		found = found || hasCanary(data)
		return nil
	})
	if err != nil || n == 0 {
		w.Fatalf("%d entries of the recovery log, %v", n, err)
	}
	return found
}

// push sends what UPS sends when a parcel was handed over to somebody.
func (w *privacyWorld) push(number, day string) {
	w.Helper()
	body := `{"trackingNumber":"` + number + `","localActivityDate":"` + day + `","localActivityTime":"091519",` +
		`"activityLocation":{"city":"NEW YORK","stateProvince":"NY","country":"US"},` +
		`"activityStatus":{"type":"I","code":"OT","description":"Left with QUETZALINA KANARI","descriptionCode":"021"},"receivedBy":"QUETZALINA"}`
	w.do(http.StatusOK, "POST", tracking.PushPath(w.signs, w.ups), body, "Credential", tracking.PushSecret(w.signs, w.ups))
	w.eventually("pushes processed", 20*time.Second, func() bool { return w.count("SELECT count(*) FROM pending_pushes") == 0 })
}

// canaryBody is the body of a shipment to the person.
func canaryBody(order, to string, connection ship.ConnectionID, more string) string {
	return `{"orderId":"` + order + `","connectionId":"` + string(connection) + `","destination":` + to + `,"origin":` + canaryFrom +
		`,"parcel":{"weight":2.5,"dimensions":{"length":12,"width":9,"height":4}}` + canaryMeta + more + `}`
}

// TestAnErasedPersonIsFoundNowhere plants canaries in every field that takes
// personal data, uses the features of the program, erases the person, and looks
// for the canaries in every column of every table, in logs, on the disk, in
// metrics and in the answers of the API.
func TestAnErasedPersonIsFoundNowhere(t *testing.T) {
	w, connections := newPrivacyWorld(t)

	receiver := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if hasCanary(body) {
			rw.Header().Set("X-Echo", "Quetzal "+canaryEmail)
		}
		rw.Write(body)
	}))
	t.Cleanup(receiver.Close)
	w.do(http.StatusCreated, "POST", "/v1/webhooks", `{"url":"`+receiver.URL+`"}`)

	// Purchases, with papers and labels in every format.
	bodies := map[string]string{
		"ups":     canaryBody("C-1", canaryTo, connections["ups"], ""),
		"usps":    canaryBody("C-2", canaryTo, connections["usps"], ""),
		"abroad":  canaryBody("C-3", canaryAway, connections["dhl_express"], canaryOwes),
		"sandbox": strings.Replace(canaryBody("C-4", canaryTo, "", ""), `"connectionId":"",`, "", 1),
	}
	ids := map[string]string{}
	numbers := map[string]string{}
	for name, body := range bodies {
		_, made := w.do(http.StatusCreated, "POST", "/v1/shipments", body, "Idempotency-Key", "buy-"+name)
		ids[name] = made["id"].(string)
		numbers[name] = made["trackingNumber"].(string)
		w.do(http.StatusOK, "GET", "/v1/labels/"+ids[name]+".pdf", "")
		w.do(http.StatusOK, "POST", "/v1/shipments/"+ids[name]+"/duplicate", "", "Idempotency-Key", "again-"+name)
	}
	_, other := w.do(http.StatusCreated, "POST", "/v1/shipments", strings.NewReplacer(canaryTo, labelHome, canaryFrom, labelFrom, canaryMeta, "").Replace(bodies["ups"]))
	w.do(http.StatusOK, "POST", "/v1/rates", strings.NewReplacer(`"orderId":"C-1",`, "", canaryMeta, "", `"connectionId":"`+string(w.ups)+`",`, "").Replace(bodies["ups"]), "Idempotency-Key", "rates")
	w.do(http.StatusOK, "GET", "/v1/shipments?query=quetzalina", "")
	w.do(http.StatusNotFound, "GET", "/v1/shipments/"+canaryEmail, "")

	// Tracking with names, and a file of orders.
	w.push(numbers["ups"], "20260301")
	batchID := w.uploadBatch(ids["ups"])
	w.eventually("events delivered", 20*time.Second, func() bool { return w.count("SELECT count(*) FROM webhook_attempts") >= 9 })
	w.eventually("the search finds the person", 20*time.Second, func() bool {
		_, list := w.do(http.StatusOK, "GET", "/v1/shipments?query=quetzalina", "")
		return len(list["data"].([]any)) == len(ids)
	})
	w.eventually("the request log is written", 10*time.Second, func() bool {
		return w.count("SELECT count(*) FROM api_requests WHERE path LIKE '%@%'") > 0 && w.count("SELECT count(*) FROM carrier_exchanges") > 0
	})

	// What carriers and receivers rarely write, in rows that they did write.
	shipment, _ := ship.ParseShipmentID(ids["ups"])
	id := [16]byte(shipment.Raw())
	w.exec(`UPDATE shipments SET purchase = (purchase::jsonb || '{"warnings":["moved to 77 Quetzal Street"]}')::json WHERE id = $1`, id)
	w.exec(`UPDATE purchase_attempts SET error_message = 'no such street: 77 Quetzal Street' WHERE shipment_id = $1`, id)
	w.exec(`INSERT INTO orphaned_labels (account_id, livemode, carrier, tracking_number, shipment_id, attempt, found_by, state, purchase, message)
		SELECT account_id, livemode, 'ups', '1Z0', id, 1, 'lookup', 'void_declined', purchase, 'ask Quetzalina' FROM shipments WHERE id = $1`, id)
	w.exec(`INSERT INTO return_requests (account_id, livemode, id, shipment_id, reason, items, comment, email, language, paid_by, denial, error_message)
		SELECT account_id, livemode, gen_random_uuid(), id, 'Wrong size', 'the quetzal scarf', 'Quetzalina', '`+canaryEmail+`', 'en', 'account', 'Quetzalina', '77 Quetzal Street' FROM shipments WHERE id = $1`, id)
	w.exec(`INSERT INTO compat_objects (account_id, livemode, id, kind, reference, body, expires_at)
		SELECT account_id, livemode, gen_random_uuid(), 'address', '`+canaryEmail+`', '{"name":"Quetzalina"}', now() + interval '1 day' FROM shipments WHERE id = $1`, id)
	w.exec(`UPDATE carrier_exchanges SET url = url || '?to=Quetzal', error = 'Quetzal' WHERE shipment_id = $1`, id)
	w.exec(`UPDATE api_requests SET problem = convert_to('{"detail":"77 Quetzal Street"}', 'UTF8'), idempotency_key = '` + canaryEmail + `' WHERE path LIKE '%@%'`)
	w.exec(`UPDATE webhook_attempts SET error = 'no route to quetzalina@kanari.example'`)
	w.exec(`UPDATE batch_rows SET errors = '[{"field":"name","detail":"Quetzalina is too long"}]', request = '{"order":{"destination":{"name":"Quetzalina"}}}' WHERE row_number < 3`)
	w.exec(`INSERT INTO bulk_actions (account_id, livemode, id, kind, form_key, person_id, created_by)
		SELECT account_id, livemode, gen_random_uuid(), 'return', 'k', gen_random_uuid(), 'Dana' FROM shipments WHERE id = $1`, id)
	w.exec(`INSERT INTO bulk_action_rows (account_id, livemode, action_id, position, shipment_id, state, idempotency_key, error_message)
		SELECT account_id, livemode, id, 1, $1, 'failed', 'k', 'no such street: 77 Quetzal Street' FROM bulk_actions`, id)
	w.exec(`INSERT INTO document_submissions (account_id, livemode, id, shipment_id, position, type, carrier, state, error_message)
		SELECT account_id, livemode, id, id, 0, 'other', 'ups', 'failed', 'no such street: 77 Quetzal Street' FROM shipments WHERE id = $1`, id)
	w.exec(`INSERT INTO pickups (account_id, livemode, id, carrier, place_hash, day, state, request, booking, error_message)
		SELECT account_id, livemode, id, 'ups', 'x', current_date - 3, 'succeeded', '{"address":{"name":"Quetzalina Kanari","address1":"77 Quetzal Street","city":"New York"},"instructions":"ask Quetzalina"}',
			'{"confirmation":"P1","details":"77 Quetzal Street"}', 'no such street: 77 Quetzal Street' FROM shipments WHERE id = $1`, id)
	w.exec(`UPDATE shipment_states SET metadata = '{"note":"ask Quetzalina"}' WHERE id = $1`, id)
	w.exec(`INSERT INTO label_renderings (account_id, livemode, shipment_id, format, size, dpi, data)
		SELECT account_id, livemode, id, 'zpl', '4x6', 203, convert_to('^XA^FDQuetzalina^FS^XZ', 'UTF8') FROM shipments WHERE id = $1`, id)
	w.exec(`UPDATE pushes SET headers = '{"X-Note":["Quetzal"]}'`)
	w.exec(`UPDATE documents SET data = data || convert_to('invoice to Quetzalina', 'UTF8')`)

	// Every column that is said to be erased has a canary, and no other.
	var erased []string
	for _, group := range store.PersonalData {
		for _, column := range group.Columns {
			if group.Class == store.DataErased {
				erased = append(erased, group.Table+"."+column)
			}
		}
	}
	slices.Sort(erased)
	if found := w.holding(); !slices.Equal(found, erased) {
		t.Fatalf("before the erasure canaries are in\n%v\nand should be in\n%v", found, erased)
	}
	if !w.recoveryLog() {
		t.Fatal("the recovery log has no canary")
	}

	// The erasure, asked for twice under one key.
	first, made := w.do(http.StatusAccepted, "POST", "/v1/erasures", `{"email":"`+strings.ToUpper(canaryEmail)+`"}`, "Idempotency-Key", "erase")
	if second, _ := w.do(http.StatusAccepted, "POST", "/v1/erasures", `{"email":"`+strings.ToUpper(canaryEmail)+`"}`, "Idempotency-Key", "erase"); second != first {
		t.Errorf("repeated: %s, first %s", second, first)
	}
	w.eventually("the erasure is done", 60*time.Second, func() bool {
		_, made = w.do(http.StatusOK, "GET", "/v1/erasures/"+made["id"].(string), "")
		return made["status"] == "done"
	})
	if counts := made["counts"].(map[string]any); counts["shipments"] != float64(len(ids)) || counts["labels"] != float64(len(ids)) || counts["batch_rows"] != 2.0 {
		t.Errorf("counts %v", counts)
	}

	// Later arrivals: a push with a name, a delivery again, a void.
	w.push(numbers["ups"], "20260302")
	_, log := w.do(http.StatusOK, "GET", "/v1/events", "")
	event := log["data"].([]any)[0].(map[string]any)["id"].(string)
	w.do(http.StatusAccepted, "POST", "/v1/events/"+event+"/redeliver", "")
	w.do(http.StatusOK, "POST", "/v1/shipments/"+ids["usps"]+"/void", "")
	w.eventually("the recovery log is erased", 60*time.Second, func() bool { return !w.recoveryLog() })

	w.checkNothing(ids, numbers, bodies, batchID)
	if text, _ := w.do(http.StatusOK, "GET", "/v1/shipments/"+other["id"].(string), ""); !strings.Contains(text, "Ada Lovelace") {
		t.Errorf("another person was erased too: %s", text)
	}
	proving.Report(t, "security.json", nil, map[string]any{
		"planted": len(erased) + 1, // columns, and the recovery log
		"columns": w.columns,
		"answers": w.answers,
		"files":   3, // metrics, logs, the recovery log
		"found":   len(w.holding()),
	})
}

// uploadBatch stores a file with a line that was bought and one that was not.
func (w *privacyWorld) uploadBatch(shipment string) ship.BatchID {
	w.Helper()
	st, err := store.Open(w.Context(), store.Options{URL: w.cfg.DatabaseURL, Connections: 2})
	if err != nil {
		w.Fatal(err)
	}
	defer st.Close()
	batch := store.Batch{
		ID: ship.NewBatchID(7, time.Now()), Tenant: w.tenant, Name: "orders.csv", State: "ready", Header: []string{"order", "name", "street", "city", "e-mail", "note"},
		Mapping: []byte(`{"columns":["order","name","address1","city","email",""]}`),
	}
	lines := [][]string{
		{"C-1", "Quetzalina Kanari", "77 Quetzal Street", "New York", "", "quetzal"},
		{"C-9", "Q. Kanari", "Elsewhere 1", "Boston", canaryEmail, ""},
		{"D-1", "Ada Lovelace", "500 Main St", "Austin", "ada@example.com", ""},
	}
	if err := st.AddBatch(w.Context(), batch, lines); err != nil {
		w.Fatal(err)
	}
	id, _ := ship.ParseShipmentID(shipment)
	w.exec("UPDATE batch_rows SET state = 'purchased', shipment_id = $1 WHERE row_number = 1", [16]byte(id.Raw()))
	w.exec("UPDATE batch_rows SET state = 'rated' WHERE row_number > 1")
	return batch.ID
}

// checkNothing looks for canaries everywhere.
func (w *privacyWorld) checkNothing(ids, numbers, bodies map[string]string, batchID ship.BatchID) {
	w.Helper()
	answers := map[string]string{}
	read := func(method, path, body string, header ...string) {
		answers[method+" "+path], _ = w.do(http.StatusOK, method, path, body, header...)
	}
	for name, id := range ids {
		read("GET", "/v1/shipments/"+id, "")
		read("GET", "/v1/tracking/"+numbers[name], "")
		read("POST", "/v1/shipments/"+id+"/duplicate", "", "Idempotency-Key", "again-"+name)
		text, again := w.do(http.StatusCreated, "POST", "/v1/shipments", bodies[name], "Idempotency-Key", "buy-"+name)
		answers["the key of "+name] = text
		if again["id"] != id || again["trackingNumber"] != numbers[name] || again["destination"].(map[string]any)["city"] == "" {
			w.Errorf("the key of %s answers %s", name, text)
		}
		if _, problem := w.do(http.StatusGone, "GET", "/v1/labels/"+id+".pdf", ""); problem["code"] == "" {
			w.Errorf("the label of %s: %v", name, problem)
		}
	}
	for _, path := range []string{"/v1/shipments", "/v1/events?limit=100", "/v1/erasures", "/v1/webhooks"} {
		read("GET", path, "")
	}
	if _, list := w.do(http.StatusOK, "GET", "/v1/shipments?query=quetzalina", ""); len(list["data"].([]any)) != 0 {
		w.Errorf("the search still finds %v", list)
	}
	if n := w.count("SELECT count(*) FROM batch_rows WHERE state = 'skipped'"); n != 1 {
		w.Errorf("%d lines are skipped, want the one that was not bought", n)
	}
	w.answers = len(answers)
	for where, text := range answers {
		if hasCanary([]byte(text)) {
			w.Errorf("%s: %s in %s", where, canary.FindString(text), text)
		}
	}

	// What is buffered is written before the tables are read.
	time.Sleep(2 * time.Second)
	var found []string
	w.eventually("no column has a canary", 15*time.Second, func() bool {
		found = w.holding()
		return len(found) == 0
	}, func() string { return fmt.Sprint(found) })
	_, metrics := fetch(w.T, "http://"+w.app.MetricsAddr()+"/metrics", "")
	logs, err := os.ReadFile(w.logs)
	if err != nil || len(logs) == 0 {
		w.Fatalf("%d bytes of logs, %v", len(logs), err)
	}
	for where, text := range map[string][]byte{"metrics": metrics, "logs": logs} {
		if hasCanary(text) {
			w.Errorf("%s: %s", where, canary.Find(text))
		}
	}
}
