package app_test

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/account"
	"github.com/waybillhq/waybill/internal/app"
	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/config"
	"github.com/waybillhq/waybill/internal/emulator"
	"github.com/waybillhq/waybill/internal/emulator/dhlexpress"
	"github.com/waybillhq/waybill/internal/emulator/fedex"
	"github.com/waybillhq/waybill/internal/emulator/ups"
	"github.com/waybillhq/waybill/internal/emulator/usps"
	"github.com/waybillhq/waybill/internal/journal"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/internal/store/storetest"
)

// standIns are the emulators, with the credentials that they accept.
var standIns = []struct {
	name    string
	open    func(*emulator.Ledger) *emulator.Server
	accepts carrier.Credentials
}{
	{"ups", ups.New, carrier.Credentials{"client_id": ups.ClientID, "client_secret": ups.ClientSecret, "account_number": ups.Account}},
	{"usps", usps.New, carrier.Credentials{
		"client_id": usps.ClientID, "client_secret": usps.ClientSecret, "crid": usps.CRID, "mid": usps.MID, "manifest_mid": usps.ManifestMID, "account_number": usps.Account,
	}},
	{"fedex", fedex.New, carrier.Credentials{"client_id": fedex.ClientID, "client_secret": fedex.ClientSecret, "account_number": fedex.Account}},
	{"dhl_express", dhlexpress.New, carrier.Credentials{"api_key": dhlexpress.APIKey, "api_secret": dhlexpress.APISecret, "account_number": dhlexpress.Account}},
}

// forms returns the ways in which a secret could appear: as it is, in hex, or
// in base64 at any offset.
func forms(secret string) []string {
	list := []string{secret, hex.EncodeToString([]byte(secret))}
	for shift := range 3 {
		text := base64.RawStdEncoding.EncodeToString([]byte(strings.Repeat("x", shift) + secret))
		list = append(list, text[(shift*8+5)/6:len(text)-2])
	}
	return list
}

// call sends JSON to the API and returns the status and the shipment's id.
func call(t *testing.T, base, key, path, body string) (int, string, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+key)
	r.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	var made struct {
		ID string `json:"id"`
	}
	_ = json.Unmarshal(text, &made)
	return resp.StatusCode, made.ID, string(text)
}

