package certify_test

import (
	"context"
	"encoding/json"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/carrier/dhlexpress"
	"github.com/waybillhq/waybill/internal/carrier/fedex"
	"github.com/waybillhq/waybill/internal/carrier/ups"
	"github.com/waybillhq/waybill/internal/carrier/usps"
	"github.com/waybillhq/waybill/internal/certify"
	"github.com/waybillhq/waybill/internal/emulator"
	dhlstandin "github.com/waybillhq/waybill/internal/emulator/dhlexpress"
	fedexstandin "github.com/waybillhq/waybill/internal/emulator/fedex"
	upsstandin "github.com/waybillhq/waybill/internal/emulator/ups"
	uspsstandin "github.com/waybillhq/waybill/internal/emulator/usps"
	"github.com/waybillhq/waybill/internal/label"
	"github.com/waybillhq/waybill/internal/ship"
)

// A subject is a carrier and its stand-in.
type subject struct {
	spec        carrier.Spec
	standIn     func(*emulator.Ledger) *emulator.Server
	credentials carrier.Credentials
}

var subjects = map[string]subject{
	"ups": {ups.Spec, upsstandin.New, carrier.Credentials{
		"client_id":      upsstandin.ClientID,
		"client_secret":  upsstandin.ClientSecret,
		"account_number": upsstandin.Account,
	}},
	"usps": {usps.Spec, uspsstandin.New, carrier.Credentials{
		"client_id":      uspsstandin.ClientID,
		"client_secret":  uspsstandin.ClientSecret,
		"crid":           uspsstandin.CRID,
		"mid":            uspsstandin.MID,
		"manifest_mid":   uspsstandin.ManifestMID,
		"account_number": uspsstandin.Account,
	}},
	"fedex": {fedex.Spec, fedexstandin.New, carrier.Credentials{
		"client_id":           fedexstandin.ClientID,
		"client_secret":       fedexstandin.ClientSecret,
		"account_number":      fedexstandin.Account,
		"track_client_id":     fedexstandin.TrackClientID,
		"track_client_secret": fedexstandin.TrackClientSecret,
	}},
	"dhl_express": {dhlexpress.Spec, dhlstandin.New, carrier.Credentials{
		"api_key":        dhlstandin.APIKey,
		"api_secret":     dhlstandin.APISecret,
		"account_number": dhlstandin.Account,
	}},
}

// renderer is shared: it loads the engine that draws PDF files once.
var renderer = sync.OnceValue(func() *label.Renderer {
	r, err := label.NewRenderer("")
	if err != nil {
		panic(err)
	}
	return r
})

// A bench is a stand-in that is reached as the service reaches its carrier.
type bench struct {
	subject
	server  *emulator.Server
	address string
	options certify.Options
}

func newBench(t *testing.T, name string) *bench {
	t.Helper()
	s := subjects[name]
	ledger, err := emulator.OpenLedger("")
	if err != nil {
		t.Fatal(err)
	}
	standIn := s.standIn(ledger)
	standIn.LookupScale = 0
	server := httptest.NewServer(standIn)
	t.Cleanup(server.Close)

	// The same traffic as that of the commands, without the quota: USPS would
	// pace these calls over an hour.
	traffic := carrierkit.NewTraffic(carrierkit.TrafficOptions{Wrap: carrierkit.Recorder})
	t.Cleanup(traffic.Close)
	own, err := url.Parse(s.spec.TestURL)
	if err != nil {
		t.Fatal(err)
	}
	opened, err := carrier.Open(s.spec, carrier.Opening{
		Credentials: s.credentials,
		BaseURL:     server.URL + own.Path,
		Via:         traffic.Doer(carrier.Spec{Name: s.spec.Name}, "con_1"),
	})
	if err != nil {
		t.Fatal(err)
	}

	return &bench{
		subject: s,
		server:  standIn,
		address: server.URL,
		options: certify.Options{
			Carrier:    opened,
			Account:    account(name),
			Fields:     map[string]string{"account_number": s.credentials["account_number"]},
			Dir:        filepath.Join(t.TempDir(), "report"),
			LookupWait: time.Millisecond,
			Labels:     renderer(),
		},
	}
}

