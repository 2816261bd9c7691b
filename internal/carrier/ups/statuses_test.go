package ups

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/ship"
)

// codeList is a part of UPS's own list.
type codeList []struct {
	Type       string `json:"type"`
	Code       string `json:"code"`
	StatusCode string `json:"status_code"`
}

// Every code that UPS lists has a row.
func TestEveryListedCodeHasARow(t *testing.T) {
	dir := os.Getenv("CARRIER_SPECS")
	if dir == "" {
		t.Skip("CARRIER_SPECS is not set: the table is not checked against UPS's own lists")
	}
	data, err := os.ReadFile(filepath.Join(dir, "ups", "tracking-codes.json"))
	if err != nil {
		t.Fatal(err)
	}
	var lists struct {
		Types      codeList `json:"activity_types"`
		Statuses   codeList `json:"status_codes"`
		Movements  codeList `json:"movement_scans"`
		Manifests  codeList `json:"manifest_codes"`
		Updates    codeList `json:"update_codes"`
		Deliveries codeList `json:"delivery_codes"`
		Exceptions codeList `json:"exception_codes"`
		Mail       codeList `json:"mail_innovations_codes"`
	}
	if err := json.Unmarshal(data, &lists); err != nil {
		t.Fatal(err)
	}
	rows := map[string]bool{}
	for _, r := range statuses.Rows() {
		rows[r.Code] = true
	}
	listed := 0
	for prefix, list := range map[string]codeList{
		"": append(lists.Types, lists.Statuses...), "I/": lists.Movements, "M/": lists.Manifests, "U/": lists.Updates,
		"D/": lists.Deliveries, "X/": lists.Exceptions, "MI/": lists.Mail,
	} {
		for _, c := range list {
			code := prefix + c.Code + c.StatusCode
			if code == "" {
				code = c.Type
			}
			if listed++; !rows[code] {
				t.Errorf("%q has no row", code)
			}
		}
	}
	t.Logf("%d listed codes have rows, of %d rows", listed, len(rows))
	if listed < 1250 {
		t.Errorf("only %d codes are listed", listed)
	}
}

func TestRowsAreWritable(t *testing.T) {
	word := regexp.MustCompile(`^[a-z]+(_[a-z]+)*$`)
	for _, r := range statuses.Rows() {
		if r.Reason != "" && !word.MatchString(r.Reason) || r.Status == "" && r.Reason != "" {
			t.Errorf("%s: reason %q of status %q", r.Code, r.Reason, r.Status)
		}
		if r.Meaning == "" || r.Meaning != strings.TrimSpace(r.Meaning) {
			t.Errorf("%s: meaning %q", r.Code, r.Meaning)
		}
		if r.Status == ship.Exception && r.Reason == "" {
			t.Errorf("%s: an exception without a reason", r.Code)
		}
	}
}

func TestTheMostParticularCodeDecides(t *testing.T) {
	for code, want := range map[string]string{
		"D/F4/011":      "delivered ",                   // by its status
		"I/AR/005":      "in_transit ",                  //
		"I/OR/005":      "picked_up ",                   // by all three
		"I/OR":          "picked_up ",                   // by its activity
		"I/OT/072":      "in_transit ",                  // loaded, not on the road
		"X/48/022":      "exception delivery_attempted", //
		"X/7W/048":      "exception weather_delay",      // a delay about which the activity says more
		"X/AG/013":      "exception address_not_found",  //
		"X/30/013":      "exception carrier_exception",  // the activity alone would not change the status
		"X/AG/064":      "exception refused",            // a status that is not vague
		"X/4C/013":      "exception carrier_exception",  // an activity that means something else
		"X/7W":          "exception weather_delay",
		"X//064":        "exception refused",
		"U/UP/154":      " ",
		"U/UP":          " ",
		"I/CA":          " ",
		"M/QQ":          "label_generated ",
		"MV/VP/007":     "exception voided",
		"MI/X/EG":       "exception address_not_found",
		"MI/X/EG/026":   "delivered ",
		"MI/D/ZT/999":   "in_transit ",
		"D":             "delivered ",
		"I":             "in_transit ",
		"X/2W":          "",
		"I/QQ":          "",
		"I/QQ/999":      "",
		"D/QQ":          "",
		"X/QQ/999":      "",
		"D//999":        "",
		"":              "",
		"/":             "",
		"MI/":           "",
		"MI/I/Z0":       "",
		"022/022/022/1": "",
	} {
		status, reason, known := meaning(code)
		got := string(status) + " " + reason
		if !known {
			if status != "" || reason != ship.ReasonUnmapped {
				t.Errorf("%q is unknown but means %q", code, got)
			}
			got = ""
		}
		if got != want {
			t.Errorf("%q means %q, want %q", code, got, want)
		}
	}
}

func TestCodesAreReadBack(t *testing.T) {
	for _, m := range []mark{
		{false, "X", "48", "022"},
		{false, "X", "48", ""},
		{false, "X", "", "022"},
		{false, "X", "", ""},
		{true, "D", "YC", "026"},
		{true, "I", "", ""},
		{},
	} {
		if got := markOf(m.code()); got != m {
			t.Errorf("%+v is %q and read back %+v", m, m.code(), got)
		}
	}
	for in, want := range map[string]string{"11": "011", "5": "005", "011": "011", " 022 ": "022", "": "", "ab": "AB", "1234567890": "12345678"} {
		if got := cleanStatus(in); got != want {
			t.Errorf("cleanStatus(%q) = %q, want %q", in, got, want)
		}
	}
}
