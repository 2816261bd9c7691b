package api

import (
	"net/http"
	"strings"
	"testing"
)

// TestContractMetadataCanBeChanged changes the metadata of a shipment: reading and lists
// show it, and what is repeated shows that of the creation.
func TestContractMetadataCanBeChanged(t *testing.T) {
	t.Parallel()
	c := newContract(t).opened()
	body := to("Ada", `"metadata":{"channel":"web"}`)
	made, first := c.do(http.StatusCreated, "POST", "/v1/shipments", body, "Idempotency-Key: k")
	path := "/v1/shipments/" + made["id"].(string)

	changed, _ := c.do(http.StatusOK, "PATCH", path, `{"metadata":{"picker":"A7"}}`)
	got, _ := c.do(http.StatusOK, "GET", path, "")
	list, _ := c.do(http.StatusOK, "GET", "/v1/shipments", "")
	again, _ := c.do(http.StatusOK, "POST", path+"/duplicate", "")
	for where, shown := range map[string]any{"the answer": changed, "reading": got, "a list": at(list, "data"), "a duplicate": again} {
		if at(shown, "metadata", "picker") != "A7" || at(shown, "metadata", "channel") != nil {
			t.Errorf("%s shows %v", where, at(shown, "metadata"))
		}
	}

	_, replayed := c.do(http.StatusCreated, "POST", "/v1/shipments", body, "Idempotency-Key: k")
	if replayed.Body.String() != first.Body.String() || replayed.Header().Get("Idempotent-Replayed") != "true" {
		t.Errorf("the repeat differs:\n%s\n%s", first.Body, replayed.Body)
	}

	removed, _ := c.do(http.StatusOK, "PATCH", path, `{"metadata":{}}`)
	if removed["metadata"] != nil {
		t.Errorf("removed: %v", removed["metadata"])
	}

	for _, wrong := range []string{`{}`, `{"metadata":null}`, `{"metadata":{"":"x"}}`, `{"metadata":{"a":"` + strings.Repeat("x", 501) + `"}}`, `{"metadata":{},"orderId":"2"}`} {
		refused, _ := c.do(http.StatusUnprocessableEntity, "PATCH", path, wrong)
		if refused["code"] != "validation_failed" {
			t.Errorf("%.40s: %v", wrong, refused)
		}
	}
	c.do(http.StatusNotFound, "PATCH", "/v1/shipments/shp_x", `{"metadata":{}}`)
	reader := c.newKey(false, "shipments:read")
	if w := send(c.handler, "PATCH", path, reader, `{"metadata":{}}`); w.Code != http.StatusForbidden {
		t.Errorf("a key that reads: %d", w.Code)
	}
}
