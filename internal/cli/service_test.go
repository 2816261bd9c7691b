package cli_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
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

const toJane = "Jane Doe, 350 5th Avenue, New York NY 10118, US"

// desk is a terminal of somebody who uses the service, with a folder for files.
type desk struct {
	shell
	folder string
}

// newDesk starts the service with a demo account, and returns a terminal whose key is
// in the environment.
func newDesk(t *testing.T) desk {
	t.Helper()
	dev := shell{"LOG_LEVEL": "ERROR", "METRICS_LISTEN": "off", "SANDBOX_STEP": "0"}.
		start(t, "dev", "--json", "--no-sink", "--listen", "127.0.0.1:0", "--database-url", storetest.URL(t)).place(t)
	folder := t.TempDir()
	return desk{shell{"WAYBILL_URL": dev.URL, "WAYBILL_KEY": dev.APIKey, "WAYBILL_CONFIG_DIR": folder}, folder}
}

func (d desk) file(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(d.folder, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// prints runs a command and finds a pattern in what it prints.
func (d desk) prints(t *testing.T, pattern string, args ...string) []string {
	t.Helper()
	out, said, err := d.run(t, args...)
	if err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, said)
	}
	found := regexp.MustCompile(pattern).FindStringSubmatch(out)
	if found == nil {
		t.Fatalf("%s prints\n%s\nwant %s", strings.Join(args, " "), out, pattern)
	}
	return found
}

// printsSoon repeats a command until it prints a pattern: events and requests
// reach their logs a moment after the call that caused them.
func (d desk) printsSoon(t *testing.T, pattern string, args ...string) {
	t.Helper()
	expression := regexp.MustCompile(pattern)
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		out := d.must(t, args...)
		if expression.MatchString(out) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s still prints\n%s\nwant %s", strings.Join(args, " "), out, pattern)
		}
	}
}

