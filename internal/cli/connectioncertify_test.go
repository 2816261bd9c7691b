package cli_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/cli"
)

// emulatedUPS returns a shell with a UPS emulator and a test connection to it.
func emulatedUPS(t *testing.T, faults string) (s shell, connection, address string) {
	t.Helper()
	text := shell{}.start(t, "emulate", "ups", "--listen", "127.0.0.1:0", "--faults", faults, "--lookup-scale", "0").said(t)
	base := regexp.MustCompile(`CARRIER_URLS=(ups=\S+)`).FindStringSubmatch(text)[1]
	address = regexp.MustCompile(`http://127\.0\.0\.1:\d+`).FindString(text)

	s = newShell(t)
	s["SECRET_KEY"] = keyOf(7)
	s["CARRIER_URLS"] = base
	s.must(t, "account", "create", "--name", "Acme shop")
	args := []string{"connection", "add", "--carrier", "ups"}
	for field, value := range credentialsIn(text) {
		args = append(args, "--set", field+"="+value)
	}
	return s, strings.TrimSpace(s.must(t, args...)), address
}

// TestAConnectionIsCertified runs the command over an emulated carrier.
func TestAConnectionIsCertified(t *testing.T) {
	t.Parallel()
	s, connection, address := emulatedUPS(t, "{}")
	dir := filepath.Join(t.TempDir(), "report")
	out, said, err := s.run(t, "connection", "certify", connection, "--out", dir)
	if err != nil {
		t.Fatalf("%v\n%s%s", err, out, said)
	}
	for _, want := range []string{"will buy:", "domestic: one parcel within US", "void all of it", " 0 failed"} {
		if !strings.Contains(said, want) {
			t.Errorf("it does not say %q:\n%s", want, said)
		}
	}
	if strings.Index(said, "will buy") > strings.Index(said, " ok, ") || !strings.Contains(out, "ok            void, international: voided") {
		t.Errorf("it prints\n%s%s", said, out)
	}

	ledger := fetch(t, address+"/_emulator/ledger")
	if strings.Count(ledger, `"kind":"sold"`) != 3 || strings.Count(ledger, `"kind":"voided"`) != 3 {
		t.Errorf("the ledger reads\n%s", ledger)
	}
	for _, file := range []string{"report.md", "report.json", "labels/domestic.pdf", "labels/multi-piece.zpl", "labels/international.png", "go-live/steps.md"} {
		if info, err := os.Stat(filepath.Join(dir, file)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", file, err)
		}
	}
	exchanges, err := filepath.Glob(filepath.Join(dir, "exchanges", "*-buy.json"))
	if err != nil || len(exchanges) != 3 {
		t.Errorf("exchanges of purchases: %v, %v", exchanges, err)
	}

	if _, _, err := s.run(t, "connection", "certify", connection, "--out", dir); err == nil || !strings.Contains(err.Error(), "is not empty") {
		t.Errorf("a second run into the same directory: %v", err)
	}
}

// TestACertificationThatFailsEndsWithOne makes the carrier refuse every
// purchase.
func TestACertificationThatFailsEndsWithOne(t *testing.T) {
	t.Parallel()
	s, connection, _ := emulatedUPS(t, `{"refuse":1}`)
	out, said, err := s.run(t, "connection", "certify", connection, "--out", t.TempDir(), "--json")
	if !errors.Is(err, cli.ErrUnhealthy) {
		t.Errorf("it ends with %v\n%s", err, said)
	}
	var report struct {
		Carrier string
		Checks  []struct{ Name, Result, CarrierCode, Message string }
	}
	if err := json.Unmarshal([]byte(out), &report); err != nil || report.Carrier != "ups" {
		t.Fatalf("%v: it prints %s", err, out)
	}
	for _, c := range report.Checks {
		if c.Name == "purchase, domestic" && (c.Result != "failed" || c.CarrierCode != "120802" || !strings.Contains(c.Message, "Address Validation Error")) {
			t.Errorf("the purchase is %+v", c)
		}
	}
}

func TestALiveConnectionIsCertifiedOnlyOnRequest(t *testing.T) {
	t.Parallel()
	c := newCounter(t)
	c.must(t, "account", "create", "--name", "Acme shop")
	add := []string{"connection", "add", "--carrier", "acme", "--set", "account_number=A1", "--set", "client_secret=" + secret}
	live := c.must(t, append(add, "--live")...)
	test := c.must(t, add...)
	for want, args := range map[string][]string{
		"this connection is live":      {live, "--out", t.TempDir()},
		"this connection is a test":    {test, "--out", t.TempDir(), "--live"},
		"--out DIR":                    {test},
		`has no service "no_such"`:     {test, "--out", t.TempDir(), "--services", "no_such"},
		"is not the id of a connectio": {"con_1", "--out", t.TempDir()},
	} {
		_, err := c.run(t, nil, append([]string{"connection", "certify"}, args...)...)
		if err == nil || !strings.Contains(cli.Explain(err), want) {
			t.Errorf("%v: %v, want it to say %q", args, err, want)
		}
	}
}
