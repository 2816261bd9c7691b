package api

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/account"
	"github.com/waybillhq/waybill/internal/httpkit"
	"github.com/waybillhq/waybill/internal/label"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store/storetest"
)

const ndjson = "Content-Type: " + httpkit.NDJSON

// orderLine is the body of a shipment; more is added to it.
func orderLine(id, more string) string {
	return `{"orderId":"` + id + `","destination":{"name":"Ada Lovelace","address1":"500 Main St","city":"Austin","state":"TX","zip":"78701","country":"US"},` +
		`"parcel":{"weight":4.2}` + more + `}`
}

// orderLines are n shipments with the orders 0 to n-1.
func orderLines(n int) []string {
	lines := make([]string, n)
	for i := range lines {
		lines[i] = orderLine(fmt.Sprint("B-", i), "")
	}
	return lines
}

// idOf reads the id of the batch that the answer shows.
func (b *bench) idOf(w *httptest.ResponseRecorder) ship.BatchID {
	b.Helper()
	var made struct{ ID string }
	if err := json.Unmarshal(w.Body.Bytes(), &made); err != nil || w.Code != http.StatusAccepted {
		b.Fatalf("%d %s", w.Code, w.Body)
	}
	id, ok := ship.ParseBatchID(made.ID)
	if !ok {
		b.Fatalf("the id is %q", made.ID)
	}
	return id
}

// buyBatch does what the queue would, until every line is settled.
func (b *bench) buyBatch(id ship.BatchID, live bool) batchWithLines {
	b.Helper()
	tenant := ship.Tenant{Account: b.owner, Livemode: live}
	for range 1000 {
		_, failed := b.batch.Work(b.Context(), tenant, id)
		found, err := b.batch.Batch(b.Context(), tenant, id)
		if err != nil {
			b.Fatal(err)
		}
		if failed == nil && batchOf(found).Status == "done" {
			return b.lines(id, "limit=500")
		}
	}
	b.Fatal("the batch is never done")
	return batchWithLines{}
}

// lines reads a page of a batch with the bench's key.
func (b *bench) lines(id ship.BatchID, query string) (got batchWithLines) {
	b.Helper()
	w := send(b.handler, "GET", "/v1/batches/"+string(id)+"?"+query, b.key, "")
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || w.Code != http.StatusOK {
		b.Fatalf("%d %s", w.Code, w.Body)
	}
	return got
}

func (b *bench) count(sql string) (n int) {
	b.Helper()
	if err := storetest.Conn(b, b.store.System().Config().ConnString()).QueryRow(b.Context(), sql).Scan(&n); err != nil {
		b.Fatal(err)
	}
	return n
}

