package web

import (
	"bytes"
	"context"
	"encoding/csv"
	"fmt"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/batch"
	"github.com/waybillhq/waybill/internal/member"
	"github.com/waybillhq/waybill/internal/quoting"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/shipping"
	"github.com/waybillhq/waybill/internal/store/storetest"
	"github.com/waybillhq/waybill/internal/web/parts"
	"github.com/waybillhq/waybill/internal/web/site"
)

// batches connects batches to the bench's own shipping service.
func (b *bench) batches(c site.Config) *batch.Service {
	return batch.New(batch.Config{
		Store: b.store, Account: c.Account.AccountIn, Log: c.Log,
		Carriers: func(context.Context, ship.Tenant) ([]batch.Carrier, error) {
			return []batch.Carrier{{Name: "ups", Title: "UPS"}}, nil
		},
		Quote: func(ctx context.Context, r batch.Request) (batch.Quoted, error) {
			offered, err := c.Quoting.Offer(ctx, quoting.DryRunInput{Tenant: r.Tenant, Account: r.Account, Order: r.Order, OneParcel: len(r.Order.Parcels) == 1, Carrier: r.Carrier, Service: r.Service, ForPurchase: true})
			return batch.Quoted{Rate: offered.Rate, NotQuoted: offered.NotQuoted, Warnings: offered.Warnings}, err
		},
		CheckAddress: func(_ context.Context, _ ship.Tenant, address ship.Address) (ship.AddressCheck, error) {
			check := ship.AddressCheck{Verdict: ship.AddressValid, Address: address}
			if address.Address1 == "Corrected Street" {
				check.Verdict = ship.AddressCorrected
				check.Address.Address1 = "1 Corrected Street"
			}
			return check, nil
		},
		Purchase: func(ctx context.Context, r batch.Request) (ship.Shipment, error) {
			got, err := c.Shipping.Buy(ctx, shipping.BuyInput{
				Tenant: r.Tenant, Account: r.Account, Order: r.Order, OneParcel: len(r.Order.Parcels) == 1, Carrier: r.Carrier, Service: r.Service, MaxAmount: r.Limit, OnDuplicate: "reject", IdempotencyKey: r.Key, Fingerprint: r.Fingerprint, FormerName: r.FormerName, AcceptDuplicate: r.AcceptDuplicate,
			})
			return got.Shipment, err
		},
	})
}

const sampleFile = "Order,Recipient,Street,City,State,Zip,Country,Weight\n1,Ada,500 Main St,Austin,TX,78701,US,2.5\n2,,1 Main St,Austin,TX,78701,US,1\n"

// batch creates a batch whose lines are validated and rated.
func (b *bench) batch(t ship.Tenant, text string) ship.BatchID {
	b.Helper()
	up, err := b.web.Batch.Upload(b.Context(), t, "orders.csv", "Dana", []byte(text))
	b.must(err)
	b.must(b.web.Batch.Check(b.Context(), t, up.ID, up.ColumnMapping))
	b.workBatch(t, up.ID)
	return up.ID
}

// exec changes rows behind the service's back.
func (b *bench) exec(statement string, args ...any) {
	b.Helper()
	_, err := storetest.Conn(b, b.database).Exec(b.Context(), statement, args...)
	b.must(err)
}

func (b *bench) workBatch(t ship.Tenant, id ship.BatchID) {
	b.Helper()
	for {
		_, err := b.web.Batch.Work(b.Context(), t, id)
		b.must(err)
		got, err := b.web.Batch.Batch(b.Context(), t, id)
		b.must(err)
		if got.State != batch.Rating && got.State != batch.Buying {
			return
		}
	}
}

// uploadAs sends a file as the form does.
func (b *bench) uploadAs(role member.Role, name string, data []byte) *httptest.ResponseRecorder {
	b.Helper()
	var body bytes.Buffer
	m := multipart.NewWriter(&body)
	part, err := m.CreateFormFile("file", name)
	b.must(err)
	_, err = part.Write(data)
	b.must(err)
	b.must(m.Close())
	r := httptest.NewRequest(http.MethodPost, testBase+b.home+"/batches", &body)
	r.Header.Set("Content-Type", m.FormDataContentType())
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	r.AddCookie(&http.Cookie{Name: sessionCookie, Value: b.tokens[role]})
	w := httptest.NewRecorder()
	b.web.ServeHTTP(w, r)
	return w
}