// TestAShippingDayFromTheTerminal runs the commands of a day against the service.
func TestAShippingDayFromTheTerminal(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	order := d.file(t, "order.json", orderText)

	d.prints(t, `(?m)^usps +.*\d+\.\d\d USD`, "rates", "--to", toJane, "--weight", "2.5lb", "--size", "10x8x4in")
	d.prints(t, `(?m)^usps +.*\d+\.\d\d USD`, "ship", "-f", order, "--dry-run")
	label := filepath.Join(d.folder, "label.pdf")
	bought := d.prints(t, `shipment +(shp_\w+)\norder +T-1001\nlabel +ready\ntracking +(\w+) (\w+)\n`, "ship", "-f", order, "--max-amount", "50", "--label", label)
	if file, err := os.ReadFile(label); err != nil || !strings.HasPrefix(string(file), "%PDF") {
		t.Errorf("the label is %.20q, %v", file, err)
	}
	if again := d.prints(t, `shipment +(shp_\w+)`, "ship", "-f", order, "--max-amount", "50"); again[1] != bought[1] {
		t.Errorf("the same command again bought %s beside %s", again[1], bought[1])
	}
	d.prints(t, `"address1": "350 5th Avenue"`, "ship", "--order-id", "T-1003", "--to", toJane, "--weight", "12oz", "--json")

	d.prints(t, bought[1]+` +T-1001 +`+bought[2], "shipments", "list", "--query", "T-1001")
	d.prints(t, `"trackingNumber": "`+bought[3], "shipments", "get", bought[1], "--json")
	d.prints(t, bought[3], "track", bought[3])
	d.prints(t, bought[3], "api", "/v1/shipments/"+bought[1])

	tomorrow := time.Now().AddDate(0, 0, 1).Format(time.DateOnly)
	pickup := d.prints(t, `pickup +(pik_\w+)\nstatus +scheduled`, "pickup", "book", "--carrier", bought[2],
		"--ready", tomorrow+"T12:00-08:00", "--close", tomorrow+"T17:00-08:00", "--shipment", bought[1])
	d.prints(t, pickup[1], "pickup", "list")
	form := filepath.Join(d.folder, "form.pdf")
	manifest := d.prints(t, `manifest +(man_\w+)\nstatus +closed\n(?s:.*)labels +\d\n`, "manifest", "close", "--carrier", bought[2], "-o", form)
	if file, err := os.ReadFile(form); err != nil || !strings.HasPrefix(string(file), "%PDF") {
		t.Errorf("the form is %.20q, %v", file, err)
	}
	d.prints(t, manifest[1], "manifest", "list")
	d.prints(t, `"id": "loc_`, "api", "POST", "/v1/locations", "-d", `{"name":"Reno","address":{"name":"Acme","address1":"1 Commerce Way","city":"Reno","state":"NV","zip":"89502","country":"US"},"cutoffTimes":[{"time":"17:00"}]}`)
	d.prints(t, `(?m)^loc_\w+ +Reno +Reno +17:00`, "locations")
	d.prints(t, `"city": "Reno"`, "ship", "-f", order, "--order-id", "T-1002", "--location", "reno", "--json")
	d.prints(t, `(?m)^ups +\S+ +`, "points", "--country", "US", "--zip", "94105", "--carrier", "ups")

	returned := d.prints(t, `shipment +(shp_\w+)\n(?s:.*)label +ready`, "return", bought[1])
	if again := d.prints(t, `shipment +(shp_\w+)`, "return", bought[1]); again[1] != returned[1] {
		t.Errorf("the same command again bought %s beside %s", again[1], returned[1])
	}
	d.prints(t, `label +voided`, "void", returned[1])
	if _, _, err := d.run(t, "return", bought[1]); err == nil || !strings.Contains(err.Error(), "--idempotency-key cli-return-"+bought[1]+"-2") {
		t.Errorf("a return whose label was voided looks bought: %v", err)
	}
	d.prints(t, `label +ready`, "return", bought[1], "--idempotency-key", "cli-return-"+bought[1]+"-2")
}

// TestAnswersArePrintedForPeopleAndPrograms covers tables, --json with fields, and --jq.
func TestAnswersArePrintedForPeopleAndPrograms(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	var ids []string
	for i := range 3 {
		ids = append(ids, strings.TrimSpace(d.must(t, "ship", "--order-id", fmt.Sprint("J-", i), "--to", toJane, "--weight", "1lb", "--jq", ".id")))
	}

	if out := d.must(t, "shipments", "list", "--jq", ".id", "--limit", "2", "--all"); out != ids[2]+"\n"+ids[1]+"\n"+ids[0]+"\n" {
		t.Errorf("all pages: %s", out)
	}
	if out := d.must(t, "shipments", "list", "--json=orderId,livemode"); out != `{"orderId":"J-2","livemode":false}`+"\n"+`{"orderId":"J-1","livemode":false}`+"\n"+`{"orderId":"J-0","livemode":false}`+"\n" {
		t.Errorf("fields: %s", out)
	}
	var whole map[string]any
	if err := json.Unmarshal([]byte(d.must(t, "shipments", "get", ids[0], "--json")), &whole); err != nil || whole["voidedAt"] != nil || whole["trackingPageUrl"] == nil {
		t.Errorf("the answer is not as the API gives it: %v, %v", whole["voidedAt"], err)
	}
	if out := d.must(t, "shipments", "list", "--json", "--jq", "[.orderId, .rate.currency]", "--limit", "1"); out != `["J-2","USD"]`+"\n" {
		t.Errorf("an expression: %s", out)
	}
	for _, args := range [][]string{{"shipments", "list", "--jq", ".["}, {"shipments", "list", "--jq", ".id | tonumber"}, {"void"}, {"ship", "--to", "Jane"}, {"rates", "--to", toJane, "--weight", "much"}} {
		if _, _, err := d.run(t, args...); cli.ExitCode(err) != 2 {
			t.Errorf("%v: %v", args, err)
		}
	}
}