func TestABatchIsBoughtWithoutItsBadLines(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	lines := orderLines(1000)
	bad := map[int]string{
		7:   "/destination/zip",
		99:  "/destination/state",
		100: "/parcel",
		250: "/parcel/weight",
		333: "",
		400: "/colour",
		512: "/destination/country",
		640: "/maxAmount/amount",
		777: "/orderId",
		999: "/reference",
	}
	lines[7] = strings.Replace(lines[7], `"zip":"78701"`, `"zip":""`, 1)
	lines[99] = strings.Replace(lines[99], `"TX"`, `"Tixas"`, 1)
	lines[100] = strings.Replace(lines[100], `"parcel":{"weight":4.2}`, `"reference":"x"`, 1)
	lines[250] = strings.Replace(lines[250], "4.2", `"heavy"`, 1)
	lines[333] = `[1,2]`
	lines[400] = orderLine("B-400", `,"colour":"red"`)
	lines[512] = strings.Replace(lines[512], `"country":"US"`, `"country":"XX"`, 1)
	lines[640] = orderLine("B-640", `,"maxAmount":{"amount":"1.2345","currency":"USD"}`)
	lines[777] = strings.Replace(lines[777], `"orderId":"B-777"`, `"orderId":""`, 1)
	lines[999] = orderLine("B-999", `,"reference":"a\u0000b"`)

	start := time.Now()
	w := send(b.handler, "POST", "/v1/batches", b.key, strings.Join(lines, "\n")+"\n", ndjson)
	id := b.idOf(w)
	if w.Header().Get("Location") != "/v1/batches/"+string(id) || !strings.Contains(w.Body.String(), `"counts":{"total":1000,"pending":990,"bought":0,"failed":10,"needsReview":0,"skipped":0}`) {
		t.Errorf("%v %s", w.Header(), w.Body)
	}
	first := b.buyBatch(id, false)
	t.Logf("1,000 lines in %v", time.Since(start))
	if first.Status != "done" || first.Counts != (batchCounts{Total: 1000, Bought: 990, Failed: 10}) || b.count("SELECT count(*) FROM shipments") != 990 {
		t.Fatalf("%+v", first.Counts)
	}

	second := b.lines(id, "limit=500&cursor="+*first.NextCursor)
	if len(first.Lines) != 500 || len(second.Lines) != 500 || second.NextCursor != nil {
		t.Fatalf("pages of %d and %d lines", len(first.Lines), len(second.Lines))
	}
	numbers := map[string]bool{}
	for i, line := range append(first.Lines, second.Lines...) {
		pointer, isBad := bad[i]
		switch {
		case line.Index != i:
			t.Errorf("line %d is shown as %d", i, line.Index)
		case isBad && (line.Status != "failed" || line.ShipmentID != "" || line.Error == nil || line.Error.Code != "validation_failed" || line.Error.Errors[0].Pointer != pointer):
			t.Errorf("line %d, which is invalid at %q: %+v %+v", i, pointer, line, line.Error)
		case !isBad && (line.Status != "bought" || line.OrderID != fmt.Sprint("B-", i) || line.TrackingNumber == "" || line.Error != nil):
			t.Errorf("line %d: %+v", i, line)
		}
		numbers[line.TrackingNumber] = true
	}
	if len(numbers) != 991 { // of the labels, and none
		t.Errorf("%d different tracking numbers", len(numbers)-1)
	}
	if failed := b.lines(id, "status=failed"); len(failed.Lines) != 10 || failed.Lines[9].Index != 999 {
		t.Errorf("failed lines: %+v", failed.Lines)
	}
}

// TestALineAsksForAllThatAShipmentCan buys the same order alone and in a batch.
func TestALineAsksForAllThatAShipmentCan(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	order := orderLine("B-1", `,"carrier":"usps","maxAmount":{"amount":"90.00","currency":"USD"},"labelFormat":"zpl","reference":"PO 7","metadata":{"shop":"eu"},`+
		`"origin":{"name":"Grace Hopper","address1":"350 5th Ave","city":"New York","state":"NY","zip":"10118","country":"US","phone":"2125550100"},`+
		`"options":{"signature":"adult"},"isReturn":true,"shipDate":"`+time.Now().UTC().Format(time.DateOnly)+`","addressValidation":"off"`)
	alone, _ := b.do(http.StatusCreated, "POST", "/v1/shipments", order)
	id := b.idOf(send(b.handler, "POST", "/v1/batches", b.key, `{"shipments":[`+order+`]}`))
	line := b.buyBatch(id, false).Lines[0]

	want, _ := b.do(http.StatusOK, "GET", "/v1/shipments/"+alone["id"].(string), "")
	got, _ := b.do(http.StatusOK, "GET", "/v1/shipments/"+line.ShipmentID, "")
	for _, own := range []string{"id", "trackingNumber", "trackingUrl", "trackingPageUrl", "labelUrl", "labels", "createdAt", "possibleDuplicateOf", "estimatedDeliveryDate", "pieces"} {
		delete(want, own)
		delete(got, own)
	}
	if a, b := fmt.Sprint(want), fmt.Sprint(got); a != b {
		t.Errorf("alone %s\nin a batch %s", a, b)
	}

	// A limit of its own, and what an order that was shipped means, hold here too.
	id = b.idOf(send(b.handler, "POST", "/v1/batches", b.key, `{"shipments":[`+
		orderLine("B-2", `,"maxAmount":{"amount":"0.01","currency":"USD"}`)+","+
		orderLine("B-1", `,"onDuplicateOrder":"reject"`)+","+
		orderLine("B-1", `,"onDuplicateOrder":"return"`)+","+
		orderLine("B-3", `,"carrier":"nobody"`)+`]}`))
	lines := b.buyBatch(id, false).Lines
	if lines[0].Error == nil || lines[0].Error.Code != "no_rate" {
		t.Errorf("over the limit: %+v", lines[0].Error)
	}
	if lines[1].Error == nil || lines[1].Error.Code != "duplicate_order" || lines[1].Error.DuplicateOf == "" {
		t.Errorf("an order that was shipped: %+v", lines[1].Error)
	}
	if lines[2].Status != "bought" || lines[2].ShipmentID != lines[1].Error.DuplicateOf {
		t.Errorf("the shipment that the order has: %+v", lines[2])
	}
	if lines[3].Error == nil || lines[3].Error.Code != "validation_failed" || lines[3].Error.Errors[0].Code != "unknown_carrier" {
		t.Errorf("no such carrier: %+v", lines[3].Error)
	}
}

