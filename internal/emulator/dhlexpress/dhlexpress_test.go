package dhlexpress_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/emulator"
	"github.com/waybillhq/waybill/internal/emulator/dhlexpress"
)

// bench is an emulator and a plain client.
type bench struct {
	t      *testing.T
	server *emulator.Server
	http   *httptest.Server
}

func newBench(t *testing.T, ledger string) *bench {
	t.Helper()
	l, err := emulator.OpenLedger(ledger)
	if err != nil {
		t.Fatal(err)
	}
	s := dhlexpress.New(l)
	s.LookupScale = 0
	b := &bench{t, s, httptest.NewServer(s)}
	t.Cleanup(func() {
		b.http.CloseClientConnections()
		b.http.Close()
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

// do sends a request as the client would; an error means that the response was
// lost.
func (b *bench) do(method, path, body string) (status int, answer map[string]any, err error) {
	b.t.Helper()
	r, err := http.NewRequestWithContext(b.t.Context(), method, b.http.URL+path, strings.NewReader(body))
	if err != nil {
		b.t.Fatal(err)
	}
	r.SetBasicAuth(dhlexpress.APIKey, dhlexpress.APISecret)
	r.Header.Set("x-version", "3.1.0")
	resp, err := b.http.Client().Do(r)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return resp.StatusCode, nil, err
	}
	if json.Unmarshal(data, &answer) != nil {
		answer = map[string]any{"page": string(data)}
	}
	return resp.StatusCode, answer, nil
}

// shipment returns a request to buy a label inside Germany under a reference.
func shipment(t *testing.T, reference string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "shipment.json"))
	if err != nil {
		t.Fatal(err)
	}
	planned := time.Now().UTC().Add(time.Hour).Format("2006-01-02T15:04:05 GMT-07:00")
	return strings.NewReplacer("PLANNED", planned, "REFERENCE", reference).Replace(string(data))
}

// TestAMemberThatDHLDoesNotKnowIsRefused: DHL's schemas allow no other members, and
// names are case-sensitive.
func TestAMemberThatDHLDoesNotKnowIsRefused(t *testing.T) {
	t.Parallel()
	b := newBench(t, "")
	right := shipment(t, "R-1")
	for key, wrong := range map[string]string{
		"#: extraneous key [note]":                    strings.Replace(right, "{", `{"note":"x",`, 1),
		"#: extraneous key [ProductCode]":             strings.Replace(right, `"productCode"`, `"ProductCode"`, 1),
		"shipperDetails/postalAddress: extraneous":    strings.Replace(right, `"postalAddress": {`, `"postalAddress": {"street":"x",`, 1),
		"#/content/packages/0: extraneous key [mass]": strings.Replace(right, `"weight"`, `"mass":1,"weight"`, 1),
	} {
		status, answer, err := b.do("POST", "/shipments", wrong)
		if text := fmt.Sprint(answer); wrong == right || err != nil || status != 422 || !strings.Contains(text, key) {
			t.Errorf("%s: %d %s, %v", key, status, text, err)
		}
	}
	if n := len(b.server.Ledger.Entries()); n != 0 {
		t.Errorf("%d were sold", n)
	}
}

// TestMembersInsideOptionalObjectsAreChecked: DHL demands members of an object that may
// be left out, and knows the codes of its members.
func TestMembersInsideOptionalObjectsAreChecked(t *testing.T) {
	t.Parallel()
	b := newBench(t, "")
	right := shipment(t, "R-2")
	for key, wrong := range map[string]string{
		"#/content/packages/0/dimensions: required key [height] not found": strings.Replace(right, `, "height": 10`, "", 1),
		"#/estimatedDeliveryDate: required key [isRequested] not found":    strings.Replace(right, "{", `{"estimatedDeliveryDate":{"typeCode":"QDDF"},`, 1),
		"#/estimatedDeliveryDate/typeCode: QDDZ is not a valid enum value": strings.Replace(right, "{", `{"estimatedDeliveryDate":{"isRequested":true,"typeCode":"QDDZ"},`, 1),
		"countryCode: ZZ is not a valid enum value":                        strings.Replace(right, `"countryCode": "DE"`, `"countryCode": "ZZ"`, 1),
		"#/content/declaredValueCurrency: EURO is not a valid enum value":  strings.Replace(right, `"content": {`, `"content": {"declaredValueCurrency":"EURO",`, 1),
	} {
		status, answer, err := b.do("POST", "/shipments", wrong)
		if text := fmt.Sprint(answer); wrong == right || err != nil || status != 422 || !strings.Contains(text, key) {
			t.Errorf("%s: %d %s, %v", key, status, text, err)
		}
	}
}