// account ships from Germany with DHL Express, which has a domestic service
// there, and from the sample origin with the others.
func account(carrierName string) ship.Account {
	a := ship.Account{Name: "Acme", Units: ship.DefaultUnits, Currency: "USD"}
	if carrierName == "dhl_express" {
		a.Currency = "EUR"
		a.Origin = &ship.Address{
			Name:     "Lager Nord",
			Company:  "Acme GmbH",
			Address1: "Am Hof 1",
			City:     "Bonn",
			Zip:      "53113",
			Country:  "DE",
			Phone:    "+49 228 1820",
		}
	}
	return a
}

// run walks, and logs what did not end as ok.
func (b *bench) run(t *testing.T) certify.Report {
	t.Helper()
	walk, err := certify.New(b.options)
	if err != nil {
		t.Fatal(err)
	}
	report, err := walk.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range report.Checks {
		if c.Result != certify.OK {
			t.Logf("%s: %s (%s) %s", c.Result, c.Name, c.CarrierCode, c.Message)
		}
	}
	return report
}

// result is how the check of the name ended.
func result(r certify.Report, name string) certify.Result {
	for _, c := range r.Checks {
		if c.Name == name {
			return c.Result
		}
	}
	return ""
}

// sales counts the entries of the stand-in's ledger by number.
func (b *bench) sales() (sold, voided []string) {
	for _, e := range b.server.Ledger.Entries() {
		switch e.Kind {
		case "sold":
			sold = append(sold, e.Reference)
		case "voided":
			voided = append(voided, e.Reference)
		}
	}
	slices.Sort(sold)
	slices.Sort(voided)
	return sold, voided
}

// read returns a file of the report.
func (b *bench) read(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(b.options.Dir, filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestEveryCarrierIsCertifiedOnItsStandIn is the whole walk: nothing fails,
// every purchase is voided where the carrier can, the papers are there, and no
// file holds a secret.
func TestEveryCarrierIsCertifiedOnItsStandIn(t *testing.T) {
	t.Parallel()
	papers := map[string][]string{
		"ups":         {"go-live/steps.md"},
		"usps":        {"go-live/enrolment.md"},
		"fedex":       {"go-live/label-cover-sheet.md", "go-live/steps.md"},
		"dhl_express": {"go-live/checklist.md"},
	}
	for name := range subjects {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, name)
			report := b.run(t)

			if n := report.Count(certify.Failed); n > 0 {
				t.Errorf("%d checks failed", n)
			}
			if n := report.Count(certify.NotTestable); n > 0 {
				t.Errorf("%d checks are not testable on a stand-in", n)
			}
			purchases := []string{"domestic", "multi-piece", "international"}
			if name == "usps" {
				purchases = []string{"domestic", "international"} // it sells every parcel by itself
			}
			for _, purchase := range purchases {
				for _, check := range []string{"purchase, " + purchase, "label, " + purchase + ", pdf", "label, " + purchase + ", zpl", "label, " + purchase + ", png", "look-up, " + purchase, "tracking, " + purchase} {
					if got := result(report, check); got != certify.OK {
						t.Errorf("%s: %q", check, got)
					}
				}
			}
			if got := result(report, "address check"); got != certify.OK {
				t.Errorf("address check: %q", got)
			}
			for _, s := range b.spec.Services {
				if result(report, "rate of "+s.Code) == "" {
					t.Errorf("the service %s is not in the report", s.Code)
				}
			}

			sold, voided := b.sales()
			switch {
			case len(sold) != len(purchases):
				t.Errorf("%d labels were sold, want %d", len(sold), len(purchases))
			case name == "dhl_express":
				for _, p := range report.Purchases {
					if p.State != certify.Unused {
						t.Errorf("%s is %s", p.Name, p.State)
					}
				}
			case !slices.Equal(sold, voided):
				t.Errorf("sold %v, voided %v", sold, voided)
			}
			if open := report.Open(); len(open) > 0 {
				t.Errorf("%d purchases are left open", len(open))
			}

			for _, paper := range papers[name] {
				text := b.read(t, paper)
				if !strings.Contains(text, b.credentials["account_number"]) && !strings.Contains(text, "Acme") || strings.Contains(text, "<no value>") {
					t.Errorf("%s is not filled in:\n%s", paper, text)
				}
			}
			b.assertNoSecrets(t)
			if text := b.read(t, "report.md"); !strings.Contains(text, "0 failed") || !strings.Contains(text, "not the carrier's own host") {
				t.Errorf("report.md reads\n%s", text)
			}
		})
	}
}