// TestTheSameKeyIsTheSameBatch sends a batch again while it is stored, in both
// forms and with its members in another order.
func TestTheSameKeyIsTheSameBatch(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	lines := orderLines(200)
	keyed := "Idempotency-Key: monday"
	answers := make([]*httptest.ResponseRecorder, 6)
	var group sync.WaitGroup
	for i := range answers {
		group.Go(func() {
			if i%2 == 0 {
				answers[i] = send(b.handler, "POST", "/v1/batches", b.key, strings.Join(lines, "\r\n"), ndjson, keyed)
			} else {
				answers[i] = send(b.handler, "POST", "/v1/batches", b.key, "{ \"shipments\" :\n["+strings.Join(lines, " ,\n")+"]}\n", keyed)
			}
		})
	}
	group.Wait()

	first := 0
	for _, answer := range answers {
		if answer.Code != http.StatusAccepted || answer.Body.String() != answers[0].Body.String() {
			t.Errorf("%d %s", answer.Code, answer.Body)
		}
		if answer.Header().Get("Idempotent-Replayed") == "" {
			first++
		}
	}
	if first != 1 || b.count("SELECT count(*) FROM batches") != 1 || b.count("SELECT count(*) FROM batch_rows") != 200 || b.count("SELECT count(*) FROM river_job WHERE kind = 'buy_batch'") != 1 {
		t.Errorf("%d of the requests were the first", first)
	}
	b.buyBatch(b.idOf(answers[0]), false)
	if b.count("SELECT count(*) FROM shipments") != 200 {
		t.Error("a label was bought twice")
	}

	// The answer stays, whatever became of the batch; another one is refused.
	again := send(b.handler, "POST", "/v1/batches", b.key, strings.Join(lines, "\n"), ndjson, keyed)
	if again.Code != http.StatusAccepted || again.Body.String() != answers[0].Body.String() {
		t.Errorf("afterwards: %d %s", again.Code, again.Body)
	}
	for _, other := range []string{strings.Join(lines[1:], "\n"), strings.Join(reversed(lines), "\n")} {
		if w := send(b.handler, "POST", "/v1/batches", b.key, other, ndjson, keyed); !strings.Contains(w.Body.String(), "idempotency_key_reused") {
			t.Errorf("another batch under the key: %d %s", w.Code, w.Body)
		}
	}
	if w := send(b.handler, "POST", "/v1/shipments", b.key, lines[0], keyed); !strings.Contains(w.Body.String(), "idempotency_key_reused") {
		t.Errorf("a shipment under the key of a batch: %d %s", w.Code, w.Body)
	}

	// It is remembered as long as a purchase, and not for a day.
	if _, err := storetest.Conn(t, b.store.System().Config().ConnString()).Exec(t.Context(), "UPDATE idempotency_keys SET created_at = now() - interval '300 days'"); err != nil {
		t.Fatal(err)
	}
	if _, err := b.store.DeleteOldIdempotencyKeys(t.Context(), time.Now()); err != nil {
		t.Fatal(err)
	}
	if w := send(b.handler, "POST", "/v1/batches", b.key, strings.Join(lines, "\n"), ndjson, keyed); w.Body.String() != answers[0].Body.String() {
		t.Errorf("after 300 days: %d %s", w.Code, w.Body)
	}
}

