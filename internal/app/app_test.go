package app_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/waybillhq/waybill/client"
	"github.com/waybillhq/waybill/internal/account"
	"github.com/waybillhq/waybill/internal/app"
	"github.com/waybillhq/waybill/internal/config"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store/storetest"
)

// settings returns the settings of a test, with changes given as names and
// values.
func settings(t *testing.T, url string, changes ...string) config.Config {
	t.Helper()
	values := map[string]string{
		"DATABASE_URL": url, "LISTEN": "127.0.0.1:0", "METRICS_LISTEN": "127.0.0.1:0", "LOG_LEVEL": "ERROR", "SANDBOX_STEP": "0", "DATABASE_CONNECTIONS": "4", "SPOOL_DIR": filepath.Join(t.TempDir(), "spool"),
	}
	for i := 0; i < len(changes); i += 2 {
		values[changes[i]] = changes[i+1]
	}
	cfg, err := config.Load(func(name string) (string, bool) { v, ok := values[name]; return v, ok })
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// running is a running copy of the program.
type running struct {
	*app.App
	stop func() error // stops it once, and returns what Run did
}

func run(t *testing.T, cfg config.Config, roles app.Roles) running {
	t.Helper()
	a, err := app.New(t.Context(), cfg, roles)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ready, done := make(chan struct{}), make(chan error, 1)
	a.OnReady(func() { close(ready) })
	go func() { done <- a.Run(ctx) }()
	select {
	case <-ready:
	case err := <-done:
		t.Fatalf("it ended before it was ready: %v", err)
	}
	stop := sync.OnceValue(func() error {
		cancel()
		return <-done
	})
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Errorf("stop: %v", err)
		}
	})
	return running{a, stop}
}

