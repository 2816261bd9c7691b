package amazonshipping_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/emulator"
	"github.com/waybillhq/waybill/internal/emulator/amazonshipping"
)

const parcel = `{"shipFrom":{"name":"Shop","addressLine1":"1 Main St","stateOrRegion":"NY","city":"Albany","countryCode":"US","postalCode":"12207"},
"shipTo":{"name":"Ann Lee","addressLine1":"2 Oak Ave","stateOrRegion":"NJ","city":"Newark","countryCode":"US","postalCode":"07102"},
"packages":[{"dimensions":{"length":12,"width":9,"height":4,"unit":"INCH"},"weight":{"unit":"POUND","value":2},"insuredValue":{"value":0,"unit":"USD"},
"packageClientReferenceId":"PKG-1","items":[{"quantity":1,"weight":{"unit":"POUND","value":2}}]}],"channelDetails":{"channelType":"EXTERNAL"}}`

type bench struct {
	t      *testing.T
	server *emulator.Server
	token  string
}

func newBench(t *testing.T) *bench {
	t.Helper()
	ledger, err := emulator.OpenLedger("")
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, server: amazonshipping.New(ledger)}
	form := url.Values{
		"grant_type": {"refresh_token"}, "refresh_token": {amazonshipping.RefreshToken},
		"client_id": {amazonshipping.ClientID}, "client_secret": {amazonshipping.ClientSecret},
	}
	r := httptest.NewRequest(http.MethodPost, "/auth/o2/token", strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	w := httptest.NewRecorder()
	b.server.ServeHTTP(w, r)
	var answer struct {
		AccessToken string `json:"access_token"`
	}
	if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil || answer.AccessToken == "" {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	b.token = answer.AccessToken
	return b
}

func (b *bench) ask(method, path, key, body string) (int, string) {
	b.t.Helper()
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Header.Set("X-Amz-Access-Token", b.token)
	r.Header.Set("X-Amzn-Shipping-Business-Id", amazonshipping.BusinessID)
	r.Header.Set("X-Amzn-IdempotencyKey", key)
	r.Header.Set("User-Agent", "test")
	w := httptest.NewRecorder()
	b.server.ServeHTTP(w, r)
	answer, err := io.ReadAll(w.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return w.Code, string(answer)
}

// purchase returns the body that buys the first rate of a new quote.
func (b *bench) purchase() string {
	b.t.Helper()
	status, answer := b.ask(http.MethodPost, "/shipping/v2/shipments/rates", "", parcel)
	var quoted struct {
		Payload struct {
			Token string `json:"requestToken"`
			Rates []struct {
				ID string `json:"rateId"`
			} `json:"rates"`
		} `json:"payload"`
	}
	if err := json.Unmarshal([]byte(answer), &quoted); err != nil || len(quoted.Payload.Rates) == 0 {
		b.t.Fatalf("%d %s", status, answer)
	}
	return `{"requestToken":"` + quoted.Payload.Token + `","rateId":"` + quoted.Payload.Rates[0].ID + `","requestedValueAddedServices":[{"id":"NO_CONFIRMATION"}],
"requestedDocumentSpecification":{"format":"ZPL","size":{"width":4,"length":6,"unit":"INCH"},"dpi":203,"pageLayout":"DEFAULT","needFileJoining":false,"requestedDocumentTypes":["LABEL"]}}`
}

// TestAKeySellsOnce: the same request under a key is the same sale, and another
// request under it is refused.
func TestAKeySellsOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	body := b.purchase()
	_, first := b.ask(http.MethodPost, "/shipping/v2/shipments", "K1", body)
	status, second := b.ask(http.MethodPost, "/shipping/v2/shipments", "K1", body)
	if status != http.StatusOK || first[:60] != second[:60] {
		t.Errorf("%d\n%s\n%s", status, first, second)
	}
	if status, answer := b.ask(http.MethodPost, "/shipping/v2/shipments", "K1", b.purchase()); status != http.StatusBadRequest {
		t.Errorf("%d %s", status, answer)
	}
	if n := len(b.server.Ledger.Entries()); n != 1 {
		t.Errorf("%d sales", n)
	}

	// A repetition after the quote has ended is refused, under the same key too.
	w := httptest.NewRecorder()
	b.server.ServeHTTP(w, httptest.NewRequest(http.MethodPut, "/_emulator/settings", strings.NewReader(`{"quoteLife":"1ns"}`)))
	if status, answer := b.ask(http.MethodPost, "/shipping/v2/shipments", "K1", body); status != http.StatusBadRequest || !strings.Contains(answer, "TOKEN_EXPIRED") {
		t.Errorf("%d %s", status, answer)
	}
}

// TestRequestsThatAmazonRefuses changes one thing of a quote that is answered.
func TestRequestsThatAmazonRefuses(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for name, change := range map[string][2]string{
		"an unknown member":       {`"quantity":1`, `"quantity":1,"colour":"red"`},
		"another letter case":     {`"insuredValue"`, `"insured_value"`},
		"an item without weight":  {`"quantity":1,"weight":{"unit":"POUND","value":2}`, `"quantity":1`},
		"no item":                 {`{"quantity":1,"weight":{"unit":"POUND","value":2}}`, ``},
		"another currency":        {`"value":0,"unit":"USD"`, `"value":0,"unit":"EUR"`},
		"another unit":            {`"unit":"INCH"`, `"unit":"IN"`},
		"a side of 0":             {`"height":4`, `"height":0`},
		"a quantity of 0":         {`"quantity":1`, `"quantity":0`},
		"no state":                {`"stateOrRegion":"NJ",`, ``},
		"a name of 51 characters": {`"Ann Lee"`, `"` + strings.Repeat("A", 51) + `"`},
	} {
		if !strings.Contains(parcel, change[0]) {
			t.Fatalf("%s: nothing to change", name)
		}
		status, answer := b.ask(http.MethodPost, "/shipping/v2/shipments/rates", "", strings.Replace(parcel, change[0], change[1], 1))
		if status != http.StatusBadRequest {
			t.Errorf("%s: %d %s", name, status, answer)
		}
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	body := b.purchase()
	for name, wrong := range map[string]string{
		"another size":  strings.Replace(body, `"width":4`, `"width":5`, 1),
		"no choice":     strings.Replace(body, `{"id":"NO_CONFIRMATION"}`, "", 1),
		"no such extra": strings.Replace(body, "NO_CONFIRMATION", "NONE", 1),
		"no joining":    strings.Replace(body, `"needFileJoining":false,`, "", 1),
		"another dpi":   strings.Replace(body, `"dpi":203`, `"dpi":96`, 1),
		"no such paper": strings.Replace(body, `["LABEL"]`, `["LABEL","POSTER"]`, 1),
		"another quote": strings.Replace(body, "amzn1.rq.", "amzn1.rq.9", 1),
	} {
		if status, answer := b.ask(http.MethodPost, "/shipping/v2/shipments", name, wrong); status != http.StatusBadRequest {
			t.Errorf("%s: %d %s", name, status, answer)
		}
	}

	// Without the business id a request is read as one of another country.
	r := httptest.NewRequest(http.MethodPost, "/shipping/v2/shipments/rates", strings.NewReader(parcel))
	r.Header.Set("X-Amz-Access-Token", b.token)
	r.Header.Set("User-Agent", "test")
	w := httptest.NewRecorder()
	b.server.ServeHTTP(w, r)
	if !strings.Contains(w.Body.String(), "NO_COVERAGE") {
		t.Errorf("%d %s", w.Code, w.Body)
	}

	b.token = "another"
	if status, _ := b.ask(http.MethodPut, "/shipping/v2/unmanifestedShipments", "", "{}"); status != http.StatusUnauthorized {
		t.Errorf("without a token: %d", status)
	}
	if n := len(b.server.Ledger.Entries()); n != 0 {
		t.Errorf("%d sales", n)
	}
}
