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
			if err := server.Turn(emulator.Knobs{Buy: map[string]float64{fault: 1}}); err != nil {
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

// Only UPS's own word for it is proof that nothing was sold; whatever else a
// look-up comes back with leaves the question open.
func TestFindTakesNothingElseForAbsence(t *testing.T) {
	for _, tc := range []struct {
		status int
		body   string
		want   ship.Kind
	}{
		{400, `{"response":{"errors":[{"code":"300007","message":"not there"}]}}`, ship.NotFound},
		{404, `{"response":{"errors":[{"code":"300007","message":"not there"}]}}`, ship.NotFound},
		{400, `{"response":{"errors":[{"code":"300033","message":"voided"}]}}`, ship.NotFound},
		{404, `{}`, ship.Unavailable},
		{404, `<html>`, ship.Unavailable},
		{400, `{"response":{"errors":[{"code":"300000","message":"away"}]}}`, ship.Unavailable},
		{400, `{"response":{"errors":[{"code":"300034","message":"wait"}]}}`, ship.Unavailable},
		{400, `{"response":{"errors":[{"code":"300001","message":"several"}]}}`, ship.Conflict},
		{400, `{"response":{"errors":[{"code":"300099","message":"new"}]}}`, ship.Invalid},
		{200, `{"LabelRecoveryResponse":{"LabelResults":[]}}`, ship.Unavailable},
		{200, `{"LabelRecoveryResponse":{"TrackingCandidate":[{"TrackingNumber":"1"},{"TrackingNumber":"2"}]}}`, ship.Conflict},
		{200, `{"LabelRecoveryResponse":{"Response":{"TransactionReference":{"CustomerContext":"OTHER"}}}}`, ship.Unavailable},
	} {
		_, err := open(t, scripted(t, tc.status, tc.body)).Find(t.Context(), buyOrder())
		if got := ship.KindOf(err); got != tc.want {
			t.Errorf("%d %s: %v: kind %q, want %q", tc.status, tc.body, err, got, tc.want)
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
		v, err := open(t, scripted(t, tc.status, tc.body)).Void(t.Context(), ship.Deal{CarrierRef: "1Z"})
		if got := ship.KindOf(err); got != tc.want || err == nil && v.State != ship.StateVoided {
			t.Errorf("%d %s: %v %v: kind %q, want %q", tc.status, tc.body, v, err, got, tc.want)
		}
	}
}

// scripted is a carrier that gives tokens and one answer to all else.
func scripted(t *testing.T, status int, body string) carrier.Doer {
	t.Helper()
	return carriertest.Server(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/token") {
			_, _ = io.WriteString(w, `{"access_token":"t","expires_in":"60"}`)
			return
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}))
}