// A live batch that is sent again after a time-out is the same one.
func TestALiveBatchWithoutAKeyIsRecognized(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	live, test := b.newKey(true), b.key
	first := b.idOf(send(b.handler, "POST", "/v1/batches", live, `{"shipments":[`+orderLine("1", "")+`]}`))
	second := b.idOf(send(b.handler, "POST", "/v1/batches", live, orderLine("1", ""), ndjson))
	other := b.idOf(send(b.handler, "POST", "/v1/batches", live, orderLine("2", ""), ndjson))
	if first != second || first == other {
		t.Errorf("%s, %s, %s", first, second, other)
	}
	first = b.idOf(send(b.handler, "POST", "/v1/batches", test, orderLine("1", ""), ndjson))
	second = b.idOf(send(b.handler, "POST", "/v1/batches", test, orderLine("1", ""), ndjson))
	if first == second {
		t.Error("a test batch without a key is remembered")
	}
}

// TestABatchSurvivesDeathBetweenLines loses the answer of every third purchase, and
// ends the work between lines, as a process does that dies. Then the key is revoked.
func TestABatchSurvivesDeathBetweenLines(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.idOf(send(b.handler, "POST", "/v1/batches", b.key, strings.Join(orderLines(60), "\n"), ndjson))
	var n atomic.Int64
	ctx, die := context.WithCancel(t.Context())
	b.lose = func() bool {
		purchases := n.Add(1)
		if purchases == 30 {
			die()
		}
		return purchases%3 == 0
	}
	tenant := ship.Tenant{Account: b.owner}
	if _, err := b.batch.Work(ctx, tenant, id); err == nil {
		t.Fatal("no answer was lost")
	}
	asked := int(n.Load())
	bought := b.count("SELECT count(*) FROM shipments")
	known := b.lines(id, "").Counts.Bought
	if bought == 0 || asked == 60 || known >= bought {
		t.Fatalf("%d of %d are bought, of which %d lines know", bought, asked, known)
	}

	keys, err := b.account.Keys(t.Context(), b.owner)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.store.RevokeKey(t.Context(), keys[0].ID); err != nil {
		t.Fatal(err)
	}
	b.key = b.newKey(false)
	b.lose = nil
	got := b.buyBatch(id, false)

	// A purchase whose caller has gone may be recorded after it was counted
	// above. None can be recorded that was not asked for by then.
	recorded := b.count("SELECT count(*) FROM shipments")
	if recorded < bought || recorded > asked {
		t.Errorf("%d shipments, want at least the %d that were counted and at most the %d that were asked for", recorded, bought, asked)
	}
	if want := (batchCounts{Total: 60, Bought: recorded, Failed: 60 - recorded}); got.Counts != want {
		t.Errorf("%+v, want %+v", got.Counts, want)
	}
	for _, line := range got.Lines {
		if line.Status == "failed" && line.Error.Code != "invalid_api_key" {
			t.Errorf("%+v", line.Error)
		}
	}
}

func TestABodyThatIsNoBatchCreatesNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	good := orderLine("1", "")
	long := `{"orderId":"` + strings.Repeat("x", 256<<10) + `"}`
	for _, c := range []struct {
		name, body, header string
		status             int
		code, contains     string
	}{
		{"cut off", `{"shipments":[` + good + `,{"orderId":`, "", 400, "malformed_json", `"pointer":"/shipments/1"`},
		{"a line of text", good + "\n" + good + "\nhello\n", ndjson, 400, "malformed_json", "line 3 of the body"},
		{"a document over lines", "{\n" + good[1:], ndjson, 400, "malformed_json", "line 1 of the body"},
		{"two values a line", good + " " + good, ndjson, 400, "malformed_json", "after the end"},
		{"a line of another place", "{\n\"shipments\": [\n" + good + ",\n{\"a\":}\n]}", "", 400, "malformed_json", "line 4 of the body"},
		{"a key twice", `{"shipments":[{"orderId":"1","orderid":"2"}]}`, "", 400, "malformed_json", "duplicate_name"},
		{"no comma", `{"shipments":[` + good + good + `]}`, "", 400, "malformed_json", "comma"},
		{"a comma too many", `{"shipments":[` + good + `,]}`, "", 400, "malformed_json", `"pointer":"/shipments/1"`},
		{"text after it", `{"shipments":[` + good + `]} x`, "", 400, "malformed_json", "trailing_data"},
		{"nothing", "", "Content-Type: application/json", 400, "malformed_json", "required"},
		{"empty lines", "\n \n\r\n", ndjson, 422, "validation_failed", "too_few"},
		{"no shipments", `{"shipments":[]}`, "", 422, "validation_failed", "too_few"},
		{"not a list", `{"shipments":{}}`, "", 422, "validation_failed", "must be a list"},
		{"another field", `{"orders":[]}`, "", 422, "validation_failed", "unknown_field"},
		{"a field more", `{"shipments":[` + good + `],"name":"x"}`, "", 422, "validation_failed", "unknown_field"},
		{"a list alone", `[` + good + `]`, "", 422, "validation_failed", "must be an object"},
		{"another type", good, "Content-Type: text/csv", 415, "unsupported_media_type", "x-ndjson"},
		{"a long line", good + "\n" + long, ndjson, 413, "body_too_large", "item 2"},
		{"a long shipment", `{"shipments":[` + good + "," + long + `]}`, "", 413, "body_too_large", "item 2"},
		{"too much", strings.Repeat(strings.Repeat(" ", 1023)+"\n", 16<<10) + "\n", ndjson, 413, "body_too_large", "16777216"},
		{"too many", strings.Repeat("1\n", 10_001), ndjson, 422, "validation_failed", "10000"},
	} {
		var header []string
		if c.header != "" {
			header = append(header, c.header)
		}
		w := send(b.handler, "POST", "/v1/batches", b.key, c.body, append(header, "Idempotency-Key: one")...)
		if w.Code != c.status || !strings.Contains(w.Body.String(), `"`+c.code+`"`) || !strings.Contains(w.Body.String(), c.contains) {
			t.Errorf("%s: %d %s", c.name, w.Code, w.Body)
		}
	}
	if n := b.count("SELECT count(*) FROM batches"); n != 0 {
		t.Errorf("%d batches were created", n)
	}

	// A key whose request came to nothing is free.
	b.idOf(send(b.handler, "POST", "/v1/batches", b.key, good, ndjson, "Idempotency-Key: one"))

	// The largest number of lines is taken, however they look.
	id := b.idOf(send(b.handler, "POST", "/v1/batches", b.key, strings.Repeat("{}\n", 10_000), ndjson))
	if got := b.lines(id, "limit=1"); got.Counts.Failed != 10_000 || len(got.Lines[0].Error.Errors) == 0 {
		t.Errorf("%+v", got)
	}
}

