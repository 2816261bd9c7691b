package fedex

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/waybillhq/waybill/internal/ship"
)

func TestLongCodesMeanWhatTheirPartsMean(t *testing.T) {
	for code, want := range map[string]struct {
		status ship.Status
		reason string
		known  bool
	}{
		"DL":              {ship.Delivered, "", true},
		"DL/A1":           {ship.Delivered, "", true},
		"DE/08":           {ship.Exception, "recipient_unavailable", true},
		"DE/08/GENERAL":   {ship.Exception, "recipient_unavailable", true},
		"DE/08/WEATHER":   {ship.Exception, "weather_delay", true},
		"DE/ZZ/QQ":        {ship.Exception, "delivery_attempt_failed", true},
		"AE/A1":           {"", "estimate_updated", true},
		"IN":              {"", "care_completed", true},
		"DERIVED/IN":      {ship.LabelGenerated, "", true},
		"DERIVED/ZZ":      {"", ship.ReasonUnmapped, false},
		"QX":              {"", ship.ReasonUnmapped, false},
		"QX/08":           {"", ship.ReasonUnmapped, false},
		"":                {"", ship.ReasonUnmapped, false},
		"DE/08/GENERAL/X": {"", ship.ReasonUnmapped, false},
	} {
		if status, reason, known := meaning(code); status != want.status || reason != want.reason || known != want.known {
			t.Errorf("%s means %s/%s (%v), want %+v", code, status, reason, known, want)
		}
	}
}

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

// TestEveryCodeOfFedExHasARow checks the table against the lists that FedEx
// publishes and against their earlier interpretation.
func TestEveryCodeOfFedExHasARow(t *testing.T) {
	dir := os.Getenv("CARRIER_SPECS")
	if dir == "" {
		t.Skip("CARRIER_SPECS is not set")
	}
	data, err := os.ReadFile(filepath.Join(dir, "fedex", "reference", "tracking-status-map.json"))
	if err != nil {
		t.Fatal(err)
	}
	type listed struct{ Code, Normalized string }
	var list struct {
		Codes   []listed `json:"codes"`
		Derived []listed `json:"derived_codes"`
	}
	if err := json.Unmarshal(data, &list); err != nil || len(list.Codes) < 60 || len(list.Derived) == 0 {
		t.Fatalf("%d codes: %v", len(list.Codes), err)
	}
	for _, c := range list.Derived {
		list.Codes = append(list.Codes, listed{derivedCode + "/" + c.Code, c.Normalized})
	}
	for _, c := range list.Codes {
		status, _, known := statuses.Meaning(c.Code)
		if !known || string(status) != c.Normalized {
			t.Errorf("%s is %q, known %v, want %q", c.Code, status, known, c.Normalized)
		}
	}
	t.Logf("%d of %d codes have a row; the table has %d", len(list.Codes), len(list.Codes), len(statuses.Rows()))
}