func TestAFileThatIsNoGoodIsRefusedAtItsField(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for want, data := range map[string]string{
		"is empty": "", "has no orders": "order\n", "larger than 5 MB": "order\n" + strings.Repeat("x\n", 3<<20), "is a spreadsheet file": "PK\x03\x04...",
	} {
		w := b.uploadAs(member.Shipper, "x.csv", []byte(data))
		if w.Code != http.StatusUnprocessableEntity || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: %d", want, w.Code)
		}
	}
	if w := b.uploadAs(member.Viewer, "x.csv", []byte(sampleFile)); w.Code != http.StatusForbidden {
		t.Errorf("a viewer: %d", w.Code)
	}
}

func TestWhatAFileSaysNeverRuns(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var file bytes.Buffer
	out := csv.NewWriter(&file)
	head := []string{"Order", "Recipient", "Street", "City", "State", "Zip", "Country", "Weight", vectors[0], vectors[1]}
	b.must(out.Write(head))
	for i, bad := range vectors {
		b.must(out.Write([]string{fmt.Sprint(i) + bad, bad, bad, bad, bad, bad, bad, bad, bad, bad}))
	}
	out.Flush()
	w := b.uploadAs(member.Shipper, vectors[3], file.Bytes())
	if w.Code != http.StatusSeeOther {
		t.Fatalf("upload: %d", w.Code)
	}
	path := w.Header().Get("Location")
	inert(t, "columns", b.send(member.Owner, path, nil).Body.String())
	id, _ := ship.ParseBatchID(path[strings.LastIndexByte(path, '/')+1:])
	tenant := ship.Tenant{Account: b.owner.ID}
	got, err := b.web.Batch.Batch(t.Context(), tenant, id)
	b.must(err)
	b.must(b.web.Batch.Check(t.Context(), tenant, id, got.ColumnMapping))
	b.workBatch(tenant, id)
	inert(t, "list", b.send(member.Owner, b.home+"/batches", nil).Body.String())
	for _, page := range []string{path, path + "?show=all", path + "?show=all&after=40", path + "/rows/1", path + "/rows/2", path + "/rows/30"} {
		inert(t, page, b.send(member.Owner, page, nil).Body.String())
	}
	inert(t, "a line in its place", "<table>"+b.send(member.Owner, path+"/rows/3", nil, "HX-Request", "true").Body.String()+"</table>")
}

func TestResultsOpenAsText(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	text := "Order,Recipient,Street,City,State,Zip,Country,Weight,=1+1\n" +
		"=1+1,\"=cmd|' /C calc'!A0\",+1,@SUM(A1),TX,78701,US,-1,\"=HYPERLINK(\"\"http://evil.example\"\")\"\n" +
		"7,Ada,500 Main St,Austin,TX,78701,US,2,x\n"
	tenant := ship.Tenant{Account: b.owner.ID}
	id := b.batch(tenant, text)
	b.must(b.web.Batch.Buy(t.Context(), tenant, id, "pdf", ""))
	b.workBatch(tenant, id)
	w := b.send(member.Owner, b.home+"/batches/"+string(id)+"/results.csv", nil)
	lines, err := csv.NewReader(w.Body).ReadAll()
	if err != nil || len(lines) != 3 {
		t.Fatalf("%v %v", lines, err)
	}
	for _, line := range lines {
		for _, cell := range line {
			if cell != "" && strings.ContainsAny(cell[:1], "=+-@\t\r") {
				t.Errorf("%q is a formula", cell)
			}
		}
	}
	last := lines[2]
	if last[10] != "Bought" || !strings.HasPrefix(last[12], "shp_") || last[13] != "ready" || last[16] == "" {
		t.Errorf("the line that was bought: %q", last)
	}
	if bad := lines[1]; bad[10] != "Needs fixes" || !strings.Contains(bad[11], "Weight:") {
		t.Errorf("the line that was not: %q", bad)
	}
}

