package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// sheetBody is the body that imports a rate sheet.
func sheetBody(carrier, csv string) string {
	b, err := json.Marshal(map[string]string{"carrier": carrier, "csv": csv})
	if err != nil {
		panic(err)
	}
	return string(b)
}

func TestContractARateSheetPricesItsCarrierUntilItIsRemoved(t *testing.T) {
	t.Parallel()
	c := newContract(t).opened()
	ups := func() (list []any) {
		t.Helper()
		quotes, _ := c.do(http.StatusOK, "POST", "/v1/rates", quoteTo("Ada"))
		for _, r := range quotes["rates"].([]any) {
			if at(r, "carrier") == "ups" {
				list = append(list, r)
			} else if at(r, "source") != "carrier" {
				t.Errorf("rate %v", r)
			}
		}
		return list
	}
	live := ups()
	got, w := c.do(http.StatusCreated, "PUT", "/v1/rate-sheets/ups-2026", sheetBody("ups", sheetExample))
	if got["version"] != 1.0 || got["title"] != "UPS contract 2026" || got["currency"] != "USD" || at(got, "services", "code") != "ground" || got["csv"] != nil || w.Header().Get("Location") != "/v1/rate-sheets/ups-2026" {
		t.Errorf("imported %v", got)
	}
	if n := got["counts"].(map[string]any); n["services"] != 1.0 || n["zones"] != 2.0 || n["prices"] != 6.0 || len(got["warnings"].([]any)) != 0 {
		t.Errorf("counts %v, warnings %v", n, got["warnings"])
	}
	if list := ups(); len(list) != 1 || at(list, "amount") != "8.80" || at(list, "source") != "sheet" || at(list, "service") != "ground" {
		t.Errorf("by the sheet: %v", list)
	}
	sh, _ := c.do(http.StatusCreated, "POST", "/v1/shipments", to("Ada", `"carrier":"ups"`))
	if at(sh, "rate", "amount") != "8.80" {
		t.Errorf("bought for %v", sh["rate"])
	}
	overLimit := strings.Replace(sheetExample, "7.90,8.80", "7.90,7.60", 1)
	if got, _ = c.do(http.StatusOK, "PUT", "/v1/rate-sheets/ups-2026", sheetBody("ups", overLimit)); got["version"] != 2.0 {
		t.Errorf("imported again: %v", got)
	}
	if list := ups(); at(list, "amount") != "7.60" {
		t.Errorf("by the second: %v", list)
	}
	list, _ := c.do(http.StatusOK, "GET", "/v1/rate-sheets", "")
	if len(list["data"].([]any)) != 1 || at(list, "data", "name") != "ups-2026" || at(list, "data", "version") != 2.0 || at(list, "data", "csv") != nil || list["nextCursor"] != nil {
		t.Errorf("list %v", list)
	}
	for query, csv := range map[string]string{"": overLimit, "?version=1": sheetExample, "?version=2": overLimit} {
		if one, _ := c.do(http.StatusOK, "GET", "/v1/rate-sheets/ups-2026"+query, ""); one["csv"] != csv || one["carrier"] != "ups" || one["importedAt"] == "" {
			t.Errorf("%q: %v", query, one)
		}
	}
	c.do(http.StatusNoContent, "DELETE", "/v1/rate-sheets/ups-2026", "")
	if list := ups(); len(list) != len(live) || at(list, "source") != "carrier" {
		t.Errorf("without the sheet: %v", list)
	}
	for _, method := range []string{"GET", "DELETE"} {
		if p, _ := c.do(http.StatusNotFound, method, "/v1/rate-sheets/ups-2026", ""); p["code"] != "rate_sheet_not_found" {
			t.Errorf("%s: %v", method, p)
		}
	}
	if one, _ := c.do(http.StatusOK, "GET", "/v1/rate-sheets/ups-2026?version=1", ""); one["csv"] != sheetExample {
		t.Errorf("what was removed is lost: %v", one)
	}
}

