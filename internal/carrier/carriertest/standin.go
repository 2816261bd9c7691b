package carriertest

import (
	"cmp"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/emulator"
)

// StandIn returns a carrier's emulator with an empty ledger and the faults. Its
// look-ups find a sale at once, unless the faults say otherwise: drivers do not
// wait for a carrier, the service does.
func StandIn(t testing.TB, create func(*emulator.Ledger) *emulator.Server, faults emulator.Faults) *emulator.Server {
	t.Helper()
	ledger, err := emulator.OpenLedger("")
	if err != nil {
		t.Fatal(err)
	}
	server := create(ledger)
	server.LookupScale = 0
	if err := server.Turn(faults); err != nil {
		t.Fatal(err)
	}
	return server
}

// Open opens a connection to a carrier's test system, or to the only one that it has.
func Open(t testing.TB, spec carrier.Spec, given carrier.Credentials, via carrier.Doer) *carrier.Carrier {
	t.Helper()
	opened, err := carrier.Open(spec, carrier.Opening{Credentials: given, BaseURL: cmp.Or(spec.TestURL, spec.LiveURL), Via: via})
	if err != nil {
		t.Fatal(err)
	}
	return opened
}

// An Answer is what a carrier answers to the requests whose path ends in Path; all
// others are passed on.
type Answer struct {
	Path   string
	Status int
	Header http.Header // may be nil
	Body   string
}

// Instead returns a Doer that gives the answer in place of via.
func (a Answer) Instead(via carrier.Doer) carrier.Doer {
	return doer(func(r *http.Request) (*http.Response, error) {
		if !strings.HasSuffix(r.URL.Path, a.Path) {
			return via.Do(r)
		}
		header := a.Header.Clone()
		if header == nil {
			header = http.Header{}
		}
		return &http.Response{StatusCode: a.Status, Header: header, Body: io.NopCloser(strings.NewReader(a.Body))}, nil
	})
}

// CheckSpec requires that the services and packagings of a carrier have names and
// codes of their own, and that its fields are explained.
func CheckSpec(t *testing.T, spec carrier.Spec) {
	t.Helper()
	services := map[string]bool{}
	for _, service := range spec.Services {
		if service.Code == "" || service.Name == "" || services[service.Code] {
			t.Errorf("bad service %+v", service)
		}
		services[service.Code] = true
	}
	packagings := map[string]bool{}
	for _, packaging := range spec.Packagings {
		if packaging.Code == "" || packaging.Name == "" || packagings[packaging.Code] {
			t.Errorf("bad packaging %+v", packaging)
		}
		packagings[packaging.Code] = true
	}
	for _, field := range spec.Fields {
		if field.Help == "" {
			t.Errorf("%s has no help", field.Name)
		}
	}
}