func TestABatchGoesThroughItsPages(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	w := b.uploadAs(member.Shipper, "orders.csv", []byte(sampleFile))
	path := w.Header().Get("Location")
	if w.Code != http.StatusSeeOther || path == "" {
		t.Fatalf("upload: %d %s", w.Code, w.Body)
	}
	tenant := ship.Tenant{Account: b.owner.ID}
	id, _ := ship.ParseBatchID(path[strings.LastIndexByte(path, '/')+1:])
	columns := form("column.0", "order", "column.1", "name", "column.2", "address1", "column.3", "city", "column.4", "state", "column.5", "zip", "column.6", "country", "column.7", "")
	if w := b.send(member.Shipper, path+"/columns", columns); w.Code != http.StatusUnprocessableEntity || !strings.Contains(w.Body.String(), "Choose the column with this field: Weight.") {
		t.Errorf("without a weight: %d", w.Code)
	}
	columns.Set("fixed.weight", "1.5")
	if w := b.send(member.Shipper, path+"/columns", columns); w.Code != http.StatusSeeOther {
		t.Fatalf("with one for all: %d %s", w.Code, w.Body)
	}
	busy := b.send(member.Shipper, path, nil, "HX-Request", "true")
	if !strings.Contains(busy.Body.String(), "<progress") || busy.Header().Get("HX-Refresh") != "" {
		t.Error("no progress is shown")
	}
	b.workBatch(tenant, id)
	if w := b.send(member.Shipper, path, nil, "HX-Request", "true"); w.Header().Get("HX-Refresh") != "true" {
		t.Error("the page does not turn when the work is done")
	}
	page := b.send(member.Shipper, path, nil).Body.String()
	if !strings.Contains(page, "Recipient: this field is required.") || !strings.Contains(page, "Buy 1 label") {
		t.Errorf("the page tells neither the mistake nor the price: %s", page)
	}
	part := b.send(member.Shipper, path+"/rows/2", form("field.name", "Grace"), "HX-Request", "true").Body.String()
	if !strings.Contains(part, `id="line-2"`) || !strings.Contains(part, "Buy 2 labels") || strings.Contains(part, "<html") {
		t.Errorf("a mended line: %s", part)
	}
	for range 2 {
		if w := b.send(member.Shipper, path, form("do", "buy")); w.Code != http.StatusSeeOther {
			t.Fatalf("buy: %d %s", w.Code, w.Body)
		}
	}
	b.workBatch(tenant, id)
	pdf := b.send(member.Shipper, path+"/labels.pdf", nil)
	if pdf.Code != http.StatusOK || pdf.Header().Get("X-Labels") != "2" || !strings.HasPrefix(pdf.Body.String(), "%PDF") {
		t.Errorf("labels: %d %v", pdf.Code, pdf.Header())
	}
	zpl := b.send(member.Shipper, path+"/labels.zpl", nil)
	if strings.Count(zpl.Body.String(), "^XA") != 2 {
		t.Errorf("zpl: %d", zpl.Code)
	}
}