func TestContractAWrongRateSheetIsRefusedWithItsLine(t *testing.T) {
	t.Parallel()
	c := newContract(t).opened()
	put := func(status int, name, body string) map[string]any {
		t.Helper()
		p, _ := c.do(status, "PUT", "/v1/rate-sheets/"+name, body)
		return p
	}
	p := put(http.StatusUnprocessableEntity, "a", sheetBody("ups", strings.Replace(sheetExample, "7.90", "seven", 1)))
	if e := at(p, "errors"); p["code"] != "invalid_rate_sheet" || at(e, "pointer") != "/csv" || !strings.Contains(at(e, "detail").(string), "line 18") {
		t.Errorf("a price in words: %v", p)
	}
	p = put(http.StatusUnprocessableEntity, "a", sheetBody("ups", strings.Replace(sheetExample, "[zones]", "[zonse]", 1)))
	if found := fmt.Sprint(p["errors"]); !strings.Contains(found, "[zones]") {
		t.Errorf("a section that is not there: %v", p)
	}
	for body, want := range map[string][2]string{
		sheetBody("upz", sheetExample):                {"/carrier", "unknown_carrier"},
		sheetBody("usps", sheetExample):               {"/csv", "unknown_service"},
		sheetBody("ups", ""):                          {"/csv", "required"},
		`{"carrier":"ups"}`:                           {"/csv", "required"},
		`{"carrier":"ups","csv":"x","curency":"USD"}`: {"/curency", "unknown_field"},
		`{"carrier":"ups","csv":"x","connectionId":"con_01KJMBQDHV00G2N6V3T9RZKXB4"}`: {"/connectionId", "unknown_connection"},
	} {
		if p := put(http.StatusUnprocessableEntity, "a", body); wrongAt(p)[want[0]] != want[1] {
			t.Errorf("%.60s: %v", body, p)
		}
	}
	for _, name := range []string{"Ups", "a%20b", "-a", strings.Repeat("a", 61)} {
		if p := put(http.StatusUnprocessableEntity, name, sheetBody("ups", sheetExample)); wrongAt(p)["?name"] != "invalid_format" {
			t.Errorf("named %s: %v", name, p)
		}
	}
	put(http.StatusCreated, "a", sheetBody("ups", sheetExample))
	if p := put(http.StatusConflict, "b", sheetBody("ups", sheetExample)); p["code"] != "rate_sheet_overlap" {
		t.Errorf("a second sheet: %v", p)
	}
	if list, _ := c.do(http.StatusOK, "GET", "/v1/rate-sheets", ""); len(list["data"].([]any)) != 1 {
		t.Errorf("list %v", list)
	}
	if p, _ := c.do(http.StatusUnprocessableEntity, "GET", "/v1/rate-sheets/a?version=0", ""); wrongAt(p)["?version"] != "too_small" {
		t.Errorf("version 0: %v", p)
	}
}

// TestContractALargeRateSheetIsTaken sends one that is larger than any other
// request may be.
func TestContractALargeRateSheetIsTaken(t *testing.T) {
	t.Parallel()
	c := newContract(t).opened()
	comment := "# " + strings.Repeat("a note of the contract's own,\t", 20) + "\n"
	csv := sheetExample + strings.Repeat(comment, 2000)
	if got, _ := c.do(http.StatusCreated, "PUT", "/v1/rate-sheets/large", sheetBody("ups", csv)); got["version"] != 1.0 {
		t.Errorf("imported %v", got)
	}
	if one, _ := c.do(http.StatusOK, "GET", "/v1/rate-sheets/large", ""); one["csv"] != csv {
		t.Error("its text came back another")
	}
	if p, _ := c.do(http.StatusRequestEntityTooLarge, "PUT", "/v1/rate-sheets/large", sheetBody("ups", strings.Repeat(" ", 6<<20))); p["code"] != "body_too_large" {
		t.Errorf("over 6 MiB: %v", p)
	}
	if p, _ := c.do(http.StatusUnprocessableEntity, "PUT", "/v1/rate-sheets/large", sheetBody("ups", sheetExample+strings.Repeat(" ", 4_000_000))); wrongAt(p)["/csv"] != "too_long" {
		t.Errorf("over 4 MB: %v", p)
	}
}