// TestExitCodes checks what scripts decide by.
func TestExitCodes(t *testing.T) {
	t.Parallel()
	for want, err := range map[int]error{
		0:   nil,
		1:   errors.New("anything"),
		3:   &client.Error{Status: 404},
		4:   &client.Error{Status: 401},
		5:   &client.Error{Status: 422, Source: "carrier"},
		6:   &client.Error{Status: 503, Source: "carrier"},
		7:   &cli.PendingError{ID: "shp_1", Status: "pending"},
		130: fmt.Errorf("stopped: %w", context.Canceled),
	} {
		if got := cli.ExitCode(err); got != want {
			t.Errorf("%v ends with %d, want %d", err, got, want)
		}
	}
	nowhere := shell{"WAYBILL_KEY": "sk_test_1", "WAYBILL_URL": "http://127.0.0.1:1", "WAYBILL_CONFIG_DIR": t.TempDir()}
	for want, args := range map[int][]string{
		2: {"ship", "--colour"},
		6: {"track", "1"},
	} {
		if _, _, err := nowhere.run(t, args...); cli.ExitCode(err) != want {
			t.Errorf("%v ends with %d, want %d: %v", args, cli.ExitCode(err), want, err)
		}
	}
	delete(nowhere, "WAYBILL_KEY")
	if _, _, err := nowhere.run(t, "track", "1"); cli.ExitCode(err) != 4 || !strings.Contains(err.Error(), "waybill login") {
		t.Errorf("without a key: %v", err)
	}
	if _, _, err := nowhere.run(t, "frobnicate"); cli.ExitCode(err) != 2 {
		t.Errorf("an unknown command: %v", err)
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

func TestALabelIsPrintedOnAPrinterOfTheNetwork(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	printer, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer printer.Close()
	printed := make(chan string, 1)
	go func() {
		connection, err := printer.Accept()
		if err != nil {
			return
		}
		data, _ := io.ReadAll(connection)
		printed <- string(data)
	}()

	_, said, err := d.run(t, "ship", "--order-id", "P-1", "--to", toJane, "--weight", "1lb", "--printer", printer.Addr().String())
	if err != nil || !strings.Contains(said, "printed on "+printer.Addr().String()) {
		t.Fatalf("%v\n%s", err, said)
	}
	if got := <-printed; !strings.HasPrefix(got, "^XA") {
		t.Errorf("the printer got %.40q", got)
	}
}

func TestTheSandboxDoesWhatIsTriggered(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.prints(t, `delivered`, "trigger", "shipment.delivered")
	d.prints(t, `exception`, "trigger", "shipment.exception", "--reason", "damaged")
	for fault, code := range map[string]int{"refuse": 5, "timeout-after-purchase": 7, "unavailable": 6, "quote": 6, "void-pending": 0, "nothing": 2} {
		if _, _, err := d.run(t, "trigger", "fault", fault); cli.ExitCode(err) != code {
			t.Errorf("%s ends with %d, want %d: %v", fault, cli.ExitCode(err), code, err)
		}
	}

	d.printsSoon(t, `(?m)^\S+ \S+  shipment\.delivered +shp_\w+ +TRIGGER-`, "events", "tail", "--since", "1h", "--no-follow")
	d.printsSoon(t, `^"?damaged"?\n$`, "events", "tail", "--events", "shipment.exception", "--since", "1h", "--no-follow", "--jq", ".data.event.reason")

	d.printsSoon(t, `422  POST    /v1/shipments`, "requests", "tail", "--since", "1h", "--no-follow", "--status", "4xx")
}

func TestPagesOfTheDashboardAreFound(t *testing.T) {
	t.Parallel()
	s := shell{"WAYBILL_KEY": "sk_test_1", "WAYBILL_URL": "https://ship.example.com"}
	for args, want := range map[string]string{
		"open":           "https://ship.example.com/app/test\n",
		"open webhooks":  "https://ship.example.com/app/test/webhooks\n",
		"open shp_1":     "https://ship.example.com/app/test/shipments/shp_1\n",
		"open docs":      "https://ship.example.com/docs\n",
		"open /routing/": "https://ship.example.com/app/test/routing\n",
	} {
		if out := s.must(t, strings.Fields(args)...); out != want {
			t.Errorf("%s prints %q, want %q", args, out, want)
		}
	}
}

func TestEveryShellCompletesAndEveryCommandHasAManual(t *testing.T) {
	t.Parallel()
	s := shell{}
	for _, name := range []string{"bash", "zsh", "fish"} {
		if out := s.must(t, "completion", name); len(out) < 1000 {
			t.Errorf("completion for %s: %d bytes", name, len(out))
		}
	}
	if out := s.must(t, "__complete", "trigger", "shipment.d"); !strings.Contains(out, "shipment.delivered") {
		t.Errorf("events are not completed: %s", out)
	}

	dir := t.TempDir()
	s.must(t, "man", "--dir", dir)
	pages, err := filepath.Glob(filepath.Join(dir, "waybill*.1"))
	if err != nil || len(pages) < 60 {
		t.Errorf("%d pages, %v", len(pages), err)
	}
	page := s.must(t, "man", "pickup", "book")
	for _, want := range []string{`.TH "WAYBILL-PICKUP-BOOK" 1`, `.B \-\-carrier CARRIER`, ".SH EXIT STATUS", ".BR waybill\\-pickup (1)"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q:\n%s", want, page)
		}
	}
	if out := s.must(t, "help", "exit-codes"); !strings.Contains(out, "  7  not known yet") {
		t.Errorf("help exit-codes prints\n%s", out)
	}
}

func TestAddressesOnOneLine(t *testing.T) {
	t.Parallel()
	d := shell{"WAYBILL_KEY": "sk_test_1"}
	seen := make(chan client.RatesRequest, 1)
	d["WAYBILL_URL"] = echoRates(t, seen)
	for text, want := range map[string]client.Address{
		toJane: {Name: "Jane Doe", Address1: "350 5th Avenue", City: "New York", State: "NY", Zip: "10118", Country: "US"},
		"Ada, Invalidenstr. 116, 2. OG, 10115 Berlin, de": {Name: "Ada", Address1: "Invalidenstr. 116", Address2: "2. OG", City: "Berlin", Zip: "10115", Country: "DE"},
		"Bob, 10 Downing Street, London SW1A 2AA, GB":     {Name: "Bob", Address1: "10 Downing Street", City: "London", Zip: "SW1A 2AA", Country: "GB"},
		"Eve, 1 Yonge St, Toronto ON M5E 1W7, CA":         {Name: "Eve", Address1: "1 Yonge St", City: "Toronto", State: "ON", Zip: "M5E 1W7", Country: "CA"},
		"Wu, 1 Queen's Road, Hong Kong, HK":               {Name: "Wu", Address1: "1 Queen's Road", City: "Hong Kong", Country: "HK"},
	} {
		d.must(t, "rates", "--to", text, "--weight", "1kg")
		if got := (<-seen).Destination; got != want {
			t.Errorf("%s is read as %+v", text, got)
		}
	}
}

// echoRates is a service that keeps what it is asked.
func echoRates(t *testing.T, seen chan client.RatesRequest) string {
	t.Helper()
	server := newServer(t, func(path string, body []byte) string {
		var request client.RatesRequest
		if err := json.Unmarshal(body, &request); err != nil {
			t.Errorf("%s: %v", path, err)
		}
		seen <- request
		return `{"rates":[]}`
	})
	if _, err := url.Parse(server); err != nil {
		t.Fatal(err)
	}
	return server
}
