package e2e

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/client"
)

// TestTheClientTakesAParcelFromRatesToDelivery walks the whole specification
// through the public client, with every sandbox carrier.
func TestTheClientTakesAParcelFromRatesToDelivery(t *testing.T) {
	w := newWorld(t)
	url, _ := w.serve("SANDBOX_STEP=0")
	_, key := w.account("client")
	c := client.New(key, client.Options{BaseURL: url})
	ctx := t.Context()
	to := client.Address{Name: "Jane Doe", Address1: "350 5th Avenue", City: "New York", State: "NY", Zip: "10118", Country: "US"}
	parcel := &client.Parcel{Weight: 2.5}

	rates, err := c.Rates(ctx, client.RatesRequest{Destination: to, Parcel: parcel})
	if err != nil {
		t.Fatal(err)
	}
	var bought []string
	for _, carrier := range []string{"ups", "usps", "fedex", "dhl_express"} {
		i := slices.IndexFunc(rates.Rates, func(r client.Rate) bool { return r.Carrier == carrier })
		if i < 0 {
			t.Fatalf("%s quotes nothing", carrier)
		}
		sh, err := c.CreateShipment(ctx, client.ShipmentRequest{OrderID: "order-" + carrier, Destination: to, Parcel: parcel, RateID: rates.Rates[i].ID})
		if err != nil {
			t.Fatal(err)
		}
		if sh.Carrier != carrier || sh.Status != "created" || sh.LabelURL != url+"/v1/labels/"+sh.ID+".pdf" {
			t.Errorf("bought %+v", sh)
		}
		bought = append(bought, sh.ID)
		scanLabels(t, c, sh)
		for range 10 {
			tr, err := c.Advance(ctx, sh.ID, "", "")
			if err != nil {
				t.Fatal(err)
			}
			if tr.Status == "delivered" {
				break
			}
		}
		tr, err := c.Track(ctx, strings.ToLower(sh.TrackingNumber), "")
		if err != nil || tr.Status != "delivered" || tr.Carrier != carrier || tr.EstimatedDeliveryDate.IsZero() {
			t.Errorf("tracking says %+v (%v)", tr, err)
		}
		for i := 1; i < len(tr.Events); i++ {
			if tr.Events[i-1].Timestamp.Before(tr.Events[i].Timestamp) {
				t.Errorf("events are not newest first: %+v", tr.Events)
			}
		}
	}
	var listed []string
	for sh, err := range c.Shipments(ctx, client.ShipmentsRequest{Limit: 2}) {
		if err != nil {
			t.Fatal(err)
		}
		listed = append(listed, sh.ID)
	}
	slices.Reverse(listed)
	if !slices.Equal(listed, bought) {
		t.Errorf("listed %v, bought %v", listed, bought)
	}
	// Transactions of other tests on the server hold the log's horizon up.
	var kinds map[string]int
	for range 100 {
		kinds = map[string]int{}
		for e, err := range c.Events(ctx, client.EventsRequest{}) {
			if err != nil {
				t.Fatal(err)
			}
			kinds[e.Type]++
		}
		if kinds["shipment.delivered"] == 4 {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	if len(kinds) != 5 || kinds["shipment.created"] != 4 || kinds["label.generated"] != 4 || kinds["shipment.delivered"] != 4 {
		t.Errorf("the log has %v", kinds)
	}
}

// scanLabels reads the tracking number from the label's PDF and PNG.
func scanLabels(t *testing.T, c *client.Client, sh client.Shipment) {
	t.Helper()
	dir := t.TempDir()
	pdf, err := c.Label(t.Context(), sh.ID, client.LabelOptions{Format: "pdf"})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "label.pdf")
	if err := os.WriteFile(file, pdf, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := scanPDF(t, file); !strings.Contains(got, sh.TrackingNumber) {
		t.Errorf("the PDF of %s scans as %q, want %s", sh.Carrier, got, sh.TrackingNumber)
	}
	png, err := c.Label(t.Context(), sh.ID, client.LabelOptions{Format: "png", DPI: 300})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "label.png"), png, 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("zbarimg", "--nodbus", "-q", "--raw", filepath.Join(dir, "label.png")).Output()
	if err != nil || !strings.Contains(string(out), sh.TrackingNumber) {
		t.Errorf("the PNG of %s scans as %q (%v), want %s", sh.Carrier, out, err, sh.TrackingNumber)
	}
	zpl, err := c.Label(t.Context(), sh.ID, client.LabelOptions{Format: "zpl"})
	if err != nil || !bytes.HasPrefix(zpl, []byte("^XA")) {
		t.Errorf("the ZPL of %s begins with %.20q (%v)", sh.Carrier, zpl, err)
	}
}
