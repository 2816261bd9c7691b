package dashboard

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/emulator"
	"github.com/waybillhq/waybill/internal/emulator/ups"
	"github.com/waybillhq/waybill/test/proving"
)

// How much of what grows with the work, and not with the shipments, the
// account has: enough that each of its lists has pages.
const (
	rules         = 500 // the most that a book can have
	ruleVersions  = 60
	sheetVersions = 60
	batchLines    = 60
	batchLabels   = 12 // a file of labels is made when it is asked for, and costs by the label
)

// newCarrier starts a stand-in for UPS.
func newCarrier(t *testing.T) string {
	t.Helper()
	ledger, err := emulator.OpenLedger("")
	if err != nil {
		t.Fatal(err)
	}
	standIn := ups.New(ledger)
	standIn.LookupScale = 0
	server := httptest.NewServer(standIn)
	t.Cleanup(server.Close)
	return server.URL
}

// belongings are what people and programs keep beside shipments.
func (s *stand) belongings() {
	s.Helper()
	s.post(s.home+"/connect/ups", "connection-name", "Main contract", "client_id", ups.ClientID, "client_secret", ups.ClientSecret, "account_number", ups.Account)
	for i := range 3 {
		s.call(http.MethodPost, "/v1/shipments", fmt.Sprintf(`{"orderId":"C%d","carrier":"ups","service":"ground","origin":%s,"destination":%s,"parcel":{"weight":2}}`, i, origin, destination))
	}
	var logo bytes.Buffer
	s.must(png.Encode(&logo, image.NewGray(image.Rect(0, 0, 200, 60))))
	s.upload(s.home+"/settings/logo", "logo", logo.Bytes())
	s.post(s.home+"/settings", "name", "Northwind", "currency", "USD", "weightUnit", "lb", "lengthUnit", "in",
		"originName", "N", "address1", "1201 S Figueroa St", "city", "Los Angeles", "state", "CA", "zip", "90015", "country", "US", "phone", "+12135550100")
	s.batch()
	s.book()
	s.sheets()
}

// batch has a file of orders bought, and another one wait with a mistake in
// it.
func (s *stand) batch() {
	s.Helper()
	for bought, lines := range map[bool]int{true: batchLabels, false: batchLines} {
		var file bytes.Buffer
		file.WriteString("Order,Recipient,Street,City,State,Zip,Country,Weight,Phone,Carrier,Item,Value,HS,Origin\n")
		for i := range lines - 1 {
			fmt.Fprintf(&file, "%v%d,Ada Lovelace,500 Main St,Austin,TX,78701,US,%d.5,,,,,,\n", bought, i, 1+i%7)
		}
		fmt.Fprintf(&file, "%v-abroad,Ada Lovelace,111 Wellington St,Ottawa,ON,K1A 0A9,CA,2.5,+16135550100,ups,Cotton shirt,20.00,610910,PT\n", bought)
		if !bought {
			file.WriteString("last,,500 Main St,Austin,Tixas,78701,US,heavy,,,,,,\n")
		}
		at := s.upload(s.home+"/batches", "file", file.Bytes())
		columns := []string{"fixed.weightUnit", "lb"}
		for i, field := range []string{"order", "name", "address1", "city", "state", "zip", "country", "weight", "phone", "carrier", "item", "value", "hsCode", "origin"} {
			columns = append(columns, fmt.Sprint("column.", i), field)
		}
		s.post(at+"/columns", columns...)
		s.noneIs("rating")
		if bought {
			s.post(at, "do", "buy")
			s.noneIs("purchasing")
		}
	}
}

