package api

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/ship"
)

// wholeBody is a shipment that uses everything that is read back.
const wholeBody = `{"orderId":"ORD-2002","reference":"PO 7","metadata":{"shop":"north"},
 "origin":{"name":"Shop","company":"Acme","address1":"1 Road","address2":"Hall 3","city":"Reno","state":"nv","zip":"89501","country":"us","phone":"+17755550100","email":"shop@example.com"},
 "destination":{"name":"Ada Lovelace","address1":"12 Rue de Rivoli","city":"Paris","zip":"75001","country":"FR","phone":"+33155550100","residential":true,"type":"consumer"},
 "parcel":{"weight":1.5,"weightUnit":"kg","dimensions":{"length":30,"width":20,"height":10,"unit":"cm"}},
 "shipDate":"2099-01-05","options":{"signature":"adult","insuredValue":{"amount":"150.00","currency":"USD"}},
 "customs":{"contentsType":"merchandise","incoterm":"DDP","signer":"Grace Hopper","invoiceNumber":"INV-9",
  "taxIdentifiers":[{"type":"ioss","number":"IM2760000742","country":"DE","party":"sender"}],
  "items":[{"description":"Cotton shirt","quantity":2,"value":{"amount":"20.00","currency":"USD"},"weight":0.5,"hsCode":"610910","originCountry":"PT","sku":"S-1"}]}}`

// wholeOf is the body with a ship date that carriers take.
func wholeOf(day string) string { return strings.Replace(wholeBody, "2099-01-05", day, 1) }

// expectWhole compares what a shipment shows of its order.
func expectWhole(t *testing.T, sh map[string]any, day string) {
	t.Helper()
	for path, want := range map[string]any{
		"origin.name": "Shop", "origin.company": "Acme", "origin.address2": "Hall 3", "origin.state": "NV", "origin.country": "US",
		"origin.phone": "+17755550100", "origin.email": "shop@example.com",
		"destination.name": "Ada Lovelace", "destination.zip": "75001", "destination.residential": true, "destination.type": "consumer",
		"parcels.weight": 1.5, "parcels.weightUnit": "kg", "parcels.dimensions.unit": "cm", "parcels.packaging": "custom",
		"customs.incoterm": "DDP", "customs.signer": "Grace Hopper", "customs.invoiceNumber": "INV-9",
		"customs.taxIdentifiers.number": "IM2760000742", "customs.items.hsCode": "610910", "customs.items.value.amount": "20.00",
		"customs.items.quantity": 2.0, "customs.items.weight": 0.5, "customs.items.sku": "S-1",
		"options.signature": "adult", "options.insuredValue.amount": "150.00",
		"shipDate": day, "reference": "PO 7", "metadata.shop": "north",
	} {
		if got := at(sh, strings.Split(path, ".")...); got != want {
			t.Errorf("%s is %v, want %v", path, got, want)
		}
	}
}

// TestContractAShipmentIsReadBackWhole: the creation's answer and the shipment
// itself show the order, the recipient's page and when it was voided; lists and
// events stay as they were.
func TestContractAShipmentIsReadBackWhole(t *testing.T) {
	t.Parallel()
	c := newContract(t).opened()
	day := tomorrow()
	created, _ := c.do(http.StatusCreated, "POST", "/v1/shipments", wholeOf(day))
	expectWhole(t, created, day)
	path := "/v1/shipments/" + created["id"].(string)
	sh, _ := c.do(http.StatusOK, "GET", path, "")
	expectWhole(t, sh, day)
	page, _ := sh["trackingPageUrl"].(string)
	if !strings.HasPrefix(page, testBase+"/track/") || created["trackingPageUrl"] != page || sh["voidedAt"] != nil {
		t.Errorf("trackingPageUrl %q, voidedAt %v", page, sh["voidedAt"])
	}

	for _, name := range []string{"origin", "destination", "trackingPageUrl"} {
		list, _ := c.do(http.StatusOK, "GET", "/v1/shipments", "")
		if at(list, "data", name) != nil {
			t.Errorf("lists show %s", name)
		}
		if at(c.log(1)[0], "data", "shipment", name) != nil {
			t.Errorf("events show %s", name)
		}
	}

	voided, _ := c.do(http.StatusOK, "POST", path+"/void", "")
	now, _ := c.do(http.StatusOK, "GET", path, "")
	if voided["voidedAt"] == nil || now["voidedAt"] != voided["voidedAt"] {
		t.Errorf("voidedAt is %v, then %v", voided["voidedAt"], now["voidedAt"])
	}
}

