package web

import (
	"bytes"
	"html"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/member"
	"github.com/waybillhq/waybill/internal/ship"
)

// TestACarriersReasonsStandInTheDashboard: what a carrier objects to is said in
// its words on the list of rates, at the field of the form, and in the line of
// a batch.
func TestACarriersReasonsStandInTheDashboard(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	const reason = "does not serve Iran: there is an embargo, or service is suspended"

	typed := addressForm()
	for name, value := range map[string]string{"country": "IR", "state": "", "zip": "11369-13145", "city": "Tehran", "contents": "gift"} {
		typed.Set(name, value)
	}
	list := b.send(member.Shipper, b.home+"/shipments/rates", typed, "HX-Request", "true").Body.String()
	for _, carrier := range []string{"ups", "usps", "fedex", "dhl_express"} {
		at := strings.Index(list, "/shipments/rates?carrier="+carrier)
		if at < 0 {
			t.Fatalf("%s is not asked: %s", carrier, list)
		}
		path, _, _ := strings.Cut(list[at:], `"`)
		rates := b.send(member.Shipper, b.home+html.UnescapeString(path), typed, "HX-Request", "true").Body.String()
		if !strings.Contains(rates, reason) {
			t.Errorf("the rates of %s do not say why: %s", carrier, rates)
		}
	}

	w := b.send(member.Shipper, b.home+"/shipments", typed)
	if page := w.Body.String(); w.Code != http.StatusUnprocessableEntity || !strings.Contains(page, reason) || !strings.Contains(page, `data-wrong="country"`) {
		t.Errorf("the form: %d %s", w.Code, page)
	}

	line := "Order,Recipient,Street,City,State,Zip,Country,Weight\nB-1,Ada,Azadi St 1,Tehran,,11369-13145,IR,1\n"
	id := b.batch(ship.Tenant{Account: b.owner.ID}, line)
	if page := b.send(member.Shipper, b.home+"/batches/"+string(id)+"?show=all", nil).Body.String(); !strings.Contains(page, reason) {
		t.Errorf("the batch does not say why: %s", page)
	}
}

// TestCustomsDocumentsArePrintedFromTheDashboard reads the files themselves,
// from a shipment and from a batch.
func TestCustomsDocumentsArePrintedFromTheDashboard(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	isPDF := func(path string) {
		t.Helper()
		if w := b.send(member.Shipper, path, nil); w.Code != http.StatusOK || !bytes.HasPrefix(w.Body.Bytes(), []byte("%PDF-")) {
			t.Errorf("%s: %d %.60s", path, w.Code, w.Body)
		}
	}

	w := b.send(member.Shipper, b.home+"/shipments", abroadForm())
	if w.Code != http.StatusSeeOther {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	shipment := b.home + "/shipments/" + string(b.boughtBy(w.Header().Get("Location")).ID)
	if page := b.send(member.Shipper, shipment, nil).Body.String(); !strings.Contains(page, shipment+"/documents/1") {
		t.Error("the shipment does not link to its documents")
	}
	isPDF(shipment + "/documents/1")

	batch, _ := b.buyBatch("Order,Recipient,Street,City,Zip,Country,Weight,Customs: description,Customs: quantity,Customs: value of one,Customs: currency,Customs: made in\n"+
		"C-1,Ada,Lindenstr. 9,Berlin,10969,DE,1,Cotton shirt,2,12.50,USD,US\n", "pdf")
	if page := b.send(member.Shipper, batch, nil).Body.String(); !strings.Contains(page, batch+"/documents.pdf") {
		t.Error("the batch does not link to its documents")
	}
	isPDF(batch + "/documents.pdf")
}

// TestASearchShowsWhatWasLookedFor finds a shipment by parts of its numbers and
// by words of its recipient.
func TestASearchShowsWhatWasLookedFor(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	to := people[1]
	to.Email = "grace@example.com"
	wanted := b.buy(b.owner, "WEB-70012", to, 1)
	other := b.buy(b.owner, "WEB-80013", people[0], 1)
	b.rolled()

	number := wanted.Purchase.TrackingNumber
	for _, text := range []string{"70012", number[4:], "hopper", "GRACE hopper", "grace@example.com", "example.com", "New York"} {
		page := b.send(member.Viewer, b.home+"/search?q="+url.QueryEscape(text), nil).Body.String()
		found := strings.Contains(page, string(wanted.ID))
		otherFound := strings.Contains(page, string(other.ID))
		if !found || otherFound {
			t.Errorf("%q: the shipment is found: %t, the other: %t", text, found, otherFound)
		}
	}
}
