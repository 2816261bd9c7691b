package usps_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image/png"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/emulator"
	"github.com/waybillhq/waybill/internal/emulator/usps"
)

// A client is a plain HTTP client of the emulator.
type client struct {
	t              *testing.T
	at             string
	access, paying string
}

// start runs an emulator on the ledger of a file; "" keeps none.
func start(t *testing.T, file string) (*emulator.Server, *client, func()) {
	t.Helper()
	ledger, err := emulator.OpenLedger(file)
	if err != nil {
		t.Fatal(err)
	}
	s := usps.New(ledger)
	s.LookupScale = 0
	server := httptest.NewServer(s)
	stop := sync.OnceFunc(func() {
		server.CloseClientConnections()
		server.Close()
		if err := ledger.Close(); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	c := &client{t: t, at: server.URL}
	var token struct {
		Access string `json:"access_token"`
	}
	c.do("POST", "/oauth2/v3/token", "", fmt.Sprintf(`{"grant_type":"client_credentials","client_id":%q,"client_secret":%q}`, usps.ClientID, usps.ClientSecret), &token)
	c.access = token.Access
	var payment struct {
		Token string `json:"paymentAuthorizationToken"`
	}
	c.do("POST", "/payments/v3/payment-authorization", "", roles(usps.Account), &payment)
	c.paying = payment.Token
	return s, c, stop
}

func roles(account string) string {
	return fmt.Sprintf(`{"roles":[{"roleName":"PAYER","CRID":%q,"accountType":"EPS","accountNumber":%q},{"roleName":"LABEL_OWNER","CRID":%q,"MID":%q,"manifestMID":%q}]}`,
		usps.CRID, account, usps.CRID, usps.MID, usps.ManifestMID)
}

// do sends one request. The status is 0 if no complete response arrived.
func (c *client) do(method, path, key, body string, into any) (status int, said string) {
	c.t.Helper()
	req, err := http.NewRequestWithContext(c.t.Context(), method, c.at+path, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	req.GetBody = nil // otherwise the HTTP client itself retries requests that have an idempotency key
	req.Header.Set("Authorization", "Bearer "+c.access)
	req.Header.Set("X-Payment-Authorization-Token", c.paying)
	if key != "" {
		req.Header.Set("X-Idempotency-Key", key)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err.Error()
	}
	if into != nil && resp.StatusCode < 300 {
		if err := json.Unmarshal(data, into); err != nil {
			c.t.Fatal(err)
		}
	}
	return resp.StatusCode, string(data)
}

type label struct {
	Number string      `json:"trackingNumber"`
	Abroad string      `json:"internationalTrackingNumber"`
	Postal json.Number `json:"postage"`
	Image  []byte      `json:"labelImage"`
}

// request returns an order for a label with changes: "weight": 2.
func request(changes map[string]any) string {
	in := map[string]any{
		"imageInfo":   map[string]any{"imageType": "PDF"},
		"toAddress":   map[string]any{"firstName": "Grace", "lastName": "Hopper", "streetAddress": "2700 S Jefferson Ave", "city": "St. Louis", "state": "MO", "ZIPCode": "63104"},
		"fromAddress": map[string]any{"firm": "Engine Works", "streetAddress": "45 L St SW", "city": "Washington", "state": "DC", "ZIPCode": "20024"},
	}
	d := map[string]any{
		"mailClass": "PRIORITY_MAIL", "rateIndicator": "SP", "processingCategory": "MACHINABLE", "destinationEntryFacilityType": "NONE",
		"weight": 1.5, "length": 9, "width": 6, "height": 4, "mailingDate": time.Now().UTC().Format(time.DateOnly),
		"customerReference": []any{map[string]any{"referenceNumber": "R1"}, map[string]any{"referenceNumber": "second"}},
	}
	for name, value := range changes {
		if _, top := in[name]; top || name == "customsForm" || name == "colour" {
			in[name] = value
		} else {
			d[name] = value
		}
	}
	in["packageDescription"] = d
	body, _ := json.Marshal(in)
	return string(body)
}

const (
	key1 = "8be4df61-93ca-41d2-aa0d-00e098032b8c"
	key2 = "8be4df61-93ca-41d2-aa0d-00e098032b8d"
)

func TestTheSameKeySellsOnce(t *testing.T) {
	s, c, _ := start(t, "")
	numbers := make([]label, 40)
	var group sync.WaitGroup
	for i := range numbers {
		group.Go(func() { c.do("POST", "/labels/v3/label", key1, request(nil), &numbers[i]) })
	}
	group.Wait()
	var again label
	if status, said := c.do("POST", "/labels/v3/label", key1, request(nil), &again); status != 200 || again.Number == "" {
		t.Fatalf("%d %s", status, said)
	}
	for _, n := range numbers {
		if n.Number != again.Number {
			t.Errorf("the key has %s and %s", n.Number, again.Number)
		}
	}
	if status, _ := c.do("POST", "/labels/v3/label", key1, request(map[string]any{"weight": 2}), nil); status != 400 {
		t.Errorf("the key with another body is %d, want 400", status)
	}
	if n := len(s.Ledger.Entries()); n != 1 {
		t.Errorf("%d sales, want 1", n)
	}
	if c.do("POST", "/labels/v3/label", key2, request(nil), nil); len(s.Ledger.Entries()) != 2 {
		t.Error("another key sells nothing")
	}
}

func TestTheLedgerOutlivesTheStandIn(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ledger")
	_, c, stop := start(t, file)
	var sold label
	c.do("POST", "/labels/v3/label", key1, request(nil), &sold)
	stop()
	s, c, stop := start(t, file)
	defer stop()
	if e := s.Ledger.Entries(); len(e) != 1 || e[0].Number != sold.Number || e[0].Reference != "R1" || e[0].Second != "second" || e[0].Account != usps.Account {
		t.Fatalf("the ledger has %+v", e)
	}
	var again label
	c.do("POST", "/labels/v3/label", key1, request(nil), &again)
	var reprint struct {
		Metadata label  `json:"labelMetadata"`
		Image    []byte `json:"labelImage"`
	}
	c.do("POST", "/labels/v3/label-reprint", key1, `{"imageInfo":{"imageType":"PDF"}}`, &reprint)
	for _, n := range []string{again.Number, reprint.Metadata.Number} {
		if n != sold.Number {
			t.Errorf("after the restart it is %s, was %s", n, sold.Number)
		}
	}
	if !bytes.Equal(reprint.Image, sold.Image) || !bytes.HasPrefix(sold.Image, []byte("%PDF-")) {
		t.Error("the label is another one")
	}
	var other label
	if c.do("POST", "/labels/v3/label", key2, request(nil), &other); other.Number == sold.Number || other.Number == "" {
		t.Errorf("another sale has the number %s", other.Number)
	}
}

func TestFaultsComeAfterTheSale(t *testing.T) {
	for fault, want := range map[string]int{"reset": 0, "truncate": 0, "500": 500, "502": 502, "wrong_reference": 200} {
		s, c, _ := start(t, "")
		if err := s.Turn(emulator.Faults{Buy: map[string]float64{fault: 1}}); err != nil {
			t.Fatal(err)
		}
		status, said := c.do("POST", "/labels/v3/label", key1, request(nil), nil)
		if status != want || len(s.Ledger.Entries()) != 1 {
			t.Errorf("%s: %d with %d sales, want %d with 1", fault, status, len(s.Ledger.Entries()), want)
		}
		if mixed := strings.Contains(said, `"routingInformation":"42000000"`); mixed != (fault == "wrong_reference") {
			t.Errorf("%s: %s", fault, said)
		}
	}
}

func TestLookUpsLag(t *testing.T) {
	s, c, _ := start(t, "")
	c.do("POST", "/labels/v3/label", key1, request(nil), nil)
	if err := s.Turn(emulator.Faults{LookupLag: new(emulator.Duration(time.Hour))}); err != nil {
		t.Fatal(err)
	}
	if status, said := c.do("POST", "/labels/v3/label-reprint", key1, `{}`, nil); status != 400 || !strings.Contains(said, "160378") {
		t.Errorf("%d %s", status, said)
	}
}

func TestCancellations(t *testing.T) {
	_, c, _ := start(t, "")
	var sold label
	c.do("POST", "/labels/v3/label", key1, request(nil), &sold)
	for i, tc := range []struct{ method, path, key, want string }{
		{"DELETE", "/labels/v3/label/9400100000000000000000", "", "160185"},
		{"DELETE", "/labels/v3/label", "", "160185"},
		{"DELETE", "/international-labels/v3/international-label/" + sold.Number, "", "160185"},
		{"DELETE", "/labels/v3/label/" + sold.Number, "", `"CANCELED"`},
		{"DELETE", "/labels/v3/label", key1, "160186"},
		{"POST", "/labels/v3/label-reprint/" + sold.Number, "", "160379"},
		{"POST", "/labels/v3/label", key1, "160186"},
	} {
		body := `{}`
		if tc.path == "/labels/v3/label" && tc.method == "POST" {
			body = request(nil)
		}
		if _, said := c.do(tc.method, tc.path, tc.key, body, nil); !strings.Contains(said, tc.want) {
			t.Errorf("%d %s %s: %s, want %s", i, tc.method, tc.path, said, tc.want)
		}
	}
	c.do("POST", "/labels/v3/label", key2, request(map[string]any{"packageOptions": map[string]any{"immediateManifest": true}}), nil)
	if _, said := c.do("DELETE", "/labels/v3/label", key2, "", nil); !strings.Contains(said, `"DISPUTED"`) {
		t.Errorf("after the manifest: %s", said)
	}
}

func TestBadRequestsAreRefused(t *testing.T) {
	s, c, _ := start(t, "")
	for want, changes := range map[string]map[string]any{
		"colour is not allowed":      {"colour": "red"},
		"firstName and lastName":     {"toAddress": map[string]any{"firstName": "Grace", "streetAddress": "1 A", "city": "B", "state": "MO", "ZIPCode": "63104"}},
		"160119":                     {"toAddress": map[string]any{"firm": "G", "streetAddress": "1 A", "city": "B", "state": "MO", "ZIPCode": "6310"}},
		"160120":                     {"toAddress": map[string]any{"firm": "G", "streetAddress": "1 A", "city": "APO", "state": "AE", "ZIPCode": "09008"}},
		"mailClass is not valid":     {"mailClass": "PIGEON"},
		"160286":                     {"rateIndicator": ""},
		"160287":                     {"packagingType": "VARIABLE"},
		"160013":                     {"rateIndicator": "", "packagingType": "CRATE"},
		"does not match the package": {"rateIndicator": "CP", "weight": 21},
		"importersReference is not valid": {"customsForm": map[string]any{
			"customsContentType": "MERCHANDISE", "importersReference": strings.Repeat("1", 41), "contents": []any{map[string]any{}},
		}},
		"160015":                    {"destinationEntryFacilityType": "DESTINATION_DELIVERY_UNIT"},
		"030002":                    {"weight": 71},
		"160294":                    {"height": 0},
		"030008":                    {"length": 120},
		"160001":                    {"mailingDate": "2020-01-01"},
		"160010":                    {"extraServices": []int{981}},
		"160017":                    {"extraServices": []int{930}},
		"physicalSignatureRequired": {"extraServices": []int{921}},
		"160024":                    {"imageInfo": map[string]any{"imageType": "SVG"}},
		"160314":                    {"customerReference": []any{map[string]any{"referenceNumber": strings.Repeat("R", 31)}}},
	} {
		if status, said := c.do("POST", "/labels/v3/label", key1, request(changes), nil); status != 400 || !strings.Contains(said, want) {
			t.Errorf("%d %s, want %s", status, said, want)
		}
	}
	if status, _ := c.do("POST", "/labels/v3/label", "not-a-uuid", request(nil), nil); status != 400 {
		t.Errorf("a key that is no UUID is %d", status)
	}
	if _, said := c.do("POST", "/payments/v3/payment-authorization", "", roles("7"), nil); !strings.Contains(said, "100001") {
		t.Errorf("another account: %s", said)
	}
	c.paying = c.access
	if status, _ := c.do("POST", "/labels/v3/label", key1, request(nil), nil); status != 401 {
		t.Errorf("without a payment authorization it is %d, want 401", status)
	}
	if n := len(s.Ledger.Entries()); n != 0 {
		t.Errorf("%d sales", n)
	}
}

func TestAPictureIsDrawn(t *testing.T) {
	_, c, _ := start(t, "")
	var sold label
	c.do("POST", "/labels/v3/label", key1, request(map[string]any{"imageInfo": map[string]any{"imageType": "PNG"}}), &sold)
	picture, err := png.Decode(bytes.NewReader(sold.Image))
	if err != nil || picture.Bounds().Dx() != 812 || picture.Bounds().Dy() != 1218 {
		t.Errorf("%v, %v", picture.Bounds(), err)
	}
}

func TestParcelsTravel(t *testing.T) {
	s, c, _ := start(t, "")
	var sold label
	c.do("POST", "/labels/v3/label", key1, request(nil), &sold)
	type notified struct {
		Category string `json:"statusCategory"`
		Events   []struct {
			Code string `json:"eventCode"`
		} `json:"trackingEvents"`
	}
	var fresh, moved notified
	c.do("GET", "/tracking/v3/tracking/"+sold.Number+"?expand=DETAIL", "", "", &fresh)
	if fresh.Category != "Pre-Shipment" || len(fresh.Events) != 1 || fresh.Events[0].Code != "GX" {
		t.Errorf("a fresh parcel: %+v", fresh)
	}
	if err := s.Turn(emulator.Faults{Tracking: []emulator.Scan{{Code: "03"}, {Code: "01", Text: "Delivered"}, {After: emulator.Duration(time.Hour), Code: "09"}}}); err != nil {
		t.Fatal(err)
	}
	c.do("GET", "/tracking/v3/tracking/42063104"+sold.Number+"?expand=DETAIL", "", "", &moved)
	if moved.Category != "Delivered" || len(moved.Events) != 2 || moved.Events[0].Code != "01" {
		t.Errorf("a parcel by script: %+v", moved)
	}
	var many []map[string]any
	status, _ := c.do("POST", "/tracking/v3r2/tracking", "", fmt.Sprintf(`[{"trackingNumber":%q},{"trackingNumber":"1"}]`, sold.Number), &many)
	if status != 207 || len(many) != 2 || many[0]["statusCategory"] != "Delivered" || many[1]["error"] == nil {
		t.Errorf("%d %v", status, many)
	}
}

// TestWordsAndNamesOfARequestAreUSPSs: a name in the wrong letter case and a word
// that USPS does not list are refused, and nothing is sold.
func TestWordsAndNamesOfARequestAreUSPSs(t *testing.T) {
	t.Parallel()
	s, c, _ := start(t, "")
	right := request(nil)
	for name, wrong := range map[string]string{
		"letter case of a name": strings.Replace(right, `"ZIPCode"`, `"zipCode"`, 1),
		"unknown member":        strings.Replace(right, `"imageInfo"`, `"note":"x","imageInfo"`, 1),
		"processing category":   strings.Replace(right, `"MACHINABLE"`, `"machinable"`, 1),
		"mail class":            strings.Replace(right, `"PRIORITY_MAIL"`, `"PRIORITY"`, 1),
	} {
		if status, body := c.do("POST", "/labels/v3/label", name, wrong, nil); wrong == right || status != 400 || !strings.Contains(body, "OASValidation") {
			t.Errorf("%s: %d %s", name, status, body)
		}
	}
	if n := len(s.Ledger.Entries()); n != 0 {
		t.Errorf("%d labels were sold", n)
	}
}
