package dhlparcelde_test

import (
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/emulator"
	"github.com/waybillhq/waybill/internal/emulator/dhlparcelde"
)

const (
	shipping = "/parcel/de/shipping/v2"

	// domestic and export are requests of DHL's own examples, with a reference and the
	// emulator's billing numbers.
	domestic = `{"profile":"STANDARD_GRUPPENPROFIL","shipments":[{"product":"V01PAK","billingNumber":"33333333330102","refNo":"Order No. 1234",
		"shipper":{"name1":"My Online Shop GmbH","addressStreet":"Sträßchensweg 10","additionalAddressInformation1":"2. Etage","postalCode":"53113","city":"Bonn","country":"DEU","email":"max@mustermann.de","phone":"+49 123456789"},
		"consignee":{"name1":"Maria Musterfrau","addressStreet":"Kurt-Schumacher-Str. 20","additionalAddressInformation1":"Apartment 107","postalCode":"53113","city":"Bonn","country":"DEU","email":"maria@musterfrau.de","phone":"+49 987654321"},
		"details":{"dim":{"uom":"mm","height":100,"length":200,"width":150},"weight":{"uom":"g","value":500}}}]}`
	export = `{"profile":"STANDARD_GRUPPENPROFIL","shipments":[{"product":"V53WPAK","billingNumber":"33333333335301","refNo":"Order No. 1234",
		"shipper":{"name1":"My Online Shop GmbH","addressStreet":"Sträßchensweg 10","postalCode":"53113","city":"Bonn","country":"DEU"},
		"consignee":{"name1":"Joseph Müller","addressStreet":"Bahnhofstrasse 1","postalCode":"8001","city":"Zürich","country":"CHE"},
		"details":{"weight":{"uom":"g","value":500}},"services":{"premium":true,"endorsement":"RETURN"},
		"customs":{"invoiceNo":"10001","exportType":"OTHER","exportDescription":"Permanent","postalCharges":{"currency":"EUR","value":1},
		"items":[{"itemDescription":"Red T-Shirt","countryOfOrigin":"FRA","hsCode":"61099090","packagedQuantity":1,"itemValue":{"currency":"EUR","value":10},"itemWeight":{"uom":"g","value":400}}]}}]}`
)

func newServer(t *testing.T) *emulator.Server {
	t.Helper()
	ledger, err := emulator.OpenLedger("")
	if err != nil {
		t.Fatal(err)
	}
	return dhlparcelde.New(ledger)
}

// send sends a request with a token, and returns the status and the body.
func send(t *testing.T, server *emulator.Server, method, path, body string) (int, string) {
	t.Helper()
	token, _ := server.NewToken()
	request := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
	request.Header.Set("Authorization", "Bearer "+token)
	answer := httptest.NewRecorder()
	server.ServeHTTP(answer, request)
	return answer.Code, answer.Body.String()
}

// TestWhatDHLRefusesIsRefused changes requests of DHL's own examples: the driver has
// no part in them.
func TestWhatDHLRefusesIsRefused(t *testing.T) {
	t.Parallel()
	server := newServer(t)
	for name, c := range map[string]struct {
		request string
		changes []string // old and new, in turn
		query   string
		want    string // the property; "" if it is sold
	}{
		"as in the example":           {request: domestic},
		"an export":                   {request: export},
		"an unknown member":           {request: domestic, changes: []string{`"refNo"`, `"economy":true,"refNo"`}},
		"another letter case":         {request: domestic, changes: []string{`"postalCode"`, `"PostalCode"`}, want: "shipments"},
		"a short reference":           {request: domestic, changes: []string{"Order No. 1234", "1234"}, want: "refNo"},
		"one dimension":               {request: domestic, changes: []string{`"length":200,`, ""}, want: "details.dim"},
		"another unit":                {request: domestic, changes: []string{`"uom":"g"`, `"uom":"lb"`}, want: "details.weight"},
		"two letters for the country": {request: domestic, changes: []string{`"country":"DEU"`, `"country":"DE"`}, want: "shipper.country"},
		"another product's number":    {request: domestic, changes: []string{"33333333330102", "33333333335301"}, want: "billingNumber"},
		"an unknown format":           {request: domestic, query: "?docFormat=PNG", want: "query"},
		"an unknown paper":            {request: domestic, query: "?printFormat=4x6", want: "query"},
		"two currencies":              {request: export, changes: []string{`"postalCharges":{"currency":"EUR"`, `"postalCharges":{"currency":"CHF"`}, want: "customs.items[0].itemValue.currency"},
		"no postal charges":           {request: export, changes: []string{`"postalCharges":{"currency":"EUR","value":1},`, ""}, want: "customs.postalCharges"},
		"no amount of them":           {request: export, changes: []string{`"currency":"EUR","value":1}`, `"currency":"EUR"}`}, want: "customs.postalCharges"},
		"an unknown export type":      {request: export, changes: []string{"OTHER", "Other"}, want: "customs.exportType"},
		"OTHER without a description": {request: export, changes: []string{`"exportDescription":"Permanent",`, ""}, want: "customs.exportDescription"},
		"conditions of Europaket":     {request: export, changes: []string{`"exportType"`, `"shippingConditions":"DDP","exportType"`}, want: "customs.shippingConditions"},
		"a short commodity code":      {request: export, changes: []string{"61099090", "6109"}, want: "customs.items[0].hsCode"},
		"no customs":                  {request: export, changes: []string{`"customs":`, `"custom":`}, want: "customs"},
	} {
		status, body := send(t, server, "POST", shipping+"/orders"+c.query, strings.NewReplacer(c.changes...).Replace(c.request))
		var answer struct {
			Items []struct {
				Messages []struct{ Property string } `json:"validationMessages"`
			} `json:"items"`
		}
		if err := json.Unmarshal([]byte(body), &answer); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if c.want == "" {
			if status != 200 {
				t.Errorf("%s: %d %.300s", name, status, body)
			}
			continue
		}
		if status != 400 || len(answer.Items) != 1 || len(answer.Items[0].Messages) == 0 || answer.Items[0].Messages[0].Property != c.want {
			t.Errorf("%s: %d %.300s, want %s", name, status, body, c.want)
		}
	}
}

