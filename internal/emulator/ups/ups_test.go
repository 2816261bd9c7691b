package ups_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/emulator"
	"github.com/waybillhq/waybill/internal/emulator/ups"
)

// A bench is an emulator and a plain client of it.
type bench struct {
	*emulator.Server
	t     *testing.T
	url   string
	token string
}

func start(t *testing.T, file string) *bench {
	t.Helper()
	ledger, err := emulator.OpenLedger(file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := ledger.Close(); err != nil {
			t.Error(err)
		}
	})
	b := &bench{Server: ups.New(ledger), t: t}
	b.LookupScale = 0
	server := httptest.NewServer(b.Server)
	t.Cleanup(server.Close)
	b.url = server.URL
	status, body, err := b.post("/security/v1/oauth/token", "application/x-www-form-urlencoded", "grant_type=client_credentials")
	var a struct {
		Token string `json:"access_token"`
		Life  string `json:"expires_in"`
	}
	if err != nil || status != 200 || json.Unmarshal(body, &a) != nil || a.Token == "" || a.Life != "3600" {
		t.Fatalf("token: %d %s %v", status, body, err)
	}
	b.token = a.Token
	return b
}

func (b *bench) do(method, path, kind, body string) (int, []byte, error) {
	b.t.Helper()
	req, err := http.NewRequestWithContext(b.t.Context(), method, b.url+path, strings.NewReader(body))
	if err != nil {
		b.t.Fatal(err)
	}
	req.Header.Set("Content-Type", kind)
	req.Header.Set("transId", "1")
	req.Header.Set("transactionSrc", "test")
	req.SetBasicAuth(ups.ClientID, ups.ClientSecret)
	if b.token != "" {
		req.Header.Set("Authorization", "Bearer "+b.token)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	return resp.StatusCode, data, err
}

func (b *bench) post(path, kind, body string) (int, []byte, error) {
	b.t.Helper()
	return b.do(http.MethodPost, path, kind, body)
}

// order returns a purchase of n parcels under a reference.
func order(reference string, n int) string {
	box := `{"Packaging":{"Code":"02"},"PackageWeight":{"UnitOfMeasurement":{"Code":"LBS"},"Weight":"2.5"},"ReferenceNumber":[{"Value":"` + reference + `"},{"Value":"second"}]}`
	return `{"ShipmentRequest":{"Request":{"RequestOption":"nonvalidate","TransactionReference":{"CustomerContext":"` + reference + `"}},
		"LabelSpecification":{"LabelImageFormat":{"Code":"GIF"},"LabelStockSize":{"Height":"6","Width":"4"}},
		"Shipment":{"Shipper":{"Name":"Acme","ShipperNumber":"` + ups.Account + `","Address":{"AddressLine":["1 Main St"],"City":"Los Angeles","StateProvinceCode":"CA","PostalCode":"90012","CountryCode":"US"}},
		"ShipTo":{"Name":"Ada Lovelace","Address":{"AddressLine":["350 5th Ave"],"City":"New York","StateProvinceCode":"NY","PostalCode":"10118","CountryCode":"US"}},
		"PaymentInformation":{"ShipmentCharge":{"Type":"01","BillShipper":{"AccountNumber":"` + ups.Account + `"}}},
		"Service":{"Code":"03"},"Package":[` + strings.Join(strings.Split(strings.Repeat(box+"|", n), "|")[:n], ",") + `]}}}`
}

func (b *bench) buy(reference string, n int) (int, []byte, error) {
	b.t.Helper()
	return b.post("/api/shipments/v2409/ship", "application/json", order(reference, n))
}

// find recovers the labels with a reference, or returns the first code of a
// refusal.
func (b *bench) find(reference string) (numbers, labels []string, refusal string) {
	b.t.Helper()
	_, body, err := b.post("/api/labels/v1/recovery", "application/json", `{"LabelRecoveryRequest":{"Request":{},"LabelSpecification":{"LabelImageFormat":{"Code":"GIF"}},
		"ReferenceValues":{"ReferenceNumber":{"Value":"`+reference+`"},"ShipperNumber":"`+ups.Account+`"}}}`)
	if err != nil {
		b.t.Fatal(err)
	}
	var a struct {
		LabelRecoveryResponse struct {
			LabelResults []struct {
				TrackingNumber string
				LabelImage     struct{ GraphicImage string }
			}
		}
	}
	if err := json.Unmarshal(body, &a); err != nil {
		b.t.Fatal(err)
	}
	for _, l := range a.LabelRecoveryResponse.LabelResults {
		numbers, labels = append(numbers, l.TrackingNumber), append(labels, l.LabelImage.GraphicImage)
	}
	return numbers, labels, codeOf(body)
}

func codeOf(body []byte) string {
	var a struct {
		Response struct {
			Errors []struct{ Code string }
		}
	}
	if json.Unmarshal(body, &a) != nil || len(a.Response.Errors) == 0 {
		return ""
	}
	return a.Response.Errors[0].Code
}

func TestTheLedgerSurvivesARestart(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ledger.jsonl")
	b := start(t, file)
	for i := range 3 {
		if status, body, err := b.buy(fmt.Sprint("R", i), 3); err != nil || status != 200 {
			t.Fatal(status, string(body), err)
		}
	}
	numbers, labels, _ := b.find("R1")
	again := start(t, file)
	gotNumbers, gotLabels, _ := again.find("R1")
	if len(numbers) != 3 || fmt.Sprint(gotNumbers) != fmt.Sprint(numbers) || fmt.Sprint(gotLabels) != fmt.Sprint(labels) {
		t.Errorf("after a restart %v, before %v", gotNumbers, numbers)
	}
	if status, body, err := again.buy("R9", 3); err != nil || status != 200 {
		t.Fatal(status, string(body), err)
	}
	seen := map[string]bool{}
	for _, e := range again.Ledger.Entries() {
		for _, n := range e.Pieces {
			if seen[n] || len(n) != 18 {
				t.Errorf("number %s is bad or sold twice", n)
			}
			seen[n] = true
		}
	}
}

func TestWhatHappensAfterASaleIsInTheLedger(t *testing.T) {
	for fault, want := range map[string]func(int, []byte, error) bool{
		"reset":    func(_ int, _ []byte, err error) bool { return err != nil },
		"truncate": func(_ int, _ []byte, err error) bool { return err != nil },
		"hang":     func(_ int, _ []byte, err error) bool { return err != nil },
		"500":      func(status int, body []byte, _ error) bool { return status == 500 && codeOf(body) == "10004" },
		"502": func(status int, body []byte, _ error) bool {
			return status == 502 && bytes.Contains(body, []byte("<html>"))
		},
		"wrong_reference": func(status int, body []byte, _ error) bool {
			return status == 200 && bytes.Contains(body, []byte(`"CustomerContext":"OTHERR"`))
		},
	} {
		b := start(t, "")
		if err := b.Turn(emulator.Faults{Buy: map[string]float64{fault: 1}, HangFor: emulator.Duration(time.Millisecond)}); err != nil {
			t.Fatal(err)
		}
		if status, body, err := b.buy("R", 1); !want(status, body, err) {
			t.Errorf("%s: %d %s %v", fault, status, body, err)
		}
		numbers, _, _ := b.find("R")
		if sold := b.Ledger.Entries(); len(sold) != 1 || sold[0].Reference != "R" || sold[0].Second != "second" || len(numbers) != 1 || numbers[0] != sold[0].Number || sold[0].Amount == "" {
			t.Errorf("%s: the ledger has %+v, the look-up %v", fault, sold, numbers)
		}
	}
}

func TestLookUpsTellWhatBecameOfASale(t *testing.T) {
	b := start(t, "")
	if _, _, code := b.find("R"); code != "9801031" {
		t.Errorf("before the sale: %s", code)
	}
	if err := b.Turn(emulator.Faults{LookupLag: new(emulator.Duration(time.Hour))}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := b.buy("R", 1); err != nil {
		t.Fatal(err)
	}
	if _, _, code := b.find("R"); code != "9801031" {
		t.Errorf("before the look-up knows: %s", code)
	}
	if err := b.Turn(emulator.Faults{}); err != nil {
		t.Fatal(err)
	}
	numbers, _, _ := b.find("R")
	if len(numbers) != 1 {
		t.Fatalf("found %v", numbers)
	}
	status, body, err := b.do(http.MethodDelete, "/api/shipments/v2409/void/cancel/"+numbers[0], "application/json", "")
	if err != nil || status != 200 || !bytes.Contains(body, []byte(`"SummaryResult":{"Status":{"Code":"1"`)) {
		t.Errorf("void: %d %s %v", status, body, err)
	}
	status, body, err = b.do(http.MethodDelete, "/api/shipments/v2409/void/cancel/"+numbers[0], "application/json", "")
	if err != nil || status != 400 || !bytes.Contains(body, []byte(`"190117"`)) {
		t.Errorf("the second void: %d %s %v", status, body, err)
	}
	if _, _, code := b.find("R"); code != "9801040" {
		t.Errorf("after the void: %s", code)
	}
	for range 2 {
		if _, _, err := b.buy("TWICE", 1); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, code := b.find("TWICE"); code != "300001" {
		t.Errorf("two sales: %s", code)
	}
	if n := len(b.Ledger.Entries()); n != 4 {
		t.Errorf("%d lines in the ledger, want three sales and one void", n)
	}
}

func TestBadRequestsAreRefused(t *testing.T) {
	b := start(t, "")
	for _, tc := range []struct{ name, from, to, code string }{
		{"another's account", `"ShipperNumber":"` + ups.Account, `"ShipperNumber":"999999`, "120100"},
		{"another pays without asking", `"AccountNumber":"` + ups.Account, `"AccountNumber":"999999`, "120400"},
		{"no street", `["350 5th Ave"]`, `[]`, "120202"},
		{"a bad zip", `"10118"`, `"1011"`, "120207"},
		{"no name", `"Ada Lovelace"`, `""`, "120200"},
		{"no weight", `"2.5"`, `"0"`, "120601"},
		{"kilograms in the United States", `"LBS"`, `"KGS"`, "120546"},
		{"heavy", `"2.5"`, `"151"`, "111035"},
		{"no packaging", `{"Code":"02"}`, `{}`, "120600"},
		{"a service of elsewhere", `"Service":{"Code":"03"}`, `"Service":{"Code":"65"}`, "121100"},
		{"another label", `"GIF"`, `"PDF"`, "120702"},
		{"no option", `"nonvalidate"`, `""`, "120001"},
		{"a reference in the wrong place", `"Service":`, `"ReferenceNumber":[{"Value":"R"}],"Service":`, "120541"},
		{"three references", `{"Value":"second"}`, `{"Value":"second"},{"Value":"third"}`, "120544"},
		{"a reference that is too long", `"second"`, `"` + strings.Repeat("9", 36) + `"`, "120603"},
		{"a territory as a state", `"StateProvinceCode":"NY"`, `"StateProvinceCode":"VI"`, "120206"},
		{"no JSON", `{"ShipmentRequest"`, `"ShipmentRequest"`, "10002"},
		{"another letter case", `"PostalCode":"10118"`, `"postalCode":"10118"`, "120011"},
		{"no label size", `"LabelStockSize"`, `"StockSize"`, "120011"},
		{"no such state", `"StateProvinceCode":"NY"`, `"StateProvinceCode":"ZZ"`, "120206"},
	} {
		body := strings.Replace(order("R", 1), tc.from, tc.to, 1)
		status, got, err := b.post("/api/shipments/v2409/ship", "application/json", body)
		if err != nil || status != 400 || codeOf(got) != tc.code {
			t.Errorf("%s: %d %s %v, want %s", tc.name, status, got, err, tc.code)
		}
	}
	if status, got, _ := b.post("/api/shipments/v2409/ship", "text/plain", order("R", 1)); status != 400 || codeOf(got) != "10007" {
		t.Errorf("text: %d %s", status, got)
	}
	b.token = "forged"
	if status, got, _ := b.buy("R", 1); status != 401 || codeOf(got) != "250002" {
		t.Errorf("a forged token: %d %s", status, got)
	}
	if n := len(b.Ledger.Entries()); n != 0 {
		t.Errorf("%d sales", n)
	}
}

func BenchmarkBuy(b *testing.B) {
	ledger, err := emulator.OpenLedger("")
	if err != nil {
		b.Fatal(err)
	}
	s := ups.New(ledger)
	token, _ := s.NewToken()
	for b.Loop() {
		r := httptest.NewRequestWithContext(b.Context(), http.MethodPost, "/api/shipments/v2409/ship", strings.NewReader(order("R", 1)))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Authorization", "Bearer "+token)
		w := httptest.NewRecorder()
		if s.ServeHTTP(w, r); w.Code != 200 {
			b.Fatal(w.Body)
		}
	}
}
