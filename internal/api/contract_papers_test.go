package api

import (
	"bytes"
	"net/http"
	"strings"
	"testing"
)

// TestContractTextThatCannotBePrintedIsRefused: a label with boxes on it is
// never sold.
func TestContractTextThatCannotBePrintedIsRefused(t *testing.T) {
	t.Parallel()
	c := newContract(t).opened()
	p, _ := c.do(http.StatusUnprocessableEntity, "POST", "/v1/shipments", to("Ada \U0001F389", "\"reference\":\"PO \U0001F680\""))
	got := wrongAt(p)
	if p["code"] != "validation_failed" || got["/destination/name"] != "unprintable" || got["/reference"] != "unprintable" || len(got) != 2 {
		t.Errorf("emoji: %v", p)
	}
	for _, name := range []string{"Zoë Ångström", "Анна Каренина", "Ελένη"} {
		c.do(http.StatusCreated, "POST", "/v1/shipments", to(name))
	}
}

// TestContractTheSandboxRefusesWhatLiveCarriersRefuse asks over HTTP; the
// carriers' own limits are held in carrier/sandbox.
func TestContractTheSandboxRefusesWhatLiveCarriersRefuse(t *testing.T) {
	t.Parallel()
	c := newContract(t).opened()
	pieces := strings.Replace(to("Ada", `"carrier":"usps"`), `"parcel":{`, `"parcels":[{"weight":1},{`, 1)
	pieces = pieces[:len(pieces)-1] + "]}"
	for name, body := range map[string]string{
		"several parcels at USPS": pieces,
		"a date in 2028":          to("Ada", `"shipDate":"2028-01-10"`),
		"an embargo":              strings.NewReplacer(`"state":"TX","zip":"78701","country":"US"`, `"zip":"1193653431","country":"IR"`).Replace(to("Ada")),
	} {
		p, _ := c.do(http.StatusUnprocessableEntity, "POST", "/v1/shipments", body)
		if p["code"] != "carrier_rejected" && p["code"] != "no_rate" {
			t.Errorf("%s: %v", name, p)
		}
	}
}

// TestContractADeliveredParcelIsNotVoided moves a parcel to its end.
func TestContractADeliveredParcelIsNotVoided(t *testing.T) {
	t.Parallel()
	c := newContract(t).opened()
	sh, _ := c.do(http.StatusCreated, "POST", "/v1/shipments", to("Ada"))
	id := sh["id"].(string)
	c.do(http.StatusOK, "POST", "/v1/sandbox/shipments/"+id+"/advance", `{"status":"delivered"}`)
	p, _ := c.do(http.StatusConflict, "POST", "/v1/shipments/"+id+"/void", "")
	if p["code"] != "void_refused" || !strings.Contains(p["carrierMessage"].(string), "delivered") {
		t.Errorf("void: %v", p)
	}
	if now, _ := c.do(http.StatusOK, "GET", "/v1/shipments/"+id, ""); now["labelStatus"] != "ready" {
		t.Errorf("afterwards the label is %v", now["labelStatus"])
	}
}

// TestContractAnOrderAbroadHasACommercialInvoice buys across a border: at once,
// and on the long way of a magic destination.
func TestContractAnOrderAbroadHasACommercialInvoice(t *testing.T) {
	t.Parallel()
	c := newContract(t).opened()
	abroad := strings.NewReplacer(`"city":"Austin","state":"TX","zip":"78701","country":"US"`, `"city":"Chiyoda-ku","state":"Tokyo","zip":"100-0001","country":"JP"`)
	customs := `"customs":{"contentsType":"merchandise","signer":"Sam Shipper","items":[{"description":"Cotton shirt","quantity":2,"value":{"amount":"20.00","currency":"USD"},"weight":0.5,"hsCode":"610910","originCountry":"US"}]}`
	for _, name := range []string{"Ada Lovelace", "FAULT PRICE CHANGED"} {
		sh, _ := c.do(http.StatusCreated, "POST", "/v1/shipments", abroad.Replace(to(name, customs)))
		papers := sh["documents"].([]any)
		if len(papers) != 1 || at(papers[0], "type") != "commercial_invoice" {
			t.Fatalf("%s: papers %v", name, papers)
		}
		path := strings.TrimPrefix(at(papers[0], "url").(string), testBase)
		_, w := c.do(http.StatusOK, "GET", path, "")
		if w.Header().Get("Content-Type") != "application/pdf" || !bytes.HasPrefix(w.Body.Bytes(), []byte("%PDF")) {
			t.Errorf("%s: %s %.20q", name, w.Header().Get("Content-Type"), w.Body)
		}
		c.do(http.StatusNotFound, "GET", strings.TrimSuffix(path, "1")+"2", "")
		if w := send(c.handler, "GET", path, "", ""); w.Code != http.StatusUnauthorized {
			t.Errorf("%s: without a key %d", name, w.Code)
		}
	}
	sh, _ := c.do(http.StatusCreated, "POST", "/v1/shipments", to("Ada", customs))
	if len(sh["documents"].([]any)) != 0 {
		t.Errorf("an order at home has papers: %v", sh["documents"])
	}
}
