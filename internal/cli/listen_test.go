package cli_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/waybillhq/waybill/client"
	"github.com/waybillhq/waybill/internal/cli"
	"github.com/waybillhq/waybill/internal/store/storetest"
)

// program is a receiver as a developer would write it: it accepts events whose
// signatures are valid. The second request fails.
type program struct {
	url string

	mu     sync.Mutex
	secret string
	asked  int
	events []client.Event
	wrong  error
}

func newProgram(t *testing.T) *program {
	t.Helper()
	p := &program{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		p.mu.Lock()
		defer p.mu.Unlock()
		p.asked++
		if p.asked == 2 {
			http.Error(w, "not now", http.StatusServiceUnavailable)
			return
		}
		e, err := client.VerifyWebhook(p.secret, r.Header, body)
		if err != nil {
			p.wrong = err
		}
		p.events = append(p.events, e)
	}))
	t.Cleanup(server.Close)
	p.url = server.URL + "/hook"
	return p
}

// got waits until the program has received the given number of events.
func (p *program) got(t *testing.T, n int) []client.Event {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		p.mu.Lock()
		events, err := p.events, p.wrong
		p.mu.Unlock()
		if err != nil {
			t.Fatal(err)
		}
		if len(events) >= n {
			return events
		}
	}
	t.Fatalf("it has fewer than %d events after 20 s", n)
	return nil
}

// line waits for a matching line.
func (s started) line(t *testing.T, pattern string) []string {
	t.Helper()
	re := regexp.MustCompile(pattern)
	for {
		select {
		case text := <-s.lines:
			if m := re.FindStringSubmatch(text); m != nil {
				return m
			}
		case <-time.After(20 * time.Second):
			t.Fatalf("it does not say %s", pattern)
		}
	}
}

func TestListenForwardsFromNowOnSignedAndAgain(t *testing.T) {
	t.Parallel()
	s := shell{"LOG_LEVEL": "ERROR", "METRICS_LISTEN": "off", "SANDBOX_STEP": "0"}
	dev := s.start(t, "dev", "--json", "--no-sink", "--listen", "127.0.0.1:0", "--database-url", storetest.URL(t)).place(t)
	if dev.SinkURL != "" {
		t.Errorf("without a sink it says %s", dev.SinkURL)
	}
	buy(t, dev)
	waitForEvents(t, dev, 2)
	p := newProgram(t)
	now := shell{"WAYBILL_URL": dev.URL, "WAYBILL_KEY": dev.APIKey}.start(t, "listen", "--forward", p.url)
	p.mu.Lock()
	p.secret = now.line(t, `secret (whsec_\S+)`)[1]
	p.mu.Unlock()
	now.line(t, `^TIME +TYPE +SHIPMENT +STATUS +MS\n`)
	buy(t, dev)
	events := p.got(t, 2)
	if events[0].Type != "shipment.created" || events[1].Type != "label.generated" || events[0].Data.Shipment.ID != events[1].Data.Shipment.ID {
		t.Errorf("events %+v", events)
	}
	now.line(t, `^\d\d:\d\d:\d\d  shipment\.created      shp_\w{26}  200 +\d+\n`)
	now.line(t, `^\d\d:\d\d:\d\d  label\.generated       shp_\w{26}  200 +\d+  2 attempts\n`)
	if err := now.stop(); err != nil {
		t.Errorf("stopped by the user: %v", err)
	}
	past := shell{}.start(t, "listen", "--forward", p.url, "--url", dev.URL, "--key", dev.APIKey, "--since", "1h", "--secret", p.secret)
	past.line(t, `secret (whsec_\S+)`)
	if events := p.got(t, 6); events[4].Data.Shipment.ID != events[0].Data.Shipment.ID || events[2].Data.Shipment.ID == events[0].Data.Shipment.ID {
		t.Errorf("of the past: %+v", events)
	}
}

