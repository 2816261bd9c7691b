package api

import (
	"crypto/rand"
	"encoding/base64"
	"net/http"
	"strings"
	"testing"
)

func TestContractAFileIsKeptWithTheDocuments(t *testing.T) {
	t.Parallel()
	c := newContract(t).opened()
	sh, first := c.do(http.StatusCreated, "POST", "/v1/shipments", to("Ada"))
	path := "/v1/shipments/" + sh["id"].(string) + "/documents"
	body := func(file string) string {
		return `{"type":"certificate_of_origin","data":"` + base64.StdEncoding.EncodeToString([]byte(file)) + `"}`
	}

	const pdf = "%PDF-1.7\nmade in Portugal"
	document, _ := c.do(http.StatusCreated, "POST", path, body(pdf))
	url := document["url"].(string)
	if document["type"] != "certificate_of_origin" || document["uploaded"] != true || !strings.HasSuffix(url, path+"/1") {
		t.Errorf("uploaded %v", document)
	}
	whole, _ := c.do(http.StatusOK, "GET", "/v1/shipments/"+sh["id"].(string), "")
	if at(whole, "documents", "url") != url {
		t.Errorf("documents %v", whole["documents"])
	}
	if _, w := c.do(http.StatusOK, "GET", path+"/1", ""); w.Body.String() != pdf || w.Header().Get("Content-Type") != "application/pdf" {
		t.Errorf("returned %q as %s", w.Body, w.Header().Get("Content-Type"))
	}
	if strings.Contains(first.Body.String(), "certificate") {
		t.Error("the answer to the creation lists a later document")
	}

	for name, wrong := range map[string]string{
		"a web page":   body("<html>"),
		"not base64":   `{"type":"other","data":"%%%"}`,
		"no such type": `{"type":"novel","data":"JVBERi0="}`,
	} {
		if refused, _ := c.do(http.StatusUnprocessableEntity, "POST", path, wrong); refused["code"] != "validation_failed" {
			t.Errorf("%s: %v", name, refused)
		}
	}
	for range 19 {
		c.do(http.StatusCreated, "POST", path, body(pdf))
	}
	if refused, _ := c.do(http.StatusConflict, "POST", path, body(pdf)); refused["code"] != "too_many_documents" {
		t.Errorf("the 21st: %v", refused)
	}
	c.do(http.StatusNotFound, "POST", "/v1/shipments/shp_01KJMBQDHV00G2N6V3T9RZKXB4/documents", body(pdf))
}

func TestContractADocumentForCustomsGoesToTheCarrier(t *testing.T) {
	t.Parallel()
	c := newContract(t).opened()
	upload := func(shipment, kind string) map[string]any {
		document, _ := c.do(http.StatusCreated, "POST", "/v1/shipments/"+shipment+"/documents", `{"type":"`+kind+`","data":"JVBERi0xLjcK"}`)
		return document
	}
	abroad := func(carrier, customs string) string {
		sh, _ := c.do(http.StatusCreated, "POST", "/v1/shipments", `{"orderId":"`+rand.Text()+`","carrier":"`+carrier+`","destination":{"name":"Ada Lovelace","company":"Analytical Engines","address1":"1 Dorset Street","city":"London","zip":"W1U 4EG","country":"GB","phone":"+442079460018"},
			"parcel":{"weight":2},"customs":{"contentsType":"merchandise",`+customs+`"items":[{"description":"Cotton shirts","quantity":2,"value":{"amount":"25.50","currency":"USD"},"hsCode":"610910","originCountry":"PT"}]}}`)
		return sh["id"].(string)
	}

	for _, tc := range []struct {
		name, carrier, customs, kind string
		isSent                       bool
	}{
		{"UPS", "ups", "", "packing_list", true},
		{"printed documents", "ups", `"paperless":"off",`, "packing_list", false},
		{"DHL Express takes no packing lists", "dhl_express", "", "packing_list", false},
		{"FedEx does not expect documents", "fedex", "", "commercial_invoice", false},
		{"FedEx expects documents", "fedex", `"documentsFollow":true,`, "commercial_invoice", true},
	} {
		id := abroad(tc.carrier, tc.customs)
		document := upload(id, tc.kind)
		if _, isSent := document["submission"]; isSent != tc.isSent {
			t.Errorf("%s: %v", tc.name, document)
		}
		if tc.isSent && at(document, "submission", "status") != "pending" {
			t.Errorf("%s: %v", tc.name, document)
		}
	}
}