// assertNoSecrets looks for credentials and tokens in every file.
func (b *bench) assertNoSecrets(t *testing.T) {
	t.Helper()
	secrets := []string{b.server.Carrier + "-token-", "Bearer ", "Basic "}
	for field, value := range b.credentials {
		if strings.Contains(field, "secret") || strings.Contains(field, "client_id") || strings.Contains(field, "api_key") {
			secrets = append(secrets, value)
		}
	}

	files := map[string]int{}
	err := filepath.WalkDir(b.options.Dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		files[filepath.Base(filepath.Dir(path))]++
		for _, secret := range secrets {
			if strings.Contains(string(data), secret) {
				t.Errorf("%s holds %q", path, secret)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files["exchanges"] < 5 || files["labels"] < 8 || files["go-live"] < 1 {
		t.Errorf("files: %v", files)
	}
}

// TestALostAnswerIsLookedUpAndNotBoughtAgain loses the answer of every
// purchase.
func TestALostAnswerIsLookedUpAndNotBoughtAgain(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]certify.Result{
		"ups":   certify.OK,     // it gives the label out again
		"fedex": certify.Failed, // it does not, and the label is voided
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, name)
			if err := b.server.Turn(emulator.Faults{Buy: map[string]float64{"reset": 1}}); err != nil {
				t.Fatal(err)
			}
			report := b.run(t)

			sold, voided := b.sales()
			if len(sold) != 3 || len(slices.Compact(slices.Clone(sold))) != 3 {
				t.Errorf("sold %v, want three labels, each once", sold)
			}
			if !slices.Equal(sold, voided) {
				t.Errorf("sold %v, voided %v", sold, voided)
			}
			if got := result(report, "purchase, domestic"); got != want {
				t.Errorf("the purchase is %q, want %q", got, want)
			}
			if open := report.Open(); len(open) > 0 {
				t.Errorf("%d purchases are left open", len(open))
			}
		})
	}
}

// TestALostPurchaseThatIsNotFoundStaysOnTheList has neither answer nor look-up
// show the sale.
func TestALostPurchaseThatIsNotFoundStaysOnTheList(t *testing.T) {
	t.Parallel()
	b := newBench(t, "ups")
	if err := b.server.Turn(emulator.Faults{Buy: map[string]float64{"reset": 1}, LookupFlap: 1}); err != nil {
		t.Fatal(err)
	}
	report := b.run(t)

	sold, _ := b.sales()
	open := report.Open()
	if len(open) != len(sold) || len(open) == 0 {
		t.Fatalf("%d purchases are left open, %d were sold", len(open), len(sold))
	}
	for _, p := range open {
		if p.State != certify.Uncertain || !slices.Contains(sold, p.Reference) {
			t.Errorf("%s is %s under %s; sold %v", p.Name, p.State, p.Reference, sold)
		}
		if text := b.read(t, "report.md"); !strings.Contains(text, "## Labels that need attention") || !strings.Contains(text, p.Reference) {
			t.Errorf("report.md does not list %s:\n%s", p.Reference, text)
		}
	}
}