// lookUp looks up shipments by a reference.
func (b *bench) lookUp(reference string) (int, map[string]any) {
	b.t.Helper()
	day := time.Now().UTC()
	status, answer, err := b.do("GET", "/tracking?shipmentReference="+reference+"&shipperAccountNumber="+dhlexpress.Account+
		"&dateRangeFrom="+day.AddDate(0, 0, -1).Format(time.DateOnly)+"&dateRangeTo="+day.AddDate(0, 0, 1).Format(time.DateOnly)+
		"&trackingView=advance-shipment&levelOfDetail=all", "")
	if err != nil {
		b.t.Fatal(err)
	}
	return status, answer
}

// number returns the waybill number in the response of a look-up.
func number(t *testing.T, answer map[string]any) string {
	t.Helper()
	list, ok := answer["shipments"].([]any)
	if !ok || len(list) != 1 {
		t.Fatalf("%v does not show one shipment", answer)
	}
	n, _ := list[0].(map[string]any)["shipmentTrackingNumber"].(string)
	return n
}

func TestASaleOutlivesTheProcess(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ledger")
	first := newBench(t, file)
	status, sold, err := first.do("POST", "/mydhlapi/shipments", shipment(t, "S1"))
	if err != nil || status != http.StatusCreated {
		t.Fatalf("%d %v %v", status, sold, err)
	}
	second := newBench(t, file)
	if _, found := second.lookUp("S1"); number(t, found) != sold["shipmentTrackingNumber"] {
		t.Errorf("sold %v, found %v", sold["shipmentTrackingNumber"], found)
	}
	if _, again, err := second.do("POST", "/shipments", shipment(t, "S2")); err != nil || again["shipmentTrackingNumber"] == sold["shipmentTrackingNumber"] {
		t.Errorf("a second sale has the number of the first: %v, %v", again["shipmentTrackingNumber"], err)
	}
}

func TestFaultsOfASaleHappenAfterIt(t *testing.T) {
	for fault, seen := range map[string]func(status int, answer map[string]any, err error) bool{
		"reset":    func(_ int, _ map[string]any, err error) bool { return err != nil },
		"hang":     func(_ int, _ map[string]any, err error) bool { return err != nil },
		"truncate": func(status int, _ map[string]any, err error) bool { return status == 201 && err != nil },
		"500":      func(status int, a map[string]any, _ error) bool { return status == 500 && a["title"] != nil },
		"502":      func(status int, a map[string]any, _ error) bool { return status == 502 && a["page"] != nil },
		// DHL's response contains no reference, so it cannot contain a wrong
		// one.
		"wrong_reference": func(status int, _ map[string]any, err error) bool { return status == 201 && err == nil },
	} {
		t.Run(fault, func(t *testing.T) {
			b := newBench(t, "")
			faults := emulator.Faults{Buy: map[string]float64{fault: 1}, HangFor: emulator.Duration(50 * time.Millisecond)}
			if err := b.server.Turn(faults); err != nil {
				t.Fatal(err)
			}
			if status, answer, err := b.do("POST", "/shipments", shipment(t, "S1")); !seen(status, answer, err) {
				t.Errorf("a client sees %d %v %v", status, answer, err)
			}
			entries := b.server.Ledger.Entries()
			if len(entries) != 1 || entries[0].Kind != "sold" || entries[0].Reference != "S1" {
				t.Fatalf("the ledger says %+v", entries)
			}
			if status, found := b.lookUp("S1"); status != 200 || number(t, found) != entries[0].Number {
				t.Errorf("the look-up says %d %v", status, found)
			}
		})
	}
}