// A line that is invalid in many places does not make its batch large.
func TestOnlySomeOfALinesProblemsAreStored(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	line := `{"orderId":"` + strings.Repeat("é", 5000) + `"`
	for i := range 400 {
		line += fmt.Sprintf(`,"%s%d":1`, strings.Repeat("x", 300), i)
	}
	id := b.idOf(send(b.handler, "POST", "/v1/batches", b.key, line+"}", ndjson))
	got := b.lines(id, "").Lines[0]
	if len(got.Error.Errors) != 10 || len([]rune(got.Error.Errors[1].Pointer)) > 300 || len([]rune(got.OrderID)) > 300 {
		t.Errorf("%+v", got)
	}
	if n := b.count("SELECT length(errors::text) + length(cells::text) FROM batch_rows"); n > 10_000 {
		t.Errorf("%d bytes are stored", n)
	}
}

func TestTheLabelsOfABatchAreOneFile(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.idOf(send(b.handler, "POST", "/v1/batches", b.key, strings.Join(orderLines(503), "\n"), ndjson))
	path := "/v1/batches/" + string(id)
	if w := send(b.handler, "GET", path+"/labels.pdf", b.key, ""); w.Code != http.StatusConflict || !strings.Contains(w.Body.String(), "label_not_ready") {
		t.Errorf("before it is bought: %d %s", w.Code, w.Body)
	}
	lines := b.buyBatch(id, false).Lines

	for part, want := range map[string]int{"": 500, "?part=1&size=a4": 500, "?part=2": 3} {
		w := send(b.handler, "GET", path+"/labels.pdf"+part, b.key, "")
		if w.Code != http.StatusOK || w.Header().Get("Content-Type") != "application/pdf" || w.Header().Get("X-Labels") != fmt.Sprint(want) || w.Header().Get("X-Labels-Excluded") != "0" {
			t.Fatalf("%s: %d %v", part, w.Code, w.Header())
		}
		if pages := bytes.Count(w.Body.Bytes(), []byte("/Type/Page/")); pages != want {
			t.Errorf("%s: %d pages, want %d", part, pages, want)
		}
	}
	if w := send(b.handler, "GET", path+"/labels.pdf?part=3", b.key, ""); w.Code != http.StatusConflict {
		t.Errorf("a part too far: %d %s", w.Code, w.Body)
	}
	w := send(b.handler, "GET", path+"/labels.zpl?part=2&dpi=300", b.key, "")
	if w.Code != http.StatusOK || w.Header().Get("Content-Type") != label.ZPL.ContentType() || strings.Count(w.Body.String(), "^XA") != 3 {
		t.Errorf("%d %v, %d labels", w.Code, w.Header(), strings.Count(w.Body.String(), "^XA"))
	}

	// A voided label is not printed again.
	b.do(http.StatusOK, "POST", "/v1/shipments/"+lines[0].ShipmentID+"/void", "")
	if w := send(b.handler, "GET", path+"/labels.pdf", b.key, ""); w.Header().Get("X-Labels") != "499" {
		t.Errorf("after a void: %v", w.Header())
	}
}

