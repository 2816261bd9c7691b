package cli_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/cli"
)

// hostile sets the title of a terminal, hides what follows and turns its direction.
const hostile = "Out for delivery\x1b]0;pwned\a\x1b[8m\u202e\u009b2J\r!"

func TestTextsOfCarriersDoNotControlTheTerminal(t *testing.T) {
	t.Parallel()
	description, err := json.Marshal(hostile)
	if err != nil {
		t.Fatal(err)
	}
	address := newServer(t, func(string, []byte) string {
		return `{"carrier":"ups","trackingNumber":"1Z","status":"in_transit","events":[
			{"timestamp":"2026-01-02T03:04:05Z","description":` + string(description) + `,"location":` + string(description) + `}]}`
	})

	service := shell{"WAYBILL_URL": address, "WAYBILL_KEY": "sk_test_1", "WAYBILL_CONFIG_DIR": t.TempDir()}
	text, _, err := service.run(t, "track", "1Z")
	if err != nil {
		t.Fatal(cli.Explain(err))
	}
	if !strings.Contains(text, "Out for delivery") || strings.ContainsAny(text, "\x1b\a\r\u009b\u202e") {
		t.Errorf("printed %q", text)
	}
}

func TestOnlyColoursOfOurOwnReachATerminal(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"plain\tline\n":            "plain\tline\n",
		"\x1b[31m500\x1b[0m  GET":  "\x1b[31m500\x1b[0m  GET",
		"\x1b[8mhidden":            " [8mhidden",
		"\x1b]0;title\a":           " ]0;title ",
		"\r\x1b[Kover":             "  [Kover",
		"a\u009b31mb\u202ec\x7fd":  "a 31mb c d",
		"Grüße\x1b[32m ok\x1b[0m!": "Grüße\x1b[32m ok\x1b[0m!",
	} {
		if got := cli.PrintableLines(text); got != want {
			t.Errorf("%q is printed as %q, want %q", text, got, want)
		}
	}
}

func TestOnlyPagesOfTheServiceAreOpened(t *testing.T) {
	t.Parallel()
	for page, want := range map[string]bool{
		"https://ship.example.com/app/device?code=1":    true,
		"https://ship.example.com.evil.test/app/device": false,
		"https://ship.example.com@evil.test/app/device": false,
		"http://ship.example.com/app/device":            false,
		"https://ship.example.com:8443/app/device":      false,
		"https://user@ship.example.com/app/device":      false,
		"file:///usr/share/applications/calc.desktop":   false,
		"javascript:alert(1)":                           false,
		"https:ship.example.com/app":                    false,
		"vnc://ship.example.com/":                       false,
		"":                                              false,
	} {
		if got := cli.IsUnder("https://ship.example.com", page); got != want {
			t.Errorf("%q is under the service: %t", page, got)
		}
	}
	if cli.IsUnder("https://example.com/ship", "https://example.com/other") {
		t.Error("a page beside the path of the service is under it")
	}
}
