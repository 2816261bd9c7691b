package postnl_test

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/emulator"
	"github.com/waybillhq/waybill/internal/emulator/postnl"
)

// label is the request of PostNL's reference, for a barcode.
const label = `{"Customer":{"CollectionLocation":"123456","CustomerCode":"DEVC","CustomerNumber":"11223344",
	"Address":{"AddressType":"02","City":"Hoofddorp","CompanyName":"PostNL","Countrycode": "NL","HouseNr":"42","Street":"Siriusdreef","Zipcode":"2132WT"}},
	"Message":{"MessageID":"1","MessageTimeStamp":"29-06-2016 12:00:00","Printertype":"GraphicFile|PDF"},
	"Shipments":[{"Addresses":[{"AddressType":"01","City":"Utrecht","Countrycode":"NL","FirstName":"Henk","HouseNr":"74","Name":"de Graaff",
	"Street":"Molengraaffplantsoen","Zipcode":"3571ZZ"}],"Barcode":"%s","Dimension":{"Weight":4300},"ProductCodeDelivery":"3085","Reference":"REF-1"}]}`

// send sends a request with the key, and returns the status and the body.
func send(t *testing.T, server *emulator.Server, method, path, body string) (int, string) {
	t.Helper()
	request := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
	request.Header.Set("apikey", postnl.APIKey)
	answer := httptest.NewRecorder()
	server.ServeHTTP(answer, request)
	return answer.Code, answer.Body.String()
}

// TestOnlyBarcodesOf13Or15CharactersAreDrawn asks for barcodes by hand, with the
// ranges of PostNL's plug-ins and with others.
func TestOnlyBarcodesOf13Or15CharactersAreDrawn(t *testing.T) {
	t.Parallel()
	ledger, err := emulator.OpenLedger("")
	if err != nil {
		t.Fatal(err)
	}
	server := postnl.New(ledger)
	for query, want := range map[string]int{
		"CustomerCode=DEVC&CustomerNumber=11223344&Type=3S&Serie=000000000-999999999":  15,
		"CustomerCode=DEVC&CustomerNumber=11223344&Type=3S&Serie=0000000-9999999":      13,
		"CustomerCode=DEV&CustomerNumber=22334455&Type=3S&Serie=0000000000-9999999999": 15,
		"CustomerCode=DEV&CustomerNumber=22334455&Type=3S&Serie=00000000-99999999":     13,
		"CustomerCode=DEV&CustomerNumber=22334455&Type=3S&Serie=000000000-999999999":   0,
		"CustomerCode=DEVC&CustomerNumber=11223344&Type=3S&Serie=00000000-99999999":    0,
		"CustomerCode=DEVC&CustomerNumber=11223344&Type=3S&Serie=0000000-0000100":      0,
		"CustomerCode=DEVC&CustomerNumber=22334455&Type=3S&Serie=000000000-999999999":  0,
		"CustomerCode=DEVC&CustomerNumber=11223344&Type=CD&Serie=0000-9999":            0,
	} {
		var drawn struct{ Barcode string }
		status, body := send(t, server, "GET", "/shipment/v1_1/barcode?"+query, "")
		_ = json.Unmarshal([]byte(body), &drawn)
		if len(drawn.Barcode) != want || (status == 200) != (want > 0) {
			t.Errorf("%s: %d %s", query, status, body)
		}
	}
}