func TestBatchesAreListedWithTheFilesOfTheDashboard(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	first := b.idOf(send(b.handler, "POST", "/v1/batches", b.key, orderLine("1", ""), ndjson))
	file, err := b.batch.Upload(t.Context(), ship.Tenant{Account: b.owner}, "orders.csv", "Dana", []byte("Order,Recipient\n1001,Ada\n"))
	if err != nil {
		t.Fatal(err)
	}
	list, _ := b.do(http.StatusOK, "GET", "/v1/batches", "")
	data := list["data"].([]any)
	if len(data) != 2 || data[0].(map[string]any)["id"] != string(file.ID) || data[0].(map[string]any)["source"] != "file" || data[1].(map[string]any)["id"] != string(first) {
		t.Errorf("%v", data)
	}
	page, _ := b.do(http.StatusOK, "GET", "/v1/batches?limit=1", "")
	next, _ := b.do(http.StatusOK, "GET", "/v1/batches?limit=1&cursor="+page["nextCursor"].(string), "")
	if next["data"].([]any)[0].(map[string]any)["id"] != string(first) || next["nextCursor"] != nil {
		t.Errorf("%v, then %v", page, next)
	}
	if got := b.lines(file.ID, ""); got.Status != "pending" || got.Lines[0].OrderID != "1001" {
		t.Errorf("%+v", got)
	}

	// Nobody changes a batch of the API in the dashboard.
	tenant := ship.Tenant{Account: b.owner}
	_, fixed := b.batch.Fix(t.Context(), tenant, first, 1, map[string]string{"name": "Eve"})
	_, skipped := b.batch.Skip(t.Context(), tenant, first, 1)
	for name, err := range map[string]error{
		"fix":   fixed,
		"skip":  skipped,
		"check": b.batch.Check(t.Context(), tenant, first, file.ColumnMapping),
		"retry": b.batch.Retry(t.Context(), tenant, first),
	} {
		if ship.KindOf(err) != ship.Conflict {
			t.Errorf("%s: %v, want a conflict", name, err)
		}
	}
}

func TestTheKeyOfABatchNeedsTheScope(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, scope := range account.Scopes {
		key := b.newKey(false, scope)
		w := send(b.handler, "POST", "/v1/batches", key, orderLine("1", ""), ndjson)
		if mayBuy := scope == "shipments:write" || scope == "*"; mayBuy != (w.Code == http.StatusAccepted) {
			t.Errorf("%s: %d %s", scope, w.Code, w.Body)
		}
	}
}

// An erasure reaches lines that were bought, lines that were not, and senders.
func TestLinesOfABatchAreErased(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	person := `{"name":"Quetzalina Kanari","address1":"77 Canary Row","city":"Austin","state":"TX","zip":"78701","country":"US","email":"quetzalina@kanari.example"}`
	to := `{"orderId":"E-1","destination":` + person + `,"parcel":{"weight":1}}`
	from := orderLine("E-2", `,"isReturn":true,"origin":`+strings.Replace(person, `"US"`, `"US","phone":"5125550142"`, 1))
	invalid := `{"orderId":"E-3","destination":` + person + `,"parcel":{"weight":-1}}`
	id := b.idOf(send(b.handler, "POST", "/v1/batches", b.key, strings.Join([]string{to, from, invalid, orderLine("E-4", "")}, "\n"), ndjson))
	b.buyBatch(id, false)

	b.do(http.StatusAccepted, "POST", "/v1/erasures", `{"email":"quetzalina@kanari.example"}`)
	erasures, err := b.store.Erasures(t.Context(), ship.Tenant{Account: b.owner}, ship.Page{Limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	for range 100 {
		again, err := b.privacy.WorkErasure(t.Context(), ship.Tenant{Account: b.owner}, erasures[0].ID)
		if err != nil {
			t.Fatal(err)
		}
		if again == 0 {
			break
		}
	}
	if n := b.count("SELECT count(*) FROM batch_rows r WHERE r::text ILIKE '%quetzalina%' OR r::text ILIKE '%canary%'"); n != 0 {
		t.Errorf("%d lines still have the person", n)
	}
	if n := b.count("SELECT count(*) FROM batch_rows WHERE request IS NOT NULL"); n != 1 {
		t.Errorf("%d lines have a request, want the one of somebody else", n)
	}
	if got := b.lines(id, ""); got.Counts != (batchCounts{Total: 4, Bought: 3, Skipped: 1}) || got.Lines[0].OrderID != "E-1" {
		t.Errorf("%+v", got)
	}
}

func reversed(lines []string) []string {
	lines = slices.Clone(lines)
	slices.Reverse(lines)
	return lines
}
