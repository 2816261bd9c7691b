package canadapost_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/emulator"
	"github.com/waybillhq/waybill/internal/emulator/canadapost"
)

const (
	rate     = "application/vnd.cpc.ship.rate-v4+xml"
	shipment = "application/vnd.cpc.shipment-v8+xml"
	path     = "/rs/2004381/2004381/shipment"
)

// body buys a label inside Canada under a request id.
func body(id string) string {
	return `<shipment xmlns="http://www.canadapost.ca/ws/shipment-v8"><customer-request-id>` + id + `</customer-request-id><transmit-shipment>true</transmit-shipment>
<requested-shipping-point>K2B8J6</requested-shipping-point><expected-mailing-date>2026-11-16</expected-mailing-date><provide-pricing-info>true</provide-pricing-info>
<delivery-spec><service-code>DOM.EP</service-code>
<sender><company>Shop</company><contact-phone>6135550100</contact-phone><address-details><address-line-1>1 Main St</address-line-1><city>Ottawa</city><prov-state>ON</prov-state><country-code>CA</country-code><postal-zip-code>K2B8J6</postal-zip-code></address-details></sender>
<destination><name>Ann Lee</name><address-details><address-line-1>2 Oak Ave</address-line-1><city>Bromont</city><prov-state>QC</prov-state><country-code>CA</country-code><postal-zip-code>J0E1X0</postal-zip-code></address-details></destination>
<parcel-characteristics><weight>1.200</weight></parcel-characteristics><print-preferences><output-format>4x6</output-format><encoding>ZPL</encoding></print-preferences>
<preferences><show-packing-instructions>false</show-packing-instructions></preferences>
<settlement-info><contract-id>42708517</contract-id><intended-method-of-payment>Account</intended-method-of-payment></settlement-info></delivery-spec></shipment>`
}

// bodyAbroad buys a label to Germany under a request id.
func bodyAbroad(id string) string {
	return strings.NewReplacer(
		"DOM.EP", "INT.XP",
		"<city>Bromont</city><prov-state>QC</prov-state><country-code>CA</country-code><postal-zip-code>J0E1X0</postal-zip-code>",
		"<city>Hamburg</city><country-code>DE</country-code><postal-zip-code>20095</postal-zip-code>",
		"<name>Ann Lee</name>", "<name>Ann Lee</name><client-voice-number>+49 40 4280</client-voice-number>",
		"</destination>", "</destination><options><option><option-code>RASE</option-code></option></options>",
		"<settlement-info>", `<customs><currency>CAD</currency><reason-for-export>SOG</reason-for-export><sku-list><item>
<customs-number-of-units>1</customs-number-of-units><customs-description>Belt</customs-description><unit-weight>0.300</unit-weight><customs-value-per-unit>35.00</customs-value-per-unit>
<country-of-origin>CA</country-of-origin><province-of-origin>ON</province-of-origin></item></sku-list></customs><settlement-info>`,
	).Replace(body(id))
}

// bodyWithoutContract buys a label inside Canada without a contract.
func bodyWithoutContract() string {
	return `<non-contract-shipment xmlns="http://www.canadapost.ca/ws/ncshipment-v4"><requested-shipping-point>K2B8J6</requested-shipping-point>
<delivery-spec><service-code>DOM.EP</service-code>
<sender><company>Shop</company><contact-phone>6135550100</contact-phone><address-details><address-line-1>1 Main St</address-line-1><city>Ottawa</city><prov-state>ON</prov-state><postal-zip-code>K2B8J6</postal-zip-code></address-details></sender>
<destination><name>Ann Lee</name><address-details><address-line-1>2 Oak Ave</address-line-1><city>Bromont</city><prov-state>QC</prov-state><country-code>CA</country-code><postal-zip-code>J0E1X0</postal-zip-code></address-details></destination>
<parcel-characteristics><weight>1.2</weight></parcel-characteristics><preferences><show-packing-instructions>true</show-packing-instructions></preferences></delivery-spec></non-contract-shipment>`
}

// bodyOfReturn makes a return label.
func bodyOfReturn() string {
	return `<authorized-return xmlns="http://www.canadapost.ca/ws/authreturn-v2"><service-code>DOM.EP</service-code>
<returner><name>Ann Lee</name><domestic-address><address-line-1>2 Oak Ave</address-line-1><city>Bromont</city><province>QC</province><postal-code>J0E1X0</postal-code></domestic-address></returner>
<receiver><name>Shop</name><domestic-address><address-line-1>1 Main St</address-line-1><city>Ottawa</city><province>ON</province><postal-code>K2B8J6</postal-code></domestic-address></receiver></authorized-return>`
}

