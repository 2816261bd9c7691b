package app_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/account"
	"github.com/waybillhq/waybill/internal/app"
	"github.com/waybillhq/waybill/internal/emulator"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store/storetest"
)

var pictures = flag.String("pictures", "", "directory to keep the pictures of labels in")

// program finds a program that reads labels. Without it a test is skipped, but
// fails in CI.
func program(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	switch {
	case err == nil:
	case os.Getenv("CI") != "":
		t.Fatalf("%s is missing: %v", name, err)
	default:
		t.Skipf("%s is not installed", name)
	}
	return path
}

// pipe runs a program from standard input to standard output.
func pipe(t *testing.T, in []byte, name string, args ...string) []byte {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Stdin = bytes.NewReader(in)
	out, err := cmd.Output()
	if err != nil {
		t.Errorf("%s %v: %v", name, args, err)
	}
	return out
}

// fetch reads an address with a key, or without one.
func fetch(t *testing.T, address, key string) (*http.Response, []byte) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	if key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, body
}

// labelled is what the tests read of a shipment.
type labelled struct {
	ID             string            `json:"id"`
	TrackingNumber string            `json:"trackingNumber"`
	Labels         map[string]string `json:"labels"`
	Pieces         []struct {
		TrackingNumber string `json:"trackingNumber"`
	} `json:"pieces"`
	Documents []struct {
		Type string `json:"type"`
		URL  string `json:"url"`
	} `json:"documents"`
}

const (
	labelFrom = `{"name":"Warehouse","company":"Sample Shop","address1":"1201 S Figueroa St","city":"Los Angeles","state":"CA","zip":"90015","country":"US","phone":"2135550100","email":"shop@example.com"}`
	labelHome = `{"name":"Ada Lovelace","address1":"350 5th Ave","city":"New York","state":"NY","zip":"10118","country":"US","phone":"2125550100"}`
	labelGone = `{"name":"Erika Mustermann","address1":"Hauptstrasse 5","city":"Berlin","zip":"10115","country":"DE","phone":"+493012345678","email":"erika@example.com"}`
	labelOwes = `,"customs":{"contentsType":"merchandise","incoterm":"DAP","signer":"Sam Shipper","invoiceNumber":"INV-1","items":[{"description":"Cotton shirt","quantity":2,"value":{"amount":"20.00","currency":"USD"},"weight":0.5,"hsCode":"610910","originCountry":"US"}]}`
)

// labelWorld is the service with a connection to every carrier's emulator.
type labelWorld struct {
	base, key   string
	stranger    string // the key of another account
	connections map[string]ship.ConnectionID
}