func TestTheLedgerSaysWhatWasBought(t *testing.T) {
	b := newBench(t, "")
	_, sold, err := b.do("POST", "/shipments", shipment(t, "S1"))
	if err != nil {
		t.Fatal(err)
	}
	e := b.server.Ledger.Entries()[0]
	if e.Second != "shp_1" || e.Account != dhlexpress.Account || e.Service != "N" || e.Amount != "18.70" || e.Currency != "EUR" || len(e.Pieces) != 2 {
		t.Errorf("the ledger says %+v", e)
	}
	charge := sold["shipmentCharges"].([]any)[0].(map[string]any)
	if charge["price"] != 18.7 || charge["priceCurrency"] != "EUR" {
		t.Errorf("the answer charges %v", charge)
	}
	n, rest := e.Number, 0
	for _, c := range n[:9] {
		rest = (rest*10 + int(c-'0')) % 7
	}
	if len(n) != 10 || int(n[9]-'0') != rest {
		t.Errorf("%s is no waybill number", n)
	}
	document := sold["documents"].([]any)[0].(map[string]any)
	label, err := base64.StdEncoding.DecodeString(document["content"].(string))
	if err != nil || !bytes.HasPrefix(label, []byte("%PDF-")) || bytes.Count(label, []byte("/Type/Page/")) != 2 || !bytes.Contains(label, []byte(n)) {
		t.Errorf("the label has not one page a piece: %v", err)
	}
}

func TestBadRequestsAreRefusedInDHLsWords(t *testing.T) {
	good := shipment(t, "S1")
	planned := time.Now().UTC().Add(time.Hour).Format("2006-01-02T15:04:05 GMT-07:00")
	for name, c := range map[string]struct {
		body, detail string
		status       int
	}{
		"no JSON":          {"{", "not well-formed", 422},
		"no phone":         {strings.Replace(good, `"phone": "+49 228 1820",`, "", 1), "#/customerDetails/shipperDetails/contactInformation: required key [phone] not found", 422},
		"no packages":      {strings.Replace(good, `"packages"`, `"parcels"`, 1), "required key [packages]", 422},
		"long city":        {strings.Replace(good, `"Hamburg"`, `"`+strings.Repeat("x", 46)+`"`, 1), "expected maxLength: 45, actual: 46", 422},
		"no country":       {strings.Replace(good, `"DE"`, `""`, 1), "expected minLength: 2, actual: 0", 422},
		"other account":    {strings.Replace(good, dhlexpress.Account, "987654321", 1), "8007:", 400},
		"a product abroad": {strings.Replace(good, `"productCode": "N"`, `"productCode": "P"`, 1), "996:", 400},
		"a bad date":       {strings.Replace(good, planned[:10], "tomorrow", 1), "998:", 400},
		"the past":         {strings.Replace(good, planned[:4], "2001", 1), "998:", 400},
		"a wrong tax type": {strings.Replace(good, `"contactInformation"`, `"registrationNumbers": [{"typeCode": "XXX", "number": "1", "issuerCountryCode": "DE"}], "contactInformation"`, 1), "registrationNumbers/0/typeCode", 422},
		"a wrong party":    {strings.Replace(good, `"contactInformation"`, `"typeCode": "person", "contactInformation"`, 1), "shipperDetails/typeCode", 422},
		"a local product":  {strings.Replace(good, `"productCode": "N"`, `"productCode": "N", "localProductCode": "X"`, 1), "996:", 400},
		"paperless inland": {strings.Replace(good, `"accounts"`, `"valueAddedServices": [{"serviceCode": "WY"}], "accounts"`, 1), "7008:", 400},
		"unknown extra":    {strings.Replace(good, `"accounts"`, `"valueAddedServices": [{"serviceCode": "ZZ"}], "accounts"`, 1), "7008:", 400},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, "")
			status, answer, err := b.do("POST", "/shipments", c.body)
			if text, _ := json.Marshal(answer); err != nil || status != c.status || !strings.Contains(string(text), c.detail) {
				t.Errorf("%d %v %v, want %d %s", status, answer, err, c.status, c.detail)
			}
			if n := len(b.server.Ledger.Entries()); n != 0 {
				t.Errorf("%d sales", n)
			}
		})
	}
}

