package ups_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carriertest"
	"github.com/waybillhq/waybill/internal/emulator"
	"github.com/waybillhq/waybill/internal/ship"
)

// A sale whose answer goes wrong in any way is uncertain, and is found.
func TestBuyIsUncertainAndTheSaleIsFound(t *testing.T) {
	for _, fault := range []string{"reset", "500", "502", "truncate", "wrong_reference"} {
		t.Run(fault, func(t *testing.T) {
			server, via := service(t)
			if err := server.Turn(emulator.Faults{Buy: map[string]float64{fault: 1}}); err != nil {
				t.Fatal(err)
			}
			c := open(t, via)
			if _, err := c.Buy(t.Context(), buyOrder()); ship.KindOf(err) != ship.Uncertain {
				t.Errorf("err = %v, want uncertain", err)
			}
			p, err := c.Find(t.Context(), buyOrder())
			if err != nil || !p.Price.IsZero() {
				t.Fatalf("Find = %v, %v; want the label without a price", p.Price, err)
			}
			if sold, _, _ := server.Ledger.Sold(p.TrackingNumber); sold.Reference != buyOrder().Reference {
				t.Errorf("found %s, which is %+v", p.TrackingNumber, sold)
			}
		})
	}
}

// Only UPS's own statement, from both label recovery and tracking, proves that
// nothing was sold. Any other result of a look-up leaves the question open.
func TestFindTakesNothingElseForAbsence(t *testing.T) {
	const (
		unknown   = `{"response":{"errors":[{"code":"9801031","message":"not there"}]}}`
		listed    = `{"response":{"errors":[{"code":"300007","message":"not there"}]}}`
		several   = `{"response":{"errors":[{"code":"300001","message":"several"}]}}`
		untracked = `{"trackResponse":{"shipment":[{"warnings":[{"code":"TW0001"}]}]}}`
		voided    = `{"trackResponse":{"shipment":[{"package":[{"trackingNumber":"1ZA1B2C30300001011","currentStatus":{"type":"MV"},"referenceNumber":[{"number":"SABCDEFGHJKMNPQRSTVWXYZ234"}]}]}]}}`
		another   = `{"trackResponse":{"shipment":[{"package":[{"trackingNumber":"1ZA1B2C30300001011","referenceNumber":[{"number":"OTHER"}]}]}]}}`
		unnamed   = `{"trackResponse":{"shipment":[{"package":[{"trackingNumber":"1ZA1B2C30300001011"}]}]}}`
		elsewhere = `{"trackResponse":{"shipment":[{"package":[{"trackingNumber":"1ZA1B2C30300001011","referenceNumber":[{"number":"SABCDEFGHJKMNPQRSTVWXYZ234"}],"packageAddress":[{"type":"DESTINATION","address":{"postalCode":"94105"}}]}]}]}}`
	)
	for _, tc := range []struct {
		status, trackStatus int
		body, track         string
		want                ship.Kind
	}{
		{400, 200, unknown, untracked, ship.NotFound},
		{404, 200, unknown, untracked, ship.NotFound},
		{400, 200, listed, untracked, ship.NotFound},
		{400, 400, unknown, `{"response":{"errors":[{"code":"TW0001","message":"no"}]}}`, ship.NotFound},
		{400, 200, unknown, voided, ship.NotFound},
		{400, 200, unknown, another, ship.Conflict},
		{400, 200, unknown, unnamed, ship.Conflict},
		{400, 200, unknown, elsewhere, ship.Conflict},
		{400, 503, unknown, `{}`, ship.Unavailable},
		{400, 404, unknown, `{}`, ship.Unavailable},
		{400, 200, unknown, `{}`, ship.Unavailable},
		{400, 403, unknown, `{}`, ship.Forbidden},
		{400, 200, `{"response":{"errors":[{"code":"9801040","message":"voided"}]}}`, untracked, ship.NotFound},
		{400, 200, `{"response":{"errors":[{"code":"300033","message":"voided"}]}}`, untracked, ship.NotFound},
		{400, 200, `{"response":{"errors":[{"code":"9801028","message":"sent to the destination address"}]}}`, untracked, ship.Invalid},
		{404, 200, `{}`, untracked, ship.Unavailable},
		{404, 200, `<html>`, untracked, ship.Unavailable},
		{400, 200, `{"response":{"errors":[{"code":"300000","message":"away"}]}}`, untracked, ship.Unavailable},
		{400, 200, `{"response":{"errors":[{"code":"300034","message":"wait"}]}}`, untracked, ship.Unavailable},
		{400, 200, several, untracked, ship.Conflict},
		{400, 200, several, voided, ship.Conflict},
		{400, 200, `{"response":{"errors":[{"code":"300099","message":"new"}]}}`, untracked, ship.Invalid},
		{200, 200, `{"LabelRecoveryResponse":{"LabelResults":[]}}`, untracked, ship.Unavailable},
		{200, 200, `{"LabelRecoveryResponse":{"TrackingCandidate":[{"TrackingNumber":"1ZA1B2C30300001011"},{"TrackingNumber":"1ZA1B2C30300002010"}]}}`, untracked, ship.Conflict},
		{200, 200, `{"LabelRecoveryResponse":{"TrackingCandidate":[{"TrackingNumber":"1ZA1B2C30300001011","DestinationPostalCode":"94105"}]}}`, untracked, ship.Conflict},
		{200, 200, `{"LabelRecoveryResponse":{"TrackingCandidate":[{"TrackingNumber":"1ZA1B2C30300001011"}]}}`, another, ship.Conflict},
		{200, 503, `{"LabelRecoveryResponse":{"TrackingCandidate":[{"TrackingNumber":"1ZA1B2C30300001011"}]}}`, `{}`, ship.Unavailable},
		{200, 200, `{"LabelRecoveryResponse":{"LabelResults":[{"TrackingNumber":"1ZXXXXXXXXXXXXXXXX"}]}}`, untracked, ship.NotFound},
		{200, 200, `{"LabelRecoveryResponse":{"TrackingCandidate":{"TrackingNumber":"1ZXXXXXXXXXXXXXXXX"}}}`, untracked, ship.NotFound},
		{200, 200, `{"LabelRecoveryResponse":{"Response":{"TransactionReference":{"CustomerContext":"OTHER"}}}}`, untracked, ship.Unavailable},
	} {
		via := scriptedByPath(t, map[string]scriptedAnswer{"/track/": {tc.trackStatus, tc.track}, "": {tc.status, tc.body}})
		_, err := open(t, via).Find(t.Context(), buyOrder())
		if got := ship.KindOf(err); got != tc.want {
			t.Errorf("%d %s, then %d %s: %v: kind %q, want %q", tc.status, tc.body, tc.trackStatus, tc.track, err, got, tc.want)
		}
	}
}

