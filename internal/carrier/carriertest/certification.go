package carriertest

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/certify"
	"github.com/waybillhq/waybill/internal/label"
	"github.com/waybillhq/waybill/internal/ship"
)

// A Certification is "waybill connection certify" for a carrier, on its emulator.
type Certification struct {
	Spec        carrier.Spec
	Credentials carrier.Credentials
	Server      http.Handler
	Origin      ship.Address
	Currency    string
	Fields      map[string]string // of the connection, for the documents of the review

	Succeeds   []string          // checks that must succeed
	Untestable func(string) bool // names of checks that need not be testable; nil: all must be
	Document   string            // that is filled in below go-live; empty: none is read
	Shows      string            // a text that the document has
	Secret     string            // that no recorded exchange has; empty: none is looked for
}

// Run walks through the certification, and returns its report. No check may fail.
func (c Certification) Run(t *testing.T) certify.Report {
	t.Helper()
	labels, err := label.NewRenderer("")
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "report")
	walk, err := certify.New(certify.Options{
		Carrier:    Open(t, c.Spec, c.Credentials, Recorded(Server(t, c.Server))),
		Account:    ship.Account{Name: "Acme", Units: ship.DefaultUnits, Currency: c.Currency, Origin: &c.Origin},
		Fields:     c.Fields,
		Dir:        dir,
		LookupWait: time.Millisecond,
		Labels:     labels,
	})
	if err != nil {
		t.Fatal(err)
	}
	report, err := walk.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}

	c.checkResults(t, report)
	if open := report.Open(); len(open) > 0 {
		t.Errorf("%d purchases are left open", len(open))
	}
	c.checkFiles(t, dir)
	return report
}

// checkResults requires that checks succeed, and that none failed.
func (c Certification) checkResults(t *testing.T, report certify.Report) {
	t.Helper()
	results := map[string]certify.Result{}
	for _, check := range report.Checks {
		results[check.Name] = check.Result
		isUntested := check.Result == certify.NotTestable && (c.Untestable == nil || !c.Untestable(check.Name))
		if check.Result == certify.Failed || isUntested {
			t.Errorf("%s: %s %s", check.Name, check.Result, check.Message)
		}
	}
	for _, name := range c.Succeeds {
		if results[name] != certify.OK {
			t.Errorf("%s: %q", name, results[name])
		}
	}
}

// checkFiles reads the document of the review and the recorded exchanges.
func (c Certification) checkFiles(t *testing.T, dir string) {
	t.Helper()
	if c.Document != "" {
		page, err := os.ReadFile(filepath.Join(dir, "go-live", c.Document))
		if err != nil || !strings.Contains(string(page), c.Shows) || strings.Contains(string(page), "<no value>") {
			t.Errorf("%s is not filled in: %v\n%s", c.Document, err, page)
		}
	}

	if c.Secret == "" {
		return
	}
	exchanges, err := filepath.Glob(filepath.Join(dir, "exchanges", "*"))
	if err != nil || len(exchanges) == 0 {
		t.Errorf("%d exchanges, %v", len(exchanges), err)
	}
	for _, file := range exchanges {
		if text, err := os.ReadFile(file); err != nil || strings.Contains(string(text), c.Secret) {
			t.Errorf("%s: %v, or it has the secret", file, err)
		}
	}
}

// Recorded returns a Doer whose exchanges are recorded, as those of the service are.
func Recorded(via carrier.Doer) carrier.Doer {
	recorder := carrierkit.Recorder(roundTripper{via})
	return doer(recorder.RoundTrip)
}

type roundTripper struct{ via carrier.Doer }

// RoundTrip is http.RoundTripper.
func (r roundTripper) RoundTrip(request *http.Request) (*http.Response, error) {
	return r.via.Do(request)
}
