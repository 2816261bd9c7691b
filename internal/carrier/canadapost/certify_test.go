package canadapost_test

import (
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/canadapost"
	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/certify"
	"github.com/waybillhq/waybill/internal/label"
	"github.com/waybillhq/waybill/internal/ship"
)

// TestAConnectionIsCertified walks as "waybill connection certify" does.
func TestAConnectionIsCertified(t *testing.T) {
	t.Parallel()
	server := newStandIn(t)
	listening := httptest.NewServer(server)
	t.Cleanup(listening.Close)
	traffic := carrierkit.NewTraffic(carrierkit.TrafficOptions{Wrap: carrierkit.Recorder})
	t.Cleanup(traffic.Close)
	opened, err := carrier.Open(canadapost.Spec, carrier.Opening{Credentials: credentials, BaseURL: listening.URL, Via: traffic.Doer(carrier.Spec{Name: canadapost.Spec.Name}, "con_1")})
	if err != nil {
		t.Fatal(err)
	}
	renderer, err := label.NewRenderer("")
	if err != nil {
		t.Fatal(err)
	}

	dir := filepath.Join(t.TempDir(), "report")
	origin := domesticOrder().Order.Origin
	walk, err := certify.New(certify.Options{
		Carrier:    opened,
		Account:    ship.Account{Name: "Acme", Units: ship.DefaultUnits, Currency: "CAD", Origin: &origin},
		Fields:     map[string]string{"customer_number": credentials["customer_number"], "contract_id": credentials["contract_id"]},
		Dir:        dir,
		LookupWait: time.Millisecond,
		Labels:     renderer,
	})
	if err != nil {
		t.Fatal(err)
	}
	report, err := walk.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}

	for _, check := range report.Checks {
		if check.Result == certify.Failed || check.Result == certify.NotTestable {
			t.Errorf("%s: %s %s", check.Name, check.Result, check.Message)
		}
	}
	results := map[string]certify.Result{}
	for _, check := range report.Checks {
		results[check.Name] = check.Result
	}
	for _, lane := range []string{"domestic", "international"} {
		for _, name := range []string{"purchase, " + lane, "label, " + lane + ", pdf", "label, " + lane + ", zpl", "look-up, " + lane, "tracking, " + lane} {
			if results[name] != certify.OK {
				t.Errorf("%s: %q", name, results[name])
			}
		}
	}
	if open := report.Open(); len(open) > 0 {
		t.Errorf("%d purchases are left open", len(open))
	}

	paper, err := os.ReadFile(filepath.Join(dir, "go-live", "steps.md"))
	if err != nil || !strings.Contains(string(paper), credentials["contract_id"]) || strings.Contains(string(paper), "<no value>") {
		t.Errorf("the steps are not filled in: %v\n%s", err, paper)
	}
	exchanges, err := filepath.Glob(filepath.Join(dir, "exchanges", "*"))
	if err != nil || len(exchanges) == 0 {
		t.Errorf("%d exchanges, %v", len(exchanges), err)
	}
	for _, file := range exchanges {
		if text, err := os.ReadFile(file); err != nil || strings.Contains(string(text), credentials["api_password"]) {
			t.Errorf("%s: %v, or it has the password", file, err)
		}
	}
}
