package cli_test

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/client"
	"github.com/waybillhq/waybill/internal/cli"
	"github.com/waybillhq/waybill/internal/store/storetest"
)

const orderText = `{
  "orderId": "T-1001",
  "destination": {"name": "Ada Lovelace", "address1": "500 Main St", "city": "Austin", "state": "TX", "zip": "78701", "country": "US", "phone": "+15125550100"},
  "parcel": {"weight": 2.5, "weightUnit": "lb"}
}`

// TestAShippingDayFromTheTerminal runs the commands of a day against the service.
func TestAShippingDayFromTheTerminal(t *testing.T) {
	t.Parallel()
	dev := shell{"LOG_LEVEL": "ERROR", "METRICS_LISTEN": "off", "SANDBOX_STEP": "0"}.
		start(t, "dev", "--json", "--no-sink", "--listen", "127.0.0.1:0", "--database-url", storetest.URL(t)).place(t)
	terminal := shell{"WAYBILL_URL": dev.URL, "WAYBILL_KEY": dev.APIKey}
	folder := t.TempDir()
	order := filepath.Join(folder, "order.json")
	if err := os.WriteFile(order, []byte(orderText), 0o600); err != nil {
		t.Fatal(err)
	}

	run := func(pattern string, args ...string) []string {
		t.Helper()
		out, _, err := terminal.run(t, args...)
		if err != nil {
			t.Fatalf("%s: %v", strings.Join(args, " "), err)
		}
		found := regexp.MustCompile(pattern).FindStringSubmatch(out)
		if found == nil {
			t.Fatalf("%s prints\n%s\nwant %s", strings.Join(args, " "), out, pattern)
		}
		return found
	}

	run(`(?m)^usps +.*\d+\.\d\d USD`, "rates", "-f", order)
	run(`(?m)^usps +.*\d+\.\d\d USD`, "ship", "-f", order, "--dry-run")
	label := filepath.Join(folder, "label.pdf")
	bought := run(`shipment +(shp_\w+)\norder +T-1001\nlabel +ready\ntracking +(\w+) (\w+)\n`, "ship", "-f", order, "--max-amount", "50", "--label", label)
	if file, err := os.ReadFile(label); err != nil || !strings.HasPrefix(string(file), "%PDF") {
		t.Errorf("the label is %.20q, %v", file, err)
	}
	if again := run(`shipment +(shp_\w+)`, "ship", "-f", order, "--max-amount", "50"); again[1] != bought[1] {
		t.Errorf("the same command again bought %s beside %s", again[1], bought[1])
	}

	run(bought[1]+` +T-1001 +`+bought[2], "shipments", "list", "--query", "T-1001")
	run(`"trackingNumber": "`+bought[3], "shipments", "get", bought[1], "--json")
	run(bought[3], "track", bought[3])
	zpl, _, err := terminal.run(t, "api", "GET", "/v1/shipments/"+bought[1])
	if err != nil || !strings.Contains(zpl, bought[3]) {
		t.Errorf("api: %s, %v", zpl, err)
	}

	tomorrow := time.Now().AddDate(0, 0, 1).Format(time.DateOnly)
	pickup := run(`pickup +(pik_\w+)\nstatus +scheduled`, "pickup", "book", "--carrier", bought[2],
		"--ready", tomorrow+"T12:00-08:00", "--close", tomorrow+"T17:00-08:00", "--shipment", bought[1])
	run(pickup[1], "pickup", "list")
	form := filepath.Join(folder, "form.pdf")
	manifest := run(`manifest +(man_\w+)\nstatus +closed\n(?s:.*)labels +1\n`, "manifest", "close", "--carrier", bought[2], "-o", form)
	if file, err := os.ReadFile(form); err != nil || !strings.HasPrefix(string(file), "%PDF") {
		t.Errorf("the form is %.20q, %v", file, err)
	}
	run(manifest[1], "manifest", "list")
	run(`"id":"loc_`, "api", "POST", "/v1/locations", "-d", `{"name":"Reno","address":{"name":"Acme","address1":"1 Commerce Way","city":"Reno","state":"NV","zip":"89502","country":"US"},"cutoffTimes":[{"time":"17:00"}]}`)
	run(`(?m)^loc_\w+ +Reno +Reno +17:00`, "locations")
	run(`"city": "Reno"`, "ship", "-f", order, "--order-id", "T-1002", "--location", "reno", "--json")
	run(`(?m)^ups +\S+ +`, "points", "--country", "US", "--zip", "94105", "--carrier", "ups")
	run(`label +ready`, "return", bought[1])
}

// TestExitCodes checks what scripts decide by.
func TestExitCodes(t *testing.T) {
	t.Parallel()
	for want, err := range map[int]error{
		1: errors.New("anything"),
		3: &client.Error{Status: 404},
		4: &client.Error{Status: 401},
		5: &client.Error{Status: 422, Source: "carrier"},
		6: &client.Error{Status: 503, Source: "carrier"},
		7: &cli.PendingError{ID: "shp_1", Status: "pending"},
	} {
		if got := cli.ExitCode(err); got != want {
			t.Errorf("%v ends with %d, want %d", err, got, want)
		}
	}
}

func TestALiveKeyNeedsConsentAndALimit(t *testing.T) {
	t.Parallel()
	order := filepath.Join(t.TempDir(), "order.json")
	if err := os.WriteFile(order, []byte(orderText), 0o600); err != nil {
		t.Fatal(err)
	}
	live := shell{"WAYBILL_KEY": "sk_live_1", "WAYBILL_URL": "http://127.0.0.1:1"}
	for want, args := range map[string][]string{
		"add --live":               {"ship", "-f", order, "--max-amount", "5"},
		"--max-amount is required": {"ship", "-f", order, "--live"},
		"or add --live":            {"void", "shp_1"},
		"Use a test key":           {"api", "POST", "/v1/shipments"},
	} {
		if _, _, err := live.run(t, args...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want it to say %q", args, err, want)
		}
	}
}
