package gls_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/emulator"
	"github.com/waybillhq/waybill/internal/emulator/gls"
)

const (
	shipIT    = "/shipit-farm/v1/backend/rs"
	mediaType = "application/glsVersion1+json"
)

// body buys a label within Germany under a reference.
func body(reference, zip string) string {
	return `{"Shipment":{"ShipmentReference":["` + reference + `"],"ShippingDate":"` + time.Now().Format(time.DateOnly) + `","Middleware":"Test","Product":"PARCEL",
"Consignee":{"Category":"PRIVATE","Address":{"Name1":"Ann Lee","CountryCode":"DE","ZIPCode":"` + zip + `","City":"Hamburg","Street":"Markt 1"}},
"Shipper":{"ContactID":"` + gls.ContactID + `"},"ShipmentUnit":[{"Weight":1.5,"Note1":"ORD-1"}]},
"PrintingOptions":{"ReturnLabels":{"TemplateSet":"NONE","LabelFormat":"PDF"}}}`
}

// withService is such a body with a service.
func withService(service string) string {
	return strings.Replace(body("S1", "20095"), `"Shipper":`, `"Service":[`+service+`],"Shipper":`, 1)
}

// reprint asks for the label of a reference of today again.
func reprint(reference string) string {
	return `{"ShipmentReference":"` + reference + `","CreationDate":"` + time.Now().Format(time.DateOnly) + `"}`
}

// client is an app with a token.
type client struct {
	*testing.T
	server *emulator.Server
	token  string
}

// open returns the emulator with a ledger in a file, and signs in.
func open(t *testing.T, file string) client {
	t.Helper()
	ledger, err := emulator.OpenLedger(file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ledger.Close() })
	c := client{T: t, server: gls.New(ledger)}
	c.server.LookupScale = 0

	form := url.Values{"grant_type": {"client_credentials"}}
	r := httptest.NewRequest(http.MethodPost, "/oauth2/v2/token", strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.SetBasicAuth(gls.ClientID, gls.ClientSecret)
	w := httptest.NewRecorder()
	c.server.ServeHTTP(w, r)
	var answer struct {
		Token string `json:"access_token"`
	}
	if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil || answer.Token == "" {
		t.Fatalf("no token: %d %s", w.Code, w.Body)
	}
	c.token = answer.Token
	return c
}

// ask sends one request, and returns the answer and the reason of a refusal.
func (c client) ask(method, path, body string) (status int, answer, reason string) {
	c.Helper()
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+c.token)
	r.Header.Set("Content-Type", mediaType)
	w := httptest.NewRecorder()
	c.server.ServeHTTP(w, r)
	text, err := io.ReadAll(w.Body)
	if err != nil {
		c.Fatal(err)
	}
	return w.Code, string(text), strings.Join(headers(w)["error"], "")
}

// headers are those of an answer as GLS writes them, not in the canonical form.
func headers(w *httptest.ResponseRecorder) map[string][]string { return w.Header() }

