package dhlexpress

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/waybillhq/waybill/internal/ship"
)

func TestReasonsAreWords(t *testing.T) {
	word := regexp.MustCompile(`^[a-z]+(_[a-z]+)*$`)
	for _, r := range statuses.Rows() {
		if r.Reason != "" && !word.MatchString(r.Reason) || r.Meaning == "" || r.Reason == ship.ReasonUnmapped {
			t.Errorf("%+v", r)
		}
		if r.Status == ship.Exception && r.Reason == "" {
			t.Errorf("%s is an exception without a reason", r.Code)
		}
	}
}

// TestEveryCheckpointOfDHLHasARow checks the table against the list that DHL
// publishes and against its earlier interpretation.
func TestEveryCheckpointOfDHLHasARow(t *testing.T) {
	dir := os.Getenv("CARRIER_SPECS")
	if dir == "" {
		t.Skip("CARRIER_SPECS is not set")
	}
	data, err := os.ReadFile(filepath.Join(dir, "dhl-express", "reference", "tracking-event-map.json"))
	if err != nil {
		t.Fatal(err)
	}
	var list struct {
		Codes []struct{ Code, Normalized string } `json:"codes"`
	}
	if err := json.Unmarshal(data, &list); err != nil || len(list.Codes) < 60 {
		t.Fatalf("%d codes: %v", len(list.Codes), err)
	}
	for _, c := range list.Codes {
		status, _, known := meaning(c.Code)
		if !known || string(status) != c.Normalized {
			t.Errorf("%s is %q, known %v, want %q", c.Code, status, known, c.Normalized)
		}
	}
	t.Logf("%d codes, %d rows", len(list.Codes), len(statuses.Rows()))
}

func TestScansWithoutAnOffsetAreDatedByTheirCountry(t *testing.T) {
	for area, want := range map[string]string{
		"LEIPZIG-DE":      "Europe/Berlin",
		"TENERIFE-IC":     "Atlantic/Canary",
		"HANOI-VN":        "Asia/Ho_Chi_Minh",
		"DUBLIN-IE":       "Europe/Dublin",
		"ST. THOMAS-VI":   "America/St_Thomas",
		"CINCINNATI-US":   "",
		"SAO PAULO-BR":    "",
		"NOWHERE AT ALL-": "",
	} {
		var c checkpoint
		if !decodeLeniently([]byte(`{"serviceArea":[{"description":"`+area+`"}]}`), &c) {
			t.Fatal(area)
		}
		got := ""
		if zone, certain := c.zone(); certain {
			got = zone.String()
		}
		if got != want {
			t.Errorf("%s is in %q, want %q", area, got, want)
		}
	}
}
