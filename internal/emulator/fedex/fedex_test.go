package fedex_test

import (
	"bytes"
	"encoding/base64"
	"image"
	"image/png"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/emulator"
	"github.com/waybillhq/waybill/internal/emulator/fedex"
)

// purchase is the request that a client sends, with a placeholder for changes.
const purchase = `{"accountNumber":{"value":"740561073"},"labelResponseOptions":"LABEL","requestedShipment":{
"shipper":{"contact":{"personName":"Ann","phoneNumber":"2135550100"},"address":{"streetLines":["1 Main St"],"city":"Los Angeles","stateOrProvinceCode":"CA","postalCode":"90012","countryCode":"US"}},
"recipients":[{"contact":{"personName":"Ada","phoneNumber":"2125550199"},"address":{"streetLines":["350 5th Ave"],"city":"New York","stateOrProvinceCode":"NY","postalCode":"10118","countryCode":"US"}}],
"pickupType":"DROPOFF_AT_FEDEX_LOCATION","serviceType":"FEDEX_2_DAY","packagingType":"YOUR_PACKAGING","totalWeight":2.5,
"shippingChargesPayment":{"paymentType":"SENDER"},"labelSpecification":{"imageType":"PNG","labelStockType":"PAPER_4X6"},
"requestedPackageLineItems":[{"weight":{"units":"LB","value":2.5},"groupPackageCount":1,"customerReferences":[{"customerReferenceType":"CUSTOMER_REFERENCE","value":"REF-1"},{"customerReferenceType":"P_O_NUMBER","value":"ORDER-1"}]}]}}`

// client is a client with valid keys.
type client struct {
	t    *testing.T
	base string
	auth string
}

func start(t *testing.T, l *emulator.Ledger, k emulator.Faults) client {
	t.Helper()
	server := fedex.New(l)
	server.LookupScale = 0
	if err := server.Turn(k); err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(server)
	t.Cleanup(s.CloseClientConnections)
	t.Cleanup(s.Close)
	return client{t, s.URL, tokenOf(t, s.URL)}
}

