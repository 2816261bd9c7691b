package all_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/all"
	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
)

// A coverage says how many of a carrier's codes its status table covers.
type coverage struct {
	file   string              // files of its own lists, below CARRIER_SPECS
	lists  map[string]codeForm // by their names in the file
	listed int                 // codes in them, each once
	// without are the listed codes that the table has no meaning for, each
	// with the reason why not.
	without map[string]string
	unknown string // what the lists leave out, and how that is handled
}

// A codeForm describes how codes are written in a list and in scans.
type codeForm struct {
	member string // of a row
	scan   func(string) string
}

func as(member, prefix string) codeForm {
	return codeForm{member, func(code string) string { return prefix + code }}
}

// coverages are those of the carriers that publish lists of their codes, or
// whose unlisted codes are handled specially.
var coverages = map[string]coverage{
	"ups": {
		file: "ups/tracking-codes.json", listed: 1267,
		lists: map[string]codeForm{
			"activity_types": as("type", ""), "status_codes": as("status_code", ""), "movement_scans": as("code", "I/"), "manifest_codes": as("code", "M/"),
			"update_codes": as("code", "U/"), "delivery_codes": as("code", "D/"), "exception_codes": as("code", "X/"), "mail_innovations_codes": as("code", "MI/"),
		},
		unknown: "A new code is mapped by the status that UPS reports with the activity.",
	},
	"usps": {
		file: "usps/tracking-codes.json", listed: 78,
		lists: map[string]codeForm{
			"event_codes": as("event_code", ""),
			"status_categories": {"status_category", func(words string) string {
				return "/" + regexp.MustCompile(`[^a-z0-9]+`).ReplaceAllString(strings.ToLower(words), "_")
			}},
		},
		unknown: "USPS has hundreds of other codes without an available list: their events are mapped by their text.",
	},
	"fedex": {
		file: "fedex/reference/tracking-status-map.json", listed: 72,
		lists:   map[string]codeForm{"codes": as("code", ""), "derived_codes": as("code", "DERIVED/")},
		unknown: "Exceptions and delay reasons that FedEx does not list are mapped by their event type.",
	},
	"dhl_express": {
		file: "dhl-express/reference/tracking-event-map.json", listed: 62,
		lists: map[string]codeForm{"codes": as("code", "")},
	},
}

// trackingRows returns the document's table of how carriers report on parcels.
func trackingRows(t *testing.T) []row {
	return []row{
		{"parcels per tracking batch", func(c described) string {
			if !c.can("track") {
				return "-"
			}
			return strconv.Itoa(max(c.TrackBatch, 1))
		}},
		{"sends pushes", able("hear")},
		{"push subscription", func(c described) string {
			switch {
			case !c.can("hear"):
				return "-"
			case !c.can("subscribe"):
				return "manual, in the carrier's portal"
			case c.SubscribeBatch == 0:
				return "automatic, for the whole account"
			}
			return fmt.Sprintf("automatic, %d parcels per call", c.SubscribeBatch)
		}},
		{"published status codes", ofLists(func(cover coverage) int { return cover.listed })},
		{"of these, not mapped", ofLists(func(cover coverage) int { return len(cover.without) })},
		{"rows in the status table", func(c described) string { return strconv.Itoa(len(statusRows(t, c.Spec))) }},
		{"of these, without effect on the status", func(c described) string {
			rows := slices.DeleteFunc(statusRows(t, c.Spec), func(r carrierkit.StatusRow) bool { return r.Status != "" })
			return strconv.Itoa(len(rows))
		}},
	}
}

// ofLists formats a number about a carrier's own lists; "-" if it publishes
// none.
func ofLists(count func(coverage) int) func(described) string {
	return func(c described) string {
		cover, hasLists := coverages[c.Name]
		if !hasLists {
			return "-"
		}
		return strconv.Itoa(count(cover))
	}
}

// describeTracking writes the document's section on tracking.
func describeTracking(t *testing.T, b *strings.Builder, list []described) {
	b.WriteString("\n## Tracking\n\n")
	table(b, list, trackingRows(t))
	b.WriteString("\nA status table has one row per code, or per combination of a code and its qualifier. Codes that are not published are handled as follows:\n\n")
	for _, c := range list {
		cover := coverages[c.Name]
		fmt.Fprintf(b, "- %s: %s", c.Title, cmp.Or(cover.unknown, "A new code is unmapped."))
		for _, code := range slices.Sorted(maps.Keys(cover.without)) {
			fmt.Fprintf(b, " `%s` is not mapped: %s.", code, cover.without[code])
		}
		b.WriteString("\n")
	}
	b.WriteString("\n[tracking.md](tracking.md) describes how parcels are tracked.\n")
}

// statusRows returns a carrier's table.
func statusRows(t *testing.T, s carrier.Spec) []carrierkit.StatusRow {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", strings.ReplaceAll(s.Name, "_", ""), "statuses.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	table, err := carrierkit.ReadStatuses(string(text))
	if err != nil {
		t.Fatal(err)
	}
	return table.Rows()
}

// listedCodes returns the codes of a carrier's own lists, as scans have them.
func listedCodes(t *testing.T, c coverage) []string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(os.Getenv("CARRIER_SPECS"), filepath.FromSlash(c.file)))
	if err != nil {
		t.Fatal(err)
	}
	var file map[string]json.RawMessage
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	var codes []string
	for name, form := range c.lists {
		var rows []map[string]any
		if err := json.Unmarshal(file[name], &rows); err != nil || len(rows) == 0 {
			t.Errorf("%s: %d rows in %s, %v", c.file, len(rows), name, err)
		}
		for _, r := range rows {
			code, ok := r[form.member].(string)
			if !ok || code == "" {
				t.Errorf("%s: a row of %s has no %s", c.file, name, form.member)
			}
			codes = append(codes, form.scan(code))
		}
	}
	slices.Sort(codes)
	return slices.Compact(codes)
}

func TestEveryCodeOfTheCarriersListsHasAMeaningOrAReason(t *testing.T) {
	if os.Getenv("CARRIER_SPECS") == "" {
		t.Skip("CARRIER_SPECS names no folder of carriers' data")
	}
	for _, s := range all.Specs {
		c, hasLists := coverages[s.Name]
		if !hasLists {
			continue
		}
		codes := listedCodes(t, c)
		if len(codes) != c.listed {
			t.Errorf("%s lists %d codes, and the document says %d", s.Title, len(codes), c.listed)
		}
		for _, code := range codes {
			_, _, known := s.MeaningOf(code)
			if why := c.without[code]; known == (why != "") {
				t.Errorf("%s: %s has a meaning: %t; a reason why not: %q", s.Title, code, known, why)
			}
		}
		for code := range c.without {
			if !slices.Contains(codes, code) {
				t.Errorf("%s: %s is excused and not listed", s.Title, code)
			}
		}
	}
}

// TestEveryRowIsWhatItsCodeMeans proves that every row can be reached.
func TestEveryRowIsWhatItsCodeMeans(t *testing.T) {
	for _, s := range all.Specs {
		if s.MeaningOf == nil {
			continue // it is not tracked
		}
		for _, r := range statusRows(t, s) {
			if status, _, known := s.MeaningOf(r.Code); !known || status != r.Status {
				t.Errorf("%s: %s means %q (%t), and its row says %q", s.Title, r.Code, status, known, r.Status)
			}
		}
		if status, reason, known := s.MeaningOf("no such code"); known || status != "" || reason != "unmapped" {
			t.Errorf("%s: a code that nobody knows means %q %q", s.Title, status, reason)
		}
	}
}