func TestASaleOutlivesTheProcess(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "ledger")
	status, sold, reason := open(t, file).ask(http.MethodPost, shipIT+"/shipments", body("S1", "20095"))
	if status != http.StatusOK {
		t.Fatalf("%d %s %s", status, reason, sold)
	}
	var answer struct {
		CreatedShipment struct {
			ParcelData []struct{ TrackID, ParcelNumber string }
		}
	}
	if err := json.Unmarshal([]byte(sold), &answer); err != nil || len(answer.CreatedShipment.ParcelData) != 1 {
		t.Fatalf("%s: %v", sold, err)
	}
	parcel := answer.CreatedShipment.ParcelData[0]

	again := open(t, file)
	if _, found, _ := again.ask(http.MethodPost, shipIT+"/shipments/reprintparcel", reprint("S1")); !strings.Contains(found, parcel.ParcelNumber) || !strings.Contains(found, "PrintData") {
		t.Errorf("sold %s, found %s", parcel.ParcelNumber, found)
	}
	if _, shown, _ := again.ask(http.MethodGet, "/track-and-trace-v1/tracking/simple/trackids/"+parcel.TrackID+",123", ""); !strings.Contains(shown, "PREADVICE") || !strings.Contains(shown, "E_404_01") {
		t.Errorf("tracked as %s", shown)
	}

	// A cancellation cannot be repeated, and the label is gone.
	for _, want := range []string{"CANCELLED", "ERROR"} {
		if status, cancelled, _ := again.ask(http.MethodPost, shipIT+"/shipments/cancel/"+parcel.TrackID, ""); status != http.StatusOK || !strings.Contains(cancelled, want) {
			t.Errorf("%d %s, want %s", status, cancelled, want)
		}
	}
	if _, shown, _ := again.ask(http.MethodGet, "/track-and-trace-v1/tracking/simple/trackids/"+parcel.TrackID, ""); !strings.Contains(shown, `"status":"CANCELED"`) {
		t.Errorf("a cancelled parcel is tracked as %s", shown)
	}
	if status, _, reason := again.ask(http.MethodPost, shipIT+"/shipments/reprintparcel", reprint("S1")); status != http.StatusNotFound || reason != "NO_DATA_FOUND" {
		t.Errorf("a cancelled label is answered with %d %s", status, reason)
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	c := open(t, "")
	for name, asked := range map[string]struct {
		path, body string
		status     int
		reason     string
	}{
		"another place":            {"/shipments", body("S1", "00000"), http.StatusBadRequest, "COMMON_EXISTS_ZIPCODE"},
		"another shipper":          {"/shipments", strings.Replace(body("S1", "20095"), gls.ContactID, "276x", 1), http.StatusBadRequest, "CONTACT_ID_UNKNOWN"},
		"no reference":             {"/shipments", body("", "20095")[:40], http.StatusBadRequest, "E000"},
		"an unused reference":      {"/shipments/reprintparcel", reprint("S2"), http.StatusNotFound, "NO_DATA_FOUND"},
		"a spelling of the portal": {"/shipments", strings.Replace(body("S1", "20095"), "ZIPCode", "Zipcode", 1), http.StatusBadRequest, "E000"},
		"no name of the software":  {"/shipments", strings.Replace(body("S1", "20095"), `"Middleware":"Test",`, "", 1), http.StatusBadRequest, "E000"},
		"a time of day":            {"/shipments", strings.Replace(body("S1", "20095"), time.Now().Format(time.DateOnly), time.Now().Format(time.RFC3339), 1), http.StatusBadRequest, "E000"},
		"a gram":                   {"/shipments", strings.Replace(body("S1", "20095"), `"Weight":1.5`, `"Weight":0.001`, 1), http.StatusBadRequest, "E000"},
		"three decimals":           {"/shipments", strings.Replace(body("S1", "20095"), `"Weight":1.5`, `"Weight":1.234`, 1), http.StatusBadRequest, "E000"},
		"another country":          {"/shipments", strings.Replace(body("S1", "75001"), `"CountryCode":"DE"`, `"CountryCode":"FR"`, 1), http.StatusBadRequest, "COMMON_INCOTERM"},
		"not in the contract":      {"/shipments", withService(`{"Service":{"ServiceName":"service_flexdelivery"}}`), http.StatusBadRequest, "COMMON_SERVICE"},
		"an hour without express":  {"/shipments", withService(`{"Service":{"ServiceName":"service_1000"}}`), http.StatusBadRequest, "COMMON_SERVICE"},
		"a shop without e-mail":    {"/shipments", withService(`{"ShopDelivery":{"ServiceName":"service_shopdelivery","ParcelShopID":"2760004711"}}`), http.StatusBadRequest, "CONSIGNEE_ADDRESS_EMAIL_MANDATORY"},
		"no day":                   {"/shipments/reprintparcel", `{"ShipmentReference":"S1"}`, http.StatusBadRequest, "E000"},
		"a list without days":      {"/tracking/parcels", `{"ShipmentReference":"S1"}`, http.StatusBadRequest, "E000"},
		"an unknown parcel":        {"/tracking/parcelpod", `{"ParcelNumber":"1"}`, http.StatusNotFound, "NO_DATA_FOUND"},
	} {
		if status, answer, reason := c.ask(http.MethodPost, shipIT+asked.path, asked.body); status != asked.status || reason != asked.reason || answer != "" {
			t.Errorf("%s: %d %s %s", name, status, reason, answer)
		}
	}
	if n := len(c.server.Ledger.Entries()); n != 0 {
		t.Errorf("%d sales", n)
	}

	if status, _, _ := (client{t, c.server, "another"}).ask(http.MethodPost, shipIT+"/shipments", body("S1", "20095")); status != http.StatusUnauthorized {
		t.Errorf("without a token: %d", status)
	}
	r := httptest.NewRequest(http.MethodPost, shipIT+"/shipments", strings.NewReader(body("S1", "20095")))
	r.Header.Set("Authorization", "Bearer "+c.token)
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	c.server.ServeHTTP(w, r)
	if w.Code != http.StatusUnsupportedMediaType {
		t.Errorf("plain JSON: %d", w.Code)
	}
}
