package fedex_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carriertest"
	"github.com/waybillhq/waybill/internal/carrier/fedex"
	"github.com/waybillhq/waybill/internal/emulator"
	stand "github.com/waybillhq/waybill/internal/emulator/fedex"
	"github.com/waybillhq/waybill/internal/ship"
)

// departures are the places where FedEx does not follow its own OpenAPI files.
var departures = []carriertest.Departure{{
	Operation: "POST /ship/v1/shipments",
	Contains:  "customsClearanceDetail/commodities/",
	Reason: "the file lets commodities weigh kilograms alone, demands the packages' unit for them, and weighs pounds in ten of its own examples; " +
		"kilograms rounded up would cost a shipper in the United States another pound",
}}

// rehearsedWeight is the same in a rehearsal.
var rehearsedWeight = carriertest.Departure{
	Operation: "POST /ship/v1/shipments/packages/validate",
	Contains:  departures[0].Contains,
	Reason:    departures[0].Reason,
}

// documentOrigin is where FedEx's file about documents has a typing error.
var documentOrigin = carriertest.Departure{
	Operation: "POST /documents/v1/etds/encodedmultiupload",
	Contains:  `property "orginCountryCode" is missing`,
	Reason:    "all of the file's own examples spell it originCountryCode",
}

// newContract reads the files of FedEx: tokens and tracking, and rates and
// purchases of the edition.
func newContract(t testing.TB, edition string) *carriertest.Contract {
	t.Helper()
	return newContractOf(t, edition, departures)
}

func newContractOf(t testing.TB, edition string, departures []carriertest.Departure) *carriertest.Contract {
	t.Helper()
	var files []string
	for _, f := range []string{
		"openapi/authorization.json", "openapi/track-by-reference.json", "openapi/track-by-number.json", "openapi/address-validation.json", edition + "/ship.json", edition + "/rate-quotes.json",
		"openapi/pickup.json", "openapi/ground-end-of-day-close.json", "openapi/track-documents.json", "openapi/locations.json",
		"openapi/trade-documents-upload.json",
	} {
		files = append(files, strict(t, "fedex/"+f))
	}
	return carriertest.NewContract(t, fedex.Spec.TestURL, departures, files...)
}

// strict makes an OpenAPI file of FedEx enforceable. FedEx lists its examples
// next to the schema of a request, as schemas that accept anything, so every
// request would match several of them. Without the examples only the schema is
// left.
func strict(t testing.TB, file string) string {
	t.Helper()
	dir := os.Getenv("CARRIER_SPECS")
	if dir == "" {
		return file
	}
	text, err := os.ReadFile(filepath.Join(dir, file))
	if err != nil {
		t.Fatal(err)
	}
	var doc map[string]any
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	withoutExamples(doc, doc)
	if text, err = json.Marshal(doc); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "strict.json")
	if err := os.WriteFile(name, text, 0o600); err != nil {
		t.Fatal(err)
	}
	relative, err := filepath.Rel(dir, name)
	if err != nil {
		t.Fatal(err)
	}
	return relative
}

// withoutExamples drops the alternatives that are only an example.
func withoutExamples(doc map[string]any, at any) {
	switch v := at.(type) {
	case []any:
		for _, one := range v {
			withoutExamples(doc, one)
		}
	case map[string]any:
		if list, ok := v["oneOf"].([]any); ok {
			var schemas []any
			for _, one := range list {
				if !isExample(doc, one) {
					schemas = append(schemas, one)
				}
			}
			v["oneOf"] = schemas
			if len(schemas) == 1 { // otherwise all errors are reported as one
				delete(v, "oneOf")
				maps.Copy(v, schemas[0].(map[string]any))
			}
		}
		for _, one := range v {
			withoutExamples(doc, one)
		}
	}
}

func isExample(doc map[string]any, schema any) bool {
	s, _ := schema.(map[string]any)
	ref, _ := s["$ref"].(string)
	named, _ := doc["components"].(map[string]any)["schemas"].(map[string]any)[filepath.Base(ref)].(map[string]any)
	_, example := named["example"]
	return example && len(named) == 1
}

// checkedLater passes requests on at once and checks them against the contract
// when the case is over: the suite's deadlines are for the driver alone.
type checkedLater struct {
	via carrier.Doer

	mu     sync.Mutex
	checks []func(*carriertest.Contract) error
}

func newCheckedLater(t testing.TB, contract *carriertest.Contract, via carrier.Doer) carrier.Doer {
	if contract == nil {
		return via
	}
	l := &checkedLater{via: via}
	t.Cleanup(func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		for _, check := range l.checks {
			if err := check(contract); err != nil {
				t.Error(err)
			}
		}
	})
	return l
}