func newLabelWorld(t *testing.T) labelWorld {
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
	cfg := settings(t, storetest.URL(t), "CARRIER_URLS", strings.Join(urls, ","), "SPOOL_DIR", t.TempDir())
	accounts, done, err := app.OpenConnections(t.Context(), cfg, nil, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer done()

	w := labelWorld{connections: map[string]ship.ConnectionID{}}
	for i, key := range []*string{&w.key, &w.stranger} {
		owner, err := accounts.Create(t.Context(), account.Settings{Name: new(fmt.Sprint("Account ", i))})
		if err != nil {
			t.Fatal(err)
		}
		made, _, err := accounts.NewKey(t.Context(), account.NewKeyInput{Account: owner.ID})
		if err != nil {
			t.Fatal(err)
		}
		*key = string(made)
		if i > 0 {
			continue
		}
		for _, s := range standIns {
			c, err := accounts.AddConnection(t.Context(), account.AddConnectionInput{
				Tenant:      ship.Tenant{Account: owner.ID},
				Carrier:     s.name,
				Credentials: s.accepts,
			})
			if err != nil {
				t.Fatalf("%s: %v", s.name, err)
			}
			w.connections[s.name] = c.ID
		}
	}
	w.base = run(t, cfg, app.AllRoles).LocalURL()
	return w
}

// buy buys a label; rest is further fields of the body.
func (w labelWorld) buy(t *testing.T, carrier, to, rest string) labelled {
	t.Helper()
	body := `{"orderId":"1","destination":` + to + `,"origin":` + labelFrom + rest
	if id := w.connections[carrier]; id != "" {
		body += `,"connectionId":"` + string(id) + `"`
	}
	if !strings.Contains(rest, `"parcels"`) {
		body += `,"parcel":{"weight":2.5,"dimensions":{"length":12,"width":9,"height":4}}`
	}
	status, _, text := call(t, w.base, w.key, "/v1/shipments", body+"}")
	if status != http.StatusCreated {
		t.Fatalf("%s: %d %s", carrier, status, text)
	}
	var made labelled
	if err := json.Unmarshal([]byte(text), &made); err != nil {
		t.Fatal(err)
	}
	return made
}

// local returns an address of the service as this test reaches it.
func (w labelWorld) local(address string) string {
	_, path, _ := strings.Cut(strings.TrimPrefix(address, "http://"), "/")
	return w.base + "/" + path
}

// labelPapers are the page sizes of labels; DHL's are A6.
var labelPapers = map[string]string{
	"ups":         "288 x 432 pts",
	"usps":        "288 x 432 pts",
	"fedex":       "288 x 432 pts",
	"dhl_express": "298 x 420 pts",
}

// TestEveryListedLabelOfEveryCarrierScans buys over HTTP from each carrier's
// emulator, fetches every format that the response lists, and scans what a
// printer would print: upright, on one page of a label's size.
func TestEveryListedLabelOfEveryCarrierScans(t *testing.T) {
	t.Parallel()
	zbarimg, pdftoppm, pdfinfo := program(t, "zbarimg"), program(t, "pdftoppm"), program(t, "pdfinfo")
	check := zplcheck(t)
	w := newLabelWorld(t)
	for _, s := range standIns {
		made := w.buy(t, s.name, labelHome, "")
		if len(made.Labels) != 3 {
			t.Errorf("%s lists %v, want pdf, zpl and png", s.name, made.Labels)
		}
		for format, address := range made.Labels {
			resp, data := fetch(t, w.local(address), w.key)
			if resp.StatusCode != http.StatusOK {
				t.Errorf("%s as %s: %d %s", s.name, format, resp.StatusCode, data)
				continue
			}
			switch format {
			case "pdf":
				if info := strings.Join(strings.Fields(string(pipe(t, data, pdfinfo, "-"))), " "); !strings.Contains(info, "Pages: 1 ") || !strings.Contains(info, "Page size: "+labelPapers[s.name]) {
					t.Errorf("%s: not one page of %s: %s", s.name, labelPapers[s.name], info)
				}
				data = pipe(t, data, pdftoppm, "-r", "203", "-png", "-singlefile", "-")
			case "zpl":
				data = pipe(t, data, check)
			}
			path := filepath.Join(t.TempDir(), "label.png")
			if *pictures != "" {
				path = filepath.Join(*pictures, s.name+"-"+format+".png")
			}
			if err := os.WriteFile(path, data, 0o600); err != nil {
				t.Fatal(err)
			}
			read := string(pipe(t, nil, zbarimg, "--nodbus", "-q", "--raw", path))
			turned := string(pipe(t, nil, zbarimg, "--nodbus", "-q", "--xml", path))
			numbers := made.TrackingNumber
			if len(made.Pieces) > 0 && !strings.Contains(read, numbers) {
				numbers = made.Pieces[0].TrackingNumber // DHL's bar code is the piece's
			}
			if !strings.Contains(read, numbers) || !strings.Contains(turned, "orientation='UP'") {
				t.Errorf("%s as %s: %s is not read upright: %s %s", s.name, format, numbers, read, turned)
			}
		}
	}
}

// zplcheck builds the program that renders ZPL as a printer would.
func zplcheck(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "zplcheck")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", path, ".")
	build.Dir = "../label/zplcheck"
	build.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=readonly "+os.Getenv("GOFLAGS"))
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("zplcheck: %v: %s", err, out)
	}
	return path
}

// TestDocumentsAreFetchedWithAKey buys across a border and reads the documents
// that the response lists.
func TestDocumentsAreFetchedWithAKey(t *testing.T) {
	t.Parallel()
	pdfinfo := program(t, "pdfinfo")
	w := newLabelWorld(t)
	for _, s := range standIns {
		made := w.buy(t, s.name, labelGone, labelOwes)
		if len(made.Documents) == 0 {
			t.Logf("%s sends no papers", s.name)
			continue
		}
		for _, d := range made.Documents {
			resp, data := fetch(t, w.local(d.URL), w.key)
			if resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Type") != "application/pdf" || !bytes.HasPrefix(data, []byte("%PDF")) {
				t.Errorf("%s: %s: %d %s %.60q", s.name, d.Type, resp.StatusCode, resp.Header.Get("Content-Type"), data)
				continue
			}
			pipe(t, data, pdfinfo, "-")
			if resp, _ := fetch(t, w.local(d.URL), ""); resp.StatusCode != http.StatusUnauthorized {
				t.Errorf("%s: %s without a key: %d", s.name, d.Type, resp.StatusCode)
			}
			if resp, _ := fetch(t, w.local(d.URL), w.stranger); resp.StatusCode != http.StatusNotFound {
				t.Errorf("%s: %s with the key of another account: %d", s.name, d.Type, resp.StatusCode)
			}
		}
	}
}
