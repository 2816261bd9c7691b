package web

import (
	"fmt"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/batch"
	"github.com/waybillhq/waybill/internal/member"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/shipping"
	"github.com/waybillhq/waybill/internal/store/storetest"
)

const threeOrders = "Order,Recipient,Street,City,State,Zip,Country,Weight\n" +
	"A-1,Ada,500 Main St,Austin,TX,78701,US,2.5\nA-2,Grace,1 Main St,Austin,TX,78701,US,1\nA-3,Jean,2 Main St,Austin,TX,78701,US,1\n"

// buyBatch makes a batch that is bought, with the format in the form.
func (b *bench) buyBatch(text, format string) (path string, id ship.BatchID) {
	b.Helper()
	tenant := ship.Tenant{Account: b.owner.ID}
	id = b.batch(tenant, text)
	path = b.home + "/batches/" + string(id)
	if w := b.send(member.Shipper, path, form("do", "buy", "format", format)); w.Code != http.StatusSeeOther {
		b.Fatalf("buy: %d %s", w.Code, w.Body)
	}
	b.workBatch(tenant, id)
	return path, id
}

func TestAPendingLineIsShownAsPending(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	path, id := b.buyBatch(strings.Replace(threeOrders, "Grace", "FAULT TIMEOUT AFTER PURCHASE", 1), "pdf")
	page := b.send(member.Shipper, path+"?show=all", nil).Body.String()
	for _, want := range []string{"Print 2 labels", "<i></i>Pending", "waiting for the carrier", `hx-trigger="every 10s"`} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	for _, not := range []string{"Not bought", "Discard", "Try 1 again"} {
		if strings.Contains(page, not) {
			t.Errorf("the page says %q", not)
		}
	}
	if w := b.send(member.Shipper, path, nil, "HX-Request", "true"); w.Header().Get("HX-Refresh") != "" {
		t.Error("the page turns while nothing is known")
	}
	tenant := ship.Tenant{Account: b.owner.ID}
	row, err := b.web.Batch.Row(t.Context(), tenant, id, 2)
	b.must(err)
	for again := time.Nanosecond; again > 0; {
		again, err = b.web.Shipping.Settle(t.Context(), tenant, row.Shipment)
		b.must(err)
	}
	b.workBatch(tenant, id)
	if w := b.send(member.Shipper, path, nil, "HX-Request", "true"); w.Header().Get("HX-Refresh") != "true" {
		t.Error("the page does not turn when it is settled")
	}
	if page := b.send(member.Shipper, path, nil).Body.String(); !strings.Contains(page, "Print 3 labels") || strings.Contains(page, "<i></i>Pending") {
		t.Error("the label is not there when it is settled")
	}
}

func TestALabelThatDoesNotFitIsNamedBeforeTheFile(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	path, id := b.buyBatch(threeOrders, "pdf")
	rows, _, err := b.web.Batch.Rows(t.Context(), ship.Tenant{Account: b.owner.ID}, id, 0, 10, batch.RowBought)
	b.must(err)
	raw := rows[1].Shipment.Raw()
	_, err = storetest.Conn(t, b.store.System().Config().ConnString()).Exec(t.Context(), "UPDATE labels SET format = 'zpl', data = '^XA^FDx^FS^XZ' WHERE shipment_id = $1", [16]byte(raw))
	b.must(err)
	notified := b.send(member.Shipper, path+"/labels.pdf?part=1", nil)
	page := notified.Body.String()
	for _, want := range []string{"1 label cannot be printed as PDF", "A-2", b.home + "/shipments/" + string(rows[1].Shipment), "Print the other 2", "sold this label in a format that cannot be converted to PDF", "labels.zpl?lines=2"} {
		if !strings.Contains(page, want) {
			t.Errorf("%d: the page does not say %q", notified.Code, want)
		}
	}
	if strings.Contains(page, "A-1") || strings.Contains(page, "A-3") {
		t.Error("the page names labels that are in the file")
	}
	rest := b.send(member.Shipper, path+"/labels.pdf?part=1&without=1", nil)
	if !strings.HasPrefix(rest.Body.String(), "%PDF") || rest.Header().Get("X-Labels") != "2" {
		t.Errorf("the others: %d %v", rest.Code, rest.Header())
	}
	if w := b.send(member.Shipper, path+"/labels.pdf?without=2", nil); strings.HasPrefix(w.Body.String(), "%PDF") {
		t.Error("a file is given without a label that nobody was told of")
	}
	this := b.send(member.Shipper, path+"/labels.zpl?lines=2", nil)
	if n := strings.Count(this.Body.String(), "^XA"); n != 1 || !strings.HasPrefix(this.Header().Get("Content-Disposition"), "attachment") {
		t.Errorf("this one alone: %d labels, %v", n, this.Header())
	}
	if w := b.send(member.Shipper, path+"/labels.pdf?lines=2", nil); w.Code != http.StatusOK || strings.Contains(w.Body.String(), "Print the other") {
		t.Errorf("nothing that fits: %d", w.Code)
	}
}

