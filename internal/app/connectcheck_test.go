package app_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/waybillhq/waybill/internal/account"
	"github.com/waybillhq/waybill/internal/app"
	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/emulator"
	"github.com/waybillhq/waybill/internal/emulator/usps"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store/storetest"
)

// TestConnectingUSPSLeavesItsQuota connects a USPS account, which may make 60
// calls an hour: the check gets tokens and makes no call for anything that the
// token already says.
func TestConnectingUSPSLeavesItsQuota(t *testing.T) {
	t.Parallel()
	ledger, err := emulator.OpenLedger("")
	if err != nil {
		t.Fatal(err)
	}
	standIn := usps.New(ledger)
	var mu sync.Mutex
	var calls []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		calls = append(calls, r.Method+" "+r.URL.Path)
		mu.Unlock()
		standIn.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)

	cfg := settings(t, storetest.URL(t), "CARRIER_URLS", "usps="+server.URL, "SPOOL_DIR", t.TempDir())
	accounts, done, err := app.OpenConnections(t.Context(), cfg, nil, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	owner, err := accounts.Create(t.Context(), account.Settings{Name: new("Test")})
	if err != nil {
		t.Fatal(err)
	}
	credentials := carrier.Credentials{}
	for _, known := range standIns {
		if known.name == "usps" {
			credentials = known.accepts
		}
	}
	_, findings, err := accounts.AddChecked(t.Context(), account.AddConnectionInput{
		Tenant:      ship.Tenant{Account: owner.ID},
		Carrier:     "usps",
		Credentials: credentials,
	})
	if err != nil {
		t.Fatal(err)
	}

	for _, f := range findings {
		if f.Level != account.LevelOK {
			t.Errorf("%s: %s", f.Subject, f.Message)
		}
	}
	for _, subject := range []string{"token", "rates", "tracking"} {
		if !slices.ContainsFunc(findings, func(f account.Finding) bool { return f.Subject == subject }) {
			t.Errorf("nothing is said of %s", subject)
		}
	}
	if len(calls) > 3 {
		t.Errorf("the check made %d calls, want 3 at most: %s", len(calls), strings.Join(calls, ", "))
	}
}