// TestACertificationThatIsStoppedVoidsWhatItBought stops it after the first
// purchase.
func TestACertificationThatIsStoppedVoidsWhatItBought(t *testing.T) {
	t.Parallel()
	b := newBench(t, "ups")
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	b.options.Progress = func(c certify.Check) {
		if c.Name == "purchase, domestic" {
			stop()
		}
	}
	walk, err := certify.New(b.options)
	if err != nil {
		t.Fatal(err)
	}
	report, err := walk.Run(ctx)
	if err != nil {
		t.Fatal(err)
	}

	sold, voided := b.sales()
	if len(sold) != 1 || !slices.Equal(sold, voided) {
		t.Errorf("sold %v, voided %v, want one of each", sold, voided)
	}
	if got := result(report, "certification"); got != certify.Failed {
		t.Errorf("the certification is %q", got)
	}
}

// TestAPurchaseIsOnDiskBeforeTheCarrierSeesIt reads the report while the
// carrier is being asked.
func TestAPurchaseIsOnDiskBeforeTheCarrierSeesIt(t *testing.T) {
	t.Parallel()
	b := newBench(t, "ups")
	seen := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/ship") {
			var written certify.Report
			if err := json.Unmarshal([]byte(b.read(t, "report.json")), &written); err != nil {
				t.Error(err)
			}
			last := written.Purchases[len(written.Purchases)-1]
			if last.State != certify.Requested || last.Reference == "" {
				t.Errorf("the carrier is asked while the report says %+v", last)
			}
			seen++
		}
		b.server.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	traffic := carrierkit.NewTraffic(carrierkit.TrafficOptions{})
	t.Cleanup(traffic.Close)
	opened, err := carrier.Open(b.spec, carrier.Opening{
		Credentials: b.credentials,
		BaseURL:     server.URL + "/api",
		Via:         traffic.Doer(carrier.Spec{Name: "ups"}, "con_1"),
	})
	if err != nil {
		t.Fatal(err)
	}
	b.options.Carrier = opened
	b.run(t)
	if seen != 3 {
		t.Errorf("%d purchases were seen, want 3", seen)
	}
}

// put sends settings to a stand-in.
func (b *bench) put(t *testing.T, path, body string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPut, b.address+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != http.StatusNoContent {
		t.Fatalf("%s answers %d", path, response.StatusCode)
	}
}

// TestKnownAnswersOfTestEnvironmentsAreNotFailures has the stand-ins answer
// like the carriers' own test environments.
func TestKnownAnswersOfTestEnvironmentsAreNotFailures(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		carrier, settings string
		notTestable       []string
		says              string
		sold              int
	}{
		"UPS sells placeholders": {
			carrier:     "ups",
			settings:    `{"testEnvironment":true}`,
			notTestable: []string{"look-up, domestic", "tracking, domestic", "void, domestic", "void, international"},
			says:        "1ZXXXXXXXXXXXXXXXX",
		},
		"FedEx knows no such request": {
			carrier:     "fedex",
			settings:    `{"unanswered":["rates","ship"]}`,
			notTestable: []string{"rates, domestic", "purchase, domestic", "purchase, multi-piece", "purchase, international"},
			says:        "REQUEST.MISMATCH",
		},
		"FedEx sells and does not cancel": {
			carrier:     "fedex",
			settings:    `{"unanswered":["rates","cancel","track"]}`,
			notTestable: []string{"rates, domestic", "look-up, domestic", "tracking, domestic", "void, domestic"},
			says:        "REQUEST.MISMATCH",
			sold:        3,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, c.carrier)
			b.put(t, "/_emulator/settings", c.settings)
			report := b.run(t)

			if n := report.Count(certify.Failed); n > 0 {
				t.Errorf("%d checks failed", n)
			}
			for _, check := range c.notTestable {
				if got := result(report, check); got != certify.NotTestable {
					t.Errorf("%s: %q", check, got)
				}
			}
			if sold, _ := b.sales(); len(sold) != c.sold {
				t.Errorf("%d labels were sold, want %d", len(sold), c.sold)
			}
			if text := b.read(t, "report.md"); !strings.Contains(text, "not testable there") || !strings.Contains(text, c.says) {
				t.Errorf("report.md reads\n%s", text)
			}
		})
	}
}