// TestWhatDHLRefusesOfAReturn changes the German example of DHL's returns API.
func TestWhatDHLRefusesOfAReturn(t *testing.T) {
	t.Parallel()
	const path = "/parcel/de/shipping/returns/v1/orders"
	const example = `{"receiverId":"deu","customerReference":"Kundenreferenz","shipmentReference":"Sendungsreferenz",
		"shipper":{"name1":"Absender Retoure Zeile 1","name2":"Absender Retoure Zeile 2","name3":"Absender Retoure Zeile 3",
		"addressStreet":"Charles-de-Gaulle Str.","addressHouse":"20","postalCode":"53113","city":"Bonn","email":"Max.Mustermann@dhl.local","phone":"+49 123456789"},
		"itemWeight":{"uom":"kg","value":1},"itemValue":{"currency":"EUR","value":10},"services":{"goGreenPlus":true}}`
	server := newServer(t)
	for name, c := range map[string]struct {
		old, changed, query string
		want                int
	}{
		"as it is":                 {"", "", "?labelType=BOTH", 201},
		"without a label type":     {"", "", "", 201},
		"another label type":       {"", "", "?labelType=PDF", 400},
		"another receiver":         {`"deu"`, `"che"`, "", 422},
		"no receiver":              {`"receiverId":"deu",`, "", "", 422},
		"an unknown member":        {`"receiverId"`, `"note":"","receiverId"`, "", 400},
		"another letter case":      {`"addressHouse"`, `"addresshouse"`, "", 400},
		"no house number":          {`"addressHouse":"20",`, "", "", 422},
		"no city":                  {`"city":"Bonn",`, "", "", 422},
		"a foreign postal code":    {"53113", "3344", "", 422},
		"an unknown unit":          {`"uom":"kg"`, `"uom":"lb"`, "", 422},
		"31.6 kg":                  {`"value":1}`, `"value":31.6}`, "", 422},
		"another currency":         {"EUR", "USD", "", 422},
		"an address of no mail":    {"Max.Mustermann@", "", "", 422},
		"a reference that is long": {"Sendungsreferenz", strings.Repeat("x", 51), "", 422},
	} {
		status, body := send(t, server, "POST", path+c.query, strings.Replace(example, c.old, c.changed, 1))
		if status != c.want {
			t.Errorf("%s: %d %s, want %d", name, status, body, c.want)
		}
	}
}

// TestAShipmentMustBeNamed shows and deletes orders without saying which.
func TestAShipmentMustBeNamed(t *testing.T) {
	t.Parallel()
	server := newServer(t)
	for method, path := range map[string]string{
		"GET":    shipping + "/orders?docFormat=PDF",
		"DELETE": shipping + "/orders?profile=STANDARD_GRUPPENPROFIL",
	} {
		if status, body := send(t, server, method, path, ""); status != 400 || !strings.Contains(body, `"property":"shipment"`) {
			t.Errorf("%s %s: %d %s", method, path, status, body)
		}
	}
}