// connectStandIns starts every carrier's emulator and connects a new account to
// each. It returns the settings of a program that calls them, and the account's
// test key.
func connectStandIns(t *testing.T) (cfg config.Config, tenant ship.Tenant, key string, connections map[string]ship.ConnectionID) {
	t.Helper()
	var urls []string
	for _, s := range standIns {
		ledger, err := emulator.OpenLedger("")
		if err != nil {
			t.Fatal(err)
		}
		standIn := s.open(ledger)
		standIn.LookupScale = 0
		server := httptest.NewServer(standIn)
		t.Cleanup(server.Close)
		urls = append(urls, s.name+"="+server.URL)
	}
	cfg = settings(t, storetest.URL(t), "CARRIER_URLS", strings.Join(urls, ","), "SPOOL_DIR", t.TempDir())

	accounts, done, err := app.OpenConnections(t.Context(), cfg, nil, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	owner, err := accounts.Create(t.Context(), account.Settings{Name: new("Test")})
	if err != nil {
		t.Fatal(err)
	}
	secret, _, err := accounts.NewKey(t.Context(), account.NewKeyInput{Account: owner.ID})
	if err != nil {
		t.Fatal(err)
	}

	tenant = ship.Tenant{Account: owner.ID}
	connections = map[string]ship.ConnectionID{}
	for _, s := range standIns {
		c, err := accounts.AddConnection(t.Context(), account.AddConnectionInput{Tenant: tenant, Carrier: s.name, Credentials: s.accepts})
		if err != nil {
			t.Fatalf("%s: %v", s.name, err)
		}
		connections[s.name] = c.ID
	}
	return cfg, tenant, string(secret), connections
}

// TestTheJournalOfEveryCarrierHasNoSecret buys and voids with each carrier's
// emulator, and looks for its secrets in everything that is stored.
func TestTheJournalOfEveryCarrierHasNoSecret(t *testing.T) {
	t.Parallel()
	cfg, tenant, key, connections := connectStandIns(t)
	a := run(t, cfg, app.AllRoles)
	made := map[string]ship.ShipmentID{}
	for _, s := range standIns {
		made[s.name] = buyAndVoid(t, a.LocalURL(), key, s.name, connections[s.name])
	}
	if status, _, _ := call(t, a.LocalURL(), key, "/v1/shipments", `{"orderId":""}`); status != http.StatusUnprocessableEntity {
		t.Errorf("an empty order: %d", status)
	}
	if err := a.stop(); err != nil {
		t.Fatal(err)
	}
	st, err := store.Open(t.Context(), store.Options{URL: cfg.DatabaseURL, Connections: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	j := journal.New(journal.Config{Store: st})
	for _, s := range standIns {
		checkExchanges(t, j, tenant, made[s.name], s.name, s.accepts)
	}
	checkKept(t, j, tenant, connections)
}

func buyAndVoid(t *testing.T, base, key, name string, c ship.ConnectionID) ship.ShipmentID {
	t.Helper()
	to := `{"name":"Ada Lovelace","address1":"350 5th Ave","city":"New York","state":"NY","zip":"10118","country":"US","phone":"2125550100"}`
	from := `{"name":"Warehouse","address1":"1201 S Figueroa St","city":"Los Angeles","state":"CA","zip":"90015","country":"US","phone":"2135550100"}`
	status, id, text := call(t, base, key, "/v1/shipments", `{"orderId":"1","connectionId":"`+string(c)+`","destination":`+to+`,"origin":`+from+
		`,"parcel":{"weight":2.5,"dimensions":{"length":12,"width":9,"height":4}}}`)
	if status != http.StatusCreated {
		t.Fatalf("%s: %d %s", name, status, text)
	}
	call(t, base, key, "/v1/shipments/"+id+"/void", "")
	shipment, _ := ship.ParseShipmentID(id)
	return shipment
}

func checkExchanges(t *testing.T, j *journal.Service, tenant ship.Tenant, id ship.ShipmentID, name string, accepts carrier.Credentials) {
	t.Helper()
	list, err := j.OfShipment(t.Context(), tenant, id)
	if err != nil || len(list) == 0 || list[0].Operation != carrier.OpBuy || list[0].Status == 0 {
		t.Fatalf("%s: %d exchanges are kept, %v", name, len(list), err)
	}
	for _, x := range list {
		text, err := json.Marshal(x)
		if err != nil {
			t.Fatal(err)
		}
		for field, value := range accepts {
			if !strings.Contains(field, "secret") && !strings.Contains(field, "key") {
				continue
			}
			for _, f := range forms(value) {
				if strings.Contains(string(text), f) {
					t.Errorf("%s: %s is kept in %s %s", name, field, x.Operation, x.URL)
				}
			}
		}
		if strings.Contains(strings.ToLower(string(text)), "bearer e") || len(text) > 64<<10 {
			t.Errorf("%s: a token or the label is kept: %d bytes", name, len(text))
		}
	}
}

func checkKept(t *testing.T, j *journal.Service, tenant ship.Tenant, connections map[string]ship.ConnectionID) {
	t.Helper()
	list, _, err := j.List(t.Context(), tenant, journal.RequestFilter{Class: 4, Route: "/v1/shipments"}, ship.Page{Limit: 10})
	if err != nil || len(list) != 1 || list[0].Code != "validation_failed" {
		t.Fatalf("requests: %+v %v", list, err)
	}
	one, err := j.Request(t.Context(), tenant, list[0].ID)
	if err != nil || !strings.Contains(string(one.Problem), "/orderId") {
		t.Errorf("the problem: %s %v", one.Problem, err)
	}
	health, err := j.Health(t.Context(), tenant)
	for name, id := range connections {
		if err != nil || health[id] == nil || health[id].Calls < 2 || health[id].Within(0.95) <= 0 || health[id].Begin.After(time.Now()) {
			t.Errorf("%s: health %+v %v", name, health[id], err)
		}
	}
}

// TestARefusedKeyIsInTheLogOfItsAccount sends requests with known keys that
// must not be used, and with an unknown one.
func TestARefusedKeyIsInTheLogOfItsAccount(t *testing.T) {
	t.Parallel()
	cfg := settings(t, storetest.URL(t))
	accounts, done, err := app.OpenAccounts(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	owner, err := accounts.Create(t.Context(), account.Settings{Name: new("Test")})
	if err != nil {
		t.Fatal(err)
	}
	key := func(in account.NewKeyInput) (string, ship.KeyID) {
		in.Account = owner.ID
		key, made, err := accounts.NewKey(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		return string(key), made.ID
	}
	expired, first := key(account.NewKeyInput{ExpiresAt: time.Now().Add(-time.Hour)})
	revoked, second := key(account.NewKeyInput{Livemode: true})
	if err := accounts.Revoke(t.Context(), second); err != nil {
		t.Fatal(err)
	}
	fenced, third := key(account.NewKeyInput{Networks: []netip.Prefix{netip.MustParsePrefix("203.0.113.0/24")}})
	a := run(t, cfg, app.AllRoles)
	for _, tc := range []struct {
		key    string
		status int
	}{{expired, 401}, {revoked, 401}, {fenced, 403}, {string(ship.NewKey(owner.ID.Raw().Shard(), false)), 401}, {"sk_test_x", 401}} {
		if status, _, text := call(t, a.LocalURL(), tc.key, "/v1/rates", "{}"); status != tc.status {
			t.Errorf("%d %s", status, text)
		}
	}
	if err := a.stop(); err != nil {
		t.Fatal(err)
	}
	st, err := store.Open(t.Context(), store.Options{URL: cfg.DatabaseURL, Connections: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	j := journal.New(journal.Config{Store: st})
	checkRefused(t, j, ship.Tenant{Account: owner.ID}, map[ship.KeyID][2]string{first: {"invalid_api_key", "expired at"}, third: {"ip_not_allowed", "from the IP address 127.0.0.1"}})
	checkRefused(t, j, ship.Tenant{Account: owner.ID, Livemode: true}, map[ship.KeyID][2]string{second: {"invalid_api_key", "revoked at"}})
}

func checkRefused(t *testing.T, j *journal.Service, tenant ship.Tenant, want map[ship.KeyID][2]string) {
	t.Helper()
	list, _, err := j.List(t.Context(), tenant, journal.RequestFilter{}, ship.Page{Limit: 10})
	if err != nil || len(list) != len(want) {
		t.Fatalf("requests: %+v %v", list, err)
	}
	for _, r := range list {
		one, err := j.Request(t.Context(), tenant, r.ID)
		if err != nil || r.Code != want[r.Key][0] || r.Route != "/v1/rates" || r.Status < 401 || r.Status > 403 || !strings.Contains(string(one.Problem), want[r.Key][1]) {
			t.Errorf("%+v: %s %v", r, one.Problem, err)
		}
	}
}