func TestALookUpNeedsAccountAndDays(t *testing.T) {
	b := newBench(t, "")
	if _, _, err := b.do("POST", "/shipments", shipment(t, "S1")); err != nil {
		t.Fatal(err)
	}
	today := time.Now().UTC().Format(time.DateOnly)
	for query, want := range map[string]int{
		"":                     400,
		"shipmentReference=S1": 400,
		"shipmentReference=S1&shipperAccountNumber=" + dhlexpress.Account:                                                                                                              400,
		"shipmentReference=S1&trackingView=advance-shipment&shipperAccountNumber=" + dhlexpress.Account + "&dateRangeFrom=" + today + "&dateRangeTo=" + today:                          200,
		"shipmentReference=S1&trackingView=advance-shipment&shipperAccountNumber=" + dhlexpress.Account + "&dateRangeFrom=2001-01-01&dateRangeTo=2001-01-31":                           404,
		"shipmentReference=S1&trackingView=advance-shipment&shipperAccountNumber=1&dateRangeFrom=" + today + "&dateRangeTo=" + today:                                                   404,
		"shipmentReference=S1&trackingView=advance-shipment&shipmentReferenceType=CO&shipperAccountNumber=" + dhlexpress.Account + "&dateRangeFrom=" + today + "&dateRangeTo=" + today: 404,
	} {
		if status, answer, err := b.do("GET", "/tracking?"+query, ""); err != nil || status != want {
			t.Errorf("%s: %d %v %v, want %d", query, status, answer, err, want)
		}
	}
}

func TestNobodyGetsInWithoutALogin(t *testing.T) {
	b := newBench(t, "")
	resp, err := b.http.Client().Get(b.http.URL + "/mydhlapi/test/address-validate?type=delivery&countryCode=DE")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusUnauthorized {
		t.Errorf("status %d", resp.StatusCode)
	}
}

func TestParcelsMove(t *testing.T) {
	b := newBench(t, "")
	_, sold, err := b.do("POST", "/shipments", shipment(t, "S1"))
	if err != nil {
		t.Fatal(err)
	}
	n := sold["shipmentTrackingNumber"].(string)
	if status, _, _ := b.do("GET", "/shipments/"+n+"/tracking", ""); status != 404 {
		t.Errorf("a parcel that nobody has scanned is tracked: %d", status)
	}
	script := []emulator.Scan{
		{Code: "PU", Text: "Shipment picked up", City: "Bonn"},
		{After: emulator.Duration(time.Millisecond), Code: "OK", Text: "Delivered"},
		{After: emulator.Duration(time.Hour), Code: "RT", Text: "Returned"},
	}
	if err := b.server.Turn(emulator.Faults{Tracking: script}); err != nil {
		t.Fatal(err)
	}
	time.Sleep(2 * time.Millisecond)
	if _, twice, _ := b.do("GET", "/tracking?shipmentTrackingNumber="+n+"&shipmentTrackingNumber="+n, ""); number(t, twice) != n {
		t.Errorf("asked for twice: %v", twice)
	}
	status, answer, err := b.do("GET", "/shipments/"+n+"/tracking?requestGMTOffsetPerEvent=true", "")
	if err != nil || status != 200 {
		t.Fatalf("%d %v %v", status, answer, err)
	}
	events := answer["shipments"].([]any)[0].(map[string]any)["events"].([]any)
	if len(events) != 2 || events[1].(map[string]any)["typeCode"] != "OK" || events[1].(map[string]any)["GMTOffset"] != "+00:00" {
		t.Errorf("the parcel went through %v", events)
	}
}