func TestSalesOfTheOtherServices(t *testing.T) {
	t.Parallel()
	server := open(t, "")
	for path, test := range map[string]struct{ mediaType, body string }{
		"/rs/7023210/ncshipment":               {"application/vnd.cpc.ncshipment-v4+xml", bodyWithoutContract()},
		"/rs/2004381/2004381/authorizedreturn": {"application/vnd.cpc.authreturn-v2+xml", bodyOfReturn()},
	} {
		if status, answer := ask(t, server, http.MethodPost, path, test.mediaType, test.body); status != http.StatusOK || !strings.Contains(answer, "<tracking-pin>") {
			t.Errorf("%s: %d %s", path, status, answer)
		}
	}
}

func TestASaleAbroad(t *testing.T) {
	t.Parallel()
	if status, answer := ask(t, open(t, ""), http.MethodPost, path, shipment, bodyAbroad("S1")); status != http.StatusOK {
		t.Errorf("%d %s", status, answer)
	}
}

// ask sends one request with the credentials.
func ask(t *testing.T, server *emulator.Server, method, path, mediaType, body string) (int, string) {
	t.Helper()
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.SetBasicAuth(canadapost.User, canadapost.Password)
	r.Header.Set("Accept", mediaType)
	r.Header.Set("Content-Type", mediaType)
	w := httptest.NewRecorder()
	server.ServeHTTP(w, r)
	answer, err := io.ReadAll(w.Body)
	if err != nil {
		t.Fatal(err)
	}
	return w.Code, string(answer)
}

func open(t *testing.T, file string) *emulator.Server {
	t.Helper()
	ledger, err := emulator.OpenLedger(file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ledger.Close() })
	server := canadapost.New(ledger)
	server.LookupScale = 0
	return server
}

func TestASaleOutlivesTheProcess(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "ledger")
	status, sold := ask(t, open(t, file), http.MethodPost, path, shipment, body("S1"))
	if status != http.StatusOK {
		t.Fatalf("%d %s", status, sold)
	}
	pin := regexp.MustCompile(`<tracking-pin>\d{16}</tracking-pin>`).FindString(sold)
	id := regexp.MustCompile(`<shipment-id>(\d+)</shipment-id>`).FindStringSubmatch(sold)
	if _, found := ask(t, open(t, file), http.MethodGet, path+"/"+id[1], shipment, ""); pin == "" || !strings.Contains(found, pin) {
		t.Errorf("sold %q, found %s", pin, found)
	}
	if _, links := ask(t, open(t, file), http.MethodGet, path+"?requestId=S1&provideShipmentInfo=true", shipment, ""); !strings.Contains(links, `rel="shipment"`) || strings.Contains(links, pin) {
		t.Errorf("a plain list has rows: %s", links)
	}
}

