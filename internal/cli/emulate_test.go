package cli_test

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/all"
	"github.com/waybillhq/waybill/internal/carrier/carriertest"
	"github.com/waybillhq/waybill/internal/cli"
)

// said waits for the first output of a command.
func (s started) said(t *testing.T) string {
	t.Helper()
	select {
	case text := <-s.lines:
		return text
	case <-time.After(20 * time.Second):
		t.Fatal("it says nothing")
	}
	return ""
}

// credentialsIn returns the credentials that the command printed.
func credentialsIn(text string) carrier.Credentials {
	list, _, _ := strings.Cut(text, "Set this")
	given := carrier.Credentials{}
	for _, m := range regexp.MustCompile(`(?m)^  ([a-z_]+) +(\S+)$`).FindAllStringSubmatch(list, -1) {
		given[m[1]] = m[2]
	}
	return given
}

// TestEmulateSaysHowToConnect connects with nothing but what the command
// prints.
func TestEmulateSaysHowToConnect(t *testing.T) {
	t.Parallel()
	for _, spec := range all.Specs {
		t.Run(spec.Name, func(t *testing.T) {
			t.Parallel()
			e := shell{}.start(t, "emulate", spec.Name, "--listen", "127.0.0.1:0")
			text := e.said(t)
			base := regexp.MustCompile(`(?m)^  export CARRIER_URLS=` + spec.Name + `=(http://127\.0\.0\.1:\d+\S*)$`).FindStringSubmatch(text)
			if base == nil {
				t.Fatalf("it says\n%s", text)
			}
			given := credentialsIn(text)
			for name, value := range given {
				if !regexp.MustCompile(`(?m)^  waybill connection add --carrier ` + spec.Name + `.* --set ` + name + `=` + value + `( |$)`).MatchString(text) {
					t.Errorf("the command that connects it lacks %s:\n%s", name, text)
				}
			}
			c, err := carrier.Open(spec, carrier.Opening{Credentials: given, BaseURL: base[1], Via: carriertest.Via(t)})
			if err != nil {
				t.Fatalf("with %v: %v", given, err)
			}
			if err := c.Check(t.Context()); err != nil {
				t.Errorf("with %v at %s: %v", given, base[1], err)
			}
			if err := e.stop(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestEmulateGoesOnWithItsLedgerAndFaults(t *testing.T) {
	t.Parallel()
	ledger, faults := filepath.Join(t.TempDir(), "ledger"), filepath.Join(t.TempDir(), "faults.json")
	sold := `{"line":1,"at":"2027-01-31T12:00:00Z","kind":"sold","number":"1Z","reference":"S1"}` + "\n"
	if err := os.WriteFile(ledger, []byte(sold), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(faults, []byte(`{"latency":"1ms"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, how := range []string{`{"latency":"1ms"}`, faults, "@" + faults} {
		text := shell{}.start(t, "emulate", "ups", "--listen", "127.0.0.1:0", "--ledger", ledger, "--faults", how).said(t)
		address := regexp.MustCompile(`http://127\.0\.0\.1:\d+`).FindString(text)
		if got := fetch(t, address+"/_emulator/ledger"); !strings.Contains(got, `"number":"1Z","reference":"S1"`) {
			t.Errorf("the ledger reads %s", got)
		}
		if got := fetch(t, address+"/_emulator/faults"); strings.TrimSpace(got) != `{"latency":"1ms"}` {
			t.Errorf("with %s the faults read %s", how, got)
		}
	}
}

// TestEmulateStopsWhileItHangs makes a client wait for a response that never
// comes.
func TestEmulateStopsWhileItHangs(t *testing.T) {
	t.Parallel()
	e := shell{}.start(t, "emulate", "ups", "--listen", "127.0.0.1:0", "--faults", `{"stall":1}`)
	address := regexp.MustCompile(`CARRIER_URLS=ups=(\S+)`).FindStringSubmatch(e.said(t))[1]
	hung := make(chan error, 1)
	go func() {
		resp, err := http.Post(strings.TrimSuffix(address, "/api")+"/security/v1/oauth/token", "application/x-www-form-urlencoded", nil)
		if err == nil {
			resp.Body.Close()
		}
		hung <- err
	}()
	select {
	case err := <-hung:
		t.Fatalf("it answers: %v", err)
	case <-time.After(200 * time.Millisecond):
	}
	start := time.Now()
	if err := e.stop(); err != nil || time.Since(start) > 10*time.Second {
		t.Errorf("stopped after %v: %v", time.Since(start), err)
	}
	if err := <-hung; err == nil {
		t.Error("the client has an answer")
	}
}

// TestTheDocumentsExampleBuysOnce runs the commands of docs/emulators.md.
func TestTheDocumentsExampleBuysOnce(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{"bash", "curl", "sed", "cut"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(err)
		}
	}
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "emulators.md"))
	if err != nil {
		t.Fatal(err)
	}
	text := shell{}.start(t, "emulate", "ups", "--listen", "127.0.0.1:0", "--lookup-scale", "0").said(t)
	script := "set -eu\n"
	for name, value := range credentialsIn(text) {
		script += "UPS_" + strings.ToUpper(name) + "=" + value + "\n"
	}
	address := regexp.MustCompile(`http://127\.0\.0\.1:\d+`).FindString(text)
	script += "UPS=" + address + "\n"
	for _, block := range strings.Split(string(page), "<!-- example -->\n```sh\n")[1:] {
		commands, _, _ := strings.Cut(block, "```")
		script += commands
	}
	out, _ := exec.CommandContext(t.Context(), "bash", "-c", script).CombinedOutput()
	if !regexp.MustCompile(`(?s)no answer: was it bought\?\n.*"reference":"ORDER-1001".*\n\{"LabelRecoveryResponse"`).Match(out) {
		t.Errorf("the example says\n%s", out)
	}
	if ledger := fetch(t, address+"/_emulator/ledger"); strings.Count(ledger, "\n") != 1 {
		t.Errorf("the ledger reads\n%s", ledger)
	}
}

func TestEmulateExplainsWhatItNeeds(t *testing.T) {
	t.Parallel()
	for want, args := range map[string][]string{
		"choose from ups, usps, fedex, dhl_express":        {"acme"},
		"got 0: waybill emulate CARRIER":                   {},
		"--faults must be JSON or the path of a JSON file": {"ups", "--faults", "/nowhere/faults.json"},
		"unknown field":           {"ups", "--faults", `{"latencies":"1s"}`},
		`unknown fault "explode"`: {"ups", "--faults", `{"buy":{"explode":1}}`},
		"--lookup-scale is -1":    {"ups", "--lookup-scale", "-1"},
		"open the ledger":         {"ups", "--ledger", "/nowhere/ledger"},
		"listen tcp":              {"ups", "--listen", "nowhere"},
	} {
		_, _, err := shell{}.run(t, append([]string{"emulate"}, args...)...)
		if err == nil || !strings.Contains(cli.Explain(err), want) {
			t.Errorf("%v: %v, want it to say %q", args, err, want)
		}
	}
}
