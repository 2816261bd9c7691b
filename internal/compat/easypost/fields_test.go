package easypost

import (
	"flag"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the tables of docs/moving-from-easypost.md")

// shapes are the objects as they are answered.
var shapes = map[string]any{
	"Address":          addressObject{},
	"Verification":     verification{},
	"Parcel":           parcelObject{},
	"CustomsInfo":      customsInfoObject{},
	"CustomsItem":      customsItemObject{},
	"Shipment":         shipmentObject{},
	"Message":          messageObject{},
	"Fee":              feeObject{},
	"Rate":             rateObject{},
	"PostageLabel":     labelObject{},
	"Tracker":          trackerObject{},
	"TrackingDetail":   trackingDetail{},
	"TrackingLocation": trackingLocation{},
	"Refund":           refundObject{},
	"Batch":            batchObject{},
	"ScanForm":         scanFormObject{},
	"Pickup":           pickupObject{},
	"PickupRate":       pickupRate{},
	"Event":            eventObject{},
	"Webhook":          webhookObject{},
}

// A fieldRow is a line of fields.tsv: a field of an object, or a call, and what
// becomes of it.
type fieldRow struct{ object, name, state string }

func fieldRows(t *testing.T) (rows []fieldRow) {
	t.Helper()
	data, err := os.ReadFile("fields.tsv")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		cells := strings.Split(strings.TrimSpace(line), "\t")
		if len(cells) != 3 || !slices.Contains([]string{"served", "kept", "null", "missing"}, cells[2]) {
			t.Fatalf("fields.tsv: %q", line)
		}
		rows = append(rows, fieldRow{cells[0], cells[1], cells[2]})
	}
	return rows
}

// namesOf are the members of a shape, those of its head first.
func namesOf(shape reflect.Type) (names []string) {
	for i := range shape.NumField() {
		field := shape.Field(i)
		if field.Anonymous {
			names = append(names, namesOf(field.Type)...)
			continue
		}
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		names = append(names, name)
	}
	return names
}

// TestFieldsAreWhatTheTableSays holds fields.tsv, from which the guide's tables are
// made, to the shapes and the routes: nothing is claimed that is not answered, and
// nothing is answered that is not listed.
func TestFieldsAreWhatTheTableSays(t *testing.T) {
	listed := map[string]bool{}
	for _, row := range fieldRows(t) {
		listed[row.object+" "+row.name] = true
		shape, known := shapes[row.object]
		switch {
		case row.object == "call":
			method, path, _ := strings.Cut(strings.TrimSuffix(row.name, " (one-call buy)"), " ")
			if !strings.HasPrefix(path, "/beta/") {
				path = "/v2" + path
			}
			isRouted := slices.ContainsFunc(Routes(), func(r Route) bool { return r.Method == method && r.Path == path })
			if row.state == "served" && !isRouted {
				t.Errorf("%s is listed as served and has no route", row.name)
			}
		case row.state == "missing":
			if known && row.name != "details" && slices.Contains(namesOf(reflect.TypeOf(shape)), row.name) {
				t.Errorf("%s.%s is listed as missing and is answered", row.object, row.name)
			}
		case !known || !slices.Contains(namesOf(reflect.TypeOf(shape)), row.name):
			t.Errorf("%s.%s is listed as %s and is not answered", row.object, row.name, row.state)
		}
	}
	for object, shape := range shapes {
		for _, name := range namesOf(reflect.TypeOf(shape)) {
			if !listed[object+" "+name] {
				t.Errorf("%s.%s is answered and not listed", object, name)
			}
		}
	}
	for _, route := range Routes() {
		path := strings.TrimPrefix(route.Path, "/v2")
		if !listed["call "+route.Method+" "+path] {
			t.Errorf("%s %s is served and not listed", route.Method, route.Path)
		}
	}
}

const (
	guideFile  = "../../../docs/moving-from-easypost.md"
	tableBegin = "<!-- fields: go test ./internal/compat/easypost -run Guide -update -->\n"
	tableEnd   = "<!-- end of fields -->\n"
)

// TestTheGuideShowsTheFields holds the tables of the guide to fields.tsv.
func TestTheGuideShowsTheFields(t *testing.T) {
	data, err := os.ReadFile(guideFile)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(data), tableBegin)
	_, after, ended := strings.Cut(rest, tableEnd)
	if !found || !ended {
		t.Fatal("the guide has no place for its tables")
	}
	want := before + tableBegin + tables(fieldRows(t)) + tableEnd + after
	if *update {
		if err := os.WriteFile(guideFile, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if want != string(data) {
		t.Error("the tables of docs/moving-from-easypost.md are out of date: go test ./internal/compat/easypost -run Guide -update")
	}
}

// tables are the counts, the fields by object and the calls, as Markdown.
func tables(rows []fieldRow) string {
	counts := map[string]int{}
	calls := map[string][]string{}
	byObject := map[string]map[string][]string{}
	var objects []string
	total := 0
	for _, row := range rows {
		if row.object == "call" {
			calls[row.state] = append(calls[row.state], "`"+row.name+"`")
			continue
		}
		if byObject[row.object] == nil {
			byObject[row.object] = map[string][]string{}
			objects = append(objects, row.object)
		}
		byObject[row.object][row.state] = append(byObject[row.object][row.state], "`"+row.name+"`")
		counts[row.state]++
		total++
	}
	percent := func(n int) string { return fmt.Sprintf("%.0f %%", 100*float64(n)/float64(total)) }

	var out strings.Builder
	fmt.Fprintf(&out, "Of %d fields, %d (%s) are served, %d (%s) are kept and shown but not sent to carriers, %d (%s) are always null or empty, and %d (%s) are missing. Of %d calls, %d are served.\n\n",
		total, counts["served"], percent(counts["served"]), counts["kept"], percent(counts["kept"]), counts["null"], percent(counts["null"]),
		counts["missing"], percent(counts["missing"]), len(calls["served"])+len(calls["missing"]), len(calls["served"]))
	out.WriteString("| object | served | kept, not used | always null or empty | missing |\n|---|---|---|---|---|\n")
	for _, object := range objects {
		states := byObject[object]
		fmt.Fprintf(&out, "| %s | %s | %s | %s | %s |\n", object,
			strings.Join(states["served"], ", "), strings.Join(states["kept"], ", "), strings.Join(states["null"], ", "), strings.Join(states["missing"], ", "))
	}
	fmt.Fprintf(&out, "\nCalls that are served: %s.\n\nCalls that are not: %s.\n", strings.Join(calls["served"], ", "), strings.Join(calls["missing"], ", "))
	return out.String()
}
