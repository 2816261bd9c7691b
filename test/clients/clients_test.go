//go:build clients

// Package clients walks through a new user's first hour in Go, TypeScript and
// Python against the real binary, and generates clients from /openapi.json with
// the generators that people use. It needs node, npm and python3, and fetches
// the generators; "make release-check" runs it.
package clients

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/waybillhq/waybill/client"
)

// A service is a running binary with a test key.
type service struct {
	URL    string `json:"url"`
	APIKey string `json:"apiKey"`
}

// start runs the binary as "make dev" does, with a database of its own.
func start(t *testing.T) service {
	t.Helper()
	command := exec.Command(filepath.Join("..", "..", "bin", "waybill"),
		"dev", "--json", "--no-sink", "--listen", "127.0.0.1:0", "--data-dir", dataDir(t))
	command.Env = append(os.Environ(), "DATABASE_URL=", "LOG_LEVEL=ERROR", "METRICS_LISTEN=off")
	command.Stderr = os.Stderr
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatalf("%v: run make build first", err)
	}
	t.Cleanup(func() {
		_ = command.Process.Signal(syscall.SIGTERM)
		_ = command.Wait()
	})

	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err != nil {
		t.Fatal(err)
	}
	var ready service
	if err := json.Unmarshal(line, &ready); err != nil || ready.URL == "" || ready.APIKey == "" {
		t.Fatalf("dev prints %q (%v)", line, err)
	}
	return ready
}

// dataDir is a temporary directory that another user may enter: run by root,
// the private Postgres runs as its own user.
func dataDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "waybill-clients")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })

	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// run runs a program in the folder of this package and returns what it printed.
func (s service) run(t *testing.T, program string, args ...string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), program, args...)
	command.Env = append(os.Environ(), "WAYBILL_URL="+s.URL, "WAYBILL_KEY="+s.APIKey)
	out, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", program, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// document fetches /openapi.json as a user of a generator does.