// TestContractAKeyRepeatsTheBodyOfItsTime: an answer of before keeps its shape,
// a new one shows the order, each byte for byte, whatever became of the label.
func TestContractAKeyRepeatsTheBodyOfItsTime(t *testing.T) {
	t.Parallel()
	c := newContract(t).opened()
	sh, first := c.do(http.StatusCreated, "POST", "/v1/shipments", specBody, "Idempotency-Key: k")
	c.do(http.StatusOK, "POST", "/v1/shipments/"+sh["id"].(string)+"/void", "")
	_, again := c.do(http.StatusCreated, "POST", "/v1/shipments", specBody, "Idempotency-Key: k")
	if first.Body.String() != again.Body.String() || sh["destination"] == nil {
		t.Errorf("first %s\nthen  %s", first.Body, again.Body)
	}

	// As a release before this one wrote it down.
	db, err := pgx.Connect(t.Context(), c.url)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close(context.Background())
	if _, err := db.Exec(t.Context(), "UPDATE shipments SET response_version = 1"); err != nil {
		t.Fatal(err)
	}
	_, old := c.do(http.StatusCreated, "POST", "/v1/shipments", specBody, "Idempotency-Key: k")
	before, _, _ := strings.Cut(first.Body.String(), `,"origin":`)
	if old.Body.String() != before+"}" {
		t.Errorf("a key of before answers %s\nwant %s", old.Body, before+"}")
	}
}

// TestContractADuplicateIsABodyThatShipsAgain sends the duplicate as it is.
func TestContractADuplicateIsABodyThatShipsAgain(t *testing.T) {
	t.Parallel()
	c := newContract(t).opened()
	two := strings.Replace(specBody, `"parcel":{"weight":4.2,"dimensions":{"length":12,"width":9,"height":4}}`, `"parcels":[{"weight":1},{"weight":2,"weightUnit":"kg"}]`, 1)
	for _, body := range []string{wholeOf(tomorrow()), specBody, to("Ada", `"carrier":"ups"`), strings.Replace(two, `{"orderId"`, `{"carrier":"ups","orderId"`, 1)} {
		time.Sleep(2 * time.Millisecond) // ids of the same millisecond have no order
		first, _ := c.do(http.StatusCreated, "POST", "/v1/shipments", body)
		duplicate, w := c.do(http.StatusOK, "POST", "/v1/shipments/"+first["id"].(string)+"/duplicate", "")
		if duplicate["orderId"] != first["orderId"] || duplicate["shipDate"] != nil {
			t.Errorf("duplicate %s", w.Body)
		}
		again, _ := c.do(http.StatusCreated, "POST", "/v1/shipments", w.Body.String())
		if again["possibleDuplicateOf"] != first["id"] {
			t.Errorf("possibleDuplicateOf %v", again["possibleDuplicateOf"])
		}
		for _, name := range []string{"origin", "destination", "parcels", "customs", "options", "metadata"} {
			if before, now := text(t, first[name]), text(t, again[name]); before != now {
				t.Errorf("%s was %s and is %s", name, before, now)
			}
		}
	}
	c.do(http.StatusNotFound, "POST", "/v1/shipments/shp_01KJMBQDHV00G2N6V3T9RZKXB4/duplicate", "")
}

func tomorrow() string { return string(ship.DateOf(time.Now().AddDate(0, 0, 1))) }

// text is a value as JSON, to compare it.
func text(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
