package api

import (
	"net/http"
	"testing"
)

// TestContractTextThatCannotBeStoredIsRefused sends what Postgres would not
// take, where no body's check stands before it.
func TestContractTextThatCannotBeStoredIsRefused(t *testing.T) {
	c := newContract(t).opened()
	for path, want := range map[string]int{
		"/v1/shipments?orderId=a%00b":     http.StatusUnprocessableEntity,
		"/v1/shipments?carrier=%ff%fe":    http.StatusUnprocessableEntity,
		"/v1/tracking/1Z?carrier=%00":     http.StatusUnprocessableEntity,
		"/v1/tracking/1Z%00999":           http.StatusNotFound,
		"/v1/tracking/%ff":                http.StatusNotFound,
		"/v1/shipments/shp_%00":           http.StatusNotFound,
		"/v1/events?after=%00":            http.StatusUnprocessableEntity,
		"/v1/events?types=shipment%00":    http.StatusUnprocessableEntity,
		"/v1/shipments?createdAfter=%00a": http.StatusUnprocessableEntity,
	} {
		c.do(want, "GET", path, "")
	}
}