// ask sends JSON and returns the response, if there is one.
func (c client) ask(method, path, body string) (int, string, error) {
	c.t.Helper()
	r, err := http.NewRequestWithContext(c.t.Context(), method, c.base+path, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	r.Header.Set("Authorization", c.auth)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-Customer-Transaction-Id", "SHP-1")
	client := http.Client{Timeout: 2 * time.Second}
	resp, err := client.Do(r)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(got), err
}

func (c client) find(reference string) string {
	c.t.Helper()
	pacific, err := time.LoadLocation("America/Los_Angeles") // where the parcels are sent from
	if err != nil {
		c.t.Fatal(err)
	}
	day := time.Now().In(pacific)
	_, body, err := c.ask("POST", "/track/v1/referencenumbers", `{"referencesInformation":{"type":"CUSTOMER_REFERENCE","value":"`+reference+
		`","accountNumber":"740561073","shipDateBegin":"`+day.AddDate(0, 0, -1).Format(time.DateOnly)+`","shipDateEnd":"`+day.Format(time.DateOnly)+`"}}`)
	if err != nil {
		c.t.Fatal(err)
	}
	return body
}

func ledger(t *testing.T, name string) *emulator.Ledger {
	t.Helper()
	l, err := emulator.OpenLedger(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func TestSalesOutliveARestart(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ledger.jsonl")
	before := ledger(t, file)
	c := start(t, before, emulator.Faults{})
	if status, body, err := c.ask("POST", "/ship/v1/shipments", purchase); status != 200 || err != nil {
		t.Fatal(status, body, err)
	}
	number := before.Entries()[0].Number
	first := c.find("REF-1")

	after := ledger(t, file)
	c = start(t, after, emulator.Faults{})
	if again := c.find("REF-1"); again != first || !strings.Contains(again, number) {
		t.Errorf("found before the restart:\n%s\nafter it:\n%s", first, again)
	}
	if status, body, err := c.ask("POST", "/ship/v1/shipments", purchase); status != 200 || err != nil || strings.Contains(body, number) {
		t.Errorf("the next sale has the old number: %d %v", status, err)
	}
	void := `{"accountNumber":{"value":"740561073"},"trackingNumber":"` + number + `","deletionControl":"DELETE_ALL_PACKAGES"}`
	if status, body, _ := c.ask("PUT", "/ship/v1/shipments/cancel", void); status != 200 || !strings.Contains(body, `"cancelledShipment":true`) {
		t.Errorf("void: %d %s", status, body)
	}
	if status, body, _ := c.ask("PUT", "/ship/v1/shipments/cancel", void); status != 400 || !strings.Contains(body, "CANCELSHIPMENT.TRACKINGNUMBER.DELETED") {
		t.Errorf("second void: %d %s", status, body)
	}
	if e, voided, ok := ledger(t, file).Sold(number); !ok || !voided || e.Reference != "REF-1" || e.Second != "SHP-1" || e.Account != fedex.Account {
		t.Errorf("the file says %+v, voided %v", e, voided)
	}
}

func TestSalesWhoseAnswerIsLostAreInTheLedger(t *testing.T) {
	for fault, seen := range map[string]func(status int, body string, err error) bool{
		"hang":     func(_ int, _ string, err error) bool { return err != nil },
		"reset":    func(_ int, _ string, err error) bool { return err != nil },
		"truncate": func(_ int, _ string, err error) bool { return err != nil },
		"500": func(status int, body string, _ error) bool {
			return status == 500 && strings.Contains(body, "INTERNAL.SERVER.ERROR")
		},
		"502": func(status int, body string, _ error) bool { return status == 502 && strings.Contains(body, "<html>") },
		"wrong_reference": func(status int, body string, _ error) bool {
			return status == 200 && strings.Contains(body, "OTHERREF-1")
		},
	} {
		t.Run(fault, func(t *testing.T) {
			l := ledger(t, "")
			c := start(t, l, emulator.Faults{Buy: map[string]float64{fault: 1}, HangFor: emulator.Duration(100 * time.Millisecond)})
			if status, body, err := c.ask("POST", "/ship/v1/shipments", purchase); !seen(status, body, err) {
				t.Errorf("the client saw %d %.200s %v", status, body, err)
			}
			if sold := l.Entries(); len(sold) != 1 || sold[0].Reference != "REF-1" || !strings.Contains(c.find("REF-1"), sold[0].Number) {
				t.Errorf("the ledger has %+v, the look-up says %s", sold, c.find("REF-1"))
			}
		})
	}
}

func TestBadRequestsAreRefusedAndNotSold(t *testing.T) {
	l := ledger(t, "")
	c := start(t, l, emulator.Faults{})
	for _, x := range []struct{ old, now, code string }{
		{`"740561073"`, `"740561074"`, "ACCOUNT.NUMBER.MISMATCH"},
		{`"labelResponseOptions":"LABEL",`, ``, "LABELRESPONSEOPTIONS.REQUIRED"},
		{`"phoneNumber":"2125550199"`, `"phoneNumber":"5550199"`, "PHONENUMBER.INVALID"},
		{`"350 5th Ave"`, `"350 5th Ave, behind the third door on the left"`, "STREETLINE.TOOLONG"},
		{`"stateOrProvinceCode":"NY",`, ``, "STATEORPROVINCECODE.INVALID"},
		{`"10118"`, `""`, "DESTINATION.POSTAL.REQUIRED"},
		{`"FEDEX_2_DAY"`, `"INTERNATIONAL_FIRST"`, "SERVICE.TYPE.INVALID"},
		{`"FEDEX_2_DAY"`, `"GROUND_HOME_DELIVERY"`, "SERVICE.TYPE.RESIDENTIAL.MISMATCH"},
		{`"YOUR_PACKAGING"`, `"A_BAG"`, "PACKAGINGTYPE.MISSING.OR.INVALID"},
		{`"SENDER"`, `"THIRD_PARTY"`, "PAYOR.ACCOUNTNUMBER.REQUIRED"},
		{`"PAPER_4X6"`, `"STOCK_4X6"`, "LABELSTOCKTYPE.INVALID"},
		{`"value":2.5`, `"value":250`, "PACKAGE.WEIGHT.EXCEEDED"},
		{`"postalCode":"10118","countryCode":"US"`, `"postalCode":"H3Z2Y7","countryCode":"CA"`, "CUSTOMSCLEARANCEDETAIL.REQUIRED"},
		{`"recipients":[`, `"recipients":"`, "INVALID.INPUT.EXCEPTION"},
		{`"phoneNumber":"2125550199"`, `"PhoneNumber":"2125550199"`, "INVALID.INPUT.EXCEPTION"},
		{`"stateOrProvinceCode":"NY"`, `"stateOrProvinceCode":"ZZ"`, "STATEORPROVINCECODE.INVALID"},
		{`"totalWeight"`, `"totalWeights"`, "INVALID.INPUT.EXCEPTION"},
	} {
		status, body, err := c.ask("POST", "/ship/v1/shipments", strings.Replace(purchase, x.old, x.now, 1))
		if status != 400 || err != nil || !strings.Contains(body, `"code":"`+x.code+`"`) {
			t.Errorf("%s instead of %s: %d %s %v, want %s", x.now, x.old, status, body, err, x.code)
		}
	}
	c.auth = "Bearer nobody"
	if status, body, _ := c.ask("POST", "/ship/v1/shipments", purchase); status != 401 || !strings.Contains(body, "NOT.AUTHORIZED.ERROR") {
		t.Errorf("without a token: %d %s", status, body)
	}
	if sold := l.Entries(); len(sold) > 0 {
		t.Errorf("sold %+v", sold)
	}
}

// TestSearchesOutsideFedExsLimitsAreRefused: windows end today at the latest and
// span 30 days.
func TestSearchesOutsideFedExsLimitsAreRefused(t *testing.T) {
	c := start(t, ledger(t, ""), emulator.Faults{})
	if status, body, err := c.ask("POST", "/ship/v1/shipments", purchase); status != 200 || err != nil {
		t.Fatal(status, body, err)
	}
	pacific, err := time.LoadLocation("America/Los_Angeles")
	if err != nil {
		t.Fatal(err)
	}
	day := func(n int) string { return time.Now().In(pacific).AddDate(0, 0, n).Format(time.DateOnly) }
	account := `"accountNumber":"740561073","value":"REF-1",`
	number := ledgerNumber(t, c)
	for _, x := range []struct{ search, begin, end, code string }{
		{account + `"type":"CUSTOMER_REFERENCE"`, day(-1), day(0), ""},
		{account + `"type":"SHIPPER_REFERENCE"`, day(-30), day(0), ""},
		{account + `"type":"CUSTOMER_REFERENCE"`, "", "", ""},
		{account + `"type":"CUSTOMER_REFERENCE"`, day(-1), day(1), "TRACKING.SHIPDATEEND.FUTURE"},
		{account + `"type":"CUSTOMER_REFERENCE"`, day(-31), day(0), "TRACKING.SHIPDATERANGE.ERROR"},
		{account + `"type":"CUSTOMER_REFERENCE"`, day(-800), day(-790), "TRACKING.SHIPDATERANGE.ERROR"},
		{account + `"type":"CUSTOMER_REFERENCE"`, day(0), day(-1), "TRACKING.SHIPDATE.ENDDATEBEFOREBEGINDATE"},
		{account + `"type":"CUSTOMER_REFERENCE"`, "", day(0), "TRACKING.SHIPDATEBEGIN.INVALID"},
		{account + `"type":"CUSTOMER_REFERENCE"`, day(0), "today", "TRACKING.SHIPDATEEND.INVALID"},
		{account + `"type":"customer_reference"`, day(0), day(0), "TRACKING.REFERENCETYPE.INVALID"},
		{`"value":"REF-1","type":"CUSTOMER_REFERENCE"`, day(0), day(0), "TRACKING.REFERENCEDATA.INCOMPLETE"},
	} {
		dates := `"shipDateBegin":"` + x.begin + `","shipDateEnd":"` + x.end + `"`
		_, body, err := c.ask("POST", "/track/v1/referencenumbers", `{"referencesInformation":{`+x.search+`,`+dates+`}}`)
		if err != nil || x.code != "" && !strings.Contains(body, `"code":"`+x.code+`"`) || x.code == "" && !strings.Contains(body, number) {
			t.Errorf("%s from %s to %s: %.300s, want %q", x.search, x.begin, x.end, body, x.code)
		}
	}

	proof := `{"trackDocumentDetail":{"documentType":"SIGNATURE_PROOF_OF_DELIVERY"},"trackDocumentSpecification":[{"trackingNumberInfo":{"trackingNumber":"` + number + `"},"shipDateBegin":"` + day(-1) + `","shipDateEnd":"`
	if _, body, _ := c.ask("POST", "/track/v1/trackingdocuments", proof+day(1)+`"}]}`); !strings.Contains(body, "TRACKING.SHIPDATEEND.FUTURE") {
		t.Errorf("a proof until tomorrow: %s", body)
	}
	if _, body, _ := c.ask("POST", "/track/v1/trackingdocuments", proof+day(0)+`"}]}`); !strings.Contains(body, "TRACKINGDOCUMENT.DOCUMENT.UNAVAILABLE") {
		t.Errorf("a proof before the delivery: %s", body)
	}
}

// ledgerNumber returns the number of the only sale.
func ledgerNumber(t *testing.T, c client) string {
	t.Helper()
	_, body, err := c.ask("GET", "/_emulator/ledger", "")
	_, number, ok := strings.Cut(body, `"number":"`)
	number, _, _ = strings.Cut(number, `"`)
	if err != nil || !ok {
		t.Fatal(body, err)
	}
	return number
}

func TestParcelsMoveAndCannotBeCancelledThen(t *testing.T) {
	l := ledger(t, "")
	c := start(t, l, emulator.Faults{Tracking: []emulator.Scan{
		{Code: "OC", Text: "Label created"}, {Code: "PU", Text: "Picked up"}, {After: emulator.Duration(time.Hour), Code: "DL", Text: "Delivered"},
	}})
	if status, body, _ := c.ask("POST", "/ship/v1/shipments", purchase); status != 200 {
		t.Fatal(status, body)
	}
	number := l.Entries()[0].Number
	_, body, _ := c.ask("POST", "/track/v1/trackingnumbers", `{"includeDetailedScans":true,"trackingInfo":[{"trackingNumberInfo":{"trackingNumber":"`+number+`"}}]}`)
	if !strings.Contains(body, `"eventType":"PU"`) || strings.Contains(body, `"eventType":"DL"`) || !strings.Contains(body, `"city":"Los Angeles"`) {
		t.Errorf("tracking says %s", body)
	}
	status, body, _ := c.ask("PUT", "/ship/v1/shipments/cancel", `{"accountNumber":{"value":"740561073"},"trackingNumber":"`+number+`"}`)
	if status != 400 || !strings.Contains(body, "SHIPMENT.CANCEL.NOTALLOWED") {
		t.Errorf("void: %d %s", status, body)
	}
}

func TestLabelShowsItsNumberInBars(t *testing.T) {
	l := ledger(t, "")
	c := start(t, l, emulator.Faults{})
	_, body, _ := c.ask("POST", "/ship/v1/shipments", purchase)
	_, text, _ := strings.Cut(body, `"encodedLabel":"`)
	text, _, _ = strings.Cut(text, `"`)
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	picture, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	// Start C, twelve digits, check digit and stop take 11 modules each and 2
	// more, of 4 dots each.
	runs := barRuns(picture, 800)
	total := 0
	for _, r := range runs {
		total += r
	}
	if len(runs) != 8*6+7 || total != (8*11+13)*4 || runs[0] != 8 || runs[1] != 4 {
		t.Errorf("%d bars and spaces of %d dots: %v", len(runs), total, runs)
	}
}

// barRuns returns the lengths of the bars and spaces of a row, within the
// frame.
func barRuns(picture image.Image, y int) []int {
	dark := func(x int) bool { r, _, _, _ := picture.At(x, y).RGBA(); return r == 0 }
	first, last := 20, 780
	for !dark(first) {
		first++
	}
	for !dark(last) {
		last--
	}
	runs := []int{0}
	for x := first; x <= last; x++ {
		if x > first && dark(x) != dark(x-1) {
			runs = append(runs, 0)
		}
		runs[len(runs)-1]++
	}
	return runs
}

// TestEveryResponseIsCompressed: FedEx compresses its responses whether or not
// the client accepts that.
func TestEveryResponseIsCompressed(t *testing.T) {
	t.Parallel()
	ledger, err := emulator.OpenLedger("")
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(fedex.New(ledger))
	t.Cleanup(server.Close)

	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+"/oauth/token", strings.NewReader(""))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Accept-Encoding", "identity")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if got := response.Header.Get("Content-Encoding"); got != "gzip" {
		t.Errorf("the content encoding is %q, want gzip", got)
	}
}