// noneIs waits until no batch is in a state.
func (s *stand) noneIs(state string) {
	s.Helper()
	for until := time.Now().Add(proving.Patiently(time.Minute)); time.Now().Before(until); {
		var n int
		if s.must(s.owner.QueryRow(s.Context(), "SELECT count(*) FROM batches WHERE state = $1", state).Scan(&n)); n == 0 {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	s.Fatalf("a batch stays %s", state)
}

// book publishes a large book again and again, and leaves a draft of it.
func (s *stand) book() {
	s.Helper()
	carriers := []string{"usps", "fedex", "dhl_express", "ups"}
	for v := range ruleVersions + 1 {
		list := make([]string, rules)
		for i := range list {
			list[i] = fmt.Sprintf(`{"name":"Rule %d","when":"parcel.weightLb > %d && destination.state == \"TX\" && metadata[\"lane\"] == \"%d\"","then":{"prefer":[{"carrier":"%s"}],"tolerancePercent":%d}}`,
				i+1, i%50, i, carriers[i%4], 5+(i+v)%(7+v%3))
		}
		s.call(http.MethodPut, "/v1/routing/draft", `{"rules":[`+strings.Join(list, ",")+`]}`)
		if v < ruleVersions {
			s.call(http.MethodPost, "/v1/routing/publish", fmt.Sprintf(`{"note":"Week %d"}`, v+1))
		}
	}
}

// sheets imports the prices of a contract again and again.
func (s *stand) sheets() {
	s.Helper()
	for v := range sheetVersions {
		s.call(http.MethodPut, "/v1/rate-sheets/fedex-contract", sheetOf("fedex", v))
	}
	for _, carrier := range []string{"usps", "dhl_express"} {
		s.call(http.MethodPut, "/v1/rate-sheets/"+strings.ReplaceAll(carrier, "_", "-"), sheetOf(carrier, 0))
	}
}

// sheetOf is a sheet with eight zones and a price for every pound, as
// contracts have them.
func sheetOf(carrier string, version int) string {
	service := map[string]string{"fedex": "ground", "usps": "ground_advantage", "dhl_express": "express_domestic"}[carrier]
	var b strings.Builder
	fmt.Fprintf(&b, "[sheet]\nname,Contract %d\ncurrency,USD\nweight unit,lb\n[zones]\nzone,country,zip\n", version+1)
	head := "service,up to"
	for zone := range 8 {
		fmt.Fprintf(&b, "%d,US,%d\n", zone+2, zone)
		head += fmt.Sprintf(",zone %d", zone+2)
	}
	b.WriteString("[rates]\n" + head + "\n")
	for pound := range 150 {
		fmt.Fprintf(&b, "%s,%d", service, pound+1)
		for zone := range 8 {
			fmt.Fprintf(&b, ",%d.%02d", 8+pound/2+zone, version)
		}
		b.WriteByte('\n')
	}
	body, err := json.Marshal(map[string]string{"carrier": carrier, "csv": b.String()})
	if err != nil {
		panic(err)
	}
	return string(body)
}

// call asks the API.
func (s *stand) call(method, path, body string) {
	s.Helper()
	r, err := http.NewRequestWithContext(s.Context(), method, s.base+path, strings.NewReader(body))
	s.must(err)
	r.Header.Set("Authorization", "Bearer "+s.key)
	r.Header.Set("Content-Type", "application/json")
	w, err := s.http.Do(r)
	s.must(err)
	said, err := io.ReadAll(w.Body)
	s.must(err)
	_ = w.Body.Close()
	if w.StatusCode >= http.StatusBadRequest {
		s.Fatalf("%s %s: %d %s", method, path, w.StatusCode, said)
	}
}

// upload sends a file and returns the path that it leads to.
func (s *stand) upload(path, field string, data []byte) string {
	s.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	part, err := form.CreateFormFile(field, "file.csv")
	s.must(err)
	_, err = part.Write(data)
	s.must(err)
	s.must(form.Close())
	w, err := s.http.Post(s.base+path, form.FormDataContentType(), &body)
	s.must(err)
	said, err := io.ReadAll(w.Body)
	s.must(err)
	_ = w.Body.Close()
	if w.StatusCode != http.StatusSeeOther {
		s.Fatalf("POST %s: %d %s", path, w.StatusCode, said)
	}
	to, _, _ := strings.Cut(w.Header.Get("Location"), "?")
	return to
}
