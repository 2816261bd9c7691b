package api

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

// exec changes the database behind the service's back.
func (c *contract) exec(sql string, args ...any) {
	c.Helper()
	db, err := pgx.Connect(c.Context(), c.url)
	if err != nil {
		c.Fatal(err)
	}
	defer db.Close(c.Context())
	if _, err := db.Exec(c.Context(), sql, args...); err != nil {
		c.Fatal(err)
	}
}

// TestContractAReturnIsAShipmentTheOtherWay: addresses are swapped, the answer
// says of which shipment it is a return, and its key repeats it byte for byte.
func TestContractAReturnIsAShipmentTheOtherWay(t *testing.T) {
	t.Parallel()
	c := newContract(t).opened()
	first, _ := c.do(http.StatusCreated, "POST", "/v1/shipments", wholeOf(tomorrow()))
	path := "/v1/shipments/" + first["id"].(string) + "/return"

	back, w := c.do(http.StatusCreated, "POST", path, `{}`, "Idempotency-Key: r")
	if back["isReturn"] != true || back["returnOf"] != first["id"] || back["possibleDuplicateOf"] != nil {
		t.Errorf("isReturn %v, returnOf %v, possibleDuplicateOf %v", back["isReturn"], back["returnOf"], back["possibleDuplicateOf"])
	}
	if text(t, back["origin"]) != text(t, first["destination"]) || text(t, back["destination"]) != text(t, first["origin"]) {
		t.Errorf("from %v to %v", back["origin"], back["destination"])
	}
	if text(t, back["parcels"]) != text(t, first["parcels"]) || back["orderId"] != first["orderId"] || back["options"] != nil || at(back, "metadata", "shop") != "north" {
		t.Errorf("the return is %s", w.Body)
	}
	if at(back, "customs", "contentsType") != "returned_goods" || at(back, "customs", "items", "sku") != "S-1" || at(back, "customs", "signer") != nil {
		t.Errorf("its declaration is %v", back["customs"])
	}
	if w.Header().Get("Location") != "/v1/shipments/"+back["id"].(string) {
		t.Errorf("Location %q", w.Header().Get("Location"))
	}

	_, again := c.do(http.StatusCreated, "POST", path, `{}`, "Idempotency-Key: r")
	if again.Body.String() != w.Body.String() || again.Header().Get("Idempotent-Replayed") != "true" {
		t.Errorf("again %s\nfirst %s", again.Body, w.Body)
	}
	read, _ := c.do(http.StatusOK, "GET", "/v1/shipments/"+back["id"].(string), "")
	if read["isReturn"] != true || read["returnOf"] != first["id"] {
		t.Errorf("read back: isReturn %v, returnOf %v", read["isReturn"], read["returnOf"])
	}

	// A key of an answer that did not show it repeats that answer.
	c.exec("UPDATE shipments SET response_version = 2")
	old, _ := c.do(http.StatusCreated, "POST", path, `{}`, "Idempotency-Key: r")
	if old["isReturn"] != nil || old["returnOf"] != nil || old["origin"] == nil {
		t.Errorf("version 2 shows isReturn %v, returnOf %v", old["isReturn"], old["returnOf"])
	}
}

// TestContractAReturnHasMetadataOfItsOwn adds to those of the shipment, but for what
// says that an agent bought it.
func TestContractAReturnHasMetadataOfItsOwn(t *testing.T) {
	t.Parallel()
	c := newContract(t).opened()
	bought := func(metadata string) string {
		first, _ := c.do(http.StatusCreated, "POST", "/v1/shipments", strings.Replace(specBody, "{", `{"metadata":`+metadata+`,`, 1))
		return "/v1/shipments/" + first["id"].(string) + "/return"
	}

	for _, test := range []struct{ shipment, sent, want string }{
		{`{"shop":"north","tier":"gold"}`, `{}`, `{"shop":"north","tier":"gold"}`},
		{`{"shop":"north","tier":"gold"}`, `{"metadata":{"tier":"basic","reason":"too small"}}`, `{"reason":"too small","shop":"north","tier":"basic"}`},
		{`{"shop":"north","via":"mcp","mcpClient":"Desk"}`, `{}`, `{"shop":"north"}`},
		{`{"via":"mcp","mcpClient":"Desk"}`, `{"metadata":{"via":"mcp"}}`, `{"via":"mcp"}`},
		{`{"via":"web shop"}`, `{}`, `{"via":"web shop"}`},
	} {
		back, _ := c.do(http.StatusCreated, "POST", bought(test.shipment), test.sent)
		if got := text(t, back["metadata"]); got != test.want {
			t.Errorf("%s returned with %s has the metadata %s, want %s", test.shipment, test.sent, got, test.want)
		}
	}

	var many []string
	for i := range 49 {
		many = append(many, fmt.Sprintf(`"n%d":"x"`, i))
	}
	full := bought("{" + strings.Join(many, ",") + "}")
	problem, _ := c.do(http.StatusUnprocessableEntity, "POST", full, `{"metadata":{"a":"1","b":"2"}}`)
	if !strings.Contains(text(t, problem["errors"]), "/metadata") {
		t.Errorf("51 pairs: %v", problem)
	}
}

