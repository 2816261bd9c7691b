package ups

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/waybillhq/waybill/internal/carrier"
)

// UPS's file allows two kinds of bookings, and a body that departs from one of
// them anywhere is said to depart from both. So bookings are also checked against
// their own schema, in which two lengths are wrong: the text of the date asks for
// yyyyMMdd, and that of the weight has the example 10.9.
func TestPickupsKeepToTheirSchema(t *testing.T) {
	dir := os.Getenv("CARRIER_SPECS")
	if dir == "" {
		t.Skip("CARRIER_SPECS is not set")
	}
	document, err := openapi3.NewLoader().LoadFromFile(filepath.Join(dir, "ups/openapi-json/Pickup.json"))
	if err != nil {
		t.Fatal(err)
	}
	schema := document.Components.Schemas["PICKUPCreationRequestWrapper"].Value

	for _, request := range []carrier.PickupRequest{collected(), collectedAbroad()} {
		body, err := account(t).pickupRequest(request)
		if err != nil {
			t.Fatal(err)
		}
		data, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		var value any
		if err := json.Unmarshal(data, &value); err != nil {
			t.Fatal(err)
		}

		violations, ok := schema.VisitJSON(value, openapi3.MultiErrors()).(openapi3.MultiError)
		if !ok {
			t.Fatalf("the schema finds %v", violations)
		}
		for _, violation := range violations {
			text := violation.Error()
			isKnown := strings.Contains(text, `PickupDate": maximum string length is 4`) ||
				strings.Contains(text, `TotalWeight/Weight": minimum string length is 6`)
			if !isKnown {
				t.Error(text)
			}
		}
	}
}