// Before money is spent, a batch says which carriers did not quote, and why; a
// person waits, or goes on without them.
func TestABatchPageSaysWhoDidNotQuote(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	tenant := ship.Tenant{Account: b.owner.ID}
	id := b.batch(tenant, "Order,Recipient,Street,City,State,Zip,Country,Weight\nA,Ada,1 Main St,Austin,TX,78701,US,2\nB,Bob,2 Main St,Austin,TX,78701,US,2\n")
	b.workBatch(tenant, id)
	path := b.home + "/batches/" + string(id)
	if page := b.send(member.Shipper, path, nil).Body.String(); strings.Contains(page, "did not quote") || !strings.Contains(page, "Buy 2 labels") {
		t.Fatalf("all carriers quoted, and the page says: %s", page)
	}

	b.exec(`UPDATE batch_rows SET not_quoted = '[
		{"carrier": "usps", "reason": "rate_limited", "retryAt": "2099-01-01T06:12:00Z"},
		{"carrier": "fedex", "reason": "missing_field", "fields": ["/parcels/0/dimensions"]},
		{"carrier": "dhl_express", "reason": "refused"}]' WHERE row_number = 1`)
	page := b.send(member.Shipper, path, nil).Body.String()
	for _, want := range []string{
		"USPS did not quote 1 of 2 orders: its rate limit is reached", "06:12 UTC", "FedEx did not quote 1 of 2 orders: it needs length, width and height",
		"Wait and quote again", "Buy anyway: 2 labels", "No rate from USPS: its rate limit is reached; FedEx: it needs length, width and height.", "Not offered by DHL Express",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if strings.Contains(page, "DHL Express did not quote") {
		t.Error("a carrier that does not take the order is a warning")
	}
	if page := b.send(member.Viewer, path, nil).Body.String(); !strings.Contains(page, "USPS did not quote") || strings.Contains(page, "Wait and quote again") {
		t.Error("a viewer does not see the warning alone")
	}

	// Waiting shows what for, and ends when the person says so.
	if w := b.send(member.Shipper, path, form("do", "wait")); w.Code != http.StatusSeeOther {
		t.Fatalf("wait: %d %s", w.Code, w.Body)
	}
	waiting := b.send(member.Shipper, path, nil).Body.String()
	if !strings.Contains(waiting, "Waiting for USPS") || !strings.Contains(waiting, "1 order left") || strings.Contains(waiting, "Buy anyway") {
		t.Errorf("while it waits: %s", waiting)
	}
	if w := b.send(member.Shipper, path, form("do", "continue")); w.Code != http.StatusSeeOther {
		t.Fatalf("continue: %d %s", w.Code, w.Body)
	}
	if page := b.send(member.Shipper, path, nil).Body.String(); !strings.Contains(page, "Buy anyway: 2 labels") {
		t.Error("it cannot be bought without waiting")
	}

	// Quoted again, nobody is missing.
	b.send(member.Shipper, path, form("do", "wait"))
	b.workBatch(tenant, id)
	if page := b.send(member.Shipper, path, nil).Body.String(); strings.Contains(page, "did not quote") || !strings.Contains(page, "Buy 2 labels") {
		t.Errorf("after it was quoted again: %s", page)
	}
	if w := b.send(member.Shipper, path, form("do", "wait")); w.Code != http.StatusConflict {
		t.Errorf("waiting for nobody: %d", w.Code)
	}
}

// The state of a batch says what is left to do, and never more than was done.
func TestTheStateOfABatchIsTrue(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	tenant := ship.Tenant{Account: b.owner.ID}
	id := b.batch(tenant, "Order,Recipient,Street,City,State,Zip,Country,Weight\nA,Ada,1 Main St,Austin,TX,78701,US,2\nB,Bob,2 Main St,Austin,TX,78701,US,2\n")
	b.workBatch(tenant, id)
	for _, tc := range []struct{ state, first, second, want string }{
		{"ready", "rated", "invalid", "Ready to buy"},
		{"ready", "invalid", "invalid", "Needs fixes"},
		{"ready", "skipped", "skipped", "Nothing to buy"},
		{"done", "pending", "pending", "Pending"},
		{"done", "purchased", "pending", "Bought, 1 pending"},
		{"done", "failed", "skipped", "Nothing bought"},
		{"done", "purchased", "failed", "Bought, 1 not bought"},
		{"done", "purchased", "skipped", "Bought"},
	} {
		b.exec("UPDATE batches SET state = $1", tc.state)
		b.exec("UPDATE batch_rows SET state = CASE row_number WHEN 1 THEN $1 ELSE $2 END", tc.first, tc.second)
		if list := b.send(member.Shipper, b.home+"/batches", nil).Body.String(); !strings.Contains(list, "<i></i>"+tc.want+"</span>") {
			t.Errorf("%+v: the list has another state", tc)
		}
	}
}

func TestADoubtfulAddressIsCorrectedInABatch(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	file := strings.ReplaceAll(sampleFile, "500 Main St", "Corrected Street") +
		"3,Ben,Corrected Street,Austin,TX,78701,US,1\n4,Eve,Corrected Street,Austin,TX,78701,US,1\n"
	path := b.home + "/batches/" + string(b.batch(ship.Tenant{Account: b.owner.ID}, file))
	page := b.send(member.Shipper, path+"?show=addresses", nil).Body.String()
	for _, text := range []string{
		"The addresses of 3 orders may be wrong.",
		"Use 3 suggestions",
		"Address: the carrier suggests 1 Corrected Street, Austin, TX 78701.",
		"Use suggestion",
	} {
		if !strings.Contains(page, text) {
			t.Errorf("the page does not say %q", text)
		}
	}
	if strings.Contains(page, `id="line-2"`) {
		t.Error("a line without a doubtful address is among those to check")
	}

	part := b.send(member.Shipper, path+"/rows/1", form("do", "suggestion"), "HX-Request", "true").Body.String()
	if !strings.Contains(part, `id="line-1"`) || strings.Contains(part, "Use suggestion") {
		t.Errorf("the line after its suggestion was used: %s", part)
	}
	if w := b.send(member.Shipper, path, form("do", "suggestions")); w.Code != http.StatusSeeOther {
		t.Fatalf("use all suggestions: %d %s", w.Code, w.Body)
	}
	id, _ := ship.ParseBatchID(path[strings.LastIndexByte(path, '/')+1:])
	b.workBatch(ship.Tenant{Account: b.owner.ID}, id)
	page = b.send(member.Shipper, path+"?show=all", nil).Body.String()
	if strings.Contains(page, "may be wrong") || !strings.Contains(page, "Buy 3 labels") {
		t.Error("the addresses are still doubtful")
	}
}

func TestLinesThatWereShippedBeforeSayWhenAndByWhom(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	_, first := b.buyBatch(threeOrders, "pdf")
	row, err := b.web.Batch.Row(t.Context(), ship.Tenant{Account: b.owner.ID}, first, 1)
	b.must(err)
	sh, err := b.web.Shipping.Shipment(t.Context(), ship.Tenant{Account: b.owner.ID}, row.Shipment)
	b.must(err)

	w := b.uploadAs(member.Shipper, "again.csv", []byte(threeOrders+"A-4,Eve,3 Main St,Austin,TX,78701,US,1\n"))
	path := w.Header().Get("Location")
	if page := b.send(member.Shipper, path, nil).Body.String(); !strings.Contains(page, "3 orders in this file were shipped") {
		t.Error("the upload does not say that orders were shipped before")
	}
	id, _ := ship.ParseBatchID(path[strings.LastIndexByte(path, '/')+1:])
	tenant := ship.Tenant{Account: b.owner.ID}
	up, err := b.web.Batch.Batch(t.Context(), tenant, id)
	b.must(err)
	b.must(b.web.Batch.Check(t.Context(), tenant, id, up.ColumnMapping))
	b.workBatch(tenant, id)

	page := b.send(member.Shipper, path+"?show=skipped", nil).Body.String()
	for _, want := range []string{"Buy 1 label", "Already shipped", sh.Purchase.TrackingNumber, b.home + "/shipments/" + string(sh.ID), "by " + parts.CarrierTitle(sh.Purchase.Carrier), "Ship again"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	if w := b.send(member.Shipper, path+"/rows/1", form("do", "again"), "HX-Request", "true"); !strings.Contains(w.Body.String(), "Ready") || !strings.Contains(w.Body.String(), "Buy 2 labels") {
		t.Errorf("said otherwise: %d %s", w.Code, w.Body)
	}
}

// "Try again" counts only the lines that it retries: lines whose order has been
// shipped in the meantime wait for a decision instead.
func TestTryAgainCountsOnlyWhatItTries(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	tenant := ship.Tenant{Account: b.owner.ID}
	second := b.batch(tenant, threeOrders+"A-4,FAULT REFUSE,3 Main St,Austin,TX,78701,US,1\n")
	b.buyBatch(threeOrders, "pdf")

	path := b.home + "/batches/" + string(second)
	if w := b.send(member.Shipper, path, form("do", "buy", "format", "pdf")); w.Code != http.StatusSeeOther {
		t.Fatalf("buy: %d %s", w.Code, w.Body)
	}
	b.workBatch(tenant, second)
	got, err := b.web.Batch.Batch(t.Context(), tenant, second)
	b.must(err)
	if got.Tally.Rows[batch.RowFailed] != 4 {
		t.Fatalf("%+v, want four lines that were not bought", got.Tally)
	}

	if page := b.send(member.Shipper, path, nil).Body.String(); !strings.Contains(page, "Try 1 again") {
		t.Error("the page does not offer to try the one line again that can be")
	}
	part := b.send(member.Shipper, path+"/rows/4", form("do", "skip"), "HX-Request", "true").Body.String()
	if strings.Contains(part, "Try ") {
		t.Error("with nothing left to try, the page still offers it")
	}
	if part := b.send(member.Shipper, path+"/rows/1", form("do", "skip"), "HX-Request", "true").Body.String(); strings.Contains(part, "Try ") {
		t.Error("lines of orders that were shipped are offered to be tried again")
	}
}