// TestALargeFileOfLabelsIsShownWhileItIsPrepared prints more labels than a request may
// render, from the page of a batch: a page says how far they are, and then has a button
// for the file.
func TestALargeFileOfLabelsIsShownWhileItIsPrepared(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	waits := shipping.DefaultWaits
	waits.Labels = time.Nanosecond
	b.web.Shipping = b.shippingWith(waits)

	orders := strings.SplitAfter(threeOrders, "\n")[0]
	for n := range 14 {
		orders += fmt.Sprintf("L-%d,Ada,500 Main St,Austin,TX,78701,US,2.5\n", n)
	}
	path, id := b.buyBatch(orders, "pdf")
	drawn, err := os.ReadFile("../label/testdata/benign/plain.pdf")
	b.must(err)
	_, err = storetest.Conn(t, b.store.System().Config().ConnString()).Exec(t.Context(), "UPDATE labels SET format = 'pdf', data = $1", drawn)
	b.must(err)

	asked := b.send(member.Shipper, path+"/labels.zpl?part=1", nil)
	page := asked.Header().Get("Location")
	if asked.Code != http.StatusSeeOther || !strings.HasPrefix(page, b.home+"/label-files/lbf_") || !strings.HasSuffix(page, "?batch="+string(id)) {
		t.Fatalf("%d to %q", asked.Code, page)
	}
	shown := b.send(member.Shipper, page, nil).Body.String()
	for _, want := range []string{"14 labels as ZPL", "Preparing labels: 8 of 14", `hx-trigger="every 2s"`, path} {
		if !strings.Contains(shown, want) {
			t.Errorf("while it is prepared, the page does not say %q", want)
		}
	}
	if w := b.send(member.Viewer, page, nil); w.Code != http.StatusForbidden {
		t.Errorf("a viewer: %d", w.Code)
	}

	name, _, _ := strings.Cut(strings.TrimPrefix(page, b.home+"/label-files/"), "?")
	file, _ := ship.ParseLabelFileID(name)
	again, err := b.web.Shipping.PrepareLabels(t.Context(), ship.Tenant{Account: b.owner.ID}, file)
	if err != nil || again != 0 {
		t.Fatalf("the job goes on after %s, %v", again, err)
	}
	part := b.send(member.Shipper, page, nil, "HX-Request", "true").Body.String()
	if !strings.Contains(part, "The labels are ready") || !strings.Contains(part, "Download 14 labels as ZPL") || strings.Contains(part, "hx-trigger") {
		t.Errorf("when it is ready: %s", part)
	}

	// The button sends the fields of its form.
	fields := form("paper", "4x6", "dpi", "203")
	for _, found := range regexp.MustCompile(`name="id" value="(shp_\w+)"`).FindAllStringSubmatch(part, -1) {
		fields.Add("id", found[1])
	}
	labels := b.send(member.Shipper, b.home+"/shipments/labels.zpl", fields)
	if n := strings.Count(labels.Body.String(), "^XA"); n != 14 || labels.Header().Get("X-Labels") != "14" {
		t.Errorf("%d: %d labels of %d", labels.Code, n, len(fields["id"]))
	}
}

func TestABatchIsBoughtForThePrinterThatIsChosen(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	path, id := b.buyBatch(threeOrders, "zpl")
	if page := b.send(member.Shipper, path, nil).Body.String(); !strings.Contains(page, "labels.zpl?part=1") || strings.Index(page, "Print") < strings.Index(page, "labels.zpl") {
		t.Error("the button prints something else")
	}
	row, err := b.web.Batch.Row(t.Context(), ship.Tenant{Account: b.owner.ID}, id, 1)
	b.must(err)
	sh, err := b.web.Shipping.Shipment(t.Context(), ship.Tenant{Account: b.owner.ID}, row.Shipment)
	b.must(err)
	if sh.Order.LabelFormat != "zpl" {
		t.Errorf("the carrier was asked for %q", sh.Order.LabelFormat)
	}
	next := b.batch(ship.Tenant{Account: b.owner.ID}, strings.ReplaceAll(threeOrders, "A-", "B-"))
	page := b.send(member.Shipper, b.home+"/batches/"+string(next), nil).Body.String()
	if !strings.Contains(page, `<option value="zpl" selected>`) {
		t.Error("the next batch forgets the printer")
	}
	if w := b.send(member.Shipper, b.home+"/batches/"+string(next), form("do", "buy", "format", "gif")); w.Code != http.StatusUnprocessableEntity {
		t.Errorf("a format that is none: %d", w.Code)
	}
}
