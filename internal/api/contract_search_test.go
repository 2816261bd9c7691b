package api

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
)

// TestContractShipmentsAreSearched looks for shipments as a client does, right
// after they were made.
func TestContractShipmentsAreSearched(t *testing.T) {
	t.Parallel()
	c := newContract(t).opened()

	create := func(order, name, city, email, reference string) map[string]any {
		sh, _ := c.do(http.StatusCreated, "POST", "/v1/shipments", `{
			"orderId": "`+order+`", "reference": "`+reference+`",
			"destination": {"name": "`+name+`", "address1": "500 Main St", "city": "`+city+`", "state": "TX", "zip": "78701", "country": "US", "email": "`+email+`"},
			"parcel": {"weight": 2}}`)
		return sh
	}
	first := create("WEB-77-1001", "Ada Lovelace", "Austin", "ada.l@example.com", "PO-1")
	create("WEB-77-1002", "Grace Hopper", "Round Rock", "grace@navy.example", "PO-2")
	number := first["trackingNumber"].(string)

	for query, want := range map[string]string{
		"query=77-10":                            "WEB-77-1002 WEB-77-1001",
		"query=1001":                             "WEB-77-1001",
		"query=lovelace":                         "WEB-77-1001",
		"query=" + url.QueryEscape("ROUND rock"): "WEB-77-1002",
		"query=" + url.QueryEscape("grace@navy.example"): "WEB-77-1002",
		"query=navy.example":                             "WEB-77-1002",
		"query=love":                                     "",
		"query=" + number[4:len(number)-1]:               "WEB-77-1001",
		"trackingNumber=" + strings.ToLower(number):      "WEB-77-1001",
		"reference=PO-2":                                 "WEB-77-1002",
		"reference=PO":                                   "",
		"query=77-10&carrier=nobody":                     "",
	} {
		page, _ := c.do(http.StatusOK, "GET", "/v1/shipments?"+query, "")
		var got []string
		for _, sh := range page["data"].([]any) {
			got = append(got, sh.(map[string]any)["orderId"].(string))
		}
		if !slices.Equal(got, strings.Fields(want)) {
			t.Errorf("%s finds %v, want %s", query, got, want)
		}
	}

	page, _ := c.do(http.StatusOK, "GET", "/v1/shipments?query=77-10&limit=1", "")
	next, _ := page["nextCursor"].(string)
	page, _ = c.do(http.StatusOK, "GET", "/v1/shipments?query=77-10&limit=1&cursor="+next, "")
	if list := page["data"].([]any); len(list) != 1 || list[0].(map[string]any)["orderId"] != "WEB-77-1001" || page["nextCursor"] != nil {
		t.Errorf("the second page = %v", page)
	}
}
