package royalmail_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/emulator"
	"github.com/waybillhq/waybill/internal/emulator/royalmail"
)

const order = `{"items":[{"orderReference":"REF-1","recipient":{"address":{"fullName":"Ann Lee","addressLine1":"2 High St","city":"Leeds",
	"postcode":"LS1 4AP","countryCode":"GB"}},"packages":[{"weightInGrams":800,"packageFormatIdentifier":"smallParcel"}],
	"orderDate":"2026-11-16T09:00:00Z","subtotal":20,"shippingCostCharged":4,"total":24,"postageDetails":{"serviceCode":"TPS48"},
	"label":{"includeLabelInResponse":true,"includeCN":false,"includeReturnsLabel":false}}]}`

// send sends a request with the key, and returns the status and the body.
func send(t *testing.T, server *emulator.Server, method, path, body string) (int, string) {
	t.Helper()
	request := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
	request.Header.Set("Authorization", "Bearer "+royalmail.APIKey)
	answer := httptest.NewRecorder()
	server.ServeHTTP(answer, request)
	text, err := io.ReadAll(answer.Result().Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.Code, string(text)
}

// TestTheSmallestOrderOfTheDocumentation sends requests that were written by hand,
// from Royal Mail's file: the driver has no part in them.
func TestTheSmallestOrderOfTheDocumentation(t *testing.T) {
	t.Parallel()
	ledger, err := emulator.OpenLedger("")
	if err != nil {
		t.Fatal(err)
	}
	server := royalmail.New(ledger)
	server.LookupScale = 0

	status, body := send(t, server, "POST", "/api/v1/orders", order)
	var created struct {
		SuccessCount  int
		CreatedOrders []struct {
			OrderIdentifier int
			TrackingNumber  string
			Label           []byte
		}
	}
	if err := json.Unmarshal([]byte(body), &created); err != nil || status != http.StatusOK || created.SuccessCount != 1 {
		t.Fatalf("%d %s", status, body)
	}
	if sold := ledger.Entries(); len(sold) != 1 || sold[0].Reference != "REF-1" || sold[0].Number != created.CreatedOrders[0].TrackingNumber {
		t.Errorf("the ledger has %+v", sold)
	}
	if !strings.HasPrefix(string(created.CreatedOrders[0].Label), "%PDF-") {
		t.Error("the label is no PDF")
	}

	for _, step := range []struct {
		method, path string
		status       int
		contains     string
	}{
		{"GET", "/api/v1/orders/%22REF-1%22", 200, `"orderIdentifier":1001`},
		{"GET", "/api/v1/orders/%22REF-2%22", 404, ""},
		{"GET", "/api/v1/orders/1001/label?documentType=postageLabel", 400, "includeReturnsLabel"},
		{"GET", "/api/v1/orders/1001/label?documentType=postageLabel&includeReturnsLabel=false", 200, "%PDF-"},
		{"GET", "/mailpieces/v2/RB123456785GB/events", 401, ""},
		{"DELETE", "/api/v1/orders/1001", 200, `"deletedOrders":[{`},
		{"GET", "/api/v1/orders/%22REF-1%22", 404, ""},
		{"POST", "/api/v1/manifests", 400, "NoEligibleOrders"},
	} {
		status, body := send(t, server, step.method, step.path, "")
		if status != step.status || !strings.Contains(body, step.contains) {
			t.Errorf("%s %s: %d %.200s", step.method, step.path, status, body)
		}
	}
}

// TestNorthernIrelandNeedsTheKindOfRecipient is a field that Click & Drop requires
// on one lane only.
func TestNorthernIrelandNeedsTheKindOfRecipient(t *testing.T) {
	t.Parallel()
	ledger, err := emulator.OpenLedger("")
	if err != nil {
		t.Fatal(err)
	}
	server := royalmail.New(ledger)
	without := strings.Replace(order, "LS1 4AP", "BT1 5GS", 1)
	if _, body := send(t, server, "POST", "/api/v1/orders", without); !strings.Contains(body, "IsRecipientABusiness") {
		t.Errorf("without: %s", body)
	}
	with := strings.Replace(without, `"recipient"`, `"isRecipientABusiness":false,"recipient"`, 1)
	if _, body := send(t, server, "POST", "/api/v1/orders", with); !strings.Contains(body, `"successCount":1`) {
		t.Errorf("with: %s", body)
	}
}