// TestWhatPostNLRefusesIsRefused changes the request of PostNL's reference.
func TestWhatPostNLRefusesIsRefused(t *testing.T) {
	t.Parallel()
	ledger, err := emulator.OpenLedger("")
	if err != nil {
		t.Fatal(err)
	}
	server := postnl.New(ledger)
	draw := func(serie string) string {
		var drawn struct{ Barcode string }
		_, body := send(t, server, "GET", "/shipment/v1_1/barcode?CustomerCode=DEVC&CustomerNumber=11223344&Type=3S&Serie="+serie, "")
		_ = json.Unmarshal([]byte(body), &drawn)
		return drawn.Barcode
	}
	dutch, short := draw("000000000-999999999"), draw("0000000-9999999")
	const (
		product  = `"ProductCodeDelivery":"3085"`
		eu       = `"ProductCodeDelivery":"4907","ProductOptions":[{"Characteristic":"005","Option":"025"},{"Characteristic":"101","Option":"012"}]`
		berlin   = `"Countrycode":"DE"`
		german   = `"Zipcode":"10115"`
		dutchZip = `"Zipcode":"3571ZZ"`
		country  = `"Countrycode":"NL"`
	)
	for name, c := range map[string]struct {
		barcode string
		changes []string // old and new, in turn
		want    string   // "" if it is sold
	}{
		"as in the reference":        {dutch, nil, ""},
		"an unknown member":          {dutch, []string{country, country + `,"Country":"NL"`}, ""},
		"another letter case":        {dutch, []string{`"Zipcode"`, `"zipcode"`}, "1280000"},
		"another letter case above":  {dutch, []string{`"Shipments"`, `"shipments"`}, "1280000"},
		"an unknown printer":         {dutch, []string{"GraphicFile|PDF", "Zebra"}, "1280011"},
		"a day in another order":     {dutch, []string{"29-06-2016", "2016-06-29"}, "1280002"},
		"an unknown product":         {dutch, []string{"3085", "3999"}, "1280301"},
		"no house number":            {dutch, []string{`"HouseNr":"74",`, ""}, "1280204"},
		"a sender of another type":   {dutch, []string{`"AddressType":"02"`, `"AddressType":"01"`}, "1280015"},
		"no sender":                  {dutch, []string{`"Address":{`, `"Elsewhere":{`}, "1280014"},
		"a return without 025":       {dutch, []string{"3085", "3285"}, "1280305"},
		"a short barcode at home":    {short, nil, "1280304"},
		"an age check without 014":   {dutch, []string{"3085", "3438"}, "1280305"},
		"a pickup without its point": {dutch, []string{"3085", "3533"}, "1280306"},
		"a mailbox without a day":    {dutch, []string{"3085", "2928"}, "1280307"},
		"extra cover without amount": {dutch, []string{"3085", "3087"}, "1280303"},
		"to Germany":                 {short, []string{product, eu, country, berlin, dutchZip, german}, ""},
		"a long barcode to Germany":  {dutch, []string{product, eu, country, berlin, dutchZip, german}, "1280304"},
		"4907 without options":       {short, []string{"3085", "4907", country, berlin, dutchZip, german}, "1280305"},
		"4907 to Belgium":            {short, []string{product, eu, country, `"Countrycode":"BE"`, dutchZip, `"Zipcode":"2000"`}, "1280302"},
		"4946 to Belgium":            {short, []string{"3085", "4946", country, `"Countrycode":"BE"`, dutchZip, `"Zipcode":"2000"`}, ""},
		"4946 to Germany":            {short, []string{"3085", "4946", country, berlin, dutchZip, german}, "1280302"},
	} {
		request := strings.NewReplacer(c.changes...).Replace(fmt.Sprintf(label, c.barcode))
		status, body := send(t, server, "POST", "/shipment/v2_2/label?confirm=false", request)
		if c.want == "" && status != 200 || c.want != "" && (status != 400 || !strings.Contains(body, c.want)) {
			t.Errorf("%s: %d %.300s, want %q", name, status, body, c.want)
		}
	}
}

// TestABarcodeIsAnnouncedOnce sends requests that were written by hand, from
// PostNL's reference: the driver has no part in them.
func TestABarcodeIsAnnouncedOnce(t *testing.T) {
	t.Parallel()
	ledger, err := emulator.OpenLedger("")
	if err != nil {
		t.Fatal(err)
	}
	server := postnl.New(ledger)
	server.LookupScale = 0

	var drawn struct{ Barcode string }
	status, body := send(t, server, "GET", "/shipment/v1_1/barcode?CustomerCode=DEVC&CustomerNumber=11223344&Type=3S&Serie=000000000-999999999", "")
	if err := json.Unmarshal([]byte(body), &drawn); err != nil || status != 200 || !strings.HasPrefix(drawn.Barcode, "3SDEVC") {
		t.Fatalf("%d %s", status, body)
	}
	if status, body := send(t, server, "POST", "/shipment/v2_2/label?confirm=true", fmt.Sprintf(label, "3SDEVC999999999")); status != 400 || !strings.Contains(body, "Barcode is not known") {
		t.Errorf("a barcode that nobody drew: %d %.200s", status, body)
	}
	for range 2 {
		if status, body := send(t, server, "POST", "/shipment/v2_2/label?confirm=true", fmt.Sprintf(label, drawn.Barcode)); status != 200 || !strings.Contains(body, drawn.Barcode) {
			t.Errorf("%d %.200s", status, body)
		}
	}
	if sold := ledger.Entries(); len(sold) != 1 || sold[0].Number != drawn.Barcode {
		t.Errorf("the ledger has %+v", sold)
	}
	status, body = send(t, server, "GET", "/shipment/v2/status/reference/REF-1?customerCode=DEVC&customerNumber=11223344", "")
	if status != 200 || !strings.Contains(body, drawn.Barcode) || !strings.Contains(body, `"StatusCode":"1"`) {
		t.Errorf("by reference: %d %s", status, body)
	}
	if status, body := send(t, server, "GET", "/shipment/v2/status/barcode/3SDEVC000000009", ""); status != 200 || !strings.Contains(body, "No shipment found") {
		t.Errorf("an unknown barcode: %d %s", status, body)
	}
}