func (s service) document(t *testing.T, path string) {
	t.Helper()
	answer, err := http.Get(s.URL + "/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()

	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("GET /openapi.json: %d, %v", answer.StatusCode, err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text, 0o644); err != nil {
		t.Fatal(err)
	}
}

// clean removes what an earlier run generated, so that nothing of it is tested.
func clean(t *testing.T, paths ...string) {
	t.Helper()
	for _, path := range paths {
		if err := os.RemoveAll(filepath.Join(".out", path)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestTypeScript(t *testing.T) {
	s := start(t)
	clean(t, "openapi.json", "types.d.ts", "hey", "walk.mjs", "generated.mjs")
	s.document(t, ".out/openapi.json")
	s.run(t, "npm", "ci", "--silent", "--no-audit", "--no-fund")
	s.run(t, "npx", "openapi-typescript", ".out/openapi.json", "-o", ".out/types.d.ts")

	// Without "./" the program takes the path for a name in its registry.
	s.run(t, "npx", "openapi-ts", "-i", "./.out/openapi.json", "-o", ".out/hey")

	// The compiler also fails where it accepts a line that is marked as wrong.
	s.run(t, "npx", "tsc", "--noEmit")

	// The programs import generated TypeScript, so they are bundled first.
	for _, program := range []string{"walk", "generated"} {
		s.run(t, "npx", "esbuild", program+".ts", "--bundle", "--platform=node", "--format=esm", "--target=node20", "--outfile=.out/"+program+".mjs")
		if out := s.run(t, "node", ".out/"+program+".mjs"); strings.TrimSpace(out) != "ok" {
			t.Errorf("%s printed %s", program, out)
		}
	}
}

func TestPython(t *testing.T) {
	s := start(t)
	clean(t, "openapi.json", "python")
	s.document(t, ".out/openapi.json")

	// The generator runs ruff in another directory, so the path is absolute.
	programs, err := filepath.Abs(filepath.Join(".out", "venv", "bin"))
	if err != nil {
		t.Fatal(err)
	}
	python := filepath.Join(programs, "python")
	s.run(t, "python3", "-m", "venv", ".out/venv")
	s.run(t, python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", "requirements.txt")
	if out := s.run(t, python, "walk.py"); strings.TrimSpace(out) != "ok" {
		t.Errorf("walk.py printed %s", out)
	}

	path := "PATH=" + programs + string(os.PathListSeparator) + os.Getenv("PATH")
	s.run(t, "env", path, "openapi-python-client", "generate", "--path", ".out/openapi.json", "--config", "python-client.yaml",
		"--output-path", ".out/python", "--fail-on-warning")

	// An ignored error that is no error fails: that is how wrong types are shown
	// to be rejected.
	s.run(t, "env", "MYPYPATH=.out/python", python, "-m", "mypy", "--strict", "--follow-imports=silent", "--cache-dir=.out/mypy", "generated.py")
	if out := s.run(t, "env", "PYTHONPATH=.out/python", python, "generated.py"); strings.TrimSpace(out) != "ok" {
		t.Errorf("generated.py printed %s", out)
	}
}

func TestGo(t *testing.T) {
	s := start(t)
	api := client.New(s.APIKey, client.Options{BaseURL: s.URL})

	var secret string
	events := make(chan client.Event, 16)
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		event, err := client.VerifyWebhook(secret, r.Header, body)
		if err != nil {
			t.Errorf("a webhook does not verify: %v", err)
		}
		if _, err := client.VerifyWebhook(secret, r.Header, append(body, ' ')); err == nil {
			t.Error("a webhook that was changed on its way verifies")
		}
		events <- event
	}))
	defer receiver.Close()
	webhook, err := api.CreateWebhook(t.Context(), client.WebhookRequest{URL: receiver.URL + "/hook"})
	if err != nil {
		t.Fatal(err)
	}
	secret = webhook.Secret

	order := client.ShipmentRequest{
		OrderID: "GO-1",
		Destination: client.Address{
			Name:     "Jan Jansen",
			Address1: "Damrak 1",
			City:     "Amsterdam",
			Zip:      "1012 LG",
			Country:  "NL",
			Phone:    "+31 20 555 0100",
			Type:     "consumer",
		},
		Parcels: []client.Parcel{{Weight: 1}, {Weight: 2}},
		Carrier: "dhl_express",
		Customs: &client.Customs{
			ContentsType:   "merchandise",
			TaxIdentifiers: []client.TaxIdentifier{{Type: "ioss", Number: "IM2760000742"}},
			Items: []client.CustomsItem{{
				Description:   "Cotton shirt",
				Quantity:      2,
				Value:         client.Money{Amount: "20.00", Currency: "USD"},
				Weight:        0.5,
				HSCode:        "610910",
				OriginCountry: "PT",
			}},
		},
	}
	bought, err := api.CreateShipment(t.Context(), order)
	if err != nil {
		t.Fatal(err)
	}
	label, err := api.Label(t.Context(), bought.ID, client.LabelOptions{})
	if err != nil || !strings.HasPrefix(string(label), "%PDF-") {
		t.Errorf("the label: %d bytes, %v", len(label), err)
	}
	if len(bought.Pieces) != 2 {
		t.Errorf("the shipment has %d pieces, want 2", len(bought.Pieces))
	}

	duplicate, err := api.Duplicate(t.Context(), bought.ID)
	if err != nil || duplicate.OrderID != order.OrderID || len(duplicate.Parcels) != 2 || duplicate.Customs == nil {
		t.Errorf("the duplicate is %+v, %v", duplicate, err)
	}
	again, err := api.CreateShipment(t.Context(), duplicate)
	if err != nil || again.PossibleDuplicateOf != bought.ID {
		t.Errorf("shipped again: possible duplicate of %q, %v", again.PossibleDuplicateOf, err)
	}

	back, err := api.Return(t.Context(), bought.ID, client.ReturnRequest{Parcel: &client.Parcel{Weight: 1}})
	if err != nil || !back.IsReturn || back.ReturnOf != bought.ID || len(back.Pieces) != 1 {
		t.Errorf("the return is %+v, %v", back, err)
	}

	wrong := order
	wrong.Destination.Zip = "0"
	_, err = api.CreateShipment(t.Context(), wrong)
	problem, ok := errors.AsType[*client.Error](err)
	if !ok || len(problem.Errors) == 0 || problem.Errors[0].Pointer != "/destination/zip" {
		t.Errorf("a wrong postal code: %v", err)
	}

	voided, err := api.Void(t.Context(), bought.ID)
	if err != nil || voided.LabelStatus != "voided" {
		t.Errorf("the void: label status %q, %v", voided.LabelStatus, err)
	}
	select {
	case event := <-events:
		if event.ID == "" || event.Type == "" {
			t.Errorf("the event is %+v", event)
		}
	case <-time.After(20 * time.Second):
		t.Error("no signed event arrived")
	}
}