// TestARepeatedRequestIsASecondSale: Canada Post has no idempotency key.
func TestARepeatedRequestIsASecondSale(t *testing.T) {
	t.Parallel()
	server := open(t, "")
	for range 2 {
		if status, answer := ask(t, server, http.MethodPost, path, shipment, body("S1")); status != http.StatusOK {
			t.Fatalf("%d %s", status, answer)
		}
	}
	if n := len(server.Ledger.Entries()); n != 2 {
		t.Errorf("%d sales", n)
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	server := open(t, "")
	for name, test := range map[string]struct {
		method, path, mediaType, body string
		status                        int
		code                          string
	}{
		"another media type":      {"POST", path, rate, body("S1"), 406, "E007"},
		"another customer":        {"POST", "/rs/99/99/shipment", shipment, body("S1"), 403, "AA004"},
		"another contract":        {"POST", path, shipment, strings.Replace(body("S1"), "42708517", "1", 1), 400, "AA004"},
		"a service abroad":        {"POST", path, shipment, strings.Replace(body("S1"), "DOM.EP", "INT.XP", 1), 400, "7260"},
		"a postal code in blanks": {"POST", path, shipment, strings.Replace(body("S1"), "J0E1X0", "J0E 1X0", 1), 400, "9111"},
		"a heavy parcel":          {"POST", path, shipment, strings.Replace(body("S1"), "1.200", "31", 1), 400, "9151"},
		"goods of no province":    {"POST", path, shipment, strings.Replace(bodyAbroad("S1"), "<province-of-origin>ON</province-of-origin>", "", 1), 400, "9141"},
		"no instruction":          {"POST", path, shipment, strings.Replace(bodyAbroad("S1"), "RASE", "SO", 1), 400, "1701"},
		"return, Xpresspost":      {"POST", path, shipment, strings.Replace(bodyAbroad("S1"), "RASE", "RTS", 1), 400, "7261"},
		"paid return, packet":     {"POST", path, shipment, strings.Replace(bodyAbroad("S1"), "INT.XP", "INT.TP", 1), 400, "7261"},
		"an unknown reason":       {"POST", path, shipment, strings.Replace(bodyAbroad("S1"), "SOG", "GIF", 1), 400, "9142"},
		"a reason without words":  {"POST", path, shipment, strings.Replace(bodyAbroad("S1"), "SOG", "OTH", 1), 400, "9142"},
		"coverage unsigned":       {"POST", path, shipment, strings.Replace(body("S1"), "</destination>", "</destination><options><option><option-code>COV</option-code><option-amount>100</option-amount></option></options>", 1), 400, "1702"},
		"another namespace":       {"POST", path, shipment, strings.Replace(body("S1"), "shipment-v8", "shipment-v7", 1), 400, "Server"},
		"an unknown element":      {"POST", path, shipment, strings.Replace(body("S1"), "<city>Ottawa</city>", "<city>Ottawa</city><town>Ottawa</town>", 1), 400, "Server"},
		"another letter case":     {"POST", path, shipment, strings.ReplaceAll(body("S1"), "service-code", "Service-Code"), 400, "Server"},
		"an element twice":        {"POST", path, shipment, strings.Replace(body("S1"), "<city>Ottawa</city>", "<city>Ottawa</city><city>Ottawa</city>", 1), 400, "Server"},
		"a missing element":       {"POST", path, shipment, strings.Replace(body("S1"), "<company>Shop</company>", "", 1), 400, "Server"},
		"a long line":             {"POST", path, shipment, strings.Replace(body("S1"), "1 Main St", strings.Repeat("1 Main St ", 5), 1), 400, "Server"},
		"a weight of four places": {"POST", path, shipment, strings.Replace(body("S1"), "1.200", "1.2001", 1), 400, "Server"},
		"another encoding":        {"POST", path, shipment, strings.Replace(body("S1"), "ZPL", "zpl", 1), 400, "Server"},
		"not transmitted":         {"POST", path, shipment, strings.Replace(body("S1"), "<transmit-shipment>true", "<transmit-shipment>false", 1), 400, "Server"},
		"no state":                {"POST", path, shipment, strings.Replace(body("S1"), "<prov-state>QC</prov-state>", "", 1), 400, "9117"},
		"another currency":        {"POST", path, shipment, strings.Replace(bodyAbroad("S1"), "<currency>CAD", "<currency>USD", 1), 400, "9143"},
		"a contract of others":    {"POST", "/rs/7023210/7023210/shipment", shipment, body("S1"), 403, "AA004"},
		"a contract's customer":   {"POST", "/rs/2004381/ncshipment", "application/vnd.cpc.ncshipment-v4+xml", bodyWithoutContract(), 403, "AA004"},
		"a country of the sender": {"POST", "/rs/7023210/ncshipment", "application/vnd.cpc.ncshipment-v4+xml", strings.Replace(bodyWithoutContract(), "<postal-zip-code>K2B8J6", "<country-code>CA</country-code><postal-zip-code>K2B8J6", 1), 400, "Server"},
		"a list without a time":   {"GET", "/rs/7023210/ncshipment", "application/vnd.cpc.ncshipment-v4+xml", "", 400, "9190"},
		"a return abroad":         {"POST", "/rs/2004381/2004381/authorizedreturn", "application/vnd.cpc.authreturn-v2+xml", strings.Replace(bodyOfReturn(), "DOM.EP", "INT.XP", 1), 400, "7260"},
		"a return of no province": {"POST", "/rs/2004381/2004381/authorizedreturn", "application/vnd.cpc.authreturn-v2+xml", strings.Replace(bodyOfReturn(), "<province>ON</province>", "", 1), 400, "Server"},
		"not XML":                 {"POST", path, shipment, "{}", 400, "Server"},
		"a cancellation":          {"DELETE", path + "/1", shipment, "", 404, "8064"},
		"an unknown number":       {"GET", "/vis/track/pin/1/detail", "application/vnd.cpc.track-v2+xml", "", 404, "004"},
	} {
		status, answer := ask(t, server, test.method, test.path, test.mediaType, test.body)
		if status != test.status || !strings.Contains(answer, "<code>"+test.code+"</code>") {
			t.Errorf("%s: %d %s", name, status, answer)
		}
	}
	if n := len(server.Ledger.Entries()); n != 0 {
		t.Errorf("%d sales", n)
	}
}
