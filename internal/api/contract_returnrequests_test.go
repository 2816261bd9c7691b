package api

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/returns"
	"github.com/waybillhq/waybill/internal/ship"
)

const returnRuleBody = `{"enabled":true,"days":14,"reasons":["Wrong size"," No  longer needed"],"paidBy":"recipient","approval":"manual","maxAmount":{"amount":"15.00","currency":"USD"},"carrier":"ups"}`

// askForReturn has the recipient of a delivered shipment ask for its return.
func (b *bench) askForReturn(id string) ship.ReturnRequest {
	b.Helper()
	tenant := ship.Tenant{Account: b.owner}
	rule, err := b.returns.Rule(b.Context(), tenant)
	if err == nil {
		rule.Enabled = true
		_, err = b.returns.SaveRule(b.Context(), tenant, rule)
	}
	if err != nil {
		b.Fatal(err)
	}
	shipment, err := b.store.Shipment(b.Context(), tenant, ship.ShipmentID(id))
	if err != nil {
		b.Fatal(err)
	}

	shipment.Progress.Status = ship.Delivered
	request, err := b.returns.Ask(b.Context(), returns.Ask{
		Parcel:   returns.Parcel{Shipment: shipment, Scans: []ship.Scan{{Status: ship.Delivered, At: time.Now()}}},
		Proof:    shipment.Order.Destination.Zip,
		Reason:   rule.Reasons[0],
		Comment:  "<script>alert(1)</script>",
		Email:    "jane@example.com",
		Language: "en",
	})
	if err != nil {
		b.Fatal(err)
	}
	return request
}

// TestContractReturnRequestsAreDecided: the rule is stored as it is sent, and requests
// are listed, denied with a reason, and approved.
func TestContractReturnRequestsAreDecided(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	if rule, _ := b.do(http.StatusOK, "GET", "/v1/return-rule", ""); rule["enabled"] != false || rule["updatedAt"] != nil {
		t.Errorf("the default is %v", rule)
	}
	rule, _ := b.do(http.StatusOK, "PUT", "/v1/return-rule", returnRuleBody)
	if rule["days"] != 14.0 || at(rule, "maxAmount", "amount") != "15.00" || rule["carrier"] != "ups" || rule["reasons"].([]any)[1] != "No longer needed" || rule["updatedAt"] == nil {
		t.Errorf("the rule is %v", rule)
	}
	for field, body := range map[string]string{
		"/reasons/1": strings.Replace(returnRuleBody, " No  longer needed", "Wrong  size", 1),
		"/carrier":   strings.Replace(returnRuleBody, `"carrier"`, `"service"`, 1),
		"/days":      strings.Replace(returnRuleBody, "14", "366", 1),
	} {
		if problem, w := b.do(http.StatusUnprocessableEntity, "PUT", "/v1/return-rule", body); at(problem, "errors", "pointer") != field {
			t.Errorf("%s: %s", field, w.Body)
		}
	}

	asked := b.askForReturn(b.ship())
	path := "/v1/return-requests/" + string(asked.ID)
	shown, _ := b.do(http.StatusOK, "GET", path, "")
	if shown["status"] != "requested" || shown["reason"] != "Wrong size" || shown["comment"] != "<script>alert(1)</script>" || shown["paidBy"] != "recipient" {
		t.Errorf("the request is %v", shown)
	}
	list, _ := b.do(http.StatusOK, "GET", "/v1/return-requests?status=requested", "")
	none, _ := b.do(http.StatusOK, "GET", "/v1/return-requests?status=denied", "")
	if len(list["data"].([]any)) != 1 || len(none["data"].([]any)) != 0 {
		t.Errorf("requested %v, denied %v", list["data"], none["data"])
	}

	b.do(http.StatusUnprocessableEntity, "POST", path+"/deny", `{"reason":" "}`)
	if denied, _ := b.do(http.StatusOK, "POST", path+"/deny", `{"reason":"It was worn."}`); denied["status"] != "denied" || denied["denialReason"] != "It was worn." {
		t.Errorf("denied: %v", denied)
	}
	approved, w := b.do(http.StatusAccepted, "POST", path+"/approve", "")
	if approved["status"] != "approved" || approved["approval"] != "manual" || w.Header().Get("Location") != path {
		t.Errorf("approved: %v", approved)
	}
	if problem, _ := b.do(http.StatusConflict, "POST", path+"/deny", `{"reason":"No."}`); problem["code"] != "return_request_decided" {
		t.Errorf("denied while it is bought: %v", problem)
	}
	other := "/v1/return-requests/" + string(ship.NewReturnRequestID(0, time.Now()))
	if problem, _ := b.do(http.StatusNotFound, "POST", other+"/approve", ""); problem["code"] != "return_request_not_found" {
		t.Errorf("a request that does not exist: %v", problem)
	}
}