func TestContractAShipmentHasOneReturn(t *testing.T) {
	t.Parallel()
	c := newContract(t).opened()
	first, _ := c.do(http.StatusCreated, "POST", "/v1/shipments", specBody)
	path := "/v1/shipments/" + first["id"].(string) + "/return"

	back, _ := c.do(http.StatusCreated, "POST", path, `{"parcel":{"weight":1},"carrier":"fedex"}`, "Idempotency-Key: a")
	if back["carrier"] != "fedex" || at(back, "parcels", "weight") != 1.0 {
		t.Errorf("%v, %v", back["carrier"], back["parcels"])
	}
	problem, _ := c.do(http.StatusConflict, "POST", path, `{}`, "Idempotency-Key: b")
	if problem["code"] != "return_exists" || problem["returnId"] != back["id"] {
		t.Errorf("%v, %v", problem["code"], problem["returnId"])
	}

	// Another one is bought on purpose; once all are voided, a request that does
	// not say so buys one again.
	c.do(http.StatusCreated, "POST", path, `{"again":true}`, "Idempotency-Key: c")
	c.do(http.StatusOK, "POST", "/v1/shipments/"+back["id"].(string)+"/void", "")
	problem, _ = c.do(http.StatusConflict, "POST", path, `{}`, "Idempotency-Key: b")
	if problem["code"] != "return_exists" || problem["returnId"] == back["id"] {
		t.Errorf("after one of two is voided: %v, %v", problem["code"], problem["returnId"])
	}
	c.do(http.StatusOK, "POST", "/v1/shipments/"+problem["returnId"].(string)+"/void", "")
	c.do(http.StatusCreated, "POST", path, "", "Idempotency-Key: d") // a body is not needed
}

func TestContractWhatCannotBeReturned(t *testing.T) {
	t.Parallel()
	c := newContract(t).opened()
	expect := func(id any, words string) {
		t.Helper()
		problem, _ := c.do(http.StatusConflict, "POST", "/v1/shipments/"+id.(string)+"/return", `{}`)
		if detail, _ := problem["detail"].(string); problem["code"] != "not_returnable" || !strings.Contains(detail, words) {
			t.Errorf("%v: %q, want %q", problem["code"], detail, words)
		}
	}

	voided, _ := c.do(http.StatusCreated, "POST", "/v1/shipments", specBody)
	c.do(http.StatusOK, "POST", "/v1/shipments/"+voided["id"].(string)+"/void", "")
	expect(voided["id"], "voided")

	first, _ := c.do(http.StatusCreated, "POST", "/v1/shipments", specBody)
	back, _ := c.do(http.StatusCreated, "POST", "/v1/shipments/"+first["id"].(string)+"/return", `{}`)
	expect(back["id"], "is a return itself")

	c.exec("UPDATE shipment_states SET erased_at = now() WHERE state = 'purchased'")
	expect(first["id"], "erased")
	c.do(http.StatusNotFound, "POST", "/v1/shipments/shp_01KJMBQDHV00G2N6V3T9RZKXB4/return", `{}`)
}

func TestContractTheBodyOfAReturn(t *testing.T) {
	t.Parallel()
	c := newContract(t).opened()
	first, _ := c.do(http.StatusCreated, "POST", "/v1/shipments", wholeOf(tomorrow()))
	path := "/v1/shipments/" + first["id"].(string) + "/return"

	for body, pointer := range map[string]string{
		`{"billOn":"scan"}`:                   "/carrier",
		`{"billOn":"scan","carrier":"ups"}`:   "/billOn",
		`{"billOn":"delivery"}`:               "/billOn",
		`{"parcel":{"weight":-1}}`:            "/parcel/weight",
		`{"parcel":{"weight":1,"wight":2}}`:   "/parcel/wight",
		`{"destination":{}}`:                  "/destination",
		`{"items":[]}`:                        "/items",
		`{"items":[{"description":"Shirt"}]}`: "/items/0/quantity",
		`{"items":[{"description":"\t","quantity":1,"value":{"amount":"1.00","currency":"USD"}}]}`:                         "/items/0/description",
		`{"items":[{"description":"Shirt","quantity":1,"originCountry":"XX","value":{"amount":"1.00","currency":"USD"}}]}`: "/items/0/originCountry",
		`{"items":[{"description":"Shirt","quantity":1,"value":{"amount":"1.001","currency":"USD"}}]}`:                     "/items/0/value/amount",
	} {
		problem, w := c.do(http.StatusUnprocessableEntity, "POST", path, body)
		list, _ := problem["errors"].([]any)
		found := false
		for _, one := range list {
			found = found || at(one, "pointer") == pointer
		}
		if !found {
			t.Errorf("%s does not point to %s: %s", body, pointer, w.Body)
		}
	}

	back, _ := c.do(http.StatusCreated, "POST", path,
		`{"billOn":"purchase","carrier":"ups","items":[{"description":"Shirt","quantity":1,"value":{"amount":"20.00","currency":"USD"},"hsCode":"610910","originCountry":"PT"}]}`)
	if at(back, "customs", "items", "quantity") != 1.0 || at(back, "customs", "contentsType") != "returned_goods" {
		t.Errorf("the declaration is %v", back["customs"])
	}
}