// waitForEvents waits until the log shows the given number of events.
func waitForEvents(t *testing.T, at place, n int) {
	t.Helper()
	c := client.New(at.APIKey, client.Options{BaseURL: at.URL})
	for range 1000 {
		if p, err := c.EventsPage(t.Context(), client.EventsRequest{}); err == nil && len(p.Data) >= n {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("the log has fewer than %d events", n)
}

func TestListenExplainsWhatItNeeds(t *testing.T) {
	t.Parallel()
	refuses := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }))
	t.Cleanup(refuses.Close)
	for want, args := range map[string][]string{
		"--forward http://localhost:3000/hook":             {"--key", "sk_test_1"},
		"not signed in":                                    {"--forward", "http://localhost:3000/"},
		"this is a live key":                               {"--forward", "http://localhost:3000/", "--key", "sk_live_1"},
		"must be a URL such as http://localhost:3000/hook": {"--forward", "localhost:3000", "--key", "sk_test_1"},
		"--since must be a duration":                       {"--forward", "http://localhost:3000/", "--key", "sk_test_1", "--since", "yesterday"},
		"24 to 64 bytes":                                   {"--forward", "http://localhost:3000/", "--key", "sk_test_1", "--secret", "hunter2"},
		"is \"waybill dev\" running?":                      {"--forward", "http://localhost:3000/", "--key", "sk_test_1", "--url", "http://127.0.0.1:1"},
		refuses.URL + " does not accept the key":           {"--forward", "http://localhost:3000/", "--key", "sk_live_1", "--live", "--url", refuses.URL},
	} {
		_, _, err := shell{}.run(t, append([]string{"listen"}, args...)...)
		if err == nil || !strings.Contains(cli.Explain(err), want) {
			t.Errorf("%v: %v, want it to say %q", args, err, want)
		}
	}
}

func TestDevShowsWhatArrivesAtItsSink(t *testing.T) {
	t.Parallel()
	s := shell{"LOG_LEVEL": "ERROR", "METRICS_LISTEN": "off", "SANDBOX_STEP": "0"}
	url := storetest.URL(t)
	first := s.start(t, "dev", "--json", "--listen", "127.0.0.1:0", "--database-url", url)
	dev := first.place(t)
	if page := fetch(t, dev.SinkURL); !strings.Contains(page, "No events yet") || strings.Contains(page, "<details") {
		t.Errorf("at first the page shows\n%s", page)
	}
	buy(t, dev)
	page := ""
	for range 500 {
		if page = fetch(t, dev.SinkURL); strings.Count(page, "<details") == 2 {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	newest, older := strings.Index(page, "label.generated"), strings.Index(page, "<b>shipment.created</b>")
	if strings.Count(page, "signature valid") != 2 || newest < 0 || older < newest || !strings.Contains(page, "Webhook-Signature") || !strings.Contains(page, "  &#34;data&#34;: {\n") {
		t.Errorf("the page shows\n%s", page)
	}
	resp, err := http.Post(dev.SinkURL+"/hook", "text/plain", strings.NewReader("<script>alert(1)</script>"))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if page := fetch(t, dev.SinkURL+"/new?after=2"); strings.Count(page, "<details") != 1 || !strings.Contains(page, "signature invalid") || strings.Contains(page, "<script>") {
		t.Errorf("a stranger's is shown as\n%s", page)
	}
	req, _ := http.NewRequestWithContext(t.Context(), "GET", dev.SinkURL, nil)
	req.Host = "rebound.example.com"
	if resp, err = http.DefaultClient.Do(req); err != nil || resp.StatusCode != http.StatusForbidden {
		t.Errorf("under another name: %v, %v", resp, err)
	}
	resp.Body.Close()
	if err := first.stop(); err != nil {
		t.Fatal(err)
	}
	again := s.start(t, "dev", "--json", "--listen", "127.0.0.1:0", "--database-url", url).place(t)
	list, err := client.New(again.APIKey, client.Options{BaseURL: again.URL}).Webhooks(t.Context())
	// Another test may now listen on the address of the first sink, which is
	// then left registered.
	if err != nil || len(list) == 0 || list[0].URL != again.SinkURL+"/hook" || len(list) > 1 && dev.SinkURL == again.SinkURL {
		t.Errorf("after a restart: %+v, %v", list, err)
	}
}

func fetch(t *testing.T, url string) string {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
