package easypost

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
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
			if known && slices.Contains(namesOf(reflect.TypeOf(shape)), row.name) {
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

	resultsFile  = "../../../test/clients/easypost/results.tsv"
	resultsBegin = "<!-- results: go test ./internal/compat/easypost -run Guide -update -->\n"
	resultsEnd   = "<!-- end of results -->\n"
)

// TestTheGuideShowsTheFields holds the tables of the guide to fields.tsv, and what the
// library's own tests give to the list that test/clients holds to their runs.
func TestTheGuideShowsTheFields(t *testing.T) {
	data, err := os.ReadFile(guideFile)
	if err != nil {
		t.Fatal(err)
	}
	want := string(data)
	for _, part := range []struct{ begin, end, text string }{
		{tableBegin, tableEnd, tables(fieldRows(t))},
		{resultsBegin, resultsEnd, results(t)},
	} {
		before, rest, found := strings.Cut(want, part.begin)
		_, after, ended := strings.Cut(rest, part.end)
		if !found || !ended {
			t.Fatalf("the guide has no place for its tables: %s", part.begin)
		}
		want = before + part.begin + part.text + part.end + after
	}
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

// results are what became of the tests of the official Python library, as Markdown.
func results(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile(resultsFile)
	if err != nil {
		t.Fatal(err)
	}
	byResult := map[string][]string{}
	var files []string
	total := 0
	for line := range strings.Lines(string(data)) {
		cells := strings.Split(strings.TrimSpace(line), "\t")
		if len(cells) != 3 {
			t.Fatalf("results.tsv: %q", line)
		}
		if file := "`" + cells[0] + "`"; !slices.Contains(files, file) {
			files = append(files, file)
		}
		byResult[cells[2]] = append(byResult[cells[2]], "`"+cells[1]+"`")
		total++
	}

	reasons := []struct{ name, text string }{
		{"call", "they need a call that is not served"},
		{"recorded", "they compare with a value of EasyPost's own service: a price, a service of a pickup, the spelling of a corrected address, the spaces of a body"},
		{"address", "they compare with the library's default address, which is Waybill's here"},
	}
	passed := len(byResult["passed"])
	var out strings.Builder
	fmt.Fprintf(&out, "Of %d tests, %d pass and %d fail.\n\n| failed | why | tests |\n|---|---|---|\n", total, passed, total-passed)
	listed := passed
	for _, reason := range reasons {
		tests := byResult[reason.name]
		listed += len(tests)
		fmt.Fprintf(&out, "| %d | %s | %s |\n", len(tests), reason.text, strings.Join(tests, ", "))
	}
	if listed != total {
		t.Errorf("results.tsv has a reason that the guide does not explain")
	}
	fmt.Fprintf(&out, "\nThe files that are run: %s.\n", strings.Join(files, ", "))
	return out.String()
}

// sheet is the list of fields and calls that fields.tsv was made from, beside the
// carriers' published contracts.
func sheet(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("CARRIER_SPECS")
	if dir == "" {
		t.Skip("CARRIER_SPECS is not set")
	}
	data, err := os.ReadFile(filepath.Join(dir, "..", "sheets", "MIGRATION.md"))
	if os.IsNotExist(err) {
		t.Skip("there is no list of fields beside CARRIER_SPECS")
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestTheListIsComplete holds fields.tsv to the list of all that EasyPost answers:
// a share of fields that leaves some out would be too good.
func TestTheListIsComplete(t *testing.T) {
	listed := map[string]bool{}
	for _, row := range fieldRows(t) {
		listed[row.object+" "+row.name] = true
	}
	text := sheet(t)
	_, objects, _ := strings.Cut(text, "\n## 3. EasyPost objects")
	objects, calls, _ := strings.Cut(objects, "\n## 4. EasyPost calls")
	calls, _, _ = strings.Cut(calls, "\n## 5.")

	// Each object is named in bold, and its fields follow until the sentence ends.
	// What is in brackets explains a field.
	count := 0
	head := regexp.MustCompile(`\*\*([A-Z][A-Za-z]+)\*\*: `)
	explained := regexp.MustCompile("\\([^()]*(\\([^()]*\\)[^()]*)*\\)|\\[[^\\]]*\\]|`[^`]*`|\\*")
	places := head.FindAllStringSubmatchIndex(objects, -1)
	for i, place := range places {
		object := objects[place[2]:place[3]]
		end := len(objects)
		if i+1 < len(places) {
			end = places[i+1][0]
		}
		sentence, _, _ := strings.Cut(explained.ReplaceAllString(objects[place[1]:end], "")+".", ".")
		for field := range strings.SplitSeq(sentence, ",") {
			for _, name := range fieldNames(field) {
				count++
				if !listed[object+" "+name] {
					t.Errorf("%s.%s is in the list of EasyPost's fields and not in fields.tsv", object, name)
				}
			}
		}
	}
	if count < 150 {
		t.Errorf("only %d fields were found: the list is written in another way", count)
	}

	// The calls that the list spells out; groups such as "/create_and_verify" follow
	// from the routes.
	spelled := regexp.MustCompile("(?m)^\\| `(GET|POST|PATCH|DELETE) (/[a-z_/{}]+)[^`]*` \\|")
	for _, call := range spelled.FindAllStringSubmatch(calls, -1) {
		if !listed["call "+call[1]+" "+call[2]] {
			t.Errorf("%s %s is in the list of EasyPost's calls and not in fields.tsv", call[1], call[2])
		}
	}
}

// fieldNames reads what stands between two commas of the list: a name, "dates" for
// both times, or "to/from_address".
func fieldNames(text string) []string {
	text = strings.TrimSpace(text)
	switch {
	case text == "dates":
		return []string{"created_at", "updated_at"}
	case text == "to/from_address":
		return []string{"to_address", "from_address"}
	case text == "" || strings.Trim(text, "abcdefghijklmnopqrstuvwxyz_0123456789") != "":
		return nil // words, not a name
	}
	return []string{text}
}