func TestVoidsAreJudgedByWhatUPSSays(t *testing.T) {
	for _, tc := range []struct {
		status int
		body   string
		want   ship.Kind
	}{
		{200, `{"VoidShipmentResponse":{"SummaryResult":{"Status":{"Code":"1"}}}}`, ""},
		{200, `{"VoidShipmentResponse":{"SummaryResult":{"Status":{"Code":"1"}},"PackageLevelResult":{"Status":{"Code":"1"}}}}`, ""},
		{200, `{"VoidShipmentResponse":{"SummaryResult":{"Status":{"Code":"1"}},"PackageLevelResult":[{"Status":{"Code":"1"}},{"Status":{"Code":"0"}}]}}`, ship.Invalid},
		{200, `{"VoidShipmentResponse":{"SummaryResult":{"Status":{"Code":"0"}}}}`, ship.Invalid},
		{200, `{"VoidShipmentResponse":{"SummaryResult":{"Status":{"Code":"7"}}}}`, ship.Uncertain},
		{400, `{"response":{"errors":[{"code":"190117","message":"done before"}]}}`, ""},
		{400, `{"response":{"errors":[{"code":"190001","message":"away"}]}}`, ship.Unavailable},
		{400, `{"response":{"errors":[{"code":"190102","message":"too late"}]}}`, ship.Invalid},
	} {
		v, err := open(t, scripted(t, tc.status, tc.body)).Void(t.Context(), ship.Purchase{CarrierRef: "1Z"})
		if got := ship.KindOf(err); got != tc.want || err == nil && v.State != ship.StateVoided {
			t.Errorf("%d %s: %v %v: kind %q, want %q", tc.status, tc.body, v, err, got, tc.want)
		}
	}
}