// Do is carrier.Doer.
func (l *checkedLater) Do(r *http.Request) (*http.Response, error) {
	sent, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	again := r.Clone(context.WithoutCancel(r.Context()))
	again.Body, r.Body = io.NopCloser(bytes.NewReader(sent)), io.NopCloser(bytes.NewReader(sent))
	resp, err := l.via.Do(r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	resp.Body = io.NopCloser(bytes.NewReader(got))
	answer := canned{status: resp.StatusCode, body: string(got)}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.checks = append(l.checks, func(c *carriertest.Contract) error {
		repeated, err := c.Checked(verbatim(answer)).Do(again)
		if err != nil {
			return err
		}
		return repeated.Body.Close()
	})
	return resp, nil
}

// verbatim gives the same response to every request, including those for
// tokens.
type verbatim canned

func (v verbatim) Do(*http.Request) (*http.Response, error) { return canned(v).response(), nil }

// TestRefusalsKeepToTheFilesToo makes the emulator refuse in every way it can.
func TestRefusalsKeepToTheFilesToo(t *testing.T) {
	for _, edition := range []string{"openapi", "openapi-2025-12"} {
		server := newServer(t)
		via := newContractOf(t, edition, nil).Checked(carriertest.Server(t, server))
		c := open(t, twoProjects(), via)
		p, err := c.Buy(t.Context(), buyOrder())
		if err != nil {
			t.Fatal(err)
		}
		body := `{"includeDetailedScans":true,"trackingInfo":[{"trackingNumberInfo":{"trackingNumber":"` + p.TrackingNumber + `"}},{"trackingNumberInfo":{"trackingNumber":"1"}}]}`
		if got := track(t, via, body); !strings.Contains(got, `"eventType":"OC"`) || !strings.Contains(got, "TRACKING.TRACKINGNUMBER.NOTFOUND") {
			t.Errorf("tracking says %s", got)
		}
		absent := buyOrder()
		absent.Reference = "S0"
		_, notFound := c.Find(t.Context(), absent)
		late := pickup()
		late.Order.Window.ReadyAt = late.Order.Window.ReadyAt.AddDate(-90, 0, 0)
		late.Order.Window.CloseAt = late.Order.Window.CloseAt.AddDate(-90, 0, 0)
		_, tooLate := c.BookPickup(t.Context(), late)
		unbooked := c.CancelPickup(t.Context(), pickup(), ship.PickupBooking{
			Confirmation: "7", Details: `{"carrierCode":"FDXG","scheduledDate":"2099-11-17"}`,
		})
		_, unproven := c.FetchProof(t.Context(), ship.Purchase{TrackingNumber: p.TrackingNumber})
		_, unclosed := c.FindManifest(t.Context(), manifest("ground", p.TrackingNumber))
		undated := manifest("ground", p.TrackingNumber)
		undated.ShipDate = "tomorrow"
		_, undatable := c.CloseManifest(t.Context(), undated)
		_, unplaced := c.FindPoints(t.Context(), ship.PointQuery{Country: "US"})
		wrong := buyOrder()
		wrong.Order.Destination.Zip = "101"
		_, refused := c.Buy(t.Context(), wrong)
		_, unquoted := c.Rates(t.Context(), wrong.Order)
		_, unsold := c.Void(t.Context(), ship.Purchase{CarrierRef: "794791341818"})
		exchanged := credentials()
		exchanged["client_id"], exchanged["client_secret"] = stand.TrackClientID, stand.TrackClientSecret
		_, forbidden := open(t, exchanged, via).Buy(t.Context(), buyOrder())
		unknown := credentials()
		unknown["client_secret"] = "another-secret"
		unlet := open(t, unknown, via).Check(t.Context())
		if err := server.Turn(emulator.Faults{Buy: map[string]float64{"500": 1}}); err != nil {
			t.Fatal(err)
		}
		_, lost := c.Buy(t.Context(), buyOrder())
		if err := server.Turn(emulator.Faults{Expired: 1}); err != nil {
			t.Fatal(err)
		}
		_, expired := c.Find(t.Context(), buyOrder())
		if err := server.Turn(emulator.Faults{Down: 1}); err != nil {
			t.Fatal(err)
		}
		_, down := c.Find(t.Context(), buyOrder())
		for want, errs := range map[ship.Kind][]error{
			ship.NotFound: {notFound, unproven, unclosed}, ship.Invalid: {unbooked, refused, unquoted, unsold, tooLate, undatable, unplaced}, ship.Forbidden: {forbidden, unlet, expired}, ship.Uncertain: {lost}, ship.Unavailable: {down},
		} {
			for _, err := range errs {
				if ship.KindOf(err) != want {
					t.Errorf("%v, want %s", err, want)
				}
			}
		}
	}
}

// track sends the request that the driver would send.
func track(t *testing.T, via carrier.Doer, body string) string {
	t.Helper()
	token := send(t, via, "/oauth/token", "application/x-www-form-urlencoded", "",
		"grant_type=client_credentials&client_id="+stand.TrackClientID+"&client_secret="+stand.TrackClientSecret)
	_, token, _ = strings.Cut(token, `"access_token":"`)
	token, _, _ = strings.Cut(token, `"`)
	return send(t, via, "/track/v1/trackingnumbers", "application/json", "Bearer "+token, body)
}

func send(t *testing.T, via carrier.Doer, path, kind, authorization, body string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://apis-sandbox.fedex.com"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", kind)
	if authorization != "" {
		r.Header.Set("Authorization", authorization)
	}
	resp, err := via.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(got)
}
