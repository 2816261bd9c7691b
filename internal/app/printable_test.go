package app_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/app"
)

// TestNoCarrierSellsTextsThatItCannotPrint buys at every emulator with an emoji
// in the order number, which is left off the label with a warning, and in the
// description of goods, which is refused with its field.
func TestNoCarrierSellsTextsThatItCannotPrint(t *testing.T) {
	t.Parallel()
	cfg, _, key, connections := connectStandIns(t)
	a := run(t, cfg, app.AllRoles)

	const order = `"destination":{"name":"Ada Lovelace","address1":"350 5th Ave","city":"New York","state":"NY","zip":"10118","country":"US","phone":"2125550100"},
		"origin":{"name":"Warehouse","address1":"1201 S Figueroa St","city":"Los Angeles","state":"CA","zip":"90015","country":"US","phone":"2135550100"},
		"parcel":{"weight":2.5,"dimensions":{"length":12,"width":9,"height":4}}`
	const customs = `"customs":{"contentsType":"merchandise","items":[{"description":"Shoes 👟","quantity":1,"value":{"amount":"20.00","currency":"USD"},"weight":1,"originCountry":"US","hsCode":"640411"}]}`
	for _, s := range standIns {
		connection := `"connectionId":"` + string(connections[s.name]) + `",`

		status, _, text := call(t, a.LocalURL(), key, "/v1/shipments", `{"orderId":"📦",`+connection+order+`}`)
		if status != http.StatusCreated || !strings.Contains(text, "orderId is not on the label") {
			t.Errorf("%s: an order number that cannot be printed: %d %s", s.name, status, text)
		}

		status, _, text = call(t, a.LocalURL(), key, "/v1/shipments", `{"orderId":"7",`+connection+order+`,`+customs+`}`)
		if status != http.StatusUnprocessableEntity || !strings.Contains(text, `"/customs/items/0/description"`) || !strings.Contains(text, "unsupported_characters") {
			t.Errorf("%s: goods that cannot be printed: %d %s", s.name, status, text)
		}
	}
}