// What UPS declines is an error, and only its own statement is a verdict.
func TestRefusedChecksOfAddressesAreNoVerdicts(t *testing.T) {
	address := ship.Address{Name: "Ann", Address1: "5 Any St", City: "Albany", State: "NY", Zip: "12207", Country: "US"}
	for _, tc := range []struct {
		status  int
		body    string
		verdict ship.AddressVerdict
		want    ship.Kind
	}{
		{400, `{"response":{"errors":[{"code":"9264030","message":"The state is not supported in the Customer Integration Environment."}]}}`, ship.AddressUnknown, ""},
		{400, `{"response":{"errors":[{"code":"9264028","message":"Invalid or missing request option."}]}}`, "", ship.Invalid},
		{403, `{"response":{"errors":[{"code":"250003","message":"Invalid Access License number"}]}}`, "", ship.Forbidden},
		{404, `{"response":{"errors":[{"code":"404","message":"not found"}]}}`, "", ship.Unavailable},
	} {
		check, err := open(t, scripted(t, tc.status, tc.body)).CheckAddress(t.Context(), address)
		if ship.KindOf(err) != tc.want || check.Verdict != tc.verdict {
			t.Errorf("%d %s: %s, %v", tc.status, tc.body, check.Verdict, err)
		}
		if tc.want == ship.Forbidden && !strings.Contains(err.Error(), "Address Validation") {
			t.Errorf("%v does not name the product", err)
		}
	}
}

func TestLostAnswersAboutAddressesAreNoVerdicts(t *testing.T) {
	address := ship.Address{Name: "Ann", Address1: "1 Nowhere St", City: "Albany", State: "NY", Zip: "12207", Country: "US"}
	for _, fault := range []string{"reset", "500", "502", "truncate"} {
		server, via := service(t)
		if err := server.Turn(emulator.Faults{Address: map[string]float64{fault: 1}}); err != nil {
			t.Fatal(err)
		}
		if check, err := open(t, via).CheckAddress(t.Context(), address); ship.KindOf(err) != ship.Unavailable {
			t.Errorf("%s: %+v, %v; want unavailable", fault, check, err)
		}
	}

	server, _ := service(t)
	if err := server.Turn(emulator.Faults{Address: map[string]float64{"wrong_reference": 1}}); err == nil {
		t.Error("an address has no reference that could be wrong")
	}
}

// scripted returns a carrier that issues tokens and gives the same response to
// every other request.
func scripted(t *testing.T, status int, body string) carrier.Doer {
	t.Helper()
	return scriptedByPath(t, map[string]scriptedAnswer{"": {status, body}})
}

type scriptedAnswer struct {
	status int
	body   string
}

// scriptedByPath returns a carrier that issues tokens, and answers every other
// request with the response listed for a part of its path, or for "".
func scriptedByPath(t *testing.T, answers map[string]scriptedAnswer) carrier.Doer {
	t.Helper()
	return carriertest.Server(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/token") {
			_, _ = io.WriteString(w, `{"access_token":"scripted-token","expires_in":"60"}`)
			return
		}
		one := answers[""]
		for part, answer := range answers {
			if part != "" && strings.Contains(r.URL.Path, part) {
				one = answer
			}
		}
		w.WriteHeader(one.status)
		_, _ = io.WriteString(w, one.body)
	}))
}