func newKey(t *testing.T, cfg config.Config) string {
	t.Helper()
	accounts, done, err := app.OpenAccounts(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	a, err := accounts.Create(t.Context(), account.Settings{Name: new("Test")})
	if err != nil {
		t.Fatal(err)
	}
	key, _, err := accounts.NewKey(t.Context(), account.NewKeyInput{Account: a.ID})
	if err != nil {
		t.Fatal(err)
	}
	return string(key)
}

var destination = client.Address{Name: "Ada Lovelace", Address1: "350 5th Ave", City: "New York", State: "NY", Zip: "10118", Country: "US"}

func get(t *testing.T, url string) (int, string) {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

func TestTheWholeWayFromRatesToDelivery(t *testing.T) {
	t.Parallel()
	cfg := settings(t, storetest.URL(t))
	a := run(t, cfg, app.AllRoles)
	c := client.New(newKey(t, cfg), client.Options{BaseURL: a.BaseURL()})
	ctx := t.Context()

	parcel := &client.Parcel{Weight: 2.5}
	rates, err := c.Rates(ctx, client.RatesRequest{Destination: destination, Parcel: parcel})
	if err != nil || len(rates.Rates) == 0 {
		t.Fatalf("rates %+v, %v", rates, err)
	}
	sh, err := c.CreateShipment(ctx, client.ShipmentRequest{OrderID: "o1", Destination: destination, Parcel: parcel, RateID: rates.Rates[0].ID}, client.IdempotencyKey("k1"))
	if err != nil || sh.LabelStatus != "ready" || sh.Carrier != rates.Rates[0].Carrier {
		t.Fatalf("shipment %+v, %v", sh, err)
	}
	again, err := c.CreateShipment(ctx, client.ShipmentRequest{OrderID: "o1", Destination: destination, Parcel: parcel, RateID: rates.Rates[0].ID}, client.IdempotencyKey("k1"))
	if err != nil || again.ID != sh.ID || !again.Replayed {
		t.Errorf("with the same key: %s, replayed %t, %v; want %s", again.ID, again.Replayed, err, sh.ID)
	}
	label, err := c.Label(ctx, sh.ID, client.LabelOptions{})
	if err != nil || !bytes.HasPrefix(label, []byte("%PDF")) {
		t.Errorf("label of %d bytes, %v", len(label), err)
	}
	link, err := c.LabelLink(ctx, sh.ID, "zpl", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	if status, body := get(t, link.URL); status != http.StatusOK || !strings.HasPrefix(body, "^XA") {
		t.Errorf("link: %d %.20q", status, body)
	}
	for range 10 {
		if _, err = c.Advance(ctx, sh.ID, "", ""); err != nil {
			break
		}
	}
	if e, ok := errors.AsType[*client.Error](err); !ok || e.Status != http.StatusConflict {
		t.Errorf("beyond the end: %v, want a conflict", err)
	}
	tr, err := c.Track(ctx, sh.TrackingNumber, "")
	if err != nil || tr.Status != "delivered" || tr.ShipmentID != sh.ID {
		t.Errorf("tracking %+v, %v", tr, err)
	}
	// Open transactions of other tests on the same server delay the log.
	var kinds []string
	for e, err := range c.FollowEvents(ctx, client.EventsRequest{Limit: 2}, 100*time.Millisecond) {
		if err != nil {
			t.Fatal(err)
		}
		kinds = append(kinds, e.Type)
		if e.Sequence != len(kinds) {
			t.Errorf("event %d has sequence %d", len(kinds), e.Sequence)
		}
		if e.Type == "shipment.delivered" {
			break
		}
	}
	if len(kinds) < 5 || kinds[0] != "shipment.created" || kinds[len(kinds)-1] != "shipment.delivered" {
		t.Errorf("events %v", kinds)
	}
}

func TestTheRestOfTheClientMeetsTheService(t *testing.T) {
	t.Parallel()
	cfg := settings(t, storetest.URL(t))
	a := run(t, cfg, app.AllRoles)
	c := client.New(newKey(t, cfg), client.Options{BaseURL: a.BaseURL()})
	ctx := t.Context()
	var ids []string
	for i := range 3 {
		sh, err := c.CreateShipment(ctx, client.ShipmentRequest{OrderID: fmt.Sprint("o", i), Destination: destination, Parcel: &client.Parcel{Weight: 1}})
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, sh.ID)
	}
	n := 0
	for sh, err := range c.Shipments(ctx, client.ShipmentsRequest{Limit: 2, CreatedAfter: time.Now().Add(-time.Hour)}) {
		if n++; err != nil || n > 3 || sh.ID != ids[3-n] {
			t.Fatalf("shipment %d is %s, %v", n, sh.ID, err)
		}
	}
	voided, err := c.Void(ctx, ids[0])
	if err != nil || voided.LabelStatus != "voided" || n != 3 {
		t.Errorf("void: %+v, %v; %d listed", voided, err, n)
	}
	if sh, err := c.Shipment(ctx, ids[0]); err != nil || sh.LabelStatus != "voided" {
		t.Errorf("after the void: %s, %v", sh.LabelStatus, err)
	}
	carriers, err := c.Carriers(ctx)
	if err != nil || len(carriers) < 4 || !carriers[0].Simulated { // the four of every country, and those of one
		t.Errorf("carriers %+v, %v", carriers, err)
	}
	tr, fresh, err := c.CreateTracker(ctx, "1Z999AA10123456784", "ups")
	if err != nil || !fresh || tr.ID == "" {
		t.Fatalf("tracker %+v, %t, %v", tr, fresh, err)
	}
	for followed, err := range c.Trackers(ctx) {
		if err != nil || followed.ID != tr.ID {
			t.Errorf("tracker %s, %v", followed.ID, err)
		}
	}
	if err := c.DeleteTracker(ctx, tr.ID); err != nil {
		t.Error(err)
	}
}

func TestOperatorsSeeMetricsAndHealthOnASecondListener(t *testing.T) {
	t.Parallel()
	cfg := settings(t, storetest.URL(t), "PROFILING", "on")
	a := run(t, cfg, app.AllRoles)
	c := client.New(newKey(t, cfg), client.Options{BaseURL: a.BaseURL()})
	if _, err := c.CreateShipment(t.Context(), client.ShipmentRequest{OrderID: "o1", Destination: destination, Parcel: &client.Parcel{Weight: 1}}); err != nil {
		t.Fatal(err)
	}
	operator := "http://" + a.MetricsAddr()
	_, metrics := get(t, operator+"/metrics")
	for range 40 { // a request is counted after its answer is sent
		if strings.Contains(metrics, `route="/v1/shipments"`) {
			break
		}
		time.Sleep(50 * time.Millisecond)
		_, metrics = get(t, operator+"/metrics")
	}
	for _, want := range []string{
		`waybill_http_requests_total{method="POST",route="/v1/shipments",status="201"} 1`, `waybill_carrier_calls_total{carrier="ups",operation="rates",outcome="ok"} 1`,
		`waybill_database_up 1`, `waybill_purchases_open{state="uncertain"} 0`, "waybill_log_horizon_age_seconds", `waybill_database_connections_max{pool="app"} 4`,
		"go_goroutines", "process_resident_memory_bytes",
	} {
		if !strings.Contains(metrics, want) {
			t.Errorf("no %s in the metrics", want)
		}
	}
	for path, want := range map[string]int{"/healthz": 200, "/readyz": 200, "/debug/pprof/heap": 200, "/debug/pprof/cmdline": 404, "/v1/carriers": 404} {
		if status, _ := get(t, operator+path); status != want {
			t.Errorf("%s on the second listener: %d, want %d", path, status, want)
		}
	}
	if status, _ := get(t, a.BaseURL()+"/metrics"); status != http.StatusNotFound {
		t.Errorf("the world sees the metrics: %d", status)
	}
	if status, _ := get(t, a.BaseURL()+"/readyz"); status != http.StatusOK {
		t.Errorf("/readyz: %d", status)
	}
}

func TestAStopLetsRequestsEnd(t *testing.T) {
	t.Parallel()
	cfg := settings(t, storetest.URL(t))
	a := run(t, cfg, app.AllRoles)
	c := client.New(newKey(t, cfg), client.Options{BaseURL: a.BaseURL(), Attempts: 1})
	slow := destination
	slow.Name = "FAULT SLOW QUOTE" // answered after 4 s, with the quotes that have arrived
	type result struct {
		rates client.Rates
		err   error
	}
	done := make(chan result, 1)
	go func() {
		rates, err := c.Rates(context.Background(), client.RatesRequest{Destination: slow, Parcel: &client.Parcel{Weight: 1}, TimeoutMs: 1500})
		done <- result{rates, err}
	}()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		_, metrics := get(t, "http://"+a.MetricsAddr()+"/metrics")
		if strings.Contains(metrics, `operation="rates"`) || time.Now().After(deadline) {
			break // it is under way: the quick carriers have answered
		}
	}
	if err := a.stop(); err != nil {
		t.Errorf("stop: %v", err)
	}
	if r := <-done; r.err != nil || !r.rates.Partial {
		t.Errorf("the request under way: %+v, %v", r.rates.Partial, r.err)
	}
	if _, err := c.Carriers(t.Context()); err == nil {
		t.Error("a request after the stop is answered")
	}
}

func TestACopyWithoutTheAPIAnswersOperatorsAlone(t *testing.T) {
	t.Parallel()
	a := run(t, settings(t, storetest.URL(t)), app.Roles{Worker: true})
	if status, _ := get(t, "http://"+a.MetricsAddr()+"/readyz"); status != http.StatusOK {
		t.Errorf("/readyz: %d", status)
	}
	if a.Addr() != "127.0.0.1:0" {
		t.Errorf("it listens on %s", a.Addr())
	}
}

func TestSimulatedParcelsMoveByThemselves(t *testing.T) {
	t.Parallel()
	cfg := settings(t, storetest.URL(t), "SANDBOX_STEP", "200ms")
	a := run(t, cfg, app.AllRoles)
	c := client.New(newKey(t, cfg), client.Options{BaseURL: a.BaseURL()})
	sh, err := c.CreateShipment(t.Context(), client.ShipmentRequest{OrderID: "o1", Destination: destination, Parcel: &client.Parcel{Weight: 1}})
	if err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(200 * time.Millisecond) {
		tr, err := c.Track(t.Context(), sh.ID, "")
		if err != nil {
			t.Fatal(err)
		}
		if tr.Status == "delivered" {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("after 30 s it is %s", tr.Status)
		}
	}
}

func TestADatabaseThatIsNotMigratedIsRefusedWithAdvice(t *testing.T) {
	t.Parallel()
	url := storetest.URL(t)
	if _, err := storetest.Conn(t, url).Exec(t.Context(), "DROP SCHEMA public CASCADE; CREATE SCHEMA public"); err != nil {
		t.Fatal(err)
	}
	_, err := app.New(t.Context(), settings(t, url), app.AllRoles)
	if ship.KindOf(err) != ship.Conflict || !strings.Contains(err.Error(), "waybill migrate") {
		t.Errorf("err = %v", err)
	}
}

func TestADatabaseFromBeforeTheFirstReleaseIsRefusedWithAdvice(t *testing.T) {
	t.Parallel()
	url := storetest.URL(t)
	if _, err := storetest.Conn(t, url).Exec(t.Context(), "DROP SCHEMA public CASCADE; CREATE SCHEMA public; CREATE TABLE journeys (id uuid)"); err != nil {
		t.Fatal(err)
	}
	_, err := app.New(t.Context(), settings(t, url), app.AllRoles)
	if ship.KindOf(err) != ship.Conflict || !strings.Contains(err.Error(), "create a new database") {
		t.Errorf("err = %v", err)
	}
}

func TestAnAddressThatIsTakenIsExplained(t *testing.T) {
	t.Parallel()
	taken := httptest.NewServer(http.NotFoundHandler())
	defer taken.Close()
	_, err := app.New(t.Context(), settings(t, storetest.URL(t), "LISTEN", taken.Listener.Addr().String()), app.AllRoles)
	if err == nil || !strings.Contains(err.Error(), "another program is already listening on") {
		t.Errorf("err = %v", err)
	}
}

func TestTracesAreSentWithoutPersonalData(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var sent bytes.Buffer
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintln(&sent, r.URL.Path)
		_, _ = io.Copy(&sent, r.Body)
	}))
	defer collector.Close()
	cfg := settings(t, storetest.URL(t), "OTEL_EXPORTER_OTLP_ENDPOINT", collector.URL)
	a := run(t, cfg, app.Roles{API: true})
	c := client.New(newKey(t, cfg), client.Options{BaseURL: a.BaseURL(), UserAgent: "Personal-Agent"})
	sh, err := c.CreateShipment(t.Context(), client.ShipmentRequest{OrderID: "o1", Destination: destination, Parcel: &client.Parcel{Weight: 1}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Track(t.Context(), sh.TrackingNumber, ""); err != nil {
		t.Fatal(err)
	}
	if err := a.stop(); err != nil { // sends what is left
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	for _, want := range []string{"/v1/traces", "POST /v1/shipments", "GET /v1/tracking", "waybill"} {
		if !strings.Contains(sent.String(), want) {
			t.Errorf("no %q in what was sent", want)
		}
	}
	for _, personal := range []string{"Lovelace", "350 5th", "Personal-Agent", sh.TrackingNumber} {
		if strings.Contains(sent.String(), personal) {
			t.Errorf("%q was sent", personal)
		}
	}
}

func TestRolesAreRead(t *testing.T) {
	t.Parallel()
	r, err := app.ParseRoles("worker, api")
	if err != nil || r != (app.Roles{API: true, Worker: true}) || r.String() != "api,worker" {
		t.Errorf("roles %+v, %v", r, err)
	}
	if _, err := app.ParseRoles("cook"); err == nil {
		t.Error("any word is a role")
	}
}
